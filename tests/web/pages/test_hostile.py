"""Whatever people write is shown as text on every page: names, titles, answers, reasons, labels."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from grader.domain.roles import Role, Scope
from grader.rubric.catalog import read_assignment
from grader.store.database import open_database
from tests.support import regrades
from tests.support.browsers import Browser
from tests.support.databases import fresh_url
from tests.support.page_matrix import FILES, PAGES
from tests.support.rubrics import shipped
from tests.support.world import EXPLORATION, World, make_service, question_path

CORPUS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</title></textarea></pre><iframe src=javascript:alert(1)>",
    "{{ 1357 * 8642 }}{% raw %}${1357*8642}",
    "[x](javascript:alert(1)) ![x](https://evil.example/x.png)",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    r"$\href{javascript:alert(1)}{x}$ $</span><script>alert(1)</script>$",
    "=cmd|' /C calc'!A0",
]
#: Their names are the corpus.
STUDENTS = [f"m{number}" for number in range(len(CORPUS))]
ALL = " ".join(CORPUS)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with (
        tempfile.TemporaryDirectory() as folder,
        fresh_url("sqlite", Path(folder)) as url,
        make_service(open_database(url), published={"one": (), "two": ()}) as world,
    ):
        fill(world)
        yield world


def fill(world: World) -> None:
    """Put the corpus wherever somebody may write something."""
    publish_hostile(world)
    for login, text in zip(STUDENTS, CORPUS, strict=True):
        world.add_member(login, Role.STUDENT, name=text, section=text[:20])
        world.submit(login, f"{EXPLORATION}/3b", {"q": "k_a", "explanation": text})
    made = world.submit("ada", f"{EXPLORATION}/3b", {"q": "k_b", "explanation": ALL})
    for path, body in {
        f"courses/one/attempts/{made['id']}/reviews": {
            "criterion": "explanation",
            "points": 1,
            "comment": ALL,
        },
        f"courses/one/assignments/{EXPLORATION}/extensions": {
            "student": "ada",
            "extra_attempts": 3,
            "reason": ALL,
        },
        "courses/one/tokens": {"label": ALL[:100], "scopes": ["course:read"], "days": 5},
        "tokens": {"label": ALL[:100], "scopes": ["course:read"], "days": 5},
    }.items():
        done = world.post(f"/api/v1/{path}", "irene", body)
        assert done.status_code == 201, done.text
    grade = question_path(f"{EXPLORATION}/3b") + "/grades/ada"
    version = world.get(grade, "irene").headers["ETag"]
    overridden = world.call(
        "PUT",
        grade + "/override",
        "irene",
        {"points": 3, "reason": ALL},
        {"If-Match": version},
    )
    assert overridden.status_code == 200, overridden.text
    world.add_token("of ada", "ada", [Scope.READ])


def publish_hostile(world: World) -> None:
    """The shipped assignment, with titles that are not what they should be."""
    whole = shipped().assignments[EXPLORATION]
    titled = iter(CORPUS * 3)

    def retitle(text: str) -> str:
        return re.sub(
            r"^title: .*$", lambda _: f"title: {json.dumps(next(titled))}", text, flags=re.M
        )

    world.publish(
        read_assignment(
            EXPLORATION,
            retitle(whole.text),
            {name: retitle(each.text) for name, each in whole.rubrics.items()},
        )
    )


class Elements(HTMLParser):
    """The elements of a page, as a browser would see them, and what is wrong with them."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag in ("iframe", "object", "embed", "img", "base"):
            self.faults.append(f"<{tag}>")
        if tag == "script" and not str(found.get("src", "")).startswith("/static/"):
            self.faults.append("a script that is not ours")
        for name, value in found.items():
            if name.startswith("on") or name == "style":
                self.faults.append(f"<{tag} {name}>")
            if name in ("href", "src", "action") and re.match(
                r"\s*(javascript|data:text|vbscript)", value or "", re.I
            ):
                self.faults.append(f"<{tag} {name}={value}>")

    def handle_data(self, data: str) -> None:
        self.text += data


LOOKED_AT = [
    (path, login)
    for method, path, may in PAGES
    for login in ("ada", "irene")
    if method == "GET" and path not in FILES and login in may
]


@pytest.mark.parametrize(("path", "login"), LOOKED_AT)
def test_hostile_text_is_text(world: World, path: str, login: str) -> None:
    attempt = attempt_of(world, "ada")
    regrade = regrades.find_waiting(world, EXPLORATION)
    look_at(Browser(world, login), path.format(attempt=attempt, regrade=regrade))


@pytest.mark.parametrize("login", STUDENTS)
def test_hostile_answers_are_text_to_whoever_reads_them(world: World, login: str) -> None:
    irene = Browser(world, "irene")
    attempt = attempt_of(world, login)

    for path in (
        f"/attempts/{attempt}",
        f"/attempts/{attempt}/difference/{attempt}",
        f"/courses/one/assignments/{EXPLORATION}/review/3b/{attempt}",
    ):
        look_at(irene, path)


def attempt_of(world: World, login: str) -> str:
    attempts = world.read(question_path(f"{EXPLORATION}/3b") + "/attempts", login)
    return str(attempts[0]["id"])


def look_at(browser: Browser, path: str) -> None:
    page = browser.client.get(path, follow_redirects=True)
    assert page.status_code == 200
    seen = Elements()
    seen.feed(page.text)
    assert seen.faults == []
    assert str(1357 * 8642) not in page.text


def test_what_is_hostile_is_there_to_be_seen(world: World) -> None:
    """Otherwise the test above would look at pages that have nothing in them."""
    irene = Browser(world, "irene")
    here = f"/courses/one/assignments/{EXPLORATION}"
    for path, wanted in {
        f"{here}/grades": CORPUS[0],
        "/courses/one/roster": CORPUS[1],
        f"{here}/extensions": CORPUS[3],
        "/courses/one/tokens": CORPUS[0],
        f"{here}/rubrics/3b": "alert(1)",
        f"{here}/questions/3b/students/ada": CORPUS[2],
    }.items():
        seen = Elements()
        seen.feed(irene.call("GET", path).text)
        assert wanted in seen.text, path
