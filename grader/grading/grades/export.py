"""A gradebook as a file: CSV for spreadsheets, JSON Lines for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from decimal import Decimal

import orjson

from grader.grading.grades.gradebook import Gradebook, GradebookRow

#: Some spreadsheets recognise UTF-8 only by this mark at the beginning.
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def to_csv_lines(gradebook: Gradebook) -> Iterator[str]:
    """The gradebook as lines of CSV, in which no text is taken for a formula."""
    questions = gradebook.published.form.questions
    yield _to_csv_line(
        ["login", "name", "section", *questions, "total", "possible", "pending", "grade"]
    )
    for row in gradebook.rows:
        yield _to_csv_line(
            [
                _escape_formula(row.member.login),
                _escape_formula(row.member.name),
                _escape_formula(row.member.enrolment.section),
                *(_format_points(_points_of(row, each)) for each in questions),
                _format_points(row.points),
                _format_points(gradebook.possible),
                _format_points(row.pending),
                _escape_formula(gradebook.grade_of(row)),
            ]
        )


def to_json_lines(gradebook: Gradebook) -> Iterator[str]:
    """The gradebook as JSON Lines: one object for each student."""
    for row in gradebook.rows:
        yield orjson.dumps(to_data(gradebook, row)).decode() + "\n"


def to_data(gradebook: Gradebook, row: GradebookRow) -> dict[str, object]:
    """A student's row as plain data; a question without a grade is null."""
    return {
        "login": row.member.login,
        "name": row.member.name,
        "section": row.member.enrolment.section,
        "questions": {
            question: None if (points := _points_of(row, question)) is None else float(points)
            for question in gradebook.published.form.questions
        },
        "total": float(row.points),
        "possible": float(gradebook.possible),
        "pending": float(row.pending),
        "grade": gradebook.grade_of(row) or None,
    }


def _points_of(row: GradebookRow, question: str) -> Decimal | None:
    grade = row.grades.get(question)
    return grade.points if grade else None


def _format_points(points: Decimal | None) -> str:
    return "" if points is None else f"{points.normalize():f}"


def _escape_formula(text: str) -> str:
    return f"'{text}" if text[:1] in _FORMULA_STARTS else text


def _to_csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
