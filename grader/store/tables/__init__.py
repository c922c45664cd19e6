"""The tables. Actions of students and staff are added, never changed; see docs/reference/store.md.

Points are whole hundredths, times are UTC, documents are JSON text. A column `by` has the id of the
person or token who acted.
"""

from __future__ import annotations

from grader.store.tables import (
    attempts,
    audit_keys,
    credentials,
    decisions,
    integrity,
    jobs,
    people,
    publications,
    regrades,
)
from grader.store.tables.base import Base

#: Importing them all makes the metadata complete.
__all__ = [
    "Base",
    "attempts",
    "audit_keys",
    "credentials",
    "decisions",
    "integrity",
    "jobs",
    "people",
    "publications",
    "regrades",
]
