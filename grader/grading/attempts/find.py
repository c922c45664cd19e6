"""Attempts for those who may see them: the student, or staff."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from grader.accounts.callers import Caller, Membership, get_viewer_membership
from grader.domain.roles import Role, Scope
from grader.errors import NotFound
from grader.grading.attempts.report import AttemptReport, compose_stored_report
from grader.grading.context import GradingContext, PublishedAssignment
from grader.store.database import Session
from grader.store.queries.attempts import (
    AttemptLine,
    JudgementLine,
    StudentQuestion,
    find_judged,
    list_judged,
)
from grader.store.queries.courses import MemberLine, get_member
from grader.store.queries.decisions import list_reviews, select_latest_reviews
from grader.store.queries.grades import find_grades
from grader.store.queries.publications import find_extensions


@dataclass(frozen=True, slots=True)
class VisibleAttempt:
    """An attempt that the caller may see, and in which role."""

    attempt: AttemptLine
    judgement: JudgementLine
    membership: Membership
    published: PublishedAssignment
    is_own: bool


def get_visible_attempt(
    session: Session, context: GradingContext, caller: Caller, *, attempt_id: str
) -> VisibleAttempt:
    """An attempt that the caller may see: an own one, or as staff of its course run.

    Raises
    ------
    NotFound
        Where there is none, and in the same words where it is somebody else's.
    """
    judged = find_judged(session, attempt_id=attempt_id)
    if judged is None:
        raise NotFound
    attempt, judgement = judged
    membership, is_own = get_viewer_membership(
        session, caller, run_id=attempt.run_id, enrolment_id=attempt.enrolment_id
    )
    published = context.in_force(session, run_id=attempt.run_id, assignment=attempt.assignment)
    return VisibleAttempt(attempt, judgement, membership, published, is_own)


def load_attempt_report(
    session: Session, context: GradingContext, found: VisibleAttempt, *, at: datetime
) -> AttemptReport:
    """The report of an attempt, as much of it as the caller may see."""
    (report,) = _reports(
        session,
        context,
        found.published,
        [(found.attempt, found.judgement)],
        part=found.attempt.part,
        at=at,
        for_staff=not found.is_own,
    )
    return report


def list_attempts(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    question: str,
    at: datetime,
    student: str | None = None,
) -> list[AttemptReport]:
    """The caller's own attempts at a question, or for staff those of a student."""
    if student is None:
        enrolment_id = membership.need_enrolment().id
    else:
        membership.caller.need(Scope.GRADES_READ)
        membership.need(Role.ASSISTANT)
        member: MemberLine = get_member(session, run_id=membership.run.id, login=student)
        enrolment_id = member.enrolment.id
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    published.rubric(question)
    part: StudentQuestion = (enrolment_id, assignment, question)
    judged = list_judged(session, parts=[part])
    return _reports(
        session, context, published, judged, part=part, at=at, for_staff=student is not None
    )


def _reports(
    session: Session,
    context: GradingContext,
    published: PublishedAssignment,
    judged: list[tuple[AttemptLine, JudgementLine]],
    *,
    part: StudentQuestion,
    at: datetime,
    for_staff: bool,
) -> list[AttemptReport]:
    enrolment_id, assignment, question = part
    extension = find_extensions(session, pairs=[(enrolment_id, assignment)])
    policy = published.policy(question, extension.get((enrolment_id, assignment)))
    grade = find_grades(session, parts=[part]).get(part)
    reviews = select_latest_reviews(
        list_reviews(session, attempt_ids=[each.id for each, _ in judged])
    )
    return [
        compose_stored_report(
            attempt,
            judgement,
            rubric=published.rubric(question),
            policy=policy,
            reviews=reviews.get(attempt.id, {}),
            is_counted=grade is not None and grade.counted_attempt_id == attempt.id,
            attempts_left=policy.count_left(grade.attempts if grade else 0),
            at=at,
            key=context.signing_key,
            for_staff=for_staff,
        )
        for attempt, judgement in judged
    ]
