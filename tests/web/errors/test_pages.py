"""Errors at an address for people are pages, wherever they are raised."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI

from grader.errors import Unavailable
from grader.store.database import Database
from grader.web.http.rate_limits import RateLimit
from tests.support.browsers import Browser
from tests.support.server import serve
from tests.support.world import EXPLORATION, World, make_service

QUESTION = f"/courses/one/assignments/{EXPLORATION}/questions/3b"
OVERRIDE = f"{QUESTION}/students/ada"


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    published = {"one": (EXPLORATION,), "two": ()}
    with make_service(sqlite_database, published=published) as world:
        yield world


def check_error(answer: Any, status: int, says: str = "") -> str:
    """It is a whole page with this status, and a way back."""
    text: str = answer.text
    assert answer.status_code == status, text[:500]
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "<!doctype html>" in text
    assert "Back to my work" in text
    assert says in text
    return text


MALFORMED = {"Content-Type": "application/x-www-form-urlencoded"}
ERRORS = [
    pytest.param("GET", "/nowhere", {}, b"", 404, id="an unknown address"),
    pytest.param("GET", "/courses/none", {}, b"", 404, id="an unknown course"),
    pytest.param("GET", "/static/none.css", {}, b"", 404, id="an unknown file"),
    pytest.param("DELETE", "/courses/one", {}, b"", 405, id="a method that is not taken"),
    pytest.param("BREW", "/sign-in", {}, b"", 405, id="a method that nobody knows"),
    pytest.param("POST", OVERRIDE, MALFORMED, b"a" * 2**20 + b"b", 413, id="a large body"),
    pytest.param("POST", OVERRIDE, {"Content-Type": "text/plain"}, b"a", 415, id="another type"),
    pytest.param(
        "POST", OVERRIDE, MALFORMED | {"Content-Encoding": "gzip"}, b"a", 415, id="compressed"
    ),
    pytest.param("POST", OVERRIDE, MALFORMED, b"%ff=\xff", 400, id="a form that cannot be read"),
    pytest.param("POST", OVERRIDE, MALFORMED, b"points=1", 403, id="a form without a token"),
    pytest.param("POST", QUESTION, {"Content-Type": "multipart/form-data"}, b"a", 400, id="parts"),
    pytest.param("GET", f"/courses/{'a' * 65}", {}, b"", 422, id="a name that is too long"),
    pytest.param("GET", f"{QUESTION}?restore={'a' * 41}", {}, b"", 422, id="a query too long"),
    pytest.param("GET", "/courses/a%00b", {}, b"", 400, id="NUL in the address"),
    pytest.param(
        "GET", "/", {f"X-{each}": "a" for each in range(101)}, b"", 431, id="many headers"
    ),
    pytest.param("POST", "/sign-in", {"Origin": "https://evil.example"}, b"", 403, id="forged"),
]


@pytest.mark.parametrize("is_htmx", [False, True], ids=["browser", "htmx"])
@pytest.mark.parametrize(("method", "path", "headers", "body", "status"), ERRORS)
def test_an_error_of_a_page_is_a_page(
    world: World,
    method: str,
    path: str,
    headers: dict[str, str],
    body: bytes,
    status: int,
    is_htmx: bool,
) -> None:
    browser = Browser(world, "irene")
    sent = headers | ({"HX-Request": "true"} if is_htmx else {})

    answer = browser.client.request(method, path, headers=sent, content=body)

    check_error(answer, status)


@pytest.mark.parametrize("path", ["/api/nowhere", "/api", "/api/v1/courses/none"])
def test_an_error_of_the_api_is_a_problem(world: World, path: str) -> None:
    answer = world.get(path, "ada")

    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_defect_of_a_page_is_a_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("a secret of the code")

    monkeypatch.setattr("grader.web.pages.staff.home.load_staff_home", fail)

    answer = Browser(world, "irene").call("GET", "/courses/one")

    text = check_error(answer, 500, answer.headers["X-Request-ID"])
    assert "secret" not in text


def test_too_many_requests_are_told_by_a_page(sqlite_database: Database) -> None:
    rules = {"read": RateLimit(per_minute=1, burst=2)}
    published = {"one": (EXPLORATION,), "two": ()}
    with make_service(sqlite_database, rules=rules, published=published) as world:
        browser = Browser(world, "irene")
        answers = [browser.client.get("/courses/one") for _ in range(3)]

    check_error(answers[-1], 429)
    assert int(answers[-1].headers["Retry-After"]) >= 1


def test_what_was_typed_is_kept_where_the_service_cannot_take_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise Unavailable("The service is busy.", retry_after_seconds=7)

    monkeypatch.setattr("grader.web.pages.gradebook.student_question.override_grade", refuse)
    browser = Browser(world, "irene")
    form = {"points": "2.5", "reason": "The <idea> is right.", "version": "g0"}

    answer = browser.call("POST", OVERRIDE, form)
    text = check_error(answer, 503)

    assert answer.headers["Retry-After"] == "7"
    assert ">\n2.5</textarea>" in text
    assert ">\nThe &lt;idea&gt; is right.</textarea>" in text
    assert '<input type="hidden" name="version" value="g0">' in text
    assert f'name="csrf" value="{browser.csrf()}"' in text


def test_what_another_site_made_a_browser_send_is_not_shown(world: World) -> None:
    form = {"csrf": "wrong", "points": "2.5", "reason": "Send me again!"}

    answer = Browser(world, "irene").call("POST", OVERRIDE, form)

    assert "Send me again" not in check_error(answer, 403)


RAW = [
    pytest.param(b"GET /courses HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n", 400, id="NUL in a header"),
    pytest.param(b"GET /courses HTTP/1.1\r\nHost: x\r\n" + b"A: " + b"b" * 70_000, 431, id="large"),
    pytest.param(
        b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, id="a length"
    ),
]


@pytest.mark.parametrize(("request_", "status"), RAW)
def test_what_is_not_http_is_refused_by_a_page(world: World, request_: bytes, status: int) -> None:
    app = world.client.app
    assert isinstance(app, FastAPI)
    with (
        serve(app) as port,
        socket.create_connection(("127.0.0.1", port), timeout=10) as connection,
    ):
        connection.sendall(request_)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))

    head, _, body = received.partition(b"\r\n\r\n")
    assert int(head.split()[1]) == status
    assert b"content-type: text/html; charset=utf-8" in head
    assert b"<!doctype html>" in body
