"""The decisions of the demo's staff: lab scores, an extension, an override and reviews."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial

from grader.accounts.callers import Caller, Membership, get_membership
from grader.demo.behaviour import Student
from grader.demo.people import ASSISTANT, INSTRUCTOR
from grader.demo.schedule import ScheduledAssignment
from grader.demo.texts import COMMENTS, Quality, find_quality
from grader.domain.roles import ALL_SCOPES
from grader.grading.context import GradingContext
from grader.grading.grades.extensions import record_extension
from grader.grading.grades.external_scores import ScoreEntry, record_external_scores
from grader.grading.grades.overrides import format_grade_version, override_grade
from grader.grading.reviews.review import ReviewTask, list_review_tasks, review_criterion
from grader.store.database import Session
from grader.store.queries.courses import MemberLine, RunLine
from grader.store.queries.grades import GradeLine, list_grades
from grader.store.queries.people import get_person

_LAB_QUESTION = "2a"
#: The assistant has reviewed this section only, and not all of it.
_REVIEWED_SECTION = "A"
_REVIEW_DURATION = timedelta(minutes=2)
#: The reviews are added in this number of transactions.
_REVIEW_STEPS = 10


def to_utc(moment: datetime) -> datetime:
    """Convert a local time to UTC, for the store."""
    return moment.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class DemoCourse:
    """The course run and its members by login."""

    session: Session
    context: GradingContext
    run: RunLine
    members: Mapping[str, MemberLine]

    def membership(self, login: str) -> Membership:
        """Return a member as the caller of a function."""
        person = get_person(self.session, person_id=self.members[login].enrolment.person_id)
        return get_membership(
            self.session, Caller(person.id, ALL_SCOPES, person), run_id=self.run.id
        )

    def grades(self, assignment: str, question: str) -> dict[str, GradeLine]:
        """Return the grades of a question by login, in the order of logins."""
        lines = list_grades(self.session, run_id=self.run.id, assignment=assignment)
        by_enrolment = {each.enrolment_id: each for each in lines if each.question == question}
        return {
            login: by_enrolment[member.enrolment.id]
            for login, member in self.members.items()
            if member.enrolment.id in by_enrolment
        }


#: A part of the demo that is added in one short transaction.
Step = Callable[[DemoCourse], None]


def list_staff_steps(
    students: Sequence[Student],
    schedule: Sequence[ScheduledAssignment],
    *,
    today: datetime,
    seed: str,
) -> list[Step]:
    """Return what the staff did yesterday, in the order of time."""
    past_due, with_lab, _ = schedule
    noon = to_utc(today - timedelta(hours=12))

    def decide(course: DemoCourse) -> None:
        scores = _sample_lab_scores(students, random.Random(f"{seed} staff"))
        _record_lab_scores(course, with_lab, scores, at=noon - timedelta(hours=3))
        _grant_extension(course, past_due, at=noon - timedelta(hours=2))
        _override(course, past_due, at=noon - timedelta(hours=1))

    def review(course: DemoCourse, *, part: int) -> None:
        tasks = _list_reviewed(course, with_lab, past_due, before=noon)
        rng = random.Random(f"{seed} staff")
        # The comments are drawn after the lab scores, and each after those before it.
        _sample_lab_scores(students, rng)
        planned = [_plan_review(task, rng) for task in tasks]
        begin, end = (len(tasks) * each // _REVIEW_STEPS for each in (part, part + 1))
        for number in range(begin, end):
            _review(course, tasks[number], planned[number], at=noon + number * _REVIEW_DURATION)

    return [decide, *(partial(review, part=part) for part in range(_REVIEW_STEPS))]


def _sample_lab_scores(students: Sequence[Student], rng: random.Random) -> list[ScoreEntry]:
    """Draw lab scores in half points; a few students have none."""
    return [
        ScoreEntry(each.login, Decimal(_sample_lab_score(each, rng)) / 2)
        for each in students
        if rng.random() < 0.9
    ]


def _record_lab_scores(
    course: DemoCourse,
    scheduled: ScheduledAssignment,
    scores: Sequence[ScoreEntry],
    *,
    at: datetime,
) -> None:
    known = [each for each in scores if each.student in course.members]
    if not known:
        return
    record_external_scores(
        course.session,
        course.context,
        course.membership(INSTRUCTOR),
        assignment=scheduled.assignment.form.id,
        question=_LAB_QUESTION,
        scores=known,
        source="lab server",
        at=at,
    )


def _sample_lab_score(student: Student, rng: random.Random) -> int:
    return round(min(max(rng.gauss(42 + 12 * student.skill, 6), 0), 60))


def _grant_extension(course: DemoCourse, scheduled: ScheduledAssignment, *, at: datetime) -> None:
    """Extend the due date for the first student who was late."""
    assignment = scheduled.assignment
    for question in assignment.rubrics:
        for login, grade in course.grades(assignment.form.id, question).items():
            if grade.late_days:
                record_extension(
                    course.session,
                    course.context,
                    course.membership(INSTRUCTOR),
                    course.members[login],
                    assignment=assignment.form.id,
                    due_at=to_utc(scheduled.due_at + timedelta(days=2)),
                    extra_attempts=2,
                    reason="Ill for two days (doctor's note).",
                    at=at,
                )
                return


def _override(course: DemoCourse, scheduled: ScheduledAssignment, *, at: datetime) -> None:
    """Give points to the last student without points for the question with two heads."""
    assignment, question = scheduled.assignment.form.id, "d-i"
    logins = [
        login
        for login, grade in course.grades(assignment, question).items()
        if grade.points == 0 and grade.changed_at < at
    ]
    if logins:
        login = logins[-1]
        override_grade(
            course.session,
            course.context,
            course.membership(INSTRUCTOR),
            course.members[login],
            assignment=assignment,
            question=question,
            points=Decimal(6),
            reason="Explained the right idea in office hours; only the signs were wrong.",
            version=format_grade_version(course.grades(assignment, question)[login]),
            at=at,
        )


def _list_reviewed(
    course: DemoCourse, whole: ScheduledAssignment, begun: ScheduledAssignment, *, before: datetime
) -> list[ReviewTask]:
    """Return what the assistant reviews: one whole assignment and the first question of another."""
    membership = course.membership(ASSISTANT)
    tasks = [
        task
        for scheduled, question in ((whole, None), (begun, begun.assignment.form.questions[0]))
        for task in list_review_tasks(
            course.session,
            course.context,
            membership,
            assignment=scheduled.assignment.form.id,
            question=question,
        )
    ]
    section = {
        each.enrolment.id: login
        for login, each in course.members.items()
        if each.enrolment.section == _REVIEWED_SECTION
    }
    # The order of the queue differs from run to run.
    return sorted(
        (
            task
            for task in tasks
            if task.text
            and task.attempt.received_at < before
            and task.attempt.enrolment_id in section
        ),
        key=lambda task: (task.attempt.question, section[task.attempt.enrolment_id]),
    )


@dataclass(frozen=True, slots=True)
class _PlannedReview:
    """What the assistant says: items that are met or points, and a comment."""

    items: list[int] | None
    points: Decimal | None
    comment: str


def _plan_review(task: ReviewTask, rng: random.Random) -> _PlannedReview:
    quality = find_quality(task.text or "")
    return _PlannedReview(*_choose_points(task, quality), rng.choice(COMMENTS[quality]))


def _review(course: DemoCourse, task: ReviewTask, planned: _PlannedReview, *, at: datetime) -> None:
    if task.review is not None:
        # A visitor of the demo was faster.
        return
    review_criterion(
        course.session,
        course.context,
        course.membership(ASSISTANT),
        attempt_id=task.attempt.id,
        criterion=task.criterion,
        items=planned.items,
        points=planned.points,
        comment=planned.comment,
        version=None,
        at=at,
    )


def _choose_points(task: ReviewTask, quality: Quality) -> tuple[list[int] | None, Decimal | None]:
    """Return the items that are met, or points where a single item is half met."""
    match quality:
        case Quality.POOR:
            return [], None
        case Quality.GOOD:
            return list(range(len(task.items))), None
        case Quality.HALF if len(task.items) > 1:
            return [0], None
        case Quality.HALF:
            return None, task.possible / 2
