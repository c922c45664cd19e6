"""A course run with many students and grades, for tests of the gradebook's pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from grader.domain.roles import Role
from grader.store.database import Database
from grader.store.queries.courses import (
    EnrolmentLine,
    RunLine,
    add_course,
    add_enrolments,
    add_run,
    change_enrolment,
)
from grader.store.queries.grades import GradeLine, put_grades
from grader.store.queries.people import PersonLine, add_people
from grader.store.rows import make_id

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
RUN, WORK = "book", "work"


@dataclass(frozen=True)
class Student:
    """Who it is, and the points by question; a question with None has a grade without points."""

    login: str
    points: dict[str, str | None]
    section: str = ""
    name: str = ""
    late: bool = False
    overridden: bool = False
    pending: str = "0"
    role: Role = Role.STUDENT
    has_left: bool = False


def add_book(database: Database, students: list[Student], *, run_id: str = RUN) -> dict[str, str]:
    """Add a course run with these students, and return their enrolments by login."""
    people = [
        PersonLine(make_id("per"), f"{each.login}", each.name or f"Name {each.login}", None, False)
        for each in students
    ]
    places = [
        EnrolmentLine(make_id("enr"), run_id, person.id, each.role, each.section)
        for person, each in zip(people, students, strict=True)
    ]
    grades = [
        grade(place.id, question, points, student, run_id=run_id)
        for place, student in zip(places, students, strict=True)
        for question, points in student.points.items()
    ]
    with database.write() as session:
        add_course(session, course_id=run_id, title=run_id, at=NOW)
        add_run(session, RunLine(run_id, run_id, run_id, "UTC"), secret=b"x" * 32, at=NOW)
        add_people(session, people, at=NOW)
        add_enrolments(session, places, at=NOW)
        put_grades(session, grades)
        for place, student in zip(places, students, strict=True):
            if student.has_left:
                change_enrolment(
                    session, enrolment_id=place.id, role=place.role, section="", left_at=NOW
                )
    return {each.login: place.id for each, place in zip(students, places, strict=True)}


def grade(
    enrolment_id: str,
    question: str,
    points: str | None,
    student: Student,
    *,
    run_id: str = RUN,
    assignment: str = WORK,
) -> GradeLine:
    return GradeLine(
        run_id=run_id, enrolment_id=enrolment_id, assignment=assignment, question=question,
        points=None if points is None else Decimal(points), possible=Decimal(10),
        pending=Decimal(student.pending), attempts=1, counted_attempt_id=None,
        late_days=int(student.late), is_overridden=student.overridden, needs_person=False,
        changes=1, changed_at=NOW, counted_points=None, counted_pending=None,
    )  # fmt: skip
