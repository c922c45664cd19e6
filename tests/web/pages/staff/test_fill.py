"""The notice that a demo course is still being filled."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from grader.store.database import Session, open_database
from grader.store.queries.fills import FillLine, add_fill, delete_fill, record_fill
from tests.support.browsers import Browser
from tests.support.databases import fresh_url
from tests.support.page_matrix import ASSIGNMENT
from tests.support.world import EXPLORATION, World, make_service

NOTICE = "This demo course is being filled"
PROGRESS = "/courses/one/fill"
PAGES = [
    "/",
    "/courses/one",
    f"{ASSIGNMENT}/grades",
    f"{ASSIGNMENT}/analytics",
    f"{ASSIGNMENT}/analytics/3b",
    f"{ASSIGNMENT}/review",
    f"{ASSIGNMENT}/integrity",
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    published = {"one": (EXPLORATION,), "two": ()}
    with (
        fresh_url("sqlite", tmp_path_factory.mktemp("fill")) as url,
        make_service(open_database(url), published=published) as world,
    ):
        yield world


@pytest.fixture
def filling(world: World) -> Iterator[datetime]:
    """The course is at step 3 of 8; the moment of that step."""
    at = world.service.clock()

    def begin(session: Session) -> None:
        add_fill(session, FillLine("one", 120, 3, 8, began_at=at, seen_at=at))

    world.service.writer.run_now(begin)
    yield at
    world.service.writer.run_now(lambda session: delete_fill(session, run_id="one"))


@pytest.mark.parametrize("path", PAGES)
def test_staff_see_how_far_it_is_until_it_is_done(
    world: World, filling: datetime, path: str
) -> None:
    irene = Browser(world, "irene")

    page = irene.call("GET", path).text
    assert NOTICE in page
    assert 'max="100" value="37"' in page
    assert f'hx-get="{PROGRESS}"' in page

    world.service.writer.run_now(lambda session: delete_fill(session, run_id="one"))
    assert NOTICE not in irene.call("GET", path).text


def test_students_see_their_own_work_only_and_no_notice(world: World, filling: datetime) -> None:
    ada = Browser(world, "ada")

    assert NOTICE not in ada.call("GET", "/").text
    assert NOTICE not in ada.call("GET", ASSIGNMENT).text
    assert ada.call("GET", PROGRESS).status_code == 403


def test_the_notice_asks_again_and_reloads_the_page_when_it_is_done(
    world: World, filling: datetime
) -> None:
    irene = Browser(world, "irene").client
    htmx = {"HX-Request": "true"}
    world.service.writer.run_now(
        lambda session: record_fill(session, run_id="one", done=6, of=8, at=filling)
    )

    during = irene.get(PROGRESS, headers=htmx)
    assert 'value="75"' in during.text
    assert f'hx-get="{PROGRESS}"' in during.text
    assert "HX-Refresh" not in during.headers

    world.service.writer.run_now(lambda session: delete_fill(session, run_id="one"))
    after = irene.get(PROGRESS, headers=htmx)
    assert after.text.strip() == ""
    assert after.headers["HX-Refresh"] == "true"


def test_without_scripts_the_notice_leads_back_to_the_course(world: World) -> None:
    answer = Browser(world, "irene").client.get(PROGRESS, follow_redirects=False)

    assert (answer.status_code, answer.headers["location"]) == (303, "/courses/one")


def test_filling_that_has_stopped_says_so_and_is_not_asked_again(
    world: World, filling: datetime
) -> None:
    long_ago = filling - timedelta(minutes=5)
    world.service.writer.run_now(
        lambda session: record_fill(session, run_id="one", done=4, of=8, at=long_ago)
    )

    page = Browser(world, "irene").call("GET", "/courses/one").text

    assert "stopped at 50 %" in page
    assert f'hx-get="{PROGRESS}"' not in page
