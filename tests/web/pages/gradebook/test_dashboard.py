"""The grade dashboard as a browser without scripts gets it: table, filters, orders, files."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from typing import Any

import pytest

from grader.domain.roles import Role
from grader.store.database import Database, open_database
from grader.web.pages.gradebook.dashboard import compute_heat_level
from tests.support.browsers import Browser
from tests.support.databases import fresh_url
from tests.support.world import EXPLORATION, World, make_service

GRADES = f"/courses/one/assignments/{EXPLORATION}/grades"
STUDENTS = f"/courses/one/assignments/{EXPLORATION}/students"
HOSTILE = '=<script>alert("x")</script>'


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    published = {"one": (EXPLORATION,), "two": ()}
    with make_service(sqlite_database, published=published) as world:
        yield world


def override(world: World, student: str, points: float, question: str = "3b") -> None:
    path = f"/api/v1/courses/one/assignments/{EXPLORATION}/questions/{question}/grades/{student}"
    version = world.get(path, "irene").headers["ETag"]
    sent = {"points": points, "reason": "By hand."}
    done = world.call("PUT", f"{path}/override", "irene", sent, headers={"If-Match": version})
    assert done.status_code == 200, done.text


def page_of(world: World, query: str = "", login: str = "irene") -> str:
    response = Browser(world, login).call("GET", GRADES + query)
    assert response.status_code == 200, response.text
    text: str = response.text
    return text


def names_on(page: str) -> list[str]:
    return re.findall(r'/students/([\w-]+)">[^<]*</a> <span class="quiet">', page)


def rows_on(page: str) -> dict[str, list[str]]:
    """The text of each cell, by login."""
    found = {}
    for row in re.findall(r"<tr><th scope=\"row\"><a .*?</tr>", page):
        (login,) = names_on(row)
        cells = re.findall(r"<td[^>]*>(.*?)</td>", row)
        found[login] = [html.unescape(re.sub(r"<[^>]+>", " ", each)).strip() for each in cells]
    return found


def link(page: str, name: str) -> str:
    found = re.search(rf'href="([^"]+)"[^>]*>{name}</a>', page)
    assert found is not None, name
    return html.unescape(found[1])


# The table


def test_a_cell_has_points_words_and_a_way_to_the_attempts(world: World) -> None:
    world.submit("ada", f"{EXPLORATION}/3b", {"q": "40 (k_a + k_b)"})
    world.submit("ada", f"{EXPLORATION}/3c-i", {"q": "mu_a", "explanation": "So."})
    override(world, "bob", 2.5)

    page = page_of(world)

    rows = rows_on(page)
    columns = re.findall(r"/analytics/([\w-]+)", page)
    assert columns == list(world.read(f"/api/v1{GRADES}", "irene")["questions"])
    place = 2 + columns.index("3b")
    assert rows["ada"][place].split()[0] == "8"
    assert rows["ada"][2 + columns.index("3c-i")].split()[-1] == "waits"
    assert rows["bob"][place].split() == ["2.5", "staff"]
    assert rows["bob"][0] == "2.5"
    assert rows["bob"][2] == "–"
    assert f'{GRADES[: -len("/grades")]}/questions/3b/students/bob">2.5</a>' in page
    assert f'href="{STUDENTS}/bob"' in page


@pytest.mark.parametrize(
    ("points", "level"),
    [("0", 0), ("0.01", 1), ("2.99", 1), ("3", 2), ("6", 3), ("8.99", 3), ("9", 4), ("12", 4)],
)
def test_the_shade_follows_the_share_of_the_points(points: str, level: int) -> None:
    assert compute_heat_level(Decimal(points), Decimal(9)) == level


def test_without_points_or_without_any_to_have_there_is_no_shade() -> None:
    assert compute_heat_level(None, Decimal(9)) == compute_heat_level(Decimal(0), Decimal(0)) == 0


def test_what_people_are_called_stays_text(world: World) -> None:
    csv_text = "login,name,section\neve," + '"' + HOSTILE.replace('"', '""') + '","<b>"\n'
    sent = world.post("/api/v1/courses/one/roster", "irene", {"csv": csv_text})
    assert sent.status_code == 201, sent.text

    for query in ("", "?q=%3Cscript%3E", "?section=%3Cb%3E", f"?q={'%22%3E'}x"):
        page = page_of(world, query)
        assert "<script>alert" not in page
        assert '"><x' not in page
    alone = Browser(world, "irene").call("GET", STUDENTS + "/eve").text
    assert html.escape(HOSTILE, quote=False)[:9] in alone
    assert "<script>alert" not in alone
    for file in ("csv", "jsonl"):
        text = world.get(f"/api/v1{GRADES}?format={file}&q=eve", "irene").text
        assert HOSTILE.replace('"', '""' if file == "csv" else '\\"') in text
    (line,) = csv.DictReader(
        io.StringIO(world.get(f"/api/v1{GRADES}?format=csv&q=eve", "irene").text)
    )
    assert line["name"] == "'" + HOSTILE


# Orders, filters and pages


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service with 104 students more, for tests that only read."""
    published = {"one": (EXPLORATION,), "two": ()}
    with (
        fresh_url("sqlite", tmp_path_factory.mktemp("large")) as url,
        closing(open_database(url)) as database,
        make_service(database, published=published) as world,
    ):
        fill(world, 104)
        yield world


