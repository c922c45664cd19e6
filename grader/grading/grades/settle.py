"""Settling grades: events are read, settled into standings and stored in the same transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from grader.domain.grades import ZERO, ScoredAttempt, Standing, settle
from grader.domain.policies import normalize_points
from grader.domain.verdicts import Outcome, Reason
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.serialize import decode_judgement, find_open_points
from grader.store.database import Session
from grader.store.queries.attempts import JudgedAttempt, JudgementLine, StudentQuestion, list_judged
from grader.store.queries.decisions import (
    ReviewLine,
    list_external_scores,
    list_overrides,
    list_reviews,
    select_latest_reviews,
)
from grader.store.queries.grades import GradeLine, find_grades, put_grades
from grader.store.queries.publications import ExtensionLine, find_extensions


@dataclass(frozen=True, slots=True)
class GradeEvents:
    """All that happened at some questions of students in one course run."""

    judged: Sequence[JudgedAttempt]
    reviews: Mapping[str, dict[str, ReviewLine]]
    overrides: Mapping[StudentQuestion, Decimal | None]
    external: Mapping[StudentQuestion, Decimal]
    extensions: Mapping[tuple[str, str], ExtensionLine]


def load_events(
    session: Session,
    *,
    parts: Iterable[StudentQuestion],
    judged: Sequence[JudgedAttempt] | None = None,
    extensions: Mapping[tuple[str, str], ExtensionLine] | None = None,
) -> GradeEvents:
    """All that happened there; `judged` and `extensions` where they are known already."""
    wanted = set(parts)
    if judged is None:
        judged = list_judged(session, parts=wanted)
    if extensions is None:
        extensions = find_extensions(session, pairs={(part[0], part[1]) for part in wanted})
    reviews = list_reviews(session, attempt_ids=[attempt.id for attempt, _ in judged])
    return GradeEvents(
        judged=judged,
        reviews=select_latest_reviews(reviews),
        overrides={
            (each.enrolment_id, each.assignment, each.question): each.points
            for each in list_overrides(session, student_questions=wanted)
        },
        external={
            (each.enrolment_id, each.assignment, each.question): each.points
            for each in list_external_scores(session, student_questions=wanted)
        },
        extensions=extensions,
    )


def compute_standings(
    events: GradeEvents,
    assignments: Mapping[str, PublishedAssignment],
    parts: Iterable[StudentQuestion],
) -> dict[StudentQuestion, tuple[Standing, Decimal]]:
    """Where students stand by all that happened, with the points that can be had."""
    earned: dict[StudentQuestion, list[ScoredAttempt]] = defaultdict(list)
    for attempt, judgement in events.judged:
        points = compute_earned_points(judgement, events.reviews.get(attempt.id, {}))
        scored = ScoredAttempt(
            attempt.id, attempt.number, attempt.received_at, *points, is_free=attempt.is_free
        )
        earned[attempt.part].append(scored)
    found = {}
    for part in set(parts):
        enrolment_id, assignment, question = part
        published = assignments[assignment]
        extension = events.extensions.get((enrolment_id, assignment))
        standing = settle(
            published.policy(question, extension),
            earned[part],
            external=events.external.get(part),
            override=events.overrides.get(part),
        )
        rubric = published.assignment.rubrics.get(question)
        found[part] = standing, rubric.form.points if rubric else ZERO
    return found


def compute_earned_points(
    judgement: JudgementLine, reviews: Mapping[str, ReviewLine]
) -> tuple[Decimal, Decimal, bool]:
    """Points with reviews, points to be graded by a person, and whether one must look.

    A review replaces the verdict on its criterion.
    """
    if not reviews:
        if not judgement.pending and not judgement.needs_person:
            return judgement.awarded, ZERO, False
        return judgement.awarded, *find_open_points(judgement)
    points, pending = ZERO, ZERO
    needs_person = False
    for verdict in decode_judgement(judgement).verdicts:
        review = reviews.get(verdict.criterion)
        if review is not None:
            points += review.points
            continue
        points += verdict.points
        needs_person |= verdict.needs_person
        if verdict.outcome is Outcome.PENDING and verdict.reason is not Reason.NOT_SENT:
            pending += verdict.possible
    return normalize_points(points), pending, needs_person


def update_grades(
    session: Session,
    context: GradingContext,
    *,
    run_id: str,
    parts: Iterable[StudentQuestion],
    at: datetime,
    judged: Sequence[JudgedAttempt] | None = None,
    extensions: Mapping[tuple[str, str], ExtensionLine] | None = None,
    published: Mapping[str, PublishedAssignment] | None = None,
) -> dict[StudentQuestion, GradeLine]:
    """Bring grades up to date and return them.

    `judged`, `extensions` and `published` (by assignment) are looked up unless they are given.
    """
    wanted = set(parts)
    assignments = published or {
        each: context.in_force(session, run_id=run_id, assignment=each)
        for each in {assignment for _, assignment, _ in wanted}
    }
    events = load_events(session, parts=wanted, judged=judged, extensions=extensions)
    before = find_grades(session, parts=wanted)
    now = {
        part: make_grade_line(run_id, part, standing, possible, before.get(part), at=at)
        for part, (standing, possible) in compute_standings(events, assignments, wanted).items()
    }
    put_grades(session, [line for part, line in now.items() if line != before.get(part)])
    return now


def make_grade_line(
    run_id: str,
    part: StudentQuestion,
    standing: Standing,
    possible: Decimal,
    before: GradeLine | None,
    *,
    at: datetime,
) -> GradeLine:
    """A standing as it is stored; one that says the same as before is that one."""
    enrolment_id, assignment, question = part
    line = GradeLine(
        run_id=run_id,
        enrolment_id=enrolment_id,
        assignment=assignment,
        question=question,
        points=standing.points,
        possible=possible,
        pending=standing.pending,
        attempts=standing.attempts,
        counted_attempt_id=standing.counted_attempt_id,
        late_days=standing.late_days,
        is_overridden=standing.is_overridden,
        needs_person=standing.needs_person,
        changes=before.changes if before else 0,
        changed_at=before.changed_at if before else at,
    )
    if line == before:
        return line
    return replace(line, changes=line.changes + 1, changed_at=at)
