"""Hidden values are in nothing that a student can get, until they are published."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response

from grader.accounts.sign_in import hash_password, set_password
from grader.engine.random.keysets import GRADING, PRACTICE
from grader.grading.serialize import decode_variant
from grader.rubric.catalog import CompiledAssignment, Rubric, read_assignment
from grader.store.database import open_database
from grader.store.queries.attempts import find_variants
from grader.store.queries.people import find_password_hash
from tests.support import hidden_values
from tests.support.databases import fresh_url
from tests.support.hidden_values import Heard, Secrets, rubrics_of
from tests.support.rubrics import shipped
from tests.support.world import (
    DUE,
    EXPLORATION,
    SINGLE_HEAD,
    TRANSFORMERS,
    World,
    make_service,
    question_path,
)

EXPECTED_GAP = 6.897704943128636
ALL = (EXPLORATION, SINGLE_HEAD, TRANSFORMERS)

#: What Ada sends, in order: wrong, right, by formula, by numbers, unreadable, dependent, written.
SENT: list[tuple[str, dict[str, Any]]] = [
    (f"{EXPLORATION}/3b", {"q": "k_a + 0 k_b"}),
    (f"{EXPLORATION}/3b", {"q": "57 k_b + 57 k_a", "explanation": "Adas text about scores."}),
    (f"{EXPLORATION}/3b", {"q": [0.25, 0.5, 0.75, 1, 0.25, 0.5, 0.75]}),
    (f"{EXPLORATION}/3c-i", {"q": "mu_a - mu_b"}),
    (f"{EXPLORATION}/3c-ii", {"share_near_average": 0.5, "share_nearer_b": 0.5,
                              "variance": 0.5, "spread_ratio": 0.5}),
    (f"{EXPLORATION}/3c-i", {"q": "57 mu_b + 57 mu_a"}),
    (f"{EXPLORATION}/3c-ii", {"share_near_average": 0.02, "share_nearer_b": 0.99,
                              "variance": 0.24, "spread_ratio": 0.01}),
    (f"{EXPLORATION}/3d-i", {"q1": "3 mu_a", "q2": "3 mu_b"}),
    (f"{SINGLE_HEAD}/1a", {"explanation": "Adas words about shares."}),
    (f"{SINGLE_HEAD}/1b", {"q": "57 k_i + 0 k_i", "gap": 5}),
    (f"{SINGLE_HEAD}/1b", {"q": "-57 k_i", "gap": 99}),
    (f"{TRANSFORMERS}/c-i", {"q": "mu_a"}),
]  # fmt: skip
UNREADABLE: list[tuple[str, Any]] = [
    (f"{EXPLORATION}/3b", {"q": [1, 2]}),
    (f"{EXPLORATION}/3b", {"q": "k_other + k_a"}),
    (f"{EXPLORATION}/3b", {"q": "k_a k_b", "explanation": 7}),
    (f"{EXPLORATION}/3c-i", {"q": "sum_{m} C mu_m"}),
    (f"{SINGLE_HEAD}/1b", {"gap": "log(zeta)"}),
    (f"{SINGLE_HEAD}/2a", {"score": 30}),
    (f"{EXPLORATION}/3e-i", "V"),
]


@contextmanager
def opened(folder: Path, **more: Any) -> Iterator[World]:
    with (
        fresh_url("sqlite", folder) as url,
        closing(open_database(url)) as database,
        make_service(database, **more) as world,
    ):
        yield world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A course in which much has happened."""
    published = {"one": ALL, "two": (EXPLORATION,)}
    with opened(tmp_path_factory.mktemp("hidden"), published=published) as world:
        _make_history(world)
        yield world


