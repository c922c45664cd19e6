"""Who may call what: every route, by everybody, on own, foreign and absent objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response
from starlette.routing import Mount

from grader.accounts import tokens
from grader.domain.roles import ALL_SCOPES, Role, Scope
from grader.store.database import open_database
from grader.web.auth import CSRF_HEADER
from grader.web.pages.rendering import PageRoute
from tests.support import regrades
from tests.support.access_matrix import (
    ABSENT,
    ANYBODY,
    BROWSERS,
    FOREIGN,
    NOBODY,
    OWN,
    ROWS,
    STRANGERS,
    UNSCOPED,
    Objects,
    Row,
)
from tests.support.databases import BACKENDS, fresh_url
from tests.support.world import (
    BASE,
    EXPLORATION,
    SINGLE_HEAD,
    TRANSFORMERS,
    World,
    make_service,
    question_path,
)

CALLERS = sorted(ANYBODY)
#: What is read and written most; these are tried on PostgreSQL, too.
CORE = ("/attempts", "/grades", "/questions/{question}", "/override", "/reviews", "/tokens")


Worlds = Callable[[str], World]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """A service on each kind of database for all tests, which leave everybody in their places."""
    with ExitStack() as stack:
        # Every call of the matrix has tokens of its own.
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(tokens, "MAX_TOKENS", 10_000)

        @cache
        def open_world(backend: str) -> World:
            url = stack.enter_context(fresh_url(backend, tmp_path_factory.mktemp("access")))
            database = stack.enter_context(closing(open_database(url)))
            world = stack.enter_context(make_service(database))
            _add_tokens_that_hold_no_more(world)
            return world

        yield open_world


@pytest.fixture
def world(worlds: Worlds) -> World:
    return worlds("sqlite")


def _add_tokens_that_hold_no_more(world: World) -> None:
    expired = world.add_token("expired", "irene", ALL_SCOPES, days=1)
    revoked = world.add_token("revoked", "irene", ALL_SCOPES)
    assert world.call("DELETE", f"/api/v1/tokens/{revoked.line.id}", "irene").status_code == 204
    world.clock.turn(days=1)
    assert expired.line.expires_at <= world.clock()


def _rows() -> list[Any]:
    """Every row on SQLite, the core on PostgreSQL as well."""
    return [
        pytest.param(backend, row, id=f"{row.name} on {backend}")
        for backend in BACKENDS
        for row in ROWS
        if backend == "sqlite" or row.path.endswith(CORE)
    ]


# The table and the app


def list_routes(routes: Any) -> Iterator[tuple[str, str]]:
    """Every method and path of an app, those without a place in OpenAPI included."""
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield from list_routes(route.effective_candidates())
        elif isinstance(route, Mount):
            yield "MOUNT", route.path
        elif not is_page(route):
            yield from ((method, route.path) for method in route.methods - {"HEAD"})


def is_page(route: Any) -> bool:
    """Whether people look at it with a browser; `test_pages` has a table of these."""
    return isinstance(getattr(route, "original_route", route), PageRoute)


def test_every_route_has_a_row_and_every_row_a_route(world: World) -> None:
    app = world.client.app
    assert isinstance(app, FastAPI)
    app.state.routes.load()
    found = sorted(list_routes(app.routes))

    # Static files are the same for everybody; `test_manual` has them.
    assert found == sorted([*((row.method, row.path) for row in ROWS), ("MOUNT", "/static")])


def test_what_openapi_says_about_scopes_is_what_the_table_says(world: World) -> None:
    paths = world.read("/openapi.json")["paths"]
    told = {
        f"{method.upper()} {path}": call.get("x-scopes", [])
        for path, calls in paths.items()
        for method, call in calls.items()
    }

    for row in ROWS:
        if row.name in told:
            # Whoever looks at an own attempt needs the lesser scope.
            scope = row.own_scope or row.scope
            assert told[row.name] == ([scope.value] if scope else []), row.name


# The matrix


@pytest.mark.parametrize(("backend", "row"), _rows())
def test_a_route_answers_everybody_as_the_table_says(
    worlds: Worlds, backend: str, row: Row
) -> None:
    world = worlds(backend)
    for who in CALLERS:
        response = call(world, row, who, {})

        _check(row, who, response, expected(row, who))


@pytest.mark.parametrize(("backend", "row"), _rows())
def test_what_is_foreign_answers_as_if_it_were_absent(
    worlds: Worlds, backend: str, row: Row
) -> None:
    world = worlds(backend)
    for name in row.objects:
        if name == "code":
            continue  # a code that is not there is what `test_sessions` tries
        # Nobody may use them up, so that they serve all callers.
        others = foreign(world, row, name)
        for who in CALLERS:
            absent = call(world, row, who, {name: ABSENT[name]})
            _check(row, who, absent, expected(row, who, changed=name))
            for value in others:
                if _is_theirs(row, who, name):
                    continue
                other = call(world, row, who, {name: value})

                assert told(other) == told(absent), (who, name, value)


def _is_theirs(row: Row, who: str, name: str) -> bool:
    """Whether what is foreign to the others belongs to this caller."""
    if name == "course":
        return who in STRANGERS or who.startswith("olga")
    is_without_course = "course" not in row.objects
    of_two = {"cora", "ivan", "olga", "olga-without"}
    theirs = {"attempt_id": of_two, "upload_id": of_two, "token_id": {"bob", "olga"}}
    return is_without_course and who in theirs.get(name, ())


def call(world: World, row: Row, who: str, changed: Objects) -> Response:
    """Send what the row says, with some of the path's objects changed."""
    objects = {**OWN, **row.prepare(world, who), **changed}
    path = row.path.format(**objects)
    body = row.body(world, objects) if row.body else None
    headers = row.headers(world, objects) if row.headers else {}
    if who == "browser":
        browser = sign_in(world, "ada")
        token = browser.get("/api/v1/session").json()["csrf_token"]
        headers |= {CSRF_HEADER: token, "Origin": BASE}
        if isinstance(body, bytes):
            return browser.request(row.method, path, content=body, headers=headers)
        return browser.request(row.method, path, json=body, headers=headers)
    return world.call(row.method, path, _token(world, row, who), body, headers)


