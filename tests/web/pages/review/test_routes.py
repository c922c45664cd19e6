"""Reviewing as a browser without scripts does it: what is shown, what is hidden, what is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from grader.domain.roles import Role
from grader.rubric.catalog import read_assignment
from grader.store.database import Database
from tests.support.browsers import HOSTILE, Browser
from tests.support.rubrics import shipped
from tests.support.world import DUE, EXPLORATION, World, make_service

REVIEW = f"/courses/one/assignments/{EXPLORATION}/review"
QUEUE = f"{REVIEW}/3c-i"


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    with make_service(sqlite_database, published={"one": (EXPLORATION,), "two": ()}) as world:
        yield world


def write(world: World, who: str, text: str = "Because.") -> str:
    """Send a written answer, and return the attempt's id."""
    answer = {"q": f"{world.number()} mu_a", "explanation": text}
    return str(world.submit(who, f"{EXPLORATION}/3c-i", answer)["id"])


def save(browser: Browser, attempt_id: str, **fields: str) -> Any:
    form = {"explanation.version": "r0"}
    form |= {f"explanation.{name.replace('_', '.')}": value for name, value in fields.items()}
    return browser.call("POST", f"{QUEUE}/{attempt_id}", form)


def reviews_of(world: World, attempt_id: str) -> Any:
    return world.read(f"/api/v1/attempts/{attempt_id}", "irene")["reviews"]


def pseudonym_in(page: str) -> str:
    found = re.search(r"Answer [2-9B-Z]{5}", page)
    assert found is not None
    return found[0]


def test_the_overview_tells_what_waits_what_is_done_and_who_is_at_work(world: World) -> None:
    first = write(world, "ada")
    second = write(world, "bob")
    arthur = Browser(world, "arthur")
    assert save(arthur, first, item_0="on").status_code == 303
    Browser(world, "irene").call("GET", f"{QUEUE}/{second}")

    page = arthur.call("GET", REVIEW).text

    assert "<b>1</b> answer to review" in page
    assert "<b>1</b> of 2 done" in page
    assert f"done by {world.people['arthur'].name} (1)" in page
    assert f"Reviewing now: {world.people['irene'].name}" in page
    assert f'href="{QUEUE}">Go on' in page
    assert "No answer needs a review yet." in page


def test_the_queue_leads_through_all_that_waits_and_then_says_so(world: World) -> None:
    ids = {write(world, "ada"), write(world, "bob")}
    arthur = Browser(world, "arthur")
    seen = []
    goal = QUEUE
    for _ in ids:
        step = arthur.call("GET", goal)
        assert step.status_code == 303
        page = arthur.call("GET", step.headers["Location"])
        assert page.status_code == 200
        seen.append(step.headers["Location"].partition("?")[0].rpartition("/")[2])
        saved = save(arthur, seen[-1], item_0="on")
        assert saved.status_code == 303
        goal = saved.headers["Location"]

    end = arthur.call("GET", goal)

    assert set(seen) == ids
    assert end.status_code == 200
    assert "All done" in end.text
    assert f'href="{QUEUE}/{seen[-1]}">Undo or change it</a>' in end.text


def test_what_was_saved_is_told_with_its_version_on_the_next_page(world: World) -> None:
    write(world, "ada")
    write(world, "bob")
    arthur = Browser(world, "arthur")
    first = arthur.call("GET", QUEUE).headers["Location"]
    name = pseudonym_in(arthur.call("GET", first).text)

    goal = save(arthur, first.rpartition("/")[2], points="1,5").headers["Location"]
    page = arthur.call("GET", arthur.call("GET", goal).headers["Location"]).text

    assert f"Saved: {name}, 1.5 of 2 points (version r1)." in page
    assert f'href="{first}">Undo or change it</a>' in page
    assert "<b>1</b> of 2 done" in page


def test_a_page_has_the_answer_the_prompt_the_pictures_and_the_students_own_values(
    world: World,
) -> None:
    attempt_id = write(world, "ada", "It is **clear**: $\\mu_a$ stands for $k_a$.")

    page = Browser(world, "arthur").call("GET", f"{QUEUE}/{attempt_id}").text

    assert "<strong>clear</strong>" in page
    assert '<span class="math">\\mu_a</span>' in page
    assert "The keys are random now" in page
    assert "<svg" in page
    given = world.read(f"/api/v1/courses/one/assignments/{EXPLORATION}/questions/3c-i", "ada")
    assert f"<code>a = {given['given']['a']}</code>" in page
    assert "the noise hardly moves the scores" in page
    assert 'data-key="1"' in page


