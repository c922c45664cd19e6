"""Reviews: a person's word on what the engine cannot decide, written parts above all."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from grader.accounts.callers import Membership
from grader.domain.roles import Role
from grader.domain.verdicts import Outcome, Reason, Verdict
from grader.errors import ErrorDetail, MalformedRequest, NotFound, OutdatedVersion, RequestRefused
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.grades.overrides import refuse_own_work
from grader.grading.grades.settle import update_grades
from grader.grading.locks import lock_students
from grader.grading.serialize import decode_judgement
from grader.rubric.catalog import Rubric
from grader.rubric.forms import FileForm, ItemForm, TextForm
from grader.store.database import Session
from grader.store.ids import make_id
from grader.store.queries.attempts import AttemptLine, JudgementLine, get_judged, list_counted
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.decisions import (
    ReviewLine,
    add_review,
    list_reviews,
    select_latest_reviews,
)
from grader.store.queries.grades import GradeLine

MAX_COMMENT_LENGTH = 10_000


@dataclass(frozen=True, slots=True)
class ReviewTask:
    """A criterion of an attempt that a person decides, with the review that holds, if any."""

    attempt: AttemptLine
    criterion: str
    title: str
    text: str | None
    possible: Decimal
    items: tuple[ItemForm, ...]
    note: str
    review: ReviewLine | None


def format_review_version(review: ReviewLine | None) -> str:
    """The version of a review, for `If-Match`."""
    return f"r{review.number if review else 0}"


def list_review_tasks(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    question: str | None = None,
) -> list[ReviewTask]:
    """All that a person decides in the attempts that count, in an order that favours nobody."""
    membership.need(Role.ASSISTANT)
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    if question is not None:
        published.rubric(question)
    judged = list_counted(
        session, run_id=membership.run.id, assignment=assignment, question=question
    )
    reviews = select_latest_reviews(
        list_reviews(session, attempt_ids=[each.id for each, _ in judged])
    )
    waiting = [
        each
        for attempt, judgement in judged
        for each in build_review_tasks(published, attempt, judgement, reviews.get(attempt.id, {}))
    ]
    order = {name: membership for membership, name in enumerate(published.form.questions)}
    return sorted(waiting, key=lambda each: (order[each.attempt.question], _shuffle_key(each)))


def _shuffle_key(waiting: ReviewTask) -> str:
    """A place in an order that has nothing to do with names or times."""
    return hashlib.sha256(f"{waiting.criterion} {waiting.attempt.id}".encode()).hexdigest()


def build_review_tasks(
    published: PublishedAssignment,
    attempt: AttemptLine,
    judgement: JudgementLine,
    reviews: dict[str, ReviewLine],
) -> list[ReviewTask]:
    """All that a person decides in one attempt, decided or not."""
    rubric = published.assignment.rubrics.get(attempt.question)
    if rubric is None:
        return []
    return [
        _make_task(rubric, attempt, verdict, reviews.get(verdict.criterion))
        for verdict in decode_judgement(judgement).verdicts
        if _is_for_a_person(verdict)
    ]


def _is_for_a_person(verdict: Verdict) -> bool:
    if verdict.outcome is Outcome.PENDING:
        return verdict.reason is not Reason.NOT_SENT
    return verdict.needs_person


def _make_task(
    rubric: Rubric, attempt: AttemptLine, verdict: Verdict, review: ReviewLine | None
) -> ReviewTask:
    titles = {each.id: each.title for each in rubric.question.criteria}
    form = rubric.form.answer.get(verdict.criterion)
    items: tuple[ItemForm, ...] = ()
    note, text = "", None
    if isinstance(form, TextForm | FileForm):
        asked = form.text if isinstance(form, TextForm) else form.file
        items, note = asked.items, asked.note
        sent = attempt.answer.get(verdict.criterion)
        text = sent if isinstance(sent, str) else None
    return ReviewTask(
        attempt,
        verdict.criterion,
        titles.get(verdict.criterion, verdict.criterion),
        text,
        verdict.possible,
        items,
        note,
        review,
    )


def review_criterion(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    attempt_id: str,
    criterion: str,
    items: Sequence[int] | None,
    points: Decimal | None,
    comment: str,
    version: str | None,
    at: datetime,
) -> tuple[ReviewLine, GradeLine]:
    """Give points for a criterion: by the rubric's items, or as a number.

    Raises
    ------
    NotFound
        Where the course run has no such attempt.
    Refused
        Where the criterion is not one that a person decides.
    Outdated
        Where `version` is given and somebody else has reviewed it since.
    """
    membership.need(Role.ASSISTANT)
    attempt, judgement = get_judged(session, attempt_id=attempt_id)
    if attempt.run_id != membership.run.id:
        raise NotFound
    refuse_own_work(membership, attempt.enrolment_id)
    pair = (attempt.enrolment_id, attempt.assignment)
    lock_students(session, [pair], run_ids=[membership.run.id])
    published = context.in_force(session, run_id=membership.run.id, assignment=attempt.assignment)
    known = select_latest_reviews(list_reviews(session, attempt_ids=[attempt.id])).get(
        attempt.id, {}
    )
    parts = {
        each.criterion: each for each in build_review_tasks(published, attempt, judgement, known)
    }
    waiting = parts.get(criterion)
    if waiting is None:
        raise RequestRefused(
            "This criterion of this attempt is not one that a person decides.",
            code="review.not_needed",
        )
    if version is not None and version != format_review_version(waiting.review):
        raise OutdatedVersion(
            "Somebody else has reviewed this in the meantime; look at it again.",
            current=format_review_version(waiting.review),
        )
    line = ReviewLine(
        id=make_id("rev"),
        run_id=membership.run.id,
        attempt_id=attempt.id,
        criterion=criterion,
        number=waiting.review.number + 1 if waiting.review else 1,
        items=sorted(set(items or ())),
        points=compute_review_points(waiting, items, points),
        comment=_check_comment(comment),
        by=membership.caller.id,
        at=at,
    )
    add_review(session, line)
    add_audit_entry(
        session,
        at=at,
        by=membership.caller.id,
        run_id=membership.run.id,
        action="attempt.reviewed",
        subject=attempt.id,
        details={"criterion": criterion, "points": f"{line.points:f}", "number": line.number},
    )
    grades = update_grades(session, context, run_id=membership.run.id, parts=[attempt.part], at=at)
    return line, grades[attempt.part]


def compute_review_points(
    waiting: ReviewTask, items: Sequence[int] | None, points: Decimal | None
) -> Decimal:
    """What a decision is worth: the points where they are given, or else those of the items."""
    faults = []
    if items is None and points is None:
        faults.append(
            ErrorDetail("#/items", "review.empty", "Say which items hold, or give points.")
        )
    for number, item in enumerate(items or ()):
        if not 0 <= item < len(waiting.items):
            faults.append(
                ErrorDetail(
                    f"#/items/{number}",
                    "item.unknown",
                    f"Items are counted from 0; there are {len(waiting.items)}.",
                )
            )
    if points is not None and not 0 <= points <= waiting.possible:
        faults.append(
            ErrorDetail(
                "#/points", "points.range", f"Points go from 0 to {waiting.possible.normalize():f}."
            )
        )
    if faults:
        raise MalformedRequest(faults[0].detail, code=faults[0].code, faults=tuple(faults))
    if points is not None:
        return points
    return sum((waiting.items[each].points for each in set(items or ())), Decimal(0))


def _check_comment(comment: str) -> str:
    if len(comment) > MAX_COMMENT_LENGTH:
        fault = ErrorDetail(
            "#/comment", "comment.length", f"A comment has at most {MAX_COMMENT_LENGTH} characters."
        )
        raise MalformedRequest(fault.detail, code=fault.code, faults=(fault,))
    return comment
