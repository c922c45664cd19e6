"""Drafts: what students have written and not yet sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import delete, func, select

from grader.store.database import Session
from grader.store.queries.attempts import StudentQuestion
from grader.store.rows import to_line
from grader.store.tables import DraftRow, UploadRow
from grader.store.upserts import insert_missing, insert_or_replace


@dataclass(frozen=True, slots=True)
class DraftLine:
    """What stood in the form when it was saved last, by the names of its fields."""

    fields: dict[str, str]
    saved_at: datetime


def find_draft(session: Session, *, part: StudentQuestion) -> DraftLine | None:
    """A student's draft of a question."""
    enrolment_id, assignment, question = part
    statement = select(DraftRow.fields, DraftRow.saved_at).where(
        DraftRow.enrolment_id == enrolment_id,
        DraftRow.assignment == assignment,
        DraftRow.question == question,
    )
    row = session.execute(statement).one_or_none()
    return DraftLine(row[0], row[1]) if row else None


def put_draft(session: Session, *, run_id: str, part: StudentQuestion, draft: DraftLine) -> None:
    """Keep a draft instead of the one before."""
    enrolment_id, assignment, question = part
    row = {
        "run_id": run_id,
        "enrolment_id": enrolment_id,
        "assignment": assignment,
        "question": question,
        "fields": draft.fields,
        "saved_at": draft.saved_at,
    }
    insert_or_replace(session, DraftRow, [row], key=("enrolment_id", "assignment", "question"))


def delete_draft(session: Session, *, part: StudentQuestion) -> None:
    """Forget a draft; there need not be one."""
    enrolment_id, assignment, question = part
    session.execute(
        delete(DraftRow).where(
            DraftRow.enrolment_id == enrolment_id,
            DraftRow.assignment == assignment,
            DraftRow.question == question,
        )
    )


@dataclass(frozen=True, slots=True)
class UploadLine:
    """A file without its content."""

    id: str
    run_id: str
    enrolment_id: str
    digest: str
    name: str
    size: int
    at: datetime


_UPLOAD = (
    UploadRow.id,
    UploadRow.run_id,
    UploadRow.enrolment_id,
    UploadRow.digest,
    UploadRow.name,
    UploadRow.size,
    UploadRow.at,
)


def add_upload(session: Session, upload: UploadLine, *, content: bytes) -> None:
    """Keep a file; one that the student has sent before stays as it is."""
    row = asdict(upload) | {"content": content}
    insert_missing(session, UploadRow, [row], key=("enrolment_id", "digest"))


def find_uploads(
    session: Session, *, enrolment_id: str, digests: Iterable[str]
) -> dict[str, UploadLine]:
    """Those files of a student that are there, by digest."""
    statement = select(*_UPLOAD).where(
        UploadRow.enrolment_id == enrolment_id, UploadRow.digest.in_(set(digests))
    )
    lines = (to_line(UploadLine, row) for row in session.execute(statement))
    return {each.digest: each for each in lines}


def find_upload_content(session: Session, *, upload_id: str) -> tuple[UploadLine, bytes] | None:
    """A file with its content."""
    statement = select(*_UPLOAD, UploadRow.content).where(UploadRow.id == upload_id)
    row = session.execute(statement).one_or_none()
    return (to_line(UploadLine, row[:-1]), row[-1]) if row else None


def count_upload_bytes(session: Session, *, enrolment_id: str) -> int:
    """How many bytes a student's files have in all."""
    statement = select(func.coalesce(func.sum(UploadRow.size), 0)).where(
        UploadRow.enrolment_id == enrolment_id
    )
    return int(session.scalar(statement) or 0)
