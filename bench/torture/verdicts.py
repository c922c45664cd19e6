"""Borderline answers, judged again and again: the verdict is always the same.

An answer is borderline if a number in it cannot be changed by less without another verdict: it is
found by bisection, offline, down to neighbouring floating-point numbers. Such answers are judged in
random batches, in processes with one and with several threads for matrices, by `grader grade`, and
by the service on both databases. The digest of verdicts must be that of the answer judged alone.
"""

from __future__ import annotations

import asyncio
import json
import math
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from bench.load.databases import KINDS
from bench.load.generators import make_message
from bench.load.students import ASSIGNMENT, QUESTION, Student
from bench.torture.connections import Connection
from bench.torture.results import CampaignResult
from bench.torture.stores import TortureStore, open_store
from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge
from grader.engine.random.streams import DEVELOPMENT_KEYS, DEVELOPMENT_SECRET
from grader.engine.random.variants import Variant
from grader.feedback.receipt import hash_verdicts
from grader.rubric.catalog import get_shipped_folder, load_catalog

#: The students of answers that are judged offline.
_STUDENTS = ("ada", "grace")
_SCANNED = 40
#: How many numbers on both sides of a border are sent.
_NEIGHBOURS = 10
_MAX_BATCH_SIZE = 128
_REPEATS_PER_PROCESS = 20_000
_CONNECTIONS = 16
#: Which share of processes uses all cores for matrices, as the service does by default.
_THREADED_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class VerdictPlan:
    """How often to judge offline, and how many students send their answers by HTTP."""

    repeats: int
    students: int
    seed: int
    evidence: Path
    families: Sequence[str] = ("exact", "matrix", "numbers", "formula", "prediction")
    commands: int = 8


class Family(NamedTuple):
    """Answers to one question that differ in one number, between two bounds."""

    assignment: str
    question: str
    low: float
    high: float
    make_answer: Callable[[Variant, float], dict[str, Any]]
    weight: float
    """How often it is chosen: what takes longer to judge is judged less often."""


def _make_numbers(variant: Variant, scale: float) -> dict[str, Any]:
    means, chosen = variant.values["mu"], variant.indices
    return {"q": (scale * (means[chosen["a"]] + means[chosen["b"]])).tolist()}


def _make_formula(_: Variant, scale: float) -> dict[str, Any]:
    return {"q": f"{scale!r} (mu_a + mu_b)"}


def _make_prediction(_: Variant, number: float) -> dict[str, Any]:
    return {
        "share_near_average": 0.01, "share_nearer_b": 1, "variance": number, "spread_ratio": 0,
    }  # fmt: skip


def _make_exact(variant: Variant, scale: float) -> dict[str, Any]:
    keys, chosen = variant.values["k"], variant.indices
    return {"q": (scale * (keys[chosen["a"]] + keys[chosen["b"]])).tolist()}


def _make_matrix(variant: Variant, scale: float) -> dict[str, Any]:
    basis = variant.values["A"]
    return {"M": (scale * basis @ basis.T).tolist()}


#: What is decided without key sets, where the last bit of a measure is all that could differ; the
#: same measures of a query as numbers and as a formula; and a prediction of a sampled number.
FAMILIES = {
    "exact": Family("attention-exploration", "3b", 1, 60, _make_exact, 0.35),
    "matrix": Family(ASSIGNMENT, "b-i", 1, 1.2, _make_matrix, 0.3),
    "numbers": Family(ASSIGNMENT, QUESTION, 1, 60, _make_numbers, 0.32),
    "formula": Family(ASSIGNMENT, QUESTION, 1, 60, _make_formula, 0.025),
    "prediction": Family("attention-exploration", "3c-ii", 0.05, 1, _make_prediction, 0.005),
}


class BorderlineAnswer(NamedTuple):
    """An answer next to another one with another verdict."""

    family: str
    student: str
    answer: dict[str, Any]
    digest: str


