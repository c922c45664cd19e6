"""A question's page: what is asked, a form to answer it, and what became of the answer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from grader.errors import KeysetError
from grader.grading.attempts.find import get_visible_attempt
from grader.grading.attempts.report import AttemptReport
from grader.grading.submissions.check import AnswerReading, check_answer
from grader.grading.submissions.submit import SubmitRequest
from grader.grading.submissions.uploads import upload
from grader.store.database import Session
from grader.store.queries.courses import EnrolmentLine
from grader.store.queries.submissions import UploadLine, delete_draft
from grader.web.api import presenters
from grader.web.errors.model import Problem
from grader.web.errors.problems import to_problem
from grader.web.pages.plots import draw_plots
from grader.web.pages.question_context import (
    QUESTION_PATH,
    QuestionContext,
    QuestionContextDep,
    QuestionView,
)
from grader.web.pages.rendering import PageRoute, is_htmx_request, render
from grader.web.pages.student.answer_form import (
    SubmittedForm,
    SubmittedFormDep,
    fill_form,
    read_answer_from_form,
)
from grader.web.pages.student.downloads import list_arrays, write_snippets

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_FILE_PREFIX = "pdf."


@router.get(QUESTION_PATH)
async def show_question(
    request: Request,
    here: QuestionContextDep,
    restore: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """A question with the visitor's own numbers, and a form to answer it.

    In the form stands the draft, or with `restore` what an earlier attempt had sent.
    """
    seen = await here.look()
    form = seen.draft.fields if seen.draft else {}
    for attempt in seen.attempts:
        if attempt.id == restore:
            form = fill_form(attempt.answer)
    return _render_question(request, here, seen, form=form, is_restored=bool(restore))


@router.post(QUESTION_PATH)
async def submit_answer_form(
    request: Request, here: QuestionContextDep, sent: SubmittedFormDep
) -> Response:
    """Check an answer, or submit it; only the result is sent where only that is asked for."""
    here.service.budgets.spend("submit", here.caller.id)
    seen = await here.look()
    form, outcome = dict(sent.fields), dict[str, Any]()
    try:
        form |= await _save_attachments(here, sent)
        answer = read_answer_from_form(form, seen.shown.question.rubric.question.fields)
        if form.get("action") == "check":
            outcome["reading"] = await run_in_threadpool(
                check_answer, seen.shown.question.rubric, seen.shown.variant, answer
            )
        else:
            outcome["result"] = await _submit(here, answer)
    except KeysetError as error:
        outcome["problem"] = to_problem(error)
    return _render_question(request, here, await here.look(), form=form, **outcome)


async def _save_attachments(here: QuestionContext, sent: SubmittedForm) -> dict[str, str]:
    """Keep the files of a form, and return the fields that stand for them from now on."""
    fields: dict[str, str] = {}
    for name, (filename, content) in sent.files.items():
        line = await save_attachment(here, filename, content)
        field = name.removeprefix(_FILE_PREFIX)
        fields |= {f"file.{field}": line.digest, f"filename.{field}": line.name}
    return fields


async def save_attachment(here: QuestionContext, filename: str, content: bytes) -> UploadLine:
    """Keep a file that a visitor chose."""

    def keep(session: Session) -> UploadLine:
        return upload(session, here.enter(session), name=filename, content=content, at=here.at)

    return await here.service.writer.run(keep)


async def _submit(here: QuestionContext, answer: dict[str, Any]) -> dict[str, Any]:
    """Submit an answer, and look at what became of it."""
    service = here.service

    def find_enrolment() -> EnrolmentLine:
        with service.database.read() as session:
            return here.enter(session).need_enrolment()

    enrolment = await run_in_threadpool(find_enrolment)
    sending = SubmitRequest(enrolment, here.assignment, here.question, answer, here.at)
    answered = await service.writer.submit(service.submit, sending)
    made = AttemptReport.model_validate_json(answered.body)
    # What was sent is an attempt now, and can be brought back from there.
    part = (enrolment.id, here.assignment, here.question)
    await service.writer.run(lambda session: delete_draft(session, student_question=part))

    def look() -> dict[str, Any]:
        with service.database.read() as session:
            found = get_visible_attempt(
                session, service.context, here.caller, attempt_id=made.id or "missing"
            )
            return {
                "attempt": made,
                "is_repeated": answered.status == 200,
                "pictures": draw_plots(session, service, found, made),
            }

    return await run_in_threadpool(look)


def _render_question(
    request: Request,
    here: QuestionContext,
    seen: QuestionView,
    *,
    form: dict[str, str],
    is_restored: bool = False,
    reading: AnswerReading | None = None,
    result: dict[str, Any] | None = None,
    problem: Problem | None = None,
) -> Response:
    question = presenters.to_question_read(seen.shown, course=here.course, at=here.at)
    return render(
        request,
        "parts/answered.html" if is_htmx_request(request) else "question.html",
        # A part of a page is only put in where the status says that all is well.
        status=200,
        question_path=request.url.path,
        visitor=here.visitor,
        question=question,
        assignment=presenters.to_assignment_summary(seen.shown.assignment, at=here.at),
        arrays=list_arrays(question.given),
        snippets=write_snippets(here, question),
        attempts=seen.attempts,
        draft=seen.draft,
        earlier=seen.earlier,
        sent=form,
        is_restored=is_restored,
        reading=reading,
        result=result,
        problem=problem,
    )
