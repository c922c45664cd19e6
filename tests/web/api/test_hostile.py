"""What clever students, careless instructors and broken programs send: refused, never a defect."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from httpx2 import Response

from grader.domain.roles import Scope
from grader.store.database import Database
from grader.web.http.rate_limits import RateLimit
from tests.support.world import DUE, EXPLORATION, World, make_service

COURSE = "/api/v1/courses/one"
ASSIGNMENT = f"{COURSE}/assignments/{EXPLORATION}"
FORM = "id: warm-up\ntitle: Warm-up\nquestions: [thirds]\n"
THIRDS = """\
id: thirds
title: Thirds
points: 3
prompt: Send a third.
draw: {n: 3}
given: [n]
answer:
  x: {number: 1/n, tolerance: 0.01, points: 3}
examples:
  - {name: right, answer: {x: 0.3333}, earns: 3}
"""


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (EXPLORATION,), "two": ()}) as world:
        yield world


def publish(world: World, form: str = FORM, thirds: str = THIRDS, **more: Any) -> Response:
    body = {"form": form, "rubrics": {"thirds": thirds}, **more}
    return world.post(f"{COURSE}/assignments/warm-up/publications", "irene", body)


def extend(world: World, due_at: str) -> Response:
    body = {"student": "ada", "due_at": due_at, "reason": "Ill."}
    return world.post(f"{ASSIGNMENT}/extensions", "irene", body)


# Dates


FAR_DATES = [
    pytest.param("0001-01-01T00:00:00+14:00", id="before the first year"),
    pytest.param("0001-01-01T00:00:00Z", id="the first year"),
    pytest.param("9999-12-31T23:59:59Z", id="the last second"),
    pytest.param("9999-12-31T23:59:59-12:00", id="after the last second"),
]


@pytest.mark.parametrize("date", FAR_DATES)
def test_an_extension_to_a_date_that_nobody_means_is_refused(world: World, date: str) -> None:
    refused = extend(world, date)

    assert refused.status_code == 422
    assert refused.json()["code"] == "date.range"
    assert refused.json()["errors"][0]["pointer"] == "#/due_at"
    assert world.get(ASSIGNMENT, "ada").status_code == 200


@pytest.mark.parametrize("date", FAR_DATES)
@pytest.mark.parametrize("member", ["opens_at", "due_at"])
def test_a_publication_with_a_date_that_nobody_means_is_refused(
    world: World, date: str, member: str
) -> None:
    refused = publish(world, **{member: date})

    assert (refused.status_code, refused.json()["code"]) == (422, "date.range")
    assert world.get(f"{COURSE}/assignments", "ada").status_code == 200


def test_a_file_whose_due_date_nobody_means_is_refused(world: World) -> None:
    refused = publish(world, FORM + 'due: "9999-12-31 23:59"\ntime_zone: Pacific/Honolulu\n')

    assert (refused.status_code, refused.json()["code"]) == (422, "date.range")


def test_an_assignment_that_is_due_before_it_opens_is_refused(world: World) -> None:
    refused = publish(world, opens_at="2027-01-02T00:00:00Z", due_at="2027-01-01T00:00:00Z")

    assert (refused.status_code, refused.json()["code"]) == (422, "date.order")


def test_dates_are_told_in_utc_by_whatever_call(world: World) -> None:
    given = extend(world, "2026-12-01T01:30:00+02:00").json()

    assert given["due_at"] == "2026-11-30T23:30:00Z"
    assert world.read(f"{ASSIGNMENT}/extensions", "irene")[0]["due_at"] == given["due_at"]


def test_an_extension_never_leaves_less_time_than_everybody_has(world: World) -> None:
    early = (DUE - timedelta(days=3)).isoformat()

    assert extend(world, early).status_code == 201
    assert world.read(ASSIGNMENT, "ada")["due_at"] == world.read(ASSIGNMENT, "bob")["due_at"]


# Files of authors


@pytest.mark.parametrize(
    ("form", "thirds", "pointer", "said"),
    [
        pytest.param(
            FORM + 'grades: {"²": "3"}\n', THIRDS, "#/form", "not a number of points",
            id="a threshold that is no number",
        ),
        pytest.param(
            FORM.replace("[thirds]", "[thirds, thirds]"), THIRDS, "#/form", "twice",
            id="a question that is there twice",
        ),
        pytest.param(
            FORM, THIRDS + "revision: 20261116001\n", "#/rubrics/thirds", "revision",
            id="a revision that PostgreSQL cannot count",
        ),
        pytest.param(
            FORM,
            THIRDS.replace("{n: 3}", "{n: 3, k: {unit_rows: [99, 2], most_cosine: 0.01}}"),
            "#/rubrics/thirds", "cannot be drawn", id="a draw that never succeeds",
        ),
        pytest.param(
            FORM, THIRDS.replace("points: 3\n", "pointz: 3\n"), "#/rubrics/thirds", "points",
            id="a key that is not known",
        ),
    ],
)  # fmt: skip
def test_a_file_that_could_not_be_used_is_refused_with_its_place(
    world: World, form: str, thirds: str, pointer: str, said: str
) -> None:
    refused = publish(world, form, thirds)

    assert refused.status_code == 422, refused.text
    assert refused.json()["code"] == "rubric.invalid"
    assert refused.json()["errors"][0]["pointer"] == pointer
    assert said in refused.json()["errors"][0]["detail"]


# Cursors


@pytest.mark.parametrize("number", [2**64 - 1, 2**63 - 1, 2**31, -1, -(2**63)])
def test_a_cursor_beyond_all_numbers_is_refused(world: World, number: int) -> None:
    response = world.get(f"{COURSE}/audit?cursor={cursor(number)}", "irene")

    assert (response.status_code, response.json()["code"]) == (422, "cursor.invalid")


@pytest.mark.parametrize("path", [f"{COURSE}/people", f"{ASSIGNMENT}/grades"])
def test_a_cursor_with_a_character_that_postgresql_has_not_is_refused(
    world: World, path: str
) -> None:
    response = world.get(f"{path}?cursor={cursor('a' + chr(0), 'b')}", "irene")

    assert (response.status_code, response.json()["code"]) == (422, "cursor.invalid")


def cursor(*parts: str | int) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).rstrip(b"=").decode()


# What callers of an API expect


def test_every_address_tells_the_methods_it_takes(world: World) -> None:
    asked = world.call("OPTIONS", ASSIGNMENT)
    refused = world.call("DELETE", ASSIGNMENT, "ada")

    assert (asked.status_code, asked.content) == (204, b"")
    assert asked.headers["Allow"] == "GET, HEAD, OPTIONS"
    assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
    assert world.call("OPTIONS", "/api/v1/nothing").status_code == 404


def test_an_attempt_says_where_it_can_be_found(world: World) -> None:
    path = f"{ASSIGNMENT}/questions/3b/attempts"
    sent = world.post(path, "ada", {"answer": {"q": "2 k_a - k_b"}})
    again = world.post(path, "ada", {"answer": {"q": "2 k_a - k_b"}})

    assert world.read(sent.headers["Location"], "ada")["id"] == sent.json()["id"]
    assert again.headers["Location"] == sent.headers["Location"]


# Load


def test_a_gradebook_waits_for_one_free_reader_and_not_for_one_a_line(world: World) -> None:
    response = world.get(f"{ASSIGNMENT}/grades?format=csv", "irene")

    # A stream, which takes a reader's turn for every piece, has no length.
    assert response.headers["Content-Length"] == str(len(response.content))
    assert [line.split(",")[0] for line in response.text.splitlines()] == ["login", "ada", "bob"]


# Budgets


def test_more_tokens_are_no_more_calls(sqlite_database: Database) -> None:
    rules = {"read": RateLimit(per_minute=1, burst=2)}
    with make_service(sqlite_database, rules=rules, published={"one": (), "two": ()}) as world:
        world.add_token("another of ada", "ada", [Scope.READ])
        first = world.get(COURSE, "ada")
        second = world.get(COURSE, "another of ada")
        third = world.get(COURSE, "another of ada")
        of_bob = world.get(COURSE, "bob")

    assert [first.status_code, second.status_code, of_bob.status_code] == [200, 200, 200]
    assert third.status_code == 429
