"""`grader check`: validate rubrics and run their examples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, assert_never

import typer
from rich.table import Table

from grader.cli.check_runs import QuestionCheck, count_steps, load_folder, run_checks
from grader.cli.console import (
    ExitCode,
    JsonOption,
    console,
    make_progress,
    print_json,
    print_line,
    select_fields,
)
from grader.errors import OperatorError
from grader.rubric.attack import AttackResult, Problem
from grader.rubric.catalog import Rubric, get_shipped_folder
from grader.rubric.examples import Failure

EXAMPLES = """\
[bold]Examples[/]
  grader check                                  all shipped rubrics
  grader check my-rubrics                       a folder of assignments
  grader check my-rubrics/homework-1/1a.yaml    one question
  grader check my-rubrics --variants 5          faster, on fewer variants
  grader check my-rubrics --mutate              check that the examples are strict enough
  grader check my-rubrics --attack              look for wrong answers that earn full marks

Exit code 0: all questions are sound. 1: an example fails, no example notices a change, or an
attack shows a problem.
4: a file has errors.
"""


PathArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="PATH",
        help="A folder of assignments, an assignment or a question's file; "
        "by default the shipped rubrics.",
    ),
]
VariantsOption = Annotated[
    int,
    typer.Option(
        min=1, max=10_000, metavar="N", help="The number of variants to run each example on."
    ),
]
MutateOption = Annotated[
    bool,
    typer.Option(
        "--mutate",
        metavar="",
        help="Also change each tolerance and criterion, and check that an example fails.",
    ),
]
AttackOption = Annotated[
    bool,
    typer.Option(
        "--attack",
        metavar="",
        help="Also derive hostile answers from the model answer, and list what earns too much, "
        "loses by rounding or stays undecided.",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=64,
        metavar="N",
        help="The number of processes; by default one per core.",
    ),
]


def check(
    path: PathArgument = None,
    variants: VariantsOption = 50,
    mutate: MutateOption = False,
    attack: AttackOption = False,
    workers: WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Validate rubrics and run their examples on many variants."""
    folder, question = _resolve(path)
    rubrics = {rubric.id: rubric for rubric in load_folder(folder).rubrics()}
    with make_progress() as progress:
        total = count_steps(folder, question=question, mutate=mutate, attack=attack)
        task = progress.add_task("loading", total=total)

        def show_step(question: str, step: str) -> None:
            progress.update(task, advance=1, description=f"{question}: {step}")

        results = run_checks(
            folder,
            question=question,
            variants=variants,
            mutate=mutate,
            attack=attack,
            workers=workers,
            report=show_step,
        )
    if as_json:
        print_json([_as_data(result) for result in results])
    else:
        _print_results(results, rubrics, mutate=mutate, attack=attack)
    if not all(result.is_sound for result in results):
        raise typer.Exit(ExitCode.NOT_SOUND)


def _resolve(path: Path | None) -> tuple[Path, str | None]:
    """Return the folder to load and, if the path is a question's file, the question's id."""
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
        raise OperatorError(f"{path} is not a rubric: its name does not end in .yaml.")
    if not (folder / "assignment.yaml").is_file():
        raise OperatorError(
            f"{path} has no assignment.yaml in its folder; a question belongs to an assignment."
        )
    return folder, f"{folder.name}/{full.stem}"


def _print_results(
    results: list[QuestionCheck], rubrics: dict[str, Rubric], *, mutate: bool, attack: bool
) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    more = [*(["changes"] * mutate), *(["attacks"] * attack)]
    for heading in ("question", "examples", "variants", *more, ""):
        table.add_column(heading, justify="left" if heading in ("question", "") else "right")
    for result in results:
        counts = [f"{result.mutants}"] * mutate + [f"{len(result.attacks)}"] * attack
        word = "[green]sound[/]" if result.is_sound else "[red]not sound[/]"
        table.add_row(result.question, f"{result.examples}", f"{result.variants}", *counts, word)
    console.print(table)
    for result in results:
        _print_failures(result, rubrics[result.question], skipped=mutate or attack)
    sound = sum(result.is_sound for result in results)
    if len(results) == 1:
        console.print(f"\nThe question is {'sound' if sound else 'not sound'}.")
    else:
        console.print(f"\n{sound} of {len(results)} questions are sound.")


def _print_failures(result: QuestionCheck, rubric: Rubric, *, skipped: bool) -> None:
    by_example: dict[str, list[Failure]] = {}
    for failure in result.failures:
        by_example.setdefault(failure.example, []).append(failure)
    for example, failures in by_example.items():
        where = f"on {len(failures)} of {result.variants} variants"
        if len(failures) == result.variants:
            where = "on every variant"
        print_line(
            f"{_format_location(rubric, example)}: {example}: {failures[0].message} ({where})"
        )
    if by_example and skipped:
        print_line(f"{result.question}: neither changed nor attacked, because its examples fail")
    if not result.examples:
        print_line(f"{result.question}: it has no examples, so it cannot be checked")
    for change in result.unnoticed:
        print_line(f"{result.question}: no example notices this change: {change}")
    for attack in result.attacks:
        for problem in attack.list_problems():
            print_line(f"{result.question}: {attack.name}: {_describe_problem(attack, problem)}")


def _describe_problem(attack: AttackResult, problem: Problem) -> str:
    match problem:
        case Problem.UNKNOWN:
            return problem.value
        case Problem.BROKEN_PROMISE:
            return f"{problem.value} ({', '.join(attack.broken_promises)})"
        case Problem.EARNS_ALL:
            count, advice = attack.full, "; if it is right, add it to also_right"
        case Problem.LOSES:
            count, advice = attack.variants - attack.full, ""
        case Problem.LOSES_BY_ROUNDING:
            count, advice = attack.unexplained, ""
        case Problem.UNDECIDED:
            count, advice = attack.undecided, ""
        case _:
            assert_never(problem)
    return f"{problem.value} (on {count} of {attack.variants} variants{advice})"


def _format_location(rubric: Rubric, example: str) -> str:
    """Return the place of the example as FILE:LINE:COLUMN."""
    names = [each.name for each in rubric.form.examples]
    place = rubric.document.places.get(("examples", names.index(example)))
    return f"{place}" if place else rubric.id


def _as_attack_data(attack: AttackResult) -> dict[str, object]:
    names = ("name", "variants", "full", "undecided", "refused", "unexplained", "broken_promises")
    return {
        **select_fields(attack, *names),
        "expected": attack.kind.value,
        "problems": [each.value for each in attack.list_problems()],
    }


def _as_data(result: QuestionCheck) -> dict[str, object]:
    return {
        "question": result.question,
        "sound": result.is_sound,
        **select_fields(result, "examples", "variants", "mutants", "unnoticed"),
        "attacks": [_as_attack_data(each) for each in result.attacks],
        "failures": [
            select_fields(each, "example", "variant", "message") for each in result.failures
        ],
    }
