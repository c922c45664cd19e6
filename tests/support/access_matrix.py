"""Who may call what: one row for each route, from which all expectations of the test follow.

The order of refusals is the same everywhere: not signed in (401), no such course or not yours
(404), not in the token's scopes (403), not in the caller's role (403), no such object in the course
(404). An attempt is found without its course, so that there 404 comes before both 403.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from grader.domain.roles import Role, Scope
from grader.store.queries.regrades.records import list_regrades
from tests.support import regrades
from tests.support.histories import LONG, long_assignment
from tests.support.histories import QUESTION as LONG_QUESTION
from tests.support.rubrics import shipped
from tests.support.world import EXPLORATION, SINGLE_HEAD, TRANSFORMERS, World, question_path

API = "/api/v1"
COURSE = API + "/courses/{course}"
ASSIGNMENT = COURSE + "/assignments/{assignment}"
QUESTION = ASSIGNMENT + "/questions/{question}"
GRADE = QUESTION + "/grades/{student}"

#: Callers by the role that they have in the course run `one`.
STUDENTS = {"ada", "bob", "browser"}
ENROLLED = STUDENTS | {"arthur", "irene"}
STAFF = {"arthur", "irene", "olga", "service"}
INSTRUCTORS = {"irene", "olga", "service"}
PARTICIPANTS = ENROLLED | {"olga", "service"}
#: Callers from elsewhere.
STRANGERS = {"cora", "ivan"}
PEOPLE = ENROLLED | STRANGERS | {"olga"}
SIGNED_IN = PEOPLE | {"service"}
OPERATORS = {"olga"}
BROWSERS = {"browser"}
#: Tokens that hold no more, and no token at all.
NOBODY = {"anonymous", "revoked", "expired"}
#: Tokens of those who may, but without the scope, or of a student without it.
UNSCOPED = {"service-without", "irene-without", "ada-without", "olga-without"}
ANYBODY = SIGNED_IN | NOBODY | UNSCOPED

Objects = dict[str, str]


@dataclass(frozen=True)
class Row:
    """A route, who may call it, and what to send.

    Parameters
    ----------
    may
        Everybody else who is signed in and sees the course is refused by role.
    scope
        What a token needs; None where any will do.
    ok
        The status for those who may.
    body, headers
        What is sent, for the objects of the path.
    prepare
        Makes an object for each call of a caller, because the call uses it up.
    looks_up
        Which of the path's objects must be there; all of them, if not told otherwise.
    course_in_body
        Then the scope is asked for before the course.
    foreign
        What is foreign here and not elsewhere.
    sees
        Who learns that the object is there; None where that follows from the course.
        Operators see those of other courses as well.
    own_scope
        What the owner's token needs instead of `scope`.
    """

    method: str
    path: str
    may: set[str]
    scope: Scope | None = None
    ok: int = 200
    body: Callable[[World, Objects], Any] | None = None
    headers: Callable[[World, Objects], dict[str, str]] | None = None
    prepare: Callable[[World, str], Objects] = field(default=lambda world, who: {})
    looks_up: tuple[str, ...] | None = None
    course_in_body: bool = False
    foreign: Objects = field(default_factory=dict)
    sees: set[str] | None = None
    own_scope: Scope | None = None

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def objects(self) -> list[str]:
        """What the path names and must be there, in order."""
        named = [part[1:-1] for part in self.path.split("/") if part.startswith("{")]
        return [each for each in named if self.looks_up is None or each in self.looks_up]


def sends(body: Any) -> Callable[[World, Objects], Any]:
    return lambda world, objects: body


# Objects of the course run `one` that a path may name; others are made by `prepare`.
OWN: Objects = {
    "course": "one",
    "assignment": EXPLORATION,
    "question": "3b",
    "student": "ada",
    "login": "ada",
    "token_id": "",
    "attempt_id": "",
    "upload_id": "",
    "regrade": "",
    "code": "",
}
#: There, but not in this course, not in this assignment, or not the caller's.
FOREIGN: Objects = {
    "course": "two",
    "assignment": TRANSFORMERS,
    "question": "1b",
    "student": "cora",
    "login": "cora",
}
ABSENT: Objects = {
    "course": "nowhere",
    "assignment": "nothing",
    "question": "zz",
    "student": "nobody",
    "login": "nobody",
    "token_id": "tok_00000000000000000000000000",
    "attempt_id": "att_00000000000000000000000000",
    "upload_id": "upl_00000000000000000000000000",
    "regrade": "reg_00000000000000000000000000",
}


def answer(world: World, objects: Objects) -> Any:
    """An answer that nobody has sent before."""
    return {"answer": {"q": f"{world.number()} k_a - k_b"}}


def external(world: World, who: str) -> Objects:
    return {"assignment": SINGLE_HEAD, "question": "2a"}


def spare_student(world: World, who: str) -> Objects:
    login = f"spare-{world.number()}"
    world.add_member(login, Role.STUDENT)
    return {"login": login}


def course_token(world: World, who: str) -> Objects:
    name = f"course token {world.number()}"
    return {"token_id": world.add_service(name, [Scope.READ]).line.id}


def own_token(world: World, who: str) -> Objects:
    owner = "ada" if who == "browser" else who
    login = owner if owner in world.people else "ada"
    name = f"own token {world.number()}"
    return {"token_id": world.add_token(name, login, [Scope.READ]).line.id}


def written(world: World, who: str) -> Objects:
    """An attempt of Bob's with text in it."""
    path = question_path(f"{SINGLE_HEAD}/1a") + "/attempts"
    sent = {"answer": {"explanation": "They are positive and add up to one."}}
    return {"attempt_id": world.post(path, "bob", sent).json()["id"]}


