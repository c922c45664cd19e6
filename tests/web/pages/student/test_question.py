"""Pages as a browser without scripts gets them: who sees what, forms, and text that stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI

from grader.accounts.sign_in import hash_password, set_password
from grader.rubric.catalog import Rubric
from grader.store.database import Database
from grader.web.pages.format import to_html
from grader.web.pages.rendering import PageRoute
from tests.support import regrades
from tests.support.browsers import HOSTILE, Browser
from tests.support.page_matrix import AVERAGE, EVERYBODY, FILES, OPEN, PAGES, STRANGERS
from tests.support.rubrics import shipped
from tests.support.world import EXPLORATION, SINGLE_HEAD, World, make_service


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    published = {"one": (EXPLORATION,), "two": (EXPLORATION,)}
    with make_service(sqlite_database, published=published) as world:
        yield world


def pages_of(app: FastAPI) -> set[tuple[str, str]]:
    def walk(routes: Any) -> Iterator[tuple[str, str]]:
        for route in routes:
            if hasattr(route, "effective_candidates"):
                yield from walk(route.effective_candidates())
            elif isinstance(getattr(route, "original_route", route), PageRoute):
                yield from ((method, route.path) for method in route.methods - {"HEAD"})

    app.state.routes.load()
    return set(walk(app.routes))


def test_every_page_has_a_row(world: World) -> None:
    assert isinstance(world.client.app, FastAPI)
    shapes = [
        (method, re.sub(r"\{(\w+)\}", "[^/]+", path))
        for method, path in pages_of(world.client.app) - OPEN
    ]

    for method, shape in shapes:
        assert any(
            method == each and re.fullmatch(shape, path.partition("?")[0])
            for each, path, _ in PAGES
        ), f"{method} {shape} has no row"
    assert len(shapes) == len(PAGES)


@pytest.mark.parametrize(
    ("method", "path", "may"), PAGES, ids=[f"{method} {path}" for method, path, _ in PAGES]
)
def test_a_page_is_seen_by_those_who_may(
    world: World, method: str, path: str, may: set[str]
) -> None:
    made = world.submit("ada", f"{EXPLORATION}/3b", {"q": "k_a", "explanation": "So."})
    wanted_type = FILES.get(path, "text/html; charset=utf-8")
    regrade = regrades.find_waiting(world, EXPLORATION)
    path = path.format(attempt=made["id"], upload=world.upload("ada"), regrade=regrade)
    for login in sorted(EVERYBODY):
        form = {"answer.q": "2 k_a", "points": "5", "reason": "x", "version": "g1"}
        form |= {"explanation.points": "1", "explanation.version": "r0"}
        response = Browser(world, login).call(method, path, form)
        # The second who overrides or decides comes too late, and a form for something else is shown
        # again; neither is to be refused.
        refused = {404} if login in STRANGERS else {403, 404}
        late = {409} if "/regrades" in path else {412}
        wanted = {200, 303, 422} | late if login in may else refused
        assert response.status_code in wanted, (login, response.text)
        if response.status_code == 200:
            assert response.headers["Content-Type"] == wanted_type
        elif response.status_code != 303:
            assert response.headers["Content-Type"] == "text/html; charset=utf-8"

    # A token is for programs; pages are for browsers that are signed in.
    assert world.call(method, path, "irene").status_code == 303
    outside = world.browser().request(method, path)
    assert outside.status_code == 303
    assert outside.headers["Location"].startswith("/sign-in?next=")


def test_what_is_foreign_looks_as_if_it_were_absent(world: World) -> None:
    made = world.submit("ada", f"{EXPLORATION}/3b", {"q": "k_a"})
    for login in ("bob", "cora", "ivan"):
        browser = Browser(world, login)
        foreign = browser.call("GET", f"/attempts/{made['id']}")
        absent = browser.call("GET", "/attempts/att_00000000000000000000000000")
        assert (foreign.status_code, foreign.text) == (404, absent.text)
    for path in (AVERAGE, f"/courses/one/assignments/{EXPLORATION}/grades"):
        foreign = Browser(world, "cora").call("GET", path)
        absent = Browser(world, "cora").call("GET", path.replace("one", "none"))
        assert (foreign.status_code, foreign.text) == (404, absent.text)


def test_without_scripts_a_student_reads_answers_and_sees_the_score(world: World) -> None:
    ada = Browser(world, "ada")
    page = ada.call("GET", AVERAGE)
    assert "The average of two values" in page.text
    assert "10 of 10 attempts left" in page.text

    wrong = ada.call("POST", AVERAGE, {"action": "submit", "answer.q": "k_a + k_b"})
    right = ada.call("POST", AVERAGE, {"action": "submit", "answer.q": "40 (k_a + k_b)"})

    assert "Attempt 1: 0 of 8 points" in wrong.text
    assert "times this length would do" in wrong.text
    assert "<svg" in wrong.text
    assert "Attempt 2: 8 of 8 points" in right.text
    assert "8 of 10 attempts left" in right.text
    assert len(world.read(f"/api/v1{AVERAGE}/attempts", "ada")) == 2


@pytest.mark.parametrize(("question", "called"), [("3c-i", "key sets"), ("3c-ii", "samples")])
def test_practice_is_offered_under_the_name_of_the_question(
    world: World, question: str, called: str
) -> None:
    """Issue 10, item 14: key sets only where the question calls them so."""
    page = Browser(world, "ada").call("GET", AVERAGE.replace("3b", question)).text

    assert f"100 practice {called}</a>" in page


def test_a_check_uses_no_attempt(world: World) -> None:
    ada = Browser(world, "ada")

    page = ada.call("POST", AVERAGE, {"action": "check", "answer.q": "40 (k_a + k_b)"})

    assert "Your answer was read as" in page.text
    assert world.read(f"/api/v1{AVERAGE}/attempts", "ada") == []


def test_what_cannot_be_read_is_told_and_stays_in_the_form(world: World) -> None:
    ada = Browser(world, "ada")

    page = ada.call("POST", AVERAGE, {"action": "submit", "answer.q": "40 k_z <b>"})

    assert "No attempt was used." in page.text
    assert "40 k_z &lt;b&gt;</textarea>" in page.text
    assert world.read(f"/api/v1{AVERAGE}/attempts", "ada") == []


def test_a_part_of_the_page_is_sent_where_only_that_is_asked_for(world: World) -> None:
    ada = Browser(world, "ada")
    form = {"csrf": ada.csrf(), "action": "submit", "answer.q": "k_a"}

    part = ada.client.post(AVERAGE, data=form, headers={"HX-Request": "true"}).text

    assert "<html" not in part
    assert "Attempt 1: 0 of 8 points" in part
    assert 'hx-swap-oob="true"' in part


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("40 (k_a + k_b)", "formula"),
        ("[1, 2, 3, 4, 5, 6, 7]", "7"),
        ("[[1], [2], [3], [4], [5], [6], [7]]", "Read as a flat column of 7 numbers."),
        ("40 k_a. It is large.", "Read up to the full stop"),
        ("[1, 2]", "7 are needed"),
        ("40 k_z", "k_z"),
        ("", ""),
    ],
)
def test_a_field_is_read_while_it_is_written(world: World, text: str, expected: str) -> None:
    ada = Browser(world, "ada")

    part = ada.call("POST", AVERAGE + "/reading/q", {"answer.q": text})

    assert part.status_code == 200
    assert expected in part.text


def test_a_checked_answer_shows_what_may_surprise(world: World) -> None:
    """Issue 10, item 16."""
    ada = Browser(world, "ada")

    page = ada.call("POST", AVERAGE, {"action": "check", "answer.q": "40 k_a. It is large."}).text

    assert "Read up to the full stop; put explanations into the field for them." in page


@pytest.mark.parametrize("rubric", list(shipped().rubrics()), ids=lambda rubric: rubric.id)
def test_all_mathematics_of_a_prompt_is_set(rubric: Rubric) -> None:
    for text in (rubric.form.prompt, *rubric.form.hints):
        outside = re.sub(r'<span class="math[^"]*">.*?</span>', "", to_html(text), flags=re.DOTALL)
        assert "$" not in outside
        assert "\\" not in outside


def test_mathematics_ends_with_its_paragraph() -> None:
    assert 'class="math"' in to_html("Let $a\n= b$ hold.")
    assert 'class="math"' not in to_html("It costs $5 today.\n\nAnd $6 tomorrow.")


def test_a_picture_from_elsewhere_is_a_link() -> None:
    shown = to_html("![x](https://elsewhere.example/x.png) ![y](data:image/png;base64,AAAA)")
    assert "<img" not in shown
    assert '<a href="https://elsewhere.example/x.png">x</a>' in shown


def test_a_part_that_is_graded_elsewhere_has_no_form(world: World) -> None:
    world.publish(shipped().assignments[SINGLE_HEAD])

    page = Browser(world, "ada").call("GET", f"/courses/one/assignments/{SINGLE_HEAD}/questions/2a")

    assert "This question is graded in another system" in page.text
    assert 'id="answer"' not in page.text


def test_a_form_of_another_site_is_refused(world: World) -> None:
    ada = Browser(world, "ada")
    form = {"csrf": ada.csrf(), "action": "submit", "answer.q": "k_a"}

    without = ada.client.post(AVERAGE, data={**form, "csrf": "0" * 64})
    foreign = ada.client.post(AVERAGE, data=form, headers={"Origin": "https://evil.example"})

    assert (without.status_code, foreign.status_code) == (403, 403)
    assert world.read(f"/api/v1{AVERAGE}/attempts", "ada") == []


def test_an_override_leads_from_the_grades_to_the_students_notice(world: World) -> None:
    world.submit("ada", f"{EXPLORATION}/3b", {"q": "k_a"})
    irene = Browser(world, "irene")
    grades = irene.call("GET", f"/courses/one/assignments/{EXPLORATION}/grades").text
    assert f'{AVERAGE}/students/ada">0</a>' in grades
    page = irene.call("GET", AVERAGE + "/students/ada").text
    version = re.search(r'name="version" value="(\w+)"', page)
    assert version is not None
    form = {"points": "7,5", "reason": "The idea holds.", "version": version[1]}

    done = irene.call("POST", AVERAGE + "/students/ada", form)
    again = irene.call("POST", AVERAGE + "/students/ada", form)

    assert done.status_code == 303
    assert again.status_code == 412
    notice = Browser(world, "ada").call("GET", AVERAGE).text
    assert "changed your score from 0 to <b>7.5</b> points" in notice
    assert "The idea holds." in notice


def test_whoever_signs_in_comes_back_and_never_to_another_site(world: World) -> None:
    with world.database.write() as session:
        set_password(
            session,
            world.people["ada"],
            hash_password("correct horse"),
            at=world.clock(),
            by="test",
        )
    form = {"login": "ada", "password": "correct horse"}
    goals = {AVERAGE: AVERAGE, "//evil.example": "/", "https://evil.example": "/", "/\\evil": "/"}
    for goal, wanted in goals.items():
        response = world.browser().post("/sign-in", data={**form, "next": goal})
        assert response.status_code == 303
        assert response.headers["Location"] == wanted
    refused = world.browser().post("/sign-in", data={**form, "password": "wrong"})
    assert refused.status_code == 401
    assert "The login or the password is wrong" in refused.text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_text(world: World, text: str) -> None:
    answer = {"q": "k_a", "explanation": text}
    made = world.submit("ada", f"{EXPLORATION}/3b", answer)
    for login in ("ada", "irene"):
        page = Browser(world, login).call("GET", f"/attempts/{made['id']}").text
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "<b>$" not in page
        assert "49" not in re.findall(r"<pre[^>]*>(.*?)</pre>", page)


def test_pages_run_no_script_but_our_own_files(world: World) -> None:
    page = Browser(world, "ada").call("GET", AVERAGE)

    assert "script-src" not in page.headers["Content-Security-Policy"]
    assert page.headers["Content-Security-Policy"].startswith("default-src 'self'")
    assert not re.search(r"<script(?![^>]*src=)", page.text)
    assert not re.search(r"\son\w+=", page.text)
    assert not re.search(r"\sstyle=", page.text)
