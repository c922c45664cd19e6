"""Analytics and Today as a browser without scripts gets them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from typing import Any

import pytest

from grader.accounts.courses import make_run
from grader.accounts.rosters import enrol
from grader.domain.roles import Role
from grader.rubric.catalog import CompiledAssignment, read_assignment
from grader.store.database import Database
from grader.store.queries.courses import get_run
from tests.support.browsers import Browser
from tests.support.page_matrix import ASSIGNMENT
from tests.support.rubrics import shipped
from tests.support.world import DUE, EXPLORATION, SINGLE_HEAD, World, make_service

ANALYTICS = f"{ASSIGNMENT}/analytics"
AVERAGE = f"{EXPLORATION}/3b"
HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    published = {"one": (EXPLORATION,), "two": ()}
    with make_service(sqlite_database, published=published) as world:
        yield world


def page_of(world: World, path: str, login: str = "irene") -> str:
    response = Browser(world, login).call("GET", path)
    assert response.status_code == 200, response.text
    text: str = response.text
    return text


def text_of(page: str) -> str:
    """What is read on a page, on one line."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page)))


def links_of(page: str) -> list[str]:
    return [unescape(each) for each in re.findall(r'<a [^>]*href="([^"]+)"', page)]


def hostile() -> CompiledAssignment:
    """The shipped assignment with markup in every title."""
    of = shipped().assignments[EXPLORATION]
    titled = f"title: '{HOSTILE}'"
    rubric = re.sub(r"(?m)^title: .*$", titled, of.rubrics["3b"].text)
    rubric = re.sub(r"(?m)^    title: .*$", f"    {titled}", rubric)
    return read_assignment("hostile", f"id: hostile\n{titled}\nquestions: [3b]\n", {"3b": rubric})


# An assignment


def test_an_assignment_that_nobody_tried_says_so(world: World) -> None:
    page = text_of(page_of(world, ANALYTICS))

    assert "0 of 2 students tried it" in page
    assert "Nobody has tried anything yet" in page
    assert "When attempts arrived" not in page


def test_one_student_gives_figures_with_their_n(world: World) -> None:
    world.submit("ada", AVERAGE, {"q": "k_a"})
    world.submit("ada", AVERAGE, {"q": "40 (k_a + k_b)"})
    page = page_of(world, ANALYTICS)
    row = text_of(re.search(r"<tr>\s*<th[^>]*><a[^>]*><b>3b</b>.*?</tr>", page, re.DOTALL)[0])  # type: ignore[index]

    assert re.search(r"3b The average of two values 1 2 0 % n = 1 100 % n = 1 – n = 1", row)
    assert "As of Mon 16 Nov 2026, 12:00" in text_of(page)
    assert "<svg" in page
    assert "Mon 16 Nov 2026, 12:00 (UTC+00:00) 2" in text_of(page)


def test_an_assignment_leads_to_its_questions_and_they_to_attempts(world: World) -> None:
    made = world.submit("ada", AVERAGE, {"q": "k_a"})
    assert f"{ANALYTICS}/3b" in links_of(page_of(world, ANALYTICS))
    question = page_of(world, f"{ANALYTICS}/3b")
    for link in links_of(question):
        if "/analytics/3b/attempts?" in link and "waiting" not in link:
            behind = page_of(world, link)
            assert f"/attempts/{made['id']}" in links_of(behind), link
            assert "1 attempt of 1 student" in text_of(behind)
    assert f"/attempts/{made['id']}" in links_of(question)


def test_a_written_question_has_no_figures_about_points(world: World) -> None:
    world.publish(shipped().assignments[SINGLE_HEAD])
    world.submit("ada", f"{SINGLE_HEAD}/1a", {"explanation": "So."})
    page = text_of(page_of(world, f"/courses/one/assignments/{SINGLE_HEAD}/analytics/1a"))

    assert "All points of this question come from a person" in page
    assert "Is one draw harder" not in page


# A question


def test_a_question_shows_misconceptions_steps_and_outcomes(world: World) -> None:
    world.submit("ada", AVERAGE, {"q": "k_a + k_b"})
    world.submit("ada", AVERAGE, {"q": "40 (k_a + k_b)"})
    world.submit("bob", AVERAGE, {"q": "40 k_a"})
    page = text_of(page_of(world, f"{ANALYTICS}/3b"))

    assert "scale-too-small The direction is right" in page
    assert "1 student, 1 attempt An example" in page
    assert "1 2 0 100 % 2 1 1 0 %" in page
    assert "1 stopped without one" in page
    assert "Half the weight on each of the two keys 0 / 1 – 2 / 2 – – 2 / 3" in page
    assert "This is compared from 20 students on; there are 2" in page


def test_answers_that_nothing_explains_are_described(world: World) -> None:
    answer = {"share_near_average": 0.4, "share_nearer_b": 1, "variance": 0.25, "spread_ratio": 0}
    world.submit("ada", f"{EXPLORATION}/3c-i", {"q": "40 (mu_a + mu_b)"})
    world.submit("ada", f"{EXPLORATION}/3c-ii", answer)
    page = page_of(world, f"{ANALYTICS}/3c-ii")

    assert (
        "The share of samples near the average: not met , lies above what is measured, "
        "by 3 to 10 times what is allowed"
    ) in text_of(page)
    group = next(each for each in links_of(page) if "group=" in each)
    assert "that fit no known misconception and did the same" in text_of(page_of(world, group))


