"""The tables. What students and staff do is added and never changed; see docs/reference/store.md.

Points are whole hundredths, times are UTC, documents are JSON text. A column `by` holds who did
it: a person's id or a token's.
"""

from __future__ import annotations

from grader.store.tables.attempts import Attempt, Draft, Judgement, Upload, Variant, View
from grader.store.tables.audit_keys import AuditEntry, SigningKey
from grader.store.tables.base import Table
from grader.store.tables.credentials import BrowserSession, IdempotencyKey, SignInLink, Token
from grader.store.tables.decisions import Claim, ExternalScore, Grade, Override, Review, Total
from grader.store.tables.integrity import IntegrityCheck, Resemblance
from grader.store.tables.people import Course, Enrolment, Person, Run
from grader.store.tables.publications import Extension, Publication, PublicationPart, RubricText

__all__ = [
    "Attempt",
    "AuditEntry",
    "BrowserSession",
    "Claim",
    "Course",
    "Draft",
    "Enrolment",
    "Extension",
    "ExternalScore",
    "Grade",
    "IdempotencyKey",
    "IntegrityCheck",
    "Judgement",
    "Override",
    "Person",
    "Publication",
    "PublicationPart",
    "Resemblance",
    "Review",
    "RubricText",
    "Run",
    "SignInLink",
    "SigningKey",
    "Table",
    "Token",
    "Total",
    "Upload",
    "Variant",
    "View",
]
