"""A gradebook as a file: CSV for spreadsheets, JSON Lines for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from decimal import Decimal

import orjson

from grader.grading.grades.gradebook import Gradebook, Row

#: Some spreadsheets take a file for UTF-8 only where it begins with this.
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


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


def json_lines(gradebook: Gradebook) -> Iterator[str]:
    """The gradebook as JSON Lines: an object for each student."""
    for row in gradebook.rows:
        yield orjson.dumps(as_data(gradebook, row)).decode() + "\n"


def as_data(gradebook: Gradebook, row: Row) -> dict[str, object]:
    """A student's line as plain data; a question without a grade is null."""
    return {
        "login": row.member.login,
        "name": row.member.name,
        "section": row.member.enrolment.section,
        "questions": {
            question: _float(_points_of(row, question))
            for question in gradebook.published.form.questions
        },
        "total": _float(row.points),
        "possible": _float(gradebook.possible),
        "pending": _float(row.pending),
        "grade": gradebook.grade_of(row) or None,
    }


def _points_of(row: Row, question: str) -> Decimal | None:
    grade = row.grades.get(question)
    return grade.points if grade else None


def _number(points: Decimal | None) -> str:
    return "" if points is None else f"{points.normalize():f}"


def _float(points: Decimal | None) -> float | None:
    return None if points is None else float(points)


def _as_text(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in _FORMULAS else text


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
