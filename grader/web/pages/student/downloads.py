"""What a question gives, to be taken away: as files, and as calls with everything filled in."""

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
from grader.feedback.given import build_given_values
from grader.grading.attempts.open_questions import OpenedQuestion
from grader.web.api import models as m
from grader.web.pages.question_context import QUESTION_PATH, QuestionContext, QuestionContextDep
from grader.web.pages.rendering import PageRoute

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
}
#: What the download is called that holds everything.
_ALL = "given"


@dataclass(frozen=True, slots=True)
class GivenArray:
    """A given vector or matrix, as rows; a vector is one row."""

    name: str
    rows: list[list[float]]
    is_vector: bool

    def to_numpy(self) -> str:
        """As Python would write it, in full precision."""
        if self.is_vector:
            return f"{self.name} = np.array({self.rows[0]!r})"
        rows = ",\n    ".join(repr(row) for row in self.rows)
        return f"{self.name} = np.array([\n    {rows},\n])"

    def to_csv(self) -> str:
        """A line for each row, in full precision."""
        text = io.StringIO()
        csv.writer(text).writerows([[repr(entry) for entry in row] for row in self.rows])
        return text.getvalue()


def list_arrays(given: Mapping[str, Any]) -> list[GivenArray]:
    """What is given and is a matrix or a vector."""
    arrays = []
    for name, value in given.items():
        if isinstance(value, list):
            is_vector = not isinstance(value[0], list)
            arrays.append(GivenArray(name, [value] if is_vector else value, is_vector))
    return arrays


def _load_given(shown: OpenedQuestion) -> dict[str, Any]:
    rubric = shown.question.rubric
    return build_given_values(rubric.scope, shown.variant, rubric.form.given)


@router.get(QUESTION_PATH + "/given/{file}")
async def download_given(
    here: QuestionContextDep,
    file: Annotated[str, Path(max_length=80, pattern=r"^[\w-]+\.(json|csv|txt)$")],
) -> Response:
    """A given array or all of them, as JSON, CSV or for NumPy."""
    seen = await here.look()
    name, _, kind = file.rpartition(".")
    content = _encode_given(seen.shown, name, kind)
    return Response(
        content,
        media_type=_TYPES[kind],
        headers={"Content-Disposition": f'attachment; filename="{here.question}-{file}"'},
    )


def _encode_given(shown: OpenedQuestion, name: str, kind: str) -> str | bytes:
    given = _load_given(shown)
    arrays = {each.name: each for each in list_arrays(given)}
    match name, kind:
        case _, "json" if name == _ALL:
            return orjson.dumps(given, option=orjson.OPT_INDENT_2)
        case _, "txt" if name == _ALL:
            return _format_for_numpy(given, arrays)
        case _, "json" if name in given:
            return orjson.dumps(given[name])
        case _, "csv" if name in arrays:
            return arrays[name].to_csv()
        case _, "txt" if name in arrays:
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
    """Calls that send an answer to a question, to be copied."""

    curl: str
    python: str


def write_snippets(here: QuestionContext, question: m.QuestionRead) -> Snippets:
    """Calls with everything filled in but the token, which belongs in no page."""
    base = here.service.base_url
    url = f"{base}/api/v1{QUESTION_PATH}/attempts".format(
        course=here.course, assignment=here.assignment, question=here.question
    )
    body = json.dumps({"answer": question.example}, ensure_ascii=False)
    curl = " \\\n  ".join(
        [
            f"curl --fail-with-body {shlex.quote(url)}",
            '-H "Authorization: Bearer $KEYSET_TOKEN"',
            "-H 'Content-Type: application/json'",
            f"-d {shlex.quote(body)}",
        ]
    )
    fields = "".join(f", {name}={value!r}" for name, value in question.example.items())
    python = (
        "from grader.client import Client\n\n"
        f"g = Client({base!r}, course={here.course!r}, assignment={here.assignment!r})\n"
        f"question = g.question({here.question!r})\n"
        f"g.check({here.question!r}{fields})   # free\n"
        f"g.submit({here.question!r}{fields})  # counts\n"
    )
    return Snippets(curl, python)
