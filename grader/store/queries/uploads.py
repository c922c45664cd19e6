"""Uploads: PDFs that students have sent, known by the digest of their content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import func, select

from grader.store.database import Session
from grader.store.lines import as_line
from grader.store.tables import Upload
from grader.store.upserts import insert_missing


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
    Upload.id,
    Upload.run_id,
    Upload.enrolment_id,
    Upload.digest,
    Upload.name,
    Upload.size,
    Upload.at,
)


def add_upload(session: Session, upload: UploadLine, *, content: bytes) -> None:
    """Keep a file; one that the student has sent before stays as it is."""
    row = asdict(upload) | {"content": content}
    insert_missing(session, Upload, [row], key=("enrolment_id", "digest"))


def find_uploads(
    session: Session, *, enrolment_id: str, digests: Iterable[str]
) -> dict[str, UploadLine]:
    """Those files of a student that are there, by digest."""
    statement = select(*_UPLOAD).where(
        Upload.enrolment_id == enrolment_id, Upload.digest.in_(set(digests))
    )
    lines = (as_line(UploadLine, row) for row in session.execute(statement))
    return {each.digest: each for each in lines}


def find_content(session: Session, *, upload_id: str) -> tuple[UploadLine, bytes] | None:
    """A file with its content."""
    statement = select(*_UPLOAD, Upload.content).where(Upload.id == upload_id)
    row = session.execute(statement).one_or_none()
    return (as_line(UploadLine, row[:-1]), row[-1]) if row else None


def sum_sizes(session: Session, *, enrolment_id: str) -> int:
    """How many bytes a student's files have in all."""
    statement = select(func.coalesce(func.sum(Upload.size), 0)).where(
        Upload.enrolment_id == enrolment_id
    )
    return int(session.scalar(statement) or 0)
