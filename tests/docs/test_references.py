"""Reference pages that are made from the code, and a decision that rests on a fact."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, get_args

import pytest

from grader.rubric.assignment import AssignmentFile
from grader.rubric.catalog import Rubric, load_catalog
from grader.rubric.examples import run_examples
from grader.rubric.forms import Form, QuestionFile
from grader.rubric.reference import render_reference
from grader.store.tables.base import Base
from tests.docs.command_line import list_commands, with_tables
from tests.docs.http_calls import read_spec, render_http_reference
from tests.docs.pages import ROOT, make_anchor
from tests.docs.store_tables import with_columns

REFERENCE = ROOT / "docs" / "reference"
SAMPLE = REFERENCE / "sample"
MEND = "run `make docs` and read what it changes"


def list_forms(kind: Any) -> Iterator[type[Form]]:
    """All forms that a form, or a type made of forms, is built from."""
    if isinstance(kind, type) and issubclass(kind, Form):
        yield kind
        for field in kind.model_fields.values():
            yield from list_forms(field.annotation)
    for part in get_args(kind):
        yield from list_forms(part)


FORMS = sorted({*list_forms(QuestionFile), *list_forms(AssignmentFile)}, key=lambda f: f.__name__)


def keys_in(data: Any) -> set[str]:
    """All keys that plain data has, at any depth."""
    if isinstance(data, dict):
        return set(data).union(*map(keys_in, data.values()))
    return set().union(*map(keys_in, data)) if isinstance(data, list) else set()


def sample() -> list[Rubric]:
    return list(load_catalog(SAMPLE).rubrics())


def test_the_rubric_reference_is_made_from_the_models() -> None:
    assert (REFERENCE / "rubric.md").read_text("utf-8") == render_reference(SAMPLE), MEND


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_key_of_a_form_is_described(form: type[Form]) -> None:
    page = (REFERENCE / "rubric.md").read_text("utf-8")
    for name, field in form.model_fields.items():
        assert field.description, name
        assert f"| `{field.alias or name}` |" in page
        assert field.description in page


def test_the_sample_has_every_key() -> None:
    written = keys_in(load_catalog(SAMPLE).assignments["sample"].form.model_dump(by_alias=True))
    written = written.union(*(keys_in(rubric.document.data) for rubric in sample()))

    for form in FORMS:
        names = {field.alias or name for name, field in form.model_fields.items()}
        assert names <= written, form.__name__


@pytest.mark.parametrize("rubric", sample(), ids=lambda rubric: rubric.id)
def test_the_sample_is_sound(rubric: Rubric) -> None:
    assert not [failure for failures in run_examples(rubric, variants=5) for failure in failures]


def test_the_tables_of_the_command_line_are_those_of_its_help() -> None:
    page = (REFERENCE / "command-line.md").read_text("utf-8")

    assert with_tables(page) == page, MEND
    assert re.findall(r"^## `(.*)`$", page, re.MULTILINE) == list(list_commands())
    assert re.findall(r"^\| (\d) \|", page, re.MULTILINE) == ["0", "1", "2", "3", "4"]


def test_the_columns_of_the_store_are_those_of_the_tables() -> None:
    page = (REFERENCE / "store.md").read_text("utf-8")

    assert with_columns(page) == page, MEND


def test_every_table_and_column_of_the_store_is_named() -> None:
    overview, *sections = (REFERENCE / "store.md").read_text("utf-8").split("\n### ")
    columns = {
        section.partition("`\n")[0].strip("`"): re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
        for section in sections
    }

    assert columns == {
        name: [column.name for column in table.columns]
        for name, table in Base.metadata.tables.items()
    }
    for name in columns:
        assert f"`{name}`" in overview


def test_the_http_reference_is_made_from_openapi() -> None:
    spec = read_spec()
    page = (REFERENCE / "http.md").read_text("utf-8")
    described = re.findall(r"^`([A-Z]+) (/\S*)` · ", page, re.MULTILINE)

    assert render_http_reference(spec) == page, MEND
    assert sorted(described) == sorted(
        (method.upper(), path) for path, calls in spec["paths"].items() for method in calls
    )


def test_every_call_of_the_http_reference_has_its_own_anchor() -> None:
    page = (REFERENCE / "http.md").read_text("utf-8")
    found = [make_anchor(each) for each in re.findall(r"^#+ (.*)$", page, re.MULTILINE)]

    assert len(found) == len(set(found))


def test_every_number_of_points_survives_json() -> None:
    hundredths = [Decimal(number) / 100 for number in range(100_001)]
    read = json.loads(json.dumps([float(points) for points in hundredths]))

    assert [Decimal(repr(points)) for points in read] == hundredths
