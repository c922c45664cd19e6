"""What the demo's staff did: more time, scores of the lab, an override, reviews."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from grader.accounts.callers import Caller, Membership, get_membership
from grader.demo.behaviour import ScheduledAssignment, Student
from grader.demo.people import ASSISTANT, INSTRUCTOR
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
#: The assistant reviews this section first, and has not come to the end of it.
_REVIEWED_SECTION = "A"
_REVIEW_DURATION = timedelta(minutes=2)


def to_utc(moment: datetime) -> datetime:
    """A moment by the clock on the wall, as it is stored."""
    return moment.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class DemoCourse:
    """The course run with everybody in it, by login."""

    session: Session
    context: GradingContext
    run: RunLine
    members: Mapping[str, MemberLine]

    def place(self, login: str) -> Membership:
        """Somebody in the course run."""
        person = get_person(self.session, person_id=self.members[login].enrolment.person_id)
        return get_membership(
            self.session, Caller(person.id, ALL_SCOPES, person), run_id=self.run.id
        )

    def grades(self, assignment: str, question: str) -> dict[str, GradeLine]:
        """The grades of a question by login, in the order of logins."""
        lines = list_grades(self.session, run_id=self.run.id, assignment=assignment)
        by_place = {each.enrolment_id: each for each in lines if each.question == question}
        return {
            login: by_place[member.enrolment.id]
            for login, member in self.members.items()
            if member.enrolment.id in by_place
        }


def apply_staff_decisions(
    course: DemoCourse,
    students: Sequence[Student],
    terms: Sequence[ScheduledAssignment],
    *,
    today: datetime,
    seed: str,
) -> None:
    """Do all that the staff did yesterday, by time."""
    rng = random.Random(f"{seed} staff")
    past_due, with_lab, _ = terms
    noon = to_utc(today - timedelta(hours=12))
    _enter_lab(course, with_lab, students, rng, at=noon - timedelta(hours=3))
    _grant_extension(course, past_due, at=noon - timedelta(hours=2))
    _override(course, past_due, at=noon - timedelta(hours=1))
    _review(course, _list_first_section(course, with_lab, past_due, before=noon), rng, since=noon)


def _enter_lab(
    course: DemoCourse,
    term: ScheduledAssignment,
    students: Sequence[Student],
    rng: random.Random,
    *,
    at: datetime,
) -> None:
    """The lab's scores, in halves of a point; a few have not handed it in."""
    scores = [
        ScoreEntry(each.login, Decimal(_sample_lab_score(each, rng)) / 2)
        for each in students
        if rng.random() < 0.9
    ]
    if not scores:
        return
    record_external_scores(
        course.session,
        course.context,
        course.place(INSTRUCTOR),
        assignment=term.assignment.form.id,
        question=_LAB_QUESTION,
        scores=scores,
        source="lab server",
        at=at,
    )


def _sample_lab_score(student: Student, rng: random.Random) -> int:
    return round(min(max(rng.gauss(42 + 12 * student.skill, 6), 0), 60))


def _grant_extension(course: DemoCourse, term: ScheduledAssignment, *, at: datetime) -> None:
    """More time for the first who was late."""
    assignment = term.assignment
    for question in assignment.rubrics:
        for login, grade in course.grades(assignment.form.id, question).items():
            if grade.late_days:
                record_extension(
                    course.session,
                    course.context,
                    course.place(INSTRUCTOR),
                    course.members[login],
                    assignment=assignment.form.id,
                    due_at=to_utc(term.due_at + timedelta(days=2)),
                    extra_attempts=2,
                    reason="Ill for two days, with a note from the doctor.",
                    at=at,
                )
                return


def _override(course: DemoCourse, term: ScheduledAssignment, *, at: datetime) -> None:
    """Some points for the last whose two heads earned none."""
    assignment, question = term.assignment.form.id, "d-i"
    unlucky = [
        login
        for login, grade in course.grades(assignment, question).items()
        if grade.points == 0 and grade.changed_at < at
    ]
    if unlucky:
        login = unlucky[-1]
        override_grade(
            course.session,
            course.context,
            course.place(INSTRUCTOR),
            course.members[login],
            assignment=assignment,
            question=question,
            points=Decimal(6),
            reason="The idea was explained rightly in office hours; only the signs were wrong.",
            version=format_grade_version(course.grades(assignment, question)[login]),
            at=at,
        )


def _list_first_section(
    course: DemoCourse, whole: ScheduledAssignment, begun: ScheduledAssignment, *, before: datetime
) -> list[tuple[str, ReviewTask]]:
    """What is reviewed, with logins: a whole assignment, and the first question of another."""
    membership = course.place(ASSISTANT)
    logins = {each.enrolment.id: login for login, each in course.members.items()}
    waiting = [
        *_list_waiting(course, membership, whole, None),
        *_list_waiting(course, membership, begun, begun.assignment.form.questions[0]),
    ]
    found = [
        (logins[each.attempt.enrolment_id], each)
        for each in waiting
        if each.text and each.attempt.received_at < before
    ]
    section = {login: each.enrolment.section for login, each in course.members.items()}
    # The queue's own order is another one for every run.
    return sorted(
        (pair for pair in found if section[pair[0]] == _REVIEWED_SECTION),
        key=lambda pair: (pair[1].attempt.question, pair[0]),
    )


def _list_waiting(
    course: DemoCourse, membership: Membership, term: ScheduledAssignment, question: str | None
) -> list[ReviewTask]:
    return list_review_tasks(
        course.session,
        course.context,
        membership,
        assignment=term.assignment.form.id,
        question=question,
    )


def _review(
    course: DemoCourse,
    waiting: Sequence[tuple[str, ReviewTask]],
    rng: random.Random,
    *,
    since: datetime,
) -> None:
    """The assistant's work of an afternoon and an evening, one text after the other."""
    membership = course.place(ASSISTANT)
    for number, (_, each) in enumerate(waiting):
        quality = find_quality(each.text or "")
        items, points = _choose_points(each, quality)
        review_criterion(
            course.session,
            course.context,
            membership,
            attempt_id=each.attempt.id,
            criterion=each.criterion,
            items=items,
            points=points,
            comment=rng.choice(COMMENTS[quality]),
            version=None,
            at=since + number * _REVIEW_DURATION,
        )


def _choose_points(
    waiting: ReviewTask, quality: Quality
) -> tuple[list[int] | None, Decimal | None]:
    """The items that hold, or points where one item holds in half."""
    match quality:
        case Quality.POOR:
            return [], None
        case Quality.GOOD:
            return list(range(len(waiting.items))), None
        case Quality.HALF if len(waiting.items) > 1:
            return [0], None
        case Quality.HALF:
            return None, waiting.possible / 2
