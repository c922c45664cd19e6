"""Nobody decides about their own work: by themselves, or by a service whose token they made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from httpx2 import Response

from grader.accounts.rosters import enrol
from grader.domain.roles import Role, Scope
from grader.store.database import Database
from grader.store.queries.courses import get_run
from tests.support import regrades
from tests.support.access_matrix import ROWS
from tests.support.world import EXPLORATION, SINGLE_HEAD, World, make_service, question_path

ONE = "/api/v1/courses/one"
#: An operator who is a student of the course.
OSCAR = "oscar"
SCOPES = [Scope.READ, Scope.GRADES_READ, Scope.GRADES_WRITE, Scope.ROSTER, Scope.TOKENS]


@dataclass(frozen=True)
class Decision:
    """A call that decides about somebody's work, or about whether somebody takes part.

    `code` is that of the refusal, and `body` is made for a login.
    """

    route: str
    code: str
    body: Callable[[World, str], Any] | None = None
    path: Callable[[World, str], str] | None = None
    headers: tuple[tuple[str, str], ...] = ()
    ok: int = 201


def attempt_of(world: World, login: str) -> str:
    path = question_path(f"{SINGLE_HEAD}/1a") + "/attempts"
    sent = {"answer": {"explanation": "Positive, and one in all."}}
    return str(world.post(path, login, sent).json()["id"])


def list_others(world: World, login: str) -> str:
    members = world.read(f"{ONE}/people?role=student&limit=200", "olga")
    return "".join(
        f"{each['login']},{each['name']}\n" for each in members if each["login"] != login
    )


DECISIONS = [
    Decision(
        "POST /api/v1/courses/{course}/attempts/{attempt_id}/reviews", "own.work",
        lambda world, login: {"criterion": "explanation", "points": 5},
        lambda world, login: f"{ONE}/attempts/{attempt_of(world, login)}/reviews",
    ),
    Decision(
        "PUT /api/v1/courses/{course}/assignments/{assignment}/questions/{question}"
        "/grades/{student}/override", "own.work",
        lambda world, login: {"points": 5, "reason": "By hand."},
        lambda world, login: question_path(f"{SINGLE_HEAD}/1b") + f"/grades/{login}/override",
        headers=(("If-Match", '"g0"'),), ok=200,
    ),
    Decision(
        "POST /api/v1/courses/{course}/assignments/{assignment}/questions/{question}"
        "/external-scores", "own.work",
        lambda world, login: {"source": "lab", "scores": [
            {"student": "ada", "points": 3}, {"student": login, "points": 30},
        ]},
        lambda world, login: question_path(f"{SINGLE_HEAD}/2a") + "/external-scores",
    ),
    Decision(
        "POST /api/v1/courses/{course}/assignments/{assignment}/extensions", "own.work",
        lambda world, login: {"student": login, "extra_attempts": 9, "reason": "Was ill."},
        lambda world, login: f"{ONE}/assignments/{EXPLORATION}/extensions",
    ),
    Decision(
        "POST /api/v1/courses/{course}/roster", "own.work",
        lambda world, login: {"csv": f"login,name,section\n{login},Somebody,Z\n"},
        lambda world, login: f"{ONE}/roster",
    ),
    Decision(
        "POST /api/v1/courses/{course}/roster", "own.work",
        lambda world, login: {
            "csv": "login,name\n" + list_others(world, login), "is_complete": True, "leaving": 1,
        },
        lambda world, login: f"{ONE}/roster",
    ),
    Decision(
        "DELETE /api/v1/courses/{course}/people/{login}", "member.own",
        path=lambda world, login: f"{ONE}/people/{login}", ok=204,
    ),
]  # fmt: skip
#: What needs the same scopes and decides about nobody's work.
HARMLESS = {
    "POST /api/v1/courses/{course}/roster/preview",
    # It signs in, and gives no more than the person may do.
    "POST /api/v1/courses/{course}/people/{login}/sign-in-links",
    "POST /api/v1/courses",
}
#: Regrades, which are about the work of all students.
REGRADE = "POST /api/v1/courses/{course}/regrades/{regrade}/"
REGRADES = "POST /api/v1/courses/{course}/assignments/{assignment}/regrades"
ABOUT_ALL = {
    REGRADES, REGRADES + "/declined", REGRADE + "apply", REGRADE + "undo", REGRADE + "discard",
}  # fmt: skip
CALLERS = ["person", "service", "service of a service"]


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database) as world:
        add_operator(world)
        for who in (OSCAR, "irene"):
            make_token(world, f"{who}'s service", who)
            make_token(world, f"{who}'s service of a service", f"{who}'s service")
        yield world


def add_operator(world: World) -> None:
    person = world.add_person(OSCAR, is_operator=True)
    with world.database.write() as session:
        run = get_run(session, run_id="one")
        enrol(session, run, person, role=Role.STUDENT, at=world.clock(), by="test")


def make_token(world: World, name: str, by: str) -> None:
    """A service's token, made by the API as a person or a service does."""
    body = {"label": name, "scopes": [each.value for each in SCOPES], "days": 30}
    made = world.post(f"{ONE}/tokens", by, body)
    assert made.status_code == 201, made.text
    world.tokens[name] = made.json()["token"]


