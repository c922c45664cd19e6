"""The gradebook of an assignment: students × questions, totals, and the grade by its scale."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from grader.domain.grades import ZERO, total
from grader.domain.roles import Role
from grader.grading.desk import Desk, Published
from grader.store.courses import Member, list_members
from grader.store.database import Session
from grader.store.grades import GradeLine, list_grades, list_grades_of


@dataclass(frozen=True, slots=True)
class Row:
    """One student: grades by question, those that are there."""

    member: Member
    grades: dict[str, GradeLine]

    @property
    def points(self) -> Decimal:
        """All points so far."""
        return total(each.points for each in self.grades.values())

    @property
    def pending(self) -> Decimal:
        """What still waits for a person."""
        return total(each.pending for each in self.grades.values())


@dataclass(frozen=True, slots=True)
class Gradebook:
    """Students in the order of their logins."""

    published: Published
    rows: tuple[Row, ...]
    has_more: bool = False

    @property
    def possible(self) -> Decimal:
        """All points that can be had."""
        rubrics = self.published.assignment.rubrics.values()
        return sum((each.form.points for each in rubrics), ZERO)

    def grade_of(self, row: Row) -> str:
        """The grade by the assignment's scale; empty where it has none."""
        return self.published.form.grade_for(row.points)


def load_gradebook(
    session: Session,
    desk: Desk,
    *,
    run_id: str,
    assignment: str,
    after: str | None = None,
    limit: int | None = None,
) -> Gradebook:
    """The gradebook, or the part of it that comes after a student."""
    published = desk.in_force(session, run_id=run_id, assignment=assignment)
    members = list_members(
        session,
        run_id=run_id,
        role=Role.STUDENT,
        after=after,
        limit=None if limit is None else limit + 1,
    )
    has_more = limit is not None and len(members) > limit
    members = members[:limit]
    if limit is None:
        grades = list_grades(session, run_id=run_id, assignment=assignment)
    else:
        ids = [each.enrolment.id for each in members]
        grades = list_grades_of(session, enrolment_ids=ids, assignment=assignment)
    by_student: dict[str, dict[str, GradeLine]] = {each.enrolment.id: {} for each in members}
    for grade in grades:
        if grade.enrolment_id in by_student:
            by_student[grade.enrolment_id][grade.question] = grade
    rows = tuple(Row(each, by_student[each.enrolment.id]) for each in members)
    return Gradebook(published, rows, has_more)


def to_csv(gradebook: Gradebook) -> str:
    """The gradebook as CSV."""
    return "".join(csv_lines(gradebook))


def csv_lines(gradebook: Gradebook) -> Iterator[str]:
    """The gradebook as lines of CSV, in which no text can be taken for a formula."""
    questions = gradebook.published.form.questions
    yield _csv_line(
        ["login", "name", "section", *questions, "total", "possible", "pending", "grade"]
    )
    possible = _number(gradebook.possible)
    for row in gradebook.rows:
        yield _csv_line(
            [
                _as_text(row.member.login),
                _as_text(row.member.name),
                _as_text(row.member.enrolment.section),
                *(_number(_points_of(row, each)) for each in questions),
                _number(row.points),
                possible,
                _number(row.pending),
                _as_text(gradebook.grade_of(row)),
            ]
        )


def _points_of(row: Row, question: str) -> Decimal | None:
    grade = row.grades.get(question)
    return grade.points if grade else None


def _number(points: Decimal | None) -> str:
    return "" if points is None else f"{points.normalize():f}"


def _as_text(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") else text


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
