"""The manual under `/docs`, without a CDN or JavaScript, and the OpenAPI that it shows.

Anybody may ask for these, and they are the same for everybody, so that each is made once.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import NotModifiedResponse, StaticFiles

from grader.web.errors.codes import GROUPS
from grader.web.errors.model import Problem
from grader.web.errors.problems import find_status
from grader.web.manual.schema_text import (
    SchemaField,
    Schemas,
    describe_limits,
    describe_type,
    list_fields,
    make_example,
)

if TYPE_CHECKING:
    from jinja2 import Environment

STATIC = Path(__file__).parents[1] / "static"
_OPENAPI_PATH = "/openapi.json"
_CACHE_CONTROL = "public, max-age=300"


class CachedFiles(StaticFiles):
    """Static files that may be cached for an hour."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """Return the file with its Cache-Control header."""
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=3600"
        return response


class _StaticPage:
    """A response that is the same for everybody: made when it is first asked for, and kept."""

    def __init__(self, make: Callable[[], Response]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: Response | None = None

    async def show(self, request: Request) -> Response:
        """Send the page, unless the browser says that it has it."""
        made = self._made
        if made is None:
            # It takes too long for the event loop.
            made = await run_in_threadpool(self._get_or_make)
        known = request.headers.get("if-none-match", "")
        if made.headers["etag"] in [tag.strip(" W/") for tag in known.split(",")]:
            return NotModifiedResponse(made.headers)
        return made

    def _get_or_make(self) -> Response:
        with self._lock:
            if self._made is not None:
                return self._made
            made = self._make()
            digest = hashlib.sha256(bytes(made.body)).hexdigest()
            made.headers["ETag"] = f'"{digest[:32]}"'
            made.headers["Cache-Control"] = _CACHE_CONTROL
            self._made = made
            return made


def install_manual(app: FastAPI, *, base_url: str) -> None:
    """Add `/openapi.json`, `/docs`, `/docs/errors` and, unless there is one, `/static`.

    The app must be made with ``openapi_url=None, docs_url=None, redoc_url=None``. The pages show
    the app's OpenAPI; ``x-roles`` and ``x-scopes`` of an operation say who may call it. `base_url`
    is the beginning of the addresses in examples.
    """
    assert app.openapi_url is None, "FastAPI's own /openapi.json would hide this one"
    if not any(isinstance(route, Mount) and route.path == "/static" for route in app.routes):
        app.mount("/static", CachedFiles(directory=STATIC), name="static")

    def make_manual() -> Response:
        spec = app.openapi()
        chapters = list_chapters(spec, base_url)
        problem = Problem.model_json_schema()
        page = _environment().get_template("manual/manual.html")
        text = page.render(
            info=spec["info"],
            chapters=chapters,
            calls=sum(len(chapter.calls) for chapter in chapters),
            openapi_url=_OPENAPI_PATH,
            problem=tuple(list_fields(problem, problem.get("$defs", {}))),
        )
        return HTMLResponse(text)

    def make_errors() -> Response:
        page = _environment().get_template("manual/errors.html")
        text = page.render(info=app.openapi()["info"], groups=GROUPS, status_of=find_status)
        return HTMLResponse(text)

    pages = {
        _OPENAPI_PATH: lambda: JSONResponse(app.openapi()),
        "/docs": make_manual,
        "/docs/errors": make_errors,
    }
    for path, make in pages.items():
        app.get(path, include_in_schema=False)(_StaticPage(make).show)


@cache
def _environment() -> Environment:
    # Imported only when needed, so that the service starts faster.
    from grader.web.jinja import make_environment

    environment = make_environment()
    environment.filters["prose"] = format_prose
    environment.filters["inline"] = _format_inline
    return environment


def format_prose(text: str) -> Markup:
    """Paragraphs of plain text with `code` in them, as HTML."""
    paragraphs = (part.strip() for part in re.split(r"\n\s*\n", text) if part.strip())
    return Markup("\n").join(
        Markup("<p>{}</p>").format(_format_inline(part)) for part in paragraphs
    )


def _format_inline(text: str) -> Markup:
    """A line of plain text with `code` in it, as HTML."""
    safe = str(escape(text))
    return Markup(re.sub(r"`{1,2}([^`]+)`{1,2}", r"<code>\1</code>", safe))


_METHODS = ("get", "post", "put", "patch", "delete")
#: A parameter in a path, such as {course}.
_PLACEHOLDER = re.compile(r"\{([^{}:]+)(?::[^{}]*)?\}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the path, the query or a header."""

    name: str
    location: str
    type: str
    is_required: bool
    limits: str
    description: str


@dataclass(frozen=True, slots=True)
class Example:
    """A text with a title, ready to be shown."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class OperationResponse:
    """One status of a call's response."""

    status: str
    description: str
    type: str
    fields: tuple[SchemaField, ...]
    examples: tuple[Example, ...]

    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
        return not self.status.startswith(("2", "3"))


@dataclass(frozen=True, slots=True)
class Operation:
    """One call, as the manual shows it."""

    anchor: str
    method: str
    path: str
    title: str
    description: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    is_deprecated: bool
    parameters: tuple[Parameter, ...]
    body_types: tuple[str, ...]
    body: tuple[SchemaField, ...]
    curl: str
    replies: tuple[OperationResponse, ...]


@dataclass(frozen=True, slots=True)
class Chapter:
    """The calls of one tag."""

    anchor: str
    title: str
    description: str
    calls: tuple[Operation, ...]


