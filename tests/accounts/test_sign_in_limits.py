"""Passwords are tried under a limit for each login, in all processes together."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from pwdlib import PasswordHash
from sqlalchemy import func, select

from grader.accounts.sign_in import delete_old_password_tries, hash_password, set_password
from grader.store.database import Database
from grader.store.tables.credentials import FailedSignInRow
from grader.web import hashing
from tests.support.world import World, make_service, make_service_beside

PASSWORD = "correct horse staple"
MOST = 10


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (), "two": ()}) as world:
        with world.database.write() as session:
            hashed = hash_password(PASSWORD)
            set_password(session, world.people["ada"], hashed, at=world.clock(), by="test")
        yield world


def try_password(world: World, password: str, login: str = "ada") -> Response:
    return world.browser().post("/sign-in", data={"login": login, "password": password})


def try_by_api(world: World, password: str, login: str = "ada") -> Response:
    return world.browser().post("/api/v1/session", json={"login": login, "password": password})


def told(response: Response) -> tuple[int, Any, str]:
    text = response.text
    return response.status_code, response.headers.get("Retry-After"), text


def test_after_ten_wrong_passwords_the_right_one_waits_too(world: World) -> None:
    assert {try_password(world, f"wrong {n}").status_code for n in range(MOST)} == {401}

    refused, by_api = try_password(world, PASSWORD), try_by_api(world, PASSWORD)

    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "900")
    assert "too many wrong passwords for this login. Try again in 15 minutes" in refused.text
    assert "<h1>Sign in</h1>" in refused.text
    assert (by_api.status_code, by_api.json()["code"]) == (429, "rate.exceeded")


def test_the_owner_is_not_locked_out_for_ever_and_a_link_works_at_once(world: World) -> None:
    for number in range(MOST):
        try_password(world, f"wrong {number}")

    assert world.browser().post(f"/sign-in/{world.link('ada')}").status_code == 303
    world.clock.turn(minutes=14)
    assert try_password(world, PASSWORD).headers["Retry-After"] == "60"
    world.clock.turn(minutes=1)
    assert try_password(world, PASSWORD).status_code == 303


def test_a_right_password_resets_the_limit(world: World) -> None:
    for _ in range(3):
        for number in range(MOST - 1):
            assert try_password(world, f"wrong {number}").status_code == 401
        assert try_password(world, PASSWORD).status_code == 303


def test_a_login_that_does_not_exist_has_the_same_limit_and_the_same_words(world: World) -> None:
    heard = {
        login: [told(try_by_api(world, "wrong wrong", login))[:2] for _ in range(MOST + 2)]
        for login in ("ada", "bob", "nobody", "no/login at all", "x" * 200)
    }

    assert heard["ada"] == [(401, None)] * MOST + [(429, "900")] * 2
    assert all(each == heard["ada"] for each in heard.values())
    pages = {try_password(world, "wrong", login).text for login in ("ada", "nobody")}
    assert len(pages) == 1


def test_a_login_is_counted_however_it_is_spelt_and_not_stored_as_text(world: World) -> None:
    for login in ("ada", "ADA", " ada ", "Ada") * 3:
        try_password(world, "wrong wrong", login)

    assert try_password(world, PASSWORD).status_code == 429
    with world.database.read() as session:
        (row,) = session.execute(select(FailedSignInRow.login_digest, FailedSignInRow.tries)).all()
    assert (len(row[0]), row[1]) == (64, MOST)


def test_all_processes_share_the_limit(world: World) -> None:
    with make_service_beside(world) as other:
        barrier = threading.Barrier(16)

        def send(number: int) -> int:
            barrier.wait()
            return try_by_api((world, other)[number % 2], f"wrong {number}").status_code

        with ThreadPoolExecutor(16) as pool:
            statuses = sorted(pool.map(send, range(16)))

    assert statuses == [401] * MOST + [429] * (16 - MOST)


def test_over_the_limit_nothing_is_hashed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(MOST):
        try_password(world, f"wrong {number}")
    hashed = []
    monkeypatch.setattr(PasswordHash, "verify", lambda *sent: hashed.append(sent))

    assert try_password(world, PASSWORD).status_code == 429
    assert hashed == []


def test_old_counts_are_forgotten(world: World) -> None:
    try_password(world, "wrong", "nobody")
    world.clock.turn(minutes=10)
    try_password(world, "wrong", "ada")
    world.clock.turn(minutes=6)

    world.service.writer.run_now(
        lambda session: delete_old_password_tries(session, at=world.clock())
    )

    with world.database.read() as session:
        assert session.scalar(select(func.count()).select_from(FailedSignInRow)) == 1


def test_a_new_password_from_the_operator_works_at_once(world: World) -> None:
    for number in range(MOST):
        try_password(world, f"wrong {number}")
    with world.database.write() as session:
        hashed = hash_password("another horse staple")
        set_password(session, world.people["ada"], hashed, at=world.clock(), by="operator")

    assert try_password(world, "another horse staple").status_code == 303


def test_two_passwords_are_hashed_at_once_and_a_crowd_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashing, "MAX_WAITING", 2)
    going_on, most, counting = [0], [0], threading.Lock()
    may_end = threading.Event()
    verify = PasswordHash.verify

    def verify_slowly(self: Any, password: bytes, hashed: str) -> bool:
        with counting:
            going_on[0] += 1
            most[0] = max(most[0], going_on[0])
        may_end.wait(10)
        with counting:
            going_on[0] -= 1
        return verify(self, password, hashed)

    monkeypatch.setattr(PasswordHash, "verify", verify_slowly)
    # The health check is answered meanwhile, because the event loop is free.
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(try_by_api, world, PASSWORD) for _ in range(8)]
        refused = [each.result() for each in islice(as_completed(sent, timeout=30), 4)]
        assert world.get("/healthz").status_code == 200
        may_end.set()
        statuses = sorted(each.result().status_code for each in sent)

    assert statuses == [201] * 4 + [503] * 4
    assert {each.headers["Retry-After"] for each in refused} == {"2"}
    assert most[0] == 2


def test_what_is_no_text_is_a_wrong_password(world: World) -> None:
    def post(browser: TestClient, body: bytes) -> int:
        headers = {"Content-Type": "application/json"}
        return browser.post("/api/v1/session", content=body, headers=headers).status_code

    for body in (
        rb'{"login": "ada", "password": "\ud800"}',
        rb'{"login": "\ud800", "password": "x"}',
        b'{"login": "a\\u0000", "password": "\\u0000"}',
    ):
        assert post(world.browser(), body) in (400, 401, 422), body
