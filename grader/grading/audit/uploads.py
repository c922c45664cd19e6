"""Uploaded files: each has the content that its digest says."""

from __future__ import annotations

from grader.feedback.base import hash_bytes
from grader.grading.audit.findings import AuditCheck
from grader.store.database import Session
from grader.store.queries.verification import stream_uploads
from grader.store.rows import UnreadableRow

#: The files that are stored, by the enrolment of the student and the digest.
StoredFiles = set[tuple[str, str]]


def check_uploads(session: Session, files: StoredFiles, tally: AuditCheck) -> None:
    """Hash every file again, and add it to the files that are stored."""
    for file in stream_uploads(session):
        tally.count()
        if isinstance(file, UnreadableRow):
            tally.report(file.id, "This file cannot be read.")
            continue
        files.add((file.enrolment_id, file.digest))
        if hash_bytes(file.content) != file.digest:
            tally.report(file.id, "The content of this file does not match its digest.")
        if len(file.content) != file.size:
            text = f"This file has {len(file.content)} bytes, but its size is {file.size}."
            tally.report(file.id, text)
