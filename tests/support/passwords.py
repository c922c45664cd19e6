"""Passwords that are hashed in no time, for tests."""

from __future__ import annotations

from typing import Self

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from grader.accounts import sign_in


class _CheapHash(PasswordHash):
    """The same algorithm at its lowest cost; a hash names its cost, so that any can be verified."""

    @classmethod
    def recommended(cls) -> Self:
        return cls((Argon2Hasher(time_cost=1, memory_cost=8, parallelism=1),))


def hash_at_lowest_cost() -> None:
    """Hash all passwords in this process so, of which one takes a fifth of a second otherwise."""
    sign_in.PasswordHash = _CheapHash  # type: ignore[attr-defined]  # what it calls
