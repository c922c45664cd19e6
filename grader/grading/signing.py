"""Receipts signed by the service, which prove what it said and when.

The signature is Ed25519 over the receipt's canonical JSON (RFC 8785) without the signature itself.
Ed25519 is deterministic: the same receipt always gets the same signature.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from functools import cached_property

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from grader.feedback.base import to_canonical_json
from grader.feedback.receipt import Receipt, ReceiptFields


@dataclass(frozen=True)
class SigningKey:
    """The private key that a service signs its receipts with."""

    private: Ed25519PrivateKey

    @classmethod
    def generate(cls) -> SigningKey:
        """A new key."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_bytes(cls, private: bytes) -> SigningKey:
        """The key of these 32 bytes; ValueError for any other number of them."""
        return cls(Ed25519PrivateKey.from_private_bytes(private))

    def to_bytes(self) -> bytes:
        """The 32 bytes to keep secret."""
        return self.private.private_bytes_raw()

    @cached_property
    def public(self) -> str:
        """The public key, which the service shows to everybody."""
        return encode_base64url(self.private.public_key().public_bytes_raw())

    @cached_property
    def id(self) -> str:
        """What the public key is called in receipts."""
        return compute_key_id(self.public)


def compute_key_id(public: str) -> str:
    """A short name for a public key; ValueError where it is none."""
    return "ed25519:" + hashlib.sha256(_public_bytes(public)).hexdigest()[:16]


_WITHHELD: ReceiptFields = {
    "verdicts": None,
    "score": None,
    "noise": "",
    "key_sets": 0,
    "used": "",
    "used_answer": "",
}


def to_withheld_receipt(receipt: Receipt) -> Receipt:
    """The receipt without anything that tells how the answer came out.

    For questions whose feedback comes later. There are few possible verdicts, so that their hash
    would tell them, and so would the number of key sets and which earlier answer was used.
    """
    return receipt.model_copy(update=_WITHHELD | {"judgement": None})


def sign_receipt(receipt: Receipt, key: SigningKey) -> Receipt:
    """The same receipt with the key's name and signature."""
    signed = sign_receipt_fields(receipt.model_dump(mode="json"), key)
    return receipt.model_copy(update={"key": key.id, "signature": signed["signature"]})


def sign_receipt_fields(
    fields: ReceiptFields, key: SigningKey, *, withheld: bool = False
) -> ReceiptFields:
    """The fields of a receipt, with the key's name and signature.

    `withheld` leaves out what `to_withheld_receipt` does.
    """
    fields = {**fields, **(_WITHHELD if withheld else {}), "key": key.id}
    if withheld:
        # It is left out where there is none, as in receipts of before, which must stay as signed.
        fields.pop("judgement", None)
    fields["signature"] = encode_base64url(key.private.sign(_signed_bytes(fields)))
    return fields


def verify_signature(receipt: Receipt, public: str) -> bool:
    """Whether the receipt is as it was signed with this key; False for what is no key at all."""
    try:
        if receipt.signature is None or receipt.key != compute_key_id(public):
            return False
        key = Ed25519PublicKey.from_public_bytes(_public_bytes(public))
        signed = _signed_bytes(receipt.model_dump(mode="json"))
        key.verify(decode_base64url(receipt.signature), signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def _signed_bytes(fields: ReceiptFields) -> bytes:
    return to_canonical_json({name: fields[name] for name in fields if name != "signature"})


def _public_bytes(public: str) -> bytes:
    raw = decode_base64url(public)
    if len(raw) != 32:
        raise ValueError("a public key has 32 bytes")
    return raw


def encode_base64url(raw: bytes) -> str:
    """Bytes as base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """The bytes of base64url without padding; ValueError for anything else."""
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError("this is no base64url") from None
    # Python skips what it does not know; then the text is not what it would be written as.
    if encode_base64url(raw) != text:
        raise ValueError("this is no base64url")
    return raw
