"""Answers on the fast path, by HTTP: who sends them is asked anew for every one of them.

The same request is left to FastAPI if it is not plain, and must then come to the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from httpx2 import Response
from sqlalchemy.exc import IntegrityError

from grader.accounts.people import change_person, end_account
from grader.domain.roles import ALL_SCOPES, Role, Scope
from grader.grading.submissions.submit import submit
from grader.store.database import Database, Session
from grader.store.queries import people
from grader.store.queries.credentials import TokenLine, list_tokens
from grader.web import submissions
from grader.web.api.submit_fast_path import SUBMIT_ROUTE, SubmitFastRoute
from grader.web.http.rate_limits import RateLimit
from tests.support.mending import NEARLY, ONE, slips
from tests.support.world import (
    EXPLORATION,
    World,
    make_service,
    make_service_beside,
    question_path,
    serve_world,
)

AVERAGE = f"{EXPLORATION}/3b"
#: A budget that does not fill up again while a test runs.
FEW = RateLimit(per_minute=0.001, burst=3)
#: Makes a request that is not plain, and that is taken nevertheless.
TWO_KEYS = [("Idempotency-Key", "one"), ("Idempotency-Key", "two")]


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    published = {"one": (EXPLORATION,), "two": ()}
    with make_service(database, published=published) as world, serve_world(world) as served:
        yield served


@pytest.fixture(params=["this process", "another process"])
def elsewhere(world: World, request: pytest.FixtureRequest) -> Iterator[World]:
    """The service that changes something."""
    if request.param == "this process":
        yield world
    else:
        with make_service_beside(world) as other:
            yield other


@pytest.fixture
def paths(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which path each answer took."""
    taken: list[str] = []
    match, begin = SubmitFastRoute.match, SubmitFastRoute.begin

    def note_answer(self: Any, method: bytes, url: bytes, headers: Any, address: str) -> Any:
        if method == b"POST" and url.endswith(b"/attempts"):
            taken.append("FastAPI")
        return match(self, method, url, headers, address)

    def note_path(self: Any, request: Any) -> Any:
        found = begin(self, request)
        if found is not None:
            taken[-1] = "fast"
        return found

    monkeypatch.setattr(SubmitFastRoute, "match", note_answer)
    monkeypatch.setattr(SubmitFastRoute, "begin", note_path)
    return taken


def send(
    world: World,
    who: str | None,
    answer: Any = None,
    *,
    question: str = AVERAGE,
    course: str = "one",
    headers: Sequence[tuple[str, str]] = (),
    **more: Any,
) -> Response:
    """Send an answer of which nobody has sent the like, with headers that may come twice."""
    sent = {"answer": answer or {"q": f"{world.number()} k_a"}, **more}
    # No client sends the space behind which there is no token.
    token = [("Authorization", f"Bearer {world.tokens[who]}".strip())] if who else []
    world.client.cookies.clear()
    path = question_path(question, course) + "/attempts"
    return world.client.post(path, json=sent, headers=[*token, *headers])


def told(response: Response) -> tuple[int, str]:
    """The status with the code of the problem, where it is one."""
    return response.status_code, response.json().get("code", "")


# What changes holds for the very next answer


def test_a_revoked_token_is_refused_at_once(world: World, elsewhere: World) -> None:
    token = world.add_token("revoked", "ada", ALL_SCOPES)
    assert send(world, "revoked").status_code == 201

    revoked = elsewhere.call("DELETE", f"/api/v1/tokens/{token.line.id}", "ada")

    assert revoked.status_code == 204
    assert told(send(world, "revoked")) == (401, "caller.unknown")
    assert send(world, "ada").status_code == 201, "only that one"


def test_a_token_that_has_expired_is_refused_at_once(world: World) -> None:
    world.add_token("short", "ada", ALL_SCOPES, days=1)
    world.clock.turn(days=1, seconds=-1)
    assert send(world, "short").status_code == 201

    world.clock.turn(seconds=1)

    assert told(send(world, "short")) == (401, "caller.unknown")


def test_a_student_who_was_removed_is_outside_at_once(world: World, elsewhere: World) -> None:
    assert send(world, "bob").status_code == 201

    removed = elsewhere.call("DELETE", "/api/v1/courses/one/people/bob", "irene")

    assert removed.status_code == 204
    assert told(send(world, "bob")) == (404, "not_found")


