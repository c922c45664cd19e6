"""The page docs/reference/http.md, made from OpenAPI as the manual under `/docs` reads it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from grader.cli.server import open_service
from grader.settings import Settings
from grader.web.app import make_app
from grader.web.errors.codes import GROUPS
from grader.web.errors.model import Problem
from grader.web.errors.problems import find_status
from grader.web.manual.routes import Chapter, Operation, OperationResponse, list_chapters
from grader.web.manual.schema_text import SchemaField, describe_type, list_fields
from tests.docs.pages import make_anchor

HEADING = "| in | name | type | means |\n| --- | --- | --- | --- |\n"
PROBLEM_HEADING = "| name | type | means |\n| --- | --- | --- |\n"
PATHS_HEADING = "| in the path | type | limits |\n| --- | --- | --- |\n"
STATUS_HEADING = "| status | group under `/docs/errors` | codes |\n| --- | --- | --- |\n"

_JSON = "application/json"

_INTRODUCTION = """\
# The HTTP API

This page is generated from OpenAPI. A running service shows the same calls with examples under
`/docs`, explains every error code under `/docs/errors`, and serves OpenAPI at `/openapi.json`.
"""

_CONVENTIONS = """\
- **Who** may call is the first line of a call: the roles, then the scopes that a token needs.
- **Fields of an object** within another, or within a list, have a dotted name: `criteria.points`.
- A parameter or a field of a body is optional unless its row says "required".
"""

_ERRORS = """\
## Errors

Every error of the API is `application/problem+json` with these fields:
"""

_CODES = """\
Each call lists the statuses that it can return. The status follows from the `code`:
"""


def read_spec() -> dict[str, Any]:
    """The OpenAPI description of a service with the default settings."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'keyset.sqlite'}"
        service = open_service(Settings(data_folder=Path(folder), database_url=url))
        with closing(service.database):
            return make_app(service).openapi()


def render_http_reference(spec: dict[str, Any]) -> str:
    """The whole page."""
    chapters = list_chapters(spec, "")
    calls = [call for chapter in chapters for call in chapter.calls]
    writer = _CallWriter(spec)
    return "\n".join(
        [
            _INTRODUCTION,
            spec["info"]["description"],
            _CONVENTIONS,
            PATHS_HEADING + _describe_paths(calls),
            *(part for chapter in chapters for part in writer.describe_chapter(chapter)),
            _ERRORS,
            PROBLEM_HEADING + _describe_problem(),
            _CODES,
            STATUS_HEADING + _describe_codes(),
        ]
    )


class _Row(NamedTuple):
    """A row of a call's table."""

    where: str
    name: str
    type: str
    means: str