@cache
def _get_judge(assignment: str, question: str) -> Judge:
    rubrics = load_catalog(get_shipped_folder()).assignments[assignment].rubrics
    return Judge(rubrics[question].question, DEVELOPMENT_KEYS)


def _get_family_judge(name: str) -> Judge:
    return _get_judge(FAMILIES[name].assignment, FAMILIES[name].question)


@cache
def list_borderline(name: str, student: str) -> Sequence[BorderlineAnswer]:
    """The answers of a family around each of its borders, for the variant of a student."""
    family, judge = FAMILIES[name], _get_family_judge(name)
    variant = judge.variant(student)

    def judge_all(numbers: Sequence[float]) -> list[str]:
        answers = [family.make_answer(variant, each) for each in numbers]
        submissions = [judge.prepare(variant, each) for each in answers]
        judgements = judge.judge(submissions, recognising=False)
        return [hash_verdicts(each.verdicts) for each in judgements]

    def judge_one(number: float) -> str:
        return judge_all([number])[0]

    scanned = [float(each) for each in np.geomspace(family.low, family.high, _SCANNED)]
    digests = judge_all(scanned)
    found = []
    for left in range(_SCANNED - 1):
        if digests[left] == digests[left + 1]:
            continue
        border = _bisect(scanned[left], scanned[left + 1], judge_one)
        for number in _list_neighbours(border):
            answer = family.make_answer(variant, number)
            found.append(BorderlineAnswer(name, student, answer, judge_one(number)))
    return found


def _bisect(low: float, high: float, judge_one: Callable[[float], str]) -> float:
    """The largest number before another verdict begins."""
    digest = judge_one(low)
    while math.nextafter(low, high) < high:
        middle = low + (high - low) / 2
        if judge_one(middle) == digest:
            low = middle
        else:
            high = middle
    return low


def _list_neighbours(border: float) -> Iterator[float]:
    number = border
    for _ in range(_NEIGHBOURS - 1):
        number = math.nextafter(number, -math.inf)
    for _ in range(2 * _NEIGHBOURS):
        yield number
        number = math.nextafter(number, math.inf)


def run_verdicts(plan: VerdictPlan, *, advance: Callable[[int], object]) -> CampaignResult:
    """Judge borderline answers in every way in which the service and its commands do."""
    result = CampaignResult("verdicts", "both")
    started, random = time.monotonic(), Random(plan.seed)
    answers = [
        each
        for name in plan.families
        for student in _STUDENTS
        for each in list_borderline(name, student)
    ]
    result.counts["borderline answers"] += len(answers)
    _judge_in_processes(plan, answers, result, advance)
    _judge_by_command(random.sample(answers, plan.commands), result)
    ids: list[str] = []
    for kind in KINDS:
        with (
            open_store(
                kind, result, evidence=plan.evidence, students=plan.students,
                secret=DEVELOPMENT_SECRET, ids=ids,
            ) as store,
            store.run_service(workers=1 if kind == "sqlite" else 2) as server,
        ):  # fmt: skip
            # The same students in both, so that their variants are the same.
            ids = [each.enrolment_id for each in store.students]
            asyncio.run(_judge_by_service(store, server.port, random, result))
    result.cycles = result.trials
    result.seconds = time.monotonic() - started
    return result


