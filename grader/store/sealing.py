"""Sealing: secrets that are encrypted in the database, by keys that are kept outside of it.

A sealed secret is stored as ``keyset-sealed:KEY:TOKEN``: the id of the key that sealed it, and a
Fernet token (AES-128-CBC with HMAC-SHA256) of its place and the secret itself. The place is the
table, the row and the column, so that a sealed secret that is copied to another row does not open.
A value without the mark is plain.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.errors import OperatorError, Unavailable

if TYPE_CHECKING:
    from cryptography.fernet import Fernet
    from sqlalchemy.orm import Session

#: The name under which a session has the keys in its `info`.
SESSION_INFO = "sealing_keys"

_MARK = b"keyset-sealed:"
_KEY_BYTES = 32


class SealedSecret(Unavailable):
    """A sealed secret that cannot be opened with the keys of this process."""


@dataclass(frozen=True, slots=True)
class SealingKeys:
    """The keys of a service, newest first: the newest one seals, and all of them open.

    Without any, secrets are stored as they are.
    """

    keys: tuple[str, ...] = field(default=(), repr=False)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the keys, newest first."""
        return tuple(_compute_id(each) for each in self.keys)

    @property
    def newest_id(self) -> str | None:
        """The id of the key that seals; None without keys."""
        return _compute_id(self.keys[0]) if self.keys else None

    def seal(self, secret: bytes, *, place: str) -> bytes:
        """Seal a secret with the newest key; without keys it is returned as it is."""
        if not self.keys:
            return secret
        key = self.keys[0]
        token = _make_fernet(key).encrypt(place.encode() + b"\n" + secret)
        return _MARK + _compute_id(key).encode() + b":" + token

    def open(self, stored: bytes, *, place: str) -> bytes:
        """The secret that is stored at a place; a plain one is returned as it is.

        Raises
        ------
        SealedSecret
            If none of the keys sealed it, or it was changed or copied from another place.
        """
        key_id = find_key_id(stored)
        if key_id is None:
            return stored
        key = next((each for each in self.keys if _compute_id(each) == key_id), None)
        if key is None:
            raise SealedSecret(
                f"{place} is sealed by the key {key_id}, which was not given. The operator must "
                "give it by GRADER_SECRET_KEY_FILE or GRADER_SECRET_KEY."
            )
        # Only a service with keys needs it.
        from cryptography.fernet import InvalidToken

        try:
            opened = _make_fernet(key).decrypt(stored[len(_MARK) + len(key_id) + 1 :])
        except InvalidToken:
            opened = b""
        sealed_at, separator, secret = opened.partition(b"\n")
        if not separator or sealed_at != place.encode():
            raise SealedSecret(
                f"{place} is sealed by the key {key_id}, but was changed or copied there since. "
                "The operator must restore it from a backup."
            )
        return secret


#: Of a database whose secrets are stored as they are.
NO_SEALING_KEYS = SealingKeys()


def get_sealing_keys(session: Session) -> SealingKeys:
    """The keys that were given when the database of this session was opened."""
    keys = session.info.get(SESSION_INFO, NO_SEALING_KEYS)
    assert isinstance(keys, SealingKeys), "only opening a database puts them there"
    return keys


def name_place(table: str, row_id: str, column: str) -> str:
    """The place of a secret, to which it is sealed."""
    return f"{table}/{row_id}/{column}"


def find_key_id(stored: bytes) -> str | None:
    """The id of the key that sealed a stored secret; None for a plain one."""
    if not stored.startswith(_MARK):
        return None
    return stored[len(_MARK) :].partition(b":")[0].decode(errors="replace")


def make_sealing_key() -> str:
    """A new random key, as text."""
    from cryptography.fernet import Fernet

    return Fernet.generate_key().decode()


def read_sealing_keys(text: str, *, source: str) -> SealingKeys:
    """Read keys that are separated by line breaks or spaces, the newest first.

    Raises
    ------
    OperatorError
        If there is none, or one is not a key; the message names the source but no key.
    """
    keys = tuple(dict.fromkeys(text.split()))
    if not keys:
        raise OperatorError(f"{source} has no key. `grader secrets new-key` prints one.")
    for place, key in enumerate(keys, 1):
        if not _is_key(key):
            raise OperatorError(
                f"Entry {place} of {source} is not a key: that is 32 random bytes as base64url. "
                "`grader secrets new-key` prints one."
            )
    return SealingKeys(keys)


def _is_key(text: str) -> bool:
    try:
        raw = base64.urlsafe_b64decode(text)
    except (binascii.Error, ValueError):
        return False
    # Python skips what is not base64url.
    return len(raw) == _KEY_BYTES and base64.urlsafe_b64encode(raw).decode() == text


def _compute_id(key: str) -> str:
    """A short name for a key, which tells nothing of it: the key is random."""
    return hashlib.sha256(b"keyset sealing key\n" + key.encode()).hexdigest()[:8]


def _make_fernet(key: str) -> Fernet:
    from cryptography.fernet import Fernet

    return Fernet(key)
