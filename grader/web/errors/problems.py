"""Errors as problem documents (RFC 9457): the only table of HTTP statuses.

A place is a JSON pointer. In the body it begins with ``#/`` (``#/answer/q/3``); a parameter has its
kind before the slash: ``#query/limit``, ``#path/course``, ``#header/If-Match``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.responses import Response

from grader.domain.validation import JSON, InvalidValue, locate_errors
from grader.errors import (
    MAX_PLACES,
    AnswerRefused,
    AuthorError,
    ErrorDetail,
    FieldError,
    FieldPath,
    ForgedRequest,
    FormulaError,
    KeysetError,
    MalformedRequest,
    MissingRole,
    MissingScope,
    MissingVersion,
    NotFound,
    NotSignedIn,
    OutdatedVersion,
    RequestError,
    RequestRefused,
    ReusedIdempotencyKey,
    RubricError,
    RubricErrors,
    StudentError,
    TooManyRequests,
    Unavailable,
)
from grader.web.errors.codes import CONFLICT_CODES, MEANINGS
from grader.web.errors.model import MEDIA_TYPE, Problem, ProblemItem, render_problem
from grader.web.errors.pages import MEDIA_TYPE as PAGE_MEDIA_TYPE
from grader.web.errors.pages import find_typed, is_for_people, render_error_page

#: By type of error; the closest base class counts. Anything else is a defect: 500.
STATUSES: Mapping[type[KeysetError], int] = {
    RequestError: 422,
    NotSignedIn: 401,
    MissingScope: 403,
    MissingRole: 403,
    ForgedRequest: 403,
    NotFound: 404,
    RequestRefused: 409,
    ReusedIdempotencyKey: 422,
    OutdatedVersion: 412,
    MissingVersion: 428,
    TooManyRequests: 429,
    StudentError: 422,
    FormulaError: 422,
    AuthorError: 422,
    Unavailable: 503,
}

#: The status of a malformed request by its code; any other code is 422.
MALFORMED_STATUSES: Mapping[str, int] = {
    "body.empty": 400,
    "body.length": 400,
    "body.too_large": 413,
    "body.type": 415,
    "body.encoding": 415,
    "body.slow": 408,
    "form.invalid": 400,
    "http.invalid": 400,
    "headers.too_large": 431,
    "headers.slow": 408,
    "host.unknown": 421,
    "json.invalid": 400,
    "json.number": 400,
    "json.encoding": 400,
    "json.depth": 400,
    "json.repeated": 400,
    "json.size": 413,
}

#: The codes of errors that the framework itself raises, by status.
_FRAMEWORK_CODES = {404: "not_found", 405: "method.unknown", 401: "caller.unknown"}


def to_problem(error: KeysetError) -> Problem:
    """Return an error as a problem."""
    status = _get_status(error)
    if status == 500:
        return make_defect_problem()
    items = tuple(_list_items(error))[:MAX_PLACES]
    return _make_problem(
        error.code,
        status,
        _describe(error, items),
        errors=items,
        hint=error.hint or None,
    )


def make_defect_problem() -> Problem:
    """The problem for an unexpected exception; it reveals nothing about it."""
    detail = "Something went wrong on our side. It is not your request, and it was logged."
    return _make_problem("service.defect", 500, detail)


def _make_problem(code: str, status: int, detail: str, **more: Any) -> Problem:
    return Problem(
        type=f"/docs/errors#{code}",
        title=_get_title(code),
        status=status,
        code=code,
        detail=detail,
        **more,
    )


def _get_title(code: str) -> str:
    """What a code means; a code without an entry has the title of its group."""
    meaning = MEANINGS.get(code) or MEANINGS.get(f"{code.split('.')[0]}.invalid")
    return meaning.title if meaning else MEANINGS["refused"].title


def _get_status(error: KeysetError) -> int:
    if isinstance(error, MalformedRequest):
        return MALFORMED_STATUSES.get(error.code, 422)
    found = (STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    return next(found, 500)


def build_error_headers(error: KeysetError) -> dict[str, str]:
    """The headers that an error adds to the response."""
    match error:
        case NotSignedIn():
            return {"WWW-Authenticate": "Bearer"}
        case MissingScope():
            ask = f'Bearer error="insufficient_scope", scope="{_quotable(error.scope)}"'
            return {"WWW-Authenticate": ask}
        case OutdatedVersion():
            return {"ETag": f'"{_quotable(error.current)}"'}
        case TooManyRequests() | Unavailable():
            return {"Retry-After": str(max(1, error.retry_after_seconds))}
        case MalformedRequest(code="body.slow" | "body.too_large"):
            # The rest of the body may still come; it must not be taken for the next request.
            return {"Connection": "close"}
        case _:
            return {}


def _quotable(text: str) -> str:
    plain = text.strip('"')
    return "".join(c for c in plain if c.isascii() and c.isprintable() and c not in '"\\')


def _describe(error: KeysetError, items: tuple[ProblemItem, ...]) -> str:
    if not isinstance(error, AnswerRefused | RubricErrors):
        return str(error) or _get_title(error.code)
    if len(items) == 1:
        return items[0].detail
    return f"{len(items)} places need a change; nothing was judged or stored."


def _list_items(error: KeysetError) -> list[ProblemItem]:
    match error:
        case AnswerRefused():
            return [_to_item(each.detail) for each in error.errors]
        case FieldError():
            return [_to_item(error.detail)]
        case RubricErrors():
            return [_to_item(_to_detail(each)) for each in error.errors]
        case RubricError():
            return [_to_item(_to_detail(error))]
        case MalformedRequest():
            return [_to_item(each) for each in error.faults]
        case _:
            return []


def _to_item(detail: ErrorDetail) -> ProblemItem:
    """The item for one location; what is empty is left out."""
    values = {name: getattr(detail, name) or None for name in ProblemItem.model_fields}
    return ProblemItem.model_validate(values)


def _to_detail(error: RubricError) -> ErrorDetail:
    # Rubrics arrive by HTTP as members of `rubrics`, and the assignment's own file as `form`.
    name = error.place.file.rpartition("/")[2].removesuffix(".yaml")
    field = ("form",) if name == "assignment" else ("rubrics", name)
    return ErrorDetail(field, error.code, str(error), column=error.place.column)


def build_problem_response(
    problem: Problem, request: Request, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a problem as a response, with the path and the id of the request.

    Programs get a problem document, and people a page.
    """
    complete = problem.model_copy(
        update={
            "instance": request.scope["path"].encode("utf-8", "replace").decode(),
            "request_id": getattr(request.state, "request_id", None),
        }
    )
    content, media_type = render_error(complete, request.scope["path"], find_typed(request))
    return Response(content, problem.status, dict(headers or {}), media_type)


