"""What a reviewer sees of one attempt: the answer, all around it, and the form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grader.accounts.callers import Membership, get_membership_as
from grader.domain.roles import Role
from grader.errors import NotFound, RequestRefused
from grader.feedback.given import build_given_values
from grader.grading.attempts.find import VisibleAttempt, get_visible_attempt, load_attempt_report
from grader.grading.attempts.report import AttemptReport
from grader.grading.reviews.queue import (
    SERVICE_NAME,
    QueueEntry,
    ReviewQueue,
    load_progress,
    load_queue,
    make_pseudonym,
    may_show_names,
)
from grader.grading.reviews.review import format_review_version, load_review_tasks
from grader.grading.submissions.uploads import list_files
from grader.reading.answer import DIGEST
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.courses import MemberLine, find_member
from grader.store.queries.decisions import ClaimLine, list_comments
from grader.store.queries.people import find_names
from grader.store.queries.submissions import UploadLine
from grader.web.pages.format import format_points
from grader.web.pages.plots import DrawnPlot, draw_plots
from grader.web.pages.rendering import Visitor
from grader.web.pages.review.form import CriterionReviewForm, build_review_forms
from grader.web.pages.student.downloads import GivenArray, list_arrays
from grader.web.service import Service

#: So many earlier comments are offered.
_MAX_COMMENTS = 6


@dataclass(frozen=True, slots=True)
class ReviewPath:
    """A question of an assignment, and an attempt at it."""

    course: str
    assignment: str
    question: str
    attempt_id: str

    @property
    def queue_path(self) -> str:
        """The address that leads to the next one."""
        return f"/courses/{self.course}/assignments/{self.assignment}/review/{self.question}"

    @property
    def path(self) -> str:
        """The address of the attempt's page."""
        return f"{self.queue_path}/{self.attempt_id}"


@dataclass(frozen=True, slots=True)
class ReviewSheet:
    """One attempt on the reviewer's desk."""

    where: ReviewPath
    membership: Membership
    queue: ReviewQueue
    entry: QueueEntry
    is_counted: bool
    rubric: Rubric
    report: AttemptReport
    pictures: list[DrawnPlot]
    given: dict[str, Any]
    files: list[UploadLine]
    forms: list[CriterionReviewForm]
    reviewers: Mapping[str, str]
    student: MemberLine | None
    """Whose it is, where that may be known."""

    @property
    def neighbours(self) -> tuple[QueueEntry | None, QueueEntry | None]:
        """The entries before and after it."""
        return self.queue.neighbours(self.entry.attempt.id)

    @property
    def texts(self) -> list[CriterionReviewForm]:
        """The parts in which something was written; what is only a file is not among them."""
        written = [each for each in self.forms if each.part.text is not None]
        return [each for each in written if not DIGEST.fullmatch(each.part.text or "")]

    @property
    def rest(self) -> dict[str, Any]:
        """What was sent besides the written parts."""
        written = {each.part.criterion for each in self.forms if each.part.text is not None}
        return {name: value for name, value in self.report.answer.items() if name not in written}

    @property
    def numbers(self) -> dict[str, float]:
        """The given numbers."""
        return {name: each for name, each in self.given.items() if not isinstance(each, list)}

    @property
    def arrays(self) -> list[GivenArray]:
        """The given arrays."""
        return list_arrays(self.given)


def enter_as_reviewer(session: Session, visitor: Visitor, course: str) -> Membership:
    """The visitor in a course run, as an assistant or an instructor."""
    return get_membership_as(session, visitor.caller, Role.ASSISTANT, run_id=course)


def get_attempt_to_review(
    session: Session, service: Service, visitor: Visitor, where: ReviewPath
) -> tuple[Membership, VisibleAttempt]:
    """An attempt of somebody else, where it stands under its own question."""
    membership = enter_as_reviewer(session, visitor, where.course)
    found = get_visible_attempt(
        session, service.context, visitor.caller, attempt_id=where.attempt_id
    )
    attempt = found.attempt
    named = (attempt.run_id, attempt.assignment, attempt.question)
    if named != (where.course, where.assignment, where.question):
        raise NotFound
    membership.refuse_own_work(attempt.enrolment_id)
    return membership, found


