"""Attempts for those who may see them: the student, or staff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from grader.accounts.callers import Caller, Membership, get_viewer_membership
from grader.domain.roles import Role, Scope
from grader.errors import NotFound
from grader.grading.attempts.open_questions import QuestionState
from grader.grading.attempts.report import AttemptReport, compose_stored_report
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.grades.settle import compute_earned_points
from grader.store.database import Session
from grader.store.queries.attempts import (
    AttemptLine,
    JudgementLine,
    OutcomeLine,
    StudentQuestion,
    find_judged,
    list_judged,
    list_outcomes,
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


@dataclass(frozen=True, slots=True)
class AttemptSummary:
    """What a student may know of an attempt in a list of them; `points` may be withheld."""

    id: str
    number: int
    received_at: datetime
    points: Decimal | None
    is_counted: bool
    days_late: int
    repeats_attempt: str | None


def list_own_attempts(
    session: Session, question: QuestionState, *, part: StudentQuestion, at: datetime
) -> list[AttemptSummary]:
    """A student's attempts at a question in order, without answers and how they were judged."""
    outcomes = list_outcomes(session, part=part)
    if not outcomes:
        return []
    policy, grade = question.policy, question.grade
    shows_result = policy.shows_result(at)
    points = _find_points(session, outcomes, part) if shows_result else {}
    found = []
    for each in outcomes:
        days_late = policy.window.days_late(each.received_at)
        earned = policy.window.reduced(points[each.id], days_late) if shows_result else None
        is_counted = grade is not None and grade.counted_attempt_id == each.id
        found.append(
            AttemptSummary(
                id=each.id,
                number=each.number,
                received_at=each.received_at,
                points=earned,
                # Which attempt counts tells which one was better.
                is_counted=is_counted and shows_result,
                days_late=days_late,
                repeats_attempt=each.repeats_attempt_id,
            )
        )
    return found


def _find_points(
    session: Session, outcomes: Sequence[OutcomeLine], part: StudentQuestion
) -> dict[str, Decimal]:
    """What attempts earned, reviews included."""
    points = {each.id: each.awarded for each in outcomes}
    reviews = select_latest_reviews(list_reviews(session, attempt_ids=points))
    if reviews:
        # A review replaces the verdict on its criterion, so that all verdicts are needed.
        for attempt, judgement in list_judged(session, parts=[part]):
            points[attempt.id], *_ = compute_earned_points(judgement, reviews.get(attempt.id, {}))
    return points


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
