"""Bodies: everything that is not exactly what a route takes is refused, kindly and early."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from grader.web.http.body import BodyLimits, RequestBody
from tests.support.sample_app import Nested, Sample, Vector, make_sample
from tests.support.server import connect, read_all, serve, status_of

VECTORS = "/api/v1/courses/c1/vectors"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def sample() -> Sample:
    return make_sample()


def post(sample: Sample, body: bytes, path: str = VECTORS, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return sample.client.post(path, content=body, headers={**JSON, **named})


def test_a_body_as_described_is_taken(sample: Sample) -> None:
    assert post(sample, b'{"q": [1, 2.5, -0.0, 1e-320]}').json() == {"entries": 4}


BAD_JSON = [
    pytest.param(b'{"q": [NaN]}', "json.number", id="NaN"),
    pytest.param(b'{"q": [Infinity]}', "json.number", id="Infinity"),
    pytest.param(b'{"q": [-Infinity]}', "json.number", id="minus Infinity"),
    pytest.param(b'{"q": [1e309]}', "json.number", id="beyond double precision"),
    pytest.param(b'{"q": [-1e999]}', "json.number", id="far beyond double precision"),
    pytest.param(b'{"q": [' + b"9" * 5000 + b"]}", "json.number", id="an integer of 5000 digits"),
    pytest.param(b'{"q": [1], "q": [2]}', "json.repeated", id="a key twice"),
    pytest.param(
        b'{"q": [1], "rest": [{"a": {"b": 1, "\\u0062": 2}}]}',
        "json.repeated",
        id="a key twice, deep inside and written otherwise",
    ),
    pytest.param(b"[" * 10_000, "json.depth", id="ten thousand levels"),
    pytest.param(b'{"a":' * 10_000, "json.depth", id="ten thousand objects"),
    pytest.param(b"[" * 500 + b"]" * 500, "json.depth", id="five hundred levels, closed"),
    pytest.param(b'\xef\xbb\xbf{"q": [1]}', "json.encoding", id="byte order mark"),
    pytest.param('{"q": [1]}'.encode("utf-16"), "json.encoding", id="UTF-16"),
    pytest.param('{"q": [1]}'.encode("utf-16-le"), "json.invalid", id="UTF-16 without a mark"),
    pytest.param(b'{"title": "\\ud800"}', "json.encoding", id="lone surrogate"),
    pytest.param(b'{"title": "\xff"}', "json.encoding", id="no UTF-8"),
    pytest.param(b'{"q": [1]} x', "json.invalid", id="trailing garbage"),
    pytest.param(b'{"q": [1]}{"q": [1]}', "json.invalid", id="two values"),
    pytest.param(b'{"q": [1,]}', "json.invalid", id="trailing comma"),
    pytest.param(b"{'q': [1]}", "json.invalid", id="single quotes"),
    pytest.param(b'{"q": [1', "json.invalid", id="cut off"),
    pytest.param(b"  ", "json.invalid", id="spaces only"),
    pytest.param(b'{"title": "a\nb"}', "json.invalid", id="raw line end in a string"),
]


@pytest.mark.parametrize(("body", "code"), BAD_JSON)
def test_what_is_not_strict_json_is_refused_with_its_code(
    sample: Sample, body: bytes, code: str
) -> None:
    answer = post(sample, body)

    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_fault_in_json_is_told_with_line_and_column(sample: Sample) -> None:
    answer = post(sample, b'{"q": [1],\n "title" 3}')

    assert "line 2, column 10" in answer.json()["detail"]


BAD_VALUES = [
    pytest.param({"q": [1, True]}, "#/q/1", id="true for a number"),
    pytest.param({"q": [1, 2, "3"]}, "#/q/2", id="a numeric string for a number"),
    pytest.param({"q": [None]}, "#/q/0", id="null for a number"),
    pytest.param({"q": {"0": 1}}, "#/q", id="an object for a list"),
    pytest.param({"q": [1], "score": 10}, "#/score", id="a member too many"),
    pytest.param({}, "#/q", id="a member missing"),
    pytest.param({"q": [1], "due_at": 1763300000}, "#/due_at", id="a number for a time"),
    pytest.param({"q": [1], "due_at": "2026-11-16T10:00:00"}, "#/due_at", id="no offset"),
    pytest.param({"q": [1], "kind": "diagonal"}, "#/kind", id="none of the choices"),
    pytest.param({"q": [1], "either": [1, "x"]}, "#/either/1", id="inside one branch of a union"),
    pytest.param({"q": [1], "title": "a\0b"}, "#/title", id="U+0000"),
    pytest.param({"q": [1], "rest": [{"a/b": "\0"}]}, "#/rest/0/a~1b", id="U+0000 anywhere"),
]


@pytest.mark.parametrize(("body", "pointer"), BAD_VALUES)
def test_a_value_of_another_type_is_refused_at_its_place(
    sample: Sample, body: Any, pointer: str
) -> None:
    answer = post(sample, json.dumps(body).encode())

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


@pytest.mark.parametrize("body", [b"null", b"[]", b"3", b'"text"', b"true"])
def test_another_value_than_an_object_is_refused(sample: Sample, body: bytes) -> None:
    assert post(sample, body).status_code == 422


def test_times_decimals_and_tuples_are_taken_as_json_writes_them(sample: Sample) -> None:
    body = {
        "inside": {"q": [1], "due_at": "2026-11-16T10:00:00Z", "points": "0.10"},
        "flags": [True],
    }

    assert post(sample, json.dumps(body).encode(), "/api/v1/nested").json() == [True]


def test_a_body_can_be_made_in_python_too() -> None:
    due = datetime(2026, 11, 16, tzinfo=UTC)
    inside = Vector(q=[1.0], due_at=due, points=Decimal("0.1"))

    assert Nested(inside=inside, flags=(True,)).inside.points == Decimal("0.1")
    with pytest.raises(ValueError, match="finite"):
        Vector(q=[float("nan")])


def test_no_body_where_one_is_needed_is_told_so(sample: Sample) -> None:
    answer = sample.client.post(VECTORS)

    assert (answer.status_code, answer.json()["code"]) == (400, "body.empty")


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
     "application/json; charset=utf-16", "application/jsonp", "application/problem+json", ""],
)  # fmt: skip
def test_json_under_another_type_is_never_parsed(sample: Sample, kind: str) -> None:
    answer = post(sample, b'{"q": [1]}', Content_Type=kind)

    assert (answer.status_code, answer.json()["code"]) == (415, "body.type")


def test_json_without_a_type_is_never_parsed(sample: Sample) -> None:
    assert sample.client.post(VECTORS, content=b'{"q": [1]}').status_code == 415


@pytest.mark.parametrize(
    "kind", ["application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"']
)
def test_utf8_may_be_named(sample: Sample, kind: str) -> None:
    assert post(sample, b'{"q": [1]}', Content_Type=kind).status_code == 200


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "identity, gzip"])
def test_a_compressed_body_is_refused(sample: Sample, encoding: str) -> None:
    answer = post(sample, gzip.compress(b'{"q": [1]}'), Content_Encoding=encoding)

    assert (answer.status_code, answer.json()["code"]) == (415, "body.encoding")


def test_identity_is_no_compression(sample: Sample) -> None:
    assert post(sample, b'{"q": [1]}', Content_Encoding="identity").status_code == 200


def test_a_body_at_the_cap_is_taken_and_one_byte_more_is_not() -> None:
    sample = make_sample(caps=BodyLimits(most_body_bytes=100))
    body = b'{"q": [1]}'.ljust(100)

    assert post(sample, body).status_code == 200
    assert post(sample, body + b" ").status_code == 413


@pytest.mark.parametrize(
    ("length", "status"), [("9" * 5000, 413), ("-1", 400), ("1e3", 400), ("²", 400)]
)
def test_an_odd_content_length_is_refused(sample: Sample, length: str, status: int) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", length.encode("latin-1")),
    ]
    answer = sample.client.post(VECTORS, content=b"{}", headers=headers)

    assert answer.status_code == status


def test_other_types_have_the_same_caps(sample: Sample) -> None:
    path = "/api/v1/files"

    assert post(sample, b"a,b\n", path, Content_Type="text/csv; header=present").json() == 4
    assert post(sample, b"a,b\n", path).status_code == 415
    assert post(sample, b"x" * 2_000_001, path, Content_Type="text/csv").status_code == 413


FORM = "application/x-www-form-urlencoded"


def test_a_form_is_its_fields(sample: Sample) -> None:
    answer = post(sample, b"login=ada+l&note=%C3%A9&empty=", "/api/v1/forms", Content_Type=FORM)

    assert answer.json() == {"login": "ada l", "note": "é", "empty": ""}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"a=1&a=2", id="a field twice"),
        pytest.param(b"a=%ff", id="no UTF-8"),
        pytest.param(b"a=\xff", id="raw bytes"),
        pytest.param(b"a=%00", id="U+0000"),
        pytest.param(b"&".join(b"f%d=1" % n for n in range(101)), id="too many fields"),
    ],
)
def test_a_form_that_can_be_read_in_two_ways_is_refused(sample: Sample, body: bytes) -> None:
    answer = post(sample, body, "/api/v1/forms", Content_Type=FORM)

    assert (answer.status_code, answer.json()["code"]) == (400, "form.invalid")


def test_bodies_stay_described_in_openapi(sample: Sample) -> None:
    spec = sample.app.openapi()
    operation = spec["paths"]["/api/v1/courses/{course}/vectors"]["post"]

    content = operation["requestBody"]["content"]
    assert list(content) == ["application/json"]
    assert content["application/json"]["schema"]["$ref"].endswith("/Vector")
    assert spec["components"]["schemas"]["Vector"]["properties"]["q"]["type"] == "array"
    assert spec["components"]["schemas"]["Vector"]["additionalProperties"] is False


def test_a_mutated_body_is_never_a_defect(sample: Sample) -> None:
    generator = random.Random(7)
    whole = b'{"q": [1, -2.5e3, 0.25], "title": "\\u00e9 \xc3\xa9", "rest": {"a": [null, true]}}'
    seen = set()
    for _ in range(400):
        body = bytearray(whole)
        for _ in range(generator.randint(1, 4)):
            at = generator.randrange(len(body))
            body[at : at + generator.randint(0, 3)] = generator.randbytes(generator.randint(0, 3))
        seen.add(post(sample, bytes(body)).status_code)

    assert seen <= {200, 400, 422}


# On a real server, where bodies come in pieces.


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serve(make_sample(caps=BodyLimits(body_seconds=0.5)).app) as port:
        yield port


def head(*lines: str, path: str = VECTORS) -> bytes:
    fixed = (f"POST {path} HTTP/1.1", "Host: x", "Content-Type: application/json")
    return "\r\n".join([*fixed, *lines, "", ""]).encode()


def test_a_hundred_megabytes_are_refused_as_soon_as_they_are_announced(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(head("Content-Length: 100000000"))
        began = time.monotonic()
        answer = read_all(connection)

    assert status_of(answer) == 413
    assert b"body.too_large" in answer
    assert time.monotonic() - began < 5


def test_a_hundred_megabytes_in_chunks_are_refused_and_never_held(port: int) -> None:
    resident_before = resident_bytes()
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
    sent = 0
    with connect(port) as connection:
        connection.sendall(head("Transfer-Encoding: chunked"))
        try:
            while sent < 100_000_000:
                connection.sendall(piece)
                sent += len(piece)
        except OSError:
            pass  # The server has closed the connection, as it should.
        grown = resident_bytes() - resident_before
        answer = read_all(connection)

    assert status_of(answer) == 413
    assert grown < 30_000_000


def resident_bytes() -> int:
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * 4096


def test_a_client_that_sends_everything_can_still_read_why_it_was_refused(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(head("Content-Length: 3000000") + b" " * 3_000_000)
        answer = read_all(connection)

    assert status_of(answer) == 413
    assert answer.endswith(b"}")


def test_a_slow_body_is_cut(port: int) -> None:
    began = time.monotonic()
    with connect(port) as connection:
        connection.sendall(head("Content-Length: 10") + b'{"q"')
        answer = read_all(connection)

    assert status_of(answer) == 408
    assert b"body.slow" in answer
    assert time.monotonic() - began < 5


def test_chunks_are_put_together(port: int) -> None:
    with connect(port) as connection:
        request = head("Transfer-Encoding: chunked", "Connection: close")
        connection.sendall(request + b'5\r\n{"q":\r\n')
        connection.sendall(b"5\r\n [1]}\r\n0\r\n\r\n")
        answer = read_all(connection)

    assert status_of(answer) == 200


def test_a_body_is_a_model_like_any_other() -> None:
    class Small(RequestBody):
        x: float

    assert Small.model_validate_json(b'{"x": 1}').x == 1.0
    assert Small(x=2).model_dump() == {"x": 2.0}
