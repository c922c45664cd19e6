"""PDFs that belong to written answers: taken under caps, named by what is in them.

An answer refers to one by its digest: a `file` field is the digest itself, and a text has a
Markdown link to it, as in ``[written.pdf](sha256:…)``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grader.accounts.callers import Caller, Membership, get_viewer_membership
from grader.errors import AnswerRefused, FieldError, MalformedRequest, NotFound, RequestRefused
from grader.grading.locks import lock_uploads
from grader.reading.answer import DIGEST
from grader.store.database import Session
from grader.store.queries.submissions import (
    UploadLine,
    add_upload,
    count_uploads,
    find_upload_content,
    find_uploads,
)
from grader.store.rows import make_id

MAX_BYTES = 10 * 1024 * 1024
#: Maximum bytes and files of a student in a course run.
MAX_TOTAL_BYTES = 100 * 1024 * 1024
MAX_FILES = 500
# A link in a text.
_REFERENCE = re.compile(rf"\]\(({DIGEST.pattern})\)")
_MAX_NAME_LENGTH = 100


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file with its content."""

    line: UploadLine
    content: bytes


def upload(
    session: Session, membership: Membership, *, name: str, content: bytes, at: datetime
) -> UploadLine:
    """Keep a PDF of the caller; sent again it is the same one.

    Raises
    ------
    MalformedRequest
        Where it is no PDF or too large.
    RequestRefused
        Where the caller has sent too much in all.
    """
    enrolment = membership.need_enrolment()
    _refuse_other_content(content)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    lock_uploads(session, enrolment_id=enrolment.id)
    found = find_uploads(session, enrolment_id=enrolment.id, digests=[digest])
    if digest in found:
        return found[digest]
    files, size = count_uploads(session, enrolment_id=enrolment.id)
    if files >= MAX_FILES:
        raise RequestRefused(
            f"You have sent {MAX_FILES} files, and no more are allowed; "
            "ask your instructor before you send another one.",
            code="file.too_many",
        )
    if size + len(content) > MAX_TOTAL_BYTES:
        raise RequestRefused(
            f"Your files have more than {MAX_TOTAL_BYTES >> 20} MB in all; "
            "ask your instructor before you send another one.",
            code="file.too_many",
        )
    line = UploadLine(
        make_id("upl"),
        membership.run.id,
        enrolment.id,
        digest,
        _normalize_name(name),
        len(content),
        at,
    )
    add_upload(session, line, content=content)
    return line


def _refuse_other_content(content: bytes) -> None:
    if len(content) > MAX_BYTES:
        raise MalformedRequest(
            f"A file may have {MAX_BYTES >> 20} MB; this one has more. "
            "Scans become smaller in greyscale at 150 dpi.",
            code="file.too_large",
        )
    if not content.startswith(b"%PDF-"):
        raise MalformedRequest(
            "This is no PDF. Save or print what you have as a PDF, and send that.",
            code="file.type",
        )


def _normalize_name(name: str) -> str:
    """A name of letters, digits and a few signs, so that it can stand in a link and a header."""
    stem = re.sub(r"[^\w.-]+", "-", name.replace("\\", "/").rpartition("/")[2], flags=re.ASCII)
    stem = stem.strip("-.")[:_MAX_NAME_LENGTH].removesuffix(".pdf").removesuffix(".PDF")
    return f"{stem or 'written'}.pdf"


def find_references(answer: Mapping[str, Any]) -> dict[str, set[str]]:
    """The digests that an answer refers to, by field."""
    found = {}
    for field, sent in answer.items():
        if isinstance(sent, str):
            whole = {sent} if DIGEST.fullmatch(sent) else set()
            found[field] = whole | set(_REFERENCE.findall(sent))
    return {field: digests for field, digests in found.items() if digests}


def refuse_missing_files(session: Session, *, enrolment_id: str, answer: Mapping[str, Any]) -> None:
    """Refuse an answer that refers to a file which this student has not uploaded.

    Raises
    ------
    AnswerRefused
        With each field that does; also where one refers to more than one file.
    """
    references = find_references(answer)
    if not references:
        return
    wanted = {digest for digests in references.values() for digest in digests}
    there = find_uploads(session, enrolment_id=enrolment_id, digests=wanted)
    faults = [
        FieldError(says, field=field, code=code)
        for field, digests in references.items()
        for says, code in _faults(field, digests, there)
    ]
    if faults:
        raise AnswerRefused(faults)


def _faults(
    field: str, digests: set[str], there: Mapping[str, UploadLine]
) -> list[tuple[str, str]]:
    if not digests <= there.keys():
        return [(f"{field} names a file that you have not uploaded here.", "file.absent")]
    if len(digests) > 1:
        return [(f"{field} names {len(digests)} files; one can be attached.", "file.several")]
    return []


def list_files(
    session: Session, *, enrolment_id: str, answer: Mapping[str, Any]
) -> list[UploadLine]:
    """The files that an answer refers to, as far as they are there."""
    digests = {each for found in find_references(answer).values() for each in found}
    if not digests:
        return []
    lines = find_uploads(session, enrolment_id=enrolment_id, digests=digests).values()
    return sorted(lines, key=lambda each: each.at)


def get_upload(session: Session, caller: Caller, *, upload_id: str) -> UploadedFile:
    """A file that the caller may see: an own one, or as staff of its course run.

    Raises
    ------
    NotFound
        Where there is none, and in the same words where it is somebody else's.
    """
    found = find_upload_content(session, upload_id=upload_id)
    if found is None:
        raise NotFound
    line, content = found
    get_viewer_membership(session, caller, run_id=line.run_id, enrolment_id=line.enrolment_id)
    return UploadedFile(line, content)