def test_a_person_whose_account_has_ended_is_refused_at_once(
    world: World, elsewhere: World
) -> None:
    assert send(world, "bob").status_code == 201

    with elsewhere.database.write() as session:
        end_account(session, world.people["bob"], at=world.clock(), by="test")

    assert told(send(world, "bob")) == (401, "caller.unknown")


def test_the_end_of_an_account_alone_is_enough(world: World, elsewhere: World) -> None:
    assert send(world, "bob").status_code == 201

    with elsewhere.database.write() as session:
        people.change_person(session, person_id=world.people["bob"].id, ended_at=world.clock())

    assert told(send(world, "bob")) == (401, "caller.unknown")


def test_a_new_publication_judges_the_next_answer(world: World, elsewhere: World) -> None:
    world.publish(slips(within=0.02))
    assert send(world, "ada", NEARLY, question=ONE).json()["score"] == 0

    elsewhere.publish(slips(within=0.03))

    assert send(world, "ada", NEARLY, question=ONE).json()["score"] == 4


def test_an_earlier_end_holds_for_the_next_answer(world: World, elsewhere: World) -> None:
    world.publish(slips())
    assert send(world, "ada", NEARLY, question=ONE).status_code == 201

    elsewhere.publish(slips(), due_at=world.clock())
    world.clock.turn(seconds=1)

    refused = send(world, "ada", {"q": "k_a"}, question=ONE)
    assert told(refused) == (409, "assignment.closed")


def test_who_gets_a_place_may_answer_at_once(world: World, elsewhere: World) -> None:
    assert told(send(world, "cora")) == (404, "not_found")
    assert told(send(world, "olga")) == (403, "role.missing")

    roster = {"csv": "login,name,role\ncora,Cora,student\nolga,Olga,assistant\n"}
    assert elsewhere.post("/api/v1/courses/one/roster", "olga", roster).status_code == 201

    assert send(world, "cora").status_code == 201
    assert send(world, "olga").status_code == 201


def test_who_operates_no_more_is_outside_at_once(world: World, elsewhere: World) -> None:
    assert told(send(world, "olga")) == (403, "role.missing")

    with elsewhere.database.write() as session:
        change_person(session, world.people["olga"], is_operator=False, at=world.clock(), by="test")

    assert told(send(world, "olga")) == (404, "not_found")


# The order of refusals, whichever path they take

#: Who sends an answer where, and what comes of it.
CALLS: dict[str, tuple[str | None, dict[str, Any], tuple[int, str]]] = {
    "nobody": (None, {}, (401, "caller.unknown")),
    "no token": ("basic", {}, (401, "caller.unknown")),
    "an unknown token": ("unknown", {}, (401, "caller.unknown")),
    "a revoked token": ("revoked", {}, (401, "caller.unknown")),
    "an expired token": ("expired", {}, (401, "caller.unknown")),
    "an unknown token elsewhere": ("unknown", {"course": "nowhere"}, (401, "caller.unknown")),
    "a student elsewhere": ("ada", {"course": "nowhere"}, (404, "not_found")),
    "a stranger": ("cora", {}, (404, "not_found")),
    "a stranger without the scope": ("cora reads", {}, (404, "not_found")),
    "a service of another course": ("service of two", {}, (404, "not_found")),
    "a student without the scope": ("ada reads", {}, (403, "scope.missing")),
    "an operator without the scope": ("olga reads", {}, (403, "scope.missing")),
    "a service without the scope": ("service reads", {}, (403, "scope.missing")),
    "no scope, no question": ("ada reads", {"question": "no/no"}, (403, "scope.missing")),
    "an operator": ("olga", {}, (403, "role.missing")),
    "a service": ("service", {}, (403, "role.missing")),
    "an operator, no question": ("olga", {"question": "no/no"}, (403, "role.missing")),
    "no assignment": ("ada", {"question": "none/3b"}, (404, "not_found")),
    "no question": ("ada", {"question": f"{EXPLORATION}/none"}, (404, "not_found")),
    "an answer that cannot be read": ("ada", {"answer": {"q": [1]}}, (422, "answer.shape")),
    "a student": ("ada", {}, (201, "")),
    "an instructor": ("irene", {}, (201, "")),
}
#: Who is known, and has calls to spend.
KNOWN = {each: call for each, call in CALLS.items() if call[2][0] != 401}