def test_no_page_of_a_review_tells_whose_answer_it_is(world: World) -> None:
    attempts = {login: write(world, login) for login in ("ada", "bob")}
    arthur = Browser(world, "arthur")
    told = ["ada", "bob", *(world.enrolment(each) for each in attempts)]
    told += [world.people[each].id for each in attempts]

    pages = [arthur.call("GET", REVIEW), arthur.call("GET", f"{QUEUE}/{attempts['ada']}")]
    pages += [save(arthur, attempts["ada"]), save(arthur, attempts["bob"], none="on")]
    pages += [arthur.call("GET", f"{QUEUE}/{attempts['bob']}")]
    save(arthur, attempts["ada"], none="on")
    pages += [arthur.call("GET", QUEUE)]
    pages += [arthur.call("POST", f"{QUEUE}/{attempts['ada']}/claim")]

    for page in pages:
        words = set(re.findall(r"[\w-]+", page.text.lower()))
        assert not words & set(told)
        assert "surname-of-ada" not in page.text.lower()


def test_names_are_shown_after_all_is_closed_and_reviewed(world: World) -> None:
    attempt_id = write(world, "ada")
    arthur = Browser(world, "arthur")
    save(arthur, attempt_id, none="on")
    name = world.people["ada"].name
    assert name not in arthur.call("GET", f"{QUEUE}/{attempt_id}").text

    world.clock.now = DUE + timedelta(days=60)
    page = Browser(world, "arthur").call("GET", f"{QUEUE}/{attempt_id}").text

    assert name in page
    assert f"/assignments/{EXPLORATION}/questions/3c-i/students/ada" in page


@pytest.mark.parametrize("text", [*HOSTILE, "[x](javascript:alert(1))", "</textarea><b>"])
def test_hostile_text_in_answers_and_comments_stays_text(world: World, text: str) -> None:
    first, second = write(world, "ada", text), write(world, "bob", text)
    arthur = Browser(world, "arthur")
    assert save(arthur, first, item_0="on", comment=text).status_code == 303
    # The comment of the first is offered for the second, and stands in its own form.
    pages = [arthur.call("GET", f"{QUEUE}/{each}").text for each in (first, second)]
    pages.append(save(arthur, first, item_0="on", comment=text + "!").text)
    pages.append(Browser(world, "ada").call("GET", f"/attempts/{first}").text)

    for page in pages:
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "<b>$" not in page
        assert "</textarea><b>" not in page
        assert 'href="javascript' not in page
        assert "<p>49</p>" not in page
        assert not re.search(r"<[a-z][^<>]*\son\w+=", re.sub(r'"[^"]*"', '""', page))


def test_pages_have_no_inline_script_or_style(world: World) -> None:
    attempt_id = write(world, "ada")
    arthur = Browser(world, "arthur")
    for path in (REVIEW, f"{QUEUE}/{attempt_id}"):
        page = arthur.call("GET", path).text
        assert not re.search(r"<script(?![^>]*src=)", page)
        assert not re.search(r"\s(style|on\w+)=", page)


def test_a_conflict_shows_both_and_loses_neither(world: World) -> None:
    attempt_id = write(world, "ada")
    irene, arthur = Browser(world, "irene"), Browser(world, "arthur")
    save(irene, attempt_id, item_0="on", comment="Hers: well said.")

    both = save(arthur, attempt_id, points="1", comment="His: only half.")

    assert both.status_code == 412
    assert "Not saved." in both.text
    assert f"<b>{world.people['irene'].name}</b> gave 2 of 2 points" in both.text
    assert "Hers: well said." in both.text
    assert "His: only half.</textarea>" in both.text
    assert 'name="explanation.points"' in both.text
    assert 'value="1"' in both.text
    assert [each["comment"] for each in reviews_of(world, attempt_id)] == ["Hers: well said."]
    # The page now knows the other review, so that whoever saves again has decided.
    version = re.search(r'name="explanation.version" value="(\w+)"', both.text)
    assert version is not None
    again = save(arthur, attempt_id, points="1", comment="His: only half.", version=version[1])
    assert again.status_code == 303
    assert reviews_of(world, attempt_id)[0]["comment"] == "His: only half."


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        pytest.param({}, 422, id="nothing said"),
        pytest.param({"comment": "Only words."}, 422, id="a comment without points"),
        pytest.param({"points": "many"}, 422, id="points that are no number"),
        pytest.param({"points": "NaN"}, 422, id="points that are not finite"),
        pytest.param({"points": "1e999999999"}, 422, id="points beyond measure"),
        pytest.param({"points": "0.001"}, 422, id="points too fine"),
        pytest.param({"points": "-1"}, 422, id="points below zero"),
        pytest.param({"points": "2.01"}, 422, id="more than there is"),
        pytest.param({"none": "on", "comment": "x" * 10_001}, 422, id="too long a comment"),
        pytest.param({"none": "on"}, 303, id="explicitly nothing"),
        pytest.param({"points": "0"}, 303, id="zero points"),
        pytest.param({"item_7": "on", "points": "2"}, 303, id="an item that is not there"),
    ],
)
def test_what_makes_no_sense_is_told_and_stays_in_the_form(
    world: World, fields: dict[str, str], status: int
) -> None:
    attempt_id = write(world, "ada")

    response = save(Browser(world, "arthur"), attempt_id, **fields)

    assert response.status_code == status
    assert len(reviews_of(world, attempt_id)) == (status == 303)
    if status == 422:
        assert "Not saved." in response.text
        assert fields.get("comment", "") in response.text
        assert f'value="{fields.get("points", "")}"' in response.text


