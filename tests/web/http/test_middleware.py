"""The frame: time, id, headers, one line and one count around every request."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from fastapi import APIRouter, Request
from fastapi.testclient import TestClient
from starlette.responses import PlainTextResponse, StreamingResponse

from grader.web.http.middleware import CONTENT_SECURITY_POLICY
from grader.web.ops.metrics import render_metrics
from tests.support.sample_app import NOW, Sample, make_sample


@pytest.fixture
def sample() -> Sample:
    return make_sample(_routes())


def _routes() -> APIRouter:
    router = APIRouter()

    @router.get("/people/{name}")
    def greet(name: str, request: Request) -> PlainTextResponse:
        request.state.caller = "person-17"
        return PlainTextResponse("hello", headers={"Cache-Control": "max-age=60"})

    @router.get("/api/defect")
    def fail() -> None:
        name = "Ada Lovelace"
        raise ValueError(f"{name} sent something")

    @router.get("/half")
    def fail_late() -> StreamingResponse:
        async def pieces() -> Any:
            yield b"begun"
            raise ValueError("4711")

        return StreamingResponse(pieces())

    return router


def test_a_request_is_stamped_when_it_arrives(sample: Sample) -> None:
    assert sample.client.get("/api/v1/when").json() == NOW.isoformat().replace("+00:00", "Z")


def test_a_request_id_is_taken_over_if_it_is_harmless(sample: Sample) -> None:
    answer = sample.client.get("/api/v1/when", headers={"X-Request-ID": "web-1.a_b"})

    assert answer.headers["x-request-id"] == "web-1.a_b"
    assert sample.lines()[-1]["request_id"] == "web-1.a_b"


@pytest.mark.parametrize("sent", ["", "a b", "x" * 65, "<script>", "é", "a\tb"])
def test_any_other_request_id_is_replaced(sample: Sample, sent: str) -> None:
    answer = sample.client.get("/api/v1/when", headers={b"X-Request-ID": sent.encode("latin-1")})

    assert re.fullmatch("[0-9a-f]{24}", answer.headers["x-request-id"])


@pytest.mark.parametrize("path", ["/api/v1/when", "/nowhere", "/api/defect"])
def test_every_response_carries_the_security_headers(sample: Sample, path: str) -> None:
    headers = sample.client.get(path).headers

    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "permissions-policy" in headers
    assert "strict-transport-security" not in headers


def test_a_route_may_allow_caching(sample: Sample) -> None:
    assert sample.client.get("/people/ada").headers["cache-control"] == "max-age=60"


def test_https_is_kept_to(sample: Sample) -> None:
    answer = TestClient(sample.app, base_url="https://testserver").get("/api/v1/when")

    assert "max-age" in answer.headers["strict-transport-security"]


def test_a_line_names_the_route_and_nothing_about_the_person(sample: Sample) -> None:
    sample.client.get(
        "/people/lovelace?token=in-the-query", headers={"Authorization": "Bearer in-a-header"}
    )

    line = sample.lines()[-1]
    assert line["event"] == "request"
    assert (line["method"], line["route"], line["status"]) == ("GET", "/people/{name}", 200)
    assert line["caller"] == "person-17"
    assert line["milliseconds"] >= 0
    assert "lovelace" not in sample.log.getvalue()
    assert "in-" not in sample.log.getvalue()


def test_the_route_is_told_with_the_prefixes_of_all_routers(sample: Sample) -> None:
    sample.client.get("/api/v1/courses/c1/vectors")
    sample.client.delete("/api/v1/courses/c1/vectors")

    assert [line["route"] for line in sample.lines()] == ["/api/v1/courses/{course}/vectors"] * 2


def test_an_unknown_address_is_not_told(sample: Sample) -> None:
    sample.client.get("/ada/lovelace")
    sample.client.request("BREW", "/ada/lovelace")

    assert [line["route"] for line in sample.lines()] == ["(none)"] * 2
    assert sample.lines()[-1]["method"] == "other"


def test_a_defect_is_answered_as_a_problem_and_noted_without_values(sample: Sample) -> None:
    answer = sample.client.get("/api/defect", headers={"X-Request-ID": "r-1"})

    assert (answer.status_code, answer.json()["request_id"]) == (500, "r-1")
    defect, request = sample.lines()
    assert (defect["event"], defect["request_id"]) == ("defect", "r-1")
    assert defect["exception"][-1] == "builtins.ValueError"
    assert any(
        "test_middleware.py" in place and "in fail" in place for place in defect["exception"]
    )
    assert "Lovelace" not in json.dumps([defect, request])


def test_a_response_that_breaks_off_is_not_passed_for_whole(sample: Sample) -> None:
    with pytest.raises(ValueError, match="4711"):
        sample.client.get("/half")

    assert [line["event"] for line in sample.lines()] == ["defect", "request"]


def test_head_is_a_get_without_its_body(sample: Sample) -> None:
    whole, head = sample.client.get("/people/ada"), sample.client.head("/people/ada")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == whole.headers["content-length"]
    assert sample.lines()[-1]["method"] == "HEAD"


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({f"x-{n}": "1" for n in range(120)}, id="too many"),
        pytest.param({"x-long": "a" * 33_000}, id="too large"),
    ],
)
def test_too_many_headers_are_refused(sample: Sample, headers: dict[str, str]) -> None:
    answer = sample.client.get("/api/v1/when", headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (431, "headers.too_large")


@pytest.mark.parametrize("path", ["/people/a%00b", "/api/v1/courses/c1/vectors?limit=%00"])
def test_the_null_character_never_reaches_a_route(sample: Sample, path: str) -> None:
    assert sample.client.get(path).status_code == 400


def test_every_request_is_counted_once(sample: Sample) -> None:
    sample.client.get("/people/ada")
    sample.client.get("/people/bob")
    sample.client.get("/nowhere")

    text = render_metrics(sample.metrics).decode()
    assert 'keyset_requests_total{method="GET",route="/people/{name}",status="200"} 2.0' in text
    assert 'keyset_requests_total{method="GET",route="(none)",status="404"} 1.0' in text
    assert "bob" not in text