def adas_attempt(world: World, who: str) -> Objects:
    path = question_path(f"{EXPLORATION}/3b") + "/attempts"
    return {"attempt_id": world.post(path, "ada", {"answer": {"q": "k_a"}}).json()["id"]}


def if_match(world: World, objects: Objects) -> dict[str, str]:
    """The version of the grade; where there is no grade, any."""
    found = world.get(GRADE.format(**objects), "olga")
    return {"If-Match": found.headers.get("ETag", '"g0"')}


def shipped_texts(world: World, objects: Objects) -> Any:
    """The files of the assignment as they are in force, so that nothing changes."""
    assignment = shipped().assignments.get(objects["assignment"])
    if assignment is None:
        assignment = shipped().assignments[EXPLORATION]
    return {
        "form": assignment.text,
        "rubrics": {name: each.text for name, each in assignment.rubrics.items()},
        "due_at": "2026-11-23T12:00:00Z",
    }


def new_course(world: World, objects: Objects) -> Any:
    return {"id": f"made-{world.number()}", "course": "made", "title": "Made"}


def one_token(world: World, objects: Objects) -> Any:
    # No more than the token has with which it is made.
    return {"label": "made", "scopes": ["tokens:write"], "days": 1}


def no_regrade(world: World, who: str) -> Objects:
    """No regrade of the assignment that waits for a decision."""
    with world.database.read() as session:
        lines = list_regrades(session, run_id="one", assignment=EXPLORATION)
    for each in lines:
        if each.state.is_open:
            regrades.discard(world, each)
    return {}


def begun_regrade(world: World, who: str) -> Objects:
    """A regrade that nobody has worked on."""
    no_regrade(world, who)
    return {"regrade": regrades.start(world, EXPLORATION, judges_all=True).id}


def ready_regrade(world: World, who: str) -> Objects:
    found = begun_regrade(world, who)
    regrades.make_worker(world).work_off()
    return found


def applied_regrade(world: World, who: str) -> Objects:
    no_regrade(world, who)
    return {
        "regrade": regrades.apply(
            world, regrades.prepare(world, EXPLORATION, judges_all=True).regrade
        ).id
    }


