"""Pages about tokens: shown once, no more than is asked for, and refused once they are revoked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from markupsafe import escape

from grader.store.database import Database
from tests.support.browsers import HOSTILE, Browser
from tests.support.world import World, make_service

FORM = {"label": "my-laptop", "scope.course:read": "on", "days": "30"}
COURSE = "/courses/one/tokens"


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    with make_service(sqlite_database, published={"one": (), "two": ()}) as world:
        yield world


def secret_in(page: Any) -> str:
    found = re.search(r'<code id="secret">(keyset_[\w-]+)</code>', page.text)
    assert found is not None, page.text
    return found[1]


def revoke_path(page: Any) -> str:
    found = re.search(r'action="([^"]+/revoke)"', page.text)
    assert found is not None
    return found[1]


def test_a_token_is_shown_once_and_never_again(world: World) -> None:
    ada = Browser(world, "ada")

    made = ada.call("POST", "/tokens", FORM)

    secret = secret_in(made)
    assert made.status_code == 200
    assert made.headers["Cache-Control"] == "no-store"
    assert f"Bearer {secret}" in made.text.replace("&#34;", '"')
    later = ada.call("GET", "/tokens").text
    assert "my-laptop" in later
    assert secret not in later
    assert f"<code>{secret[-4:]}</code>" in later
    assert secret not in world.log.getvalue()


def test_the_line_that_is_shown_works_and_a_revoked_token_does_not(world: World) -> None:
    ada = Browser(world, "ada")
    world.tokens["made"] = secret_in(ada.call("POST", "/tokens", FORM))
    assert world.read("/api/v1/me", "made")["scopes"] == ["course:read"]
    # Ada has one more, which the world uses.
    page = ada.call("GET", "/tokens")

    done = ada.call("POST", revoke_path(page))

    assert done.status_code == 303
    assert world.get("/api/v1/me", "made").status_code == 401
    assert world.get("/api/v1/me", "ada").status_code == 200
    assert "1 that is no longer in force" in ada.call("GET", "/tokens").text


def test_an_expired_token_is_no_longer_in_force(world: World) -> None:
    ada = Browser(world, "ada")
    ada.call("POST", "/tokens", FORM | {"days": "1"})

    world.clock.turn(days=2)

    assert "1 that is no longer in force" in Browser(world, "ada").call("GET", "/tokens").text


def test_nobody_revokes_the_token_of_somebody_else(world: World) -> None:
    ada, bob = Browser(world, "ada"), Browser(world, "bob")
    world.tokens["made"] = secret_in(ada.call("POST", "/tokens", FORM))
    path = revoke_path(ada.call("GET", "/tokens"))

    assert bob.call("POST", path).status_code == 404
    assert Browser(world, "irene").call("POST", "/courses/one" + path).status_code == 404
    assert world.get("/api/v1/me", "made").status_code == 200


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"label": " "}, "Describe its use in one line", id="no label"),
        pytest.param({"label": "x" * 201}, "Describe its use in one line", id="a long label"),
        pytest.param({"label": "a\nb"}, "Describe its use in one line", id="two lines"),
        pytest.param({"days": "0"}, "from 1 to 400 days", id="no days"),
        pytest.param({"days": "401"}, "from 1 to 400 days", id="too many days"),
        pytest.param({"days": "9" * 4000}, "from 1 to 400 days", id="beyond numbers"),
        pytest.param({"days": "²"}, "from 1 to 400 days", id="a digit that is no number"),
        pytest.param({"days": "soon"}, "from 1 to 400 days", id="words"),
        pytest.param({"scope.course:read": None}, "at least one scope", id="no scope"),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_nothing_is_made(
    world: World, change: dict[str, str | None], words: str
) -> None:
    form = {key: value for key, value in (FORM | change).items() if value is not None}
    for path, login in (("/tokens", "ada"), (COURSE, "irene")):
        browser = Browser(world, login)

        page = browser.call("POST", path, form)

        assert page.status_code == 422
        assert words in page.text
        assert "keyset_" not in page.text
        if "days" not in change:
            assert 'value="30"' in page.text
        assert "my-laptop" not in browser.call("GET", path).text


def test_all_that_is_wrong_is_told_at_once(world: World) -> None:
    page = Browser(world, "ada").call("POST", "/tokens", {"label": "", "days": "x"}).text

    for words in ("Describe its use in one line", "at least one scope", "from 1 to 400 days"):
        assert words in page


@pytest.mark.parametrize("text", HOSTILE)
def test_a_label_stays_text(world: World, text: str) -> None:
    ada = Browser(world, "ada")

    made = ada.call("POST", "/tokens", FORM | {"label": text}).text
    refused = ada.call("POST", "/tokens", {"label": text, "days": "30"}).text

    for page in (made, refused, ada.call("GET", "/tokens").text):
        assert str(escape(text)) in page
        assert "<script>alert" not in page
        assert "<img" not in page


def test_students_are_offered_what_students_can_use(world: World) -> None:
    student = Browser(world, "ada").call("GET", "/tokens").text
    staff = Browser(world, "arthur").call("GET", "/tokens").text

    assert "scope.attempts:write" in student
    assert "scope.grades:read" not in student
    assert "scope.grades:read" in staff


def test_a_form_of_another_site_makes_no_token(world: World) -> None:
    ada = Browser(world, "ada")

    forged = ada.client.post("/tokens", data=FORM)
    foreign = ada.client.post(
        "/tokens", data=FORM | {"csrf": ada.csrf()}, headers={"Origin": "https://evil.example"}
    )

    assert (forged.status_code, foreign.status_code) == (403, 403)
    assert "my-laptop" not in ada.call("GET", "/tokens").text


def test_a_service_token_works_in_its_course_alone_until_it_is_revoked(world: World) -> None:
    irene = Browser(world, "irene")
    form = FORM | {"label": "dashboard", "scope.roster:write": "on"}

    made = irene.call("POST", COURSE, form)

    world.tokens["service"] = secret_in(made)
    assert world.get("/api/v1/courses/one/people", "service").status_code == 200
    assert world.get("/api/v1/courses/two/people", "service").status_code == 404
    page = irene.call("GET", COURSE)
    assert world.tokens["service"] not in page.text
    assert irene.call("POST", revoke_path(page)).status_code == 303
    assert world.get("/api/v1/courses/one/people", "service").status_code == 401


def test_a_token_that_was_made_is_in_the_audit_log(world: World) -> None:
    irene = Browser(world, "irene")
    irene.call("POST", COURSE, FORM)
    irene.call("POST", revoke_path(irene.call("GET", COURSE)))

    actions = [each["action"] for each in world.read("/api/v1/courses/one/audit", "irene")]

    assert {"token.made", "token.revoked"} <= set(actions)
