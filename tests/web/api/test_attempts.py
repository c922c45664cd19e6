"""A student answers: the whole way through the API, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from grader.domain.roles import Role
from grader.rubric.catalog import read_assignment
from grader.store.database import Database
from tests.support.rubrics import shipped
from tests.support.world import EXPLORATION, SINGLE_HEAD, World, make_service, question_path

AVERAGE = f"{EXPLORATION}/3b"
NOISY = f"{EXPLORATION}/3c-i"
STRETCHED = f"{EXPLORATION}/3c-ii"
BELIEF = {"share_near_average": 0.01, "share_nearer_b": 1, "variance": 0.25, "spread_ratio": 0}


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database) as world:
        yield world


def attempts_path(question: str) -> str:
    return question_path(question) + "/attempts"


def test_numbers_computed_from_what_is_given_earn_all_points(world: World) -> None:
    given = world.read(question_path(AVERAGE), "ada")["given"]
    k = np.array(given["k"])
    query = 40 * (k[given["a"]] + k[given["b"]])

    result = world.submit("ada", AVERAGE, {"q": query.tolist()})

    assert result["score"] == result["max_automatic"]
    assert result["number"] == 1
    assert result["attempts_left"] == 9
    assert [each["outcome"] for each in result["criteria"]][:2] == ["met", "met"]


def test_a_formula_earns_the_same(world: World) -> None:
    result = world.submit("ada", AVERAGE, {"q": "C (k_a + k_b) where C = 40"})

    assert result["score"] == result["max_automatic"]


def test_a_wrong_answer_is_told_what_is_off_and_by_how_much(world: World) -> None:
    result = world.submit("ada", NOISY, {"q": "mu_a + mu_b"})

    assert result["score"] == 0
    weights = result["criteria"][0]
    assert weights["needed"] == 0.02
    assert weights["measured"] > 0.4
    assert (
        " (the median) of the weight is in the wrong place; at most 0.02 may be for all points, on"
        in result["feedback"][0]["text"]
    )
    assert [each["id"] for each in result["misconceptions"]] == ["scale-too-small"]


def test_checking_is_free_and_says_how_an_answer_was_read(world: World) -> None:
    response = world.post(
        question_path(AVERAGE) + "/check", "ada", {"answer": {"q": r"40 (\mathbf{k}_a + k_b)"}}
    )

    assert response.status_code == 200
    (field,) = response.json()["fields"]
    assert field["read_as"] == "formula"
    assert field["text"] == "40 (k_a + k_b)"
    assert field["shape"] == [len(world.read(question_path(AVERAGE), "ada")["given"]["k"][0])]
    assert world.read(attempts_path(AVERAGE), "ada") == []
    assert world.read(question_path(AVERAGE), "ada")["standing"]["attempts"] == 0


def test_checking_notes_how_an_answer_was_read_where_that_may_surprise(world: World) -> None:
    """Issue 10, item 16."""

    def notes(sent: Any) -> Any:
        response = world.post(question_path(AVERAGE) + "/check", "ada", {"answer": {"q": sent}})
        return response.json()["fields"][0]["notes"]

    assert notes("40 (k_a + k_b)") == []
    assert notes([[1.0]] * 7) == ["Read as a flat column of 7 numbers."]
    assert notes("40 k_a. It is large.") == [
        "Read up to the full stop; put explanations into the field for them."
    ]


@pytest.mark.parametrize(
    ("answer", "code", "pointer"),
    [
        pytest.param({"q": [1.0, 2.0]}, "answer.shape", "#/answer/q", id="too short"),
        pytest.param({"q": [1.0] * 6 + ["x"]}, "number.type", "#/answer/q/6", id="text in it"),
        pytest.param({"q": "40 k_z"}, "formula.unknown", "#/answer/q", id="unknown symbol"),
        pytest.param({}, "field.missing", "#/answer/q", id="nothing"),
        pytest.param({"q": "40 k_a", "p": 1}, "field.unknown", "#/answer/p", id="one too many"),
        pytest.param([], "answer.type", "#/answer", id="no object"),
    ],
)
def test_an_answer_that_cannot_be_read_uses_no_attempt_and_names_the_place(
    world: World, answer: Any, code: str, pointer: str
) -> None:
    response = world.post(attempts_path(AVERAGE), "ada", {"answer": answer})

    problem = response.json()
    assert response.status_code == 422
    assert response.headers["Content-Type"] == "application/problem+json"
    assert problem["attempt_used"] is False
    assert (problem["errors"][0]["code"], problem["errors"][0]["pointer"]) == (code, pointer)
    assert world.read(attempts_path(AVERAGE), "ada") == []


def test_a_backslash_that_json_has_eaten_is_explained(world: World) -> None:
    response = world.post(attempts_path(AVERAGE), "ada", {"answer": {"q": "\frac{1}{2} k_a"}})

    assert "a backslash is written twice" in response.json()["errors"][0]["hint"]


def test_the_same_answer_again_returns_the_old_result_and_uses_nothing(world: World) -> None:
    first = world.submit("ada", AVERAGE, {"q": "k_a"})
    again = world.submit("ada", AVERAGE, {"q": "k_a"}, status=200)

    assert again["id"] == first["id"]
    assert again["attempts_left"] == first["attempts_left"]
    assert len(world.read(attempts_path(AVERAGE), "ada")) == 1


def test_where_the_last_counts_an_older_answer_sent_again_counts(world: World) -> None:
    original = shipped().assignments[EXPLORATION]
    texts = {name: rubric.text for name, rubric in original.rubrics.items()}
    form = original.text.replace("counted: best", "counted: last")
    world.publish(read_assignment(EXPLORATION, form, texts))
    right = world.submit("ada", AVERAGE, {"q": "40 (k_a + k_b)"})
    world.submit("ada", AVERAGE, {"q": "k_a"})
    world.submit("ada", AVERAGE, {"q": "k_a"}, status=200)

    again = world.submit("ada", AVERAGE, {"q": "40 (k_a + k_b)"})

    assert again["number"] == 3
    assert again["is_counted"]
    assert again["score"] == right["score"]


def test_the_limit_holds_and_says_so(world: World) -> None:
    for number in range(10):
        world.submit("ada", AVERAGE, {"q": f"{number + 1} k_a"})

    refused = world.submit("ada", AVERAGE, {"q": "40 (k_a + k_b)"}, status=409)

    assert refused["code"] == "attempts.none_left"
    assert refused["attempt_used"] is False
    assert world.submit("ada", AVERAGE, {"q": "3 k_a"}, status=200)["number"] == 3


def test_the_best_attempt_counts(world: World) -> None:
    right = world.submit("ada", AVERAGE, {"q": "40 (k_a + k_b)"})
    world.submit("ada", AVERAGE, {"q": "k_a"})

    assignment = world.read(f"/api/v1/courses/one/assignments/{EXPLORATION}", "ada")
    summary = next(each for each in assignment["questions"] if each["id"] == "3b")
    assert summary["counted_attempt"] == right["id"]
    assert summary["points"] == right["score"]
    assert assignment["points"] == right["score"]
    marked = [each["is_counted"] for each in world.read(attempts_path(AVERAGE), "ada")]
    assert marked == [True, False]


def test_a_part_that_uses_another_waits_for_it_and_remembers_which(world: World) -> None:
    refused = world.submit("ada", STRETCHED, BELIEF, status=409)
    assert refused["code"] == "earlier.missing"
    earlier = world.submit("ada", NOISY, {"q": "1000 (mu_a + mu_b)"})

    result = world.submit("ada", STRETCHED, BELIEF)

    assert result["uses"] == "own"
    assert result["uses_attempt"] == earlier["id"]
    assert result["score"] == result["max_automatic"]


def test_a_wrong_earlier_answer_is_replaced_by_the_reference(world: World) -> None:
    world.submit("ada", NOISY, {"q": "mu_a"})

    result = world.submit("ada", STRETCHED, BELIEF)

    assert result["uses"] == "reference"
    assert result["score"] == result["max_automatic"]


def test_the_same_predictions_for_another_earlier_answer_are_another_attempt(world: World) -> None:
    world.submit("ada", NOISY, {"q": "mu_a"})
    world.submit("ada", STRETCHED, BELIEF)
    pushing = world.submit("ada", NOISY, {"q": "-50 sum_{m != a, b} mu_m"})

    result = world.submit("ada", STRETCHED, BELIEF)

    assert result["number"] == 2
    assert result["uses_attempt"] == pushing["id"]
    assert result["score"] < result["max_automatic"], "that query does not move"


def test_two_students_have_different_numbers_and_one_has_the_same_twice(world: World) -> None:
    mine, again = (world.read(question_path(AVERAGE), "ada")["given"] for _ in range(2))
    others = world.read(question_path(AVERAGE), "bob")["given"]

    assert mine == again
    assert mine["k"] != others["k"]


def test_numbers_for_another_students_question_fail_on_ones_own(world: World) -> None:
    given = world.read(question_path(AVERAGE), "bob")["given"]
    k = np.array(given["k"])
    query = (40 * (k[given["a"]] + k[given["b"]])).tolist()

    assert world.submit("bob", AVERAGE, {"q": query})["score"] > 0
    assert world.submit("ada", AVERAGE, {"q": query})["score"] == 0


def test_practice_key_sets_have_the_shape_of_the_keys(world: World) -> None:
    practice = world.read(question_path(NOISY) + "/practice?count=7", "ada")
    given = world.read(question_path(NOISY), "ada")["given"]

    keys = np.array(practice["key_sets"]["k"])
    assert keys.shape == (7, given["n"], given["d"])
    assert np.abs(keys - np.array(given["mu"])).max() < 1e-4


def test_a_lab_that_is_graded_elsewhere_takes_no_answers(world: World) -> None:
    refused = world.submit("ada", f"{SINGLE_HEAD}/2a", {"score": 30}, status=409)

    assert refused["code"] == "question.external"


def test_hints_open_with_attempts(world: World) -> None:
    assert world.read(question_path(STRETCHED), "ada")["hints"] == []
    world.submit("ada", NOISY, {"q": "mu_a"})
    world.submit("ada", STRETCHED, BELIEF)

    shown = world.read(question_path(STRETCHED), "ada")
    assert len(shown["hints"]) == 1
    assert shown["hints_in_all"] == 2


def test_an_attempt_can_be_looked_at_for_ever(world: World) -> None:
    made = world.submit("ada", AVERAGE, {"q": "k_a"})
    world.clock.turn(days=30)

    kept = world.read(f"/api/v1/attempts/{made['id']}", "ada")

    assert kept["receipt"] == made["receipt"]
    assert kept["answer"] == {"q": "k_a"}
    assert kept["criteria"] == made["criteria"]


def test_staff_may_try_a_question_without_a_place_of_their_own(world: World) -> None:
    shown = world.read(question_path(AVERAGE), "olga")
    assert shown["variant"] == "preview"

    refused = world.submit("olga", AVERAGE, {"q": "k_a"}, status=403)
    assert refused["code"] == "role.missing"


def test_an_instructor_who_takes_part_may_answer(world: World) -> None:
    assert world.submit("irene", AVERAGE, {"q": "k_a"})["number"] == 1
    grades = world.read(f"/api/v1/courses/one/assignments/{EXPLORATION}/grades", "irene")
    assert "irene" not in [each["student"] for each in grades["students"]], "only students"


# The Idempotency-Key


def test_a_request_sent_twice_with_a_key_is_done_once_and_answered_alike(world: World) -> None:
    key = {"Idempotency-Key": "try-1"}
    body = {"answer": {"q": "k_a"}}

    first = world.post(attempts_path(AVERAGE), "ada", body, headers=key)
    world.submit("ada", AVERAGE, {"q": "2 k_a"})
    again = world.post(attempts_path(AVERAGE), "ada", body, headers=key)

    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len(world.read(attempts_path(AVERAGE), "ada")) == 2


def test_a_key_with_another_request_is_refused(world: World) -> None:
    key = {"Idempotency-Key": "try-1"}
    world.post(attempts_path(AVERAGE), "ada", {"answer": {"q": "k_a"}}, headers=key)

    other = world.post(attempts_path(AVERAGE), "ada", {"answer": {"q": "k_b"}}, headers=key)
    elsewhere = world.post(attempts_path(NOISY), "ada", {"answer": {"q": "k_a"}}, headers=key)

    assert [other.status_code, elsewhere.status_code] == [422, 422]
    assert other.json()["code"] == "idempotency_key.reused"


def test_a_key_belongs_to_its_sender(world: World) -> None:
    key = {"Idempotency-Key": "try-1"}
    body = {"answer": {"q": "k_a"}}
    mine = world.post(attempts_path(AVERAGE), "ada", body, headers=key)
    others = world.post(attempts_path(AVERAGE), "bob", body, headers=key)

    assert others.status_code == 201
    assert others.json()["id"] != mine.json()["id"]


def test_a_refused_request_leaves_its_key_free(world: World) -> None:
    key = {"Idempotency-Key": "try-1"}
    refused = world.post(attempts_path(STRETCHED), "ada", {"answer": BELIEF}, headers=key)
    assert refused.status_code == 409
    world.submit("ada", NOISY, {"q": "mu_a"})

    again = world.post(attempts_path(STRETCHED), "ada", {"answer": BELIEF}, headers=key)

    assert again.status_code == 201


# Time


def test_time_is_stamped_when_the_request_arrives(world: World) -> None:
    world.clock.turn(days=7, seconds=30)

    assert world.submit("ada", AVERAGE, {"q": "k_a"})["days_late"] == 0


def test_after_the_end_nothing_is_taken(world: World) -> None:
    world.clock.turn(days=7, seconds=120)

    refused = world.submit("ada", AVERAGE, {"q": "k_a"}, status=409)

    assert refused["code"] == "assignment.closed"


def test_an_extension_opens_it_again_for_one_student(world: World) -> None:
    world.clock.turn(days=8)
    due = world.clock().replace(microsecond=0)
    path = f"/api/v1/courses/one/assignments/{EXPLORATION}/extensions"
    body = {"student": "ada", "due_at": (due.isoformat()), "reason": "Ill."}
    assert world.post(path, "irene", body).status_code == 201

    world.submit("ada", AVERAGE, {"q": "k_a"})
    world.submit("bob", AVERAGE, {"q": "k_a"}, status=409)


def test_an_extension_gives_more_attempts(world: World) -> None:
    path = f"/api/v1/courses/one/assignments/{EXPLORATION}/extensions"
    world.post(path, "irene", {"student": "ada", "extra_attempts": 2, "reason": "A fault of ours."})
    for number in range(12):
        world.submit("ada", AVERAGE, {"q": f"{number + 1} k_a"})

    world.submit("ada", AVERAGE, {"q": "13 k_a"}, status=409)


def test_somebody_who_left_can_answer_no_more(world: World) -> None:
    world.add_member("eve", Role.STUDENT)
    world.submit("eve", AVERAGE, {"q": "k_a"})
    assert world.call("DELETE", "/api/v1/courses/one/people/eve", "irene").status_code == 204

    world.submit("eve", AVERAGE, {"q": "k_b"}, status=404)
