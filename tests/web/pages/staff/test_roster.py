"""Pages about who takes part: found, added, imported as it was seen, and let in by a link."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pytest

from grader.domain.roles import Role
from grader.store.database import Database
from tests.support.browsers import Browser
from tests.support.roster_pages import CSV, IMPORT, ROSTER, actions, confirm, people
from tests.support.world import World, make_service


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (), "two": ()}) as world:
        yield world


# Looking


def test_people_are_found_by_text_role_and_section(world: World) -> None:
    irene = Browser(world, "irene")
    irene.call("POST", "/courses/one/people/ada", {"role": "student", "section": "A"})
    for query, found in (
        ("", {"ada", "arthur", "bob", "irene"}),
        ("q=AD", {"ada"}),
        ("q=surname-of-b", {"bob"}),
        ("role=student", {"ada", "bob"}),
        ("section=A", {"ada"}),
        ("section=+", {"arthur", "bob", "irene"}),
        ("q=%25", set()),
        ("q=a_a", set()),
        ("role=king", {"ada", "arthur", "bob", "irene"}),
    ):
        page = irene.call("GET", f"{ROSTER}?{query}").text
        assert set(re.findall(r'href="/courses/one/people/(\w+)"', page)) == found, query


def test_letters_beyond_ascii_are_found_whatever_their_case(world: World) -> None:
    irene = Browser(world, "irene")
    irene.call("POST", ROSTER + "/add", {"login": "lukasz", "name": "Łukasz Żak"})

    for text in ("łukasz", "ŁUKASZ", "żak", "Łukasz ż"):
        page = irene.client.get(ROSTER, params={"q": text}).text
        # SQLite lowers ASCII alone, so that a text in mixed letters may find nothing there.
        if text != "Łukasz ż":
            assert "/people/lukasz" in page, text


def test_a_long_roster_comes_in_pages_by_login(world: World) -> None:
    lines = "".join(f"s{number:03},Student {number},A\n" for number in range(120))
    irene = Browser(world, "irene")
    preview = irene.call("POST", IMPORT, {"csv": "login,name,section\n" + lines})
    assert irene.call("POST", IMPORT, confirm(preview)).status_code == 303

    seen: list[str] = []
    path = f"{ROSTER}?section=A"
    while path:
        page = irene.call("GET", path).text
        seen += re.findall(r'href="/courses/one/people/(\w+)"', page)
        link = re.search(r'rel="next" href="([^"]+)"', page)
        path = ROSTER + html.unescape(link[1]) if link else ""

    assert seen == [f"s{number:03}" for number in range(120)]


def test_assistants_see_who_takes_part_but_no_addresses_and_no_forms(world: World) -> None:
    arthur = Browser(world, "arthur")
    page = arthur.call("GET", ROSTER).text
    person = arthur.call("GET", "/courses/one/people/ada").text

    assert "Ada Surname-Of-Ada" in page
    for text in (page, person):
        assert "@people.example" not in text
        assert "Make a sign-in link" not in text
        assert "/import" not in text


# One person


def test_somebody_is_added_by_hand_and_once(world: World) -> None:
    irene = Browser(world, "irene")
    form = {"login": " emmy ", "name": "Emmy Noether", "email": "", "role": "assistant"}

    done = irene.call("POST", ROSTER + "/add", form | {"section": "A"})

    assert done.headers["Location"] == "/courses/one/people/emmy?done=added"
    assert people(world)["emmy"]["role"] == "assistant"
    again = irene.call("POST", ROSTER + "/add", form)
    assert again.status_code == 422
    assert "takes part already" in again.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"login": ""}, "A login has 1 to", id="no login"),
        pytest.param({"login": "a b"}, "no spaces", id="a login with a space"),
        pytest.param({"login": "ADA"}, "the known login is", id="a login in capital letters"),
        pytest.param({"name": ""}, "A name has 1 to", id="no name"),
        pytest.param({"email": "x"}, "not an email address", id="no address"),
        pytest.param({"section": "x" * 101}, "A section is one line", id="a long section"),
        pytest.param({"login": "olga"}, "is an operator", id="an operator"),
    ],
)
def test_what_is_wrong_with_somebody_stands_beside_the_field(
    world: World, change: dict[str, str], words: str
) -> None:
    form = {"login": "emmy", "name": "Emmy Noether", "email": "", "section": "Room 7"} | change

    page = Browser(world, "irene").call("POST", ROSTER + "/add", form)

    assert page.status_code == 422
    assert words in page.text
    assert "Line 1" not in page.text
    assert 'aria-invalid="true"' in page.text
    if "section" not in change:
        assert 'value="Room 7"' in page.text
    assert "emmy" not in people(world)


def test_role_and_section_are_changed_but_not_ones_own_role(world: World) -> None:
    irene = Browser(world, "irene")

    irene.call("POST", "/courses/one/people/bob", {"role": "assistant", "section": "B"})
    own = irene.call("POST", "/courses/one/people/irene", {"role": "student", "section": ""})

    assert (people(world)["bob"]["role"], people(world)["bob"]["section"]) == ("assistant", "B")
    assert own.status_code == 422
    assert "You cannot give up your own role" in own.text
    assert people(world)["irene"]["role"] == "instructor"


def test_who_leaves_is_gone_but_nobody_sends_themselves_away(world: World) -> None:
    irene = Browser(world, "irene")

    done = irene.call("POST", "/courses/one/people/bob", {"action": "leave"})
    own = irene.call("POST", "/courses/one/people/irene", {"action": "leave"})

    assert done.headers["Location"] == f"{ROSTER}?done=left"
    assert "bob" not in people(world)
    assert irene.call("GET", "/courses/one/people/bob").status_code == 404
    assert own.status_code == 409
    assert "You cannot remove yourself" in own.text
    assert "irene" in people(world)


# Links


def test_a_link_is_shown_once_signs_in_once_and_is_audited(world: World) -> None:
    irene = Browser(world, "irene")

    made = irene.call("POST", "/courses/one/people/ada/link")

    url = re.search(r'<code id="link">http://testserver(/sign-in/[\w-]+)</code>', made.text)
    assert url is not None
    assert made.headers["Cache-Control"] == "no-store"
    code = url[1].rpartition("/")[2]
    assert code not in irene.call("GET", "/courses/one/people/ada").text
    assert code not in world.log.getvalue()
    assert "link.made" in actions(world)
    browser = world.browser()
    assert browser.post(url[1]).status_code == 303
    assert "Ada Surname-Of-Ada" in browser.get("/").text
    assert "was used before" in world.browser().post(url[1]).text


def test_links_are_made_for_nobody_who_may_as_much(world: World) -> None:
    world.add_member("ingrid", Role.INSTRUCTOR)
    irene = Browser(world, "irene")
    # Cora is a student of another course, where Irene has no place.
    irene.call("POST", ROSTER + "/add", {"login": "cora", "name": "Cora"})

    for login in ("ingrid", "irene", "cora"):
        page = irene.call("POST", f"/courses/one/people/{login}/link")
        assert page.status_code == 409, login
        assert "links for students and assistants" in page.text
        assert "/sign-in/" not in page.text
    assert "link.made" not in actions(world)


@pytest.mark.parametrize(
    ("path", "form"),
    [
        (ROSTER + "/add", {"login": "emmy", "name": "Emmy"}),
        (IMPORT, {"action": "apply", "csv": CSV}),
        ("/courses/one/people/bob", {"action": "leave"}),
        ("/courses/one/people/bob/link", {}),
    ],
)
def test_a_form_of_another_site_changes_nothing(
    world: World, path: str, form: dict[str, str]
) -> None:
    irene = Browser(world, "irene")
    before = people(world)

    assert irene.client.post(path, data=form).status_code == 403
    assert people(world) == before
    assert "link.made" not in actions(world)
