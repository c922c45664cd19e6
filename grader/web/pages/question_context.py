"""A question, as a visitor came to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Caller, Place, enter
from grader.engine.random.variants import Variant
from grader.grading.attempts.find import list_attempts
from grader.grading.attempts.open_questions import (
    Shown,
    get_assignment,
    refuse_unopened,
    show_question,
    variant_of,
)
from grader.grading.attempts.report import AttemptReport
from grader.grading.submissions.drafts import load_draft
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import find_judged, has_view
from grader.store.queries.drafts import DraftLine
from grader.web.api.courses import Assignment, Question
from grader.web.auth import CourseId
from grader.web.pages.rendering import Visitor, VisitorDep
from grader.web.service import ReceivedAt, Service, ServiceDep

#: The address of a question's page.
QUESTION = "/courses/{course}/assignments/{assignment}/questions/{question}"


@dataclass(frozen=True, slots=True)
class Seen:
    """A question with what the visitor has done at it."""

    shown: Shown
    attempts: list[AttemptReport]
    draft: DraftLine | None
    earlier: dict[str, Any] | None = None
    """What the visitor sent to the part that this one runs."""


@dataclass(frozen=True, slots=True)
class Here:
    """Where a visitor is, and when."""

    service: Service
    visitor: Visitor
    course: str
    assignment: str
    question: str
    at: datetime

    @property
    def caller(self) -> Caller:
        """Who is there."""
        return self.visitor.caller

    def enter(self, session: Session) -> Place:
        """The visitor's place in the course run."""
        return enter(session, self.caller, run_id=self.course)

    def show(self, session: Session, *, keep: bool) -> Shown:
        """The question; with `keep` it is noted that it was seen."""
        return show_question(
            session,
            self.service.desk,
            self.enter(session),
            assignment=self.assignment,
            question=self.question,
            at=self.at,
            keep=keep,
        )

    def own_variant(self, session: Session) -> tuple[Rubric, Variant]:
        """The question's rubric with the visitor's variant, where nothing needs to be noted."""
        place = self.enter(session)
        desk = self.service.desk
        state = get_assignment(session, desk, place, assignment=self.assignment, at=self.at)
        rubric = state.published.rubric(self.question)
        refuse_unopened(state, place, at=self.at)
        return rubric, variant_of(session, desk, place, rubric, at=self.at, keep=False)

    async def look(self) -> Seen:
        """The question and the attempts so far; the first look of all is noted."""
        found = await run_in_threadpool(self._look_again)
        if found is None:
            await self.service.writer.run(lambda session: self.show(session, keep=True))
            # There may be attempts already: whoever answers by program need not look first.
            found = await run_in_threadpool(self._look_again)
        assert found is not None, "a question that was seen is not seen"
        return found

    def _look_again(self) -> Seen | None:
        with self.service.database.read() as session:
            place = self.enter(session)
            if place.enrolment is None:
                return Seen(self.show(session, keep=False), [], None)
            part = (place.enrolment.id, self.assignment, self.question)
            if not has_view(session, part=part):
                return None
            attempts = list_attempts(
                session,
                self.service.desk,
                place,
                assignment=self.assignment,
                question=self.question,
                at=self.at,
            )
            draft = load_draft(session, place, assignment=self.assignment, question=self.question)
            shown = self.show(session, keep=False)
            return Seen(shown, attempts, draft, _earlier_answer(session, shown))


def _earlier_answer(session: Session, shown: Shown) -> dict[str, Any] | None:
    rubric = shown.question.rubric.earlier
    if rubric is None:
        return None
    before = shown.assignment.questions[rubric.form.id]
    if before.grade is None or not before.shows_result or not before.grade.counted_attempt_id:
        return None
    found = find_judged(session, attempt_id=before.grade.counted_attempt_id)
    return found[0].answer if found else None


def find_here(
    course: CourseId,
    assignment: Assignment,
    question: Question,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Here:
    """Where a visitor is, from the address."""
    return Here(service, visitor, course, assignment, question, at)


HereDep = Annotated[Here, Depends(find_here)]
