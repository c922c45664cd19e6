"""Drafts of answers, and uploaded files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, bindparam, delete, func, select

from grader.store.bulk import insert_rows
from grader.store.compiled import find_row
from grader.store.database import Session
from grader.store.queries.attempts import StudentQuestion
from grader.store.rows import get_table, list_columns, to_line
from grader.store.tables.attempts import DraftRow, UploadRow, ViewRow
from grader.store.upserts import insert_missing


@dataclass(frozen=True, slots=True)
class DraftLine:
    """The texts of a form when it was last saved, by field."""

    fields: dict[str, str]
    saved_at: datetime


_PART = ("enrolment_id", "assignment", "question")


@dataclass(frozen=True, slots=True)
class SeenLine:
    """That a student has seen a question, with the draft if there is one."""

    first_at: datetime
    draft: DraftLine | None


_SEEN = (
    select(ViewRow.first_at, DraftRow.fields, DraftRow.saved_at)
    .outerjoin(
        DraftRow, and_(*(getattr(DraftRow, name) == getattr(ViewRow, name) for name in _PART))
    )
    .where(*(getattr(ViewRow, name) == bindparam(name) for name in _PART))
)


def find_seen(session: Session, *, student_question: StudentQuestion) -> SeenLine | None:
    """A student's draft of a question; None where the student has not seen it yet."""
    parameters = dict(zip(_PART, student_question, strict=True))
    row = find_row(session, _SEEN, parameters)
    if row is None:
        return None
    first_at, fields, saved_at = row
    return SeenLine(first_at, None if saved_at is None else DraftLine(fields, saved_at))


def put_draft(
    session: Session, *, run_id: str, student_question: StudentQuestion, draft: DraftLine
) -> None:
    """Save a draft; it replaces an earlier one."""
    key = ("enrolment_id", "assignment", "question")
    row = dict(zip(key, student_question, strict=True)) | asdict(draft) | {"run_id": run_id}
    insert_rows(session, get_table(DraftRow), tuple(row), [tuple(row.values())], key=key)


def delete_draft(session: Session, *, student_question: StudentQuestion) -> None:
    """Delete a draft, if there is one."""
    session.execute(delete(DraftRow).where(_is_draft_of(student_question)))


def _is_draft_of(student_question: StudentQuestion) -> ColumnElement[bool]:
    enrolment_id, assignment, question = student_question
    return and_(
        DraftRow.enrolment_id == enrolment_id,
        DraftRow.assignment == assignment,
        DraftRow.question == question,
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


_UPLOAD = list_columns(UploadRow, UploadLine)


def add_upload(session: Session, upload: UploadLine, *, content: bytes) -> None:
    """Add a file, unless the student has uploaded the same content before."""
    row = asdict(upload) | {"content": content}
    insert_missing(session, UploadRow, [row], key=("enrolment_id", "digest"))


def find_uploads(
    session: Session, *, enrolment_id: str, digests: Iterable[str]
) -> dict[str, UploadLine]:
    """A student's files with these digests, by digest."""
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


def count_uploads(session: Session, *, enrolment_id: str) -> tuple[int, int]:
    """The number of a student's files, and their total size in bytes."""
    statement = select(func.count(), func.coalesce(func.sum(UploadRow.size), 0)).where(
        UploadRow.enrolment_id == enrolment_id
    )
    files, size = session.execute(statement).one()
    return int(files), int(size)
