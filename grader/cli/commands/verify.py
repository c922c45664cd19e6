"""`grader verify`: the store's own audit."""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from grader.cli.console import JsonOption, console, print_json
from grader.cli.database import open_to_read, print_line
from grader.cli.grading_context import make_grading_context
from grader.errors import OperatorError
from grader.grading.audit.chain import ChainHead
from grader.grading.audit.findings import AuditCheckResult
from grader.grading.audit.rejudging import RejudgeSample
from grader.grading.audit.verify import Verification, count_steps
from grader.grading.audit.verify import verify as verify_store

EXAMPLES = """\
[bold]Examples[/]
  grader verify
  grader verify --acknowledged told.jsonl   is all there that clients got?
  grader verify --head 12:sha256:9f86d0…    is an earlier head still there?
  grader verify --judge 1000                judge some attempts again
  grader verify --judge all --json

It only reads, and may run beside a service that is at work.
Exit code 0: all is as it should be. 1: something is not. 2: wrong call.
"""

_HEAD = re.compile(r"(\d{1,15}):(sha256:[0-9a-f]{64})")

AcknowledgedOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What clients were told, an attempt's JSON in each line; - reads standard input.",
    ),
]
HeadOption = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER:DIGEST", help="An earlier head of the audit chain, to be found in it."
    ),
]
JudgeOption = Annotated[
    str | None,
    typer.Option(metavar="N|all", help="Also judge so many attempts again, chosen at random."),
]
SeedOption = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Choose the same attempts as with this seed before."),
]


def verify(
    acknowledged: AcknowledgedOption = None,
    head: HeadOption = None,
    judge: JudgeOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check that all is stored as it was acknowledged, allowed and graded."""
    known, sample = _read_head(head), _read_sample(judge, seed)
    with (
        _open(acknowledged) as lines,
        open_to_read() as database,
        database.read() as session,
        _make_progress() as progress,
    ):
        task = progress.add_task("", total=count_steps(session, sample=sample))

        def tell(name: str, count: int) -> None:
            progress.update(task, advance=count, description=name)

        result = verify_store(
            session,
            make_grading_context(),
            acknowledged=lines,
            head=known,
            sample=sample,
            progress=tell,
        )
    if as_json:
        print_json(_as_data(result, sample))
    else:
        _print_results(result, sample)
    if not result.is_fine:
        raise typer.Exit(1)


def _read_head(text: str | None) -> ChainHead | None:
    if text is None:
        return None
    match = _HEAD.fullmatch(text.strip())
    if match is None:
        raise OperatorError(
            "The text after --head is no head; one is such as 12:sha256: and 64 digits, "
            "as `grader verify` prints it."
        )
    return ChainHead(int(match[1]), match[2])


def _read_sample(text: str | None, seed: int | None) -> RejudgeSample | None:
    if text is None:
        if seed is not None:
            raise OperatorError("--seed is for --judge, which says how many are judged again.")
        return None
    if text == "all":
        return RejudgeSample(None, 0)
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise OperatorError("After --judge stands how many attempts are judged again, or all.")
    # Which ones it was is told, so that they can be judged once more.
    return RejudgeSample(int(text), secrets.randbelow(10**6) if seed is None else seed)


@contextmanager
def _open(path: Path | None) -> Iterator[BinaryIO | None]:
    if path is None:
        yield None
    elif str(path) == "-":
        yield sys.stdin.buffer
    else:
        try:
            file = path.open("rb")
        except OSError as error:
            raise OperatorError(f"{path} cannot be read: {error.strerror}.") from None
        with file:
            yield file


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


def _print_results(result: Verification, sample: RejudgeSample | None) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("", "check", "looked at", ""):
        table.add_column(heading, justify="right" if heading == "looked at" else "left")
    for each in result.checks:
        mark = "[green]✓[/]" if each.is_fine else "[red]✗[/]"
        table.add_row(mark, each.name, f"{each.looked_at:,}", _describe_check(each))
    console.print(table)
    for each in result.checks:
        _print_discrepancies(each)
    print_line("")
    if sample is not None and sample.most is not None:
        print_line(f"The attempts that were judged again are those of --seed {sample.seed}.")
    print_line(f"Head of the audit chain, to be kept elsewhere: {result.head}")
    console.print(f"[bold]{_describe_result(result)}[/]")


def _describe_check(checked: AuditCheckResult) -> str:
    if checked.is_fine:
        return "[green]fine[/]"
    return f"[red]{checked.found:,} discrepanc{'y' if checked.found == 1 else 'ies'}[/]"


def _print_discrepancies(checked: AuditCheckResult) -> None:
    for each in checked.discrepancies:
        print_line(_printable(f"{checked.name}: {each.subject}: {each.text}"))
    more = checked.found - len(checked.discrepancies)
    if more:
        print_line(f"{checked.name}: and {more:,} more")


def _printable(text: str) -> str:
    """Text from the store without what would move the cursor or change the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text[:1000])


def _describe_result(result: Verification) -> str:
    if result.is_fine:
        return "All is as it should be."
    names = [each.name for each in result.checks if not each.is_fine]
    return f"Something is not as it should be: {', '.join(names)}."


def _as_data(result: Verification, sample: RejudgeSample | None) -> dict[str, object]:
    return {
        "fine": result.is_fine,
        "head": {"number": result.head.number, "digest": result.head.digest},
        "seed": sample.seed if sample is not None and sample.most is not None else None,
        "checks": [
            {
                "name": each.name,
                "looked_at": each.looked_at,
                "found": each.found,
                "discrepancies": [
                    {"subject": one.subject, "text": one.text} for one in each.discrepancies
                ],
            }
            for each in result.checks
        ],
    }
