"""The tables. Actions of students and staff are added, never changed; see docs/reference/store.md.

Points are whole hundredths, times are UTC, documents are JSON text. A column `by` has the id of the
person or token who acted.
"""

from __future__ import annotations

from grader.store.tables.attempts import (
    AttemptRow,
    DraftRow,
    JudgementRow,
    UploadRow,
    VariantRow,
    ViewRow,
)
from grader.store.tables.audit_keys import AuditEntryRow, SigningKeyRow
from grader.store.tables.base import Base
from grader.store.tables.credentials import (
    BrowserSessionRow,
    IdempotencyKeyRow,
    SignInLinkRow,
    TokenRow,
)
from grader.store.tables.decisions import (
    ClaimRow,
    ExternalScoreRow,
    GradeRow,
    OverrideRow,
    ReviewRow,
    TotalRow,
)
from grader.store.tables.integrity import IntegrityCheckRow, ResemblanceRow
from grader.store.tables.people import CourseRow, EnrolmentRow, PersonRow, RunRow
from grader.store.tables.publications import (
    ExtensionRow,
    PublicationPartRow,
    PublicationRow,
    RubricTextRow,
)

__all__ = [
    "AttemptRow",
    "AuditEntryRow",
    "Base",
    "BrowserSessionRow",
    "ClaimRow",
    "CourseRow",
    "DraftRow",
    "EnrolmentRow",
    "ExtensionRow",
    "ExternalScoreRow",
    "GradeRow",
    "IdempotencyKeyRow",
    "IntegrityCheckRow",
    "JudgementRow",
    "OverrideRow",
    "PersonRow",
    "PublicationPartRow",
    "PublicationRow",
    "ResemblanceRow",
    "ReviewRow",
    "RubricTextRow",
    "RunRow",
    "SignInLinkRow",
    "SigningKeyRow",
    "TokenRow",
    "TotalRow",
    "UploadRow",
    "VariantRow",
    "ViewRow",
]
