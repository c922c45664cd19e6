"""The staff's home page: what needs attention now, in a few quick counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from grader.accounts.callers import Membership
from grader.domain.roles import Role
from grader.domain.statistics import MIN_STUDENTS
from grader.grading.analytics.models import QuestionStatistics
from grader.grading.analytics.question import load_assignment_analysis
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.grades.extensions import find_latest_extensions
from grader.grading.regrades.outdated import count_outdated
from grader.store.database import Session
from grader.store.queries import insights as counts
from grader.store.queries.insights import StuckStudentLine
from grader.store.queries.publications import ExtensionLine, list_in_force

#: A student is stuck after this many attempts without a solution …
STUCK_AFTER = 3
#: … if no more time is left than this.
DUE_WITHIN = timedelta(hours=24)
#: The time that counts as lately.
RECENT = timedelta(hours=24)
#: The maximum age of the figures behind dubious questions.
MAX_STATISTICS_AGE = timedelta(minutes=30)
#: How many names are shown of the students who are stuck at a question.
MAX_NAMES = 12


@dataclass(frozen=True, slots=True)
class OpenReviews:
    """What people still have to review in an assignment, and to decide about.

    `outdated` are the attempts by an earlier version of their rubric.
    """

    published: PublishedAssignment
    to_review: int
    undecided: int
    outdated: int


@dataclass(frozen=True, slots=True)
class StuckStudents:
    """The students who are stuck at a question: `count` in all, some of them in `students`."""

    published: PublishedAssignment
    question: str
    count: int
    students: tuple[StuckStudentLine, ...]

    @property
    def title(self) -> str:
        """The question's title."""
        return self.published.rubric(self.question).form.title


@dataclass(frozen=True, slots=True)
class AssignmentActivity:
    """An assignment with the number of students who have begun, and its recent attempts."""

    published: PublishedAssignment
    tried: int
    attempts_lately: int
    students_lately: int


@dataclass(frozen=True, slots=True)
class StaffHome:
    """What the staff of a course run see first."""

    students: int
    tasks: tuple[OpenReviews, ...]
    stuck: tuple[StuckStudents, ...]
    next: tuple[AssignmentActivity, ...]
    past: tuple[AssignmentActivity, ...]

    @property
    def attempts_lately(self) -> int:
        """How many attempts came in lately."""
        return sum(each.attempts_lately for each in (*self.next, *self.past))


def load_staff_home(
    session: Session, context: GradingContext, membership: Membership, *, at: datetime
) -> StaffHome:
    """Load what needs the attention of a course run's staff now."""
    membership.need(Role.ASSISTANT)
    run_id = membership.run.id
    lines = list_in_force(session, run_id=run_id)
    published = {line.assignment: context.published(session, line) for line in lines}
    due = _activity(session, run_id, published, at=at)
    return StaffHome(
        students=counts.count_students(session, run_id=run_id),
        tasks=_tasks(session, context, run_id, published),
        stuck=_stuck(session, run_id, published, at=at),
        next=tuple(each for each in due if not _is_over(each.published, at)),
        past=tuple(each for each in reversed(due) if _is_over(each.published, at)),
    )


def _is_over(published: PublishedAssignment, at: datetime) -> bool:
    due_at = published.line.due_at
    return due_at is not None and due_at < at


def _tasks(
    session: Session,
    context: GradingContext,
    run_id: str,
    published: Mapping[str, PublishedAssignment],
) -> tuple[OpenReviews, ...]:
    to_review = counts.count_to_review(session, run_id=run_id)
    undecided = counts.count_undecided(session, run_id=run_id)
    outdated = {
        name: sum(count_outdated(session, context, each).values())
        for name, each in published.items()
    }
    return tuple(
        OpenReviews(each, to_review.get(name, 0), undecided.get(name, 0), outdated[name])
        for name, each in published.items()
        if name in to_review or name in undecided or outdated[name]
    )


def _activity(
    session: Session, run_id: str, published: Mapping[str, PublishedAssignment], *, at: datetime
) -> list[AssignmentActivity]:
    tried = counts.count_students_with_attempts(session, run_id=run_id)
    return [
        AssignmentActivity(
            each,
            tried.get(name, 0),
            *counts.count_recent_attempts(
                session, run_id=run_id, assignment=name, since=at - RECENT
            ),
        )
        for name, each in published.items()
    ]


# Stuck students


def _stuck(
    session: Session, run_id: str, published: Mapping[str, PublishedAssignment], *, at: datetime
) -> tuple[StuckStudents, ...]:
    extensions = {
        name: find_latest_extensions(session, run_id=run_id, assignment=name)
        for name, each in published.items()
        if each.line.due_at is not None and each.line.due_at <= at + DUE_WITHIN
    }
    near = [
        name
        for name, extended in extensions.items()
        if not _is_over(published[name], at) or any(_is_near(e, at) for e in extended.values())
    ]
    found: dict[tuple[str, str], list[StuckStudentLine]] = {}
    lines = counts.list_stuck_students(session, run_id=run_id, assignments=near, least=STUCK_AFTER)
    for line in lines:
        each = published[line.assignment]
        if line.question not in each.assignment.rubrics:
            continue
        extension = extensions[line.assignment].get(line.enrolment_id)
        due_at = each.policy(line.question, extension).window.due_at
        if due_at is not None and at <= due_at <= at + DUE_WITHIN:
            found.setdefault((line.assignment, line.question), []).append(line)
    return tuple(
        StuckStudents(published[assignment], question, len(who), tuple(who[:MAX_NAMES]))
        for (assignment, question), who in sorted(
            found.items(), key=lambda item: (-len(item[1]), item[0])
        )
    )


def _is_near(extension: ExtensionLine, at: datetime) -> bool:
    return extension.due_at is not None and at <= extension.due_at <= at + DUE_WITHIN


# Dubious questions


@dataclass(frozen=True, slots=True)
class DubiousQuestion:
    """A question that hardly tells those who know more from those who know less."""

    published: PublishedAssignment
    question: QuestionStatistics


@dataclass(frozen=True, slots=True)
class DubiousQuestions:
    """The dubious questions of a course run, out of `looked_at` with a known discrimination.

    `at` is when the oldest of the figures were computed; None if there are no figures.
    """

    questions: tuple[DubiousQuestion, ...]
    looked_at: int
    at: datetime | None


def load_dubious_questions(
    session: Session, context: GradingContext, membership: Membership, *, at: datetime
) -> DubiousQuestions:
    """The questions whose discrimination is known and low, by figures that may be a little old."""
    membership.need(Role.ASSISTANT)
    tried = counts.count_students_with_attempts(session, run_id=membership.run.id)
    kept = [
        load_assignment_analysis(
            session,
            context,
            membership,
            assignment=line.assignment,
            at=at,
            patience=MAX_STATISTICS_AGE,
        )
        for line in list_in_force(session, run_id=membership.run.id)
        # With fewer students no question has a discrimination.
        if tried.get(line.assignment, 0) >= MIN_STUDENTS
    ]
    judged = [
        DubiousQuestion(each.value.published, question)
        for each in kept
        for question in each.value.statistics.questions
        if question.discrimination is not None and question.discrimination.value is not None
    ]
    return DubiousQuestions(
        tuple(
            each
            for each in judged
            if each.question.discrimination and each.question.discrimination.is_dubious
        ),
        len(judged),
        min((each.at for each in kept), default=None),
    )
