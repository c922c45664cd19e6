"""Check rubrics in several processes: first their examples, then mutants of the rubrics."""

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
from grader.rubric.attack import AttackResult, run_attacks
from grader.rubric.catalog import Catalog, Rubric, load_catalog
from grader.rubric.examples import Failure, Mutant, is_noticed, list_mutants, run_examples


@dataclass(frozen=True, slots=True)
class QuestionCheck:
    """The result of checking one question."""

    question: str
    examples: int
    variants: int
    failures: tuple[Failure, ...]
    mutants: int
    unnoticed: tuple[str, ...]
    attacks: tuple[AttackResult, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether examples exist, pass and notice every mutant, and no attack shows a problem."""
        has_problems = any(True for each in self.attacks for _ in each.list_problems())
        return bool(self.examples) and not (self.failures or self.unnoticed or has_problems)


@dataclass(frozen=True, slots=True)
class _Job:
    """What a process does at a time: the examples of a question, a mutant of it, or attacks."""

    question: str
    mutant: int | None = None
    is_attack: bool = False


@dataclass(frozen=True, slots=True)
class _JobResult:
    job: _Job
    failures: tuple[Failure, ...] = ()
    change: str = ""
    is_noticed: bool = True
    attacks: tuple[AttackResult, ...] = ()


@cache
def load_folder(folder: Path) -> Catalog:
    """Load the rubrics in a folder, once per process."""
    return load_catalog(folder)


def count_steps(
    folder: Path, *, question: str | None = None, mutate: bool = False, attack: bool = False
) -> int:
    """Return the maximum number of steps; mutants of a question whose examples fail are skipped."""
    return sum(
        1 + attack + (len(_list_mutants(each)) if mutate else 0)
        for each in _list_rubrics(folder, question)
    )


def run_checks(
    folder: Path,
    *,
    variants: int,
    question: str | None = None,
    mutate: bool = False,
    attack: bool = False,
    workers: int | None = None,
    report: Callable[[str, str], None] = lambda _question, _step: None,
) -> list[QuestionCheck]:
    """Check the questions in a folder, or only one of them.

    A question whose examples fail is neither mutated nor attacked: the examples would fail on all
    of its mutants, and its model answer is not known to be right.
    `report` is called after each step with the question and the step.
    """
    rubrics = _list_rubrics(folder, question)
    failures: dict[str, tuple[Failure, ...]] = {}
    # Long jobs first, so that none is left for the end, when the other processes are idle.
    jobs = [_Job(rubric.id) for rubric in sorted(rubrics, key=_estimate_effort, reverse=True)]
    # Closed when the command is interrupted; otherwise the processes would run to the end.
    with closing(_run_jobs(folder, jobs, variants, workers)) as results:
        for done in results:
            failures[done.job.question] = done.failures
            report(done.job.question, "examples")
    sound = [rubric for rubric in rubrics if not failures[rubric.id]]
    mutants = [
        _Job(rubric.id, index)
        for rubric in sound
        if mutate
        for index in range(len(_list_mutants(rubric)))
    ]
    attacks: dict[str, tuple[AttackResult, ...]] = {}
    attacked = [_Job(rubric.id, is_attack=True) for rubric in sound if attack]
    with closing(_run_jobs(folder, attacked, variants, workers)) as results:
        for done in results:
            attacks[done.job.question] = done.attacks
            report(done.job.question, "attacks")
    unnoticed: dict[str, list[str]] = {rubric.id: [] for rubric in rubrics}
    with closing(_run_jobs(folder, mutants, variants, workers)) as results:
        for done in results:
            if not done.is_noticed:
                unnoticed[done.job.question].append(done.change)
            report(done.job.question, done.change)
    return [
        QuestionCheck(
            rubric.id,
            len(rubric.form.examples),
            variants,
            failures[rubric.id],
            sum(job.question == rubric.id for job in mutants),
            tuple(sorted(unnoticed[rubric.id])),
            attacks.get(rubric.id, ()),
        )
        for rubric in rubrics
    ]


def _list_rubrics(folder: Path, question: str | None) -> list[Rubric]:
    return [each for each in load_folder(folder).rubrics() if question in (None, each.id)]


def _list_mutants(rubric: Rubric) -> list[Mutant]:
    return list(list_mutants(rubric.question))


def _estimate_effort(rubric: Rubric) -> int:
    sets = rubric.question.key_sets.counts[0] if rubric.question.key_sets else 1
    return sets * len(rubric.form.examples)


def _run_job(folder: Path, job: _Job, variants: int) -> _JobResult:
    rubric = load_folder(folder).get_rubric(job.question)
    if job.is_attack:
        return _JobResult(job, attacks=tuple(run_attacks(rubric, variants=variants)))
    if job.mutant is None:
        outcomes = run_examples(rubric, variants=variants)
        return _JobResult(job, tuple(failure for outcome in outcomes for failure in outcome))
    mutant = _list_mutants(rubric)[job.mutant]
    return _JobResult(job, change=mutant.change, is_noticed=is_noticed(rubric, mutant))


def _run_jobs(
    folder: Path, jobs: Sequence[_Job], variants: int, workers: int | None
) -> Generator[_JobResult, None, None]:
    """Run jobs in worker processes and yield each result as it arrives."""
    processes = min(workers or _count_cores(), len(jobs))
    if processes <= 1:
        yield from (_run_job(folder, job, variants) for job in jobs)
        return
    pool = ProcessPoolExecutor(processes, initializer=_start_worker)
    before = signal.signal(signal.SIGTERM, _exit_on_signal)
    try:
        with _delay_signals():
            waiting = [pool.submit(_run_job, folder, job, variants) for job in jobs]
        yield from (done.result() for done in as_completed(waiting))
    except BrokenProcessPool:
        raise OperatorError(
            "A worker process was killed, perhaps because memory ran out. "
            "Try again with --workers 1."
        ) from None
    except BaseException:
        # No result is needed any more, and the workers have nothing to clean up.
        for process in multiprocessing.active_children():
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _delay_signals() -> Iterator[None]:
    """Delay Ctrl-C and a kill until the block ends: a half-started pool cannot be stopped.

    While a process is forked, Python would even drop the exception that a handler raises.
    """
    caught: list[int] = []
    before = {
        number: signal.signal(number, lambda each, _: caught.append(each))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if signal.SIGTERM in caught:
        _exit_on_signal(signal.SIGTERM, None)
    if caught:
        raise KeyboardInterrupt


def _exit_on_signal(number: int, _: object) -> None:
    """Exit by an exception, so that the workers are stopped."""
    sys.exit(128 + number)


def _start_worker() -> None:
    # Ctrl-C reaches every process of the terminal; the main process handles it for all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
