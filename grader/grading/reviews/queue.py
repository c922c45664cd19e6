"""What is to be reviewed of a question, attempt by attempt, and how far everybody has come."""

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

#: Digits and letters that are not taken for each other and make no words.
_PSEUDONYM_ALPHABET = "23456789BCDFGHJKLMNPQRSTVWXZ"
#: With five of them two of two thousand answers seldom bear the same.
_PSEUDONYM_LENGTH = 5
#: Who is no person and reviewed all the same.
SERVICE_NAME = "a service"


def make_pseudonym(attempt_id: str) -> str:
    """What an attempt is called while nobody is to know whose it is.

    It tells no more than the attempt's id, which stands in the page's address anyway.
    """
    number = int.from_bytes(hashlib.sha256(f"answer {attempt_id}".encode()).digest())
    signs = []
    for _ in range(_PSEUDONYM_LENGTH):
        number, place = divmod(number, len(_PSEUDONYM_ALPHABET))
        signs.append(_PSEUDONYM_ALPHABET[place])
    return f"Answer {''.join(signs)}"


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """An attempt with all that a person decides in it."""

    attempt: AttemptLine
    parts: tuple[ReviewTask, ...]

    @property
    def pseudonym(self) -> str:
        """What it is called here."""
        return make_pseudonym(self.attempt.id)

    @property
    def is_done(self) -> bool:
        """Whether everything in it is decided."""
        return all(each.review is not None for each in self.parts)


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """The attempts at a question that a person decides about, in an order that favours nobody."""

    published: PublishedAssignment
    question: str
    entries: tuple[QueueEntry, ...]

    @property
    def done(self) -> int:
        """How many are decided."""
        return sum(each.is_done for each in self.entries)

    def find(self, attempt_id: str) -> QueueEntry | None:
        """The entry of an attempt, where it counts."""
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
        """What waits and is not the caller's own, from an attempt on and round to it again."""
        ids = [each.attempt.id for each in self.entries]
        start = ids.index(after) + 1 if after in ids else 0
        own = membership.enrolment.id if membership.enrolment else None
        return [
            each
            for each in (*self.entries[start:], *self.entries[:start])
            if not each.is_done and each.attempt.enrolment_id != own
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
    parts = list_review_tasks(
        session, context, membership, assignment=assignment, question=question
    )
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    return ReviewQueue(published, question, _entries(parts))


def _entries(parts: Iterable[ReviewTask]) -> tuple[QueueEntry, ...]:
    """Entries in the order in which their first part comes."""
    found: dict[str, list[ReviewTask]] = {}
    for each in parts:
        found.setdefault(each.attempt.id, []).append(each)
    return tuple(QueueEntry(of_one[0].attempt, tuple(of_one)) for of_one in found.values())


@dataclass(frozen=True, slots=True)
class CriterionProgress:
    """How far the reviews of one criterion have come, and who made how many of those that hold."""

    title: str
    waiting: int
    done: int
    by: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ClaimHolder:
    """Somebody who is reviewing, and until when nobody else is offered the attempt."""

    name: str
    until: datetime


@dataclass(frozen=True, slots=True)
class QuestionProgress:
    """How far the reviews of a question have come."""

    rubric: Rubric
    total: int
    done: int
    criteria: tuple[CriterionProgress, ...]
    holders: tuple[ClaimHolder, ...]


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """How far the reviews of an assignment have come."""

    published: PublishedAssignment
    questions: tuple[QuestionProgress, ...]

    @property
    def waiting(self) -> int:
        """How many attempts wait."""
        return sum(each.total - each.done for each in self.questions)


def load_progress(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    at: datetime,
) -> ReviewProgress:
    """How far the reviews of an assignment have come, for every question that a person looks at."""
    parts = list_review_tasks(session, context, membership, assignment=assignment)
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    claims = list_claims(session, run_id=membership.run.id, at=at)
    people = {each.review.by for each in parts if each.review} | {each.by for each in claims}
    names = find_names(session, person_ids=people)
    questions = []
    for question in published.form.questions:
        own = [each for each in parts if each.attempt.question == question]
        rubric = published.rubric(question)
        if own or _has_written_part(rubric):
            questions.append(_question_progress(rubric, own, claims, names))
    return ReviewProgress(published, tuple(questions))


def _has_written_part(rubric: Rubric) -> bool:
    return any(isinstance(each, TextForm | FileForm) for each in rubric.form.answer.values())


def _question_progress(
    rubric: Rubric,
    parts: Sequence[ReviewTask],
    claims: Iterable[ClaimLine],
    names: dict[str, str],
) -> QuestionProgress:
    entries = _entries(parts)
    ids = {each.attempt.id for each in entries}
    by_criterion: dict[str, list[ReviewTask]] = {}
    for each in parts:
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


def _criterion_progress(parts: Sequence[ReviewTask], names: dict[str, str]) -> CriterionProgress:
    done = [each.review for each in parts if each.review is not None]
    by = Counter(names.get(each.by, SERVICE_NAME) for each in done)
    return CriterionProgress(
        parts[0].title, len(parts) - len(done), len(done), tuple(by.most_common())
    )


def may_show_names(
    session: Session,
    published: PublishedAssignment,
    membership: Membership,
    *,
    waiting: int,
    at: datetime,
) -> bool:
    """Whether reviewers may see whose answer it is.

    They may when nothing that they do can depend on it any more: nobody can hand in any more,
    and nothing of the assignment waits for a review.
    """
    if waiting:
        return False
    last = find_last_extended_due(
        session, run_id=membership.run.id, assignment=published.line.assignment
    )
    ends_at = compute_release_time(published, last)
    return ends_at is not None and at > ends_at
