"""A reviewer's view of one attempt: the answer, its context, and the review form."""

# FastAPI reads the types of ReviewContext at run time, so annotations are not postponed here.

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends

from grader.accounts.callers import Membership
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
from grader.grading.reviews.review import ReviewTask, format_review_version, load_review_tasks
from grader.grading.submissions.uploads import list_files
from grader.reading.answer import DIGEST
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.courses import MemberLine, find_member
from grader.store.queries.decisions import ClaimLine, list_comments
from grader.store.queries.people import find_names
from grader.store.queries.submissions import UploadLine
from grader.web.pages.context import QuestionContext, make_page_dependency
from grader.web.pages.format import format_points
from grader.web.pages.plots import DrawnPlot, draw_plots
from grader.web.pages.review.form import CriterionReviewForm, build_review_forms
from grader.web.pages.student.downloads import GivenArray, list_arrays
from grader.web.params import AttemptId

#: Maximum earlier comments offered for reuse.
_MAX_COMMENTS = 6


def build_queue_path(page: QuestionContext) -> str:
    """The URL that leads to the next attempt to review."""
    return f"/courses/{page.course}/assignments/{page.assignment}/review/{page.question}"


@dataclass(frozen=True, slots=True)
class ReviewContext(QuestionContext):
    """A page of an attempt under review."""

    attempt_id: AttemptId

    @property
    def queue_path(self) -> str:
        """The URL that leads to the next attempt to review."""
        return build_queue_path(self)

    @property
    def path(self) -> str:
        """The URL of the attempt's page."""
        return f"{self.queue_path}/{self.attempt_id}"


ReviewPage = Annotated[ReviewContext, Depends(make_page_dependency(ReviewContext))]


@dataclass(frozen=True, slots=True)
class ReviewSheet:
    """One attempt with everything a reviewer needs."""

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
    """The student, where names may be shown."""

    @property
    def neighbours(self) -> tuple[QueueEntry | None, QueueEntry | None]:
        """The entries before and after this one."""
        return self.queue.neighbours(self.entry.attempt.id)

    @property
    def texts(self) -> list[CriterionReviewForm]:
        """The written answers, without those that are only a file."""
        written = [each for each in self.forms if each.task.text is not None]
        return [each for each in written if not DIGEST.fullmatch(each.task.text or "")]

    @property
    def rest(self) -> dict[str, Any]:
        """The other fields of the answer."""
        written = {each.task.criterion for each in self.forms if each.task.text is not None}
        return {name: value for name, value in self.report.answer.items() if name not in written}

    @property
    def numbers(self) -> dict[str, float]:
        """The given numbers."""
        return {name: each for name, each in self.given.items() if not isinstance(each, list)}

    @property
    def arrays(self) -> list[GivenArray]:
        """The given arrays."""
        return list_arrays(self.given)


def get_attempt_to_review(
    session: Session, page: ReviewContext
) -> tuple[Membership, VisibleAttempt]:
    """The attempt of the URL, which must belong to its question and to another person."""
    membership = page.membership(session, Role.ASSISTANT)
    found = get_visible_attempt(session, page.grading, page.caller, attempt_id=page.attempt_id)
    attempt = found.attempt
    if (attempt.run_id, attempt.assignment, attempt.question) != (
        page.course,
        page.assignment,
        page.question,
    ):
        raise NotFound
    membership.refuse_own_work(attempt.enrolment_id)
    return membership, found


def load_review_sheet(
    session: Session, page: ReviewContext, *, submitted: Mapping[str, str] | None = None
) -> ReviewSheet:
    """The attempt's sheet; `submitted` is a form that could not be saved."""
    membership, found = get_attempt_to_review(session, page)
    attempt = found.attempt
    queue = load_queue(
        session, page.grading, membership, assignment=page.assignment, question=page.question
    )
    tasks = tuple(load_review_tasks(session, page.grading, membership, page.attempt_id))
    if not tasks:
        raise RequestRefused(
            "No part of this attempt needs grading by a person.", code="review.not_needed"
        )
    rubric = found.published.rubric(page.question)
    report = load_attempt_report(session, page.grading, found, at=page.at)
    variant = page.grading.variant_answered(session, attempt, rubric)
    return ReviewSheet(
        membership=membership,
        queue=queue,
        entry=QueueEntry(attempt, tasks),
        is_counted=queue.find(page.attempt_id) is not None,
        rubric=rubric,
        report=report,
        pictures=draw_plots(session, page.grading, found, report),
        given=build_given_values(rubric.scope, variant, rubric.form.given),
        files=list_files(session, enrolment_id=attempt.enrolment_id, answer=attempt.answer),
        forms=build_review_forms(
            tasks,
            comments={
                each.criterion: list_comments(
                    session,
                    run_id=page.course,
                    assignment=page.assignment,
                    question=page.question,
                    criterion=each.criterion,
                    limit=_MAX_COMMENTS,
                )
                for each in tasks
            },
            judged={each.id: each for each in report.criteria if each.outcome != "pending"},
            submitted=submitted,
        ),
        reviewers=_find_reviewer_names(session, tasks),
        student=_find_visible_student(session, page, membership, queue, found),
    )


def _find_reviewer_names(session: Session, tasks: tuple[ReviewTask, ...]) -> dict[str, str]:
    """The names of the people whose reviews are in force, by their ids."""
    by = {each.review.by for each in tasks if each.review}
    names = find_names(session, person_ids=by)
    return {each: names.get(each, SERVICE_NAME) for each in by}


def _find_visible_student(
    session: Session,
    page: ReviewContext,
    membership: Membership,
    queue: ReviewQueue,
    found: VisibleAttempt,
) -> MemberLine | None:
    # Usually this question still has attempts to review; then nothing else need be loaded.
    if queue.done < len(queue.entries):
        return None
    progress = load_progress(
        session, page.grading, membership, assignment=page.assignment, at=page.at
    )
    if not may_show_names(
        session, found.published, membership, waiting=progress.waiting, at=page.at
    ):
        return None
    return find_member(session, run_id=page.course, login=found.attempt.enrolment_id)


@dataclass(frozen=True, slots=True)
class SavedReview:
    """A review that was saved just before, in words, and the URL to change it."""

    words: str
    path: str


def find_saved_review(
    session: Session, page: QuestionContext, membership: Membership, attempt_id: str | None
) -> SavedReview | None:
    """The stored review of the previous attempt; None where there is none."""
    if attempt_id is None:
        return None
    try:
        tasks = load_review_tasks(session, page.grading, membership, attempt_id)
    except NotFound:
        # The id comes from the query and may be anything; the page is shown all the same.
        return None
    reviews = ", ".join(
        f"{format_points(each.review.points)} of {format_points(each.possible)} points"
        f" (version {format_review_version(each.review)})"
        for each in tasks
        if each.review
    )
    if not reviews:
        return None
    path = f"{build_queue_path(page)}/{attempt_id}"
    return SavedReview(f"{make_pseudonym(attempt_id)}, {reviews}", path)


def load_holder_name(session: Session, claim: ClaimLine) -> str:
    """The name of the person who holds a claim."""
    return find_names(session, person_ids=[claim.by]).get(claim.by, SERVICE_NAME)
