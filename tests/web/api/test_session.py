"""Browsers that are signed in: how that begins, what it allows, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import timedelta
from http.cookies import Morsel, SimpleCookie
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from grader.accounts.people import end_account
from grader.accounts.sign_in import SESSION_LIFETIME, hash_password, set_password
from grader.domain.roles import Role
from grader.store.database import Database, open_database
from grader.web.auth import CSRF_HEADER, SESSION_COOKIE
from grader.web.http.rate_limits import RateLimit
from tests.support.databases import fresh_url
from tests.support.world import BASE, EXPLORATION, World, make_service, question_path

PASSWORD = "correct horse staple"
SESSION = "/api/v1/session"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with (
        fresh_url("sqlite", tmp_path_factory.mktemp("sessions")) as url,
        closing(open_database(url)) as database,
        make_service(database) as world,
    ):
        give_password(world, "ada")
        yield world


@contextmanager
def opened(folder: Path, **more: Any) -> Iterator[World]:
    """A service of one's own, without assignments."""
    with (
        fresh_url("sqlite", folder) as url,
        closing(open_database(url)) as database,
        make_service(database, published={"one": (), "two": ()}, **more) as world,
    ):
        yield world


def give_password(world: World, login: str) -> None:
    with world.database.write() as session:
        set_password(
            session, world.people[login], hash_password(PASSWORD), at=world.clock(), by="test"
        )


@pytest.fixture
def browser(world: World) -> TestClient:
    """A browser in which Ada is signed in."""
    return signed_in(world, "ada")


def signed_in(world: World, login: str) -> TestClient:
    browser = world.browser()
    response = browser.post(SESSION, json={"code": world.link(login)})
    assert response.status_code == 201
    return browser


def csrf(browser: TestClient) -> dict[str, str]:
    return {CSRF_HEADER: browser.get(SESSION).json()["csrf_token"]}


def cookie_of(response: Response) -> Morsel[str]:
    (cookie,) = SimpleCookie(response.headers["Set-Cookie"]).values()
    return cookie


def secret_of(browser: TestClient) -> str:
    return str(browser.cookies[SESSION_COOKIE])


# Links


def test_a_link_works_once(world: World) -> None:
    code = world.link("ada")
    first, second = world.browser(), world.browser()

    assert first.post(f"/sign-in/{code}").status_code == 303
    assert second.post(f"/sign-in/{code}").status_code == 401
    assert first.get("/api/v1/me").json()["login"] == "ada"
    assert second.get("/api/v1/me").status_code == 401


def test_a_link_works_once_for_many_who_use_it_at_once(database: Database) -> None:
    with make_service(database) as world:
        code = world.link("ada")
        paths = [f"/sign-in/{code}", SESSION] * 4

        def use(path: str) -> int:
            body = {"code": code} if path == SESSION else None
            return world.browser().post(path, json=body).status_code

        with ThreadPoolExecutor(8) as pool:
            statuses = sorted(pool.map(use, paths))

        assert len([each for each in statuses if each in (201, 303)]) == 1
        assert statuses.count(401) == 7


def test_opening_the_page_of_a_link_does_not_use_it_up(world: World) -> None:
    code = world.link("ada")
    browser = world.browser()

    pages = [browser.get(f"/sign-in/{code}") for _ in range(3)]
    head = browser.head(f"/sign-in/{code}")

    assert {each.status_code for each in [*pages, head]} == {200}
    assert all("Set-Cookie" not in each.headers for each in pages)
    assert browser.post(f"/sign-in/{code}").status_code == 303


def test_the_page_of_a_link_tells_nothing_about_it(world: World) -> None:
    used = world.link("ada")
    world.browser().post(f"/sign-in/{used}")

    pages = {
        world.browser().get(f"/sign-in/{each}").text for each in (used, world.link("ada"), "x")
    }

    assert len(pages) == 1
    assert "ada" not in pages.pop().lower().split()


