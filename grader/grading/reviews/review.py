"""Reviews: a person decides what the engine cannot, above all written parts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from grader.accounts.callers import Membership, record_action
from grader.domain.roles import Role
from grader.domain.verdicts import Outcome, Reason, Verdict
from grader.errors import ErrorDetail, MalformedRequest, NotFound, OutdatedVersion, RequestRefused
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.grades.settle import update_grades
from grader.grading.locks import lock_students
from grader.grading.serialize import decode_judgement
from grader.rubric.catalog import Rubric
from grader.rubric.forms import FileForm, ItemForm, TextForm
from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine, JudgementLine, get_judged, list_counted
from grader.store.queries.decisions import (
    ReviewLine,
    add_review,
    list_reviews,
    select_latest_reviews,
)
from grader.store.queries.facts import RecordedTable
from grader.store.queries.grades import GradeLine
from grader.store.rows import make_id

MAX_COMMENT_LENGTH = 10_000
NOTHING_DECIDED = ErrorDetail("items", "review.empty", "Say which items are met, or give points.")


@dataclass(frozen=True, slots=True)
class ReviewTask:
    """A criterion of an attempt that a person decides, with its latest review, if any."""

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
    """The tasks in all attempts that count, in an order that favours nobody."""
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
    tasks = [
        each
        for attempt, judgement in judged
        for each in _build_tasks(published, attempt, judgement, reviews.get(attempt.id, {}))
    ]
    order = {name: place for place, name in enumerate(published.form.questions)}
    return sorted(tasks, key=lambda each: (order[each.attempt.question], _shuffle_key(each)))


def _shuffle_key(task: ReviewTask) -> str:
    """A sort key that depends neither on names nor on times."""
    return hashlib.sha256(f"{task.criterion} {task.attempt.id}".encode()).hexdigest()


def get_attempt_in_run(
    session: Session, membership: Membership, attempt_id: str
) -> tuple[AttemptLine, JudgementLine]:
    """An attempt with its judgement; NotFound if the course run has no such attempt."""
    attempt, judgement = get_judged(session, attempt_id=attempt_id)
    if attempt.run_id != membership.run.id:
        raise NotFound
    return attempt, judgement


def load_review_tasks(
    session: Session, context: GradingContext, membership: Membership, attempt_id: str
) -> list[ReviewTask]:
    """All tasks in an attempt, counting or not; NotFound if the course run has no such attempt."""
    attempt, judgement = get_attempt_in_run(session, membership, attempt_id)
    published = context.in_force(session, run_id=membership.run.id, assignment=attempt.assignment)
    reviews = select_latest_reviews(list_reviews(session, attempt_ids=[attempt.id]))
    return _build_tasks(published, attempt, judgement, reviews.get(attempt.id, {}))


def _build_tasks(
    published: PublishedAssignment,
    attempt: AttemptLine,
    judgement: JudgementLine,
    reviews: dict[str, ReviewLine],
) -> list[ReviewTask]:
    """The tasks in one attempt, reviewed or not."""
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
        written = form.text if isinstance(form, TextForm) else form.file
        items, note = written.items, written.note
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
        If the course run has no such attempt.
    RequestRefused
        If the criterion is not one that a person decides.
    OutdatedVersion
        If `version` is given and somebody else has reviewed it since.
    """
    membership.need(Role.ASSISTANT)
    run_id = membership.run.id
    attempt, _ = get_attempt_in_run(session, membership, attempt_id)
    membership.refuse_own_work(attempt.enrolment_id)
    lock_students(session, [(attempt.enrolment_id, attempt.assignment)], run_ids=[run_id])
    tasks = load_review_tasks(session, context, membership, attempt_id)
    task = next((each for each in tasks if each.criterion == criterion), None)
    if task is None:
        raise RequestRefused(
            "This criterion of this attempt is not one that a person decides.",
            code="review.not_needed",
        )
    if version is not None and version != format_review_version(task.review):
        raise OutdatedVersion(
            "Somebody else has reviewed this in the meantime; look at it again.",
            current=format_review_version(task.review),
        )
    line = ReviewLine(
        id=make_id("rev"),
        run_id=run_id,
        attempt_id=attempt.id,
        criterion=criterion,
        number=task.review.number + 1 if task.review else 1,
        items=sorted(set(items or ())),
        points=compute_review_points(task, items, points),
        comment=_check_comment(comment),
        by=membership.caller.id,
        at=at,
    )
    add_review(session, line)
    record_action(
        session,
        membership,
        at=at,
        action="attempt.reviewed",
        subject=attempt.id,
        details={"criterion": criterion, "points": f"{line.points:f}", "number": line.number},
        changed={RecordedTable.REVIEWS: [line.id]},
    )
    grades = update_grades(session, context, run_id=run_id, parts=[attempt.part], at=at)
    return line, grades[attempt.part]


def compute_review_points(
    task: ReviewTask, items: Sequence[int] | None, points: Decimal | None
) -> Decimal:
    """The points of a decision: those given, or else those of the items that are met."""
    faults = []
    if items is None and points is None:
        faults.append(NOTHING_DECIDED)
    unknown = f"Items are counted from 0; there are {len(task.items)}."
    faults += [
        ErrorDetail(("items", place), "item.unknown", unknown)
        for place, item in enumerate(items or ())
        if not 0 <= item < len(task.items)
    ]
    if points is not None and not 0 <= points <= task.possible:
        detail = f"Points go from 0 to {task.possible.normalize():f}."
        faults.append(ErrorDetail("points", "points.range", detail))
    if faults:
        raise MalformedRequest.of(*faults)
    if points is not None:
        return points
    return sum((task.items[each].points for each in set(items or ())), Decimal(0))


def _check_comment(comment: str) -> str:
    if len(comment) > MAX_COMMENT_LENGTH:
        detail = f"A comment has at most {MAX_COMMENT_LENGTH} characters."
        raise MalformedRequest.of(ErrorDetail("comment", "comment.length", detail))
    return comment
