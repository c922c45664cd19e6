"""Issue 10, item 9: the same answer after a mended rubric is judged by the rubric in force.

It costs no attempt if the rubric has changed since, and only then is it judged again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from grader.client.results import read_result
from grader.grading.audit.verify import verify
from grader.grading.context import GradingContext
from grader.grading.signing import SigningKey
from grader.store.database import Database
from tests.support.browsers import Browser
from tests.support.mending import NEARLY, ONE, SLIPS, TWO, WEIGHT, slips
from tests.support.world import DUE, World, make_service, question_path

ATTEMPTS = question_path(ONE) + "/attempts"


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (), "two": ()}) as world:
        yield world
        # Whatever a test did, the store's own audit must agree with it.
        with world.database.read() as session:
            result = verify(session, GradingContext(SigningKey.generate()))
        assert result.is_fine, result.checks


def standing(world: World, question: str = ONE) -> dict[str, Any]:
    found: dict[str, Any] = world.read(question_path(question), "ada")["standing"]
    return found


def test_the_mended_rubric_judges_the_same_answer_as_a_free_attempt(world: World) -> None:
    world.publish(slips(within=0.02))
    before = world.submit("ada", ONE, NEARLY)
    world.publish(slips(within=0.03))

    after = world.submit("ada", ONE, NEARLY)

    assert [before["score"], after["score"]] == [0, 4]
    assert [before["number"], after["number"]] == [1, 2]
    assert after["receipt"]["rubric"] != before["receipt"]["rubric"]
    assert after["is_counted"]
    assert [before["repeats_attempt"], after["repeats_attempt"]] == [None, before["id"]]
    assert [before["attempts_left"], after["attempts_left"]] == [1, 1]


def test_only_the_first_time_is_a_new_attempt(world: World) -> None:
    world.publish(slips(within=0.02))
    world.submit("ada", ONE, NEARLY)
    world.publish(slips(within=0.03))
    after = world.submit("ada", ONE, NEARLY)

    again = world.submit("ada", ONE, NEARLY, status=200)

    assert again == after
    assert len(world.read(ATTEMPTS, "ada")) == 2


def test_each_change_of_the_rubric_gives_one_more(world: World) -> None:
    for within in (0.02, 0.03, 0.04, 0.05):
        world.publish(slips(within=within))
        world.submit("ada", ONE, NEARLY)
        world.submit("ada", ONE, NEARLY, status=200)

    made = world.read(ATTEMPTS, "ada")
    assert [each["number"] for each in made] == [1, 2, 3, 4]
    assert [each["repeats_attempt"] for each in made[1:]] == [each["id"] for each in made[:-1]]
    assert {each["attempts_left"] for each in made} == {1}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(slips(note="another file"), id="another question's file"),
        pytest.param(slips(most=3), id="the assignment's own file"),
    ],
)
def test_a_publication_that_leaves_the_rubric_changes_nothing(world: World, other: Any) -> None:
    world.publish(slips())
    before = world.submit("ada", ONE, NEARLY)
    world.publish(other, due_at=DUE.replace(hour=13))

    again = world.submit("ada", ONE, NEARLY, status=200)

    assert again["id"] == before["id"]


def test_it_is_accepted_when_no_attempts_are_left(world: World) -> None:
    world.publish(slips(within=0.02, most=1))
    world.submit("ada", ONE, NEARLY)
    world.publish(slips(within=0.03, most=1))

    after = world.submit("ada", ONE, NEARLY)
    other = world.submit("ada", ONE, {"q": "40 k_a"}, status=409)

    assert (after["score"], after["attempts_left"]) == (4, 0)
    assert other["code"] == "attempts.none_left"


def test_later_it_does_not_count_against_the_limit_either(world: World) -> None:
    world.publish(slips(within=0.02, most=2))
    world.submit("ada", ONE, NEARLY)
    world.publish(slips(within=0.03, most=2))
    world.submit("ada", ONE, NEARLY)

    second = world.submit("ada", ONE, {"q": "k_a"})
    third = world.submit("ada", ONE, {"q": "2 k_a"}, status=409)

    assert (second["number"], second["attempts_left"]) == (3, 0)
    assert third["code"] == "attempts.none_left"
    # Of two attempts with the same answer, the later one is repeated.
    world.publish(slips(within=0.04, most=2))
    repeated = world.read(ATTEMPTS, "ada")[1]
    assert world.submit("ada", ONE, NEARLY)["repeats_attempt"] == repeated["id"]


def test_everybody_is_told_the_same_number_of_attempts(world: World) -> None:
    world.publish(slips(within=0.02, most=3))
    world.submit("ada", ONE, NEARLY)
    world.publish(slips(within=0.03, most=3))
    after = world.submit("ada", ONE, NEARLY)
    page = Browser(world, "ada").call("GET", f"/courses/one/assignments/{SLIPS}/questions/one").text
    listed = world.read(ATTEMPTS, "ada")
    book = world.read(f"/api/v1/courses/one/assignments/{SLIPS}/grades", "irene")
    client = str(read_result(after))

    assert (standing(world)["attempts"], standing(world)["attempts_left"]) == (1, 2)
    assert {each["attempts_left"] for each in [after, *listed]} == {2}
    assert "2 of 3 attempts left" in page
    assert "2 attempts left." in client
    (ada,) = [each for each in book["students"] if each["student"] == "ada"]
    assert ada["questions"]["one"]["attempts"] == 1


def test_pages_and_client_say_why_no_attempt_was_used(world: World) -> None:
    world.publish(slips(within=0.02))
    before = world.submit("ada", ONE, NEARLY)
    world.publish(slips(within=0.03))
    form = {"action": "submit", "answer.q": "5 k_a"}

    page = Browser(world, "ada").call(
        "POST", f"/courses/one/assignments/{SLIPS}/questions/one", form
    )

    after = world.read(ATTEMPTS, "ada")[1]
    staff = Browser(world, "arthur").call("GET", f"/attempts/{after['id']}")
    why = "before, and the rubric has changed since, so it was judged again. No attempt was used."
    assert why in page.text
    assert "You submitted this answer before." not in page.text
    assert why in " ".join(str(read_result(after)).split())
    assert f'<dt>Repeats</dt><dd><a href="/attempts/{before["id"]}">' in staff.text


# The question that it uses


def test_a_mended_earlier_rubric_judges_again_what_uses_it(world: World) -> None:
    world.publish(slips(within=0.02))
    earlier = world.submit("ada", ONE, NEARLY)
    before = world.submit("ada", TWO, WEIGHT)
    world.publish(slips(within=0.03))

    after = world.submit("ada", TWO, WEIGHT)
    world.submit("ada", TWO, WEIGHT, status=200)

    assert [before["uses"], after["uses"]] == ["reference", "own"]
    assert [before["score"], after["score"]] == [0, 2]
    assert (after["repeats_attempt"], after["uses_attempt"]) == (before["id"], earlier["id"])
    assert after["attempts_left"] == before["attempts_left"]


def test_the_same_earlier_answer_repeated_leaves_what_uses_it(world: World) -> None:
    world.publish(slips(within=0.02))
    world.submit("ada", ONE, NEARLY)
    world.submit("ada", TWO, WEIGHT)
    world.publish(slips(within=0.03))
    after = world.submit("ada", TWO, WEIGHT)
    counted = world.submit("ada", ONE, NEARLY)
    assert counted["is_counted"]

    again = world.submit("ada", TWO, WEIGHT, status=200)

    assert again["id"] == after["id"]


def test_another_earlier_answer_costs_an_attempt_by_the_same_rubric(world: World) -> None:
    world.publish(slips(within=0.03))
    world.submit("ada", ONE, {"q": "k_a"})
    world.submit("ada", TWO, WEIGHT)
    world.submit("ada", ONE, NEARLY)

    second = world.submit("ada", TWO, WEIGHT)

    assert second["repeats_attempt"] is None
    assert second["attempts_left"] == 0


# Which attempt counts


@pytest.mark.parametrize(
    ("counted", "points"),
    [
        pytest.param("best", 4, id="the best: a lower verdict does not lower the grade"),
        pytest.param("last", 0, id="the last: a lower verdict does"),
        pytest.param("first", 4, id="the first: it stays"),
    ],
)
def test_a_lower_verdict_counts_like_that_of_any_attempt(
    world: World, counted: str, points: int
) -> None:
    world.publish(slips(within=0.03, counted=counted))
    world.submit("ada", ONE, NEARLY)
    world.publish(slips(within=0.02, counted=counted))

    after = world.submit("ada", ONE, NEARLY)

    assert after["score"] == 0
    assert after["is_counted"] == (counted == "last")
    assert standing(world)["points"] == points


def test_where_the_best_counts_a_rubric_that_is_back_gives_its_own_result(world: World) -> None:
    world.publish(slips(within=0.02))
    before = world.submit("ada", ONE, NEARLY)
    world.publish(slips(within=0.03))
    world.submit("ada", ONE, NEARLY)
    world.publish(slips(within=0.02))

    assert world.submit("ada", ONE, NEARLY, status=200)["id"] == before["id"]


def test_where_the_last_counts_a_rubric_that_is_back_judges_again(world: World) -> None:
    for within in (0.02, 0.03, 0.02):
        world.publish(slips(within=within, counted="last", most=1))
        world.submit("ada", ONE, NEARLY)

    last = world.read(ATTEMPTS, "ada")[-1]
    assert (last["number"], last["score"], last["is_counted"]) == (3, 0, True)
    assert standing(world)["attempts"] == 1


def test_where_the_last_counts_each_older_answer_is_free_once(world: World) -> None:
    world.publish(slips(within=0.02, counted="last"))
    world.submit("ada", ONE, NEARLY)
    world.submit("ada", ONE, {"q": "k_a"})
    world.publish(slips(within=0.03, counted="last"))

    world.submit("ada", ONE, NEARLY)
    world.submit("ada", ONE, {"q": "k_a"})
    refused = world.submit("ada", ONE, NEARLY, status=409)

    assert refused["code"] == "attempts.none_left"


# Everything else is as for any answer


def test_after_the_end_it_is_refused(world: World) -> None:
    world.publish(slips(within=0.02))
    world.submit("ada", ONE, NEARLY)
    world.publish(slips(within=0.03))
    world.clock.turn(days=8)

    assert world.submit("ada", ONE, NEARLY, status=409)["code"] == "assignment.closed"


def test_what_the_mended_rubric_cannot_read_is_refused(world: World) -> None:
    world.publish(slips(field="q", most=1))
    world.submit("ada", ONE, NEARLY)
    world.publish(slips(field="query", most=1))

    refused = world.submit("ada", ONE, NEARLY, status=422)

    assert refused["attempt_used"] is False
    assert len(world.read(ATTEMPTS, "ada")) == 1


def test_while_results_are_withheld_it_is_free_and_tells_nothing(world: World) -> None:
    world.publish(slips(within=0.02, feedback="after_due"))
    before = world.submit("ada", ONE, NEARLY)
    world.publish(slips(within=0.03, feedback="after_due"))

    after = world.submit("ada", ONE, NEARLY)
    again = world.submit("ada", ONE, NEARLY, status=200)

    assert after["repeats_attempt"] == before["id"]
    assert after["attempts_left"] == before["attempts_left"]
    assert (after["score"], after["criteria"], after["is_counted"]) == (None, [], False)
    assert again["id"] == after["id"]


def test_a_key_sent_again_gets_the_stored_response(world: World) -> None:
    key, body = {"Idempotency-Key": "try-1"}, {"answer": NEARLY}
    world.publish(slips(within=0.02))
    first = world.post(ATTEMPTS, "ada", body, headers=key)
    world.publish(slips(within=0.03))

    replayed = world.post(ATTEMPTS, "ada", body, headers=key)
    assert (replayed.status_code, replayed.content) == (201, first.content)
    assert len(world.read(ATTEMPTS, "ada")) == 1

    new = world.post(ATTEMPTS, "ada", body, headers={"Idempotency-Key": "try-2"})
    again = world.post(ATTEMPTS, "ada", body, headers={"Idempotency-Key": "try-2"})
    assert new.json()["repeats_attempt"] == first.json()["id"]
    assert (again.status_code, again.content) == (201, new.content)


def test_judging_without_storing_is_by_the_rubric_in_force(world: World) -> None:
    body = {"course": "one", "question": ONE, "variant": "try", "answer": NEARLY}
    scores = []
    for within in (0.02, 0.03):
        world.publish(slips(within=within))
        scores.append(world.post("/api/v1/grade", "arthur", body).json()["score"])

    assert scores == [0, 4]
