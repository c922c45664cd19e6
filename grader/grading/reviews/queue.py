"""The review queue of a question, attempt by attempt, and the progress of the reviews."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from grader.accounts.callers import Membership
from grader.grading.context import GradingContext, PublishedAssignment, compute_release_time
from grader.grading.reviews.review import ReviewTask, list_review_tasks
from grader.rubric.catalog import Rubric
from grader.rubric.forms import FileForm, TextForm
from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine
from grader.store.queries.decisions import ClaimLine, list_claims
from grader.store.queries.people import find_names
from grader.store.queries.publications import find_last_extended_due

#: Digits and letters that are not mistaken for each other and form no words.
_PSEUDONYM_ALPHABET = "23456789BCDFGHJKLMNPQRSTVWXZ"
#: With five characters, two of two thousand answers seldom share a pseudonym.
_PSEUDONYM_LENGTH = 5
#: The name shown for reviews by a service.
SERVICE_NAME = "a service"


def make_pseudonym(attempt_id: str) -> str:
    """The name of an attempt while its student is hidden.

    It reveals no more than the attempt's id, which is in the page's URL anyway.
    """
    number = int.from_bytes(hashlib.sha256(f"answer {attempt_id}".encode()).digest())
    name = ""
    for _ in range(_PSEUDONYM_LENGTH):
        number, place = divmod(number, len(_PSEUDONYM_ALPHABET))
        name += _PSEUDONYM_ALPHABET[place]
    return f"Answer {name}"


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """An attempt with its review tasks."""

    attempt: AttemptLine
    tasks: tuple[ReviewTask, ...]

    @property
    def pseudonym(self) -> str:
        """The attempt's name while its student is hidden."""
        return make_pseudonym(self.attempt.id)

    @property
    def is_done(self) -> bool:
        """Whether every task is reviewed."""
        return all(each.review is not None for each in self.tasks)


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """The attempts at a question that need a review, in an order that favours nobody."""

    published: PublishedAssignment
    question: str
    entries: tuple[QueueEntry, ...]

    @property
    def done(self) -> int:
        """How many attempts are reviewed."""
        return sum(each.is_done for each in self.entries)

    def find(self, attempt_id: str) -> QueueEntry | None:
        """The entry of an attempt; None for one that does not count."""
        return next((each for each in self.entries if each.attempt.id == attempt_id), None)

    def neighbours(self, attempt_id: str) -> tuple[QueueEntry | None, QueueEntry | None]:
        """The entries before and after an attempt's."""
        ids = [each.attempt.id for each in self.entries]
        if attempt_id not in ids:
            return None, None
        place = ids.index(attempt_id)
        before = self.entries[place - 1] if place else None
        return before, self.entries[place + 1] if place + 1 < len(ids) else None

    def waiting_for(self, membership: Membership, *, after: str | None = None) -> list[QueueEntry]:
        """The open attempts of others, beginning after an attempt and going round in a circle."""
        ids = [each.attempt.id for each in self.entries]
        start = ids.index(after) + 1 if after in ids else 0
        return [
            each
            for each in (*self.entries[start:], *self.entries[:start])
            if not each.is_done and not membership.owns(each.attempt.enrolment_id)
        ]


def load_queue(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    question: str,
) -> ReviewQueue:
    """The queue of a question."""
    tasks = list_review_tasks(
        session, context, membership, assignment=assignment, question=question
    )
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    return ReviewQueue(published, question, _make_entries(tasks))


def _make_entries(tasks: Iterable[ReviewTask]) -> tuple[QueueEntry, ...]:
    """The tasks by attempt, in the order of each attempt's first task."""
    by_attempt: dict[str, list[ReviewTask]] = {}
    for each in tasks:
        by_attempt.setdefault(each.attempt.id, []).append(each)
    return tuple(QueueEntry(found[0].attempt, tuple(found)) for found in by_attempt.values())


@dataclass(frozen=True, slots=True)
class CriterionProgress:
    """The reviews of one criterion: how many are open and done, and how many by each reviewer."""

    title: str
    waiting: int
    done: int
    by: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ClaimHolder:
    """Somebody who is reviewing, and when their claim ends."""

    name: str
    until: datetime


@dataclass(frozen=True, slots=True)
class QuestionProgress:
    """The progress of a question's reviews."""

    rubric: Rubric
    total: int
    done: int
    criteria: tuple[CriterionProgress, ...]
    holders: tuple[ClaimHolder, ...]


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """The progress of an assignment's reviews."""

    published: PublishedAssignment
    questions: tuple[QuestionProgress, ...]

    @property
    def waiting(self) -> int:
        """How many attempts are still to be reviewed."""
        return sum(each.total - each.done for each in self.questions)


def load_progress(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    at: datetime,
) -> ReviewProgress:
    """The progress of an assignment's reviews, for every question that people review."""
    tasks = list_review_tasks(session, context, membership, assignment=assignment)
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    claims = list_claims(session, run_id=membership.run.id, at=at)
    people = {each.review.by for each in tasks if each.review} | {each.by for each in claims}
    names = find_names(session, person_ids=people)
    questions = []
    for question in published.form.questions:
        own = [each for each in tasks if each.attempt.question == question]
        rubric = published.rubric(question)
        if own or _has_written_part(rubric):
            questions.append(_question_progress(rubric, own, claims, names))
    return ReviewProgress(published, tuple(questions))


def _has_written_part(rubric: Rubric) -> bool:
    return any(isinstance(each, TextForm | FileForm) for each in rubric.form.answer.values())


def _question_progress(
    rubric: Rubric,
    tasks: Sequence[ReviewTask],
    claims: Iterable[ClaimLine],
    names: dict[str, str],
) -> QuestionProgress:
    entries = _make_entries(tasks)
    ids = {each.attempt.id for each in entries}
    by_criterion: dict[str, list[ReviewTask]] = {}
    for each in tasks:
        by_criterion.setdefault(each.criterion, []).append(each)
    return QuestionProgress(
        rubric,
        total=len(entries),
        done=sum(each.is_done for each in entries),
        criteria=tuple(_criterion_progress(each, names) for each in by_criterion.values()),
        holders=tuple(
            ClaimHolder(names.get(each.by, SERVICE_NAME), each.until)
            for each in claims
            if each.attempt_id in ids
        ),
    )


def _criterion_progress(tasks: Sequence[ReviewTask], names: dict[str, str]) -> CriterionProgress:
    done = [each.review for each in tasks if each.review is not None]
    by = Counter(names.get(each.by, SERVICE_NAME) for each in done)
    return CriterionProgress(
        tasks[0].title, len(tasks) - len(done), len(done), tuple(by.most_common())
    )


def may_show_names(
    session: Session,
    published: PublishedAssignment,
    membership: Membership,
    *,
    waiting: int,
    at: datetime,
) -> bool:
    """Whether reviewers may see students' names.

    They may once names cannot influence a review any more: the assignment is closed for everybody,
    and none of its attempts is still to be reviewed.
    """
    if waiting:
        return False
    last = find_last_extended_due(
        session, run_id=membership.run.id, assignment=published.line.assignment
    )
    ends_at = compute_release_time(published, last)
    return ends_at is not None and at > ends_at