def sign_in(world: World, login: str) -> TestClient:
    browser = world.browser()
    assert browser.post(f"/sign-in/{world.link(login)}").status_code == 303
    return browser


def _token(world: World, row: Row, who: str) -> str | None:
    """The name of the token that a caller uses; those that depend on the scope are made here."""
    if who == "anonymous":
        return None
    if who != "service" and who not in UNSCOPED:
        return who
    scope = row.scope or Scope.READ
    name = f"{who} {scope}"
    if name not in world.tokens:
        lacking = ALL_SCOPES - {scope}
        if who == "service":
            world.add_service(name, [scope])
        elif who == "service-without":
            world.add_service(name, lacking)
        else:
            login = who.removesuffix("-without")
            own = row.own_scope if login == "ada" and row.own_scope else scope
            name = f"{name} {own}"
            world.add_token(name, login, ALL_SCOPES - {own})
    return name


def foreign(world: World, row: Row, name: str) -> list[str]:
    """Objects that are there, but elsewhere."""
    match name:
        case "attempt_id":
            path = question_path(f"{EXPLORATION}/3b", "two") + "/attempts"
            sent = {"answer": {"q": "k_b", "explanation": "Because it is."}}
            return [world.post(path, "cora", sent).json()["id"]]
        case "upload_id":
            return [world.upload("cora", course="two")]
        case "regrade":
            return [regrades.find_elsewhere(world)]
        case "token_id":
            name = f"foreign {world.number()}"
            return [
                world.add_service(f"{name} of two", [Scope.READ], course="two").line.id,
                world.add_token(f"{name} of bob", "bob", [Scope.READ]).line.id,
            ]
        case _:
            return [row.foreign.get(name, FOREIGN[name])]


def expected(row: Row, who: str, changed: str | None = None) -> int | str:
    """The status that a caller gets, or the code of the problem where a status has several."""
    if row.may == ANYBODY:
        return row.ok
    if who in NOBODY or (row.may == BROWSERS and who not in BROWSERS):
        return 401
    is_outside = ("course" in row.objects or row.course_in_body) and who in STRANGERS
    is_lacking = row.scope is not None and who in UNSCOPED
    if row.course_in_body and is_lacking:
        return "scope.missing"
    if is_outside or changed == "course":
        return 404
    if row.sees is not None and (changed or who not in row.sees):
        return 404
    if is_lacking:
        return "scope.missing"
    if who not in row.may | UNSCOPED:
        return "role.missing"
    return 404 if changed else row.ok


def _check(row: Row, who: str, response: Response, wanted: int | str) -> None:
    if isinstance(wanted, str):
        assert (response.status_code, response.json()["code"]) == (403, wanted), (
            who,
            told(response),
        )
    else:
        assert response.status_code == wanted, (who, told(response))
    if wanted == "scope.missing":
        scope = row.own_scope if row.own_scope and who.startswith("ada") else row.scope
        assert scope is not None
        assert scope.value in response.json()["detail"]
        assert f'scope="{scope.value}"' in response.headers["WWW-Authenticate"]
    if wanted == 401:
        assert response.headers["WWW-Authenticate"].startswith("Bearer")


