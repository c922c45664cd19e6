"""`grader replay`: judge an attempt again from its bundle, without the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from grader.cli.console import (
    ExitCode,
    JsonOption,
    console,
    format_printable,
    print_json,
    select_fields,
)
from grader.cli.files import load_bytes
from grader.errors import OperatorError
from grader.grading.receipts.bundle import MAX_BYTES, Bundle, read_bundle
from grader.grading.receipts.checks import CheckState
from grader.grading.receipts.replay import Replay, replay_bundle
from grader.grading.signing import compute_key_id

EXAMPLES = """\
[bold]Examples[/]
  grader replay bundle.json
  grader replay bundle.json --key "$(cat public-key.txt)"
  curl … | grader replay - --json

Until the rubric and the keys are disclosed, only the receipt can be checked; the
command says so, and names the date.
Exit code 0: all results agree. 1: a result differs. 2: the file is not a bundle.
"""

_MARKS = {
    CheckState.AGREES: "[green]✓[/]",
    CheckState.DIFFERS: "[red]✗[/]",
    CheckState.OPEN: "[yellow]?[/]",
}

#: Longer texts of a bundle are cut.
_MAX_TEXT = 400

BundleArgument = Annotated[
    Path, typer.Argument(metavar="BUNDLE", help="The bundle; - reads standard input.")
]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="PUBLIC",
        help="The service's public key, to compare with the key of the receipt.",
    ),
]


def replay(bundle: BundleArgument, key: KeyOption = None, as_json: JsonOption = False) -> None:
    """Judge an attempt again from its bundle and compare the results."""
    _check_key(key)
    opened = read_bundle(load_bytes(bundle, max_bytes=MAX_BYTES))
    result = replay_bundle(opened, key=key)
    if as_json:
        print_json(_as_data(opened, result))
    else:
        _print_result(opened, result)
    if not result.agrees:
        raise typer.Exit(ExitCode.NOT_SOUND)


def _check_key(key: str | None) -> None:
    if key is None:
        return
    try:
        compute_key_id(key)
    except ValueError:
        raise OperatorError(
            "The value of --key is not a public key, which has 43 letters, digits, - and _."
        ) from None


def _as_data(bundle: Bundle, result: Replay) -> dict[str, object]:
    return {
        **select_fields(bundle.receipt, "attempt", "question"),
        "agrees": result.agrees,
        "judged_again": result.was_judged,
        "checks": [select_fields(each, "name", "state", "text") for each in result.checks],
    }


def _print_result(bundle: Bundle, result: Replay) -> None:
    for line in _heading(bundle):
        console.print(format_printable(line, max_length=_MAX_TEXT), markup=False)
    console.print()
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column()
    for check in result.checks:
        text = escape(format_printable(check.text, max_length=_MAX_TEXT))
        table.add_row(_MARKS[check.state], check.name, text)
    console.print(table)
    console.print(f"\n[bold]{_describe_result(result)}[/]")


def _heading(bundle: Bundle) -> list[str]:
    receipt = bundle.receipt
    attempt = f"attempt {receipt.attempt}" if receipt.attempt else "not stored"
    lines = [f"{receipt.question} · variant {receipt.variant} · {attempt}"]
    if receipt.received_at is not None:
        lines.append(f"received {receipt.received_at:%Y-%m-%d %H:%M:%S} UTC")
    return lines


def _describe_result(result: Replay) -> str:
    if not result.agrees:
        names = [each.name for each in result.checks if each.state is CheckState.DIFFERS]
        return f"These checks differ: {', '.join(names)}."
    if result.was_judged:
        return "The grade is confirmed: judging again gives the results on the receipt."
    return "Everything that can be checked so far agrees."
