"""Options and small helpers that several commands share."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console

from grader.errors import OperatorError
from grader.rubric.catalog import Catalog, load_catalog, shipped_folder

QuestionArgument = Annotated[
    str, typer.Argument(metavar="ASSIGNMENT/QUESTION", help="Such as single-head-attention/1e.")
]
RubricsOption = Annotated[
    Path | None,
    typer.Option("--rubrics", metavar="FOLDER", help="Your own rubrics instead of the shipped."),
]
StudentOption = Annotated[
    str, typer.Option("--student", metavar="ID", help="Whose variant: any name gives its own.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

DEFAULT_STUDENT = "ada"

console = Console(highlight=False)


def load(rubrics: Path | None) -> Catalog:
    """The catalog of a folder, by default of the shipped rubrics."""
    return load_catalog(rubrics or shipped_folder())


def read_json(path: Path) -> Any:
    """Decode a JSON file; `-` is standard input. Keys must not repeat."""
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise OperatorError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        orjson.loads(raw)
        # orjson refuses NaN, 1e309 in disguise and broken text; only json can see repeated keys.
        return json.loads(raw, object_pairs_hook=_without_repeats)
    except (orjson.JSONDecodeError, ValueError, RecursionError) as error:
        raise OperatorError(f"{path} is no valid JSON: {error}.") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise ValueError(f"the key {name!r} stands twice")
        result[name] = value
    return result


def print_json(data: object) -> None:
    """Print data as JSON, two spaces deep."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
