"""`grader check`: whether rubrics are sound and their examples come out as they say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from grader.cli.options import JsonOption, console, print_json
from grader.errors import OperatorError
from grader.rubric.catalog import Catalog, Rubric, load_catalog, shipped_folder
from grader.rubric.examples import Failure, is_noticed, list_mutants, run_examples


@dataclass(frozen=True, slots=True)
class Checked:
    """How one question came out."""

    question: str
    examples: int
    variants: int
    failures: tuple[Failure, ...]
    mutants: int
    unnoticed: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether every example came out as it says, and every mutant was noticed."""
        return not self.failures and not self.unnoticed


def check(
    path: Annotated[
        Path | None,
        typer.Argument(help="A folder of assignments, one assignment or one question's file."),
    ] = None,
    variants: Annotated[
        int, typer.Option(min=1, max=10_000, help="On how many variants each example is tried.")
    ] = 50,
    mutate: Annotated[
        bool, typer.Option("--mutate", help="Also change each rubric a little: is it noticed?")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="How many processes work at once; one for each core."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Validate rubrics and run their examples on many variants.

    Exit code 0: all is sound. 1: an example fails or a mutant goes unnoticed. 4: a file is broken.
    """
    folder, wanted = _resolve(path)
    total = sum(wanted in (None, rubric.id) for rubric in _load(folder).rubrics())
    results = []
    with _progress(quiet=as_json) as progress:
        task = progress.add_task("checking", total=total)
        for result in run_checks(
            folder, wanted=wanted, variants=variants, mutate=mutate, workers=workers
        ):
            results.append(result)
            progress.update(task, advance=1, description=result.question)
    order = [rubric.id for rubric in _load(folder).rubrics()]
    results.sort(key=lambda result: order.index(result.question))
    _report(results, as_json=as_json, mutate=mutate)
    if not all(result.is_sound for result in results):
        raise typer.Exit(1)


def _resolve(path: Path | None) -> tuple[Path, str | None]:
    """The folder to load and the one question wanted of it, if only one is."""
    if path is None:
        return shipped_folder(), None
    if path.is_file():
        if path.name == "assignment.yaml":
            return path.parent, None
        if not (path.parent / "assignment.yaml").is_file():
            raise OperatorError(f"There is no assignment.yaml beside {path.name}.")
        return path.parent, f"{path.resolve().parent.name}/{path.stem}"
    return path, None


@cache
def _load(folder: Path) -> Catalog:
    return load_catalog(folder)


def run_checks(
    folder: Path,
    *,
    variants: int,
    wanted: str | None = None,
    mutate: bool = False,
    workers: int | None = None,
) -> Iterator[Checked]:
    """Check the questions of a folder, or the one that is wanted, in several processes."""
    # The longest ones first, so that no process is left alone with one at the end.
    rubrics = [rubric for rubric in _load(folder).rubrics() if wanted in (None, rubric.id)]
    rubrics.sort(key=_effort, reverse=True)
    names = [rubric.id for rubric in rubrics]
    processes = min(workers or len(os.sched_getaffinity(0)), max(len(names), 1))
    if processes == 1:
        for name in names:
            yield _check_one(folder, name, variants, mutate)
        return
    with ProcessPoolExecutor(processes) as pool:
        waiting = [pool.submit(_check_one, folder, name, variants, mutate) for name in names]
        for done in as_completed(waiting):
            yield done.result()


def _effort(rubric: Rubric) -> int:
    sets = rubric.question.key_sets.counts[0] if rubric.question.key_sets else 1
    return sets * len(rubric.form.examples)


def _check_one(folder: Path, name: str, variants: int, mutate: bool) -> Checked:
    rubric = _load(folder).get_rubric(name)
    outcomes = list(run_examples(rubric, variants=variants))
    failures = tuple(failure for outcome in outcomes for failure in outcome)
    mutants = list(list_mutants(rubric.question)) if mutate and not failures else []
    unnoticed = tuple(mutant.change for mutant in mutants if not is_noticed(rubric, mutant))
    return Checked(name, len(outcomes), variants, failures, len(mutants), unnoticed)


def _progress(*, quiet: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )


def _report(results: list[Checked], *, as_json: bool, mutate: bool) -> None:
    if as_json:
        print_json([_as_data(result) for result in results])
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("question", "examples", "variants", *(["mutants"] * mutate), ""):
        table.add_column(heading, justify="left" if heading in ("question", "") else "right")
    for result in results:
        mutants = [f"{result.mutants}"] if mutate else []
        word = "[green]sound[/]" if result.is_sound else "[red]not sound[/]"
        table.add_row(result.question, f"{result.examples}", f"{result.variants}", *mutants, word)
    console.print(table)
    for result in results:
        _tell_faults(result)
    sound = sum(result.is_sound for result in results)
    console.print(f"{sound} of {len(results)} questions are sound.")


def _tell_faults(result: Checked) -> None:
    by_example: dict[str, list[Failure]] = {}
    for failure in result.failures:
        by_example.setdefault(failure.example, []).append(failure)
    for example, failures in by_example.items():
        console.print(
            f"{result.question}, example {example!r}: {failures[0].message} "
            f"(on {len(failures)} of {result.variants} variants, first on {failures[0].variant})",
            markup=False,
            soft_wrap=True,
        )
    for change in result.unnoticed:
        console.print(f"{result.question}: no example notices: {change}", markup=False)


def _as_data(result: Checked) -> dict[str, object]:
    return {
        "question": result.question,
        "sound": result.is_sound,
        "examples": result.examples,
        "variants": result.variants,
        "mutants": result.mutants,
        "unnoticed": list(result.unnoticed),
        "failures": [
            {"example": each.example, "variant": each.variant, "message": each.message}
            for each in result.failures
        ],
    }
