"""Staff decide: grades, reviews, overrides, scores from outside, extensions, publications."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest

from grader.domain.roles import Role
from grader.store.database import Database
from tests.support.rubrics import shipped
from tests.support.world import EXPLORATION, SINGLE_HEAD, World, make_service, question_path

NOISY = f"{EXPLORATION}/3c-i"
GRADES = f"/api/v1/courses/one/assignments/{SINGLE_HEAD}/grades"
LAB = f"/api/v1/courses/one/assignments/{SINGLE_HEAD}/questions/2a/external-scores"


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database) as world:
        yield world


def enter_scores(world: World, **scores: float) -> None:
    listed = [{"student": name, "points": points} for name, points in scores.items()]
    response = world.post(LAB, "irene", {"source": "lab server", "scores": listed})
    assert response.status_code == 201, response.text


def grade_of(world: World, question: str, student: str) -> Any:
    assignment, _, name = question.partition("/")
    path = f"/api/v1/courses/one/assignments/{assignment}/questions/{name}/grades/{student}"
    return world.get(path, "irene")


def override(world: World, question: str, student: str, version: str, **body: Any) -> Any:
    assignment, _, name = question.partition("/")
    path = f"/api/v1/courses/one/assignments/{assignment}/questions/{name}/grades/{student}"
    return world.call("PUT", f"{path}/override", "irene", body, headers={"If-Match": version})


# The gradebook


def test_the_grade_follows_the_scale(world: World) -> None:
    # 80 points in all; 30 are for a 3, 50 for a 4, 70 for a 5.
    points = {"cleo": "5", "dora": "30", "emil": "49.99", "finn": "50", "gina": "70", "hugo": "80"}
    for name in points:
        world.add_member(name, Role.STUDENT)
    enter_scores(world, dora=30, emil=30, finn=30, gina=30, hugo=30, cleo=5)
    for name, total in points.items():
        rest = float(total) - 30 if name != "cleo" else 0
        for question in ("1c", "1d", "1e", "1f", "1a", "1b"):
            most = 10 if question in ("1c", "1d", "1e", "1f") else 5
            given = max(0, min(rest, most))
            rest -= given
            if given:
                done = override(
                    world, f"{SINGLE_HEAD}/{question}", name, '"g0"',
                    points=round(given, 2), reason="set up",
                )  # fmt: skip
                assert done.status_code == 200, done.text

    rows = {each["student"]: each for each in world.read(GRADES, "irene")["students"]}

    assert {name: rows[name]["total"] for name in points} == {
        name: float(total) for name, total in points.items()
    }
    assert {name: rows[name]["grade"] for name in points} == {
        "cleo": "2", "dora": "3", "emil": "3", "finn": "4", "gina": "5", "hugo": "5",
    }  # fmt: skip
    assert rows["ada"]["grade"] == "2"


def test_csv_says_the_same_as_json(world: World) -> None:
    enter_scores(world, ada=17.25, bob=30)
    world.submit("ada", f"{SINGLE_HEAD}/1c", {"q": "40 (k_i + k_j)"})
    rows = {each["student"]: each for each in world.read(GRADES, "irene")["students"]}

    response = world.get(GRADES, "irene", headers={"Accept": "text/csv"})

    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    lines = {line["login"]: line for line in csv.DictReader(io.StringIO(response.text))}
    assert set(lines) == set(rows) == {"ada", "bob"}
    for login, row in rows.items():
        assert float(lines[login]["total"]) == row["total"]
        assert lines[login]["grade"] == row["grade"]
        assert lines[login]["possible"] == "80"
    assert lines["ada"]["2a"] == "17.25"
    assert lines["ada"]["1a"] == ""
    assert world.get(GRADES + "?format=csv", "irene").text == response.text


def test_no_name_becomes_a_formula_in_a_spreadsheet(world: World) -> None:
    csv_text = 'login,name,section\neve,"=HYPERLINK(""http://evil"")",+1\n'
    sent = world.post("/api/v1/courses/one/roster", "irene", {"csv": csv_text})
    assert sent.status_code == 201, sent.text

    text = world.get(GRADES + "?format=csv", "irene").text

    (line,) = [row for row in csv.reader(io.StringIO(text)) if row[0] == "eve"]
    assert line[1].startswith("'=")
    assert line[2].startswith("'+")


def test_pages_of_the_gradebook_are_complete_and_without_repeats(world: World) -> None:
    for number in range(7):
        world.add_member(f"student-{number}", Role.STUDENT)
    seen: list[str] = []
    path = GRADES + "?limit=2"
    while path:
        response = world.get(path, "irene")
        seen += [each["student"] for each in response.json()["students"]]
        link = response.headers.get("Link", "")
        path = link.partition("<")[2].partition(">")[0]

    assert seen == sorted(seen)
    assert len(seen) == len(set(seen)) == 9


# Reviews


def test_a_review_adds_its_points_and_the_student_sees_it(world: World) -> None:
    made = world.submit("ada", NOISY, {"q": "40 (mu_a + mu_b)", "explanation": "Because."})
    path = f"/api/v1/courses/one/assignments/{EXPLORATION}/reviews"
    (waiting,) = world.read(path, "arthur")
    assert waiting["text"] == "Because."
    assert "surname" not in str(waiting).lower(), "names are not told"

    done = world.post(
        f"/api/v1/courses/one/attempts/{made['id']}/reviews",
        "arthur",
        {"criterion": "explanation", "items": [0], "comment": "Half of it."},
    )

    assert done.status_code == 201
    assert done.headers["ETag"] == '"r1"'
    seen = world.read(f"/api/v1/attempts/{made['id']}", "ada")
    assert seen["points"] == made["score"] + done.json()["points"]
    assert seen["reviews"][0]["comment"] == "Half of it."
    assert "arthur" not in str(seen).lower()
    assert world.read(path, "arthur") == []
    assert len(world.read(path + "?done=true", "arthur")) == 1


def test_a_review_can_be_changed_and_the_newest_holds(world: World) -> None:
    made = world.submit("ada", NOISY, {"q": "40 (mu_a + mu_b)", "explanation": "Because."})
    path = f"/api/v1/courses/one/attempts/{made['id']}/reviews"
    world.post(path, "arthur", {"criterion": "explanation", "items": []})
    outdated = world.post(
        path, "irene", {"criterion": "explanation", "points": 2}, headers={"If-Match": '"r0"'}
    )
    changed = world.post(
        path, "irene", {"criterion": "explanation", "points": 2}, headers={"If-Match": '"r1"'}
    )

    assert outdated.status_code == 412
    assert outdated.headers["ETag"] == '"r1"'
    assert changed.status_code == 201
    assert changed.json()["grade"] == made["max_score"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        pytest.param({"criterion": "weights", "points": 1}, 409, "review.not_needed", id="judged"),
        pytest.param({"criterion": "explanation", "items": [7]}, 422, "item.unknown", id="item"),
        pytest.param({"criterion": "explanation", "points": 3}, 422, "points.range", id="points"),
        pytest.param({"criterion": "explanation"}, 422, "review.empty", id="nothing said"),
    ],
)
def test_a_review_that_makes_no_sense_changes_nothing(
    world: World, body: dict[str, Any], status: int, code: str
) -> None:
    made = world.submit("ada", NOISY, {"q": "40 (mu_a + mu_b)", "explanation": "Because."})

    response = world.post(f"/api/v1/courses/one/attempts/{made['id']}/reviews", "arthur", body)

    assert response.status_code == status
    assert response.json()["code"] == code
    assert world.read(f"/api/v1/attempts/{made['id']}", "ada")["reviews"] == []


def test_nobody_reviews_their_own_work(world: World) -> None:
    made = world.submit("arthur", NOISY, {"q": "mu_a", "explanation": "Because."})

    response = world.post(
        f"/api/v1/courses/one/attempts/{made['id']}/reviews",
        "arthur",
        {"criterion": "explanation", "points": 2},
    )

    assert response.status_code == 409
    assert response.json()["code"] == "own.work"


# Overrides


def test_an_override_needs_a_reason_and_the_version_it_changes(world: World) -> None:
    world.submit("ada", NOISY, {"q": "mu_a"})
    seen = grade_of(world, NOISY, "ada")
    version = seen.headers["ETag"]
    assignment = f"/api/v1/courses/one/assignments/{EXPLORATION}"
    path = f"{assignment}/questions/3c-i/grades/ada/override"

    assert world.call("PUT", path, "irene", {"points": 5, "reason": "x"}).status_code == 428
    assert override(world, NOISY, "ada", version, points=5, reason="").status_code == 422
    assert override(world, NOISY, "ada", '"g77"', points=5, reason="x").status_code == 412
    done = override(world, NOISY, "ada", version, points=5, reason="The idea is right.")

    assert done.status_code == 200
    assert done.headers["ETag"] != version
    assert done.json()["points"] == 5
    assert done.json()["history"][0]["reason"] == "The idea is right."
    questions = world.read(assignment, "ada")["questions"]
    (mine,) = [each for each in questions if each["id"] == "3c-i"]
    assert (mine["points"], mine["is_overridden"]) == (5, True)
    (told,) = world.read(question_path(NOISY), "ada")["changes"]
    assert (told["kind"], told["points"], told["reason"]) == ("override", 5, "The idea is right.")
    assert world.read(question_path(NOISY), "bob")["changes"] == []


def test_an_override_stays_when_the_student_tries_again_and_can_be_taken_back(
    world: World,
) -> None:
    world.submit("ada", NOISY, {"q": "mu_a"})
    version = grade_of(world, NOISY, "ada").headers["ETag"]
    version = override(world, NOISY, "ada", version, points=5, reason="x").headers["ETag"]
    better = world.submit("ada", NOISY, {"q": "40 (mu_a + mu_b)"})

    assert grade_of(world, NOISY, "ada").json()["points"] == 5
    version = grade_of(world, NOISY, "ada").headers["ETag"]
    back = override(world, NOISY, "ada", version, points=None, reason="A mistake of mine.")

    assert back.json()["points"] == better["score"]
    assert len(back.json()["history"]) == 2


def test_of_two_overrides_at_once_one_is_outdated(world: World) -> None:
    version = grade_of(world, NOISY, "ada").headers["ETag"]

    first = override(world, NOISY, "ada", version, points=5, reason="x")
    second = override(world, NOISY, "ada", version, points=6, reason="x")

    assert (first.status_code, second.status_code) == (200, 412)


def test_points_beyond_the_question_are_refused(world: World) -> None:
    response = override(world, NOISY, "ada", '"g0"', points=10.01, reason="x")

    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"] == "#/points"


# Scores from outside


def test_scores_are_entered_all_or_none(world: World) -> None:
    scores = [
        {"student": "ada", "points": 12},
        {"student": "nobody", "points": 1},
        {"student": "bob", "points": 31},
        {"student": "ada", "points": 13},
    ]
    response = world.post(LAB, "irene", {"source": "lab server", "scores": scores})

    assert response.status_code == 422
    pointers = [each["pointer"] for each in response.json()["errors"]]
    assert pointers == ["#/scores/1/student", "#/scores/2/points", "#/scores/3/student"]
    assert grade_of(world, f"{SINGLE_HEAD}/2a", "ada").json()["points"] is None


def test_the_newest_score_from_outside_holds(world: World) -> None:
    enter_scores(world, ada=12)
    enter_scores(world, ada=12.5, bob=3)

    grade = grade_of(world, f"{SINGLE_HEAD}/2a", "ada").json()
    assert grade["points"] == 12.5
    assert [each["points"] for each in grade["history"]] == [12, 12.5]


def test_only_a_part_that_is_graded_elsewhere_takes_scores(world: World) -> None:
    path = LAB.replace("2a", "1c")
    body = {"source": "lab", "scores": [{"student": "ada", "points": 1}]}

    response = world.post(path, "irene", body)

    assert response.json()["code"] == "question.not_external"


# Extensions and publications


def test_an_extension_given_later_takes_the_lateness_away(world: World) -> None:
    late = shipped().assignments[EXPLORATION]
    text = late.text + "late: {grace_seconds: 60, per_day: 0.5, days: 3}\n"
    body = {
        "form": text,
        "rubrics": {name: rubric.text for name, rubric in late.rubrics.items()},
        "due_at": "2026-11-17T12:00:00Z",
    }
    path = f"/api/v1/courses/one/assignments/{EXPLORATION}"
    assert world.post(path + "/publications", "irene", body).status_code == 201
    world.clock.turn(days=2)
    made = world.submit("ada", NOISY, {"q": "40 (mu_a + mu_b)"})
    assert (made["days_late"], made["points"], made["score"]) == (1, 4, 8)

    world.post(
        path + "/extensions",
        "irene",
        {"student": "ada", "due_at": "2026-11-19T00:00:00Z", "reason": "Ill."},
    )

    assert grade_of(world, NOISY, "ada").json()["points"] == 8
    assert grade_of(world, NOISY, "ada").json()["days_late"] == 0


def test_a_publication_is_checked_and_every_mistake_is_told_with_its_place(world: World) -> None:
    late = shipped().assignments[EXPLORATION]
    rubrics = {name: rubric.text for name, rubric in late.rubrics.items()}
    rubrics["3b"] = rubrics["3b"].replace("points:", "pointz:", 1)
    path = f"/api/v1/courses/one/assignments/{EXPLORATION}/publications"

    response = world.post(path, "irene", {"form": late.text, "rubrics": rubrics})

    assert response.status_code == 422
    assert any("3b.yaml:4:1" in each["detail"] for each in response.json()["errors"])
    assert len(world.read(path, "irene")) == 1


def test_a_rubric_whose_examples_fail_is_not_published(world: World) -> None:
    late = shipped().assignments[EXPLORATION]
    rubrics = {name: rubric.text for name, rubric in late.rubrics.items()}
    rubrics["3b"] = rubrics["3b"].replace("within: 0.02", "within: 1e-9")
    path = f"/api/v1/courses/one/assignments/{EXPLORATION}/publications"

    response = world.post(path, "irene", {"form": late.text, "rubrics": rubrics})

    assert response.status_code == 422
    assert "differs from the file" in response.json()["errors"][0]["detail"]
    assert len(world.read(path, "irene")) == 1


def test_publishing_the_same_again_changes_nothing(world: World) -> None:
    late = shipped().assignments[EXPLORATION]
    path = f"/api/v1/courses/one/assignments/{EXPLORATION}/publications"
    (before,) = world.read(path, "irene")
    body = {
        "form": late.text,
        "rubrics": {name: rubric.text for name, rubric in late.rubrics.items()},
        "due_at": before["due_at"],
    }

    assert world.post(path, "irene", body).json()["id"] == before["id"]
    assert len(world.read(path, "irene")) == 1


def test_a_question_that_was_answered_cannot_vanish(world: World) -> None:
    world.submit("ada", f"{EXPLORATION}/3b", {"q": "k_a"})
    late = shipped().assignments[EXPLORATION]
    rubrics = {name: rubric.text for name, rubric in late.rubrics.items() if name != "3b"}
    path = f"/api/v1/courses/one/assignments/{EXPLORATION}/publications"

    response = world.post(
        path, "irene", {"form": late.text.replace("3b, ", ""), "rubrics": rubrics}
    )

    assert response.status_code == 409
    assert response.json()["code"] == "publication.removes_question"


def test_a_corrected_prompt_draws_no_other_numbers(world: World) -> None:
    before = world.read(question_path(NOISY), "ada")["given"]
    late = shipped().assignments[EXPLORATION]
    # Alone, because the examples of every question that is published are run.
    form = f"id: {EXPLORATION}\ntitle: Attention exploration\nquestions: [3c-i]\n"
    text = late.rubrics["3c-i"].text.replace("prompt: |\n", "prompt: |\n  Corrected.\n\n", 1)
    path = f"/api/v1/courses/one/assignments/{EXPLORATION}/publications"
    done = world.post(path, "irene", {"form": form, "rubrics": {"3c-i": text}})
    assert done.status_code == 201, done.text
    assert "Corrected." in world.read(question_path(NOISY), "ada")["prompt"]

    assert world.read(question_path(NOISY), "ada")["given"] == before


def test_what_staff_do_is_in_the_audit_chain(world: World) -> None:
    override(world, NOISY, "ada", '"g0"', points=5, reason="The idea is right.")

    (newest, *_) = world.read("/api/v1/courses/one/audit", "irene")

    assert newest["action"] == "grade.overridden"
    assert newest["by"] == world.people["irene"].id
    assert newest["details"]["after"] == "5"


# Judging without storing


def test_an_answer_is_judged_for_any_variant_and_nothing_is_stored(world: World) -> None:
    body = {"course": "one", "question": NOISY, "variant": "try", "answer": {"q": "mu_a + mu_b"}}

    first, again = (world.post("/api/v1/grade", "irene", body) for _ in range(2))

    assert first.status_code == 200
    assert first.json() == again.json()
    assert first.json()["score"] == 0
    assert first.json()["id"] is None
    assert world.read(GRADES, "irene")["students"][0]["questions"] == {}


def test_for_a_students_variant_it_is_judged_as_the_student_would_be(world: World) -> None:
    given = world.read(question_path(f"{EXPLORATION}/3b"), "ada")["given"]
    query = [
        40 * (x + y) for x, y in zip(given["k"][given["a"]], given["k"][given["b"]], strict=True)
    ]
    body = {"course": "one", "question": f"{EXPLORATION}/3b", "answer": {"q": query}}

    own = world.post("/api/v1/grade", "irene", {**body, "variant": world.enrolment("ada")})
    other = world.post("/api/v1/grade", "irene", {**body, "variant": "somebody"})

    assert own.json()["score"] == own.json()["max_automatic"]
    assert other.json()["score"] < other.json()["max_automatic"]


# Rosters


def test_a_class_is_not_sent_away_by_a_roster_that_was_cut_off(world: World) -> None:
    for number in range(6):
        world.add_member(f"student-{number}", Role.STUDENT)
    roster = {"csv": "login,name\nada,Ada\n", "is_complete": True}

    refused = world.post("/api/v1/courses/one/roster", "irene", roster)
    wrong = world.post("/api/v1/courses/one/roster", "irene", {**roster, "leaving": 6})
    meant = world.post("/api/v1/courses/one/roster", "irene", {**roster, "leaving": 7})

    assert (refused.status_code, refused.json()["code"]) == (409, "roster.leaving")
    assert wrong.status_code == 409
    assert meant.json()["counts"]["leaving"] == 7
