"""Scores that are graded elsewhere, such as a lab or an oral exam, and entered here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from grader.accounts.callers import Membership, record_action
from grader.domain.roles import Role
from grader.errors import ErrorDetail, MalformedRequest, RequestRefused
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.grades.overrides import check_points
from grader.grading.grades.settle import update_grades
from grader.grading.locks import lock_students
from grader.reading.fields import ExternalField
from grader.store.database import Session
from grader.store.queries.courses import MemberLine, list_members
from grader.store.queries.decisions import (
    ExternalScoreLine,
    add_external_scores,
    list_external_scores,
)
from grader.store.queries.facts import RecordedTable
from grader.store.queries.grades import GradeLine
from grader.store.rows import make_id


@dataclass(frozen=True, slots=True)
class ScoreEntry:
    """A score as it was sent; `student` is a login or an enrolment's id."""

    student: str
    points: Decimal


def record_external_scores(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    question: str,
    scores: Sequence[ScoreEntry],
    source: str,
    at: datetime,
) -> list[GradeLine]:
    """Enter scores from outside, all of them or none.

    Raises
    ------
    MalformedRequest
        With every unknown student and every score out of range.
    """
    membership.need(Role.INSTRUCTOR)
    run_id = membership.run.id
    published = context.in_force(session, run_id=run_id, assignment=assignment)
    possible = _get_possible_points(published, question)
    members = {
        name: each
        for each in list_members(session, run_id=run_id)
        for name in (each.login, each.enrolment.id)
    }
    _check_scores(membership, scores, members, possible)
    keys = [(members[each.student].enrolment.id, assignment, question) for each in scores]
    lock_students(session, [key[:2] for key in keys], run_ids=[run_id])
    earlier = {
        (line.enrolment_id, assignment, question): line.number
        for line in list_external_scores(session, student_questions=keys)
    }
    lines = [
        ExternalScoreLine(
            make_id("sco"), run_id, *key, earlier.get(key, 0) + 1, score.points,
            source, membership.caller.id, at, possible,
        )
        for key, score in zip(keys, scores, strict=True)
    ]  # fmt: skip
    add_external_scores(session, lines)
    record_action(
        session, membership, at=at, action="scores.entered", subject=f"{assignment}/{question}",
        details={"source": source, "scores": len(scores)},
        changed={RecordedTable.EXTERNAL_SCORES: [each.id for each in lines]},
    )  # fmt: skip
    grades = update_grades(session, context, run_id=run_id, parts=keys, at=at)
    return [grades[key] for key in keys]


def _get_possible_points(published: PublishedAssignment, question: str) -> Decimal:
    for field in published.rubric(question).question.fields:
        if isinstance(field, ExternalField):
            return field.max_points
    raise RequestRefused(
        "This question is graded here; override a score instead.", code="question.not_external"
    )


def _check_scores(
    membership: Membership,
    scores: Sequence[ScoreEntry],
    members: dict[str, MemberLine],
    possible: Decimal,
) -> None:
    faults = []
    entered: set[str] = set()
    for place, score in enumerate(scores):
        field = ("scores", place, "student")
        member = members.get(score.student)
        if member is None:
            detail = "Nobody in this course has this login or id."
            faults.append(ErrorDetail(field, "student.unknown", detail))
            continue
        membership.refuse_own_work(member.enrolment.id)
        if member.enrolment.id in entered:
            faults.append(ErrorDetail(field, "student.repeated", "This student is listed twice."))
        entered.add(member.enrolment.id)
        faults += check_points(score.points, possible, field=("scores", place, "points"))
    if faults:
        raise MalformedRequest(
            "Some scores cannot be entered, so none was.",
            code="scores.invalid",
            faults=tuple(faults),
        )
