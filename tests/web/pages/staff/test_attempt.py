"""An attempt as staff see it: everything, while students see what they always did."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

from grader.store.database import Database
from grader.store.tables.attempts import JudgementRow
from tests.support.browsers import Browser
from tests.support.world import EXPLORATION, World, make_service, question_path

AVERAGE = f"{EXPLORATION}/3b"
HIDDEN = ("The student’s variant", "Judge it again", "How it was judged", "Audit entries")


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    with make_service(sqlite_database, published={"one": (EXPLORATION,), "two": ()}) as world:
        yield world


def page_of(world: World, who: str, attempt: dict[str, Any]) -> str:
    page = Browser(world, who).call("GET", f"/attempts/{attempt['id']}")
    assert page.status_code == 200, page.text
    return str(page.text)


def replay(world: World, who: str, attempt: dict[str, Any]) -> Any:
    return Browser(world, who).call("POST", f"/attempts/{attempt['id']}/replay")


def test_staff_see_what_the_engine_saw_and_students_do_not(world: World) -> None:
    made = world.submit("ada", AVERAGE, {"q": "20 (k_a + k_b) + 0.1 k_a"})

    staff, own = page_of(world, "arthur", made), page_of(world, "ada", made)

    for text in HIDDEN[:3]:
        assert text in staff
    for text in (*HIDDEN, "outside_tolerance", "weights</code>", "other</code>"):
        assert text not in own
    # The index `other` is drawn and never given.
    assert "<code>other</code>" in staff
    assert "20 (k_a + k_b) + 0.1 k_a" in staff
    assert re.search(r"<code>(outside_tolerance|lower_level)</code>", staff)
    assert "≤ 0.02" in staff
    assert "valid, by this service" in staff
    assert f"/courses/one/assignments/{EXPLORATION}/questions/3b/students/ada" in staff
    assert made["receipt"]["rubric"] in staff
    assert "number 1 of" in staff


def test_shares_and_key_sets_are_told_where_keys_are_sampled(world: World) -> None:
    made = world.submit("ada", f"{EXPLORATION}/3c-i", {"q": "60 (mu_a + mu_b)"})

    page = page_of(world, "irene", made)

    assert "99 %" in page
    assert re.search(r"[\d.]+ % … [\d.]+ %", page)
    assert "2,000" in page


@pytest.mark.parametrize("who", ["irene", "arthur"])
def test_judging_again_gives_the_same_and_changes_nothing(world: World, who: str) -> None:
    first = world.submit("ada", f"{EXPLORATION}/3c-i", {"q": "60 (mu_a + mu_b)"})
    before = world.read(question_path(f"{EXPLORATION}/3c-i") + "/attempts?student=ada", "irene")

    page = replay(world, who, first)

    assert page.status_code == 200
    assert "The result is the same." in page.text
    assert "The same verdicts and points come out" in page.text
    assert "differs</span>" not in page.text
    after = world.read(question_path(f"{EXPLORATION}/3c-i") + "/attempts?student=ada", "irene")
    assert after == before


def test_a_part_that_builds_on_another_is_judged_again_with_it(world: World) -> None:
    world.submit("ada", f"{EXPLORATION}/3c-i", {"q": "60 (mu_a + mu_b)"})
    rubric = world.read(question_path(f"{EXPLORATION}/3c-ii"), "ada")
    answer = {each["name"]: 0.1 for each in rubric["fields"] if each["name"] != "explanation"}
    made = world.submit("ada", f"{EXPLORATION}/3c-ii", answer)

    page = replay(world, "irene", made)

    assert "The result is the same." in page.text
    assert "Builds on" in page.text


def test_what_was_changed_in_the_store_is_noticed(world: World) -> None:
    made = world.submit("ada", AVERAGE, {"q": "k_a"})
    with world.database.write() as session:
        row = session.query(JudgementRow).one()
        better = [dict(each) for each in row.verdicts]
        better[0] |= {"outcome": "met", "reason": "holds", "credit": "1"}
        session.execute(update(JudgementRow).values(verdicts=better))

    page = replay(world, "irene", made)

    assert "The result differs." in page.text
    assert "Different: weights" in page.text


def test_students_cannot_judge_again(world: World) -> None:
    made = world.submit("ada", AVERAGE, {"q": "k_a"})

    own, foreign = replay(world, "ada", made), replay(world, "bob", made)

    assert own.status_code == foreign.status_code == 404
    assert "Judge it again" not in own.text


def test_decisions_are_told_with_who_and_why(world: World) -> None:
    made = world.submit("ada", AVERAGE, {"q": "k_a", "explanation": "Because <b>so</b>."})
    page = f"/courses/one/assignments/{EXPLORATION}/questions/3b/students/ada"
    override = {"points": "7.5", "reason": "A <i>good</i> idea.", "version": "g1"}
    assert Browser(world, "irene").call("POST", page, override).status_code == 303
    review = {"criterion": "explanation", "items": [0], "comment": "Well said."}
    path = f"/api/v1/courses/one/attempts/{made['id']}/reviews"
    assert world.post(path, "arthur", review).status_code == 201

    staff, own = page_of(world, "irene", made), page_of(world, "ada", made)

    assert "Surname-Of-Irene set <b>7.5</b> points" in staff
    assert "A &lt;i&gt;good&lt;/i&gt; idea." in staff
    assert "Surname-Of-Arthur reviewed" in staff
    assert "grade.overridden" in staff
    assert "attempt.reviewed" in staff
    assert "Because &lt;b&gt;so&lt;/b&gt;." in staff
    assert page + "#override" in staff
    assert page + "#override" not in page_of(world, "arthur", made)
    assert "grade.overridden" not in own


def test_an_instructors_own_attempt_is_the_students_page(world: World) -> None:
    made = world.submit("irene", AVERAGE, {"q": "k_a"})

    assert "Judge it again" not in page_of(world, "irene", made)
    assert "Judge it again" in page_of(world, "arthur", made)
