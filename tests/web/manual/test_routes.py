"""The manual: every call and every code, readable without scripts and without other sites."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Header
from pydantic import Field

from grader.errors import NotFound, NotSignedIn
from grader.web.errors.codes import MEANINGS
from grader.web.errors.openapi import build_error_responses, install_openapi
from grader.web.http.body import RequestBody, StrictRoute
from grader.web.manual.routes import format_prose, install_manual
from grader.web.manual.schema_text import describe_type, list_fields, make_example
from tests.support.sample_app import Sample, make_sample

HOSTILE = "<script>alert(1)</script>"


class Tree(RequestBody):
    """A thing that holds things like itself."""

    value: float = Field(ge=0, le=1, description="Its `value`.", examples=[0.5])
    branches: list[Tree] = Field(default=[])


class Page(HTMLParser):
    """The names, links and elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found: dict[str, Any] = dict(attrs)
        self.elements.add(tag)
        self.attributes |= set(found)
        if "id" in found:
            self.ids.append(found["id"])
        self.links += [found[name] for name in ("href", "src") if name in found]


@pytest.fixture(scope="module")
def sample() -> Sample:
    router = APIRouter(route_class=StrictRoute, tags=["trees"])

    @router.post(
        "/trees",
        summary=f"Plant {HOSTILE}",
        responses=build_error_responses(NotSignedIn, NotFound),
        openapi_extra={"x-roles": ["instructor"], "x-scopes": ["trees:write"]},
    )
    def plant(body: Tree, if_match: Annotated[str, Header(examples=['"7"'])]) -> Tree:
        return body

    sample = make_sample(router)
    install_openapi(sample.app)
    install_manual(sample.app, base_url="https://grader.example.edu")
    return sample


@pytest.fixture(scope="module")
def manual(sample: Sample) -> str:
    answer = sample.client.get("/docs")
    assert answer.status_code == 200
    return answer.text


def test_every_call_has_its_place_and_its_link(sample: Sample, manual: str) -> None:
    page = Page(manual)

    for path, operations in sample.app.openapi()["paths"].items():
        assert f"<code>{path}</code>" in manual
        for operation in operations.values():
            anchor = operation["operationId"].replace("_", "-").strip("-")
            assert any(re.sub("-+", "-", anchor) == found for found in page.ids)


@pytest.mark.parametrize("path", ["/docs", "/docs/errors"])
def test_links_lead_somewhere_and_nowhere_else(sample: Sample, path: str) -> None:
    page = Page(sample.client.get(path).text)

    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids
        elif link != "data:,":
            assert sample.client.get(link).status_code == 200


@pytest.mark.parametrize("path", ["/docs", "/docs/errors"])
def test_a_page_needs_no_script_and_no_inline_style(sample: Sample, path: str) -> None:
    page = Page(sample.client.get(path).text)

    assert not page.elements & {"script", "style", "iframe", "img"}
    assert not any(name == "style" or name.startswith("on") for name in page.attributes)


def test_what_a_description_says_is_never_markup(manual: str) -> None:
    assert HOSTILE not in manual
    assert "Plant &lt;script&gt;" in manual


def test_a_call_says_who_may_call_it_and_how(manual: str) -> None:
    assert '<span class="chip">instructor</span>' in manual
    assert "<code>trees:write</code>" in manual
    assert "curl -X POST https://grader.example.edu/trees" in manual
    assert "-H &#39;if-match: &#34;7&#34;&#39;" in manual
    assert "at least 0, at most 1" in manual
    assert "Its <code>value</code>." in manual


@pytest.mark.parametrize("path", ["/docs", "/docs/errors", "/openapi.json"])
def test_a_page_is_made_once_and_sent_again_only_if_it_has_changed(
    sample: Sample, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = sample.client.get(path)

    def fail() -> None:
        raise AssertionError("it was made again")

    monkeypatch.setattr(sample.app, "openapi", fail)
    # What a page says does not depend on how the caller calls the service.
    again = sample.client.get(path, headers={"Host": "elsewhere.example"})
    known = sample.client.get(path, headers={"If-None-Match": f'"other", {first.headers["etag"]}'})

    assert again.content == first.content
    assert (known.status_code, known.content) == (304, b"")
    assert known.headers["etag"] == first.headers["etag"] == again.headers["etag"]


def test_every_code_is_explained_under_its_name(sample: Sample) -> None:
    page = Page(sample.client.get("/docs/errors").text)

    assert set(MEANINGS) <= set(page.ids)


def test_a_problems_type_leads_to_its_explanation(sample: Sample) -> None:
    problem = sample.client.get("/api/nowhere").json()
    path, _, anchor = problem["type"].partition("#")

    assert anchor in Page(sample.client.get(path).text).ids


def test_the_style_may_be_kept(sample: Sample) -> None:
    answer = sample.client.get("/static/manual.css")

    assert answer.status_code == 200
    assert "max-age" in answer.headers["cache-control"]
    assert sample.lines()[-1]["route"] == "/static/…"


@pytest.mark.parametrize("path", ["/static/../manual.py", "/static/%2e%2e/manual.py", "/static/"])
def test_only_static_files_are_given(sample: Sample, path: str) -> None:
    assert sample.client.get(path).status_code == 404


def test_a_schema_that_holds_itself_is_shown_once() -> None:
    schema = Tree.model_json_schema()
    fields = list(list_fields(schema, schema["$defs"]))

    assert [field.name for field in fields] == ["value", "branches"]
    assert fields[1].type == "list of objects"
    assert [field.fields for field in fields[1].fields] in ([], [(), ()])


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "array", "items": {"type": "number"}}, "list of numbers"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "whole number or null"),
        ({"enum": ["row", "column"]}, '"row" or "column"'),
        ({"type": "string", "format": "date-time"}, "time"),
        ({"type": ["string", "null"]}, "text or null"),
        ({"$ref": "#/components/schemas/Missing"}, "anything"),
        ({}, "anything"),
    ],
)
def test_types_are_told_in_words(schema: dict[str, Any], words: str) -> None:
    assert describe_type(schema, {}) == words


def test_an_example_is_taken_from_the_description_or_made_up() -> None:
    schema = Tree.model_json_schema()

    assert make_example(schema, schema["$defs"]) == {"value": 0.5}


def test_prose_is_paragraphs_with_code() -> None:
    assert format_prose("a <b>\n\n`c & d`") == "<p>a &lt;b&gt;</p>\n<p><code>c &amp; d</code></p>"