def _make_history(world: World) -> None:
    with world.database.write() as session:
        set_password(
            session,
            world.people["ada"],
            hash_password("correct horse staple"),
            at=world.clock(),
            by="x",
        )
    for question, answer in SENT:
        world.submit("ada", question, answer)
    others = {"explanation": "Bobs very own words."}
    written = world.submit("bob", f"{EXPLORATION}/3b", {"q": "k_b"} | others)["id"]
    world.submit(
        "cora", f"{EXPLORATION}/3b", {"q": "k_b", "explanation": "Coras words."}, course="two"
    )
    adas = world.read(question_path(f"{SINGLE_HEAD}/1a") + "/attempts", "ada")[0]["id"]
    for attempt, words in ((written, "Well, Bob."), (adas, "Well said.")):
        sent: Any = {"criterion": "explanation", "items": [0], "comment": words}
        path = f"/api/v1/courses/one/attempts/{attempt}/reviews"
        assert world.post(path, "arthur", sent).status_code == 201
    for student in ("ada", "bob"):
        grade = question_path(f"{EXPLORATION}/3d-i") + f"/grades/{student}"
        tag = world.get(grade, "irene").headers["ETag"]
        sent = {"points": 3.5, "reason": f"By hand for {student}."}
        put = world.call("PUT", grade + "/override", "irene", sent, {"If-Match": tag})
        assert put.status_code == 200
    extension = {
        "student": "bob",
        "due_at": (DUE + timedelta(days=5)).isoformat(),
        "reason": "Ill.",
    }
    for name in ALL:
        path = f"/api/v1/courses/one/assignments/{name}/extensions"
        assert world.post(path, "irene", extension).status_code == 201


def listen(world: World, who: str = "ada") -> list[Heard]:
    """Everything that a student can get, by every route and with every id that there is."""
    heard: list[Heard] = []

    def hear(method: str, path: str, body: Any = None) -> Any:
        response = world.call(method, path, who, body)
        heard.append(Heard.of(f"{method} {path} ({response.status_code})", response))
        return response

    for path in ("/", "/docs", "/docs/errors", "/openapi.json", "/healthz", "/readyz"):
        hear("GET", path)
    for path in ("/me", "/keys", "/courses", "/session", "/tokens", "/courses/one", "/courses/two",
                 "/courses/one/assignments", "/courses/one/people", "/courses/one/audit",
                 "/courses/one/tokens"):  # fmt: skip
        hear("GET", f"/api/v1{path}")
    for name in ALL:
        folder = f"/api/v1/courses/one/assignments/{name}"
        hear("GET", folder)
        for more in ("grades", "statistics", "reviews", "publications", "extensions"):
            hear("GET", f"{folder}/{more}")
        for question in shipped().assignments[name].rubrics:
            path = f"{folder}/questions/{question}"
            shown = hear("GET", path).json()
            hear("GET", path + "/practice?count=40")
            hear("GET", path + "/attempts")
            hear("GET", path + "/attempts?student=bob")
            hear("GET", path + "/grades/ada")
            hear("POST", path + "/check", {"answer": shown.get("example", {})})
    for question, answer in [*SENT, *UNREADABLE]:
        for call in ("/check", "/attempts"):
            hear("POST", question_path(question) + call, {"answer": answer})
    for student in ("ada", "bob"):
        for attempt in attempts_of(world, student):
            hear("GET", f"/api/v1/attempts/{attempt}")
            hear("GET", f"/api/v1/attempts/{attempt}/bundle")
    return heard


def attempts_of(world: World, who: str, assignments: tuple[str, ...] = ALL) -> list[str]:
    return [
        each["id"]
        for rubric in rubrics_of(*assignments)
        for each in world.read(question_path(rubric.id) + "/attempts", who)
    ]


def secrets_of(world: World) -> Secrets:
    """All that Ada must not see."""
    secrets = Secrets(keys={"the run secret": hidden_values.run_secret(world).secret})
    secrets.keys |= hidden_values.keys_of(world, rubrics_of(*ALL))
    for rubric in rubrics_of(*ALL):
        secrets.formulas |= hidden_values.formulas_of(rubric)
        variant = variant_of(world, rubric)
        if variant is not None:
            secrets.numbers |= hidden_values.grading_numbers(world, rubric, variant)
            secrets.numbers |= hidden_values.hidden_draws(rubric, variant)
    secrets.near["the gap of 1b"] = EXPECTED_GAP
    for login, person in world.people.items():
        if login != "ada":
            secrets.words |= {
                f"login {login}": login, f"name {login}": person.name,
                f"id {login}": person.id, f"address {login}": str(person.email),
            }  # fmt: skip
    for login, course in (("bob", "one"), ("arthur", "one"), ("irene", "one"), ("cora", "two")):
        secrets.words[f"place of {login}"] = world.enrolment(login, course)
    for number, each in enumerate(attempts_of(world, "bob")):
        secrets.formulas[f"Bob's attempt {number}"] = f'"{each}"'
    for words in ("Bobs very own words.", "Coras words.", "Well, Bob.", "By hand for bob."):
        secrets.formulas[f"said to or by others: {words}"] = words
    secrets.formulas |= _stored_secrets(world)
    return secrets


