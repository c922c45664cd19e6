"""What the demo's staff did: more time, scores of the lab, an override, reviews."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from grader.accounts.callers import Caller, Place, enter
from grader.demo.behaviour import Student, Term
from grader.demo.people import ASSISTANT, INSTRUCTOR
from grader.demo.texts import COMMENTS, Quality, quality_of
from grader.domain.roles import ALL_SCOPES
from grader.grading.context import Desk
from grader.grading.grades.overrides import OutsideScore, enter_scores, extend, override, version_of
from grader.grading.reviews.review import Waiting, list_waiting, review
from grader.store.database import Session
from grader.store.queries.courses import Member, RunLine
from grader.store.queries.grades import GradeLine, list_grades
from grader.store.queries.people import get_person

LAB = "2a"
#: The assistant reviews this section first, and has not come to the end of it.
REVIEWED_SECTION = "A"
_REVIEW_LASTS = timedelta(minutes=2)


def utc(moment: datetime) -> datetime:
    """A moment by the clock on the wall, as it is stored."""
    return moment.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class Course:
    """The course run with everybody in it, by login."""

    session: Session
    desk: Desk
    run: RunLine
    members: Mapping[str, Member]

    def place(self, login: str) -> Place:
        """Somebody in the course run."""
        person = get_person(self.session, person_id=self.members[login].enrolment.person_id)
        return enter(self.session, Caller(person.id, ALL_SCOPES, person), run_id=self.run.id)

    def grades(self, assignment: str, question: str) -> dict[str, GradeLine]:
        """The grades of a question by login, in the order of logins."""
        lines = list_grades(self.session, run_id=self.run.id, assignment=assignment)
        by_place = {each.enrolment_id: each for each in lines if each.question == question}
        return {
            login: by_place[member.enrolment.id]
            for login, member in self.members.items()
            if member.enrolment.id in by_place
        }


def decide(
    course: Course,
    students: Sequence[Student],
    terms: Sequence[Term],
    *,
    today: datetime,
    seed: str,
) -> None:
    """Do all that the staff did yesterday, by time."""
    rng = random.Random(f"{seed} staff")
    past_due, with_lab, _ = terms
    noon = utc(today - timedelta(hours=12))
    _enter_lab(course, with_lab, students, rng, at=noon - timedelta(hours=3))
    _give_time(course, past_due, at=noon - timedelta(hours=2))
    _override(course, past_due, at=noon - timedelta(hours=1))
    _review(course, _first_section(course, with_lab, past_due, before=noon), rng, since=noon)


def _enter_lab(
    course: Course, term: Term, students: Sequence[Student], rng: random.Random, *, at: datetime
) -> None:
    """The lab's scores, in halves of a point; a few have not handed it in."""
    scores = [
        OutsideScore(each.login, Decimal(_lab_halves(each, rng)) / 2)
        for each in students
        if rng.random() < 0.9
    ]
    if not scores:
        return
    enter_scores(
        course.session,
        course.desk,
        course.place(INSTRUCTOR),
        assignment=term.assignment.form.id,
        question=LAB,
        scores=scores,
        source="lab server",
        at=at,
    )


def _lab_halves(student: Student, rng: random.Random) -> int:
    return round(min(max(rng.gauss(42 + 12 * student.skill, 6), 0), 60))


def _give_time(course: Course, term: Term, *, at: datetime) -> None:
    """More time for the first who was late."""
    assignment = term.assignment
    for question in assignment.rubrics:
        for login, grade in course.grades(assignment.form.id, question).items():
            if grade.late_days:
                extend(
                    course.session,
                    course.desk,
                    course.place(INSTRUCTOR),
                    course.members[login],
                    assignment=assignment.form.id,
                    due_at=utc(term.due_at + timedelta(days=2)),
                    extra_attempts=2,
                    reason="Ill for two days, with a note from the doctor.",
                    at=at,
                )
                return


def _override(course: Course, term: Term, *, at: datetime) -> None:
    """Some points for the last whose two heads earned none."""
    assignment, question = term.assignment.form.id, "d-i"
    unlucky = [
        login
        for login, grade in course.grades(assignment, question).items()
        if grade.points == 0 and grade.changed_at < at
    ]
    if unlucky:
        login = unlucky[-1]
        override(
            course.session,
            course.desk,
            course.place(INSTRUCTOR),
            course.members[login],
            assignment=assignment,
            question=question,
            points=Decimal(6),
            reason="The idea was explained rightly in office hours; only the signs were wrong.",
            version=version_of(course.grades(assignment, question)[login]),
            at=at,
        )


def _first_section(
    course: Course, whole: Term, begun: Term, *, before: datetime
) -> list[tuple[str, Waiting]]:
    """What is reviewed, with logins: a whole assignment, and the first question of another."""
    place = course.place(ASSISTANT)
    logins = {each.enrolment.id: login for login, each in course.members.items()}
    waiting = [
        *_waiting(course, place, whole, None),
        *_waiting(course, place, begun, begun.assignment.form.questions[0]),
    ]
    found = [
        (logins[each.attempt.enrolment_id], each)
        for each in waiting
        if each.text and each.attempt.received_at < before
    ]
    section = {login: each.enrolment.section for login, each in course.members.items()}
    # The queue's own order is another one for every run.
    return sorted(
        (pair for pair in found if section[pair[0]] == REVIEWED_SECTION),
        key=lambda pair: (pair[1].attempt.question, pair[0]),
    )


def _waiting(course: Course, place: Place, term: Term, question: str | None) -> list[Waiting]:
    return list_waiting(
        course.session,
        course.desk,
        place,
        assignment=term.assignment.form.id,
        question=question,
    )


def _review(
    course: Course, waiting: Sequence[tuple[str, Waiting]], rng: random.Random, *, since: datetime
) -> None:
    """The assistant's work of an afternoon and an evening, one text after the other."""
    place = course.place(ASSISTANT)
    for number, (_, each) in enumerate(waiting):
        quality = quality_of(each.text or "")
        items, points = _worth(each, quality)
        review(
            course.session,
            course.desk,
            place,
            attempt_id=each.attempt.id,
            criterion=each.criterion,
            items=items,
            points=points,
            comment=rng.choice(COMMENTS[quality]),
            version=None,
            at=since + number * _REVIEW_LASTS,
        )


def _worth(waiting: Waiting, quality: Quality) -> tuple[list[int] | None, Decimal | None]:
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
