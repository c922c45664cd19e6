"""A person's own account: a new password, signing out everywhere, revoking all tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from grader.accounts.sign_in import hash_password, set_password
from grader.store.database import Database
from grader.web.auth import CSRF_HEADER
from tests.support.world import World, make_service

OLD, NEW = "correct horse staple", "another horse staple"


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (), "two": ()}) as world:
        with world.database.write() as session:
            hashed = hash_password(OLD)
            set_password(session, world.people["ada"], hashed, at=world.clock(), by="test")
        yield world


def sign_in(world: World, login: str = "ada") -> TestClient:
    browser = world.browser()
    assert browser.post(f"/sign-in/{world.link(login)}").status_code == 303
    return browser


def send(browser: TestClient, path: str, **fields: str) -> Response:
    token = browser.get("/api/v1/session").json()["csrf_token"]
    return browser.post(path, data={"csrf": token, **fields})


def change(browser: TestClient, old: str, new: str, again: str | None = None) -> Response:
    return send(
        browser,
        "/account/password",
        old=old,
        password=new,
        repeated=new if again is None else again,
    )


def is_signed_in(browser: TestClient) -> bool:
    return browser.get("/api/v1/me").status_code == 200


def try_password(world: World, password: str, login: str = "ada") -> int:
    sent = {"login": login, "password": password}
    return world.browser().post("/sign-in", data=sent).status_code


def test_a_new_password_ends_all_sessions_but_that_of_the_browser_which_is_renewed(
    world: World,
) -> None:
    here, elsewhere, bob = sign_in(world), sign_in(world), sign_in(world, "bob")
    before = here.cookies["keyset_session"]

    done = change(here, OLD, NEW)

    assert (done.status_code, done.headers["Location"]) == (303, "/account?done=password")
    assert here.cookies["keyset_session"] != before
    assert [is_signed_in(each) for each in (here, elsewhere, bob)] == [True, False, True]
    old_one = world.browser()
    old_one.cookies.set("keyset_session", before)
    assert not is_signed_in(old_one), "the old cookie"
    assert world.get("/api/v1/me", "ada").status_code == 200, "tokens stay"
    assert "Your password is changed" in here.get("/account?done=password").text
    assert [try_password(world, each) for each in (OLD, NEW)] == [401, 303]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        pytest.param(("wrong horse staple", NEW), "This is not your password.", id="old"),
        pytest.param((OLD, "tiny9pass"), "A password has 10 to 200 characters.", id="short"),
        pytest.param((OLD, NEW, OLD), "This is not the same password.", id="repeated"),
    ],
)
def test_a_password_that_cannot_be_changed_is_told_and_nothing_ends(
    world: World, sent: tuple[str, ...], said: str
) -> None:
    here, elsewhere = sign_in(world), sign_in(world)

    page = change(here, *sent)

    assert page.status_code == 422
    assert said in page.text
    assert not any(each in page.text for each in sent), "passwords are not sent back"
    assert [is_signed_in(each) for each in (here, elsewhere)] == [True, True]
    assert try_password(world, OLD) == 303


def test_the_old_password_cannot_be_guessed_with_a_stolen_session(world: World) -> None:
    browser = sign_in(world)
    statuses = [change(browser, f"wrong horse {n}", NEW).status_code for n in range(11)]

    assert statuses == [422] * 10 + [429]
    assert change(browser, OLD, NEW).headers["Retry-After"] == "900"


def test_whoever_has_no_password_sets_one(world: World) -> None:
    browser = sign_in(world, "bob")
    page = browser.get("/account").text
    assert "You have no password" in page
    assert 'name="old"' not in page

    assert change(browser, "", NEW).status_code == 303
    assert try_password(world, NEW, "bob") == 303
    assert 'name="old"' in browser.get("/account").text


def test_a_password_set_by_the_operator_ends_the_sessions(world: World) -> None:
    browser = sign_in(world)
    with world.database.write() as session:
        hashed = hash_password(NEW)
        set_password(session, world.people["ada"], hashed, at=world.clock(), by="operator")

    assert not is_signed_in(browser)


def test_the_page_lists_the_browsers_and_marks_this_one(world: World) -> None:
    here = sign_in(world)
    world.clock.turn(hours=1)
    sign_in(world)
    sign_in(world, "bob")

    page = here.get("/account").text

    rows = re.findall(r"<td>(?:<b>)?(this one|another one)", page)
    assert rows == ["another one", "this one"], "the newest first"
    assert "ada@people.example" in page


def test_signing_out_everywhere_ends_all_sessions_and_no_token(world: World) -> None:
    here, elsewhere, bob = sign_in(world), sign_in(world), sign_in(world, "bob")

    done = send(here, "/account/sign-out")

    assert (done.status_code, done.headers["Location"]) == (303, "/sign-in")
    assert [is_signed_in(each) for each in (here, elsewhere, bob)] == [False, False, True]
    assert world.get("/api/v1/me", "ada").status_code == 200


def test_revoking_all_tokens_ends_them_and_no_session(world: World) -> None:
    browser = sign_in(world)
    assert "ends in" in browser.get("/account").text

    assert send(browser, "/account/revoke-tokens").headers["Location"] == "/account?done=tokens"

    assert world.get("/api/v1/me", "ada").status_code == 401
    assert world.get("/api/v1/me", "bob").status_code == 200
    page = browser.get("/account?done=tokens").text
    assert "All your tokens are revoked." in page
    assert "None. " in page


def test_a_program_lists_sessions_and_signs_out_everywhere(world: World) -> None:
    browser = sign_in(world)
    (listed,) = browser.get("/api/v1/sessions").json()
    assert listed["is_current"] is True
    assert [each["is_current"] for each in world.read("/api/v1/sessions", "ada")] == [False]

    assert world.call("DELETE", "/api/v1/sessions", "ada").status_code == 204

    assert not is_signed_in(browser)
    assert world.read("/api/v1/sessions", "ada") == []


def test_signing_out_everywhere_may_revoke_the_tokens_as_well(world: World) -> None:
    browser = sign_in(world)
    headers = {CSRF_HEADER: browser.get("/api/v1/session").json()["csrf_token"]}

    done = browser.delete("/api/v1/sessions?tokens=true", headers=headers)

    assert done.status_code == 204
    assert not is_signed_in(browser)
    assert world.get("/api/v1/me", "ada").status_code == 401
