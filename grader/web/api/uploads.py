"""Uploading a PDF that a written answer refers to, and getting it back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from grader.accounts.callers import Caller
from grader.domain.roles import Scope
from grader.errors import RequestRefused
from grader.feedback.base import ReportModel
from grader.grading.submissions.uploads import MAX_BYTES, get_upload, upload
from grader.store.database import Session
from grader.store.queries.submissions import UploadLine
from grader.web.api.idempotency import COURSE_ERRORS
from grader.web.auth import Submitter, describe_access, make_caller_dependency
from grader.web.errors.openapi import build_error_responses
from grader.web.files import PDF, download_pdf
from grader.web.http.body import StrictRoute, read_body
from grader.web.params import UploadId
from grader.web.service import ReceivedAt, ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Answers"])

_BINARY = {PDF: {"schema": {"type": "string", "format": "binary"}}}


class UploadRead(ReportModel):
    """A PDF that was uploaded; answers refer to it by its digest."""

    id: str = Field(examples=["upl_01m7hf69p8faa3attd7ssr05mg"])
    digest: str = Field(description="`sha256:` and the hash of what is in it.")
    name: str = Field(examples=["written.pdf"])
    size: int = Field(description="In bytes.")


@router.post(
    "/courses/{course}/uploads",
    summary="Upload a PDF",
    status_code=201,
    responses={**COURSE_ERRORS, **build_error_responses(RequestRefused, 413, 415, 422)},
    openapi_extra={
        **describe_access(Scope.SUBMIT, "participants"),
        "requestBody": {"required": True, "content": _BINARY},
    },
)
async def create_upload(
    request: Request,
    membership: Submitter,
    service: ServiceDep,
    at: ReceivedAt,
    name: Annotated[str, Query(max_length=200, description="What it is called.")] = "written.pdf",
) -> UploadRead:
    """Upload a PDF of at most 10 MB. A written answer has a link to it, `[name](digest)`."""
    content = await read_body(request, types=(PDF,), most_bytes=MAX_BYTES)

    def keep(session: Session) -> UploadLine:
        return upload(session, membership, name=name, content=content, at=at)

    line = await service.writer.run(keep)
    return UploadRead(id=line.id, digest=line.digest, name=line.name, size=line.size)


@router.get(
    "/uploads/{upload_id}",
    summary="An uploaded PDF",
    response_class=Response,
    responses={**COURSE_ERRORS, 200: {"description": "The PDF.", "content": _BINARY}},
    openapi_extra=describe_access(Scope.READ, "whose it is; assistants and instructors"),
)
def get_uploaded(
    upload_id: UploadId,
    caller: Annotated[Caller, Depends(make_caller_dependency(None))],
    service: ServiceDep,
) -> Response:
    """A PDF as it was uploaded."""
    with service.database.read() as session:
        return download_pdf(get_upload(session, caller, upload_id=upload_id))