def _stored_secrets(world: World) -> dict[str, str]:
    with world.database.read() as session:
        found = find_password_hash(session, login="ada")
    assert found is not None
    digests = {
        f"a digest in {table}": digest
        for table in ("tokens", "sign_in_links", "browser_sessions")
        for digest in hidden_values.column(world, f"SELECT digest FROM {table}")
    }
    return {"the password's hash": found[1], "argon2": "$argon2"} | digests


def variant_of(world: World, rubric: Rubric) -> Any:
    """Ada's variant, if she has seen the question."""
    question = rubric.question
    source = question.uses.question if question.uses else question
    key = (world.enrolment("ada"), source.id, source.revision)
    with world.database.read() as session:
        shown = find_variants(session, wanted=[key]).get(key)
    return decode_variant(key[0], shown.drawn) if shown else None


# Before publication


def test_nothing_hidden_is_in_anything_that_a_student_can_get(world: World) -> None:
    heard = listen(world)
    secrets = secrets_of(world)

    assert secrets.found_in(heard) == []
    # What is looked for is there, and so is what is looked at.
    assert len(secrets.keys) == 1 + len(rubrics_of(*ALL))
    assert len(secrets.numbers) > 1000
    assert len(secrets.formulas) > 200
    assert sum(len(each.numbers) for each in heard) > 10_000
    assert len(heard) > 200


def test_a_student_is_given_what_the_rubric_says_and_nothing_else(world: World) -> None:
    for rubric in rubrics_of(*ALL):
        shown = world.read(question_path(rubric.id), "ada")

        assert list(shown["given"]) == list(rubric.form.given)


def test_practice_key_sets_are_shown_and_are_not_those_of_grading(world: World) -> None:
    for rubric in rubrics_of(*ALL):
        if rubric.question.key_sets is None:
            continue
        # Only a variant that was shown is stored.
        world.read(question_path(rubric.id), "ada")
        response = world.get(question_path(rubric.id) + "/practice?count=3", "ada")
        shown = Heard.of("practice", response).numbers
        variant = variant_of(world, rubric)
        _, practised = hidden_values.key_set_numbers(world, rubric, variant, PRACTICE)
        _, graded = hidden_values.key_set_numbers(world, rubric, variant, GRADING)

        # Found by the same means, so that the search for the others could find them.
        assert set(practised) <= shown
        assert graded
        assert not set(graded) & (shown | set(practised))


def test_draws_that_are_not_given_are_not_shown(tmp_path: Path) -> None:
    text = shipped().get_rubric(f"{EXPLORATION}/3b").text
    without = text.replace("given: [n, d, a, b, k, v]", "given: [n, d, a, b, k]")
    assert without != text
    with opened(tmp_path) as world:
        changed = edited(EXPLORATION, rubrics={"3b": without})
        world.publish(changed)
        question = question_path(f"{EXPLORATION}/3b")
        attempt = world.submit("ada", f"{EXPLORATION}/3b", {"q": "k_b"})["id"]
        rubric = changed.rubrics["3b"]
        asked = (question, f"{question}/attempts", f"/api/v1/attempts/{attempt}/bundle")

        secrets = Secrets(numbers=hidden_values.hidden_draws(rubric, variant_of(world, rubric)))

        assert len(secrets.numbers) == 5 * 7
        for path in asked:
            assert secrets.found_in([Heard.of(path, world.get(path, "ada"))]) == []


# The search can fail


