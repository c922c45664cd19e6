"""A question's given values as files, and API calls to copy."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Path, Response

from grader.errors import NotFound
from grader.feedback.examples import make_example
from grader.feedback.given import build_given_values
from grader.rubric.catalog import Rubric
from grader.web.pages.context import QUESTION_PATH, QuestionPage
from grader.web.pages.rendering import PageRoute

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
}
#: The name of the download with all given values.
_ALL = "given"


@dataclass(frozen=True, slots=True)
class GivenArray:
    """A given vector or matrix, as rows; a vector is one row."""

    name: str
    rows: list[list[float]]
    is_vector: bool

    def to_numpy(self) -> str:
        """A line of Python, in full precision."""
        if self.is_vector:
            return f"{self.name} = np.array({self.rows[0]!r})"
        rows = ",\n    ".join(repr(row) for row in self.rows)
        return f"{self.name} = np.array([\n    {rows},\n])"

    def to_csv(self) -> str:
        """One line per row, in full precision."""
        text = io.StringIO()
        csv.writer(text).writerows([[repr(entry) for entry in row] for row in self.rows])
        return text.getvalue()


def list_arrays(given: Mapping[str, Any]) -> list[GivenArray]:
    """The given vectors and matrices."""
    arrays = []
    for name, value in given.items():
        if isinstance(value, list):
            is_vector = not isinstance(value[0], list)
            arrays.append(GivenArray(name, [value] if is_vector else value, is_vector))
    return arrays


@router.get(QUESTION_PATH + "/given/{file}")
async def download_given(
    page: QuestionPage,
    file: Annotated[str, Path(max_length=80, pattern=r"^[\w-]+\.(json|csv|txt)$")],
) -> Response:
    """A given array or all given values, as JSON, CSV or for NumPy."""
    opened = (await page.view()).opened
    rubric = opened.question.rubric
    given = build_given_values(rubric.scope, opened.variant, rubric.form.given)
    name, _, kind = file.rpartition(".")
    return Response(
        _encode_given(given, name, kind),
        media_type=_TYPES[kind],
        headers={"Content-Disposition": f'attachment; filename="{page.question}-{file}"'},
    )


def _encode_given(given: dict[str, Any], name: str, kind: str) -> str | bytes:
    arrays = {each.name: each for each in list_arrays(given)}
    match kind:
        case "json" if name == _ALL:
            return orjson.dumps(given, option=orjson.OPT_INDENT_2)
        case "txt" if name == _ALL:
            return _format_for_numpy(given, arrays)
        case "json" if name in given:
            return orjson.dumps(given[name])
        case "csv" if name in arrays:
            return arrays[name].to_csv()
        case "txt" if name in arrays:
            return arrays[name].to_numpy() + "\n"
        case _:
            raise NotFound


def _format_for_numpy(given: dict[str, Any], arrays: dict[str, GivenArray]) -> str:
    lines = ["import numpy as np", ""]
    lines += [
        arrays[name].to_numpy() if name in arrays else f"{name} = {value!r}"
        for name, value in given.items()
    ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Snippets:
    """Calls that send an answer, to be copied."""

    curl: str
    python: str


def write_snippets(page: QuestionPage, rubric: Rubric) -> Snippets:
    """Complete calls, except for the token, which must not be in a page."""
    base = page.service.base_url
    url = f"{base}/api/v1{QUESTION_PATH}/attempts".format(
        course=page.course, assignment=page.assignment, question=page.question
    )
    example = make_example(rubric.question.fields)
    body = json.dumps({"answer": example}, ensure_ascii=False)
    curl = " \\\n  ".join(
        [
            f"curl --fail-with-body {shlex.quote(url)}",
            '-H "Authorization: Bearer $KEYSET_TOKEN"',
            "-H 'Content-Type: application/json'",
            f"-d {shlex.quote(body)}",
        ]
    )
    fields = "".join(f", {name}={value!r}" for name, value in example.items())
    python = (
        "from grader.client import Client\n\n"
        f"g = Client({base!r}, course={page.course!r}, assignment={page.assignment!r})\n"
        f"question = g.question({page.question!r})\n"
        f"g.check({page.question!r}{fields})   # free\n"
        f"g.submit({page.question!r}{fields})  # counts\n"
    )
    return Snippets(curl, python)
