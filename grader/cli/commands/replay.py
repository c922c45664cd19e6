"""`grader replay`: judge an attempt again from its bundle, without the service."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from grader.cli.console import JsonOption, console, print_json
from grader.errors import OperatorError
from grader.grading.receipts.bundle import MAX_BYTES, Bundle, read_bundle
from grader.grading.receipts.checks import CheckState
from grader.grading.receipts.replay import Replay
from grader.grading.receipts.replay import replay_bundle as replay_bundle
from grader.grading.signing import compute_key_id

EXAMPLES = """\
[bold]Examples[/]
  grader replay bundle.json
  grader replay bundle.json --key "$(cat public-key.txt)"
  curl … | grader replay - --json

Before rubric and keys are published, only the receipt can be checked; the
command says so, and until when.
Exit code 0: nothing differs. 1: something differs. 2: this is no bundle.
"""

_MARKS = {
    CheckState.AGREES: "[green]✓[/]",
    CheckState.DIFFERS: "[red]✗[/]",
    CheckState.OPEN: "[yellow]?[/]",
}

BundleArgument = Annotated[
    Path, typer.Argument(metavar="BUNDLE", help="The bundle's file; - reads standard input.")
]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="PUBLIC",
        help="The public key that the service publishes, to compare with the receipt's.",
    ),
]


def replay(bundle: BundleArgument, key: KeyOption = None, as_json: JsonOption = False) -> None:
    """Judge an attempt again from its bundle, without the service, and say what agrees."""
    _check_key(key)
    opened = read_bundle(_load(bundle))
    result = replay_bundle(opened, key=key)
    if as_json:
        print_json(_as_data(opened, result))
    else:
        _print_result(opened, result)
    if not result.agrees:
        raise typer.Exit(1)


def _check_key(key: str | None) -> None:
    try:
        compute_key_id(key) if key is not None else None
    except ValueError:
        raise OperatorError(
            "The text after --key is no public key; one has 43 letters, digits, - and _."
        ) from None


def _load(path: Path) -> bytes:
    try:
        if str(path) == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise OperatorError(f"{path} cannot be read: {error.strerror}.") from None


def _as_data(bundle: Bundle, result: Replay) -> dict[str, object]:
    return {
        "attempt": bundle.receipt.attempt,
        "question": bundle.receipt.question,
        "agrees": result.agrees,
        "judged_again": result.was_judged,
        "checks": [
            {"name": each.name, "state": each.state.value, "text": each.text}
            for each in result.checks
        ],
    }


def _print_result(bundle: Bundle, result: Replay) -> None:
    for line in _heading(bundle):
        console.print(_printable(line), markup=False)
    console.print()
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column()
    for check in result.checks:
        table.add_row(_MARKS[check.state], check.name, escape(_printable(check.text)))
    console.print(table)
    console.print(f"\n[bold]{_describe_result(result)}[/]")


def _heading(bundle: Bundle) -> list[str]:
    receipt = bundle.receipt
    attempt = f"attempt {receipt.attempt}" if receipt.attempt else "not stored"
    lines = [f"{receipt.question} · variant {receipt.variant} · {attempt}"]
    if receipt.received_at is not None:
        lines.append(f"received {receipt.received_at:%Y-%m-%d %H:%M:%S} UTC")
    return lines


def _printable(text: str) -> str:
    """Text from a file without what would move the cursor or change the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text[:400])


def _describe_result(result: Replay) -> str:
    if not result.agrees:
        names = [each.name for each in result.checks if each.state is CheckState.DIFFERS]
        return f"Something differs: {', '.join(names)}."
    if result.was_judged:
        return "The grade follows from what the receipt says."
    return "Nothing differs in what can be checked so far."