def test_earlier_comments_are_offered_the_most_used_first(world: World) -> None:
    arthur = Browser(world, "arthur")
    for login, comment in (("ada", "Once."), ("bob", "Twice."), ("irene", "Twice.")):
        save(arthur, write(world, login), none="on", comment=comment)
    world.add_member("zoe", Role.STUDENT)

    page = arthur.call("GET", f"{QUEUE}/{write(world, 'zoe')}").text

    assert re.findall(r'data-comment="([^"]*)"', page) == ["Twice.", "Once."]


def test_what_others_hold_is_told_and_comes_back(world: World) -> None:
    attempt_id = write(world, "ada")
    irene, arthur = Browser(world, "irene"), Browser(world, "arthur")
    irene.call("GET", QUEUE)

    end = arthur.call("GET", QUEUE)
    assert end.status_code == 200
    assert "All answers are being reviewed" in end.text
    assert world.people["irene"].name in end.text
    direct = arthur.call("GET", f"{QUEUE}/{attempt_id}").text
    assert "is also reviewing this answer" in direct

    irene.call("POST", f"{QUEUE}/{attempt_id}/claim", {"action": "leave"})
    assert arthur.call("GET", QUEUE).status_code == 303
    kept = irene.call("POST", f"{QUEUE}/{attempt_id}/claim").text
    assert world.people["arthur"].name in kept
    world.clock.turn(minutes=6)
    assert "Reserved for you" in irene.call("POST", f"{QUEUE}/{attempt_id}/claim").text


def test_with_scripts_only_the_form_comes_back_or_the_way_on(world: World) -> None:
    attempt_id = write(world, "ada")
    arthur = Browser(world, "arthur")
    form = {"csrf": arthur.csrf(), "explanation.version": "r0", "explanation.points": "9"}
    path, headers = f"{QUEUE}/{attempt_id}", {"HX-Request": "true"}

    refused = arthur.client.post(path, data=form, headers=headers)
    done = arthur.client.post(path, data={**form, "explanation.points": "2"}, headers=headers)

    assert refused.status_code == 422
    assert "<html" not in refused.text
    assert 'class="unsaved"' in refused.text
    assert done.status_code == 200
    assert done.headers["HX-Redirect"].startswith(f"{QUEUE}?after={attempt_id}")


def test_an_attempt_under_another_question_or_without_a_written_part(world: World) -> None:
    attempt_id = write(world, "ada")
    bare = world.submit("bob", f"{EXPLORATION}/3c-i", {"q": "mu_a"})["id"]
    own = write(world, "arthur")
    arthur = Browser(world, "arthur")

    assert arthur.call("GET", f"{REVIEW}/3b/{attempt_id}").status_code == 404
    assert arthur.call("POST", f"{REVIEW}/3b/{attempt_id}").status_code == 404
    assert arthur.call("GET", f"{REVIEW}/no-such").status_code == 404
    assert arthur.call("GET", f"{QUEUE}/{bare}").status_code == 409
    assert arthur.call("GET", f"{QUEUE}/{own}").status_code == 409


def test_twelve_items_have_keys_of_their_own(world: World) -> None:
    assignment = shipped().assignments[EXPLORATION]
    texts = {name: rubric.text for name, rubric in assignment.rubrics.items()}
    items = "".join(f"        - {{points: 1, for: thing {number}}}\n" for number in range(12))
    head, _, tail = texts["3c-i"].partition("      items:\n")
    rest = tail[tail.index("compute:\n") :]
    texts["3c-i"] = (
        head.replace("points: 10\n", "points: 20\n", 1) + "      items:\n" + items + rest
    )
    world.publish(read_assignment(EXPLORATION, assignment.text, texts))
    attempt_id = write(world, "ada")
    arthur = Browser(world, "arthur")

    page = arthur.call("GET", f"{QUEUE}/{attempt_id}").text
    assert save(arthur, attempt_id, item_0="on", item_11="on").status_code == 303

    keys = re.findall(r'data-key="(.)"', page)
    assert keys == [*"123456789abd", "0"]
    assert reviews_of(world, attempt_id)[0]["items"] == [0, 11]
    again = arthur.call("GET", f"{QUEUE}/{attempt_id}").text
    assert len(re.findall(r'data-key="[1d]"[^>]* checked', again)) == 2
