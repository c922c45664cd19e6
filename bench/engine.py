"""The speed of the engine and the grade dashboard, as ratios within one run.

On a noisy machine seconds mean little. What is compared is measured in turns, and the fastest of
many turns counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table

from grader.cli.check_runs import run_checks
from grader.cli.console import JsonOption, console, print_json
from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.engine.random.variants import Variant, stack_variants
from grader.formula.formula import read_formula
from grader.reading.answer import read_answer
from grader.reading.fields import ArrayField
from grader.reading.large import evaluate_formula
from grader.rubric.catalog import Rubric, get_shipped_folder, read_rubric

if TYPE_CHECKING:
    from bench.requests import PageTiming

Array = NDArray[Any]

_QUESTION = "self-attention-and-transformers", "c-i"
_STUDENTS = 256
#: Of the query `C (mu_a + mu_b)`. The first saturates the softmax, as the model answer does, so
#: that the engine leaves out most keys; the second leaves it all of them.
_LENGTHS = (40, 20)
#: The sizes of the classes whose grades are shown.
_CLASSES = (2_000, 10_000)
#: How much longer than its SQL statements a request may take.
_MOST_RATIO = 2.0


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """One line of the table: what was measured, and the promised limit."""

    what: str
    measured: float
    promised: float
    unit: str

    @property
    def is_kept(self) -> bool:
        """Whether the promise is kept."""
        return self.measured <= self.promised


def run_benchmarks(
    turns: Annotated[int, typer.Option(min=3, help="How often to measure everything.")] = 200,
    check: Annotated[
        bool, typer.Option(help="Also time `grader check` of all shipped rubrics.")
    ] = True,
    pages: Annotated[
        bool, typer.Option(help="Also time pages and API calls, with up to 10,000 students.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Measure the speed of grading and of the grade dashboard against the promised limits.

    Exit code 0: all limits are met. 1: at least one is not.
    """
    figures = _measure_engine(turns=turns, check=check)
    if pages:
        figures += measure_pages(turns=max(3, turns // 4), with_plans=not as_json)
    if as_json:
        print_json([_to_json(figure) for figure in figures])
    else:
        _print_results(figures)
    if not all(figure.is_kept for figure in figures):
        raise typer.Exit(1)


def _measure_engine(*, turns: int, check: bool) -> list[BenchmarkResult]:
    """All figures, the quick ones first."""
    figures = []
    for keys, size, promised in ((8, 16, 1.3), (16, 64, 1.2)):
        rubric = _load_rubric(keys, size)
        for length in _LENGTHS:
            single, kernel = _time_judging(rubric, length, turns)
            batch, alone = _time_batch(rubric, length, max(3, turns // 10))
            label = f"{keys} keys x {size}, {length} long"
            figures += [
                BenchmarkResult(
                    f"judging one answer / bare kernel, {label}", single / kernel, promised, "x"
                ),
                BenchmarkResult(
                    f"one of {_STUDENTS} answers in a batch / alone, {label}",
                    batch / _STUDENTS / alone,
                    0.35,
                    "x",
                ),
            ]
    figures.append(
        BenchmarkResult("a formula read and evaluated", 1e3 * _time_formula(turns), 1.0, "ms")
    )
    figures.append(_measure_noise_memory())
    if check:
        started = time.perf_counter()
        list(run_checks(get_shipped_folder(), variants=50))
        seconds = time.perf_counter() - started
        figures.append(BenchmarkResult("check of all rubrics, 50 variants", seconds, 60.0, "s"))
    return figures


def measure_pages(
    *, turns: int, with_plans: bool, sizes: Sequence[int] = _CLASSES
) -> list[BenchmarkResult]:
    """Time pages and calls against their SQL statements; `with_plans` prints the query plans."""
    # Imported only here: the other benchmarks work without the service.
    from bench.pages import GRADES, ORDERS, QUESTIONS, open_bench_service
    from bench.reading import open_reading_service

    figures = []
    with open_reading_service() as reading:
        for name in reading.calls:
            figures += _list_page_figures(name, reading.measure(name, turns=4 * turns))
    for students in sizes:
        label = f"{students} students x {QUESTIONS}"
        with open_bench_service(students=students) as service:
            for order, query in ORDERS.items():
                measured = service.measure(GRADES + query, turns=turns)
                what = f"grades by {order}, {label}"
                figures += _list_page_figures(what, measured)
                if with_plans:
                    _print_plans(what, service.plans(GRADES + query))
    return figures


def _list_page_figures(what: str, measured: PageTiming) -> list[BenchmarkResult]:
    asked = f"{1e3 * measured.sql:.2f} ms, {measured.statements} statements"
    return [
        BenchmarkResult(f"pages: {what}", 1e3 * measured.page, 1000.0, "ms"),
        BenchmarkResult(f"pages: {what} / its SQL ({asked})", measured.ratio, _MOST_RATIO, "x"),
        BenchmarkResult(f"pages: {what}, thread hops", measured.hops, 1.0, ""),
    ]


def _print_plans(what: str, plans: dict[str, list[str]]) -> None:
    console.print(f"[bold]{what}[/]")
    for steps in plans.values():
        for step in steps:
            console.print(f"  {step}", markup=False, highlight=False)
    console.print()


def _time_fastest(*contestants: Callable[[], object], turns: int) -> list[float]:
    """The fastest turn of each, taken in turns so that a slow moment affects all alike."""
    best = [float("inf")] * len(contestants)
    for _ in range(turns):
        for place, contestant in enumerate(contestants):
            started = time.perf_counter()
            contestant()
            best[place] = min(best[place], time.perf_counter() - started)
    return best


def _load_rubric(keys: int, size: int) -> Rubric:
    """The shipped question on noisy keys, at another size."""
    assignment, question = _QUESTION
    path = get_shipped_folder() / assignment / f"{question}.yaml"
    text = path.read_text(encoding="utf-8")
    text = text.replace("\n  n: 8\n", f"\n  n: {keys}\n").replace("\n  d: 16\n", f"\n  d: {size}\n")
    return read_rubric(text, path=Path(path.name), assignment=assignment, earlier={})


def _make_answer(variant: Variant, length: float) -> dict[str, list[float]]:
    means = variant.values["mu"]
    query = length * (means[variant.indices["a"]] + means[variant.indices["b"]])
    return {"q": query.tolist()}


def _time_judging(rubric: Rubric, length: float, turns: int) -> tuple[float, float]:
    """Seconds to read and judge one numeric answer, and seconds of the bare kernel."""
    judge = Judge(rubric.question, DEVELOPMENT_KEYS)
    variant = judge.variant("bench")
    drawn = stack_variants([variant])
    sent = _make_answer(variant, length)

    def whole() -> None:
        answer = read_answer(sent, rubric.question.fields, drawn)
        judge.judge([Submission(variant, answer)])

    keys, size = variant.values["mu"].shape
    noise = judge.context.source(0, 2000).normals("k", (keys, size))
    built = variant.values["mu"] + 1e-6 * noise.swapaxes(0, 1)
    kernel = _make_kernel(np.ascontiguousarray(built), variant.values["v"], np.array(sent["q"]))
    single, bare = _time_fastest(whole, kernel, turns=turns)
    return single, bare


def _make_kernel(keys: Array, values: Array, query: Array) -> Callable[[], Array]:
    """The minimum: one matrix product, softmax, one matrix product."""
    sets, count, size = keys.shape
    flat = keys.reshape(sets * count, size)

    def run() -> Array:
        scores = (flat @ query).reshape(sets, count)
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return np.asarray(scores @ values)

    return run


def _time_batch(rubric: Rubric, length: float, turns: int) -> tuple[float, float]:
    """Seconds to read and judge the answers of many students, each on its own variant, and of one.

    The one is measured beside the batch: a moment ago the machine may have been faster.
    """
    judge = Judge(rubric.question, DEVELOPMENT_KEYS)
    variants = [judge.variant(f"student-{number}") for number in range(_STUDENTS)]
    sent = [
        (variant, _make_answer(variant, length), stack_variants([variant])) for variant in variants
    ]

    def read_and_judge(count: int) -> None:
        judge.judge(
            [
                Submission(variant, read_answer(answer, rubric.question.fields, drawn))
                for variant, answer, drawn in sent[:count]
            ]
        )

    # The first one alone finds the caches full of the batch.
    batch, *alone = _time_fastest(
        lambda: read_and_judge(_STUDENTS), *[lambda: read_and_judge(1)] * 8, turns=turns
    )
    return batch, min(alone)


def _time_formula(turns: int) -> float:
    """Seconds to read a formula and evaluate it once."""
    rubric = _load_rubric(8, 16)
    (field, *_) = rubric.question.fields
    assert isinstance(field, ArrayField), "the first field is the query"
    drawn = stack_variants([Judge(rubric.question, DEVELOPMENT_KEYS).variant("bench")])
    text = r"q = \log(t)\left(\mu_a + \mu_{b}\right) where t = 10^{12}"
    scope = field.scope

    def whole() -> None:
        evaluate_formula(read_formula(text, scope, named="q"), drawn, {})

    return _time_fastest(whole, turns=turns)[0]


def _measure_noise_memory() -> BenchmarkResult:
    """Noise cached after judging many students, compared with the limit."""
    rubric = _load_rubric(8, 16)
    judge = Judge(rubric.question, DEVELOPMENT_KEYS)
    for number in range(20):
        variant = judge.variant(f"student-{number}")
        answer = read_answer(
            _make_answer(variant, 40), rubric.question.fields, stack_variants([variant])
        )
        judge.judge([Submission(variant, answer)])
    mebi = 1024 * 1024
    return BenchmarkResult(
        "noise cached for 20 students",
        judge.bank.cached_bytes / mebi,
        judge.bank.max_bytes / mebi,
        "MiB",
    )


def _print_results(figures: list[BenchmarkResult]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("what")
    table.add_column("measured", justify="right")
    table.add_column("at most", justify="right")
    table.add_column("")
    for figure in figures:
        word = "[green]kept[/]" if figure.is_kept else "[red]missed[/]"
        table.add_row(
            figure.what,
            f"{figure.measured:.2f} {figure.unit}",
            f"{figure.promised:g} {figure.unit}",
            word,
        )
    console.print(table)


def _to_json(figure: BenchmarkResult) -> dict[str, object]:
    return {
        "what": figure.what,
        "measured": round(figure.measured, 4),
        "promised": figure.promised,
        "unit": figure.unit,
        "kept": figure.is_kept,
    }
