"""What commands share: options, output, and errors as sentences and exit codes."""

from __future__ import annotations

import json
import re
import sys
import textwrap
import traceback
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from typer.core import TyperCommand

from grader.cli.answers import UnreadableAnswer
from grader.errors import (
    AnswerRefused,
    FieldError,
    KeysetError,
    MalformedRequest,
    RequestError,
    RubricErrors,
)

if TYPE_CHECKING:
    from rich.progress import Progress

DEFAULT_STUDENT = "ada"


def make_typer(**settings: Any) -> typer.Typer:
    """Make a Typer for a command or a group of commands."""
    return typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich", **settings
    )


# Options


def _check_student(name: str) -> str:
    if not name or "/" in name:
        raise typer.BadParameter("A student's id is a name without slashes.")
    return name


def check_line(text: str) -> str:
    """Check a title or label: one line, not empty."""
    if not 1 <= len(text.strip()) <= 200 or not text.isprintable():
        raise typer.BadParameter("Write one line of 1 to 200 characters.")
    return text.strip()


QuestionArgument = Annotated[
    str,
    typer.Argument(
        metavar="ASSIGNMENT/QUESTION", help="The question, such as single-head-attention/1e."
    ),
]
RubricsOption = Annotated[
    Path | None,
    typer.Option(
        "--rubrics", metavar="FOLDER", help="Use your own rubrics instead of the shipped ones."
    ),
]
StudentOption = Annotated[
    str,
    typer.Option(
        "--student",
        metavar="ID",
        help="The student whose variant is used; each name gets its own numbers.",
        callback=_check_student,
    ),
]
# The empty metavar keeps the help from saying that a flag takes a value.
JsonOption = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON, for programs.")]
YesOption = Annotated[
    bool, typer.Option("--yes", "-y", metavar="", help="Do not ask for confirmation.")
]


# Output

console = Console(highlight=False)

_PLAIN_LIST = re.compile(r"\[\n[^\[\]{}]*\]")


def format_points(points: Decimal) -> str:
    """Write points without trailing zeros: 5, not 5.0."""
    return f"{points.normalize():f}"


def describe_points(points: Decimal) -> str:
    """Write points with their unit."""
    return f"{format_points(points)} point{'' if points == 1 else 's'}"


def format_time(moment: datetime | None) -> str:
    """Write a time for a table, in UTC; empty if there is none."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}" if moment else ""


def format_printable(text: str, *, max_length: int | None = None) -> str:
    """Replace characters that would move the cursor or change the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text[:max_length])


def print_line(text: str = "") -> None:
    """Print a line without markup or wrapping."""
    console.print(text, markup=False, soft_wrap=True)


