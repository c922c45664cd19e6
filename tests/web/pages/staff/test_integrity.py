"""Integrity pages: a copied answer is found, an honest one is not, and nobody is accused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from grader.domain.roles import Role
from grader.grading.integrity.check import STALE_AFTER
from grader.store.database import Database
from grader.store.queries.audit import list_audit
from grader.store.queries.integrity import (
    IntegrityCheckLine,
    add_check,
    find_check,
    list_resemblances,
)
from grader.store.queries.people import change_person
from grader.web.ops.background import BackgroundRunner
from grader.web.pages.staff.integrity import format_chance, format_time_difference
from tests.support.browsers import Browser
from tests.support.world import EXPLORATION, NOW, World, make_service, question_path

PAGE = f"/courses/one/assignments/{EXPLORATION}/integrity"


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    with make_service(
        sqlite_database, published={"one": (EXPLORATION,), "two": (EXPLORATION,)}
    ) as world:
        yield world


def query_of(world: World, who: str, scale: float = 40.0) -> list[float]:
    """The answer to somebody's 3b in numbers."""
    given = world.read(question_path(f"{EXPLORATION}/3b"), who)["given"]
    rows, a, b = given["k"], given["a"], given["b"]
    return [scale * (x + y) for x, y in zip(rows[a], rows[b], strict=True)]


def check(world: World, who: str = "irene") -> str:
    """Start a check as somebody, wait for it, and look."""
    browser = Browser(world, who)
    started = browser.call("POST", PAGE)
    assert started.status_code == 303, started.text
    assert background(world).wait(60)
    page = browser.call("GET", PAGE)
    assert page.status_code == 200, page.text
    return str(page.text)


def background(world: World) -> BackgroundRunner:
    app: Any = world.client.app
    found: BackgroundRunner = app.state.background
    return found


def newest(world: World) -> IntegrityCheckLine:
    with world.database.read() as session:
        found = find_check(session, run_id="one", assignment=EXPLORATION)
    assert found is not None
    return found


def test_a_copied_answer_is_found_with_the_attempt_it_resembles(world: World) -> None:
    bobs = world.submit("bob", f"{EXPLORATION}/3b", {"q": query_of(world, "bob")})
    world.clock.turn(hours=2)
    copied = world.submit("ada", f"{EXPLORATION}/3b", {"q": query_of(world, "bob")})
    assert copied["score"] < 8

    page = check(world)

    with world.database.read() as session:
        (found,) = list_resemblances(session, check_id=newest(world).id)
    line = found.line
    assert (found.login, found.other_login) == ("ada", "bob")
    assert (line.attempt_id, line.other_attempt_id) == (copied["id"], bobs["id"])
    assert line.is_same
    assert line.others == 1
    assert line.hits / line.tried < 0.002
    assert "The same numbers" in page
    assert "2 h 0 min earlier" in page
    assert re.search(r"(less than|about) 1 in [\d,]{3,}", page)
    assert f"/attempts/{copied['id']}/difference/{bobs['id']}" in page
    assert "3c-ii is left out" in page
    assert not re.search(r"cheat|plagiar|guilty|fraud", page)


def test_honest_answers_and_formulas_are_never_listed(world: World) -> None:
    world.read(question_path(f"{EXPLORATION}/3b"), "bob")
    world.submit("ada", f"{EXPLORATION}/3b", {"q": query_of(world, "ada", scale=0.5)})
    world.submit("ada", f"{EXPLORATION}/3b", {"q": "k_a + k_b"})
    world.submit("ada", f"{EXPLORATION}/3b", {"q": query_of(world, "ada")})

    page = check(world)

    with world.database.read() as session:
        assert list_resemblances(session, check_id=newest(world).id) == []
    assert "No wrong answer solves another student’s variant" in page
    found = newest(world)
    # One wrong answer in numbers, tried on two variants, and three attempts in all.
    assert (found.state, found.done, found.of, found.pairs) == ("finished", 3, 3, 2)


