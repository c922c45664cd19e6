"""A question, as a visitor came to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Caller, Membership, get_membership
from grader.engine.random.variants import Variant
from grader.grading.attempts.find import list_attempts
from grader.grading.attempts.open_questions import (
    OpenedQuestion,
    get_assignment,
    get_own_variant,
    open_question,
    refuse_unopened,
)
from grader.grading.attempts.report import AttemptReport
from grader.grading.submissions.drafts import find_own_draft
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import find_judged, has_view
from grader.store.queries.submissions import DraftLine
from grader.web.pages.rendering import Visitor, VisitorDep
from grader.web.params import AssignmentId, CourseId, QuestionId
from grader.web.service import ReceivedAt, Service, ServiceDep

#: The address of a question's page.
QUESTION_PATH = "/courses/{course}/assignments/{assignment}/questions/{question}"


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question with what the visitor has done at it."""

    shown: OpenedQuestion
    attempts: list[AttemptReport]
    draft: DraftLine | None
    earlier: dict[str, Any] | None = None
    """What the visitor sent to the part that this one runs."""


@dataclass(frozen=True, slots=True)
class QuestionContext:
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

    def enter(self, session: Session) -> Membership:
        """The visitor's membership in the course run."""
        return get_membership(session, self.caller, run_id=self.course)

    def show(self, session: Session, *, keep: bool) -> OpenedQuestion:
        """The question; with `keep` it is noted that it was seen."""
        return open_question(
            session,
            self.service.context,
            self.enter(session),
            assignment=self.assignment,
            question=self.question,
            at=self.at,
            keep=keep,
        )

    def own_variant(self, session: Session) -> tuple[Rubric, Variant]:
        """The question's rubric with the visitor's variant, where nothing needs to be noted."""
        membership = self.enter(session)
        context = self.service.context
        state = get_assignment(session, context, membership, assignment=self.assignment, at=self.at)
        rubric = state.published.rubric(self.question)
        refuse_unopened(state, membership, at=self.at)
        return rubric, get_own_variant(session, context, membership, rubric, at=self.at, keep=False)

    async def look(self) -> QuestionView:
        """The question and the attempts so far; the first look of all is noted."""
        found = await run_in_threadpool(self._look_again)
        if found is None:
            await self.service.writer.run(lambda session: self.show(session, keep=True))
            # There may be attempts already: whoever answers by program need not look first.
            found = await run_in_threadpool(self._look_again)
        assert found is not None, "a question that was seen is not seen"
        return found

    def _look_again(self) -> QuestionView | None:
        with self.service.database.read() as session:
            membership = self.enter(session)
            if membership.enrolment is None:
                return QuestionView(self.show(session, keep=False), [], None)
            part = (membership.enrolment.id, self.assignment, self.question)
            if not has_view(session, part=part):
                return None
            attempts = list_attempts(
                session,
                self.service.context,
                membership,
                assignment=self.assignment,
                question=self.question,
                at=self.at,
            )
            draft = find_own_draft(
                session, membership, assignment=self.assignment, question=self.question
            )
            shown = self.show(session, keep=False)
            return QuestionView(shown, attempts, draft, _find_earlier_answer(session, shown))


def _find_earlier_answer(session: Session, shown: OpenedQuestion) -> dict[str, Any] | None:
    rubric = shown.question.rubric.earlier
    if rubric is None:
        return None
    before = shown.assignment.questions[rubric.form.id]
    if before.grade is None or not before.shows_result or not before.grade.counted_attempt_id:
        return None
    found = find_judged(session, attempt_id=before.grade.counted_attempt_id)
    return found[0].answer if found else None


def make_question_context(
    course: CourseId,
    assignment: AssignmentId,
    question: QuestionId,
    visitor: VisitorDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> QuestionContext:
    """Where a visitor is, from the address."""
    return QuestionContext(service, visitor, course, assignment, question, at)


QuestionContextDep = Annotated[QuestionContext, Depends(make_question_context)]