@pytest.mark.parametrize("kind", ["key", "formula", "word", "number", "near"])
def test_what_is_planted_into_a_response_is_found(world: World, kind: str) -> None:
    secrets = secrets_of(world)
    planted: list[Any]
    match kind:
        case "key":
            key = secrets.keys["the run secret"]
            planted = [f"so {each} there" for _, each in hidden_values.spellings(key)]
        case "formula":
            planted = ["Try 40(k_a+k_b).", "40  (k_a  +  k_b)"]
        case "word":
            planted = [world.people["arthur"].name, "bob", "by irene!", world.enrolment("bob")]
        case "number":
            number = next(iter(secrets.numbers))
            planted = [number, [[0, number]], f"measured {number!r}"]
        case _:
            planted = [6.8977, "at least 6.898 is needed"]
    for each in planted:
        response = Response(200, json={"harmless": 1, "detail": {"deep": [each]}})

        assert secrets.found_in([Heard.of("planted", response)]), each


def test_after_the_last_extension_a_bundle_has_rubric_and_key_and_never_the_run_secret(
    tmp_path: Path,
) -> None:
    question = f"{EXPLORATION}/3c-i"
    with opened(tmp_path) as world:
        attempt = world.submit("ada", question, {"q": "57 mu_b + 57 mu_a"})["id"]
        path = f"/api/v1/courses/one/assignments/{EXPLORATION}/extensions"
        given = {
            "student": "bob",
            "due_at": (DUE + timedelta(days=5)).isoformat(),
            "reason": "Ill.",
        }
        assert world.post(path, "irene", given).status_code == 201
        rubric = shipped().get_rubric(question)
        own = Secrets(
            keys=hidden_values.keys_of(world, [rubric]), formulas=hidden_values.formulas_of(rubric)
        )
        others = Secrets(keys={"the run secret": hidden_values.run_secret(world).secret})
        rest = [each for each in rubrics_of(EXPLORATION, SINGLE_HEAD) if each.id != question]
        others.keys |= hidden_values.keys_of(world, rest)

        def bundle(days: float) -> list[Heard]:
            world.clock.now = DUE + timedelta(days=days)
            response = world.get(f"/api/v1/attempts/{attempt}/bundle", "ada")
            return [Heard.of("the bundle", response)]

        assert own.found_in(bundle(-1)) == []
        # Ada can hand in no more, but Bob can.
        assert own.found_in(bundle(1)) == []
        assert own.found_in(bundle(4.99)) == []
        found = own.found_in(bundle(5.01))
        assert [each for each in found if each.startswith(f"the key of {question} as base64")]
        assert len(found) >= len(own.formulas)
        assert others.found_in(bundle(5.01)) == []


# Feedback policies


def edited(
    name: str,
    *,
    rubrics: dict[str, str] | None = None,
    feedback: str = "full",
    exceptions: str = "{}",
) -> CompiledAssignment:
    """A shipped assignment with other texts, or with other policies."""
    assignment = shipped().assignments[name]
    texts = {key: each.text for key, each in assignment.rubrics.items()}
    form = assignment.text
    form = re.sub(r"(?m)^(attempts: \{.*)\}$", rf"\1, feedback: {feedback}}}", form)
    form = re.sub(r"(?m)^exceptions: .*$", f"exceptions: {exceptions}", form)
    form += 'grades: {1: "3", 5: "4", 9: "5"}\nlowest_grade: "2"\n'
    assert f"feedback: {feedback}" in form
    assert f"exceptions: {exceptions}" in form
    return read_assignment(name, form, texts | (rubrics or {}))


PREDICTED = {
    "share_near_average": 0.02,
    "share_nearer_b": 0.99,
    "variance": 0.24,
    "spread_ratio": 0,
}
RIGHT, WRONG = "57 mu_b + 57 mu_a", "mu_b + mu_a"
#: What differs between two students for reasons that are no secret.
OWN_FACTS = {"given", "variant", "signature", "key_sets", "request_id", "instance"}


