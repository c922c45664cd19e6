"""The attempts behind a number: every figure of question analytics leads to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from heapq import nsmallest

from grader.accounts.callers import Membership
from grader.domain.behaviour import Traits, build_traits, hash_traits
from grader.domain.roles import Role
from grader.grading.analytics.tallies import is_unexplained
from grader.grading.context import GradingContext
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.insights import (
    AttemptOutcomeLine,
    list_students,
    stream_attempt_outcomes,
)
from grader.store.queries.rosters import find_names_by_enrolment

_HUNDRED = Decimal(100)


@dataclass(frozen=True, slots=True)
class AttemptFilter:
    """Which attempts at a question: all that is said must hold; nothing said is all of them.

    `group` is the key of a group of behaviour; `outcome` is that of `criterion`.
    """

    misconception: str | None = None
    group: str | None = None
    criterion: str | None = None
    outcome: str | None = None
    is_first: bool = False
    is_unsolved: bool = False
    needs_person: bool = False

    def holds_for(self, line: AttemptOutcomeLine) -> bool:
        """Whether an attempt is one of those."""
        return all(claim(line) for claim in self._claims())

    def _claims(self) -> list[Callable[[AttemptOutcomeLine], bool]]:
        claims: list[Callable[[AttemptOutcomeLine], bool]] = []
        if self.is_first:
            claims.append(lambda line: line.number == 1)
        if self.is_unsolved:
            claims.append(lambda line: line.awarded < line.possible - line.pending)
        if self.needs_person:
            claims.append(lambda line: line.needs_person)
        if self.misconception is not None:
            claims.append(self._shows_misconception)
        if self.group is not None:
            claims.append(
                lambda line: (
                    is_unexplained(line) and hash_traits(build_traits(line.verdicts)) == self.group
                )
            )
        if self.criterion is not None:
            claims.append(self._came_out)
        return claims

    def _shows_misconception(self, line: AttemptOutcomeLine) -> bool:
        return any(each["id"] == self.misconception for each in line.misconceptions)

    def _came_out(self, line: AttemptOutcomeLine) -> bool:
        return any(
            each["criterion"] == self.criterion and self.outcome in (None, each["outcome"])
            for each in line.verdicts
        )


@dataclass(frozen=True, slots=True)
class ListedAttempt:
    """An attempt with whose it is; points are the automatic ones."""

    id: str
    student: str
    name: str
    number: int
    received_at: datetime
    points: Decimal
    possible: Decimal

    @property
    def place(self) -> tuple[str, str]:
        """Its place in the list, from which the next page goes on."""
        return self.received_at.isoformat(), self.id


@dataclass(frozen=True, slots=True)
class AttemptPage:
    """Some attempts behind a number, the earliest first; `count` is that of all pages.

    `traits` are those of a group that was asked for.
    """

    rubric: Rubric
    rows: tuple[ListedAttempt, ...]
    count: int
    students: int
    has_more: bool
    traits: Traits = ()


def list_filtered_attempts(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    question: str,
    wanted: AttemptFilter,
    after: tuple[str, str] | None,
    limit: int,
) -> AttemptPage:
    """The attempts of students at a question that are wanted, `limit` at most.

    Raises
    ------
    NotFound
        Where the course run has no such assignment, or the assignment no such question.
    """
    membership.need(Role.ASSISTANT)
    published = context.in_force(session, run_id=membership.run.id, assignment=assignment)
    rubric = published.rubric(question)
    students = {
        enrolment_id for enrolment_id, _ in list_students(session, run_id=membership.run.id)
    }
    found = [
        line
        for line in stream_attempt_outcomes(
            session, run_id=membership.run.id, assignment=assignment, question=question
        )
        if line.enrolment_id in students and wanted.holds_for(line)
    ]
    left = [line for line in found if after is None or _sort_key(line) > after]
    lines = nsmallest(limit, left, key=_sort_key)
    names = find_names_by_enrolment(session, enrolment_ids=[line.enrolment_id for line in lines])
    rows = tuple(
        ListedAttempt(
            line.attempt_id,
            *names[line.enrolment_id],
            line.number,
            line.received_at,
            line.awarded / _HUNDRED,
            (line.possible - line.pending) / _HUNDRED,
        )
        for line in lines
    )
    owners = {line.enrolment_id for line in found}
    has_more = len(left) > len(lines)
    traits = build_traits(found[0].verdicts) if found and wanted.group is not None else ()
    return AttemptPage(rubric, rows, len(found), len(owners), has_more, traits)


def _sort_key(line: AttemptOutcomeLine) -> tuple[str, str]:
    return line.received_at.isoformat(), line.attempt_id