def told(response: Response) -> tuple[int, Any, list[str]]:
    """What a response tells, without what is new in every one."""
    body = response.text
    if "json" in response.headers.get("Content-Type", ""):
        body = response.json()
        for name in ("instance", "request_id"):
            body.pop(name, None)
    return response.status_code, body, sorted(response.headers)


# What the table cannot say


def test_a_question_of_another_assignment_and_an_attempt_of_another_course_are_not_there(
    world: World,
) -> None:
    attempt = world.submit("cora", f"{EXPLORATION}/3b", {"q": "k_b"}, course="two")["id"]
    review = {"criterion": "explanation", "points": 1}

    for path, who, body in (
        (question_path(f"{EXPLORATION}/1b"), "ada", None),
        (question_path(f"{SINGLE_HEAD}/3b"), "ada", None),
        (question_path(f"{TRANSFORMERS}/c-i"), "ada", None),
        (f"/api/v1/courses/one/attempts/{attempt}/reviews", "irene", review),
        (f"/api/v1/courses/one/attempts/{attempt}/reviews", "olga", review),
        (question_path(f"{EXPLORATION}/3b") + "/grades/cora", "irene", None),
        (
            question_path(f"{EXPLORATION}/3b") + f"/grades/{world.enrolment('cora', 'two')}",
            "irene",
            None,
        ),
    ):
        assert world.call("POST" if body else "GET", path, who, body).status_code == 404, path


@pytest.mark.parametrize("student", ["bob", "ada", "cora", "nobody"])
def test_students_cannot_ask_for_the_attempts_of_anybody_by_name(
    world: World, student: str
) -> None:
    path = question_path(f"{EXPLORATION}/3b") + "/attempts?student="

    refused = world.get(path + student, "ada")

    assert told(refused) == told(world.get(path + "no-one", "ada"))
    assert (refused.status_code, refused.json()["code"]) == (403, "role.missing")


def test_staff_need_the_scope_for_grades_to_ask_for_attempts_by_name(world: World) -> None:
    path = question_path(f"{EXPLORATION}/3b") + "/attempts?student=ada"
    world.add_token("reads courses", "irene", [Scope.READ])

    assert world.get(path, "irene").status_code == 200
    assert world.get(path, "reads courses").json()["code"] == "scope.missing"
    assert world.get(path.replace("=ada", "=cora"), "irene").status_code == 404


def test_a_body_that_cannot_be_read_does_not_tell_strangers_more_than_a_good_one(
    world: World,
) -> None:
    path = "/api/v1/courses/{}/roster"
    answers = [
        world.call("POST", path.format(course), "cora", {"csv": 7}) for course in ("one", "nowhere")
    ]

    assert told(answers[0]) == told(answers[1])
    assert world.post(path.format("one"), None, {"csv": 7}).status_code == 401


# Nobody grants more than they hold


@pytest.mark.parametrize("path", ["/api/v1/tokens", "/api/v1/courses/one/tokens"])
def test_a_token_makes_no_token_with_more_scopes_than_its_own(world: World, path: str) -> None:
    world.add_token("maker", "irene", [Scope.TOKENS, Scope.READ])
    wanted = {"label": "more", "scopes": ["course:read", "grades:write"]}

    refused = world.post(path, "maker", wanted)

    assert (refused.status_code, refused.json()["code"]) == (403, "scope.missing")
    assert "grades:write" in refused.json()["detail"]
    assert world.post(path, "maker", wanted | {"scopes": ["course:read"]}).status_code == 201


def test_a_service_makes_no_token_with_more_scopes_than_its_own(world: World) -> None:
    world.add_service("service maker", [Scope.TOKENS])

    refused = world.post(
        "/api/v1/courses/one/tokens", "service maker", {"label": "x", "scopes": ["judge"]}
    )

    assert refused.json()["code"] == "scope.missing"


def test_a_token_of_a_student_with_every_scope_does_what_a_student_may(world: World) -> None:
    made = world.post(
        "/api/v1/tokens", "ada", {"label": "all", "scopes": [each.value for each in ALL_SCOPES]}
    )
    world.tokens["ada's"] = made.json()["token"]

    refused = world.get(f"/api/v1/courses/one/assignments/{EXPLORATION}/grades", "ada's")

    assert (made.status_code, refused.json()["code"]) == (201, "role.missing")


