"""Every page with hostile values in every field: errors are pages, and nothing typed is lost."""

from __future__ import annotations

import html
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from grader.store.database import open_database
from tests.support import regrades
from tests.support.browsers import Browser
from tests.support.databases import fresh_url
from tests.support.page_matrix import FILES, FORMS, PAGES
from tests.support.world import EXPLORATION, World, make_service

VALUES = [
    *("NaN", "sNaN", "-NaN", "Infinity", "-Infinity", "1e999", "1e-999", "-0", "1" * 5000),
    *("0x10", "1_000", "١٢", "²", "7,5", "7.555", "", " ", "\x01", "\ud800", "\u202e", "\ufeff"),
    *("9999-12-31T23:59", "0000-00-00T00:00", "2026-02-30T25:61", "true", "null", "[]", "{}"),
    *("' OR 1=1 --", "%_", "<b>{{ 7 * 7 }}</b>", "a\r\nSet-Cookie: b=c", "😀" * 300, "x" * 60_000),
]
#: The fields that are typed; others are boxes, lists, or what the page itself has put there.
TYPED = {
    *("answer.q", "answer.explanation", "points", "reason", "explanation.points"),
    *("explanation.comment", "student", "extra_attempts", "login", "name", "email", "csv"),
    *("label", "days"),
}
#: What the forms of pages ask for in their addresses.
QUERY = (
    *("q", "section", "state", "sort", "cursor", "limit", "student", "given", "from", "to"),
    *("short", "restore", "after", "saved", "next", "done", "role", "first", "second", "page"),
)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with (
        tempfile.TemporaryDirectory() as folder,
        fresh_url("sqlite", Path(folder)) as url,
        make_service(open_database(url), published={"one": (EXPLORATION,), "two": ()}) as world,
    ):
        yield world


def find_path(world: World, path: str) -> str:
    """The address with the ids of what Ada has, which is made where it is missing."""
    if "{attempt}" in path:
        answer = {"q": "k_a", "explanation": "Both."}
        made = world.post(
            f"/api/v1/courses/one/assignments/{EXPLORATION}/questions/3b/attempts",
            "ada",
            {"answer": answer},
        )
        path = path.replace("{attempt}", made.json()["id"])
    if "{regrade}" in path:
        path = path.replace("{regrade}", str(regrades.find_waiting(world, EXPLORATION)))
    return path.replace("{upload}", world.upload("ada")) if "{upload}" in path else path


def check_page(browser: Browser, method: str, path: str, form: dict[str, str]) -> None:
    body = urlencode({"csrf": browser.csrf(), **form}, errors="surrogatepass") if form else ""
    headers = {"Content-Type": "application/x-www-form-urlencoded"} if form else {}
    answer = browser.client.request(method, path, content=body, headers=headers)
    what = f"{method} {path[:200]} {str(form)[:200]}: {answer.status_code}"
    assert answer.status_code < 500, what
    if answer.status_code >= 400:
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8", what
        assert "<!doctype html>" in answer.text, what
        assert 'href="/' in answer.text, what
    assert "<b>{{ 7" not in answer.text, what
    if answer.status_code in (409, 412, 422, 429) and form:
        page = html.unescape(answer.text)
        for name, text in form.items():
            if name in TYPED and text.isprintable() and 0 < len(text) < 5000:
                assert text in page, f"{what}: {name} is lost"


POSTS = [(path, may) for method, path, may in PAGES if method == "POST"]


def test_every_form_has_its_fields_in_the_table() -> None:
    assert set(FORMS) == {path for path, _ in POSTS}


@pytest.mark.parametrize(("path", "may"), POSTS, ids=[path for path, _ in POSTS])
def test_hostile_values_in_a_form_are_refused_by_a_page(
    world: World, path: str, may: set[str]
) -> None:
    login = "irene" if "irene" in may or not may else "ada"
    browser = Browser(world, login)
    where, form = find_path(world, path), FORMS[path]
    check_page(browser, "POST", where, {"unknown": "x"})
    for field in form:
        for value in VALUES:
            check_page(browser, "POST", where, form | {field: value})


SEEN = [(path, may) for method, path, may in PAGES if method == "GET" and path not in FILES]


@pytest.mark.parametrize(("path", "may"), SEEN, ids=[path for path, _ in SEEN])
def test_hostile_values_in_a_query_are_refused_by_a_page(
    world: World, path: str, may: set[str]
) -> None:
    browser = Browser(world, "irene" if "irene" in may else "ada")
    where = find_path(world, path).partition("?")[0]
    for value in VALUES:
        query = urlencode(dict.fromkeys(QUERY, value[:200]), errors="surrogatepass")
        check_page(browser, "GET", f"{where}?{query}", {})
