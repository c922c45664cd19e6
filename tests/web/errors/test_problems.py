"""Errors: every one is a problem with the right status, the right headers and no secrets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Header
from fastapi.testclient import TestClient

from grader.errors import (
    AnswerRefused,
    FieldError,
    FileLocation,
    ForgedRequest,
    FormulaError,
    KeysetError,
    MalformedRequest,
    MissingRole,
    MissingScope,
    MissingVersion,
    NotFound,
    NotSignedIn,
    OperatorError,
    OutdatedVersion,
    RequestRefused,
    ReusedIdempotencyKey,
    RubricError,
    RubricErrors,
    TooManyRequests,
    Unavailable,
)
from grader.web.errors.codes import MEANINGS
from grader.web.errors.openapi import EXAMPLES, build_error_responses, install_openapi
from grader.web.errors.problems import MALFORMED_STATUSES, find_status, to_problem
from tests.support.sample_app import Sample, make_sample

FIELD = FieldError("q, entry 4 is text.", field="q", code="number.type", path=(3,), got="text")
RUBRIC = RubricError("must be a number", place=FileLocation("c-i.yaml", 8, 13), field="points")

TABLE = [
    (NotSignedIn(), 401),
    (MissingScope("grades:read"), 403),
    (MissingRole("Only instructors."), 403),
    (ForgedRequest("From elsewhere."), 403),
    (NotFound(), 404),
    (RequestRefused("No attempts are left.", code="attempts.none_left"), 409),
    (ReusedIdempotencyKey("Another request had it."), 422),
    (OutdatedVersion("It has changed.", current="7"), 412),
    (MissingVersion("Send If-Match."), 428),
    (TooManyRequests("Later.", retry_after_seconds=4), 429),
    (Unavailable("Away.", retry_after_seconds=3), 503),
    (AnswerRefused([FIELD]), 422),
    (FIELD, 422),
    (FormulaError("Unknown name.", column=3), 422),
    (RubricErrors([RUBRIC]), 422),
    (RUBRIC, 422),
    (OperatorError("The file is missing."), 500),
    (KeysetError("No idea."), 500),
    (MalformedRequest("Twice.", code="json.repeated"), 400),
    (MalformedRequest("Large.", code="body.too_large"), 413),
    (MalformedRequest("Type.", code="body.type"), 415),
    (MalformedRequest("Gzip.", code="body.encoding"), 415),
    (MalformedRequest("Slow.", code="body.slow"), 408),
    (MalformedRequest("Other.", code="cursor.unknown"), 422),
]


def raising(error: Exception) -> TestClient:
    router = APIRouter()

    @router.get("/api/raise")
    def fail() -> None:
        raise error

    return make_sample(router).client


@pytest.mark.parametrize(("error", "status"), TABLE, ids=lambda value: type(value).__name__)
def test_every_error_is_a_problem_with_its_status(error: KeysetError, status: int) -> None:
    answer = raising(error).get("/api/raise", headers={"X-Request-ID": "r-1"})

    problem = answer.json()
    assert answer.status_code == problem["status"] == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["type"] == f"/docs/errors#{problem['code']}"
    assert problem["instance"] == "/api/raise"
    assert problem["request_id"] == "r-1"
    assert problem["attempt_used"] is False
    assert problem["title"]
    assert problem["detail"]


@pytest.mark.parametrize(
    ("error", "name", "value"),
    [
        (NotSignedIn(), "WWW-Authenticate", "Bearer"),
        (
            MissingScope("grades:read"),
            "WWW-Authenticate",
            'Bearer error="insufficient_scope", scope="grades:read"',
        ),
        (TooManyRequests("Later.", retry_after_seconds=4), "Retry-After", "4"),
        (Unavailable("Away.", retry_after_seconds=0), "Retry-After", "1"),
        (OutdatedVersion("It has changed.", current="7"), "ETag", '"7"'),
        (OutdatedVersion("It has changed.", current='"a\r\nb"'), "ETag", '"ab"'),
    ],
)
def test_errors_carry_the_headers_that_clients_act_on(
    error: KeysetError, name: str, value: str
) -> None:
    assert raising(error).get("/api/raise").headers[name] == value


def test_a_refused_answer_tells_every_place() -> None:
    other = FieldError("K is missing.", field="K/x", code="field.missing")
    problem = raising(AnswerRefused([FIELD, other])).get("/api/raise").json()

    assert problem["code"] == "number.type"
    assert problem["detail"] == "2 places need a change; nothing was judged or stored."
    assert problem["errors"] == [
        {
            "pointer": "#/answer/q/3",
            "code": "number.type",
            "detail": "q, entry 4 is text.",
            "got": "text",
        },
        {"pointer": "#/answer/K~1x", "code": "field.missing", "detail": "K is missing."},
    ]


def test_a_rubrics_mistakes_are_told_with_file_line_and_column() -> None:
    problem = raising(RubricErrors([RUBRIC])).get("/api/raise").json()

    assert problem["errors"][0]["detail"] == "c-i.yaml:8:13: points: must be a number"
    assert problem["errors"][0]["column"] == 13


@pytest.mark.parametrize("error", [ValueError("a secret"), OperatorError("a secret")])
def test_a_defect_says_nothing_about_itself(error: Exception) -> None:
    answer = raising(error).get("/api/raise")

    assert answer.status_code == 500
    assert answer.json()["code"] == "service.defect"
    assert "a secret" not in answer.text


def test_half_a_surrogate_in_a_message_is_no_second_error() -> None:
    answer = raising(RequestRefused("a \ud800 b")).get("/api/raise")

    assert (answer.status_code, answer.json()["detail"]) == (409, "a ? b")


def test_what_is_not_there_is_a_problem_too(sample: Sample) -> None:
    answer = sample.client.get("/api/nowhere")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_wrong_method_is_told_all_the_right_ones(sample: Sample) -> None:
    answer = sample.client.delete("/api/v1/courses/c1/vectors")

    assert (answer.status_code, answer.json()["code"]) == (405, "method.unknown")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS, POST"


def misfits(sample: Sample, body: Any) -> dict[str, Any]:
    answer = sample.client.post("/api/v1/courses/c1/vectors", json=body)
    assert answer.status_code == 422
    return {error["pointer"]: error for error in answer.json()["errors"]}


def test_misfits_are_told_in_sentences_without_what_was_sent(sample: Sample) -> None:
    found = misfits(sample, {"q": [1, "4711", True], "kind": "x4711", "zz": 4711, "title": 4711})

    assert {pointer: error["detail"] for pointer, error in found.items()} == {
        "#/q/1": "q[1] must be a number, but it is text.",
        "#/q/2": "q[2] must be a number, but it is true or false.",
        "#/kind": "kind must be 'row' or 'column'.",
        "#/zz": "zz is not known here.",
        "#/title": "title must be text, but it is a number.",
    }


def test_a_union_is_one_place(sample: Sample) -> None:
    found = misfits(sample, {"q": [], "either": 3})

    assert found["#/either"]["detail"] == "either must be a list or text, but it is a number."


def test_fifty_places_are_enough(sample: Sample) -> None:
    assert len(misfits(sample, {"q": ["x"] * 5000})) == 50


@pytest.mark.parametrize("limit", ["0", "201", "x", "1.5", "", "9" * 400])
def test_a_parameter_is_told_by_its_name(sample: Sample, limit: str) -> None:
    answer = sample.client.get("/api/v1/courses/c1/vectors", params={"limit": limit})

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == ["#query/limit"]


def test_a_header_is_told_by_its_name() -> None:
    router = APIRouter()

    @router.get("/api/raise")
    def fail(if_match: Annotated[str, Header()]) -> None: ...

    answer = make_sample(router).client.get("/api/raise")

    assert answer.json()["errors"][0]["pointer"] == "#header/if-match"
    assert answer.json()["detail"] == "if-match is missing."


@pytest.fixture(scope="module")
def sample() -> Sample:
    return make_sample()


def test_openapi_has_one_example_for_each_error() -> None:
    described = build_error_responses(NotSignedIn, MissingScope, 422, 500, 503)

    assert set(described) == {401, 403, 422, 500, 503}
    examples = described[422]["content"]["application/problem+json"]["examples"]
    assert {"request.invalid", "row.length", "rubric.invalid"} <= set(examples)
    assert "Retry-After" in described[503]["headers"]
    with pytest.raises(ValueError, match="no example"):
        build_error_responses(418)


def test_every_status_has_an_example() -> None:
    statuses = {to_problem(example).status for example in EXAMPLES}

    assert statuses >= {400, 401, 403, 404, 408, 409, 412, 413, 415, 422, 428, 429, 431, 503}


def test_openapi_speaks_of_problems_only() -> None:
    app = make_sample().app
    install_openapi(app)
    spec = app.openapi()

    assert "HTTPValidationError" not in str(spec)
    posting = spec["paths"]["/api/v1/courses/{course}/vectors"]["post"]["responses"]
    assert {"200", "400", "408", "413", "415", "422"} == set(posting)
    assert list(posting["422"]["content"]) == ["application/problem+json"]
    assert set(spec["components"]["schemas"]["Problem"]["required"]) == {
        "type", "title", "status", "code", "detail"
    }  # fmt: skip


def test_every_code_in_the_sources_has_a_meaning() -> None:
    root = Path(__file__).parents[3] / "grader"
    offline = {"keyset.error", "operator.error"}
    apart = {"cli", "client"}
    sources = [path for path in root.rglob("*.py") if path.parent.name not in apart]
    text = "".join(path.read_text() for path in sources)
    codes = set(re.findall(r'\bcode(?:: str)? ?= ?"([a-z_]+(?:\.[a-z_]+)?)"', text))
    codes |= set(re.findall(r'Fault\(\s*f?"#[^"]*",\s*"([a-z_]+\.[a-z_]+)"', text))

    assert codes - offline - set(MEANINGS) == set()
    assert set(MALFORMED_STATUSES) <= set(MEANINGS)


@pytest.mark.parametrize(("error", "status"), TABLE, ids=lambda value: type(value).__name__)
def test_the_table_of_codes_tells_the_status_that_is_sent(error: KeysetError, status: int) -> None:
    code = to_problem(error).code

    assert code not in MEANINGS or find_status(code) == status