def add_callers(world: World) -> None:
    revoked = world.add_token("revoked", "ada", ALL_SCOPES)
    assert world.call("DELETE", f"/api/v1/tokens/{revoked.line.id}", "ada").status_code == 204
    world.add_token("expired", "ada", ALL_SCOPES, days=1)
    world.clock.turn(days=1)
    world.tokens["unknown"] = "keyset_" + "0" * 40
    world.tokens["basic"] = ""
    for login in ("ada", "cora", "olga"):
        world.add_token(f"{login} reads", login, [Scope.READ])
    world.add_service("service", [Scope.SUBMIT])
    world.add_service("service reads", [Scope.READ])
    world.add_service("service of two", ALL_SCOPES, course="two")


def test_both_paths_refuse_in_the_same_order(world: World, paths: list[str]) -> None:
    add_callers(world)

    fast = {name: told(send(world, who, **more)) for name, (who, more, _) in CALLS.items()}
    assert paths == ["FastAPI"] * 2 + ["fast"] * (len(CALLS) - 2), "a browser may have a session"
    paths.clear()
    other = {
        name: told(send(world, who, headers=TWO_KEYS, **more))
        for name, (who, more, _) in CALLS.items()
    }

    assert set(paths) == {"FastAPI"}
    assert fast == {name: wanted for name, (_, _, wanted) in CALLS.items()}
    assert other == fast


def test_a_wrong_body_tells_no_more_than_a_good_one(world: World, paths: list[str]) -> None:
    add_callers(world)
    strangers = ("a stranger", "a stranger without the scope", "a student elsewhere")
    refused = {
        name: call
        for name, call in CALLS.items()
        if call[2][0] == 401 or call[2][1] == "scope.missing" or name in strangers
    }

    found = {
        name: told(send(world, who, unknown=1, **more)) for name, (who, more, _) in refused.items()
    }

    assert set(paths) == {"FastAPI"}
    assert found == {name: wanted for name, (_, _, wanted) in refused.items()}
    assert told(send(world, "ada", unknown=1)) == (422, "request.invalid")


@pytest.mark.parametrize("headers", [[], TWO_KEYS], ids=["fast", "by FastAPI"])
def test_too_many_calls_are_refused_before_anything_is_told(
    database: Database, headers: list[tuple[str, str]], paths: list[str]
) -> None:
    with make_service(database, rules={"submit": FEW}) as begun, serve_world(begun) as world:
        add_callers(world)
        for who in {who for who, _, _ in KNOWN.values()}:
            for _ in range(FEW.burst):
                send(world, who, {"q": [1]}, headers=headers)

        found = {
            name: told(send(world, who, headers=headers, **more))
            for name, (who, more, _) in CALLS.items()
        }

    assert set(paths) == ({"FastAPI"} if headers else {"FastAPI", "fast"})
    assert found == {
        name: (429, "rate.exceeded") if name in KNOWN else (401, "caller.unknown") for name in CALLS
    }


# The budget


def left(response: Response) -> int:
    """How many calls the headers say are left."""
    assert response.headers["RateLimit-Policy"].startswith('"submit";q=3;')
    name, calls, _ = response.headers["RateLimit"].split(";")
    assert name == '"submit"'
    return int(calls.removeprefix("r="))


@pytest.fixture
def limited(database: Database) -> Iterator[World]:
    """A service that lets few answers through, and fills no budget up again."""
    with make_service(database, rules={"submit": FEW}) as world, serve_world(world) as served:
        yield served


def test_the_headers_count_down_and_then_say_when_to_come_again(limited: World) -> None:
    assert [left(send(limited, "ada")) for _ in range(3)] == [2, 1, 0]

    refused = send(limited, "ada")

    assert told(refused) == (429, "rate.exceeded")
    assert int(refused.headers["Retry-After"]) > 0
    assert left(send(limited, "bob")) == 2, "everybody has a budget of their own"


