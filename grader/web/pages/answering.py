"""A question's page: what is asked, a form to answer it, and what became of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Caller, Place, enter
from grader.errors import AnswerRefused, KeysetError
from grader.feedback.given import given_values
from grader.grading.attempts import find_attempt, list_attempts
from grader.grading.checking import Reading, check_answer, check_field
from grader.grading.reports import AttemptReport
from grader.grading.showing import (
    Shown,
    get_assignment,
    show_question,
    variant_of,
)
from grader.grading.submitting import Sending
from grader.reading.fields import ArrayField, ChoiceField, Field, FileField, NumberField, TextField
from grader.store.attempts import has_view
from grader.store.courses import EnrolmentLine
from grader.store.database import Session
from grader.web.access import CourseId
from grader.web.api import views
from grader.web.api.courses import Assignment, Question
from grader.web.pages.pictures import draw_pictures
from grader.web.pages.rendering import FormDep, PageRoute, Visitor, VisitorDep, render
from grader.web.problem_model import Problem
from grader.web.problems import problem_of
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_QUESTION = "/courses/{course}/assignments/{assignment}/questions/{question}"


@router.get(_QUESTION)
async def show_question_page(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    question: Question,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """A question with the visitor's own numbers, and a form to answer it."""
    here = _Here(service, visitor.caller, course, assignment, question)
    shown, attempts = await _look(here, at=at)
    return _question_page(request, visitor, here, shown, attempts, at=at, sent={})


@router.post(_QUESTION)
async def answer_question(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    question: Question,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Check an answer, or submit it; only the result is sent where only that is asked for."""
    here = _Here(service, visitor.caller, course, assignment, question)
    service.budgets.spend("submit", visitor.caller.id)
    shown, _ = await _look(here, at=at)
    sent = read_sent(form, shown.question.rubric.question.fields)
    outcome: dict[str, Any] = {}
    try:
        if form.get("action") == "check":
            outcome["reading"] = await run_in_threadpool(
                check_answer, shown.question.rubric, shown.variant, sent
            )
        else:
            outcome["result"] = await _submit(here, sent, at=at)
    except KeysetError as error:
        outcome["problem"] = problem_of(error)
    shown, attempts = await _look(here, at=at)
    return _question_page(request, visitor, here, shown, attempts, at=at, sent=form, **outcome)


@router.post(_QUESTION + "/reading/{field}")
async def read_field(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    question: Question,
    field: Annotated[str, Path(max_length=64)],
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """How a field is read while it is being written: a part of the page."""
    text = form.get(f"answer.{field}", "")

    def read() -> dict[str, Any]:
        with service.database.read() as session:
            place = enter(session, visitor.caller, run_id=course)
            state = get_assignment(session, service.desk, place, assignment=assignment, at=at)
            rubric = state.published.rubric(question)
            variant = variant_of(session, service.desk, place, rubric, at=at, keep=False)
        if not text.strip():
            return {"reading": None, "problem": None}
        try:
            return {"reading": check_field(rubric, variant, field, text), "problem": None}
        except AnswerRefused as error:
            return {"reading": None, "problem": problem_of(error)}

    found = await run_in_threadpool(read)
    return render(request, "parts/reading.html", field=field, text=text, **found)


class _Here:
    """A question, as a visitor came to it."""

    def __init__(
        self, service: Service, caller: Caller, course: str, assignment: str, question: str
    ) -> None:
        self.service, self.caller = service, caller
        self.course, self.assignment, self.question = course, assignment, question

    def enter(self, session: Session) -> Place:
        return enter(session, self.caller, run_id=self.course)

    def show(self, session: Session, *, at: datetime, keep: bool) -> Shown:
        return show_question(
            session,
            self.service.desk,
            self.enter(session),
            assignment=self.assignment,
            question=self.question,
            at=at,
            keep=keep,
        )


async def _look(here: _Here, *, at: datetime) -> tuple[Shown, list[AttemptReport]]:
    """The question and the attempts so far; the first look of all is noted."""

    def look_again() -> tuple[Shown, list[AttemptReport]] | None:
        with here.service.database.read() as session:
            place = here.enter(session)
            if place.enrolment is None:
                return here.show(session, at=at, keep=False), []
            part = (place.enrolment.id, here.assignment, here.question)
            if not has_view(session, part=part):
                return None
            attempts = list_attempts(
                session,
                here.service.desk,
                place,
                assignment=here.assignment,
                question=here.question,
                at=at,
            )
            return here.show(session, at=at, keep=False), attempts

    found = await run_in_threadpool(look_again)
    if found is not None:
        return found
    shown = await here.service.writer.run(lambda session: here.show(session, at=at, keep=True))
    return shown, []


async def _submit(here: _Here, sent: dict[str, Any], *, at: datetime) -> dict[str, Any]:
    """Submit an answer, and look at what became of it."""
    service = here.service

    def find_enrolment() -> EnrolmentLine:
        with service.database.read() as session:
            return here.enter(session).need_enrolment()

    enrolment = await run_in_threadpool(find_enrolment)
    sending = Sending(enrolment, here.assignment, here.question, sent, at)
    answered = await service.writer.submit(service.submit, sending)
    made = AttemptReport.model_validate_json(answered.body)

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
    visitor: Visitor,
    here: _Here,
    shown: Shown,
    attempts: list[AttemptReport],
    *,
    at: datetime,
    sent: dict[str, str],
    reading: Reading | None = None,
    result: dict[str, Any] | None = None,
    problem: Problem | None = None,
) -> Response:
    question = views.question_read(shown, course=here.course, at=at)
    return render(
        request,
        "parts/answered.html" if request.headers.get("HX-Request") == "true" else "question.html",
        # A part of a page is only put in where the status says that all is well.
        status=200,
        visitor=visitor,
        question=question,
        assignment=views.assignment_summary(shown.assignment, at=at),
        arrays=list_arrays(shown),
        attempts=attempts,
        sent=sent,
        reading=reading,
        result=result,
        problem=problem,
    )


def read_sent(form: dict[str, str], fields: Sequence[Field]) -> dict[str, Any]:
    """The answer in a form: text for numbers and formulas, options, and what was written.

    What was left empty is left out, so that it is told what is missing.
    """
    sent: dict[str, Any] = {}
    for field in fields:
        name = f"answer.{field.name}"
        match field:
            case ChoiceField(several=True):
                chosen = [each for each in field.options if f"{name}.{each}" in form]
                if chosen:
                    sent[field.name] = chosen
            case ArrayField() | NumberField() | ChoiceField() | TextField() | FileField():
                if form.get(name, "").strip():
                    sent[field.name] = form[name]
            case _:
                pass
    return sent


def list_arrays(shown: Shown) -> list[tuple[str, list[list[float]]]]:
    """The given arrays that are matrices or vectors, as rows."""
    given = given_values(
        shown.question.rubric.scope, shown.variant, shown.question.rubric.form.given
    )
    arrays = []
    for name, value in given.items():
        if isinstance(value, list):
            arrays.append((name, value if isinstance(value[0], list) else [value]))
    return arrays