def decide(world: World, decision: Decision, who: str, about: str) -> Response:
    assert decision.path is not None
    path = decision.path(world, about)
    body = decision.body(world, about) if decision.body else None
    return world.call(decision.route.split()[0], path, who, body, dict(decision.headers))


def codes(response: Response) -> set[str]:
    """The code of a problem, and those of its places."""
    problem = response.json()
    return {problem["code"], *(each["code"] for each in problem.get("errors", ()))}


def test_every_route_that_decides_about_work_is_tried_here() -> None:
    deciding = {
        row.name
        for row in ROWS
        if row.scope in (Scope.GRADES_WRITE, Scope.ROSTER) and row.method != "GET"
    }

    assert deciding == {each.route for each in DECISIONS} | HARMLESS | ABOUT_ALL


def test_a_student_decides_about_no_regrade_also_by_a_service(world: World) -> None:
    body = {"judges_all": True, "reason": "The key was wrong."}
    regrade = regrades.prepare(world, EXPLORATION, judges_all=True).regrade.id
    names = {"course": "one", "assignment": EXPLORATION, "regrade": regrade}
    for route in sorted(ABOUT_ALL):
        path = route.removeprefix("POST ").format(**names)
        sent = {key: body[key] for key in body if (key == "reason") != (route == REGRADES)}
        for kind in CALLERS:
            who = OSCAR if kind == "person" else f"{OSCAR}'s {kind}"
            refused = world.post(path, who, sent)
            assert (refused.status_code, refused.json()["code"]) == (409, "own.work"), (route, who)
    done = world.post(f"{ONE}/regrades/{regrade}/apply", "irene's service", {"reason": "So."})
    assert done.status_code == 200, done.text


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda each: each.route)
def test_nobody_decides_about_their_own_work_also_by_a_service(
    world: World, decision: Decision
) -> None:
    for kind in CALLERS:
        who = OSCAR if kind == "person" else f"{OSCAR}'s {kind}"

        refused = decide(world, decision, who, about=OSCAR)

        assert refused.status_code in (409, 422), (kind, refused.text)
        assert decision.code in codes(refused), kind


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda each: each.route)
def test_others_and_their_services_may_decide(world: World, decision: Decision) -> None:
    for who, about in (("irene's service", OSCAR), (f"{OSCAR}'s service", "bob")):
        allowed = decide(world, decision, who, about)

        assert allowed.status_code == decision.ok, (who, allowed.text)


def test_an_instructor_decides_about_colleagues_only(world: World) -> None:
    for decision in DECISIONS[:4]:
        for who in ("irene", "irene's service", "irene's service of a service"):
            refused = decide(world, decision, who, about="irene")
            assert (refused.status_code, refused.json()["code"]) == (409, "own.work"), who
    for who, about in (("irene", "arthur"), ("irene's service", "arthur")):
        assert decide(world, DECISIONS[0], who, about).status_code == 201


def test_a_reviewer_does_not_review_their_own_work(world: World) -> None:
    review = {"criterion": "explanation", "points": 5}
    path = f"{ONE}/attempts/{attempt_of(world, 'arthur')}/reviews"

    assert world.post(path, "arthur", review).json()["code"] == "own.work"
    assert world.post(path, "irene", review).status_code == 201


def test_the_rule_holds_for_whoever_made_the_token_and_has_left(world: World) -> None:
    attempt = attempt_of(world, OSCAR)
    assert world.call("DELETE", f"{ONE}/people/{OSCAR}", "irene").status_code == 204
    review = {"criterion": "explanation", "points": 5}

    for who in (OSCAR, f"{OSCAR}'s service"):
        refused = world.post(f"{ONE}/attempts/{attempt}/reviews", who, review)
        assert (refused.status_code, refused.json()["code"]) == (409, "own.work"), who
        returning = world.post(f"{ONE}/roster", who, {"csv": f"login,name\n{OSCAR},Oscar\n"})
        assert "own.work" in codes(returning), who


def test_a_roster_that_leaves_the_caller_as_they_are_is_imported(world: World) -> None:
    everybody = list_others(world, "nobody")

    for who in (OSCAR, f"{OSCAR}'s service"):
        done = world.post(
            f"{ONE}/roster", who, {"csv": f"login,name\n{everybody}", "is_complete": True}
        )
        assert done.status_code == 201, done.text