def test_a_link_expires(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        code = world.link("ada", lasts=timedelta(hours=1))
        other = world.link("ada", lasts=timedelta(hours=1))
        world.clock.turn(minutes=59)
        assert world.post(SESSION, None, {"code": code}).status_code == 201
        world.clock.turn(minutes=1)

        assert world.post(SESSION, None, {"code": other}).status_code == 401
        assert world.post(f"/sign-in/{other}").status_code == 401


def test_used_expired_and_unknown_codes_answer_alike(world: World) -> None:
    used = world.link("ada")
    world.post(SESSION, None, {"code": used})
    expired = world.link("ada", lasts=timedelta(0))

    answers = [world.post(SESSION, None, {"code": code}) for code in (used, expired, "never-was")]

    assert {each.status_code for each in answers} == {401}
    assert len({each.json()["detail"] for each in answers}) == 1


# The cookie


def test_no_script_and_no_other_site_gets_the_cookie(world: World) -> None:
    for response in (
        world.post(SESSION, None, {"code": world.link("ada")}),
        world.post(f"/sign-in/{world.link('ada')}"),
    ):
        cookie = cookie_of(response)

        assert cookie.key == "keyset_session"
        assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "lax", "/")
        assert cookie["domain"] == ""
        assert cookie["expires"]


def test_over_https_the_cookie_is_for_this_host_and_https_alone(tmp_path: Path) -> None:
    with opened(tmp_path, base_url="https://grader.example.edu") as world:
        response = world.post(SESSION, None, {"code": world.link("ada")})
        cookie = cookie_of(response)
        browser = signed_in(world, "ada")
        plain = {"Cookie": f"{SESSION_COOKIE}={cookie.value}"}

        assert cookie.key == "__Host-keyset_session"
        assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")
        assert (cookie["httponly"], cookie["samesite"]) == (True, "lax")
        assert browser.get("/api/v1/me").status_code == 200
        # Another host of the same domain can set this one, and it counts for nothing.
        assert world.browser().get("/api/v1/me", headers=plain).status_code == 401


def test_a_new_session_has_a_new_secret(world: World) -> None:
    browser = world.browser()
    browser.cookies.set(SESSION_COOKIE, "chosen-by-somebody-else")

    response = browser.post(SESSION, json={"code": world.link("ada")})

    assert cookie_of(response).value != "chosen-by-somebody-else"


# Changes


CHANGE = ("POST", "/api/v1/tokens", {"label": "mine", "scopes": ["course:read"]})


def change(browser: TestClient, headers: dict[str, str]) -> Response:
    method, path, body = CHANGE
    return browser.request(method, path, json=body, headers=headers)


def test_a_change_needs_the_token_of_the_session(world: World, browser: TestClient) -> None:
    other = signed_in(world, "bob")

    assert change(browser, csrf(browser)).status_code == 201
    for headers in (
        {},
        {CSRF_HEADER: ""},
        {CSRF_HEADER: "0" * 64},
        {CSRF_HEADER: "é"},
        csrf(other),
        {"X-CSRFToken": csrf(browser)[CSRF_HEADER]},
    ):
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        method, path, body = CHANGE
        refused = browser.request(method, path, json=body, headers=encoded)
        assert (refused.status_code, refused.json()["code"]) == (403, "request.forged"), headers


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example", "null", "https://testserver", "http://testserver.evil.example",
        "http://testserver:8080", "http://evil.example/http://testserver", "",
    ],
)  # fmt: skip
def test_a_change_must_not_come_from_another_site(browser: TestClient, origin: str) -> None:
    refused = change(browser, csrf(browser) | {"Origin": origin})

    assert (refused.status_code, refused.json()["code"]) == (403, "request.forged")
    assert change(browser, csrf(browser) | {"Origin": BASE}).status_code == 201


def test_nobody_is_signed_in_by_another_site(world: World) -> None:
    # Else somebody would work, without noticing it, in the account of whoever made the site.
    code, foreign = world.link("ada"), {"Origin": "https://evil.example"}

    for path, body in ((SESSION, {"code": code}), (f"/sign-in/{code}", None)):
        refused = world.browser().post(path, json=body, headers=foreign)
        assert refused.status_code == 403
        assert "Set-Cookie" not in refused.headers
    assert world.browser().post(f"/sign-in/{code}").status_code == 303


