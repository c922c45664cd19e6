"""What students see before they answer: assignments, questions, and where they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from grader.store.queries.grades import GradeLine, list_grades_of_assignments
from grader.store.queries.publications import (
    ExtensionLine,
    find_extensions,
    list_in_force_of_runs,
)
from grader.store.queries.regrades.preview import StudentRegrade, list_student_regrades


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
    def possible(self) -> Decimal:
        """Out of what the points were given; what the question is worth while there are none."""
        if self.grade is None or self.points is None:
            return self.rubric.form.points
        return self.grade.possible

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
    (states,) = list_assignments_of(session, context, [membership], at=at)
    return states


def list_assignments_of(
    session: Session, context: GradingContext, memberships: Sequence[Membership], *, at: datetime
) -> list[list[AssignmentState]]:
    """The same for many memberships, by as many statements as for one."""
    lines = list_in_force_of_runs(session, run_ids=[each.run.id for each in memberships])
    wanted = [
        (
            membership,
            [context.published(session, line) for line in lines.get(membership.run.id, ())],
        )
        for membership in memberships
    ]
    return _make_states(session, wanted, at=at)


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
    ((state,),) = _make_states(session, [(membership, [published])], at=at)
    return state


def _make_states(
    session: Session,
    wanted: Sequence[tuple[Membership, Sequence[PublishedAssignment]]],
    *,
    at: datetime,
) -> list[list[AssignmentState]]:
    pairs = {
        (membership.enrolment.id, published.line.assignment)
        for membership, assignments in wanted
        if membership.enrolment is not None
        for published in assignments
    }
    extensions = find_extensions(session, pairs=pairs) if pairs else {}
    grades: dict[tuple[str, str], dict[str, GradeLine]] = {}
    for line in list_grades_of_assignments(session, pairs=pairs) if pairs else ():
        grades.setdefault((line.enrolment_id, line.assignment), {})[line.question] = line
    found = []
    for membership, assignments in wanted:
        owner = membership.enrolment.id if membership.enrolment else ""
        states = []
        for published in assignments:
            pair = (owner, published.line.assignment)
            extension, own = extensions.get(pair), grades.get(pair, {})
            questions = {
                key: _question_state(published, key, extension, own.get(key), at=at)
                for key in published.form.questions
            }
            states.append(
                AssignmentState(published, extension, questions, membership.run.time_zone)
            )
        found.append(states)
    return found


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
    regrades: tuple[StudentRegrade, ...] = ()
    """Those that have changed the grade, where the student may know it."""


def refuse_unopened(
    published: PublishedAssignment, membership: Membership, *, at: datetime
) -> None:
    """Students see questions from the opening on; staff may look before."""
    opens_at = published.line.opens_at
    if not membership.is_staff and opens_at is not None and at < opens_at:
        raise RequestRefused(
            f"This assignment opens at {opens_at.isoformat()}.", code="assignment.not_open"
        )


def get_open_variant(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    question: str,
    at: datetime,
) -> tuple[Rubric, Variant]:
    """A question's rubric with the caller's variant, without recording a view."""
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    rubric = published.rubric(question)
    refuse_unopened(published, membership, at=at)
    return rubric, get_own_variant(session, context, membership, rubric, at=at, keep=False)


def open_question(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    question: str,
    at: datetime,
    keep: bool,
    with_scores: bool = True,
) -> OpenedQuestion:
    """A question with the caller's variant; `scores` are empty without `with_scores`.

    With `keep`, in a session that writes, it is noted when it was seen first, and the variant is
    stored as shown. Staff without a place of their own get a variant that is nobody's.
    """
    state = get_assignment(session, context, membership, assignment=assignment, at=at)
    rubric = state.published.rubric(question)
    refuse_unopened(state.published, membership, at=at)
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
        regrades=tuple(list_student_regrades(session, part=part))
        if shown.question.grade is not None and shown.question.shows_points
        else (),
        scores=tuple(list_external_scores(session, student_questions=[part]))
        if with_scores
        else (),
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
