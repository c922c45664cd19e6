"""Overrides: an instructor sets a student's score for a question.

Each decision of staff is stored as a new entry with its reason, recorded in the audit chain, and
the grade is computed again in the same transaction.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from grader.accounts.callers import Membership, record_action
from grader.domain.points import has_whole_cents
from grader.domain.roles import Role
from grader.errors import ErrorDetail, FieldPath, MalformedRequest, OutdatedVersion
from grader.grading.context import GradingContext
from grader.grading.grades.settle import update_grades
from grader.grading.locks import lock_students
from grader.store.database import Session
from grader.store.queries.courses import MemberLine
from grader.store.queries.decisions import OverrideLine, add_override, list_overrides
from grader.store.queries.facts import RecordedTable
from grader.store.queries.grades import GradeLine, find_grades
from grader.store.rows import make_id

MAX_REASON_LENGTH = 2000


def check_reason(reason: str) -> str:
    """The reason without surrounding spaces; MalformedRequest if it is empty or too long."""
    if not reason.strip() or len(reason) > MAX_REASON_LENGTH:
        detail = f"Give a reason, of at most {MAX_REASON_LENGTH} characters."
        raise MalformedRequest.of(ErrorDetail("reason", "reason.missing", detail))
    return reason.strip()


def check_points(
    points: Decimal, possible: Decimal, *, field: str | FieldPath = "points"
) -> list[ErrorDetail]:
    """What is wrong with a number of points out of those possible; empty if nothing is."""
    if has_whole_cents(points) and 0 <= points <= possible:
        return []
    detail = f"Points go from 0 to {possible.normalize():f}, with at most two decimals."
    return [ErrorDetail(field, "points.range", detail)]


def format_grade_version(grade: GradeLine | None) -> str:
    """The version of a grade, for `If-Match`."""
    return f"g{grade.changes if grade else 0}"


def override_grade(
    session: Session,
    context: GradingContext,
    membership: Membership,
    member: MemberLine,
    *,
    assignment: str,
    question: str,
    points: Decimal | None,
    reason: str,
    version: str,
    at: datetime,
) -> GradeLine:
    """Set a student's score for a question; None withdraws the override.

    Raises
    ------
    OutdatedVersion
        If the grade has changed since `version`.
    """
    membership.need(Role.INSTRUCTOR)
    membership.refuse_own_work(member.enrolment.id)
    run_id = membership.run.id
    published = context.in_force(session, run_id=run_id, assignment=assignment)
    possible = published.rubric(question).form.points
    reason = check_reason(reason)
    if points is not None and (faults := check_points(points, possible)):
        raise MalformedRequest.of(*faults)
    lock_students(session, [(member.enrolment.id, assignment)], run_ids=[run_id])
    key = (member.enrolment.id, assignment, question)
    current = find_grades(session, parts=[key]).get(key)
    if format_grade_version(current) != version:
        raise OutdatedVersion(
            "This grade has changed in the meantime; look at it again.",
            current=format_grade_version(current),
        )
    number = len(list_overrides(session, student_questions=[key])) + 1
    line = OverrideLine(
        make_id("ovr"), run_id, *key, number, points, reason, membership.caller.id, at, possible
    )
    add_override(session, line)
    grade = update_grades(session, context, run_id=run_id, parts=[key], at=at)[key]
    record_action(
        session, membership, at=at, action="grade.overridden", subject=member.enrolment.id,
        details={
            "question": f"{assignment}/{question}",
            "before": _format_points(current.points if current else None),
            "after": _format_points(grade.points),
            "reason": reason,
        },
        changed={RecordedTable.OVERRIDES: [line.id]},
    )  # fmt: skip
    return grade


def _format_points(points: Decimal | None) -> str | None:
    return None if points is None else f"{points.normalize():f}"