def test_every_route_that_changes_anything_needs_the_token(
    world: World, browser: TestClient
) -> None:
    paths = world.read("/openapi.json")["paths"]
    names = {
        "course": "one", "assignment": EXPLORATION, "question": "3b", "student": "ada",
        "login": "ada", "token_id": "tok_1", "attempt_id": "att_1",
        "regrade": "reg_1",
    }  # fmt: skip
    tried = 0
    for path, calls in paths.items():
        for method, call in calls.items():
            if method.upper() in ("GET", "HEAD") or call["x-roles"] == ["anybody"]:
                continue
            body = example_of(call)
            refused = browser.request(method.upper(), path.format(**names), json=body)
            assert (refused.status_code, refused.json()["code"]) == (403, "request.forged"), path
            tried += 1
    assert tried >= 15


def example_of(call: dict[str, Any]) -> Any:
    content = call.get("requestBody", {}).get("content", {})
    return {} if content else None


@pytest.mark.parametrize(
    "path", ["/api/v1/tokens", question_path(f"{EXPLORATION}/3b") + "/attempts"]
)
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_what_a_form_of_another_site_can_send_is_refused(
    browser: TestClient, path: str, kind: str
) -> None:
    body = b'{"label": "mine", "scopes": ["course:read"], "answer": {"q": "k_a"}}'
    headers = csrf(browser) | ({"Content-Type": kind} if kind else {})

    assert browser.post(path, content=body, headers=headers).status_code == 415


def test_a_token_in_the_header_needs_no_other_and_goes_before_the_cookie(
    world: World, browser: TestClient
) -> None:
    bearer = {"Authorization": f"Bearer {world.tokens['bob']}"}

    assert change(browser, bearer).status_code == 201
    assert browser.get("/api/v1/me", headers=bearer).json()["login"] == "bob"
    # A token that holds no more is not replaced by the cookie.
    wrong = {"Authorization": "Bearer keyset_wrong"}
    assert browser.get("/api/v1/me", headers=wrong).status_code == 401


# The end


def test_signing_out_ends_the_session_and_not_only_the_cookie(
    world: World, browser: TestClient
) -> None:
    secret = secret_of(browser)
    elsewhere = signed_in(world, "ada")

    assert browser.delete(SESSION).json()["code"] == "request.forged"
    out = browser.delete(SESSION, headers=csrf(browser))

    assert out.status_code == 204
    assert cookie_of(out)["max-age"] == "0"
    kept = {"Cookie": f"{SESSION_COOKIE}={secret}"}
    assert world.browser().get("/api/v1/me", headers=kept).status_code == 401
    assert elsewhere.get("/api/v1/me").status_code == 200


def test_a_session_ends_by_itself(tmp_path: Path) -> None:
    with opened(tmp_path) as world:
        browser = signed_in(world, "ada")
        kept = {"Cookie": f"{SESSION_COOKIE}={secret_of(browser)}"}
        world.clock.now += SESSION_LIFETIME - timedelta(seconds=1)
        assert world.browser().get("/api/v1/me", headers=kept).status_code == 200
        world.clock.turn(seconds=1)

        assert world.browser().get("/api/v1/me", headers=kept).status_code == 401


def test_with_an_account_its_sessions_tokens_and_links_end_at_once(database: Database) -> None:
    with make_service(database, published={"one": (), "two": ()}) as world:
        person = world.add_member("ending", Role.INSTRUCTOR)
        give_password(world, "ending")
        browser, code = signed_in(world, "ending"), world.link("ending")
        made = change(browser, csrf(browser))
        world.tokens["made by ending"] = made.json()["token"]
        calls: list[Callable[[], Response]] = [
            lambda: browser.get("/api/v1/me"),
            lambda: world.get("/api/v1/me", "ending"),
            lambda: world.get("/api/v1/me", "made by ending"),
        ]
        assert [call().status_code for call in calls] == [200] * 3

        with world.database.write() as session:
            end_account(session, person, at=world.clock(), by="test")

        assert [call().status_code for call in calls] == [401] * 3
        assert world.post(SESSION, None, {"code": code}).status_code == 401
        sent = {"login": "ending", "password": PASSWORD}
        assert world.post(SESSION, None, sent).status_code == 401