def fill(world: World, count: int) -> None:
    for number in range(count):
        world.add_member(f"s{number:03}", Role.STUDENT)
    for number in range(0, count, 3):
        override(world, f"s{number:03}", number % 7)


@pytest.mark.parametrize("sort", ["", "?sort=-login", "?sort=total", "?sort=-question:3b"])
def test_by_links_alone_one_sees_everybody_once_and_comes_back(large: World, sort: str) -> None:
    irene = Browser(large, "irene")
    pages = [irene.call("GET", GRADES + sort).text]
    while 'rel="next"' in pages[-1]:
        pages.append(irene.call("GET", link(pages[-1], "Next page")).text)
    seen = [name for page in pages for name in names_on(page)]
    back = irene.call("GET", link(pages[-1], "Previous page")).text

    assert len(pages) == 3
    assert len(seen) == len(set(seen)) == 106
    assert names_on(back) == names_on(pages[1])
    assert names_on(irene.call("GET", link(pages[-1], "First page")).text) == names_on(pages[0])
    assert "50 of 106 students on this page" in pages[0]


def test_a_column_says_how_it_is_sorted_and_turns_when_clicked(world: World) -> None:
    override(world, "bob", 3)
    irene = Browser(world, "irene")

    plain = page_of(world)
    by_total = re.search(r'href="([^"]+)" aria-label="Sort by total"', plain)
    assert by_total is not None
    falling = irene.call("GET", html.unescape(by_total[1])).text
    turned = re.search(r'href="([^"]+)" aria-label="Sort by total"', falling)
    assert turned is not None
    rising = irene.call("GET", html.unescape(turned[1])).text

    assert plain.count('aria-sort="ascending"') == 1
    assert (falling.count('aria-sort="descending"'), names_on(falling)) == (1, ["bob", "ada"])
    assert rising.count('aria-sort="ascending"') == 1
    # Whoever has no number comes last either way.
    assert names_on(rising) == ["bob", "ada"]


def test_the_form_chooses_by_text_section_and_state(world: World) -> None:
    override(world, "bob", 3)

    for query, wanted in {
        "?q=ADA&section=&state=&sort=login": ["ada"],
        "?q=&state=overridden": ["bob"],
        "?state=nothing": ["ada"],
        "?state=late": [],
        "?q=b&state=overridden&sort=-total": ["bob"],
    }.items():
        assert names_on(page_of(world, query)) == wanted, query
    empty = page_of(world, "?q=nobody")
    assert "No student matches." in empty
    assert '<option value="overridden" selected>' in page_of(world, "?state=overridden")


