"""What a kind of job consists of: phases one after the other, each of pieces in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grader.grading.context import GradingContext
from grader.store.database import Session
from grader.store.queries.jobs import JobLine


@dataclass(frozen=True, slots=True)
class Task:
    """What the steps of a job are given: what grading keeps in memory, the job, and the time."""

    context: GradingContext
    job: JobLine
    at: datetime


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of a job.

    Parameters
    ----------
    plan
        The contents of all pieces, plain data each; it reads only.
    work
        What comes of a piece; it reads only, and may be called again for the same piece.
    store
        Stores what came of a piece, in the transaction that removes the piece.
    count
        How many things a piece is about, for the progress.
    give_up
        Notes that a piece of one thing ends every worker that tries it.
    """

    name: str
    plan: Callable[[Session, Task], Sequence[Any]]
    work: Callable[[Session, Task, Any], Any]
    store: Callable[[Session, Task, Any], None]
    count: Callable[[Any], int]
    give_up: Callable[[Session, Task, Any], None] | None = None


@dataclass(frozen=True, slots=True)
class JobPlan:
    """The phases of a kind of job, and what is done after the last one."""

    phases: Sequence[Phase]
    finish: Callable[[Session, Task], None]

    def get_phase(self, name: str) -> Phase:
        """A phase by its name; the first one where none has begun."""
        return next((each for each in self.phases if each.name == name), self.phases[0])

    def find_next(self, name: str) -> Phase | None:
        """The phase after another one; None after the last."""
        place = self.phases.index(self.get_phase(name)) + 1
        return self.phases[place] if place < len(self.phases) else None