# Passwords


def test_a_wrong_login_and_a_wrong_password_answer_alike(world: World) -> None:
    def try_in(login: str, password: str) -> Response:
        return world.post(SESSION, None, {"login": login, "password": password})

    right = try_in("ada", PASSWORD)
    refused = [
        try_in("ada", "wrong horse staple"),
        try_in("nobody", PASSWORD),
        try_in("bob", PASSWORD),
        try_in("", ""),
        try_in("ADA", PASSWORD),
        world.post(SESSION, None, {}),
        world.post(SESSION, None, {"login": "ada"}),
    ]

    assert right.status_code == 201
    assert {each.status_code for each in refused} == {401}
    problems = [each.json() for each in refused]
    for each in problems:
        del each["request_id"]
    assert all(each == problems[0] for each in problems)
    assert all(sorted(each.headers) == sorted(refused[0].headers) for each in refused)


def test_whoever_tries_too_often_has_to_wait(tmp_path: Path) -> None:
    rules = {"sign_in": RateLimit(per_minute=6, burst=3)}
    with opened(tmp_path, rules=rules) as world:
        tries = [world.post(SESSION, None, {"login": "ada", "password": "x"}) for _ in range(3)]
        late = world.post(SESSION, None, {"login": "ada", "password": PASSWORD})
        # Codes and passwords share one budget, and the page has it, too.
        links = [
            world.post(SESSION, None, {"code": world.link("ada")}),
            world.post(f"/sign-in/{world.link('ada')}"),
        ]

        assert [each.status_code for each in tries] == [401] * 3
        for each in (late, *links):
            assert each.status_code == 429
            assert 1 <= int(each.headers["Retry-After"]) <= 10


# Logs


def test_logs_hold_no_secret_no_name_and_no_answer(tmp_path: Path) -> None:
    with (
        fresh_url("sqlite", tmp_path) as url,
        closing(open_database(url)) as database,
        make_service(database) as world,
    ):
        give_password(world, "ada")
        codes = [world.link("ada") for _ in range(3)]
        browser = world.browser()
        token = browser.post(SESSION, json={"code": codes[0]}).json()["csrf_token"]
        secret = secret_of(browser)
        world.post(f"/sign-in/{codes[1]}")
        world.get(f"/sign-in/{codes[2]}")
        world.post(SESSION, None, {"login": "ada", "password": PASSWORD})
        world.post(SESSION, None, {"login": "ada", "password": "a wrong password"})
        made = change(browser, {CSRF_HEADER: token}).json()["token"]
        answer = {"q": "3141.59 k_a", "explanation": "a most unlikely explanation"}
        world.submit("ada", f"{EXPLORATION}/3b", answer)
        path = question_path(f"{EXPLORATION}/3b")
        for body in ({"answer": {"q": "unlikely_symbol"}}, {"answer": {"q": [1, 2]}}, {"x": 1}):
            world.post(path + "/attempts", "ada", body)
        world.get(path + "/attempts?student=bob", "irene")
        world.get(path + "/grades/bob", "irene")
        world.get("/api/v1/courses/one/people?cursor=nonsense", "irene")
        world.post("/api/v1/courses/one/roster", "irene", {"csv": "login,name\nnewcomer,New Comer"})
        world.post("/api/v1/courses/one/people/bob/sign-in-links", "irene")
        world.get("/api/v1/me?secret=unlikely-query")
        world.get("/nothing/unlikely-path")
        logged = world.log.getvalue()

        hidden = [
            *codes, secret, token, made, PASSWORD, "a wrong password", *world.tokens.values(),
            "3141.59", "unlikely", "newcomer", "New Comer", "bob",
            *(person.name for person in world.people.values()),
            *(str(person.email) for person in world.people.values()),
            *(f'"{login}"' for login in world.people),
        ]  # fmt: skip
        assert [each for each in hidden if each in logged] == []
        # What is there is enough to find a request again, and who sent it.
        assert len(world.lines()) >= 15
        assert any(line.get("caller") == world.people["ada"].id for line in world.lines())
        assert {line["event"] for line in world.lines()} == {"request"}
