"""What happens while an answer is being written: it is read, previewed, attached to and kept."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from grader.errors import AnswerRefused, KeysetError, NotFound
from grader.grading.submissions.check import check_field
from grader.grading.submissions.drafts import save_draft
from grader.grading.submissions.uploads import get_upload
from grader.reading.fields import ArrayField, Field, TextField
from grader.reading.grid import Grid, lay_out_cells
from grader.store.database import Session
from grader.web.api.uploads import UploadId, download
from grader.web.errors.problems import problem_of
from grader.web.pages.question_context import QUESTION, Here, HereDep
from grader.web.pages.rendering import FormDep, PageRoute, VisitorDep, render
from grader.web.pages.student.answer_form import SentDep
from grader.web.pages.student.question import keep_file
from grader.web.service import ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

FieldName = Annotated[str, Path(max_length=64)]


@router.post(QUESTION + "/reading/{field}")
async def read_field(request: Request, here: HereDep, field: FieldName, form: FormDep) -> Response:
    """How a field is read while it is being written: a part of the page."""
    text = form.get(f"answer.{field}", "")
    found = await run_in_threadpool(_read, here, field, text)
    return render(request, "parts/reading.html", field=field, text=text, **found)


def _read(here: Here, name: str, text: str) -> dict[str, Any]:
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
        found["problem"] = problem_of(error)
        found["grid"] = grid = _grid(field, text)
        if grid is not None:
            places = (grid.place(each.path) for each in error.errors)
            found["bad"] = next((each for each in places if each is not None), None)
    return found


def _grid(field: Field, text: str) -> Grid | None:
    if not isinstance(field, ArrayField):
        return None
    return lay_out_cells(text, field=field.name, shape=field.shape)


@router.post(QUESTION + "/draft")
async def keep_draft(request: Request, here: HereDep, form: FormDep) -> Response:
    """Keep what stands in the form, and say when."""
    fields = {name: text for name, text in form.items() if name != "action"}

    def keep(session: Session) -> None:
        save_draft(
            session,
            here.service.desk,
            here.enter(session),
            assignment=here.assignment,
            question=here.question,
            fields=fields,
            at=here.at,
        )

    await here.service.writer.run(keep)
    return render(request, "parts/draft.html", saved_at=here.at)


@router.post(QUESTION + "/files/{field}")
async def attach_file(request: Request, here: HereDep, field: FieldName, sent: SentDep) -> Response:
    """Keep a file as soon as it is chosen: the part of the page that names it."""
    here.service.budgets.spend("submit", here.caller.id)
    await run_in_threadpool(_refuse_strangers, here)
    line, problem = None, None
    try:
        for filename, content in sent.files.values():
            line = await keep_file(here, filename, content)
    except KeysetError as error:
        problem = problem_of(error)
    fields = {f"file.{field}": line.digest, f"filename.{field}": line.name} if line else {}
    return render(request, "parts/file.html", name=field, sent=fields, problem=problem)


def _refuse_strangers(here: Here) -> None:
    with here.service.database.read() as session:
        here.own_variant(session)


@router.get("/uploads/{upload_id}")
def download_upload(upload_id: UploadId, visitor: VisitorDep, service: ServiceDep) -> Response:
    """A PDF that belongs to a written answer."""
    with service.database.read() as session:
        return download(get_upload(session, visitor.caller, upload_id=upload_id))
