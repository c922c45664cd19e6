"""What students see before they answer: assignments, questions, and where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from grader.accounts.callers import Membership
from grader.domain.policies import Policy
from grader.engine.random.variants import Variant
from grader.errors import RequestRefused
from grader.grading.context import GradingContext, PublishedAssignment
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import StudentQuestion, record_view
from grader.store.queries.decisions import (
    ExternalScoreLine,
    OverrideLine,
    list_external_scores,
    list_overrides,
)
from grader.store.queries.grades import GradeLine, list_grades_of_students
from grader.store.queries.publications import ExtensionLine, find_extensions, list_in_force


class QuestionStatus(StrEnum):
    """Where a student stands with a question, in a word."""

    NOT_OPEN = "not_open"
    NOT_STARTED = "not_started"
    STARTED = "started"
    SOLVED = "solved"
    AWAITS_REVIEW = "awaits_review"
    SUBMITTED = "submitted"


@dataclass(frozen=True, slots=True)
class QuestionState:
    """A question as it stands for one student; `grade` is None before anything was sent."""

    rubric: Rubric
    policy: Policy
    grade: GradeLine | None
    state: QuestionStatus
    shows_result: bool

    @property
    def attempts(self) -> int:
        """How many attempts are used."""
        return self.grade.attempts if self.grade else 0

    @property
    def attempts_left(self) -> int:
        """How many attempts there still are."""
        return self.policy.count_left(self.attempts)

    @property
    def points(self) -> Decimal | None:
        """What was earned, where the student may know; an override is told in any case."""
        return self.grade.points if self.grade and self.shows_points else None

    @property
    def shows_points(self) -> bool:
        """Whether the student may know the points, if not how the attempts came out."""
        return self.shows_result or bool(self.grade and self.grade.is_overridden)


@dataclass(frozen=True, slots=True)
class AssignmentState:
    """An assignment as it stands for one student, or for staff without grades of their own."""

    published: PublishedAssignment
    extension: ExtensionLine | None
    questions: Mapping[str, QuestionState]
    time_zone: str
    """The course run's, in which its people think of due dates."""

    @property
    def policy(self) -> Policy:
        """What holds for the assignment as a whole."""
        return self.published.policy(self.published.form.questions[0], self.extension)


def list_assignments(
    session: Session, context: GradingContext, membership: Membership, *, at: datetime
) -> list[AssignmentState]:
    """All assignments of a course run, with where the caller stands."""
    lines = list_in_force(session, run_id=membership.run.id)
    return [_state(session, context.published(session, line), membership, at=at) for line in lines]


def get_assignment(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    at: datetime,
) -> AssignmentState:
    """One assignment, with where the caller stands."""
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    return _state(session, published, membership, at=at)


def _state(
    session: Session, published: PublishedAssignment, membership: Membership, *, at: datetime
) -> AssignmentState:
    name, enrolment = published.line.assignment, membership.enrolment
    extension, grades = None, {}
    if enrolment is not None:
        extension = find_extensions(session, pairs=[(enrolment.id, name)]).get((enrolment.id, name))
        lines = list_grades_of_students(session, enrolment_ids=[enrolment.id], assignment=name)
        grades = {line.question: line for line in lines}
    questions = {
        key: _question_state(published, key, extension, grades.get(key), at=at)
        for key in published.form.questions
    }
    return AssignmentState(published, extension, questions, membership.run.time_zone)


def _question_state(
    published: PublishedAssignment,
    question: str,
    extension: ExtensionLine | None,
    grade: GradeLine | None,
    *,
    at: datetime,
) -> QuestionState:
    policy = published.policy(question, extension)
    shows = policy.shows_result(at)
    tells = shows or bool(grade and grade.is_overridden)
    return QuestionState(
        published.rubric(question), policy, grade, _status(policy, grade, tells, at=at), shows
    )


def _status(
    policy: Policy, grade: GradeLine | None, shows: bool, *, at: datetime
) -> QuestionStatus:
    opens_at = policy.window.opens_at
    if opens_at is not None and at < opens_at:
        return QuestionStatus.NOT_OPEN
    if grade is None or (grade.points is None and not grade.attempts):
        return QuestionStatus.NOT_STARTED
    if not shows:
        return QuestionStatus.SUBMITTED
    if grade.points is not None and grade.points == grade.possible:
        return QuestionStatus.SOLVED
    return (
        QuestionStatus.AWAITS_REVIEW
        if grade.pending or grade.needs_person
        else QuestionStatus.STARTED
    )


@dataclass(frozen=True, slots=True)
class OpenedQuestion:
    """A question with the caller's own variant."""

    assignment: AssignmentState
    question: QuestionState
    variant: Variant
    overrides: tuple[OverrideLine, ...] = ()
    scores: tuple[ExternalScoreLine, ...] = ()


def refuse_unopened(state: AssignmentState, membership: Membership, *, at: datetime) -> None:
    """Students see questions from the opening on; staff may look before."""
    opens_at = state.policy.window.opens_at
    if not membership.is_staff and opens_at is not None and at < opens_at:
        raise RequestRefused(
            f"This assignment opens at {opens_at.isoformat()}.", code="assignment.not_open"
        )


def open_question(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    question: str,
    at: datetime,
    keep: bool,
) -> OpenedQuestion:
    """A question with the caller's variant.

    With `keep`, in a session that writes, it is noted when it was seen first, and the variant is
    stored as shown. Staff without a place of their own get a variant that is nobody's.
    """
    state = get_assignment(session, context, membership, assignment=assignment, at=at)
    rubric = state.published.rubric(question)
    refuse_unopened(state, membership, at=at)
    variant = get_own_variant(session, context, membership, rubric, at=at, keep=keep)
    shown = OpenedQuestion(state, state.questions[question], variant)
    if membership.enrolment is None:
        return shown
    part: StudentQuestion = (membership.enrolment.id, assignment, question)
    if keep:
        record_view(session, run_id=membership.run.id, part=part, at=at)
    return replace(
        shown,
        overrides=tuple(list_overrides(session, student_questions=[part])),
        scores=tuple(list_external_scores(session, student_questions=[part])),
    )


def get_own_variant(
    session: Session,
    context: GradingContext,
    membership: Membership,
    rubric: Rubric,
    *,
    at: datetime,
    keep: bool,
) -> Variant:
    """The caller's own variant of a question."""
    if membership.enrolment is None:
        return context.judge(session, run_id=membership.run.id, rubric=rubric).variant("preview")
    owner = membership.enrolment
    return context.variants(session, [(owner, rubric)], at=at, keep=keep)[owner.id, rubric.id]
