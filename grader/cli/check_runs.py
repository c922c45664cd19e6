"""Rubrics checked in several processes: first their examples, then changes they should notice."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.errors import OperatorError
from grader.rubric.catalog import Catalog, Rubric, load_catalog
from grader.rubric.examples import Failure, Mutant, is_noticed, list_mutants, run_examples


@dataclass(frozen=True, slots=True)
class QuestionCheck:
    """How one question came out."""

    question: str
    examples: int
    variants: int
    failures: tuple[Failure, ...]
    mutants: int
    unnoticed: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether there are examples, all came out as they say, and every mutant was noticed."""
        return bool(self.examples) and not self.failures and not self.unnoticed


@dataclass(frozen=True, slots=True)
class CheckStep:
    """What was just done."""

    question: str
    what: str


@dataclass(frozen=True, slots=True)
class _Job:
    """What one process does at once: the examples of a question, or one of its mutants."""

    question: str
    mutant: int | None = None


@dataclass(frozen=True, slots=True)
class _JobResult:
    unit: _Job
    failures: tuple[Failure, ...] = ()
    change: str = ""
    is_noticed: bool = True


@cache
def load_folder(folder: Path) -> Catalog:
    """The catalog of a folder, loaded once in each process."""
    return load_catalog(folder)


def count_steps(folder: Path, *, wanted: str | None = None, mutate: bool = False) -> int:
    """How many steps there are at most: fewer, where examples fail."""
    return sum(
        1 + (len(_list_mutants(each)) if mutate else 0) for each in _list_rubrics(folder, wanted)
    )


def run_checks(
    folder: Path,
    *,
    variants: int,
    wanted: str | None = None,
    mutate: bool = False,
    workers: int | None = None,
    tell: Callable[[CheckStep], None] = lambda _: None,
) -> list[QuestionCheck]:
    """Check the questions of a folder, or the one that is wanted, in several processes.

    Mutants of a question whose examples fail are left out: they would all be noticed.
    """
    rubrics = _list_rubrics(folder, wanted)
    failures: dict[str, tuple[Failure, ...]] = {}
    # The longest ones first, so that no process is left alone with one at the end.
    units = [_Job(rubric.id) for rubric in sorted(rubrics, key=_estimate_effort, reverse=True)]
    # Closed at once when somebody stops it, or its processes would go on to the end.
    with closing(_run_jobs(folder, units, variants, workers)) as results:
        for done in results:
            failures[done.unit.question] = done.failures
            tell(CheckStep(done.unit.question, "examples"))
    sound = [rubric for rubric in rubrics if mutate and not failures[rubric.id]]
    mutants = [
        _Job(rubric.id, place) for rubric in sound for place in range(len(_list_mutants(rubric)))
    ]
    unnoticed: dict[str, list[str]] = {rubric.id: [] for rubric in rubrics}
    with closing(_run_jobs(folder, mutants, variants, workers)) as results:
        for done in results:
            if not done.is_noticed:
                unnoticed[done.unit.question].append(done.change)
            tell(CheckStep(done.unit.question, done.change))
    return [
        QuestionCheck(
            rubric.id,
            len(rubric.form.examples),
            variants,
            failures[rubric.id],
            sum(unit.question == rubric.id for unit in mutants),
            tuple(sorted(unnoticed[rubric.id])),
        )
        for rubric in rubrics
    ]


def _list_rubrics(folder: Path, wanted: str | None) -> list[Rubric]:
    return [each for each in load_folder(folder).rubrics() if wanted in (None, each.id)]


def _list_mutants(rubric: Rubric) -> list[Mutant]:
    return list(list_mutants(rubric.question))


def _estimate_effort(rubric: Rubric) -> int:
    sets = rubric.question.key_sets.counts[0] if rubric.question.key_sets else 1
    return sets * len(rubric.form.examples)


def _run_job(folder: Path, unit: _Job, variants: int) -> _JobResult:
    rubric = load_folder(folder).get_rubric(unit.question)
    if unit.mutant is None:
        outcomes = run_examples(rubric, variants=variants)
        return _JobResult(unit, tuple(failure for outcome in outcomes for failure in outcome))
    mutant = _list_mutants(rubric)[unit.mutant]
    return _JobResult(unit, change=mutant.change, is_noticed=is_noticed(rubric, mutant))


def _run_jobs(
    folder: Path, units: Sequence[_Job], variants: int, workers: int | None
) -> Generator[_JobResult, None, None]:
    """Run units in processes of their own; as they are done, in any order."""
    processes = min(workers or _count_cores(), len(units))
    if processes <= 1:
        yield from (_run_job(folder, unit, variants) for unit in units)
        return
    pool = ProcessPoolExecutor(processes, initializer=_start_worker)
    before = signal.signal(signal.SIGTERM, _exit_on_signal)
    try:
        with _delay_interrupts():
            waiting = [pool.submit(_run_job, folder, unit, variants) for unit in units]
        yield from (done.result() for done in as_completed(waiting))
    except BrokenProcessPool:
        raise OperatorError(
            "A process ended before its work was done, perhaps for want of memory. "
            "Try again with --workers 1."
        ) from None
    except BaseException:
        # Nobody waits for the rest any more, and they have nothing to finish.
        for process in multiprocessing.active_children():
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _delay_interrupts() -> Iterator[None]:
    """Put off Ctrl-C until the end: a pool that is half started can neither go on nor be ended."""
    caught: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: caught.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if caught:
        raise KeyboardInterrupt


def _exit_on_signal(number: int, _: object) -> None:
    """End by an exception, so that no process is left behind."""
    sys.exit(128 + number)


def _start_worker() -> None:
    # Ctrl-C reaches every process of the terminal; the first one decides for all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _count_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