def print_table(headings: list[str], rows: list[list[str]]) -> None:
    """Print a plain table; the text in its cells is never markup."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for index, heading in enumerate(headings):
        # The first column holds names that people copy, so it is not broken into lines.
        table.add_column(heading, overflow="fold", no_wrap=index == 0)
    for row in rows:
        table.add_row(*(escape(format_printable(cell)) for cell in row))
    console.print(table)


def make_progress() -> Progress:
    """Make a progress bar for a terminal; it prints nothing elsewhere."""
    # Few commands show one.
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    # On standard error, so that it is visible when the result goes to a file.
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


def select_fields(record: object, *names: str) -> dict[str, object]:
    """Return the named attributes of a record, for `print_json`."""
    return {name: getattr(record, name) for name in names}


def print_json(data: object) -> None:
    """Print JSON with an indent of two; lists of plain values stay on one line.

    Times are written as ISO 8601, to the second.
    """
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(
        data, indent=2, ensure_ascii=not is_unicode, allow_nan=False, default=_encode_time
    )
    typer.echo(_PLAIN_LIST.sub(lambda found: _join_lines(found[0]), text))


def _encode_time(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"{type(value).__name__} is not JSON")
    return value.isoformat(timespec="seconds")


def _join_lines(formatted: str) -> str:
    # A string in JSON holds no line break, so only white space between values is lost.
    return "[" + " ".join(line.strip() for line in formatted[1:-1].split("\n")).strip() + "]"


# Errors


class ExitCode(IntEnum):
    """How a command ended."""

    NOT_SOUND = 1
    WRONG_CALL = 2
    UNREADABLE_ANSWER = 3
    BROKEN_RUBRIC = 4
    DEFECT = 70
    STOPPED = 130


class Command(TyperCommand):
    """A command that reports every error as a sentence and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command and turn an exception into an exit code."""
        try:
            return super().invoke(ctx)
        except KeysetError as error:
            if ctx.params.get("as_json"):
                print_json(_to_problem(error))
            else:
                _print_explanation(error)
            raise typer.Exit(_choose_exit_code(error)) from None
        except KeyboardInterrupt:
            _print_error("Stopped.")
            raise typer.Exit(ExitCode.STOPPED) from None
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            _print_error(f"{error.filename or 'The output'}: {error.strerror or error}.")
            raise typer.Exit(ExitCode.WRONG_CALL) from None
        except Exception as error:
            if _is_for_typer(error) or ctx.find_root().params.get("traceback"):
                raise
            _print_error(_describe_defect(error))
            raise typer.Exit(ExitCode.DEFECT) from None


def _choose_exit_code(error: KeysetError) -> ExitCode:
    match error:
        case AnswerRefused():
            return ExitCode.UNREADABLE_ANSWER
        case RubricErrors():
            return ExitCode.BROKEN_RUBRIC
        case _:
            return ExitCode.WRONG_CALL


def _to_problem(error: KeysetError) -> dict[str, object]:
    """Return an error as data, with every place where it occurs."""
    match error:
        case AnswerRefused():
            detail = str(error.errors[0])
            errors = [_to_field_problem(error, each) for each in error.errors]
            more: dict[str, object] = {"attempt_used": False}
            title = _describe_refusal(error)
        case RubricErrors():
            detail = str(error.errors[0])
            errors = [
                {
                    **select_fields(each.place, "file", "line", "column"),
                    "field": each.field or None,
                    "detail": each.message,
                }
                for each in error.errors
            ]
            more, title = {}, "The rubric has errors."
        case _:
            detail, faults = str(error), error.faults if isinstance(error, MalformedRequest) else ()
            errors = [
                select_fields(each, "pointer", "code", "detail") | {"hint": each.hint or None}
                for each in faults
            ]
            more, title = {}, "The command failed."
    return {"code": error.code, "title": title, "detail": detail, **more, "errors": errors}


def _to_field_problem(error: AnswerRefused, field: FieldError) -> dict[str, object]:
    pointer = field.pointer if field.field else "#/answer"
    if _is_earlier(error):
        pointer = pointer.replace("#/answer", "#/uses", 1)
    return {
        "pointer": pointer,
        "code": field.code,
        "detail": field.message,
        "expected": field.expected or None,
        "got": field.got or None,
        "hint": field.hint or None,
        "column": field.column,
    }


def _describe_refusal(error: AnswerRefused) -> str:
    which = "The earlier answer (--uses)" if _is_earlier(error) else "The answer"
    return f"{which} cannot be read; nothing was graded and no attempt is used."


def _is_earlier(error: AnswerRefused) -> bool:
    return isinstance(error, UnreadableAnswer) and error.sent.is_earlier


def _print_explanation(error: KeysetError) -> None:
    match error:
        case AnswerRefused():
            _print_error(_describe_refusal(error))
            for field in error.errors:
                _print_error(str(field), indent=2)
                _print_caret(error, field)
        case RubricErrors():
            for each in error.errors:
                _print_error(str(each))
        case MalformedRequest() if len(error.faults) > 1:
            if str(error) != error.faults[0].detail:
                _print_error(str(error))
            for detail in error.faults:
                _print_error(f"{detail.detail} {detail.hint}".strip(), indent=2)
        case MalformedRequest() if error.faults:
            _print_error(f"{error} {error.hint or error.faults[0].hint}".strip())
        case RequestError():
            _print_error(f"{error} {error.hint}".strip())
        case _:
            _print_error(str(error))


def _print_caret(error: AnswerRefused, field: FieldError) -> None:
    """Print the text that was sent, with a caret under the error."""
    if field.column is None or not isinstance(error, UnreadableAnswer):
        return
    text = error.sent.find_text(field.field)
    if text is None:
        return
    start = max(field.column - 40, 0)
    excerpt = format_printable(text[start : start + 66])
    space = " " * cell_len(excerpt[: field.column - 1 - start])
    _print_error(f"      {excerpt}\n      {space}^", wrapped=False)


def _print_error(text: str, *, indent: int = 0, wrapped: bool = True) -> None:
    """Print to standard error: wrapped at words on a terminal, one line elsewhere."""
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    space = " " * indent
    if wrapped and console.is_terminal:
        text = textwrap.fill(
            text, max(console.width, 40), initial_indent=space, subsequent_indent=2 * space,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
    else:
        text = space + text
    console.print(text)


def _is_for_typer(error: Exception) -> bool:
    return isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "exit_code")


def _describe_defect(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "grader" in Path(frame.filename).parts]
    last = (inside or frames)[-1]
    return (
        f"Keyset itself failed: {type(error).__name__}: {error} "
        f"({Path(last.filename).name}, line {last.lineno}). This is a bug; please report it. "
        "`grader --traceback COMMAND …` shows the full traceback."
    )
