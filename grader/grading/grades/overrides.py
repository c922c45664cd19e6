"""What staff decide about a student: overrides, scores from outside, extensions.

Each decision is one entry more, with its reason and an entry in the audit chain, and the grade is
computed anew in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from grader.accounts.callers import Membership
from grader.domain.roles import Role
from grader.errors import ErrorDetail, MalformedRequest, OutdatedVersion, RequestRefused
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.dates import normalize_date
from grader.grading.grades.settle import update_grades
from grader.grading.locks import lock_students
from grader.reading.fields import ExternalField
from grader.store.database import Session
from grader.store.ids import make_id
from grader.store.queries.attempts import StudentQuestion
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.courses import MemberLine, list_members
from grader.store.queries.decisions import (
    ExternalScoreLine,
    OverrideLine,
    add_external_scores,
    add_override,
    list_external_scores,
    list_overrides,
)
from grader.store.queries.grades import GradeLine, find_grades
from grader.store.queries.publications import ExtensionLine, add_extension

LONGEST_REASON = 2000


def refuse_own_work(membership: Membership, enrolment_id: str) -> None:
    """Nobody grades their own work."""
    if membership.enrolment is not None and membership.enrolment.id == enrolment_id:
        raise RequestRefused("Nobody decides about their own work.", code="own.work")


def check_reason(reason: str) -> str:
    """A reason that says something."""
    if not reason.strip() or len(reason) > LONGEST_REASON:
        fault = ErrorDetail(
            "#/reason", "reason.missing", f"Give a reason, of at most {LONGEST_REASON} characters."
        )
        raise MalformedRequest(fault.detail, code=fault.code, faults=(fault,))
    return reason.strip()


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
    """Set a student's score for a question, or with None take an override back.

    Raises
    ------
    Outdated
        Where the grade has changed since `version`.
    """
    membership.need(Role.INSTRUCTOR)
    refuse_own_work(membership, member.enrolment.id)
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    possible = published.rubric(question).form.points
    check_reason(reason)
    _check_points(points, possible, pointer="#/points")
    lock_students(session, [(member.enrolment.id, assignment)], run_ids=[membership.run.id])
    part = (member.enrolment.id, assignment, question)
    current = find_grades(session, parts=[part]).get(part)
    if format_grade_version(current) != version:
        raise OutdatedVersion(
            "This grade has changed in the meantime; look at it again.",
            current=format_grade_version(current),
        )
    earlier = list_overrides(session, student_questions=[part])
    add_override(
        session,
        OverrideLine(
            make_id("ovr"), membership.run.id, *part, len(earlier) + 1, points, reason.strip(),
            membership.caller.id, at,
        ),
    )  # fmt: skip
    grade = update_grades(session, context, run_id=membership.run.id, parts=[part], at=at)[part]
    _audit(
        session, membership, at=at, action="grade.overridden", subject=member.enrolment.id,
        details={
            "question": f"{assignment}/{question}",
            "before": _format_points(current.points if current else None),
            "after": _format_points(grade.points),
            "reason": reason.strip(),
        },
    )  # fmt: skip
    return grade


def _check_points(points: Decimal | None, possible: Decimal, *, pointer: str) -> None:
    if points is None:
        return
    if not 0 <= points <= possible or points != points.quantize(Decimal("0.01")):
        fault = ErrorDetail(
            pointer,
            "points.range",
            f"Points go from 0 to {possible.normalize():f}, with two decimals at most.",
        )
        raise MalformedRequest(fault.detail, code=fault.code, faults=(fault,))


def _format_points(points: Decimal | None) -> str | None:
    return None if points is None else f"{points.normalize():f}"


@dataclass(frozen=True, slots=True)
class OutsideScore:
    """A student's score from outside, as it came."""

    student: str
    points: Decimal


