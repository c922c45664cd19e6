"""A question's page: what is asked, a form to answer it, and what became of the answer."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from grader.errors import KeysetError
from grader.grading.attempts.find import find_attempt
from grader.grading.attempts.report import AttemptReport
from grader.grading.submissions.check import Reading, check_answer
from grader.grading.submissions.submit import Sending
from grader.grading.submissions.uploads import upload
from grader.store.database import Session
from grader.store.queries.courses import EnrolmentLine
from grader.store.queries.drafts import delete_draft
from grader.store.queries.uploads import UploadLine
from grader.web.api import presenters
from grader.web.errors.model import Problem
from grader.web.errors.problems import problem_of
from grader.web.pages.plots import draw_pictures
from grader.web.pages.question_context import QUESTION, Here, HereDep, Seen
from grader.web.pages.rendering import PageRoute, render, wants_part
from grader.web.pages.student.answer_form import Sent, SentDep, fill_form, read_answer_in
from grader.web.pages.student.downloads import list_arrays, write_snippets

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_FILE = "pdf."


@router.get(QUESTION)
async def show_question_page(
    request: Request,
    here: HereDep,
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
    return _question_page(request, here, seen, form=form, is_restored=bool(restore))


@router.post(QUESTION)
async def answer_question(request: Request, here: HereDep, sent: SentDep) -> Response:
    """Check an answer, or submit it; only the result is sent where only that is asked for."""
    here.service.budgets.spend("submit", here.caller.id)
    seen = await here.look()
    form, outcome = dict(sent.fields), dict[str, Any]()
    try:
        form |= await _keep_files(here, sent)
        answer = read_answer_in(form, seen.shown.question.rubric.question.fields)
        if form.get("action") == "check":
            outcome["reading"] = await run_in_threadpool(
                check_answer, seen.shown.question.rubric, seen.shown.variant, answer
            )
        else:
            outcome["result"] = await _submit(here, answer)
    except KeysetError as error:
        outcome["problem"] = problem_of(error)
    return _question_page(request, here, await here.look(), form=form, **outcome)


async def _keep_files(here: Here, sent: Sent) -> dict[str, str]:
    """Keep the files of a form, and return the fields that stand for them from now on."""
    fields: dict[str, str] = {}
    for name, (filename, content) in sent.files.items():
        line = await keep_file(here, filename, content)
        field = name.removeprefix(_FILE)
        fields |= {f"file.{field}": line.digest, f"filename.{field}": line.name}
    return fields


async def keep_file(here: Here, filename: str, content: bytes) -> UploadLine:
    """Keep a file that a visitor chose."""

    def keep(session: Session) -> UploadLine:
        return upload(session, here.enter(session), name=filename, content=content, at=here.at)

    return await here.service.writer.run(keep)


async def _submit(here: Here, answer: dict[str, Any]) -> dict[str, Any]:
    """Submit an answer, and look at what became of it."""
    service = here.service

    def find_enrolment() -> EnrolmentLine:
        with service.database.read() as session:
            return here.enter(session).need_enrolment()

    enrolment = await run_in_threadpool(find_enrolment)
    sending = Sending(enrolment, here.assignment, here.question, answer, here.at)
    answered = await service.writer.submit(service.submit, sending)
    made = AttemptReport.model_validate_json(answered.body)
    # What was sent is an attempt now, and can be brought back from there.
    part = (enrolment.id, here.assignment, here.question)
    await service.writer.run(lambda session: delete_draft(session, part=part))

    def look() -> dict[str, Any]:
        with service.database.read() as session:
            found = find_attempt(
                session, service.desk, here.caller, attempt_id=made.id or "missing"
            )
            return {
                "attempt": made,
                "is_repeated": answered.status == 200,
                "pictures": draw_pictures(session, service, found, made),
            }

    return await run_in_threadpool(look)


def _question_page(
    request: Request,
    here: Here,
    seen: Seen,
    *,
    form: dict[str, str],
    is_restored: bool = False,
    reading: Reading | None = None,
    result: dict[str, Any] | None = None,
    problem: Problem | None = None,
) -> Response:
    question = presenters.question_read(seen.shown, course=here.course, at=here.at)
    return render(
        request,
        "parts/answered.html" if wants_part(request) else "question.html",
        # A part of a page is only put in where the status says that all is well.
        status=200,
        question_path=request.url.path,
        visitor=here.visitor,
        question=question,
        assignment=presenters.assignment_summary(seen.shown.assignment, at=here.at),
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