def test_both_paths_say_how_many_calls_are_left(limited: World, paths: list[str]) -> None:
    assert left(send(limited, "ada")) == 2
    assert left(send(limited, "ada", headers=TWO_KEYS)) == 1
    assert paths == ["fast", "FastAPI"]


@pytest.mark.parametrize(
    ("who", "more"),
    [
        pytest.param("ada", {"course": "nowhere"}, id="no such course"),
        pytest.param("ada", {"question": "none/none"}, id="no such question"),
        pytest.param("ada reads", {}, id="no scope"),
        pytest.param("ada", {"answer": {"q": [1]}}, id="an answer that cannot be read"),
        pytest.param("ada", {"headers": TWO_KEYS}, id="the other path"),
    ],
)
def test_a_call_that_is_refused_counts_by_person(
    limited: World, who: str, more: dict[str, Any]
) -> None:
    limited.add_token("ada reads", "ada", [Scope.READ])

    send(limited, who, **more)

    assert left(send(limited, "ada")) == 1


def test_an_unknown_token_costs_nobody_anything(limited: World) -> None:
    limited.tokens["unknown"] = "keyset_none"
    for _ in range(5):
        assert send(limited, "unknown").status_code == 401

    assert left(send(limited, "ada")) == 2


@contextmanager
def busy_writer(world: World) -> Iterator[Callable[[int], None]]:
    """A writer that begins with what waits only at the end; yields how to wait for so many."""
    is_free, begun = threading.Event(), threading.Semaphore(0)

    def hold(_: Session, pieces: Sequence[str]) -> Sequence[str]:
        begun.release()
        is_free.wait(20)
        return pieces

    held = []
    for _ in range(1 if world.service.database.is_sqlite else 2):
        held.append(world.service.writer.put(hold, "hold"))
        assert begun.acquire(timeout=20), "each transaction is held"

    def wait(count: int) -> None:
        pause = threading.Event()
        for _ in range(2000):
            if world.service.writer.waiting >= count:
                return
            pause.wait(0.01)
        raise AssertionError(f"only {world.service.writer.waiting} wait")

    try:
        yield wait
    finally:
        is_free.set()
        for each in held:
            each.result(20)