def outdated_attempt(world: World, who: str) -> Objects:
    """An attempt at an assignment whose rubric was mended since, about which nobody has decided."""
    for within in (0.2, 0.02):
        world.clock.turn(seconds=1)
        world.publish(long_assignment(within=within, most=1000))
        if within > 0.02:
            world.submit("ada", LONG_QUESTION, {"q": f"{world.number()} k_a"})
    return {"assignment": LONG}


REASON = sends({"reason": "The key was wrong."})
ROSTER = sends({"csv": "login,name\nbob,Bob Surname-Of-Bob\n"})
JUDGE = sends(
    {"course": "one", "question": f"{EXPLORATION}/3b", "variant": "try", "answer": {"q": "k_a"}}
)
EXTENSION = {"student": "bob", "extra_attempts": 100, "reason": "Was ill."}

ROWS = (
    # Anybody
    Row("GET", "/docs", ANYBODY),
    Row("GET", "/docs/errors", ANYBODY),
    Row("GET", "/openapi.json", ANYBODY),
    Row("GET", "/healthz", ANYBODY),
    Row("GET", "/readyz", ANYBODY),
    Row("GET", API + "/keys", ANYBODY),
    # Signing in
    Row(
        "POST", API + "/session", ANYBODY, ok=201,
        body=lambda world, objects: {"code": world.link("ada")},
    ),
    Row("GET", API + "/session", BROWSERS),
    Row("DELETE", API + "/session", BROWSERS, ok=204),
    Row("GET", API + "/sessions", PEOPLE, Scope.TOKENS),
    Row("DELETE", API + "/sessions", PEOPLE, Scope.TOKENS, 204),
    # Oneself
    Row("GET", API + "/me", SIGNED_IN),
    Row("GET", API + "/courses", SIGNED_IN, Scope.READ),
    Row("POST", API + "/courses", OPERATORS, Scope.ROSTER, 201, new_course),
    Row("GET", "/metrics", OPERATORS, Scope.METRICS),
    Row("GET", API + "/tokens", PEOPLE, Scope.TOKENS),
    Row("POST", API + "/tokens", PEOPLE, Scope.TOKENS, 201, one_token),
    Row("DELETE", API + "/tokens/{token_id}", PEOPLE, Scope.TOKENS, 204, prepare=own_token),
    # A course
    Row("GET", COURSE, PARTICIPANTS, Scope.READ),
    Row("GET", COURSE + "/assignments", PARTICIPANTS, Scope.READ),
    Row("GET", ASSIGNMENT, PARTICIPANTS, Scope.READ),
    Row("GET", QUESTION, PARTICIPANTS, Scope.READ),
    Row("GET", QUESTION + "/practice", PARTICIPANTS, Scope.READ),
    Row("POST", QUESTION + "/check", PARTICIPANTS, Scope.SUBMIT, body=answer),
    Row("POST", QUESTION + "/attempts", ENROLLED, Scope.SUBMIT, 201, answer),
    Row("GET", QUESTION + "/attempts", ENROLLED, Scope.READ),
    # Attempts
    *(
        Row(
            "GET", API + "/attempts/{attempt_id}" + more, STAFF | {"ada", "browser"},
            Scope.GRADES_READ, prepare=adas_attempt, own_scope=Scope.READ,
            sees=STAFF | {"ada", "browser"} | UNSCOPED,
        )
        for more in ("", "/bundle")
    ),
    Row(
        "POST", COURSE + "/uploads", ENROLLED, Scope.SUBMIT, 201, sends(b"%PDF-1.7 a"),
        headers=lambda world, objects: {"Content-Type": "application/pdf"},
    ),
    Row(
        "GET", API + "/uploads/{upload_id}", STAFF | {"ada", "browser"}, Scope.GRADES_READ,
        prepare=lambda world, who: {"upload_id": world.upload("ada")}, own_scope=Scope.READ,
        sees=STAFF | {"ada", "browser"} | UNSCOPED,
    ),
    Row(
        "POST", COURSE + "/attempts/{attempt_id}/reviews", STAFF, Scope.GRADES_WRITE, 201,
        sends({"criterion": "explanation", "points": 1}), prepare=written,
    ),
    # Everybody's work
    Row("GET", ASSIGNMENT + "/grades", STAFF, Scope.GRADES_READ),
    Row("GET", ASSIGNMENT + "/statistics", STAFF, Scope.GRADES_READ),
    Row("GET", ASSIGNMENT + "/reviews", STAFF, Scope.GRADES_READ),
    Row("GET", ASSIGNMENT + "/publications", STAFF, Scope.GRADES_READ),
    Row("GET", ASSIGNMENT + "/extensions", STAFF, Scope.GRADES_READ),
    Row("GET", ASSIGNMENT + "/regrades", STAFF, Scope.GRADES_READ),
    Row(
        "GET", COURSE + "/regrades/{regrade}", STAFF, Scope.GRADES_READ, prepare=ready_regrade
    ),
    Row("GET", GRADE, STAFF, Scope.GRADES_READ),
    Row("GET", COURSE + "/audit", INSTRUCTORS, Scope.GRADES_READ),
    # What instructors decide
    Row(
        "PUT", GRADE + "/override", INSTRUCTORS, Scope.GRADES_WRITE,
        body=sends({"points": 1, "reason": "By hand."}), headers=if_match,
    ),
    Row(
        "POST", QUESTION + "/external-scores", INSTRUCTORS, Scope.GRADES_WRITE, 201,
        sends({"source": "lab", "scores": [{"student": "ada", "points": 3}]}), prepare=external,
        foreign={"question": "3b"},
    ),
    Row(
        "POST", ASSIGNMENT + "/regrades", INSTRUCTORS, Scope.GRADES_WRITE, 201,
        sends({"judges_all": True}), prepare=no_regrade,
    ),
    Row(
        "POST", ASSIGNMENT + "/regrades/declined", INSTRUCTORS, Scope.GRADES_WRITE, 201, REASON,
        prepare=outdated_attempt,
    ),
    *(
        Row(
            "POST", COURSE + "/regrades/{regrade}/" + decision, INSTRUCTORS, Scope.GRADES_WRITE,
            body=body, prepare=prepare,
        )
        for decision, body, prepare in (
            ("apply", REASON, ready_regrade),
            ("undo", REASON, applied_regrade),
            ("discard", None, begun_regrade),
        )
    ),
    Row("POST", ASSIGNMENT + "/extensions", INSTRUCTORS, Scope.GRADES_WRITE, 201, sends(EXTENSION)),
    # An assignment is made by its first publication.
    Row(
        "POST", ASSIGNMENT + "/publications", INSTRUCTORS, Scope.PUBLISH, 201, shipped_texts,
        looks_up=("course",),
    ),
    Row(
        "POST", ASSIGNMENT + "/publications/preview", INSTRUCTORS, Scope.PUBLISH, 200,
        shipped_texts, looks_up=("course",),
    ),
    # Who takes part
    Row("GET", COURSE + "/people", INSTRUCTORS, Scope.ROSTER),
    Row("POST", COURSE + "/roster/preview", INSTRUCTORS, Scope.ROSTER, body=ROSTER),
    Row("POST", COURSE + "/roster", INSTRUCTORS, Scope.ROSTER, 201, ROSTER),
    Row(
        "DELETE", COURSE + "/people/{login}", INSTRUCTORS, Scope.ROSTER, 204,
        prepare=spare_student,
    ),
    Row("POST", COURSE + "/people/{login}/sign-in-links", INSTRUCTORS, Scope.ROSTER, 201),
    # Services
    Row("GET", COURSE + "/tokens", INSTRUCTORS, Scope.TOKENS),
    Row("POST", COURSE + "/tokens", INSTRUCTORS, Scope.TOKENS, 201, one_token),
    Row(
        "DELETE", COURSE + "/tokens/{token_id}", INSTRUCTORS, Scope.TOKENS, 204,
        prepare=course_token,
    ),
    Row("POST", API + "/grade", STAFF, Scope.JUDGE, body=JUDGE, course_in_body=True),
)  # fmt: skip
