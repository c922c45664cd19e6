"""Drill-down: the attempts behind a figure of question analytics."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from heapq import nsmallest

from grader.accounts.callers import Membership
from grader.domain.behaviour import Traits, build_traits, hash_traits
from grader.domain.roles import Role
from grader.grading.analytics.tallies import is_unexplained, is_unsolved
from grader.grading.context import GradingContext
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.insights import (
    AttemptOutcomeLine,
    list_students,
    stream_attempt_outcomes,
)
from grader.store.queries.rosters import find_names_by_enrolment
from grader.store.types import to_points


@dataclass(frozen=True, slots=True)
class AttemptFilter:
    """Which attempts at a question: those that meet all conditions given; by default all.

    `group` is the key of a behaviour group; `outcome` is that of `criterion`.
    """

    misconception: str | None = None
    group: str | None = None
    criterion: str | None = None
    outcome: str | None = None
    is_first: bool = False
    is_unsolved: bool = False
    needs_person: bool = False

    def matches(self, line: AttemptOutcomeLine) -> bool:
        """Whether an attempt meets all conditions."""
        return (
            (not self.is_first or line.number == 1)
            and (not self.is_unsolved or is_unsolved(line))
            and (not self.needs_person or line.needs_person)
            and (self.misconception is None or self._shows_misconception(line))
            and (self.group is None or self._is_in_group(line))
            and (self.criterion is None or self._has_outcome(line))
        )

    def _shows_misconception(self, line: AttemptOutcomeLine) -> bool:
        return any(each["id"] == self.misconception for each in line.misconceptions)

    def _is_in_group(self, line: AttemptOutcomeLine) -> bool:
        return is_unexplained(line) and hash_traits(build_traits(line.verdicts)) == self.group

    def _has_outcome(self, line: AttemptOutcomeLine) -> bool:
        return any(
            each["criterion"] == self.criterion and self.outcome in (None, each["outcome"])
            for each in line.verdicts
        )


@dataclass(frozen=True, slots=True)
class ListedAttempt:
    """An attempt with its student; points are the automatic ones."""

    id: str
    student: str
    name: str
    number: int
    received_at: datetime
    points: Decimal
    possible: Decimal

    @property
    def place(self) -> tuple[str, str]:
        """The attempt's place in the list, after which the next page begins."""
        return self.received_at.isoformat(), self.id


@dataclass(frozen=True, slots=True)
class AttemptPage:
    """A page of attempts, the earliest first; `count` and `students` are those of all pages.

    `traits` are those of the behaviour group, if the filter names one.
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
    condition: AttemptFilter,
    after: tuple[str, str] | None,
    limit: int,
) -> AttemptPage:
    """The students' attempts at a question that meet a condition, `limit` at most.

    Raises
    ------
    NotFound
        If the course run has no such assignment, or the assignment no such question.
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
        if line.enrolment_id in students and condition.matches(line)
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
            to_points(line.awarded),
            to_points(line.possible - line.pending),
        )
        for line in lines
    )
    owners = {line.enrolment_id for line in found}
    has_more = len(left) > len(lines)
    traits = build_traits(found[0].verdicts) if found and condition.group is not None else ()
    return AttemptPage(rubric, rows, len(found), len(owners), has_more, traits)


def _sort_key(line: AttemptOutcomeLine) -> tuple[str, str]:
    return line.received_at.isoformat(), line.attempt_id