class _CallWriter:
    """Writes calls in order; an object that was described before is referred to."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        self._described: dict[tuple[SchemaField, ...], str] = {}

    def describe_chapter(self, chapter: Chapter) -> Iterator[str]:
        yield f"## {chapter.title}\n"
        if chapter.description:
            yield f"{chapter.description}\n"
        for call in chapter.calls:
            yield from self._describe_call(call)

    def _describe_call(self, call: Operation) -> Iterator[str]:
        yield f"### {call.title}\n"
        who = [*call.roles, *(f"scope `{scope}`" for scope in call.scopes)] or ["anybody"]
        yield " · ".join([f"`{call.method} {call.path}`", *who]) + "\n"
        if call.description.strip(". \n") != call.title:
            yield f"{call.description.strip()}\n"
        returned: dict[str, list[str]] = {}
        rows = [*self._list_sent(call)]
        for reply in call.replies:
            if not reply.is_error:
                known = self._described.get(reply.fields)
                what = self._describe_response(call, reply, known)
                returned.setdefault(what, []).append(reply.status)
                if reply.fields and not known:
                    self._described[reply.fields] = _link(call)
                    rows += self._list_fields("response", reply.fields, call)
        if rows:
            yield HEADING + "".join(_join_rows(rows))
        errors = [reply.status for reply in call.replies if reply.is_error]
        ending = f" Errors: {', '.join(errors)}." if errors else ""
        given = [f"{' or '.join(statuses)}: {what}" for what, statuses in returned.items()]
        yield f"Returns {'; '.join(given)}.{ending}\n"

    def _describe_response(
        self, call: Operation, reply: OperationResponse, known: str | None
    ) -> str:
        if not reply.type:
            return "no body"
        operation = self._spec["paths"][call.path][call.method.lower()]
        content = operation["responses"][reply.status]["content"]
        schemas = self._spec["components"]["schemas"]
        types = [
            describe_type(media.get("schema", {}), schemas) if type_ == _JSON else f"`{type_}`"
            for type_, media in content.items()
        ]
        same = f" as in {known}" if known else ""
        return " or ".join(types) + same

    def _list_sent(self, call: Operation) -> Iterator[_Row]:
        for parameter in call.parameters:
            if parameter.location != "path":
                means = _describe(
                    parameter.description, parameter.limits, is_required=parameter.is_required
                )
                yield _Row(parameter.location, f"`{parameter.name}`", parameter.type, means)
        if call.body_types and not call.body:
            yield _Row("body", "", f"`{call.body_types[0]}`", "")
        yield from self._list_fields("body", call.body, call, is_request=True)

    def _list_fields(
        self,
        where: str,
        fields: Sequence[SchemaField],
        call: Operation,
        *,
        within: str = "",
        is_request: bool = False,
    ) -> Iterator[_Row]:
        for field in fields:
            name = f"{within}{field.name}"
            known = self._described.get(field.fields) if field.fields else None
            # An object that was described before needs no second paragraph.
            description = field.description.partition("\n\n")[0] if known else field.description
            if is_request:
                means = _describe(description, field.limits, is_required=field.is_required)
            else:
                means = _describe(description, f"fields as in {known}" if known else "")
            yield _Row(where, f"`{name}`", field.type, means)
            if field.fields and not known:
                self._described[field.fields] = f"`{name}` of {_link(call)}"
                yield from self._list_fields(
                    where, field.fields, call, within=f"{name}.", is_request=is_request
                )


def _join_rows(rows: Sequence[_Row]) -> Iterator[str]:
    """The rows as Markdown; neighbours that differ in their names alone share a row."""
    for (where, type_, means), group in groupby(rows, key=lambda r: (r.where, r.type, r.means)):
        names = ", ".join(row.name for row in group)
        yield f"| {' | '.join(map(_cell, (where, names, type_, means)))} |\n"


def _describe_paths(calls: Sequence[Operation]) -> str:
    """The parameters in paths, which are the same wherever they have the same name."""
    found = {
        each.name: each for call in calls for each in call.parameters if each.location == "path"
    }
    return "".join(
        f"| `{{{each.name}}}` | {each.type} | {_cell(each.limits)} |\n" for each in found.values()
    )


def _describe_problem() -> str:
    schema = Problem.model_json_schema()
    return "".join(
        f"| `{name}` | {_cell(field.type)} | {_cell(field.description)} |\n"
        for name, field in _walk(list_fields(schema, schema["$defs"]))
    )


def _walk(fields: Iterator[SchemaField], within: str = "") -> Iterator[tuple[str, SchemaField]]:
    for field in fields:
        yield f"{within}{field.name}", field
        yield from _walk(iter(field.fields), f"{within}{field.name}.")


def _describe_codes() -> str:
    rows = sorted(
        ((find_status(code), about, code) for about, codes in GROUPS.items() for code in codes),
        key=lambda row: row[0],
    )
    return "".join(
        f"| {status} | {about} | {', '.join(f'`{code}`' for _, _, code in group)} |\n"
        for (status, about), group in groupby(rows, key=lambda row: row[:2])
    )


def _link(call: Operation) -> str:
    return f"[{call.title}](#{make_anchor(call.title)})"


def _describe(description: str, limits: str = "", *, is_required: bool = False) -> str:
    """What a cell says about a value: sentences with a full stop each."""
    limits = re.sub(r"(?<=of the form )(\S+?)(?=, by default|$)", r"`\1`", limits)
    parts = ["Required"] if is_required else []
    parts += [description.strip(), f"{limits[:1].upper()}{limits[1:]}"]
    return " ".join(f"{part.rstrip('.')}." for part in parts if part)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
