"""What happens while an answer is being written: it is read, previewed, attached to and kept."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from grader.errors import AnswerRefused, KeysetError, NotFound
from grader.grading.submissions.check import check_field
from grader.grading.submissions.drafts import save_draft
from grader.grading.submissions.uploads import get_upload
from grader.reading.cells import Grid, find_grid
from grader.reading.fields import ArrayField, Field, TextField
from grader.store.database import Session
from grader.web.api.uploads import download
from grader.web.errors.problems import to_problem
from grader.web.pages.question_context import QUESTION_PATH, QuestionContext, QuestionContextDep
from grader.web.pages.rendering import FormDep, PageRoute, VisitorDep, render
from grader.web.pages.student.answer_form import SubmittedFormDep
from grader.web.pages.student.question import save_attachment
from grader.web.params import UploadId
from grader.web.service import ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

FieldName = Annotated[str, Path(max_length=64)]


@router.post(QUESTION_PATH + "/reading/{field}")
async def preview_field(
    request: Request, here: QuestionContextDep, field: FieldName, form: FormDep
) -> Response:
    """How a field is read while it is being written: a part of the page."""
    text = form.get(f"answer.{field}", "")
    found = await run_in_threadpool(_read_field, here, field, text)
    return render(request, "parts/reading.html", field=field, text=text, **found)


def _read_field(here: QuestionContext, name: str, text: str) -> dict[str, Any]:
    with here.service.database.read() as session:
        rubric, variant = here.own_variant(session)
    field = next((each for each in rubric.question.fields if each.name == name), None)
    if field is None:
        raise NotFound
    found: dict[str, Any] = {"reading": None, "problem": None, "grid": None, "bad": None}
    found["is_text"] = isinstance(field, TextField)
    if not text.strip():
        return found
    try:
        found["reading"] = check_field(rubric, variant, name, text)
        found["grid"] = _grid(field, text)
    except AnswerRefused as error:
        found["problem"] = to_problem(error)
        found["grid"] = grid = _grid(field, text)
        if grid is not None:
            places = (grid.place(each.path) for each in error.errors)
            found["bad"] = next((each for each in places if each is not None), None)
    return found


def _grid(field: Field, text: str) -> Grid | None:
    if not isinstance(field, ArrayField):
        return None
    return find_grid(text, field=field.name, shape=field.shape)


@router.post(QUESTION_PATH + "/draft")
async def update_draft(request: Request, here: QuestionContextDep, form: FormDep) -> Response:
    """Keep what stands in the form, and say when."""
    fields = {name: text for name, text in form.items() if name != "action"}

    def keep(session: Session) -> None:
        save_draft(
            session,
            here.service.context,
            here.enter(session),
            assignment=here.assignment,
            question=here.question,
            fields=fields,
            at=here.at,
        )

    await here.service.writer.run(keep)
    return render(request, "parts/draft.html", saved_at=here.at)


@router.post(QUESTION_PATH + "/files/{field}")
async def upload_attachment(
    request: Request, here: QuestionContextDep, field: FieldName, sent: SubmittedFormDep
) -> Response:
    """Keep a file as soon as it is chosen: the part of the page that names it."""
    here.service.budgets.spend("submit", here.caller.id)
    await run_in_threadpool(_refuse_without_access, here)
    line, problem = None, None
    try:
        for filename, content in sent.files.values():
            line = await save_attachment(here, filename, content)
    except KeysetError as error:
        problem = to_problem(error)
    fields = {f"file.{field}": line.digest, f"filename.{field}": line.name} if line else {}
    return render(request, "parts/file.html", name=field, sent=fields, problem=problem)


def _refuse_without_access(here: QuestionContext) -> None:
    with here.service.database.read() as session:
        here.own_variant(session)


@router.get("/uploads/{upload_id}")
def download_upload(upload_id: UploadId, visitor: VisitorDep, service: ServiceDep) -> Response:
    """A PDF that belongs to a written answer."""
    with service.database.read() as session:
        return download(get_upload(session, visitor.caller, upload_id=upload_id))
