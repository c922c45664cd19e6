"""Problems in OpenAPI: the errors each call can return, with examples."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from grader.errors import (
    AnswerRefused,
    ErrorDetail,
    FieldError,
    FileLocation,
    ForgedRequest,
    KeysetError,
    MalformedRequest,
    MissingRole,
    MissingScope,
    MissingVersion,
    NotFound,
    NotSignedIn,
    OutdatedVersion,
    RequestRefused,
    ReusedIdempotencyKey,
    RubricError,
    RubricErrors,
    TooManyRequests,
    Unavailable,
)
from grader.web.errors.model import MEDIA_TYPE, Problem
from grader.web.errors.problems import build_error_headers, make_defect_problem, to_problem

_REFERENCE = {"$ref": "#/components/schemas/Problem"}

_INVALID_LIMIT = ErrorDetail(
    field="limit",
    source="query",
    code="value.range",
    detail="limit must be at most 200.",
    expected="at most 200",
    got="a number",
)

#: One realistic error of each kind; the status follows from the table in `problems`.
EXAMPLES: tuple[KeysetError, ...] = (
    MalformedRequest('The key "q" appears twice in one object.', code="json.repeated"),
    MalformedRequest("The address contains the character U+0000.", code="http.invalid"),
    MalformedRequest("The body did not arrive within 15 seconds.", code="body.slow"),
    MalformedRequest("The body may have at most 1048576 bytes.", code="body.too_large"),
    MalformedRequest("The body must be application/json in UTF-8.", code="body.type"),
    MalformedRequest(_INVALID_LIMIT.detail, code="request.invalid", faults=(_INVALID_LIMIT,)),
    MalformedRequest("A request may have at most 100 headers.", code="headers.too_large"),
    NotSignedIn(),
    MissingScope("attempts:write"),
    MissingRole("Only an instructor of this course may do this."),
    ForgedRequest("This request comes from another site."),
    NotFound(),
    RequestRefused("All 3 attempts at this question are used.", code="attempts.none_left"),
    ReusedIdempotencyKey("This Idempotency-Key was already used with another answer."),
    OutdatedVersion("Somebody else has changed this score since you read it.", current="7"),
    MissingVersion("Send If-Match with the ETag of the score you are changing."),
    TooManyRequests("Try again in 4 seconds.", retry_after_seconds=4),
    AnswerRefused(
        [
            FieldError(
                "M, row 2 has 3 numbers; 5 are needed.",
                field="M",
                code="row.length",
                path=(1,),
                expected="5 numbers",
                got="3 numbers",
            )
        ]
    ),
    RubricErrors(
        [
            RubricError(
                "must be a number, but it is text",
                place=FileLocation("c-i.yaml", 8, 13),
                field="criteria.1.points",
            )
        ]
    ),
    Unavailable("The database is not responding at the moment.", retry_after_seconds=2),
)

_DESCRIPTIONS = {
    400: "The request cannot be read.",
    401: "Not signed in.",
    403: "Signed in, but not allowed to do this.",
    404: "Not found, or not the caller's.",
    405: "The address does not support this method.",
    408: "The body did not arrive in time.",
    409: "Not possible in the current state; nothing was changed.",
    412: "Somebody else has changed it in the meantime.",
    413: "The body is too large.",
    415: "The body has the wrong type or is compressed.",
    421: "The service has another address.",
    422: "Something in the request needs a change; nothing was done.",
    428: "The change must name the version that it changes.",
    429: "Too many requests.",
    431: "The headers are too large.",
    500: "Something went wrong on our side.",
    503: "The service is temporarily unavailable.",
}

#: Statuses of errors found while the body is read, before the call begins.
_BODY_STATUSES = (400, 408, 413, 415, 422)


def build_error_responses(*errors: type[KeysetError] | int) -> dict[int | str, dict[str, Any]]:
    """FastAPI's ``responses=`` for types of errors or for statuses.

    Raises
    ------
    ValueError
        If one of them has no example here.
    """
    found: dict[int | str, dict[str, Any]] = {}
    for error in errors:
        if error == 500:
            found[500] = _build_response(
                500, {"service.defect": _to_example(make_defect_problem())}
            )
            continue
        examples = [example for example in EXAMPLES if _is_of(example, error)]
        if not examples:
            raise ValueError(f"There is no example of {error}.")
        for example in examples:
            _add_example(found, example)
    return found


def _is_of(example: KeysetError, kind: type[KeysetError] | int) -> bool:
    if isinstance(kind, int):
        return to_problem(example).status == kind
    return isinstance(example, kind)


def _add_example(found: dict[int | str, dict[str, Any]], example: KeysetError) -> None:
    problem = to_problem(example)
    response = found.setdefault(problem.status, _build_response(problem.status, {}))
    response["content"][MEDIA_TYPE]["examples"][problem.code] = _to_example(problem)
    for name in build_error_headers(example):
        if name != "Connection":
            headers = response.setdefault("headers", {})
            headers[name] = {"schema": {"type": "string"}}


def _build_response(status: int, examples: dict[str, Any]) -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": _REFERENCE, "examples": examples}}
    return {"description": _DESCRIPTIONS[status], "content": content}


def _to_example(problem: Problem) -> dict[str, Any]:
    complete = problem.model_copy(update={"request_id": "01f3c9a2", "instance": "/api/v1/…"})
    return {"summary": problem.title, "value": complete.model_dump(mode="json", exclude_none=True)}


def install_openapi(app: FastAPI) -> None:
    """Describe problems in the app's OpenAPI instead of FastAPI's own errors."""
    describe = app.openapi

    def describe_with_problems() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _with_problems(describe())
        return app.openapi_schema

    # FastAPI documents replacing this method.
    app.openapi = describe_with_problems  # type: ignore[method-assign]


def _with_problems(spec: dict[str, Any]) -> dict[str, Any]:
    schemas = spec.setdefault("components", {}).setdefault("schemas", {})
    own = Problem.model_json_schema(
        ref_template="#/components/schemas/{model}", mode="serialization"
    )
    schemas.update(own.pop("$defs", {}))
    schemas["Problem"] = own
    for path in spec.get("paths", {}).values():
        for operation in path.values():
            _replace_errors(operation)
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    return spec


def _replace_errors(operation: dict[str, Any]) -> None:
    known = operation.setdefault("responses", {})
    if "HTTPValidationError" in str(known.get("422", {}).get("content", "")):
        known["422"] = _build_malformed_response(422)
    if operation.get("parameters"):
        # Parameters in the address are checked before the call begins.
        known.setdefault("400", _build_malformed_response(400))
    if "requestBody" in operation:
        for status in _BODY_STATUSES:
            known.setdefault(str(status), _build_malformed_response(status))


def _build_malformed_response(status: int) -> dict[str, Any]:
    return build_error_responses(MalformedRequest)[status]