def told_of(world: World, who: str, earlier: list[str], *, is_reviewed: bool) -> list[Any]:
    """All that a student is told while sending these earlier answers, a later one after each."""
    told: list[Any] = []
    # Attempts and answers are called by their order, so that it is seen which of them is meant.
    names = {each: f"formula {number}" for number, each in enumerate(earlier)}

    def hear(method: str, path: str, body: Any = None) -> None:
        response = world.call(method, path, who, body)
        data = response.json()
        if path.endswith("/attempts") and method == "POST":
            names.setdefault(data["id"], f"attempt {len(names)}")
            names.setdefault(data["receipt"]["answer"], f"answer {len(names)}")
        told.append(
            (method, response.status_code, _masked(data, names), response.headers.get("ETag"))
        )

    first, second = question_path(f"{EXPLORATION}/3c-i"), question_path(f"{EXPLORATION}/3c-ii")
    for formula in earlier:
        world.clock.turn(minutes=1)
        sent = {"q": formula, "explanation": "Because of the noise."}
        hear("POST", first + "/attempts", {"answer": sent})
        world.clock.turn(minutes=1)
        hear("POST", second + "/attempts", {"answer": PREDICTED})
        hear("POST", second + "/attempts", {"answer": PREDICTED})
    if is_reviewed:
        newest = world.read(first + f"/attempts?student={who}", "irene")[-1]["id"]
        review = {"criterion": "explanation", "items": [0], "comment": "Well said."}
        done = world.post(f"/api/v1/courses/one/attempts/{newest}/reviews", "arthur", review)
        assert done.status_code == 201, done.text
    folder = f"/api/v1/courses/one/assignments/{EXPLORATION}"
    for path in ("/api/v1/courses/one/assignments", folder, first, second):
        hear("GET", path)
    for path in (first, second):
        for each in world.read(path + "/attempts", who):
            hear("GET", f"/api/v1/attempts/{each['id']}")
            hear("GET", f"/api/v1/attempts/{each['id']}/bundle")
        hear("GET", path + "/attempts")
        hear("POST", path + "/check", {"answer": PREDICTED if path == second else {"q": "3 mu_a"}})
    return told


def _masked(data: Any, names: dict[str, str]) -> Any:
    match data:
        case dict():
            return {
                name: "…" if name in OWN_FACTS else _masked(value, names)
                for name, value in data.items()
            }
        case list():
            return [_masked(each, names) for each in data]
        case str():
            return names.get(data, data)
        case _:
            return data


@contextmanager
def examined(
    folder: Path, assignment: CompiledAssignment
) -> Iterator[tuple[World, list[Any], list[Any]]]:
    """What two students are told, one of whom had the right answer first and the other later."""
    with opened(folder) as world:
        world.publish(assignment)
        began = world.clock()
        first = told_of(world, "ada", [WRONG, RIGHT], is_reviewed=True)
        world.clock.now = began
        second = told_of(world, "bob", [RIGHT, WRONG], is_reviewed=False)
        yield world, first, second


@pytest.mark.parametrize(
    ("feedback", "exceptions"),
    [
        pytest.param("none", "{}", id="none"),
        pytest.param("after_due", "{}", id="after_due"),
        pytest.param("full", "{3c-i: {feedback: none}}", id="the earlier part, not the later one"),
    ],
)
def test_what_is_withheld_cannot_be_told_from_anything(
    tmp_path: Path, feedback: str, exceptions: str
) -> None:
    assignment = edited(EXPLORATION, feedback=feedback, exceptions=exceptions)
    with examined(tmp_path, assignment) as (world, ada, bob):
        for mine, others in zip(ada, bob, strict=True):
            assert mine == others
        figures = Secrets(numbers=hidden_values.stored_figures(world))
        # Ada's total would tell as well; nothing but the parts withheld was answered.
        assert len(figures.numbers) > 5
        assert figures.found_in(_heard_of_attempts(world)) == []


def _heard_of_attempts(world: World) -> list[Heard]:
    return [
        Heard.of(f"an attempt{more}", world.get(f"/api/v1/attempts/{each}{more}", "ada"))
        for each in attempts_of(world, "ada", (EXPLORATION,))
        for more in ("", "/bundle")
    ]


