"""Pages about rubrics: what they claim, how their examples come out, what a publication changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from markupsafe import escape

from grader.rubric.catalog import CompiledAssignment, read_assignment
from grader.store.database import Database
from grader.web.pages.staff.rubric_text import render_yaml_lines
from tests.support.browsers import Browser
from tests.support.rubrics import rubric_of, shipped
from tests.support.world import EXPLORATION, World, make_service

RUBRICS = f"/courses/one/assignments/{EXPLORATION}/rubrics"
HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture
def world(sqlite_database: Database) -> Iterator[World]:
    published = {"one": (EXPLORATION,), "two": ()}
    with make_service(sqlite_database, published=published) as world:
        yield world


def edited(change: Callable[[str], str], question: str = "3b") -> CompiledAssignment:
    """The assignment with the file of one question changed."""
    original = shipped().assignments[EXPLORATION]
    texts = {name: each.text for name, each in original.rubrics.items()}
    texts[question] = change(texts[question])
    return read_assignment(EXPLORATION, original.text, texts)


def tolerant(text: str) -> str:
    return text.replace("within: 0.10, credit: 0.5", "within: 0.20, credit: 0.5")


def test_the_list_says_what_is_in_force_and_what_changed(world: World) -> None:
    world.clock.turn(hours=1)
    world.publish(edited(tolerant))

    page = Browser(world, "arthur").call("GET", RUBRICS).text

    assert "publication 2 is in force" in page
    assert f"{RUBRICS}/3b/versions?from=1&amp;to=2" in page
    assert "changed: <a" in page
    assert "first published: <a" in page
    assert edited(tolerant).rubrics["3b"].version[7:19] in page
    # Only 3b is new; the others changed last when they were published first.
    assert page.count("13:00 (UTC") == 3


def test_the_examples_come_out_as_their_file_says(world: World) -> None:
    irene = Browser(world, "irene")
    count = len(rubric_of(f"{EXPLORATION}/3b").form.examples)
    assert "hx-get" in irene.call("GET", f"{RUBRICS}/3b").text

    whole = irene.call("GET", f"{RUBRICS}/3b/examples").text
    part = irene.client.get(f"{RUBRICS}/3b/examples", headers={"HX-Request": "true"}).text

    assert f"{count} of {count} as stated" in whole
    assert "<!doctype" in whole
    assert "<!doctype" not in part
    assert "8 points" in part
    assert "refused: answer.shape" in part
    assert "0 points; scale-too-small" in part
    # What was tried is kept, so that the next page has it at once.
    assert f"{count} of {count} as stated" in irene.call("GET", f"{RUBRICS}/3b").text
    assert f"{count} of {count} as stated" in irene.call("GET", RUBRICS).text


def test_an_example_that_fails_is_told_with_what_came_out(world: World) -> None:
    wrong = edited(lambda text: text.replace("earns: 8}", "earns: 7}", 1))
    count = len(wrong.rubrics["3b"].form.examples)
    world.publish(wrong)

    page = Browser(world, "irene").call("GET", f"{RUBRICS}/3b/examples").text

    assert f"{count - 1} of {count} as stated" in page
    assert "not as stated" in page
    assert "earns 8, not 7" in page


def test_a_rubric_is_told_in_words_beside_its_file(world: World) -> None:
    page = Browser(world, "arthur").call("GET", f"{RUBRICS}/3b").text

    assert "6 points where it is at most 0.02" in page
    assert "3 points (50 % of them) where it is at most 0.1" in page
    assert "2 points for the two scores are equal" in page
    assert "would earn full credit for a t of 1.2" in page
    assert f'href="/courses/one/assignments/{EXPLORATION}/questions/3b"' in page
    assert '<span class="row" id="L2"><b>id</b>: 3b' in page
    rows = page.count('class="row"')
    assert rows == len(rubric_of(f"{EXPLORATION}/3b").text.splitlines())


def test_shares_of_key_sets_are_told_in_words(world: World) -> None:
    page = Browser(world, "arthur").call("GET", f"{RUBRICS}/3c-i").text

    assert re.search(r"where it is at most [\d.]+ on at least 0\.\d+ of the key sets", page)


def test_the_difference_of_two_versions_has_signs_and_words(world: World) -> None:
    world.publish(edited(tolerant))
    world.publish(edited(lambda text: tolerant(text) + "# The end.\n"))
    irene = Browser(world, "irene")

    newest = irene.call("GET", f"{RUBRICS}/3b/versions").text
    whole = irene.call("GET", f"{RUBRICS}/3b/versions?from=1&to=3").text
    none = irene.call("GET", f"{RUBRICS}/3b/versions?from=2&to=2").text
    other = irene.call("GET", f"{RUBRICS}/3a/versions").text

    assert "From publication 2 to 3" in newest
    assert "<b>1</b> line added (+), <b>0</b> removed" in newest
    assert "<b>2</b> lines added (+), <b>1</b> removed" in whole
    assert "− removed" in whole
    assert "within: 0.20, credit: 0.5" in whole
    assert "The two versions are identical" in none
    assert "one version so far" in other


@pytest.mark.parametrize("query", ["from=9", "to=0", "to=x", "from=-1", "to=²", "from=1&to=99"])
def test_a_version_that_never_was_is_not_found(world: World, query: str) -> None:
    found = Browser(world, "irene").call("GET", f"{RUBRICS}/3b/versions?{query}")

    assert found.status_code == 404


def test_what_an_author_wrote_stays_text(world: World) -> None:
    world.publish(
        edited(
            lambda text: (
                text.replace("hints:", f"hints:\n  - '{HOSTILE}'", 1)
                .replace("name: model,", f"name: '{HOSTILE}',", 1)
                .replace("# Points:", f"# {HOSTILE}", 1)
                .replace("title: Half the weight", f"title: '{HOSTILE}' #", 1)
            )
        )
    )
    irene = Browser(world, "irene")

    for path in ("", "/3b", "/3b/examples", "/3b/versions"):
        page = irene.call("GET", RUBRICS + path).text
        assert "<script>alert" not in page
    assert str(escape(HOSTILE)) in irene.call("GET", f"{RUBRICS}/3b").text


@pytest.mark.parametrize(
    ("line", "marked"),
    [
        ("# all <b>", "<i># all &lt;b&gt;</i>"),
        ("title: a  # why", "<b>title</b>: a  <i># why</i>"),
        ("a_b: {distinct: n}", "<b>a_b</b>: {<b>distinct</b>: n}"),
        ("  - id: x", "  - <b>id</b>: x"),
        ("  - {name: 'a # b'}", "  - {<b>name</b>: &#39;a # b&#39;}"),
        ("say: a#b", "<b>say</b>: a#b"),
    ],
)
def test_keys_and_comments_are_set_apart(line: str, marked: str) -> None:
    assert render_yaml_lines(line) == [marked]


def test_inside_a_block_of_text_nothing_is_a_key() -> None:
    text = "prompt: |\n  # Heading <b>\n  note: this\n\nid: x"

    assert render_yaml_lines(text) == [
        "<b>prompt</b>: |", "  # Heading &lt;b&gt;", "  note: this", "", "<b>id</b>: x",
    ]  # fmt: skip
