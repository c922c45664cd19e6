"""`grader verify`: audit the stored records."""

from __future__ import annotations

import re
import secrets
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from grader.cli.console import (
    ExitCode,
    JsonOption,
    console,
    format_printable,
    format_time,
    make_progress,
    print_json,
    print_line,
    select_fields,
)
from grader.cli.database import make_grading_context, open_to_read
from grader.cli.files import open_input
from grader.errors import OperatorError
from grader.grading.audit.chain import ChainHead
from grader.grading.audit.findings import AuditCheckResult
from grader.grading.audit.rejudging import RejudgeSample
from grader.grading.audit.verify import Verification, count_steps
from grader.grading.audit.verify import verify as verify_store

EXAMPLES = """\
[bold]Examples[/]
  grader verify
  grader verify --acknowledged sent.jsonl   compare with the responses that clients got
  grader verify --head 12:sha256:9f86d0…    check that an earlier head is in the audit chain
  grader verify --judge 1000                judge 1000 attempts again
  grader verify --judge all --json

It only reads, and may run while the service is running.
Exit code 0: no discrepancy. 1: a check found one. 2: wrong usage.
"""

_HEAD = re.compile(r"(\d{1,15}):(sha256:[0-9a-f]{64})")

AcknowledgedOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Responses that clients got, one attempt as JSON per line; - reads standard input.",
    ),
]
HeadOption = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER:DIGEST",
        help="An earlier head of the audit chain, which must still be part of it.",
    ),
]
JudgeOption = Annotated[
    str | None,
    typer.Option(metavar="N|all", help="Also judge N attempts again, chosen at random, or all."),
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="N", help="Choose the same attempts as an earlier run with this seed."
    ),
]


def verify(
    acknowledged: AcknowledgedOption = None,
    head: HeadOption = None,
    judge: JudgeOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the stored records: attempts, judgements, grades and the audit chain."""
    known, sample = _read_head(head), _read_sample(judge, seed)
    with (
        open_input(acknowledged) if acknowledged else nullcontext() as lines,
        open_to_read() as database,
        database.read() as session,
        make_progress() as progress,
    ):
        task = progress.add_task("", total=count_steps(session, sample=sample))

        def show_step(name: str, count: int) -> None:
            progress.update(task, advance=count, description=name)

        result = verify_store(
            session,
            make_grading_context(),
            acknowledged=lines,
            head=known,
            sample=sample,
            progress=show_step,
        )
    if as_json:
        print_json(_as_data(result, sample))
    else:
        _print_results(result, sample)
    if not result.is_fine:
        raise typer.Exit(ExitCode.NOT_SOUND)


def _read_head(text: str | None) -> ChainHead | None:
    if text is None:
        return None
    match = _HEAD.fullmatch(text.strip())
    if match is None:
        raise OperatorError(
            "The value of --head is not a head of the audit chain. `grader verify` prints one: "
            "a number, :sha256: and 64 hexadecimal digits."
        )
    return ChainHead(int(match[1]), match[2])


def _read_sample(text: str | None, seed: int | None) -> RejudgeSample | None:
    if text is None:
        if seed is not None:
            raise OperatorError("--seed needs --judge.")
        return None
    if text == "all":
        return RejudgeSample(None, 0)
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise OperatorError(
            "The value of --judge is the number of attempts to judge again, or all."
        )
    # The seed is printed, so that the same attempts can be judged once more.
    return RejudgeSample(int(text), secrets.randbelow(10**6) if seed is None else seed)


def _print_results(result: Verification, sample: RejudgeSample | None) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("", "check", "records", ""):
        table.add_column(heading, justify="right" if heading == "records" else "left")
    for each in result.checks:
        mark = "[green]✓[/]" if each.is_fine else "[red]✗[/]"
        table.add_row(mark, each.name, f"{each.looked_at:,}", _describe_check(each))
    console.print(table)
    for each in result.checks:
        _print_discrepancies(each)
    print_line()
    if sample is not None and sample.most is not None:
        print_line(f"To judge the same attempts again, use --seed {sample.seed}.")
    if result.recorded_at is not None:
        print_line(
            "This store is older than the facts in its audit chain. Changes by hand are noticed "
            f"since {format_time(result.recorded_at)} UTC."
        )
    print_line(f"Head of the audit chain (keep a copy elsewhere): {result.head}")
    console.print(f"[bold]{_describe_result(result)}[/]")


def _describe_check(checked: AuditCheckResult) -> str:
    if checked.is_fine:
        return "[green]ok[/]"
    return f"[red]{checked.found:,} discrepanc{'y' if checked.found == 1 else 'ies'}[/]"


def _print_discrepancies(checked: AuditCheckResult) -> None:
    for each in checked.discrepancies:
        text = f"{checked.name}: {each.subject}: {each.text}"
        print_line(format_printable(text, max_length=1000))
    more = checked.found - len(checked.discrepancies)
    if more:
        print_line(f"{checked.name}: and {more:,} more")


def _describe_result(result: Verification) -> str:
    if result.is_fine:
        return "All checks passed."
    names = [each.name for each in result.checks if not each.is_fine]
    return f"Checks that found discrepancies: {', '.join(names)}."


def _as_data(result: Verification, sample: RejudgeSample | None) -> dict[str, object]:
    return {
        "fine": result.is_fine,
        "head": select_fields(result.head, "number", "digest"),
        "recorded_at": result.recorded_at,
        "seed": sample.seed if sample is not None and sample.most is not None else None,
        "checks": [
            {
                **select_fields(each, "name", "looked_at", "found"),
                "discrepancies": [
                    select_fields(one, "subject", "text") for one in each.discrepancies
                ],
            }
            for each in result.checks
        ],
    }
