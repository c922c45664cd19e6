"""A roster file on its page: what is previewed is what is applied, and nothing else ever is."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pytest
from markupsafe import escape

from grader.domain.roles import Role
from grader.store.database import Database
from tests.support.browsers import Browser
from tests.support.roster_pages import CSV, HOSTILE, IMPORT, ROSTER, actions, confirm, people
from tests.support.world import World, make_service


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    with make_service(sqlite_database, published={"one": (), "two": ()}) as world:
        yield world


def test_what_was_previewed_is_what_is_applied(world: World) -> None:
    irene = Browser(world, "irene")
    before, log = people(world), actions(world)

    preview = irene.call("POST", IMPORT, {"action": "preview", "csv": CSV})

    assert preview.status_code == 200
    assert (people(world), actions(world)) == (before, log)
    assert "<b>1</b> new" in preview.text
    assert "<b>1</b> changed" in preview.text
    assert "section: <del>–</del>" in preview.text
    done = irene.call("POST", IMPORT, confirm(preview))
    assert done.headers["Location"] == f"{ROSTER}?done=applied"
    after = people(world)
    assert (after["ada"]["name"], after["ada"]["section"]) == ("Ada L.", "B")
    assert after["emmy"]["section"] == "A"
    assert actions(world) == ["roster.applied", *log]


def test_a_roster_can_be_changed_before_it_is_applied(world: World) -> None:
    irene = Browser(world, "irene")
    preview = irene.call("POST", IMPORT, {"csv": CSV, "is_complete": "on"})

    page = irene.call("POST", IMPORT, confirm(preview) | {"action": "edit"})

    assert page.status_code == 200
    assert CSV in page.text
    assert "checked" in page.text
    assert "emmy" not in people(world)


def test_a_file_is_read_like_its_text_and_goes_before_it(world: World) -> None:
    irene = Browser(world, "irene")
    fields = {"csrf": irene.csrf(), "action": "preview", "csv": "nothing"}

    sent = irene.client.post(
        IMPORT, data=fields, files={"file": ("a.csv", b"\xef\xbb\xbf" + CSV.encode(), "text/csv")}
    )
    broken = irene.client.post(
        IMPORT, data=fields, files={"file": ("a.csv", b"login,name\n\xff,x\n", "text/csv")}
    )

    assert confirm(sent)["csv"] == CSV
    assert broken.status_code == 422
    assert "Line 2 is not UTF-8 text." in broken.text


def test_a_course_that_changed_since_the_preview_is_shown_again(world: World) -> None:
    irene = Browser(world, "irene")
    form = confirm(irene.call("POST", IMPORT, {"csv": CSV}))
    irene.call("POST", "/courses/one/people/ada", {"role": "student", "section": "C"})

    late = irene.call("POST", IMPORT, form)

    assert late.status_code == 409
    assert "no longer what you saw" in late.text
    assert "emmy" not in people(world)
    # What is shown now is what would happen now, and can be confirmed.
    assert "<del>C</del>" in late.text
    assert irene.call("POST", IMPORT, confirm(late)).status_code == 303
    assert people(world)["ada"]["section"] == "B"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"csv": CSV + "eve,Eve,instructor,\n"}, id="another text"),
        pytest.param({"is_complete": "on"}, id="complete after all"),
        pytest.param({"seen": ""}, id="nothing seen"),
    ],
)
def test_nothing_else_is_applied_than_what_was_seen(world: World, change: dict[str, str]) -> None:
    irene = Browser(world, "irene")
    form = confirm(irene.call("POST", IMPORT, {"csv": CSV}))
    before = people(world)

    assert irene.call("POST", IMPORT, form | change).status_code == 409
    assert people(world) == before


def test_a_complete_roster_lets_many_leave_only_where_that_is_meant(world: World) -> None:
    for number in range(6):
        world.add_member(f"s{number}", Role.STUDENT)
    irene = Browser(world, "irene")
    preview = irene.call("POST", IMPORT, {"csv": CSV, "is_complete": "on"})
    assert "<b>7 students leave</b>" in preview.text
    log = actions(world)

    hasty = irene.call("POST", IMPORT, confirm(preview))

    assert hasty.status_code == 409
    assert "7 students would leave" in hasty.text
    assert "bob" in people(world)
    assert "emmy" not in people(world)
    assert actions(world) == log
    meant = irene.call("POST", IMPORT, confirm(hasty) | {"leaving": "on"})
    assert meant.status_code == 303
    assert set(people(world)) == {"ada", "arthur", "emmy", "irene"}


def test_faults_are_told_by_line_and_the_text_stays(world: World) -> None:
    text = f"login,name,role\nada,Ada,boss\nada,x{HOSTILE},\n"

    page = Browser(world, "irene").call("POST", IMPORT, {"csv": text, "is_complete": "on"})

    assert page.status_code == 422
    assert "Line 2: &#39;boss&#39; is not a role" in page.text
    assert "Line 3: &#39;ada&#39; is already in line 2." in page.text
    assert str(escape(text)) in page.text
    assert HOSTILE not in page.text
    assert re.search(r'name="is_complete" checked', page.text)


def test_hostile_names_stay_text_on_every_page(world: World) -> None:
    irene = Browser(world, "irene")
    login = "a<b>'\"&?#%z"
    quoted = '"' + login.replace('"', '""') + '"'
    name = '"' + HOSTILE.replace('"', '""') + '"'
    preview = irene.call("POST", IMPORT, {"csv": f"login,name,section\n{quoted},{name},<i>\n"})
    assert preview.status_code == 200, preview.text
    irene.call("POST", IMPORT, confirm(preview))

    roster = irene.call("GET", ROSTER)
    link = re.search(r'href="(/courses/one/people/a[^"]+)"', roster.text)
    assert link is not None
    person = irene.call("GET", html.unescape(link[1]))

    assert person.status_code == 200
    made = irene.call("POST", html.unescape(link[1]) + "/link")
    assert made.status_code == 200
    for page in (preview, roster, person, made):
        assert HOSTILE not in page.text
        assert "<i>" not in page.text