def test_the_start_is_audited_and_grades_stay(world: World) -> None:
    world.submit("bob", f"{EXPLORATION}/3b", {"q": query_of(world, "bob")})
    world.submit("ada", f"{EXPLORATION}/3b", {"q": query_of(world, "bob")})
    grades = f"/api/v1/courses/one/assignments/{EXPLORATION}/grades"
    before = world.read(grades, "irene")

    check(world)

    with world.database.read() as session:
        (entry, *_) = list_audit(session, run_id="one")
    assert (entry.action, entry.by) == ("integrity.started", world.people["irene"].id)
    assert entry.details == {"assignment": EXPLORATION}
    assert world.read(grades, "irene") == before


def test_assistants_look_and_do_not_start(world: World) -> None:
    arthur = Browser(world, "arthur")

    assert "Check now" not in arthur.call("GET", PAGE).text
    assert "An instructor can start one here" in arthur.call("GET", PAGE).text
    assert arthur.call("POST", PAGE).status_code == 403
    assert "Check now" in Browser(world, "irene").call("GET", PAGE).text


def add_running(world: World) -> IntegrityCheckLine:
    """A check of some process, under way."""
    line = IntegrityCheckLine(
        "chk_1", "one", EXPLORATION, "running", 3, 12, 345, 0, "", "x", NOW, NOW, None
    )
    with world.database.write() as session:
        add_check(session, line)
    return line


def test_a_check_that_runs_tells_how_far_it_is_and_is_not_started_twice(world: World) -> None:
    line = add_running(world)
    irene = Browser(world, "irene")

    page = irene.call("GET", PAGE).text
    part = irene.client.get(PAGE + "/progress", headers={"HX-Request": "true"})
    again = irene.call("POST", PAGE)

    assert "3 of 12 attempts" in page
    assert "Check again" not in page
    assert "3 of 12 attempts" in part.text
    assert "HX-Refresh" not in part.headers
    assert again.status_code == 303
    assert newest(world) == line


def test_a_check_whose_process_died_is_stale_and_can_be_started_again(world: World) -> None:
    add_running(world)
    world.clock.turn(seconds=(STALE_AFTER + timedelta(seconds=1)).total_seconds())
    irene = Browser(world, "irene")

    page = irene.call("GET", PAGE).text
    part = irene.client.get(PAGE + "/progress", headers={"HX-Request": "true"})
    after = check(world)

    assert "has stopped responding" in page
    assert part.headers["HX-Refresh"] == "true"
    assert newest(world).state == "finished"
    assert newest(world).id != "chk_1"
    assert "has stopped responding" not in after


def test_a_check_of_another_assignment_waits_for_its_turn(world: World) -> None:
    assert background(world).reserve()
    try:
        refused = Browser(world, "irene").call("POST", PAGE)
    finally:
        background(world).release()

    assert refused.status_code == 409
    assert "Another check is running" in refused.text


def test_a_check_ends_with_its_service(sqlite_database: Database) -> None:
    published: dict[str, tuple[str, ...]] = {"one": (EXPLORATION,), "two": ()}
    with make_service(sqlite_database, published=published) as world:
        world.submit("bob", f"{EXPLORATION}/3b", {"q": query_of(world, "bob")})
        world.submit("ada", f"{EXPLORATION}/3b", {"q": query_of(world, "bob")})
        # It is asked to end before it begins.
        background(world)._ending.set()
        assert not background(world).reserve()
        assert Browser(world, "irene").call("POST", PAGE).status_code == 409


def test_names_stay_text(world: World) -> None:
    hostile = "<script>alert(1)</script>"
    world.add_member("mal", Role.STUDENT)
    with world.database.write() as session:
        change_person(session, person_id=world.people["mal"].id, name=hostile)
    world.submit("mal", f"{EXPLORATION}/3b", {"q": query_of(world, "mal")})
    world.submit("ada", f"{EXPLORATION}/3b", {"q": query_of(world, "mal")})

    page = check(world)

    assert hostile not in page
    assert "&lt;script&gt;alert(1)" in page


def test_chances_are_never_said_to_be_smaller_than_they_are() -> None:
    assert format_chance(1 / 90) in ("about 1 in 90", "about 1 in 89")
    assert format_chance(1 / 51_999, is_bound=True) == "less than 1 in 51,000"
    assert format_chance(0.7) == "more likely than not"
    assert format_chance(0.7, is_bound=True) == "unknown"
    assert format_time_difference(NOW, NOW - timedelta(hours=3)) == "3 h 0 min earlier"
    assert format_time_difference(NOW, NOW + timedelta(minutes=3)) == "3 min later"