def test_pages_of_attempts_are_turned(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.web.pages.staff.analytics._PAGE", 2)
    for number in range(3):
        world.submit("ada", AVERAGE, {"q": f"{number + 1} k_a"})
    first = page_of(world, f"{ANALYTICS}/3b/attempts?unsolved=true")
    (following,) = (each for each in links_of(first) if "cursor=" in each)
    second = page_of(world, following)

    assert "unsolved=true" in following
    assert len(re.findall(r'href="/attempts/', first)) == 2
    assert len(re.findall(r'href="/attempts/', second)) == 1
    assert "3 attempts of 1 student" in text_of(second)
    assert f"{ANALYTICS}/3b/attempts?unsolved=true" in links_of(second)


@pytest.mark.parametrize(
    "query",
    [
        "misconception=%3Cscript%3E",
        "group=%22%3E%3Cimg%3E",
        "criterion=%3Cimg%3E&outcome=met",
    ],
)
def test_what_is_asked_for_in_vain_is_an_empty_list(world: World, query: str) -> None:
    world.submit("ada", AVERAGE, {"q": "k_a"})
    page = page_of(world, f"{ANALYTICS}/3b/attempts?{query}")

    assert "There are no such attempts" in page
    assert "<script>" not in page
    assert "<img" not in page


@pytest.mark.parametrize(
    "query", ["cursor=nonsense", "misconception=%00", "outcome=splendid", f"group={'x' * 300}"]
)
def test_what_cannot_be_asked_is_refused(world: World, query: str) -> None:
    response = Browser(world, "irene").call("GET", f"{ANALYTICS}/3b/attempts?{query}")

    assert response.status_code in (400, 422), response.text


def test_hostile_titles_names_and_answers_stay_text(world: World) -> None:
    world.publish(hostile(), due_at=DUE)
    with world.database.write() as session:
        run = get_run(session, run_id="one")
        person = world.people["cora"]
        enrol(session, run, person, role=Role.STUDENT, at=world.clock(), by="test")
    for _ in range(3):
        answer = {"q": f"{world.number()} k_a", "explanation": HOSTILE}
        world.submit("cora", "hostile/3b", answer)
    world.clock.now = DUE - timedelta(hours=1)
    here = "/courses/one/assignments/hostile/analytics"
    for path in ("/courses/one", here, f"{here}/3b", f"{here}/3b/attempts"):
        page = page_of(world, path)
        assert "<img" not in page, path
        assert not re.search(r"\s(on\w+|style)=", re.sub(r"&lt;.*?&gt;", "", page)), path
    assert HOSTILE in unescape(page_of(world, here))


# Today


def test_today_of_a_course_without_anything_is_calm(world: World) -> None:
    with world.database.write() as session:
        make_run(
            session, course_id="new-course", run_id="new", title="New", time_zone="UTC",
            at=world.clock(), by="test",
        )  # fmt: skip
    page = text_of(page_of(world, "/courses/new", "olga"))

    assert "Nothing waits for you." in page
    assert "Nobody is stuck" in page
    assert "There are no assignments yet." in page
    assert "There is not enough data yet" in text_of(
        page_of(world, "/courses/new/today/questions", "olga")
    )


def test_today_leads_to_what_waits_and_to_who_is_stuck(world: World) -> None:
    for number in range(3):
        world.submit("ada", AVERAGE, {"q": f"{number + 1} k_a", "explanation": "So."})
    world.clock.now = DUE - timedelta(hours=2)
    page = page_of(world, "/courses/one", "arthur")

    assert "1 answer with text or a file to review" in text_of(page)
    assert f"{ASSIGNMENT}/review" in links_of(page)
    assert f"{ASSIGNMENT}/questions/3b/students/ada" in links_of(page)
    assert "1 of 2 students have begun" in text_of(page)
    assert "in 2 h 0 min" in text_of(page)


def test_dubious_questions_come_as_a_part_or_as_a_page(world: World) -> None:
    browser = Browser(world, "irene")
    path = "/courses/one/today/questions"
    part: Any = browser.client.get(path, headers={"HX-Request": "true"})
    page = browser.call("GET", path)

    assert "<html" not in part.text
    assert "<h1>Dubious questions</h1>" in page.text
    assert f'hx-get="{path}"' in browser.call("GET", "/courses/one").text


def test_students_are_sent_to_their_work(world: World) -> None:
    response = Browser(world, "ada").call("GET", "/courses/one")

    assert (response.status_code, response.headers["Location"]) == (303, "/")


def test_staff_find_today_from_their_work(world: World) -> None:
    assert "/courses/one" in links_of(page_of(world, "/", "arthur"))
    assert "/courses/one" not in links_of(page_of(world, "/", "ada"))