def _judge_in_processes(
    plan: VerdictPlan,
    answers: Sequence[BorderlineAnswer],
    result: CampaignResult,
    advance: Callable[[int], object],
) -> None:
    """Judge in new processes: most with one thread for matrices, some with all cores."""
    size = min(_REPEATS_PER_PROCESS, math.ceil(plan.repeats / 2))
    sizes = [min(size, plan.repeats - first) for first in range(0, plan.repeats, size)]
    cores, context = os.cpu_count() or 1, multiprocessing.get_context("spawn")
    threaded = max(1, round(_THREADED_SHARE * len(sizes)))
    for part, threads, processes in ((sizes[threaded:], 1, cores), (sizes[:threaded], cores, 1)):
        tasks = [
            _JudgingTask(answers, count, f"{plan.seed} {threads} {number}")
            for number, count in enumerate(part)
        ]
        with _environment(OPENBLAS_NUM_THREADS=str(threads)):
            for first in range(0, len(tasks), processes):
                # New processes each time; an executor that renews them by itself may hang.
                with ProcessPoolExecutor(processes, mp_context=context) as pool:
                    for count, flips in pool.map(
                        judge_repeatedly, tasks[first : first + processes]
                    ):
                        result.trials += count
                        result.findings += flips
                        advance(count)


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Give variables to the processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _JudgingTask(NamedTuple):
    """What one process judges, and the seed of its batches."""

    answers: Sequence[BorderlineAnswer]
    repeats: int
    seed: str


def judge_repeatedly(task: _JudgingTask) -> tuple[int, list[str]]:
    """Judge random batches; returns how many were judged, and those with another verdict."""
    random, count, flips = Random(task.seed), 0, list[str]()
    by_family = _group_by_family(task.answers)
    while count < task.repeats:
        (name,) = random.choices(list(by_family), [FAMILIES[each].weight for each in by_family])
        size = min(random.randint(1, _MAX_BATCH_SIZE), task.repeats - count)
        batch = random.choices(by_family[name], k=size)
        judge = _get_family_judge(name)
        submissions = [_prepare(judge, each) for each in batch]
        # Misconceptions are no part of a verdict, and take as long again.
        judgements = judge.judge(submissions, recognising=False)
        for each, judgement in zip(batch, judgements, strict=True):
            if hash_verdicts(judgement.verdicts) != each.digest:
                flips.append(f"another verdict in a batch of {size}: {each.answer}")
        count += size
    return count, flips


def _group_by_family(
    answers: Sequence[BorderlineAnswer],
) -> Mapping[str, Sequence[BorderlineAnswer]]:
    return {
        name: [each for each in answers if each.family == name]
        for name in sorted({each.family for each in answers})
    }


def _prepare(judge: Judge, answer: BorderlineAnswer) -> Submission:
    return judge.prepare(judge.variant(answer.student), answer.answer)


def _judge_by_command(answers: Sequence[BorderlineAnswer], result: CampaignResult) -> None:
    for each in answers:
        family = FAMILIES[each.family]
        command = [
            sys.executable, "-m", "grader", "grade", f"{family.assignment}/{family.question}",
            "--student", each.student, "--answer", json.dumps(each.answer), "--json",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        result.trials += 1
        result.counts["by grader grade"] += 1
        if json.loads(done.stdout)["receipt"]["verdicts"] != each.digest:
            result.findings.append(f"another verdict by grader grade: {each.answer}")


async def _judge_by_service(
    store: TortureStore, port: int, random: Random, result: CampaignResult
) -> None:
    """Send the borderline answers of every student, those of different students side by side."""
    waiting = [
        (student, each)
        for student in store.students
        for each in list_borderline("numbers", student.enrolment_id)
    ]
    random.shuffle(waiting)

    async def send_all() -> None:
        connection = await Connection.open(port)
        try:
            while waiting:
                await _send_one(store, connection, *waiting.pop(), result)
        finally:
            connection.close()

    await asyncio.gather(*(send_all() for _ in range(_CONNECTIONS)))


async def _send_one(
    store: TortureStore,
    connection: Connection,
    student: Student,
    sent: BorderlineAnswer,
    result: CampaignResult,
) -> None:
    response = await connection.ask(make_message(student.make_request_of(sent.answer)))
    result.trials += 1
    result.counts[f"by HTTP on {store.kind}"] += 1
    if response.status != 201:
        result.findings.append(f"status {response.status}: {response.body[:500]!r}")
        return
    result.acknowledged += 1
    store.note_acknowledged(response.body)
    if response.decode()["receipt"]["verdicts"] != sent.digest:
        result.findings.append(f"another verdict on {store.kind}: {sent.answer}")