def record_external_scores(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    question: str,
    scores: Sequence[OutsideScore],
    source: str,
    at: datetime,
) -> list[GradeLine]:
    """Enter scores from outside, all of them or none.

    Raises
    ------
    MalformedRequest
        With every student who is unknown and every score that is out of range.
    """
    membership.need(Role.INSTRUCTOR)
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    most = _get_max_external_points(published, question)
    members = {
        name: each
        for each in list_members(session, run_id=membership.run.id)
        for name in (each.login, each.enrolment.id)
    }
    _check_scores(membership, scores, members, most)
    parts = [(members[each.student].enrolment.id, assignment, question) for each in scores]
    lock_students(session, [part[:2] for part in parts], run_ids=[membership.run.id])
    earlier: dict[StudentQuestion, int] = {}
    for line in list_external_scores(session, student_questions=parts):
        earlier[line.enrolment_id, assignment, question] = line.number
    add_external_scores(
        session,
        [
            ExternalScoreLine(
                make_id("sco"), membership.run.id, *part, earlier.get(part, 0) + 1, score.points,
                source, membership.caller.id, at,
            )
            for part, score in zip(parts, scores, strict=True)
        ],
    )  # fmt: skip
    _audit(
        session, membership, at=at, action="scores.entered", subject=f"{assignment}/{question}",
        details={"source": source, "scores": len(scores)},
    )  # fmt: skip
    grades = update_grades(session, context, run_id=membership.run.id, parts=parts, at=at)
    return [grades[part] for part in parts]


def _get_max_external_points(published: PublishedAssignment, question: str) -> Decimal:
    for field in published.rubric(question).question.fields:
        if isinstance(field, ExternalField):
            return field.max_points
    raise RequestRefused(
        "This question is graded here; override a score instead.", code="question.not_external"
    )


def _check_scores(
    membership: Membership,
    scores: Sequence[OutsideScore],
    members: dict[str, MemberLine],
    most: Decimal,
) -> None:
    faults = []
    seen: set[str] = set()
    for number, score in enumerate(scores):
        pointer = f"#/scores/{number}"
        member = members.get(score.student)
        if member is None:
            faults.append(
                ErrorDetail(
                    f"{pointer}/student", "student.unknown", "Nobody in this course has it."
                )
            )
            continue
        refuse_own_work(membership, member.enrolment.id)
        if member.enrolment.id in seen:
            faults.append(
                ErrorDetail(
                    f"{pointer}/student", "student.repeated", "This student stands here twice."
                )
            )
        seen.add(member.enrolment.id)
        try:
            _check_points(score.points, most, pointer=f"{pointer}/points")
        except MalformedRequest as error:
            faults.extend(error.faults)
    if faults:
        raise MalformedRequest(
            "Some scores cannot be entered; none was.", code="scores.invalid", faults=tuple(faults)
        )


def record_extension(
    session: Session,
    context: GradingContext,
    membership: Membership,
    member: MemberLine,
    *,
    assignment: str,
    due_at: datetime | None,
    extra_attempts: int,
    reason: str,
    at: datetime,
) -> ExtensionLine:
    """Give a student more time or more attempts, instead of what was given before."""
    membership.need(Role.INSTRUCTOR)
    refuse_own_work(membership, member.enrolment.id)
    check_reason(reason)
    due_at = normalize_date(due_at, pointer="#/due_at")
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    lock_students(session, [(member.enrolment.id, assignment)], run_ids=[membership.run.id])
    line = add_extension(
        session,
        run_id=membership.run.id,
        enrolment_id=member.enrolment.id,
        assignment=assignment,
        due_at=due_at,
        extra_attempts=extra_attempts,
        reason=reason.strip(),
        by=membership.caller.id,
        at=at,
    )
    _audit(
        session, membership, at=at, action="extension.given", subject=member.enrolment.id,
        details={
            "assignment": assignment,
            "due_at": due_at.isoformat() if due_at else None,
            "extra_attempts": extra_attempts,
            "reason": reason.strip(),
        },
    )  # fmt: skip
    parts = [(member.enrolment.id, assignment, each) for each in published.form.questions]
    touched = find_grades(session, parts=parts)
    # What was late may be in time now.
    update_grades(session, context, run_id=membership.run.id, parts=touched, at=at)
    return line


def _audit(
    session: Session,
    membership: Membership,
    *,
    at: datetime,
    action: str,
    subject: str,
    details: dict[str, object],
) -> None:
    add_audit_entry(
        session,
        at=at,
        by=membership.caller.id,
        run_id=membership.run.id,
        action=action,
        subject=subject,
        details=details,
    )
