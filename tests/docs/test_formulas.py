"""docs/reference/formulas.md: every row of every table is read and computed."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from numpy.typing import NDArray

from grader.domain.shapes import Kind, Shape, make_shape
from grader.engine.functions import RUBRIC_FUNCTIONS
from grader.engine.judge.judge import Judge
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.engine.random.variants import Variant, stack_variants
from grader.engine.sample.observe import build_environment, observe
from grader.errors import AnswerRefused
from grader.formula.eval.evaluate import Environment, evaluate_finite
from grader.formula.eval.functions import CORE_FUNCTIONS
from grader.formula.formula import MAX_LENGTH, read_formula, read_tree
from grader.formula.syntax.lexer import MAX_NESTING, MAX_TOKENS
from grader.formula.typed.tree import Node
from grader.reading.answer import read_answer
from grader.reading.fields import ArrayField
from grader.reading.large import MAX_RESOLVED, RUNGS, choose_rungs
from grader.reading.paste import is_pasted_array, read_pasted
from grader.rubric.catalog import Rubric, read_rubric
from tests.docs.pages import ROOT, Table, code, read_blocks, read_tables

PAGE = ROOT / "docs" / "reference" / "formulas.md"
TEXT = PAGE.read_text(encoding="utf-8")
TABLES = list(read_tables(TEXT))
AUTHORS = TEXT.index("## For authors")
STUDENT_TABLES = [table for table in read_tables(TEXT[:AUTHORS]) if "gives" in table.headings]
AUTHOR_TABLES = [table for table in read_tables(TEXT[AUTHORS:]) if "gives" in table.headings]
REFUSED_TABLES = [table for table in TABLES if "refused with" in table.headings]
NUMBER_TABLES = [table for table in TABLES if "numbers" in table.headings]
STUDENTS = ("ada", "emmy", "sofia")


def rows(tables: list[Table]) -> list[ParameterSet]:
    return [
        pytest.param(row, id=next(iter(row.values()))) for table in tables for row in table.rows
    ]


@cache
def rubric() -> Rubric:
    (text,) = (block.text for block in read_blocks(TEXT) if block.language == "yaml")
    return read_rubric(text, path=Path("formulas.yaml"), assignment="page", earlier={})


@cache
def judge() -> Judge:
    return Judge(rubric().question, DEVELOPMENT_KEYS)


def variants() -> list[Variant]:
    return [judge().variant(name) for name in STUDENTS]


def field() -> ArrayField:
    (found,) = rubric().question.fields
    assert isinstance(found, ArrayField)
    return found


def described(shape: Shape) -> str:
    """A shape in the words of the page, with the names of the sizes."""
    sizes = {rubric().scope.constants[name]: name for name in ("n", "d", "m", "p")}
    rows, columns = sizes.get(shape.rows, shape.rows), sizes.get(shape.columns, shape.columns)
    match shape.kind:
        case Kind.COLUMN:
            return f"a column of {rows}"
        case Kind.ROW:
            return f"a row of {columns}"
        case Kind.MATRIX:
            return f"a {rows} × {columns} matrix"
        case Kind.NUMBER | Kind.CONDITION:
            return f"a {shape.kind.value}"


def stated(words: str) -> str:
    """What the page states, with sizes that have a name called by it."""
    sizes = {f"{rubric().scope.constants[name]:g}": name for name in ("n", "d", "m", "p")}
    return re.sub(r"\b\d+\b", lambda match: sizes.get(match[0], match[0]), words)


@cache
def read(text: str) -> Node:
    """An author's formula; kept, because the engine knows formulas by their identity."""
    return read_tree(text, rubric().scope)


def on_key_sets(node: Node) -> NDArray[Any]:
    """A value for the query 40 mu_a on the key sets of one student."""
    variant = variants()[0]
    query = evaluate_finite(read("40 mu_a"), stack_variants([variant]))
    environment = build_environment([variant], {"q": query[:, 0]})
    source = judge().context.source(0, 500)
    (values,) = observe(rubric().question, environment, [node], source).values
    return values


def assert_same(first: NDArray[Any], second: NDArray[Any]) -> None:
    one, other = np.broadcast_arrays(first, second)
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("row", rows(STUDENT_TABLES))
def test_a_formula_is_read_as_the_page_says(row: dict[str, str]) -> None:
    formula = read_formula(code(row["formula"]), field().scope, named="q", shape=field().shape)
    other = read(code(row["the same as"]))
    drawn = stack_variants(variants())
    large = {name: np.full((1, 1), 1000.0) for name in formula.large}

    assert described(formula.shape) == stated(row["gives"])
    assert other.shape == formula.shape
    known = Environment({**drawn.values, **large}, drawn.indices)
    assert_same(formula.evaluate(known, finite=True), evaluate_finite(other, drawn))


@pytest.mark.parametrize("row", rows(AUTHOR_TABLES))
def test_an_authors_formula_is_read_as_the_page_says(row: dict[str, str]) -> None:
    node = read(code(row["formula"]))
    other = read(code(row["the same as"]))

    assert described(node.shape) == stated(row["gives"])
    assert other.shape == node.shape
    assert_same(on_key_sets(node), on_key_sets(other))


@pytest.mark.parametrize("row", rows(REFUSED_TABLES))
def test_a_formula_is_refused_as_the_page_says(row: dict[str, str]) -> None:
    with pytest.raises(AnswerRefused) as refused:
        read_answer(
            {"q": code(row["formula"])}, rubric().question.fields, stack_variants(variants()[:1])
        )

    (error,) = refused.value.errors
    assert (error.code, error.column) == (code(row["refused with"]), int(row["at column"]))


@pytest.mark.parametrize("row", rows(NUMBER_TABLES))
def test_pasted_numbers_are_read_as_the_page_says(row: dict[str, str]) -> None:
    expected = np.array(json.loads(code(row["give"])), dtype=float)
    pasted = read_pasted(code(row["numbers"]), field="q", shape=make_shape(expected.shape))

    assert is_pasted_array(code(row["numbers"]))
    assert pasted.format.value == row["read as"]
    assert_same(pasted.values, expected)


def test_every_function_has_a_row() -> None:
    shown = " ".join(code(row["formula"]) for table in STUDENT_TABLES for row in table.rows)
    shown_to_authors = " ".join(
        code(row["formula"]) for table in AUTHOR_TABLES for row in table.rows
    )

    assert CORE_FUNCTIONS.keys() <= set(re.findall(r"[A-Za-z]+(?=\()", shown))
    assert RUBRIC_FUNCTIONS.keys() - CORE_FUNCTIONS.keys() <= set(
        re.findall(r"[a-z_]+(?=\()", shown_to_authors)
    )


def test_the_limits_and_the_ladder_are_those_of_the_code() -> None:
    prose = " ".join(TEXT.split())

    assert f"a ladder from {RUNGS[0]:g} to {RUNGS[-1]:g}" in prose.replace("1e300", "1e+300")
    assert MAX_RESOLVED == 2.0**40
    for text in ("C mu_a where C >> 0", "log(C) mu_a where C >> 0"):
        formula = read_formula(text, field().scope)
        rungs = choose_rungs([formula], stack_variants(variants()))
        low, middle, top = (f"1e{np.log10(size):.0f}" for size in rungs)
        assert f"{low}, {middle} and {top}" in prose
    assert f"{MAX_LENGTH:,}".replace(",", " ") + " characters" in prose
    assert f"{MAX_TOKENS} signs and names" in prose
    assert f"nested {MAX_NESTING} deep" in prose
