"""Pages without a query are shown past FastAPI, and are those that FastAPI shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from grader.domain.roles import Role
from grader.store.database import Database
from grader.store.queries.courses import change_enrolment
from grader.store.queries.credentials import end_all_credentials
from grader.web.pages.rendering import PageRoute
from tests.support.world import EXPLORATION, NOW, World, make_service

COURSE = "/courses/one"
WORK = f"{COURSE}/assignments/{EXPLORATION}"
#: A query that no page knows, and FastAPI therefore ignores.
BY_FASTAPI = "?unknown=1"
PAGES = {
    "my work": "/",
    "an assignment": WORK,
    "a question": f"{WORK}/questions/3b",
    "a question that is not there": f"{WORK}/questions/none",
    "an assignment that is not there": f"{COURSE}/assignments/none/questions/3b",
    "a course that is not there": "/courses/none",
    "a course that is not mine": f"/courses/two/assignments/{EXPLORATION}",
    "the dashboard": f"{WORK}/grades",
    "the course": COURSE,
    "a name of 64 characters": f"/courses/{'x' * 64}",
    "a name that is too long": f"/courses/{'x' * 65}",
    "an attempt's id that is too long": f"{WORK}/review/3b/{'x' * 41}",
}


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    published = {"one": (EXPLORATION,), "two": (EXPLORATION,)}
    with make_service(sqlite_database, published=published) as world:
        yield world


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which way each request took."""
    taken: list[str] = []
    answer_directly = PageRoute.answer_directly

    async def note(self: PageRoute, request: Any) -> Any:
        response = await answer_directly(self, request)
        taken.append("FastAPI" if response is None else "direct")
        return response

    monkeypatch.setattr(PageRoute, "answer_directly", note)
    return taken


def sign_in(world: World, login: str) -> TestClient:
    browser = world.browser()
    assert browser.post(f"/sign-in/{world.link(login)}").status_code == 303
    return browser


def show(browser: TestClient, address: str) -> tuple[int, str, dict[str, str]]:
    response = browser.get(address, follow_redirects=False)
    headers = {name: value for name, value in response.headers.items() if name != "x-request-id"}
    return response.status_code, re.sub(r"[0-9a-f]{24}", "", response.text), headers


@pytest.mark.parametrize("who", ["ada", "arthur", "nobody"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_the_one_that_fastapi_shows(
    world: World, ways: list[str], page: str, who: str
) -> None:
    address = PAGES[page]
    browser = world.browser() if who == "nobody" else sign_in(world, who)
    browser.get(address)
    ways.clear()

    shown = show(browser, address)
    expected = show(browser, address + BY_FASTAPI)

    assert shown == expected
    assert ways == ["FastAPI" if "too long" in page else "direct", "FastAPI"]


def test_an_ended_session_is_refused_by_the_very_next_page(world: World, ways: list[str]) -> None:
    browser = sign_in(world, "ada")
    assert browser.get(WORK).status_code == 200
    with world.database.write() as session:
        end_all_credentials(session, person_id=world.people["ada"].id, at=NOW)

    status, _, headers = show(browser, WORK)

    assert (status, headers["location"]) == (303, f"/sign-in?next={WORK}")
    assert ways[-1] == "direct"


@pytest.mark.parametrize("query", ["", BY_FASTAPI], ids=["direct", "by FastAPI"])
@pytest.mark.parametrize("page", PAGES)
def test_an_ended_session_is_told_nothing_of_any_address(
    world: World, page: str, query: str
) -> None:
    browser = sign_in(world, "ada")
    with world.database.write() as session:
        end_all_credentials(session, person_id=world.people["ada"].id, at=NOW)

    status, _, headers = show(browser, PAGES[page] + query)

    assert (status, headers["location"]) == (303, f"/sign-in?next={PAGES[page]}")


def test_a_removed_student_is_refused_by_the_very_next_page(world: World, ways: list[str]) -> None:
    browser = sign_in(world, "ada")
    assert browser.get(WORK).status_code == 200
    with world.database.write() as session:
        change_enrolment(
            session,
            enrolment_id=world.enrolment("ada"),
            role=Role.STUDENT,
            section="",
            left_at=NOW,
        )

    assert browser.get(WORK).status_code == 404
    assert ways[-2:] == ["direct", "direct"]
