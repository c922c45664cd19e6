"""A question's page: the prompt, a form to answer it, and the result."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool

from grader.engine.random.variants import Variant
from grader.errors import KeysetError
from grader.feedback.examples import list_symbols
from grader.feedback.given import build_given_values
from grader.grading.attempts.find import get_visible_attempt
from grader.grading.attempts.report import AttemptReport
from grader.grading.submissions.check import AnswerReading, check_answer
from grader.grading.submissions.uploads import upload
from grader.reading.fields import (
    ArrayField,
    ChoiceField,
    ExternalField,
    Field,
    FileField,
    NumberField,
    TextField,
    describe_field,
)
from grader.rubric.catalog import Rubric
from grader.store.queries.courses import EnrolmentLine
from grader.store.queries.submissions import UploadLine, delete_draft
from grader.web.admission import refuse_unreadable, take_turn
from grader.web.errors.model import Problem
from grader.web.errors.problems import to_problem
from grader.web.pages.context import QUESTION_PATH, QuestionPage, QuestionView
from grader.web.pages.plots import draw_plots
from grader.web.pages.rendering import PageRoute, render_fragment
from grader.web.pages.student.answer_form import (
    SubmittedForm,
    SubmittedFormDep,
    fill_form,
    read_answer_from_form,
)
from grader.web.pages.student.downloads import list_arrays, write_snippets
from grader.web.submissions import Sender, SentAnswer

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_FILE_PREFIX = "pdf."
#: How the template tells the fields apart.
_FIELD_KINDS = {
    ArrayField: "array",
    NumberField: "number",
    ChoiceField: "choice",
    TextField: "text",
    FileField: "file",
    ExternalField: "external",
}


@router.get(QUESTION_PATH)
async def show_question(
    page: QuestionPage, restore: Annotated[str, Query(max_length=40)] = ""
) -> Response:
    """A question with the visitor's variant, and a form to answer it.

    The form holds the draft, or with `restore` the answer of an earlier attempt.
    """

    def show(view: QuestionView) -> Response:
        form = view.draft.fields if view.draft else {}
        if view.restored is not None:
            form = fill_form(view.restored)
        return _render_question(page, view, form=form, is_restored=bool(restore))

    return await page.use_view(show, restore=restore)


@router.post(QUESTION_PATH)
async def submit_answer_form(page: QuestionPage, sent: SubmittedFormDep) -> Response:
    """Check an answer or submit it; htmx gets only the result."""
    form, outcome = dict(sent.fields), dict[str, Any]()
    is_check = form.get("action") == "check"
    page.service.budgets.spend("check" if is_check else "submit", page.caller.id)
    if is_check and not sent.files:
        async with take_turn(page.request):
            return await page.use_view(lambda view: _check_form(page, view, form))
    view = await page.view()
    try:
        form |= await _save_attachments(page, sent)
        if not is_check:
            answer = read_answer_from_form(form, view.opened.question.rubric.question.fields)
            outcome["result"] = await _submit(page, answer)
    except KeysetError as error:
        outcome["problem"] = to_problem(error)
        is_check = False
    return await page.use_view(
        lambda view: (
            _check_form(page, view, form)
            if is_check
            else _render_question(page, view, form=form, **outcome)
        )
    )


def _check_form(page: QuestionPage, view: QuestionView, form: dict[str, str]) -> Response:
    """How the answer in a form is read."""
    rubric = view.opened.question.rubric
    outcome: dict[str, Any] = {}
    try:
        answer = read_answer_from_form(form, rubric.question.fields)
        outcome["reading"] = check_answer(rubric, view.opened.variant, answer)
    except KeysetError as error:
        outcome["problem"] = to_problem(error)
    return _render_question(page, view, form=form, **outcome)


async def _save_attachments(page: QuestionPage, sent: SubmittedForm) -> dict[str, str]:
    """Store the files of a form, and return the fields that refer to them."""
    fields: dict[str, str] = {}
    for name, (filename, content) in sent.files.items():
        line = await save_attachment(page, filename, content)
        field = name.removeprefix(_FILE_PREFIX)
        fields |= {f"file.{field}": line.digest, f"filename.{field}": line.name}
    return fields


async def save_attachment(page: QuestionPage, filename: str, content: bytes) -> UploadLine:
    """Store a file that belongs to an answer."""
    return await page.write(
        lambda session: upload(
            session, page.membership(session), name=filename, content=content, at=page.at
        )
    )


async def _submit(page: QuestionPage, answer: dict[str, Any]) -> dict[str, Any]:
    """Submit an answer, and load its result."""
    service = page.service

    def find_enrolment() -> EnrolmentLine:
        with page.read() as session:
            return page.membership(session).need_enrolment()

    enrolment = await run_in_threadpool(find_enrolment)
    sent = SentAnswer(
        Sender(enrolment, page.caller.id),
        page.course,
        page.assignment,
        page.question,
        answer,
        page.at,
    )
    await refuse_unreadable(page.request, sent)
    response = await service.submit(sent)
    report = AttemptReport.model_validate_json(response.body)
    # The draft is an attempt now, and can be restored from there.
    part = (enrolment.id, page.assignment, page.question)
    await page.write(lambda session: delete_draft(session, student_question=part))

    def load_result() -> dict[str, Any]:
        with page.read() as session:
            found = get_visible_attempt(
                session, page.grading, page.caller, attempt_id=report.id or "missing"
            )
            return {
                "attempt": report,
                "is_repeated": response.status == 200,
                "pictures": draw_plots(session, page.grading, found, report),
            }

    return await run_in_threadpool(load_result)


def _render_question(
    page: QuestionPage,
    view: QuestionView,
    *,
    form: dict[str, str],
    is_restored: bool = False,
    reading: AnswerReading | None = None,
    result: dict[str, Any] | None = None,
    problem: Problem | None = None,
) -> Response:
    opened = view.opened
    rubric = opened.question.rubric
    fields = _list_fields(rubric)
    return page.render(
        "student/answered.html" if page.is_htmx else "student/question.html",
        # htmx only swaps in a response whose status is 2xx, so a refused answer also has 200.
        status=200,
        question_path=page.request.url.path,
        course=page.course,
        assignment=opened.assignment,
        question=opened.question,
        rubric=rubric,
        overrides=opened.overrides,
        regrades=opened.regrades,
        fields=fields,
        is_external=any(kind == "external" for _, kind, _, _ in fields),
        given="" if page.is_htmx else _render_given(page, rubric, opened.variant),
        attempts=view.attempts,
        draft=view.draft,
        earlier=view.earlier,
        sent=form,
        is_restored=is_restored,
        reading=reading,
        result=result,
        problem=problem,
    )


def _list_fields(rubric: Rubric) -> list[tuple[Field, str, str, list[str]]]:
    """The fields of an answer: kind, what it takes, and the names that a formula may use."""
    found = []
    for field in rubric.question.fields:
        takes = describe_field(field)
        takes = takes[0].upper() + takes[1:]
        found.append((field, _FIELD_KINDS[type(field)], takes, list_symbols(field)))
    return found


def _render_given(page: QuestionPage, rubric: Rubric, variant: Variant) -> Markup:
    """The given values and calls to copy, which never change for a rubric and a variant."""

    def render() -> str:
        given = build_given_values(rubric.scope, variant, rubric.form.given)
        return render_fragment(
            "student/given.html",
            question_path=page.request.url.path,
            rubric=rubric,
            given=given,
            arrays=list_arrays(given),
            snippets=write_snippets(page, rubric),
        )

    key = (page.course, rubric.id, rubric.versions, variant.id)
    return page.service.fragments.get(key, render)
