"""The email of a person is for instructors of their courses, operators and themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from grader.store.database import Database
from tests.support import regrades
from tests.support.access_matrix import OWN, ROWS, adas_attempt, ready_regrade
from tests.support.page_matrix import PAGES
from tests.support.world import World, make_service

EMAIL = re.compile(r"(\w+)@people\.example")
#: Everybody with the people whose email they may see.
MAY_SEE = {
    "ada": {"ada"},
    "arthur": {"arthur"},
    "cora": {"cora"},
    "ivan": {"ivan", "cora"},
    "irene": {"irene", "arthur", "ada", "bob"},
}


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    with make_service(sqlite_database) as world:
        yield world


@pytest.mark.parametrize("who", MAY_SEE)
def test_nothing_that_can_be_read_tells_the_email_of_others(world: World, who: str) -> None:
    objects = {**OWN, **adas_attempt(world, "ada"), **ready_regrade(world, "ada")}
    objects["upload_id"] = world.upload("ada")
    regrade = regrades.find_waiting(world, objects["assignment"])
    browser = world.browser()
    assert browser.post(f"/sign-in/{world.link(who)}").status_code == 303
    pages = [
        path.format(attempt=objects["attempt_id"], upload=objects["upload_id"], regrade=regrade)
        for method, path, _ in PAGES
        if method == "GET"
    ]
    calls = [row.path.format(**objects) for row in ROWS if row.method == "GET"]
    if who in ("ivan", "cora"):
        pages += [each.replace("/courses/one", "/courses/two") for each in pages]
        calls += [each.replace("/courses/one", "/courses/two") for each in calls]

    told = {
        login
        for response in [*map(browser.get, pages), *(world.get(each, who) for each in calls)]
        for login in EMAIL.findall(response.text)
    }

    assert told <= MAY_SEE[who]
    assert who in told, "one's own is on the page of the account"


def test_a_roster_tells_no_email_of_somebody_from_another_course(world: World) -> None:
    sent = {"csv": "login,name,email\ncora,Cora,cora@elsewhere.example\n"}

    for path in ("/api/v1/courses/one/roster/preview", "/api/v1/courses/one/roster"):
        assert "@people.example" not in world.post(path, "irene", sent).text