@pytest.mark.parametrize(
    "query",
    [
        "?sort=name", "?sort=question:", "?sort=question:9z", "?state=sad", "?cursor=x",
        "?cursor=WzEsImEiXQ", "?sort=total&cursor=WzFd",
    ],
)  # fmt: skip
def test_what_cannot_be_asked_for_is_told(world: World, query: str) -> None:
    assert Browser(world, "irene").call("GET", GRADES + query).status_code == 422
    assert world.get(f"/api/v1{GRADES}{query}", "irene").status_code == 422


# The spread of totals


def test_the_spread_tells_median_middle_half_and_n(world: World) -> None:
    for number, points in enumerate((1, 2, 3, 4)):
        world.add_member(f"s{number}", Role.STUDENT)
        override(world, f"s{number}", points)

    page = page_of(world)

    facts = dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)", page))
    assert facts["Median"] == "2.5"
    assert facts["Middle half"] == "1.75 to 3.25"
    assert facts["Students"].strip() == "4"
    assert "of 6; the others have submitted nothing yet" in page
    assert '<svg role="img"' in page
    chosen = page_of(world, "?q=s3")
    assert dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)", chosen))["Median"] == "4"
    assert "the students selected above" in chosen
    assert "<svg" not in page_of(world, "?state=nothing")


# Files


def test_files_have_what_the_page_shows_in_its_order(world: World) -> None:
    fill(world, 12)
    query = "?q=s0&sort=-question:3b"
    page = page_of(world, query)
    irene = Browser(world, "irene")
    files = {
        name: irene.call("GET", link(page, name)) for name in ("CSV", "CSV for Excel", "JSON Lines")
    }

    shown = rows_on(page)
    lines = list(csv.DictReader(io.StringIO(files["CSV"].text)))
    objects = [json.loads(each) for each in files["JSON Lines"].text.splitlines()]
    assert [each["login"] for each in lines] == [each["login"] for each in objects] == list(shown)
    assert [each["total"] for each in lines] == [cells[0] for cells in shown.values()]
    assert [say(each["total"]) for each in objects] == [cells[0] for cells in shown.values()]
    assert files["CSV for Excel"].content == b"\xef\xbb\xbf" + files["CSV"].content
    assert files["JSON Lines"].headers["Content-Type"] == "application/jsonl"
    accepted = world.get(
        f"/api/v1{GRADES}{query}", "irene", headers={"Accept": "application/jsonl"}
    )
    assert accepted.text == files["JSON Lines"].text


def say(number: Any) -> str:
    return f"{number:g}"


def test_cursors_from_before_there_were_orders_are_still_taken(world: World) -> None:
    first = world.get(f"/api/v1{GRADES}?limit=1", "irene")
    assert "cursor=WyJhZGEiXQ" in first.headers["Link"]

    second = world.get(f"/api/v1{GRADES}?limit=1&cursor=WyJhZGEiXQ", "irene")
    assert [each["student"] for each in second.json()["students"]] == ["bob"]


# One student


def test_a_students_page_has_all_questions_more_time_and_what_was_decided(world: World) -> None:
    override(world, "bob", 2.5)
    given = world.post(
        f"/api/v1/courses/one/assignments/{EXPLORATION}/extensions",
        "irene",
        {"student": "bob", "extra_attempts": 2, "reason": "Ill for <a> week."},
    )
    assert given.status_code == 201, given.text

    page = Browser(world, "arthur").call("GET", STUDENTS + "/bob").text

    assert "<b>2.5</b> of" in page
    assert page.count("nothing submitted yet") > 3
    assert "2 more attempts at each question" in page
    assert "Ill for &lt;a&gt; week." in page
    assert "by Irene Surname-Of-Irene. By hand." in page
    assert Browser(world, "arthur").call("GET", STUDENTS + "/nobody").status_code == 404