def send_together(world: World, senders: Sequence[str]) -> list[Response]:
    """Send an answer of each, all in one batch."""
    with ThreadPoolExecutor(len(senders)) as pool:
        with busy_writer(world) as wait:
            sent = [
                pool.submit(
                    world.client.post,
                    question_path(AVERAGE) + "/attempts",
                    json={"answer": {"q": f"{world.number()} k_a"}},
                    headers={"Authorization": f"Bearer {world.tokens[who]}"},
                )
                for who in senders
            ]
            wait(len(senders))
        return [each.result(30) for each in sent]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of groups; the first of each size fails once everybody was asked for."""
    groups: list[int] = []

    def fail_first(session: Any, context: Any, requests: Any, *, at: Any) -> Any:
        groups.append(len(requests))
        results = submit(session, context, requests, at=at)
        if groups.count(len(requests)) == 1:
            raise IntegrityError("INSERT", {}, Exception("another process was faster"))
        return results

    monkeypatch.setattr(submissions, "submit", fail_first)
    return groups


def test_a_batch_that_is_repeated_piece_by_piece_counts_each_call_once(
    limited: World, failing: list[int]
) -> None:
    found = send_together(limited, ["ada", "bob", "arthur", "ada"])

    assert [each.status_code for each in found] == [201] * 4
    assert failing == [4, 1, 1, 1, 1, 1], "all together, then each alone, the first of them twice"
    assert sorted([left(found[0]), left(found[3])]) == [1, 2]
    assert [left(each) for each in found[1:3]] == [2, 2]
    assert left(send(limited, "ada")) == 0
    assert [each["number"] for each in attempts_of(limited, "ada")] == [1, 2, 3]
    assert [each["number"] for each in attempts_of(limited, "bob")] == [1]


def test_of_a_repeated_batch_those_are_refused_that_were_before(
    limited: World, failing: list[int]
) -> None:
    found = send_together(limited, ["ada"] * 5 + ["bob"])

    assert sorted(each.status_code for each in found) == [201] * 4 + [429] * 2
    assert len(attempts_of(limited, "ada")) == 3


def test_metrics_count_each_attempt_once_and_after_its_commit(
    limited: World, failing: list[int]
) -> None:
    send_together(limited, ["ada"] * 4)

    assert len(failing) > 4, "the batch was repeated"
    count = limited.service.metrics.registry.get_sample_value
    assert count("keyset_attempts_total", {"outcome": "new"}) == 3
    assert count("keyset_attempts_total", {"outcome": "refused"}) == 1


def attempts_of(world: World, who: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.read(question_path(AVERAGE) + "/attempts", who)
    return found


def test_a_batch_knows_everybody_apart(world: World) -> None:
    add_callers(world)
    world.tokens["ada again"] = world.add_token("again", "ada", ALL_SCOPES).secret
    senders = ["ada", "unknown", "bob", "ada reads", "cora", "olga", "ada again", "expired"]

    found = send_together(world, senders)

    assert [each.status_code for each in found] == [201, 401, 201, 403, 404, 403, 201, 401]
    mine, others = attempts_of(world, "ada"), attempts_of(world, "bob")
    assert {each["id"] for each in mine} == {found[0].json()["id"], found[6].json()["id"]}
    assert [each["id"] for each in others] == [found[2].json()["id"]]


# What is noted of a call


def token_of(world: World, login: str, label: str) -> TokenLine:
    with world.database.read() as session:
        found = list_tokens(session, person_id=world.people[login].id)
    (token,) = (each for each in found if each.label == label)
    return token


def test_the_use_of_a_token_is_recorded_once_an_hour(world: World) -> None:
    world.add_token("mine", "ada", ALL_SCOPES)
    used = []
    for minutes in (0, 59, 2):
        world.clock.turn(minutes=minutes)
        assert send(world, "mine").status_code == 201
        used.append(token_of(world, "ada", "mine").used_at)

    assert used == [used[0], used[0], world.clock()]
    assert used[0] is not None
    assert token_of(world, "ada", "all").used_at is None, "the other one was not used"


def test_the_use_of_a_token_is_recorded_also_where_the_answer_is_refused(world: World) -> None:
    world.add_token("reads", "ada", [Scope.READ])

    assert send(world, "reads").status_code == 403

    assert token_of(world, "ada", "reads").used_at == world.clock()


@pytest.mark.parametrize("headers", [[], TWO_KEYS], ids=["fast", "by FastAPI"])
def test_the_log_says_who_was_refused(database: Database, headers: list[tuple[str, str]]) -> None:
    rules = {"submit": replace(FEW, burst=4)}
    with make_service(database, rules=rules) as begun, serve_world(begun) as world:
        add_callers(world)
        calls: list[tuple[str, dict[str, Any]]] = [
            ("ada", {}),
            ("ada", {"course": "nowhere"}),
            ("ada reads", {}),
            ("ada", {"answer": {"q": [1]}}),
            ("ada", {}),
            ("cora", {}),
            ("service", {}),
            ("unknown", {}),
        ]
        for who, more in calls:
            send(world, who, headers=headers, **more)

        lines = [each for each in world.lines() if each["route"].endswith("/attempts")]
        ada, cora = world.people["ada"].id, world.people["cora"].id
        with world.database.read() as session:
            (service,) = (
                each.id for each in list_tokens(session, run_id="one") if each.label == "service"
            )

    assert [(each["status"], each.get("caller")) for each in lines] == [
        (201, ada),
        (404, ada),
        (403, ada),
        (422, ada),
        (429, ada),
        (404, cora),
        (403, service),
        (401, None),
    ]


def test_staff_who_take_part_answer_like_everybody(world: World) -> None:
    world.add_member("second", Role.ASSISTANT)

    assert send(world, "second").json()["number"] == 1


def test_a_large_number_behind_any_name_is_refused_like_any_other(world: World) -> None:
    """It was a defect: names that are not ASCII went to a library that takes no such number."""
    refused = send(world, "ada", {"é": 2**60})

    assert told(refused) == (422, "field.unknown")


def test_the_fast_path_is_that_of_a_route(sqlite_database: Database) -> None:
    with make_service(sqlite_database) as world:
        app = world.client.app
        assert isinstance(app, FastAPI)
        routes = {(each.path, *(each.methods or ())) for each in iter_route_contexts(app.routes)}

    assert (SUBMIT_ROUTE, "POST") in routes
