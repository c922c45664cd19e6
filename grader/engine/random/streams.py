"""Named random streams: every draw has its own, derived from a secret and its full name.

No stream depends on another, on the clock or on how often it is asked: the same name always gives
the same numbers, and a new draw in a rubric disturbs none of the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

#: The secret of offline commands. It is public, so nothing that counts may be graded with it.
DEVELOPMENT_SECRET = b"keyset development secret: never use it for a course run"


def make_derived_key(secret: bytes, *names: str | int) -> bytes:
    """Derive a key from a secret and a name of several parts.

    Publishing a derived key tells nothing of the secret, nor of any other key.
    """
    digest = hashlib.blake2b(key=hashlib.sha256(secret).digest(), digest_size=32)
    for name in names:
        encoded = str(name).encode()
        # The length keeps ("ab", "c") apart from ("a", "bc").
        digest.update(len(encoded).to_bytes(4, "big") + encoded)
    return digest.digest()


def make_question_key(secret: bytes, *, question: str, revision: int) -> bytes:
    """The key that all draws and key sets of one question in one course run come from."""
    return make_derived_key(secret, "question", question, revision)


class KeySource(Protocol):
    """Where the key of a question comes from: all of its draws and key sets follow from it."""

    def of(self, question: str, revision: int) -> bytes:
        """The key of a question at a draw revision; LookupError where it is not known."""
        ...


@dataclass(frozen=True, slots=True)
class RunSecret:
    """All keys of a course run, derived from its secret."""

    secret: bytes

    def of(self, question: str, revision: int) -> bytes:
        """The key of any question."""
        return make_question_key(self.secret, question=question, revision=revision)


@dataclass(frozen=True, slots=True)
class PublishedKeys:
    """The keys that were published, by question and draw revision; no others can be had."""

    known: Mapping[tuple[str, int], bytes]

    def of(self, question: str, revision: int) -> bytes:
        """The key of a question that was published; KeyError for all others."""
        return self.known[question, revision]


#: The keys of offline commands.
DEVELOPMENT_KEYS = RunSecret(DEVELOPMENT_SECRET)


def open_stream(key: bytes, *names: str | int) -> np.random.Generator:
    """A generator of the numbers that bear this name."""
    seed = int.from_bytes(make_derived_key(key, *names), "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
