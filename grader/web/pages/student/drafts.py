"""Parts of the question's page while an answer is being written: previews, drafts and files."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from starlette.concurrency import run_in_threadpool

from grader.errors import AnswerRefused, KeysetError, NotFound
from grader.grading.submissions.check import check_field
from grader.grading.submissions.drafts import save_draft
from grader.grading.submissions.uploads import get_upload
from grader.reading.fields import ArrayField, TextField
from grader.reading.paste import find_grid
from grader.web.admission import take_turn
from grader.web.errors.problems import to_problem
from grader.web.files import download_pdf
from grader.web.pages.context import QUESTION_PATH, FormDep, Page, QuestionPage
from grader.web.pages.rendering import PageRoute
from grader.web.pages.student.answer_form import SubmittedFormDep
from grader.web.pages.student.question import save_attachment
from grader.web.params import UploadId

router = APIRouter(route_class=PageRoute, include_in_schema=False)

FieldName = Annotated[str, Path(max_length=64)]


@router.post(QUESTION_PATH + "/reading/{field}")
async def preview_field(page: QuestionPage, field: FieldName, form: FormDep) -> Response:
    """How a field is read so far."""
    page.service.budgets.spend("check", page.caller.id)
    text = form.get(f"answer.{field}", "")
    async with take_turn(page.request):
        found = await run_in_threadpool(_read_field, page, field, text)
    return page.render("student/reading.html", field=field, text=text, **found)


def _read_field(page: QuestionPage, name: str, text: str) -> dict[str, Any]:
    with page.read() as session:
        rubric, variant = page.own_variant(session)
    field = next((each for each in rubric.question.fields if each.name == name), None)
    if field is None:
        raise NotFound
    found: dict[str, Any] = {"reading": None, "problem": None, "grid": None, "bad": None}
    found["is_text"] = isinstance(field, TextField)
    if not text.strip():
        return found
    grid = None
    if isinstance(field, ArrayField):
        grid = found["grid"] = find_grid(text, field=field.name, shape=field.shape)
    try:
        found["reading"] = check_field(rubric, variant, name, text)
    except AnswerRefused as error:
        found["problem"] = to_problem(error)
        if grid is not None:
            places = (grid.place(each.path) for each in error.errors)
            found["bad"] = next((each for each in places if each is not None), None)
    return found


@router.post(QUESTION_PATH + "/draft")
async def update_draft(page: QuestionPage, form: FormDep) -> Response:
    """Save the form as a draft, and show when."""
    fields = {name: text for name, text in form.items() if name != "action"}
    await page.write(
        lambda session: save_draft(
            session,
            page.grading,
            page.membership(session),
            assignment=page.assignment,
            question=page.question,
            fields=fields,
            at=page.at,
        )
    )
    return page.render("student/draft.html", saved_at=page.at)


@router.post(QUESTION_PATH + "/files/{field}")
async def upload_attachment(
    page: QuestionPage, field: FieldName, sent: SubmittedFormDep
) -> Response:
    """Store a file as soon as it is chosen, and show its name."""
    page.service.budgets.spend("submit", page.caller.id)
    await run_in_threadpool(_refuse_without_access, page)
    line, problem = None, None
    try:
        for filename, content in sent.files.values():
            line = await save_attachment(page, filename, content)
    except KeysetError as error:
        problem = to_problem(error)
    fields = {f"file.{field}": line.digest, f"filename.{field}": line.name} if line else {}
    return page.render("student/file.html", name=field, sent=fields, problem=problem)


def _refuse_without_access(page: QuestionPage) -> None:
    with page.read() as session:
        page.own_variant(session)


@router.get("/uploads/{upload_id}")
def download_upload(page: Page, upload_id: UploadId) -> Response:
    """A PDF that belongs to a written answer."""
    with page.read() as session:
        return download_pdf(get_upload(session, page.caller, upload_id=upload_id))
