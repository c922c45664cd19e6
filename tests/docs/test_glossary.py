"""The glossary: its terms are in use, and what it names in the code exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pkgutil import resolve_name

import pytest

from grader.store.tables.base import Base
from tests.docs.pages import ROOT, list_pages, read_tables

PAGE = ROOT / "docs" / "glossary.md"
ROWS = [row for table in read_tables(PAGE.read_text("utf-8")) for row in table.rows]

_TABLE = re.compile(r"table `(\w+)`")
_CODE = re.compile(r"(?<!table )`([\w.]+)`")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def list_identifiers() -> Iterator[str]:
    """The names that the code defines or uses."""
    for path in sorted((ROOT / "grader").rglob("*.py")):
        yield path.stem
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            for attribute in ("name", "id", "attr", "arg"):
                if isinstance(name := getattr(node, attribute, None), str):
                    yield name


@cache
def read_words() -> str:
    """All identifiers, split into words, and all other pages, in small letters."""
    split = {" ".join(_WORD.findall(name)).lower() for name in list_identifiers()}
    pages = (page.read_text("utf-8").lower() for page in list_pages() if page != PAGE)
    return "\n".join([*sorted(split), *pages])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["term"])
def test_a_term_is_used(row: dict[str, str]) -> None:
    assert re.search(rf"\b{re.escape(row['term'])}s?\b", read_words())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["term"])
def test_what_a_term_names_in_the_code_exists(row: dict[str, str]) -> None:
    cell = row["in the code"]
    tables, names = _TABLE.findall(cell), _CODE.findall(cell)

    assert tables or names
    assert set(tables) <= set(Base.metadata.tables)
    for name in names:
        resolve_name(f"grader.{name}")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["term"])
def test_a_meaning_is_one_sentence(row: dict[str, str]) -> None:
    assert re.fullmatch(r"[A-Z][^.]*\.", row["meaning"])


def test_a_term_stands_once() -> None:
    terms = [row["term"] for row in ROWS]

    assert len(terms) == len(set(terms))
