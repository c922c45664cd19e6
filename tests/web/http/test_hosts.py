"""The Host header: a service that knows its address answers to no other name."""

from __future__ import annotations

import json

import pytest

from grader.store.database import Database
from grader.web.http.hosts import make_known_hosts
from tests.support.server import connect, read_all, status_of
from tests.support.world import EXPLORATION, World, make_service, question_path, serve_world

BASE = "https://grader.example.edu"
ONE = {"one": (EXPLORATION,), "two": ()}


@pytest.mark.parametrize(
    ("base_url", "host", "is_known"),
    [
        (BASE, b"grader.example.edu", True),
        (BASE, b"Grader.Example.EDU", True),
        (BASE, b"grader.example.edu:443", True),
        (BASE, b"grader.example.edu:80", False),
        (BASE, b"grader.example.edu.", False),
        (BASE, b"evil.example", False),
        (BASE, b"grader.example.edu.evil.example", False),
        (BASE, b"", False),
        (BASE, b"localhost:8000", True),
        (BASE, b"127.0.0.1", True),
        (BASE, b"[::1]:9", True),
        (BASE, b"127.0.0.1.evil.example", False),
        ("http://grader.example.edu:8080", b"grader.example.edu:8080", True),
        ("http://grader.example.edu:8080", b"grader.example.edu", False),
        ("http://[2001:db8::1]", b"[2001:db8::1]:80", True),
    ],
)
def test_only_its_own_names_are_known(base_url: str, host: bytes, is_known: bool) -> None:
    assert make_known_hosts(base_url).has(host) == is_known


def test_a_request_for_another_host_is_refused_on_every_way(sqlite_database: Database) -> None:
    hosts = make_known_hosts(BASE)
    with make_service(sqlite_database, hosts=hosts, published=ONE) as made, serve_world(made) as w:
        submit = question_path(f"{EXPLORATION}/3b") + "/attempts"

        for host in ("evil.example", "x\r\nHost: grader.example.edu", ""):
            assert status_and_code(w, "GET", "/sign-in", host)[0] == 421
            assert status_and_code(w, "POST", submit, host) == (421, "host.unknown")
        assert status_and_code(w, "GET", "/healthz", "10.0.0.7:8000")[0] == 200
        assert status_and_code(w, "GET", "/readyz", "10.0.0.7:8000")[0] == 200
        assert status_and_code(w, "GET", "/sign-in", "grader.example.edu")[0] == 200
        assert status_and_code(w, "POST", submit, "grader.example.edu")[0] == 201


def status_and_code(world: World, method: str, path: str, host: str) -> tuple[int, str]:
    """Send a request for a host, and return the status and the code of a problem."""
    body = json.dumps({"answer": {"q": "k_a"}}) if method == "POST" else ""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {world.tokens['ada']}"
        f"\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    )
    with connect(world.client.base_url.port or 0) as connection:
        connection.sendall(f"{head}Connection: close\r\n\r\n{body}".encode())
        answer = read_all(connection)
    text = answer.partition(b"\r\n\r\n")[2]
    is_problem = b"problem+json" in answer
    return status_of(answer), json.loads(text)["code"] if is_problem else ""
