"""Attempts that were made: looked at by the student, or by staff."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from grader.accounts.callers import Caller, Place, enter_owned
from grader.domain.roles import Role, Scope
from grader.errors import NotFound
from grader.grading.attempts.report import AttemptReport, attempt_report
from grader.grading.context import Desk, Published
from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine, JudgementLine, Part, find_judged, list_judged
from grader.store.queries.courses import Member, get_member
from grader.store.queries.decisions import list_reviews, newest_reviews
from grader.store.queries.grades import find_grades
from grader.store.queries.publications import find_extensions


@dataclass(frozen=True, slots=True)
class Found:
    """An attempt with whom it belongs to and how the caller stands to it."""

    attempt: AttemptLine
    judgement: JudgementLine
    place: Place
    published: Published
    is_own: bool


def find_attempt(session: Session, desk: Desk, caller: Caller, *, attempt_id: str) -> Found:
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
    place, is_own = enter_owned(
        session, caller, run_id=attempt.run_id, enrolment_id=attempt.enrolment_id
    )
    published = desk.in_force(session, run_id=attempt.run_id, assignment=attempt.assignment)
    return Found(attempt, judgement, place, published, is_own)


def report_attempt(session: Session, desk: Desk, found: Found, *, at: datetime) -> AttemptReport:
    """An attempt as the caller may see it."""
    (report,) = _reports(
        session,
        desk,
        found.published,
        [(found.attempt, found.judgement)],
        part=found.attempt.part,
        at=at,
        for_staff=not found.is_own,
    )
    return report


def list_attempts(
    session: Session,
    desk: Desk,
    place: Place,
    *,
    assignment: str,
    question: str,
    at: datetime,
    student: str | None = None,
) -> list[AttemptReport]:
    """The caller's own attempts at a question, or for staff those of a student."""
    if student is None:
        enrolment_id = place.need_enrolment().id
    else:
        place.caller.need(Scope.GRADES_READ)
        place.need(Role.ASSISTANT)
        member: Member = get_member(session, run_id=place.run.id, login=student)
        enrolment_id = member.enrolment.id
    published = desk.in_force(session, run_id=place.run.id, assignment=assignment)
    published.rubric(question)
    part: Part = (enrolment_id, assignment, question)
    judged = list_judged(session, parts=[part])
    return _reports(
        session, desk, published, judged, part=part, at=at, for_staff=student is not None
    )


def _reports(
    session: Session,
    desk: Desk,
    published: Published,
    judged: list[tuple[AttemptLine, JudgementLine]],
    *,
    part: Part,
    at: datetime,
    for_staff: bool,
) -> list[AttemptReport]:
    enrolment_id, assignment, question = part
    extension = find_extensions(session, pairs=[(enrolment_id, assignment)])
    policy = published.policy(question, extension.get((enrolment_id, assignment)))
    grade = find_grades(session, parts=[part]).get(part)
    reviews = newest_reviews(list_reviews(session, attempt_ids=[each.id for each, _ in judged]))
    return [
        attempt_report(
            attempt,
            judgement,
            rubric=published.rubric(question),
            policy=policy,
            reviews=reviews.get(attempt.id, {}),
            is_counted=grade is not None and grade.counted_attempt_id == attempt.id,
            attempts_left=policy.most_attempts - (grade.attempts if grade else 0),
            at=at,
            key=desk.signing_key,
            for_staff=for_staff,
        )
        for attempt, judgement in judged
    ]