def render_error(
    problem: Problem, path: str, typed: Mapping[str, str] | None = None
) -> tuple[bytes, str]:
    """The body of an error at an address, and its media type."""
    if is_for_people(path):
        return render_error_page(problem, typed), PAGE_MEDIA_TYPE
    return render_problem(problem), MEDIA_TYPE


def install_problems(app: FastAPI) -> None:
    """Make the app answer every error with a problem."""
    app.add_exception_handler(KeysetError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_validation_error)
    app.add_exception_handler(HTTPException, _answer_framework)
    app.add_exception_handler(Exception, _answer_defect)


async def _answer_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, KeysetError), "registered for this type"
    return build_problem_response(to_problem(error), request, build_error_headers(error))


async def _answer_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError), "registered for this type"
    malformed = explain_validation_errors(error.errors(), error.body)
    return build_problem_response(to_problem(malformed), request)


async def _answer_framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "registered for this type"
    status = error.status_code
    if status >= 500:
        return build_problem_response(make_defect_problem(), request)
    code = _FRAMEWORK_CODES.get(status, "request.invalid")
    headers = dict(error.headers or {})
    detail = f"{_get_title(code)}."
    if status == 405:
        headers["Allow"] = ", ".join(_list_methods(request)) or headers.get("Allow", "")
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=headers)
        detail = f"{request.method} is not possible here."
    return build_problem_response(_make_problem(code, status, detail), request, headers)


def _list_methods(request: Request) -> list[str]:
    """All methods that the address takes; the framework itself knows those of one route only."""
    found: set[str] = set()
    for context in iter_route_contexts(request.app.routes):
        pattern: Any = getattr(context, "path_regex", None)
        if pattern is not None and pattern.match(request.url.path):
            found.update(getattr(context, "methods", None) or ())
    # HEAD works wherever GET does, and OPTIONS everywhere.
    more = {"OPTIONS", "HEAD"} if "GET" in found else {"OPTIONS"}
    return sorted(found | more) if found else []


async def _answer_defect(request: Request, error: Exception) -> Response:
    return build_problem_response(make_defect_problem(), request)


def find_status(code: str) -> int:
    """The HTTP status of an error code."""
    if code in CONFLICT_CODES:
        return STATUSES[RequestRefused]
    known = {**MALFORMED_STATUSES, "service.defect": 500, "method.unknown": 405}
    return known.get(code) or next((STATUSES[kind] for kind in STATUSES if kind.code == code), 422)


def explain_validation_errors(
    errors: Iterable[Mapping[str, Any]], body: object
) -> MalformedRequest:
    """Return pydantic's errors as one error that lists every location, without what was sent."""
    details: list[ErrorDetail] = []
    in_body: list[Mapping[str, Any]] = []
    for error in islice(errors, 4 * MAX_PLACES):
        source, *loc = error.get("loc") or ("body",)
        if source == "body":
            in_body.append({**error, "loc": tuple(loc)})
            continue
        # The value of a parameter is not looked into: its name is its location.
        data = {str(name): error.get("input") for name in loc[:1] if error["type"] != "missing"}
        for each in locate_errors([{**error, "loc": tuple(loc[:1])}], data, JSON):
            details.append(_to_error_detail(each, source, f"The {source}"))
    details += [
        _to_error_detail(each, "body", "The body") for each in locate_errors(in_body, body, JSON)
    ]
    if len(details) == 1:
        message = details[0].detail
    else:
        shown = min(len(details), MAX_PLACES)
        message = f"{shown} places need a change; nothing was done."
    return MalformedRequest(message, code="request.invalid", faults=tuple(details))


def _to_error_detail(error: InvalidValue, source: str, root_name: str) -> ErrorDetail:
    field = tuple(_printable(str(step)) for step in error.path)
    sentence = error.to_sentence(_format_name(error.path) or root_name)
    return ErrorDetail(field, error.code, sentence, error.expected, error.got, source=source)


def _format_name(path: FieldPath) -> str:
    """A path as in code: ``answer.q[3]``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{_printable(step)}" for step in path)
    return "".join(steps).removeprefix(".")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:60])
