"""The page of extensions: given in the course's time, in words, taken back, warned about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from markupsafe import escape

from grader.store.database import Database
from tests.support.browsers import HOSTILE, Browser
from tests.support.world import DUE, EXPLORATION, World, make_service

PATH = f"/courses/one/assignments/{EXPLORATION}/extensions"
FORM = {"student": "ada", "due_at": "2026-11-30T23:59", "extra_attempts": "2", "reason": "Ill."}


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    published = {"one": (EXPLORATION,), "two": ()}
    with make_service(sqlite_database, published=published) as world:
        yield world


def extensions(world: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.read("/api/v1" + PATH, "irene")
    return found


def test_an_extension_is_given_and_its_effect_told(world: World) -> None:
    irene = Browser(world, "irene")

    done = irene.call("POST", PATH, FORM)

    assert done.headers["Location"] == f"{PATH}?given=ada"
    (given,) = extensions(world)
    assert (given["due_at"], given["extra_attempts"]) == ("2026-11-30T23:59:59Z", 2)
    page = irene.call("GET", done.headers["Location"]).text
    assert "Mon 30 Nov 2026, 23:59 (UTC+00:00)" in page
    assert "12 attempts in total" in page
    assert "Irene Surname-Of-Irene" in page


def test_the_newest_holds_and_taking_back_adds_one_more(world: World) -> None:
    irene = Browser(world, "irene")
    irene.call("POST", PATH, FORM)

    taken = {"action": "take_back", "student": "ada", "reason": "It was for Bob."}
    done = irene.call("POST", PATH, taken)

    assert done.status_code == 303
    newest, first = extensions(world)
    assert (newest["due_at"], newest["extra_attempts"]) == (None, 0)
    assert first["extra_attempts"] == 2
    page = irene.call("GET", done.headers["Location"]).text
    assert "replaced by a newer one" in page
    assert "taken back; as for everybody, due <time" in page.replace("\n", " ")
    assert "Take back<span" not in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"student": "nobody"}, "There is no such login in this course", id="nobody"),
        pytest.param(
            {"student": "cora"}, "There is no such login in this course", id="of another course"
        ),
        pytest.param({"due_at": "soon"}, "Write a date", id="no date"),
        pytest.param(
            {"due_at": "2026-11-17T10:00"}, "not later than the standard due date", id="earlier"
        ),
        pytest.param({"due_at": "", "extra_attempts": "00"}, "later date or more", id="nothing"),
        pytest.param({"extra_attempts": "-1"}, "whole number from 0", id="fewer"),
        pytest.param({"extra_attempts": "1001"}, "whole number from 0", id="too many"),
        pytest.param({"extra_attempts": "1.5"}, "whole number from 0", id="not whole"),
        pytest.param({"reason": " "}, "Give a reason", id="no reason"),
    ],
)
def test_what_is_wrong_stands_beside_the_field_and_the_rest_stays(
    world: World, change: dict[str, str], words: str
) -> None:
    page = Browser(world, "irene").call("POST", PATH, FORM | change)

    assert page.status_code == 422
    assert words in page.text
    assert 'aria-invalid="true"' in page.text
    for name, typed in FORM.items():
        assert name in change or typed in page.text
    assert extensions(world) == []


def test_attempts_alone_leave_the_due_date(world: World) -> None:
    Browser(world, "irene").call("POST", PATH, FORM | {"due_at": ""})

    (given,) = extensions(world)
    assert (given["due_at"], given["extra_attempts"]) == (None, 2)


def test_after_publication_it_is_said_that_keys_may_be_known(world: World) -> None:
    irene = Browser(world, "irene")
    irene.call("POST", PATH, FORM | {"student": "bob", "due_at": "2026-11-24T12:00"})
    assert "published" not in irene.call("GET", PATH).text
    world.clock.now = DUE.replace(month=12)

    irene = Browser(world, "irene")
    before = irene.call("GET", PATH).text
    done = irene.call("POST", PATH, FORM | {"due_at": "2026-12-30T12:00"})
    after = irene.call("GET", done.headers["Location"]).text

    assert "Keys of this assignment were published" in before
    assert "Keys were published before this was given" in after
    # Bob's was given in time, and that stays so.
    assert after.count("given after the keys were published") == 1


def test_nobody_extends_their_own_work(world: World) -> None:
    page = Browser(world, "irene").call("POST", PATH, FORM | {"student": "irene"})

    assert page.status_code == 409
    assert "Nobody decides about their own work" in page.text


@pytest.mark.parametrize("text", HOSTILE)
def test_a_reason_stays_text(world: World, text: str) -> None:
    irene = Browser(world, "irene")

    refused = irene.call("POST", PATH, FORM | {"reason": text, "student": text})
    irene.call("POST", PATH, FORM | {"reason": text})

    for page in (refused.text, irene.call("GET", PATH).text):
        assert str(escape(text)) in page
        assert "<script>alert" not in page
        assert "<img" not in page


def test_assistants_look_and_a_form_of_another_site_gives_nothing(world: World) -> None:
    assert "Give an extension" not in Browser(world, "arthur").call("GET", PATH).text
    assert Browser(world, "irene").client.post(PATH, data=FORM).status_code == 403
    assert extensions(world) == []