@pytest.mark.parametrize("role", ["assistant", "instructor"])
def test_a_service_gives_no_role_above_the_students_by_a_roster(world: World, role: str) -> None:
    world.add_service("enroller", [Scope.ROSTER])
    sent = {"csv": f"login,name,role\nbob,Bob,{role}\nnew-{role},New,{role}\n"}

    refused = world.post("/api/v1/courses/one/roster", "enroller", sent)

    assert refused.status_code == 422
    assert {each["code"] for each in refused.json()["errors"]} == {"role.service"}


def test_nobody_but_an_operator_changes_the_place_of_an_operator(world: World) -> None:
    sent = {"csv": "login,name,role\nolga,Olga,student\n"}

    refused = world.post("/api/v1/courses/one/roster", "irene", sent)

    assert {each["code"] for each in refused.json()["errors"]} == {"login.operator"}


@pytest.mark.parametrize(
    ("who", "login"),
    [
        pytest.param("irene", "irene", id="oneself"),
        pytest.param("irene", "second", id="an equal"),
        pytest.param("irene", "operating", id="an operator among the students"),
        pytest.param("olga", "operating", id="an operator by an operator"),
        pytest.param("irene", "ivan", id="an instructor elsewhere"),
        pytest.param("irene", "cora", id="a student elsewhere"),
        pytest.param("linker", "ivan", id="an instructor elsewhere by a service"),
        pytest.param("linker", "second", id="an instructor by a service"),
    ],
)
def test_nobody_gets_a_sign_in_link_for_somebody_who_may_more(
    guarded: World, who: str, login: str
) -> None:
    # Whoever holds the link is that person, in every course.
    refused = guarded.post(f"/api/v1/courses/one/people/{login}/sign-in-links", who)

    assert (refused.status_code, refused.json()["code"]) == (409, "link.not_allowed")


@pytest.mark.parametrize(
    ("who", "login"),
    [("irene", "ada"), ("irene", "arthur"), ("linker", "ada"), ("olga", "irene"), ("olga", "ivan")],
)
def test_sign_in_links_are_made_for_those_who_may_less(
    guarded: World, who: str, login: str
) -> None:
    made = guarded.post(f"/api/v1/courses/one/people/{login}/sign-in-links", who)

    assert made.status_code == 201
    assert guarded.browser().get(made.json()["url"]).status_code == 200


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A course with a second instructor, an operator as a student, and people from elsewhere."""
    with (
        fresh_url("sqlite", tmp_path_factory.mktemp("guarded")) as url,
        closing(open_database(url)) as database,
        make_service(database) as world,
    ):
        world.add_member("second", Role.INSTRUCTOR)
        world.add_person("operating", is_operator=True)
        world.add_service("linker", [Scope.ROSTER])
        rosters = {
            "irene": "ivan,Ivan,student\ncora,Cora,student",
            "olga": "operating,Operating,student",
        }
        for who, lines in rosters.items():
            sent = {"csv": f"login,name,role\n{lines}\n"}
            assert world.post("/api/v1/courses/one/roster", who, sent).status_code == 201
        yield world


def test_a_token_without_the_scopes_of_staff_gets_no_link_for_staff(guarded: World) -> None:
    guarded.add_token("only rosters", "irene", [Scope.ROSTER])

    refused = guarded.post("/api/v1/courses/one/people/arthur/sign-in-links", "only rosters")

    assert refused.status_code in (403, 409)


def test_a_token_makes_no_token_that_outlasts_it(world: World) -> None:
    made = world.add_token("short", "irene", [Scope.TOKENS], days=1)
    wanted = {"label": "long", "scopes": ["tokens:write"], "days": 400}

    response = world.post("/api/v1/tokens", "short", wanted)

    assert response.status_code != 201 or response.json()["expires_at"] <= (
        made.line.expires_at.isoformat().replace("+00:00", "Z")
    )


def test_whoever_left_a_course_or_whose_account_ended_is_outside_at_once(world: World) -> None:
    world.add_member("leaver", Role.ASSISTANT)
    assert world.get("/api/v1/courses/one", "leaver").status_code == 200

    assert world.call("DELETE", "/api/v1/courses/one/people/leaver", "irene").status_code == 204

    outside = world.get("/api/v1/courses/one", "leaver")
    assert told(outside) == told(world.get("/api/v1/courses/nowhere", "leaver"))
    assert world.get("/api/v1/me", "leaver").json()["courses"] == []