def test_with_full_feedback_the_two_are_told_different_things(tmp_path: Path) -> None:
    with examined(tmp_path, shipped().assignments[EXPLORATION]) as (_, ada, bob):
        assert sum(mine != others for mine, others in zip(ada, bob, strict=False)) >= 10


def test_after_the_due_date_everything_is_shown(tmp_path: Path) -> None:
    with examined(tmp_path, edited(EXPLORATION, feedback="after_due")) as (world, _, _):
        question = question_path(f"{EXPLORATION}/3c-i")
        folder = f"/api/v1/courses/one/assignments/{EXPLORATION}"
        world.clock.now = DUE
        before = world.read(question + "/attempts", "ada")
        total_before = world.read(folder, "ada")
        world.clock.now = DUE + timedelta(minutes=2)
        after = world.read(question + "/attempts", "ada")
        standing = world.read(question, "ada")["standing"]
        total_after = world.read(folder, "ada")

        assert [(each["score"], each["criteria"], each["shows"]) for each in before] == [
            (None, [], "after_due")
        ] * 2
        assert (total_before["points"], total_before["grade"]) == (None, None)
        assert (total_after["points"], total_after["grade"]) == (18, "5")
        assert [each["score"] for each in after] == [0, 8]
        assert [each["shows"] for each in after] == ["full", "full"]
        assert [each["is_counted"] for each in after] == [False, True]
        assert all(each["criteria"] and each["feedback"] for each in after)
        assert after[0]["misconceptions"]
        assert after[1]["receipt"]["verdicts"]
        assert after[1]["reviews"][0]["comment"] == "Well said."
        assert standing["points"] == 8 + after[1]["reviews"][0]["points"]


def test_correctness_tells_points_and_not_why(tmp_path: Path) -> None:
    with examined(tmp_path, edited(EXPLORATION, feedback="correctness")) as (world, _, _):
        attempts = world.read(question_path(f"{EXPLORATION}/3c-i") + "/attempts", "ada")
        said = {
            name: each for rubric in rubrics_of(EXPLORATION) for name, each in _said(rubric).items()
        }

        assert [each["score"] for each in attempts] == [0, 8]
        for each in attempts:
            assert (each["feedback"], each["misconceptions"]) == ([], [])
            told = {name for line in each["criteria"] for name in line if line[name] is not None}
            assert told == {"id", "title", "points", "max_points", "outcome", "at_least"}
        secrets = Secrets(numbers=hidden_values.stored_figures(world), formulas=said)
        assert secrets.found_in(_heard_of_attempts(world)) == []


def _said(rubric: Rubric) -> dict[str, str]:
    return {f"{rubric.id}, {each.id}": each.say for each in rubric.form.misconceptions}


def test_an_override_is_told_and_not_which_attempt_counts(tmp_path: Path) -> None:
    with examined(tmp_path, edited(EXPLORATION, feedback="none")) as (world, _, _):
        path = question_path(f"{EXPLORATION}/3c-i")
        grade = path + "/grades/ada"
        tag = world.get(grade, "irene").headers["ETag"]
        sent = {"points": 2.5, "reason": "By hand."}
        put = world.call("PUT", grade + "/override", "irene", sent, {"If-Match": tag})
        assert put.json()["counted_attempt"] is not None

        standing = world.read(path, "ada")["standing"]

        assert (standing["points"], standing["is_overridden"]) == (2.5, True)
        assert standing["counted_attempt"] is None
        assert all(each["score"] is None for each in world.read(path + "/attempts", "ada"))


# Staff of other courses


def test_judging_for_a_variant_of_another_course_does_not_use_what_was_shown_there(
    world: World,
) -> None:
    question = f"{EXPLORATION}/3b"
    given = world.read(question_path(question, "two"), "cora")["given"]
    query = [
        57 * (x + y) for x, y in zip(given["k"][given["a"]], given["k"][given["b"]], strict=True)
    ]
    sent = {"question": question, "variant": world.enrolment("cora", "two"), "answer": {"q": query}}

    scores = {
        course: world.post("/api/v1/grade", "olga", sent | {"course": course}).json()["score"]
        for course in ("one", "two")
    }

    assert scores["two"] == 8
    assert scores["one"] < 8
