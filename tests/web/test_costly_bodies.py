"""What a body costs is bounded, whatever it holds, and large ones are for known callers only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote_plus

import pytest

from grader.store.database import Database
from grader.web.http.costly import LARGE_BODY_BYTES
from grader.web.http.rate_limits import RateLimit
from tests.support.browsers import Browser
from tests.support.costs import measure_milliseconds
from tests.support.page_matrix import AVERAGE
from tests.support.world import EXPLORATION, World, make_service, question_path

MOST_MILLISECONDS = 50
QUESTION = question_path(f"{EXPLORATION}/3b")
PUBLISHED = {"one": (EXPLORATION,), "two": (EXPLORATION,)}


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    with make_service(sqlite_database, published=PUBLISHED) as world:
        yield world


def in_answer(value: str) -> bytes:
    return f'{{"answer": {{"q": {value}}}}}'.encode()


def members(count: int) -> str:
    return ",".join(f'"f{number}":1' for number in range(count))


BODIES = [
    pytest.param(in_answer("[" + "1," * 500_000 + "1]"), id="half a million ones"),
    pytest.param(in_answer("[" + "1," * 199_000 + "1]"), id="as many ones as are counted"),
    pytest.param(in_answer("[" + "1e300," * 170_000 + "1]"), id="large exponents"),
    pytest.param(in_answer("[" + "12345678901234567890," * 49_000 + "1]"), id="large integers"),
    pytest.param(in_answer("[" + '"a",' * 190_000 + "1]"), id="texts for numbers"),
    pytest.param(in_answer("[" + "[]," * 300_000 + "1]"), id="empty lists"),
    pytest.param(in_answer("[" + "[1]," * 14_000 + "[1]]"), id="rows of one number"),
    pytest.param(in_answer("[" * 500_000), id="open brackets"),
    pytest.param(in_answer('"' + "1 " * 99_000 + '"'), id="a long paste"),
    pytest.param(in_answer('"' + "(1,)," * 39_000 + '"'), id="a paste of tuples"),
    pytest.param(in_answer('"' + "1\\\\" * 45_000 + '"'), id="a paste with backslashes"),
    pytest.param(in_answer('"' + "x" * 1_000_000 + '"'), id="one long word"),
    pytest.param(in_answer('"' + "\\u00e9" * 170_000 + '"'), id="escaped characters"),
    pytest.param(in_answer('"' + '\\",[{:' * 160_000 + '"'), id="signs in a text"),
    pytest.param(f'{{"answer": {{{members(80_000)}}}}}'.encode(), id="unknown fields"),
    pytest.param(f'{{"answer": {{{members(49_000)}}}}}'.encode(), id="as many fields as may be"),
    pytest.param(f'{{"answer": {{}}, {members(48_000)}}}'.encode(), id="members beside the answer"),
    pytest.param(b"[" + b"{}," * 14_000 + b"1]", id="a list for an object"),
]


@pytest.mark.parametrize("call", ["check", "attempts"])
@pytest.mark.parametrize("body", BODIES)
def test_a_megabyte_of_anything_costs_little_and_is_refused(
    world: World, body: bytes, call: str
) -> None:
    headers = {
        "Authorization": f"Bearer {world.tokens['ada']}",
        "Content-Type": "application/json",
    }
    statuses = []

    def send() -> None:
        answered = world.client.post(f"{QUESTION}/{call}", content=body, headers=headers)
        statuses.append(answered.status_code)

    assert measure_milliseconds(send) < MOST_MILLISECONDS
    assert set(statuses) <= {400, 413, 422}


FORMS = [
    pytest.param("answer.q", quote_plus("1 " * 99_000), id="a long paste"),
    pytest.param("answer.q", quote_plus("x " * 400_000), id="words"),
    pytest.param("answer.q", "%41" * 340_000, id="escaped letters"),
    pytest.param("answer.q", "%" * 1_000_000, id="signs that escape nothing"),
    pytest.param("answer.explanation", quote_plus("[" * 19_900), id="open brackets"),
    pytest.param("answer.explanation", quote_plus("[a](" * 4_900), id="open links"),
    pytest.param("answer.explanation", quote_plus("- a\n" * 4_900), id="lists"),
    pytest.param("answer.explanation", quote_plus("|a|b|\n|-|-|\n" * 1_600), id="tables"),
    pytest.param("answer.explanation", quote_plus("**a" * 6_000), id="stars"),
]


@pytest.mark.parametrize("call", ["/reading/{field}", "/draft", ""])
@pytest.mark.parametrize(("field", "text"), FORMS)
def test_a_megabyte_in_a_form_costs_little(world: World, field: str, text: str, call: str) -> None:
    ada = Browser(world, "ada")
    ada.client.get(AVERAGE)
    form = f"csrf={ada.csrf()}&action=check&{field}={text}"
    path = AVERAGE + call.format(field=field.removeprefix("answer."))
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    statuses = []

    def send() -> None:
        statuses.append(ada.client.post(path, content=form, headers=headers).status_code)

    assert measure_milliseconds(send) < MOST_MILLISECONDS
    assert set(statuses) <= {200, 413, 422}


LARGE = in_answer('"' + "k_a + " * LARGE_BODY_BYTES + '"')


def post_large(world: World, token: str | None, path: str = QUESTION + "/check") -> Any:
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    return world.client.post(path, content=LARGE, headers=headers)


@pytest.mark.parametrize("token", [None, "keyset_none"])
@pytest.mark.parametrize("call", ["check", "attempts"])
def test_a_large_body_of_a_stranger_is_not_even_parsed(
    world: World, token: str | None, call: str
) -> None:
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"

    answered = world.client.post(
        f"{QUESTION}/{call}", content=b"no JSON " * 10_000, headers=headers
    )

    assert answered.status_code == 401


def test_large_bodies_have_a_budget_and_short_ones_go_on(sqlite_database: Database) -> None:
    rules = {"body": RateLimit(per_minute=1, burst=8)}
    with make_service(sqlite_database, published=PUBLISHED, rules=rules) as world:
        sent = [post_large(world, world.tokens["ada"]).status_code for _ in range(3)]
        short = world.post(QUESTION + "/check", "ada", {"answer": {"q": "k_a"}})
        other = post_large(world, world.tokens["bob"]).status_code

    # It has seven pieces of 16 KiB.
    assert sent == [422, 429, 429]
    assert short.status_code == 200
    assert other == 422


def test_two_costly_requests_of_a_person_are_under_way_and_a_third_is_refused(
    world: World,
) -> None:
    costly, ada = world.service.costly, world.people["ada"].id
    costly.begin(ada)
    costly.begin(ada)
    refused = post_large(world, world.tokens["ada"])
    other = post_large(world, world.tokens["bob"])
    costly.end(ada)
    later = post_large(world, world.tokens["ada"])

    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "3")
    assert other.status_code == later.status_code == 422
    assert len(costly) == 1, "each request has given back its place"


def test_checks_and_submits_have_budgets_of_their_own(sqlite_database: Database) -> None:
    rules = {"check": RateLimit(per_minute=1, burst=2)}
    with make_service(sqlite_database, published=PUBLISHED, rules=rules) as world:
        body = {"answer": {"q": "k_a"}}
        checked = [
            world.call("POST", QUESTION + "/check", "ada", body).status_code for _ in range(3)
        ]
        submitted = world.call("POST", QUESTION + "/attempts", "ada", body).status_code

    assert checked == [200, 200, 429]
    assert submitted == 201


def test_a_large_answer_that_cannot_be_read_does_not_reach_the_writer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.read(QUESTION, "ada")
    reached: list[Any] = []
    monkeypatch.setattr(type(world.service), "submit_batch", lambda *given: reached.append(given))

    refused = post_large(world, world.tokens["ada"], QUESTION + "/attempts")

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "#/answer/q"
    assert reached == []


def test_a_large_answer_that_can_be_read_is_stored_and_repeated_under_its_key(
    world: World,
) -> None:
    answer = {"q": "40 (k_a + k_b)", "explanation": "Because. " * 2_100}
    headers = {"Idempotency-Key": "large"}
    sent = [
        world.call("POST", QUESTION + "/attempts", "ada", {"answer": answer}, headers=headers)
        for _ in range(2)
    ]

    assert [each.status_code for each in sent] == [201, 201]
    assert sent[0].json() == sent[1].json()


def test_strangers_are_counted_by_address_and_those_who_sign_in_are_not(
    sqlite_database: Database,
) -> None:
    rules = {"anonymous": RateLimit(per_minute=1, burst=12)}
    with make_service(sqlite_database, published=PUBLISHED, rules=rules) as world:
        headers = {"Authorization": "Bearer keyset_none"}
        wrong = [world.client.get(QUESTION, headers=headers).status_code for _ in range(4)]
        pages = [world.client.get("/sign-in").status_code for _ in range(4)]
        alive = world.client.get("/healthz").status_code
        known = world.call("GET", QUESTION, "ada").status_code

    assert wrong == [401, 401, 429, 429]
    assert pages == [200, 200, 429, 429]
    assert (alive, known) == (200, 200)


def test_nobody_is_kept_from_answering_by_the_wrong_tokens_of_others(
    sqlite_database: Database,
) -> None:
    rules = {"anonymous": RateLimit(per_minute=1, burst=12)}
    with make_service(sqlite_database, published=PUBLISHED, rules=rules) as world:
        world.tokens["unknown"] = "keyset_none"
        path = QUESTION + "/attempts"
        body = {"answer": {"q": "k_a"}}
        wrong = [world.call("POST", path, "unknown", body).status_code for _ in range(6)]
        known = world.call("POST", path, "ada", body).status_code

    assert wrong[:2] == [401, 401]
    assert wrong[-1] == 429
    assert known == 201
