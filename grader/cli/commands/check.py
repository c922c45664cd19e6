"""`grader check`: whether rubrics are sound and their examples come out as they say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from grader.cli.check_runs import CheckStep, QuestionCheck, count_steps, load_folder, run_checks
from grader.cli.console import JsonOption, console, print_json
from grader.errors import OperatorError
from grader.rubric.catalog import Rubric, get_shipped_folder
from grader.rubric.examples import Failure

EXAMPLES = """\
[bold]Examples[/]
  grader check                                  all shipped rubrics
  grader check my-rubrics                       a folder of assignments
  grader check my-rubrics/homework-1/1a.yaml    one question
  grader check my-rubrics --variants 5          quickly
  grader check my-rubrics --mutate              are the examples strict enough?

Exit code 0: all is sound. 1: an example fails, or a change goes unnoticed.
4: a file is broken.
"""


PathArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="PATH",
        help="A folder of assignments, one assignment or one question's file; "
        "without it, the shipped rubrics.",
    ),
]
VariantsOption = Annotated[
    int,
    typer.Option(
        min=1, max=10_000, metavar="N", help="On how many variants each example is tried."
    ),
]
MutateOption = Annotated[
    bool,
    typer.Option(
        "--mutate",
        metavar="",
        help="Also change each tolerance and criterion: does an example notice?",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=64,
        metavar="N",
        help="How many processes work at once; without it, one for each core.",
    ),
]


def check(
    path: PathArgument = None,
    variants: VariantsOption = 50,
    mutate: MutateOption = False,
    workers: WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Validate rubrics and run their examples on many variants."""
    folder, wanted = _resolve(path)
    rubrics = {rubric.id: rubric for rubric in load_folder(folder).rubrics()}
    with _make_progress() as progress:
        total = count_steps(folder, wanted=wanted, mutate=mutate)
        task = progress.add_task("reading", total=total)

        def tell(step: CheckStep) -> None:
            progress.update(task, advance=1, description=f"{step.question}: {step.what}")

        results = run_checks(
            folder, wanted=wanted, variants=variants, mutate=mutate, workers=workers, tell=tell
        )
    if as_json:
        print_json([_as_data(result) for result in results])
    else:
        _print_results(results, rubrics, mutate=mutate)
    if not all(result.is_sound for result in results):
        raise typer.Exit(1)


def _resolve(path: Path | None) -> tuple[Path, str | None]:
    """The folder to load and the one question wanted of it, if only one is."""
    if path is None:
        return get_shipped_folder(), None
    full = path.resolve()
    if not full.exists():
        raise OperatorError(f"There is no file or folder {path}.")
    if not full.is_file():
        return full, None
    folder = full.parent
    if full.name == "assignment.yaml":
        return folder, None
    if full.suffix != ".yaml":
        raise OperatorError(f"{path} is no rubric: its name does not end in .yaml.")
    if not (folder / "assignment.yaml").is_file():
        raise OperatorError(
            f"There is no assignment.yaml beside {path}; a question is checked as part of one."
        )
    return folder, f"{folder.name}/{full.stem}"


def _make_progress() -> Progress:
    # On standard error, so that it is seen also where the result goes into a file.
    terminal = Console(stderr=True)
    return Progress(
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
        console=terminal,
        transient=True,
        disable=not terminal.is_terminal or terminal.is_dumb_terminal,
    )


def _print_results(
    results: list[QuestionCheck], rubrics: dict[str, Rubric], *, mutate: bool
) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("question", "examples", "variants", *(["changes"] * mutate), ""):
        table.add_column(heading, justify="left" if heading in ("question", "") else "right")
    for result in results:
        mutants = [f"{result.mutants}"] if mutate else []
        word = "[green]sound[/]" if result.is_sound else "[red]not sound[/]"
        table.add_row(result.question, f"{result.examples}", f"{result.variants}", *mutants, word)
    console.print(table)
    for result in results:
        _print_failures(result, rubrics[result.question], mutate=mutate)
    sound = sum(result.is_sound for result in results)
    if len(results) == 1:
        console.print(f"\nThe question is {'sound' if sound else 'not sound'}.")
    else:
        console.print(f"\n{sound} of {len(results)} questions are sound.")


def _print_failures(result: QuestionCheck, rubric: Rubric, *, mutate: bool) -> None:
    by_example: dict[str, list[Failure]] = {}
    for failure in result.failures:
        by_example.setdefault(failure.example, []).append(failure)
    for example, failures in by_example.items():
        where = f"on {len(failures)} of {result.variants} variants"
        if len(failures) == result.variants:
            where = "on every variant"
        _print_line(
            f"{_format_location(rubric, example)}: {example}: {failures[0].message} ({where})"
        )
    if by_example and mutate:
        _print_line(f"{result.question}: not changed, because its examples fail as it is")
    if not result.examples:
        _print_line(f"{result.question}: it has no examples, so that nothing is known of it")
    for change in result.unnoticed:
        _print_line(f"{result.question}: no example notices this change: {change}")


def _format_location(rubric: Rubric, example: str) -> str:
    """Where the example stands in its file, as compilers say it."""
    names = [each.name for each in rubric.form.examples]
    place = rubric.document.places.get(("examples", names.index(example)))
    return f"{place}" if place else rubric.id


def _print_line(text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)


def _as_data(result: QuestionCheck) -> dict[str, object]:
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
