"""Options and small helpers that several commands share."""

from __future__ import annotations

import json
import re
import sys
import textwrap
import traceback
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console
from typer.core import TyperCommand

from grader.cli.answers import UnreadableAnswer
from grader.errors import (
    AnswerRefused,
    ErrorDetail,
    FieldError,
    KeysetError,
    MalformedRequest,
    RequestError,
    RubricErrors,
)

DEFAULT_STUDENT = "ada"


def _check_student(name: str) -> str:
    if not name or "/" in name:
        raise typer.BadParameter("A student's id is a name without slashes.")
    return name


QuestionArgument = Annotated[
    str, typer.Argument(metavar="ASSIGNMENT/QUESTION", help="Such as single-head-attention/1e.")
]
RubricsOption = Annotated[
    Path | None,
    typer.Option(
        "--rubrics", metavar="FOLDER", help="Your own rubrics instead of the shipped ones."
    ),
]
StudentOption = Annotated[
    str,
    typer.Option(
        "--student",
        metavar="ID",
        help="Whose variant: every name has its own numbers.",
        callback=_check_student,
    ),
]
# The empty metavar keeps the help from saying that a flag takes a value.
JsonOption = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON, for programs.")]

console = Console(highlight=False)

_PLAIN_LIST = re.compile(r"\[\n[^\[\]{}]*\]")


def format_points(points: Decimal) -> str:
    """Points as people write them: 5 rather than 5.0."""
    return f"{points.normalize():f}"


def describe_points(points: Decimal) -> str:
    """Points with their unit."""
    return f"{format_points(points)} point{'' if points == 1 else 's'}"


def print_json(data: object) -> None:
    """Print data as JSON, two spaces deep, each list of plain values in a line."""
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(data, indent=2, ensure_ascii=not is_unicode, allow_nan=False)
    typer.echo(_PLAIN_LIST.sub(lambda found: _join_lines(found[0]), text))


def _join_lines(formatted: str) -> str:
    # No text in JSON holds a line break, so that only white space between values is lost.
    return "[" + " ".join(line.strip() for line in formatted[1:-1].split("\n")).strip() + "]"


class ExitCode(IntEnum):
    """How a command ended."""

    NOT_SOUND = 1
    WRONG_CALL = 2
    UNREADABLE_ANSWER = 3
    BROKEN_RUBRIC = 4
    DEFECT = 70
    STOPPED = 130


class Command(TyperCommand):
    """A command that ends in a sentence and an exit code, whatever happens in it."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command and turn what it raises into an exit."""
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
    """The exit code that tells a program what went wrong."""
    match error:
        case AnswerRefused():
            return ExitCode.UNREADABLE_ANSWER
        case RubricErrors():
            return ExitCode.BROKEN_RUBRIC
        case _:
            return ExitCode.WRONG_CALL


def _to_problem(error: KeysetError) -> dict[str, object]:
    """An error as data: its code, what happened, and every place where it did."""
    match error:
        case AnswerRefused():
            return {
                "code": error.code,
                "title": _title(error),
                "detail": str(error.errors[0]),
                "attempt_used": False,
                "errors": [_field_problem(error, each) for each in error.errors],
            }
        case RubricErrors():
            return {
                "code": error.code,
                "title": "The rubric cannot be used as it stands.",
                "detail": str(error.errors[0]),
                "errors": [
                    {
                        "file": each.place.file,
                        "line": each.place.line,
                        "column": each.place.column,
                        "field": each.field or None,
                        "detail": each.message,
                    }
                    for each in error.errors
                ],
            }
        case _:
            return {
                "code": error.code,
                "title": "The command cannot be carried out.",
                "detail": str(error),
                "errors": [_fault_problem(each) for each in _faults(error)],
            }


def _faults(error: KeysetError) -> tuple[ErrorDetail, ...]:
    return error.faults if isinstance(error, MalformedRequest) else ()


def _fault_problem(fault: ErrorDetail) -> dict[str, object]:
    return {
        "pointer": fault.pointer,
        "code": fault.code,
        "detail": fault.detail,
        "hint": fault.hint or None,
    }


def _field_problem(error: AnswerRefused, fault: FieldError) -> dict[str, object]:
    pointer = fault.pointer if fault.field else "#/answer"
    if _is_earlier(error):
        pointer = pointer.replace("#/answer", "#/uses", 1)
    return {
        "pointer": pointer,
        "code": fault.code,
        "detail": fault.message,
        "expected": fault.expected or None,
        "got": fault.got or None,
        "hint": fault.hint or None,
        "column": fault.column,
    }


def _title(error: AnswerRefused) -> str:
    which = "The earlier answer (--uses)" if _is_earlier(error) else "The answer"
    return f"{which} cannot be read; nothing was graded and no attempt is used."


def _is_earlier(error: AnswerRefused) -> bool:
    return isinstance(error, UnreadableAnswer) and error.sent.is_earlier


def _print_explanation(error: KeysetError) -> None:
    match error:
        case AnswerRefused():
            _print_error(_title(error))
            for fault in error.errors:
                _print_error(str(fault), indent=2)
                _print_caret(error, fault)
        case RubricErrors():
            for mistake in error.errors:
                _print_error(str(mistake))
        case MalformedRequest() if len(error.faults) > 1:
            if str(error) != error.faults[0].detail:
                _print_error(str(error))
            for each in error.faults:
                _print_error(f"{each.detail} {each.hint}".strip(), indent=2)
        case RequestError():
            _print_error(f"{error} {_hint(error)}".strip())
        case _:
            _print_error(str(error))


def _hint(error: RequestError) -> str:
    return error.hint or next((each.hint for each in _faults(error)), "")


def _print_caret(error: AnswerRefused, fault: FieldError) -> None:
    """Show the text that was sent, with a caret under the place of the fault."""
    if fault.column is None or not isinstance(error, UnreadableAnswer):
        return
    text = error.sent.text_of(fault.field)
    if text is None:
        return
    start = max(fault.column - 40, 0)
    excerpt = "".join(c if c.isprintable() else "?" for c in text[start : start + 66])
    space = " " * cell_len(excerpt[: fault.column - 1 - start])
    _print_error(f"      {excerpt}\n      {space}^", wrapped=False)


def _print_error(text: str, *, indent: int = 0, wrapped: bool = True) -> None:
    """Print to standard error, wrapped at words on a terminal and in one line elsewhere."""
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
    """Whether typer itself knows how to end."""
    return isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "exit_code")


def _describe_defect(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "grader" in Path(frame.filename).parts]
    last = (inside or frames)[-1]
    return (
        f"Keyset itself failed: {type(error).__name__}: {error} "
        f"({Path(last.filename).name}, line {last.lineno}). This is a defect; please report it. "
        "With --traceback in front of the command, all of it is shown."
    )
