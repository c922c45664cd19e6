"""Settling grades: events are read, settled into standings and stored in the same transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from grader.domain.grades import (
    ZERO,
    DecidedScore,
    ScoredAttempt,
    Standing,
    settle,
    settle_next,
)
from grader.domain.policies import Policy, normalize_points
from grader.domain.verdicts import Outcome, Reason, Verdict
from grader.engine.judge.judge import Judgement
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.serialize import decode_judgement, find_open_points
from grader.store.database import Session
from grader.store.queries.attempts import (
    AttemptLine,
    JudgedAttempt,
    JudgementLine,
    StudentQuestion,
    list_judged,
)
from grader.store.queries.decisions import (
    ExternalScoreLine,
    OverrideLine,
    ReviewLine,
    list_external_scores,
    list_overrides,
    list_reviews,
    select_latest_reviews,
)
from grader.store.queries.grades import GradeLine, ProgressLine, find_grades, put_grades
from grader.store.queries.publications import ExtensionLine, find_extensions


@dataclass(frozen=True, slots=True)
class GradeEvents:
    """All that happened at some questions of students in one course run."""

    judged: Sequence[JudgedAttempt]
    reviews: Mapping[str, dict[str, ReviewLine]]
    overrides: Mapping[StudentQuestion, OverrideLine]
    external: Mapping[StudentQuestion, ExternalScoreLine]
    extensions: Mapping[tuple[str, str], ExtensionLine]


def load_events(
    session: Session,
    *,
    parts: Iterable[StudentQuestion],
) -> GradeEvents:
    """All that happened there."""
    wanted = set(parts)
    judged = list_judged(session, parts=wanted)
    reviews = list_reviews(session, attempt_ids=[attempt.id for attempt, _ in judged])
    return GradeEvents(
        judged=judged,
        reviews=select_latest_reviews(reviews),
        overrides={each.part: each for each in list_overrides(session, student_questions=wanted)},
        external={
            each.part: each for each in list_external_scores(session, student_questions=wanted)
        },
        extensions=find_extensions(session, pairs={(part[0], part[1]) for part in wanted}),
    )


def compute_standings(
    events: GradeEvents,
    assignments: Mapping[str, PublishedAssignment],
    parts: Iterable[StudentQuestion],
) -> dict[StudentQuestion, Standing]:
    """Where students stand by all that happened."""
    earned: dict[StudentQuestion, list[ScoredAttempt]] = defaultdict(list)
    for attempt, judgement in events.judged:
        points, pending, needs_person = compute_earned_points(
            judgement, events.reviews.get(attempt.id, {})
        )
        scored = ScoredAttempt(
            attempt.id,
            attempt.number,
            attempt.received_at,
            points=points,
            possible=judgement.possible,
            pending=pending,
            needs_person=needs_person,
            is_free=attempt.is_free,
        )
        earned[attempt.part].append(scored)
    found = {}
    for part in set(parts):
        enrolment_id, assignment, question = part
        published = assignments[assignment]
        extension = events.extensions.get((enrolment_id, assignment))
        rubric = published.assignment.rubrics.get(question)
        possible = rubric.form.points if rubric else ZERO
        found[part] = settle(
            published.policy(question, extension),
            earned[part],
            possible=possible,
            external=_get_decided(events.external.get(part), possible),
            override=_get_decided(events.overrides.get(part), possible),
        )
    return found


def _get_decided(
    line: OverrideLine | ExternalScoreLine | None, possible: Decimal
) -> DecidedScore | None:
    """The score that was decided; None where there is none, or where it was withdrawn.

    Those of before it was kept out of what they were given are out of what is possible now.
    """
    if line is None or line.points is None:
        return None
    return DecidedScore(line.points, possible if line.possible is None else line.possible)


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
        if _is_to_be_graded(verdict):
            pending += verdict.possible
    return normalize_points(points), pending, needs_person


def _is_to_be_graded(verdict: Verdict) -> bool:
    """Whether a person grades it, because it was sent."""
    return verdict.outcome is Outcome.PENDING and verdict.reason is not Reason.NOT_SENT


def update_grades(
    session: Session,
    context: GradingContext,
    *,
    run_id: str,
    parts: Iterable[StudentQuestion],
    at: datetime,
) -> dict[StudentQuestion, GradeLine]:
    """Bring grades up to date with all that happened, and return them."""
    wanted = set(parts)
    assignments = {
        each: context.in_force(session, run_id=run_id, assignment=each)
        for each in {assignment for _, assignment, _ in wanted}
    }
    events = load_events(session, parts=wanted)
    before = find_grades(session, parts=wanted)
    now = {
        part: make_grade_line(run_id, part, standing, before.get(part), at=at)
        for part, standing in compute_standings(events, assignments, wanted).items()
    }
    put_grades(session, [line for part, line in now.items() if line != before.get(part)])
    return now


class NewAttempt(NamedTuple):
    """An attempt that was just judged, where the student stood before it, and what counts."""

    attempt: AttemptLine
    judgement: Judgement
    before: ProgressLine | None
    policy: Policy

    def score(self) -> ScoredAttempt:
        """What it earned so far."""
        verdicts, attempt = self.judgement.verdicts, self.attempt
        return ScoredAttempt(
            attempt.id,
            attempt.number,
            attempt.received_at,
            points=self.judgement.score.awarded,
            possible=self.judgement.score.possible,
            pending=sum((each.possible for each in verdicts if _is_to_be_graded(each)), ZERO),
            needs_person=any(each.needs_person for each in verdicts),
            is_free=attempt.is_free,
        )


def add_to_grades(
    session: Session,
    context: GradingContext,
    *,
    run_id: str,
    new: Sequence[NewAttempt],
    at: datetime,
) -> dict[StudentQuestion, GradeLine]:
    """Bring grades up to date with attempts that were just stored, and return them.

    It gives what `update_grades` would, from the grades before and without any earlier attempt.
    """
    begun = [each.attempt.part for each in new if each.before is not None]
    external = {
        each.part: each
        for each in (list_external_scores(session, student_questions=begun) if begun else ())
    }
    now: dict[StudentQuestion, GradeLine] = {}
    unknown: list[StudentQuestion] = []
    for each in new:
        part, before = each.attempt.part, each.before
        grade = before.grade if before else None
        if before is not None and lacks_counted_points(before.grade):
            unknown.append(part)
            continue
        score = each.score()
        standing = settle_next(
            each.policy,
            _find_counted(before),
            score,
            used=grade.attempts if grade else 0,
            external=_get_decided(external.get(part), score.possible),
            override=_find_override(grade),
        )
        now[part] = make_grade_line(run_id, part, standing, grade, at=at)
    put_grades(session, list(now.values()))
    if unknown:
        now |= update_grades(session, context, run_id=run_id, parts=unknown, at=at)
    return now


def _find_override(grade: GradeLine | None) -> DecidedScore | None:
    """The override in force, as the grade has it."""
    if grade is None or not grade.is_overridden:
        return None
    assert grade.points is not None, "an override without points withdraws"
    return DecidedScore(grade.points, grade.possible)


def lacks_counted_points(grade: GradeLine) -> bool:
    """Whether it was stored before the points of the counted attempt were kept with it."""
    return grade.counted_attempt_id is not None and grade.counted_points is None


def _find_counted(before: ProgressLine | None) -> ScoredAttempt | None:
    """The attempt that counted so far, as its grade has it."""
    grade = before.grade if before else None
    if before is None or grade is None or grade.counted_attempt_id is None:
        return None
    assert before.counted_number is not None, "every attempt has a number"
    assert before.counted_received_at is not None, "every attempt has arrived"
    assert grade.counted_points is not None, "the caller has looked"
    return ScoredAttempt(
        grade.counted_attempt_id,
        before.counted_number,
        before.counted_received_at,
        points=grade.counted_points,
        pending=grade.counted_pending or ZERO,
        # Where something overrides the attempt these are not its own, and are not looked at.
        possible=grade.possible,
        needs_person=grade.needs_person,
    )


def make_grade_line(
    run_id: str,
    part: StudentQuestion,
    standing: Standing,
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
        possible=standing.possible,
        pending=standing.pending,
        attempts=standing.attempts,
        counted_attempt_id=standing.counted_attempt_id,
        late_days=standing.late_days,
        is_overridden=standing.is_overridden,
        needs_person=standing.needs_person,
        changes=before.changes if before else 1,
        changed_at=before.changed_at if before else at,
        counted_points=standing.counted_points,
        counted_pending=standing.counted_pending,
    )
    if before is None or line == before:
        return line
    return line._replace(changes=before.changes + 1, changed_at=at)