def list_chapters(spec: Mapping[str, Any], base: str) -> tuple[Chapter, ...]:
    """Return the calls of an OpenAPI description by their first tag, in the order of the tags."""
    schemas = spec.get("components", {}).get("schemas", {})
    described = {tag["name"]: tag.get("description", "") for tag in spec.get("tags", ())}
    calls: dict[str, list[Operation]] = {name: [] for name in described}
    for path, operations in spec.get("paths", {}).items():
        for method in _METHODS:
            if method in operations:
                operation = _with_shared(operations[method], operations)
                tag = (operation.get("tags") or ["Calls"])[0]
                call = _operation(method, path, operation, schemas, base)
                calls.setdefault(str(tag), []).append(call)
    return tuple(
        Chapter(f"tag-{_slug(name)}", _capital(name), described.get(name, ""), tuple(found))
        for name, found in calls.items()
        if found
    )


def _with_shared(operation: Mapping[str, Any], path: Mapping[str, Any]) -> dict[str, Any]:
    parameters = [*path.get("parameters", ()), *operation.get("parameters", ())]
    return {**operation, "parameters": parameters}


def _operation(
    method: str, path: str, operation: Mapping[str, Any], schemas: Schemas, base: str
) -> Operation:
    content = operation.get("requestBody", {}).get("content", {})
    media: Mapping[str, Any] = next(iter(content.values()), {})
    schema = media.get("schema", {})
    return Operation(
        anchor=_slug(operation.get("operationId") or f"{method}-{path}"),
        method=method.upper(),
        path=path,
        title=operation.get("summary") or path,
        description=operation.get("description", ""),
        roles=_words(operation.get("x-roles")),
        scopes=_words(operation.get("x-scopes")),
        is_deprecated=bool(operation.get("deprecated")),
        parameters=tuple(_parameter(each, schemas) for each in operation["parameters"]),
        body_types=tuple(content),
        body=tuple(list_fields(schema, schemas)),
        curl=_curl(method, path, operation, schemas, base),
        replies=tuple(
            _response(status, reply, schemas)
            for status, reply in sorted(operation.get("responses", {}).items())
        ),
    )


def _parameter(parameter: Mapping[str, Any], schemas: Schemas) -> Parameter:
    schema = parameter.get("schema", {})
    return Parameter(
        name=parameter["name"],
        location=parameter["in"],
        type=describe_type(schema, schemas),
        is_required=bool(parameter.get("required")),
        limits=describe_limits(schema),
        description=parameter.get("description") or schema.get("description", ""),
    )


def _response(status: str, reply: Mapping[str, Any], schemas: Schemas) -> OperationResponse:
    content = reply.get("content", {})
    kind: str = next(iter(content), "")
    media: Mapping[str, Any] = content.get(kind, {})
    is_problem = kind == "application/problem+json"
    schema = media.get("schema", {})
    return OperationResponse(
        status=status,
        description=reply.get("description", ""),
        type=" or ".join(content),
        # All problems look alike, and are described once.
        fields=() if is_problem else tuple(list_fields(schema, schemas)),
        examples=tuple(_given_examples(media)),
    )


def _given_examples(media: Mapping[str, Any]) -> Iterator[Example]:
    for name, example in media.get("examples", {}).items():
        yield Example(f"{name}: {example.get('summary', '')}".strip(": "), _text(example["value"]))
    if "example" in media:
        yield Example("", _text(media["example"]))


def _body_example(media: Mapping[str, Any], schemas: Schemas) -> str:
    for example in _given_examples(media):
        return example.text
    return _text(make_example(media.get("schema", {}), schemas))


def _curl(method: str, path: str, operation: Mapping[str, Any], schemas: Schemas, base: str) -> str:
    values = {
        parameter["name"]: str(_value(parameter, schemas))
        for parameter in operation["parameters"]
        if parameter["in"] == "path"
    }
    address = base + _PLACEHOLDER.sub(lambda found: values.get(found[1], found[1]), path)
    lines = [f"curl {address}" if method == "get" else f"curl -X {method.upper()} {address}"]
    if operation.get("security") != []:
        lines.append('-H "Authorization: Bearer $TOKEN"')
    lines += [
        f"-H {shlex.quote(parameter['name'] + ': ' + str(_value(parameter, schemas)))}"
        for parameter in operation["parameters"]
        if parameter["in"] == "header" and parameter.get("required")
    ]
    for kind, media in list(operation.get("requestBody", {}).get("content", {}).items())[:1]:
        lines.append(f"-H 'Content-Type: {kind}'")
        is_json = kind == "application/json"
        sent = f"-d {shlex.quote(_body_example(media, schemas))}"
        lines.append(sent if is_json else "--data-binary @FILE")
    return " \\\n  ".join(lines)


def _value(parameter: Mapping[str, Any], schemas: Schemas) -> Any:
    if "example" in parameter:
        return parameter["example"]
    named = parameter.get("examples")
    if isinstance(named, dict) and named:
        return next(iter(named.values())).get("value")
    schema = parameter.get("schema", {})
    if schema.get("examples") or "default" in schema or "enum" in schema:
        return make_example(schema, schemas)
    return parameter["name"].upper().replace("-", "_")


def _text(value: Any) -> str:
    """JSON for the eye: short lists stay on one line."""
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return re.sub(
        r"\[\s+([^\[\]{}\"]{1,70}?)\s+\]",
        lambda found: "[" + re.sub(r"\s+", " ", found[1]) + "]",
        text,
    )


def _words(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(str(each) for each in value)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