def load_review_sheet(
    session: Session,
    service: Service,
    visitor: Visitor,
    where: ReviewPath,
    *,
    at: datetime,
    sent: Mapping[str, str] | None = None,
) -> ReviewSheet:
    """An attempt on the desk, with what was typed where that could not be saved."""
    context = service.context
    membership, found = get_attempt_to_review(session, service, visitor, where)
    queue = load_queue(
        session, context, membership, assignment=where.assignment, question=where.question
    )
    counted = queue.find(where.attempt_id)
    parts = tuple(load_review_tasks(session, context, membership, where.attempt_id))
    if not parts:
        raise RequestRefused(
            "Nothing in this attempt waits for a person.", code="review.not_needed"
        )
    rubric = found.published.rubric(where.question)
    report = load_attempt_report(session, context, found, at=at)
    variant = context.variant_answered(session, found.attempt, rubric)
    return ReviewSheet(
        where=where,
        membership=membership,
        queue=queue,
        entry=QueueEntry(found.attempt, parts),
        is_counted=counted is not None,
        rubric=rubric,
        report=report,
        pictures=draw_plots(session, service, found, report),
        given=build_given_values(rubric.scope, variant, rubric.form.given),
        files=list_files(
            session, enrolment_id=found.attempt.enrolment_id, answer=found.attempt.answer
        ),
        forms=build_review_forms(
            parts,
            comments={
                each.criterion: _list_earlier_comments(session, where, each.criterion)
                for each in parts
            },
            judged={each.id: each for each in report.criteria if each.outcome != "pending"},
            sent=sent,
        ),
        reviewers=_find_reviewer_names(session, parts),
        student=_find_visible_student(session, service, membership, queue, found, at=at),
    )


def _list_earlier_comments(session: Session, where: ReviewPath, criterion: str) -> list[str]:
    return list_comments(
        session,
        run_id=where.course,
        assignment=where.assignment,
        question=where.question,
        criterion=criterion,
        limit=_MAX_COMMENTS,
    )


def _find_reviewer_names(session: Session, parts: tuple[Any, ...]) -> dict[str, str]:
    """Who made the reviews that hold, by what they are known as."""
    by = {each.review.by for each in parts if each.review}
    names = find_names(session, person_ids=by)
    return {each: names.get(each, SERVICE_NAME) for each in by}


def _find_visible_student(
    session: Session,
    service: Service,
    membership: Membership,
    queue: ReviewQueue,
    found: VisibleAttempt,
    *,
    at: datetime,
) -> MemberLine | None:
    # Mostly something of the question itself waits, and then nothing else need be looked at.
    if queue.done < len(queue.entries):
        return None
    assignment = found.attempt.assignment
    progress = load_progress(session, service.context, membership, assignment=assignment, at=at)
    if not may_show_names(session, found.published, membership, waiting=progress.waiting, at=at):
        return None
    return find_member(session, run_id=membership.run.id, login=found.attempt.enrolment_id)


@dataclass(frozen=True, slots=True)
class SavedReview:
    """What was saved of an attempt, in words, and the address where it can be changed."""

    words: str
    path: str


def find_saved_review(
    session: Session, service: Service, membership: Membership, where: ReviewPath
) -> SavedReview | None:
    """What is stored of an attempt that somebody comes from; None where nothing is."""
    try:
        parts = load_review_tasks(session, service.context, membership, where.attempt_id)
    except NotFound:
        # Whatever stands in an address, the page itself is there.
        return None
    said = ", ".join(
        f"{format_points(each.review.points)} of {format_points(each.possible)} points"
        f" (version {format_review_version(each.review)})"
        for each in parts
        if each.review
    )
    return SavedReview(f"{make_pseudonym(where.attempt_id)}, {said}", where.path) if said else None


def load_holder_name(session: Session, claim: ClaimLine) -> str:
    """Who holds an attempt."""
    return find_names(session, person_ids=[claim.by]).get(claim.by, SERVICE_NAME)
