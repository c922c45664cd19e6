"""Whatever is sent, the answer is a value or a FormulaError, within milliseconds."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader.domain.shapes import make_column_shape
from grader.engine.functions import RUBRIC_FUNCTIONS
from grader.errors import FormulaError
from grader.formula.eval.evaluate import evaluate_finite
from grader.formula.formula import MAX_DEPTH, MAX_LENGTH, read_formula, read_tree
from grader.formula.syntax.lexer import MAX_NESTING, MAX_TOKENS
from tests.support.formula_tables import LATEX, PLAIN, SUMS
from tests.support.formulas import ALL, BASES, INPUTS, MEANS, PAIR, Given

# How many times as long as a plain formula of many terms a hostile text may take to be dealt with.
MOST_TIMES = 20
PLAIN_SUM = " + ".join(["mu_a"] * 100)

HOSTILE = [
    "__import__('os')",
    "mu_a.__class__.__mro__",
    "().__class__",
    "lambda: 0",
    "9^9^9^9",
    "(" * 10_000 + ")" * 10_000,
    "(" * 1000,
    ")" * 1000,
    "[" * 40 + "1" + "]" * 40,
    "{" * 2000,
    "⟨" * 300,
    "|" * 6,
    "|" * 500,
    "|1" * 500,
    "||1" * 500,
    r"\|" * 400,
    r"\lVert" * 300,
    r"\left" * 300,
    r"\left(" * 300,
    r"\frac" * 400,
    r"\frac{" * 300,
    r"\frac{1}" * 200,
    r"\frac{" * 40 + "1" + "}{1}" * 40,
    r"\mathbf{" * 200 + "u_a" + "}" * 200,
    r"\mathbf{" * 200,
    r"\text{" * 300,
    r"\text{",
    r"\begin{aligned}" * 100,
    r"\tag{" * 400,
    r"{\bf " * 300,
    "{u" * 600,
    r"\\" * 1000,
    "\\" * 1999,
    "sum_{",
    "sum_{i",
    "sum_{i=1}^{",
    "sum_{" * 400,
    "sum_(" * 400,
    r"\sum_{i=1}^n" * 150,
    r"\sum_{i\neq a" + r"\neq a" * 300 + r"}\mu_i",
    "".join(f"sum_{{{letter}=1}}^{{1024}}" for letter in "cefghl") + "1",
    "sum_{i=1}^{1024}" + " + ".join(["norm(mu_a)"] * 90),
    "mu_" * 600,
    "mu_{" * 500,
    "mu_" + "a" * 1900,
    "x_" + "9" * 1900,
    "I_" + "9" * 1900,
    "I_{99999}",
    "n" * 400,
    "nd" * 200 + "z",
    "z" * 1999,
    "mu" * 999,
    "-" * 1999,
    "- " * 400 + "1",
    "+" * 400 + "1",
    "mu_a" + "'" * 400,
    "mu_a" + "^T" * 240,
    "√" * 400 + "2",
    "exp " * 300 + "1",
    "1" + "^1" * 240,
    "2" + "^2" * 90,
    "2" + "^-" * 240 + "1",
    "n " * 499,
    "2 * " * 249 + "2",
    "1 / " * 249 + "2",
    "1 + " * 249 + "1",
    " - ".join(["mu_a"] * 250),
    "mu^T mu " * 125,
    "1" * 2000,
    "1e5e5",
    "1e" + "9" * 1900,
    "." * 1999,
    "," * 1999,
    ";" * 1999,
    "1," * 999,
    "C=1," * 490,
    "C mu_a where " + ", ".join(f"c{i} = c{i - 1} + 1" for i in range(1, 100)),
    "mu_a where "
    + ", ".join(f"c{i} = sum_{{j=1}}^{{999}} sum_{{l=1}}^{{20}} 1" for i in range(20)),
    "C mu_a where C=1" + "".join(f", c{i} = c{i - 1} c{i - 1}" for i in range(2, 20)) + ", c1 = 2",
    "c19 mu_a where c0 = norm(mu_a)" + "".join(f", c{i} = c{i - 1} c{i - 1}" for i in range(1, 20)),
    "c9 mu_a where c0 = mu_a mu_a^T" + "".join(f", c{i} = c{i - 1}^8" for i in range(1, 10)),
    "mu_a where "
    + ", ".join(f"C{i} >= sum_{{j=1}}^{{999}} sum_{{l=1}}^{{20}} 1" for i in range(9)),
    "mu_a, C >> 0" + ", C" * 600,
    "C, " * 600 + "C >> 0",
    "large " * 330,
    "C large, " * 220,
    "mu_a. " * 330,
    "mu_a. C = 1" * 180,
    ". " * 999,
    "≈" * 1999,
    "approx. " * 240,
    "1" + " " * 1900 + "%",
    "1%" * 900,
    "1e" + "9" * 1900 + "%",
    "np." * 600,
    "np.log(" * 200,
    "np.linalg.pinv(" * 40 + "mu" + ")" * 40,
    "pinv(ones(200, 200))",
    "mu[" * 600,
    "mu[a" + " " * 1900 + "]",
    "Σ_" * 900,
    "Σ_{i}" * 300,
    "sum(" * 300,
    "sum(mu) " * 200,
    "mu_a - sum(mu) " + "- sum(mu) " * 60,
    "... " * 490,
    "…" * 1999,
    r"\begin{pmatrix}" * 120,
    r"\lim_" * 300,
    "(1," * 600,
    "(1, 2) " * 280,
    "where " * 330,
    "and " * 490,
    "=" * 1999,
    "q=" * 900,
    "q = " + " " * 1900 + "=",
    " " * 1999,
    "\n" * 1999,
    "~" * 1999,
    "$" * 1999,
    "&" * 1999,
    "&=" * 900,
    "1" + " " * 1900 + "1",
    "mu_a" + " " * 1900 + "_",
    "zeros(1000000)",
    "zeros(1024, 1024)",
    "zeros(256, 256) " * 40,
    "ones(256, 256)^8 ones(256, 256)^8",
    "inv(identity(256)) " * 9,
    "identity(0)",
    "0^-1",
    "1e308 * 10",
    "nan",
    "inf",
    "\0" * 2000,
    "\ud800" * 2000,
    "\u202e" * 2000,
    "²" * 1999,
    "½" * 1999,
    "ₐ" * 1999,
    "∑" * 1999,
    "𝜇" * 1999,
    "(C=" * 500,
    "(C=1)" * 300,
    r"\sum_{\substack{" * 100,
    r"\ell" * 480,
    r"1\,000" * 300,
    "1{,}000" * 250,
]


def outcome(question: Given, text: str, named: str = "q") -> FormulaError | None:
    """The error, or None where a formula was read and computed."""
    try:
        formula = question.read(text, named)
        value = formula.evaluate(question.environment(formula), finite=True)
    except FormulaError as error:
        return error
    assert value.shape == (1, 1, *formula.shape.axes)
    assert np.isfinite(value).all()
    return None


def is_well_behaved(error: FormulaError | None, text: str) -> bool:
    """Whether an error, where there is one, can be shown and points into the text."""
    return error is None or (
        error.code.startswith("formula.")
        and str(error).isprintable()
        and 1 <= error.column <= max(len(text), 1) + 1
    )


def list_seconds(action: Callable[[], object]) -> Iterator[float]:
    """The processor time of three runs, one at a time; the machines this runs on are noisy.

    Nothing is cached from an earlier run, and garbage of the tests before is not collected.
    """
    for _ in range(3):
        read_formula.cache_clear()
        gc.disable()
        try:
            start = time.process_time()
            action()
            taken = time.process_time() - start
        finally:
            gc.enable()
        yield taken


def compute_limit() -> float:
    """The most seconds that a text may take."""
    return MOST_TIMES * min(list_seconds(partial(outcome, MEANS, PLAIN_SUM)))


@pytest.mark.parametrize("text", [pytest.param(text, id=ascii(text[:24])) for text in HOSTILE])
def test_hostile_text_is_dealt_with_quickly(text: str) -> None:
    limit = compute_limit()
    for question in (MEANS, BASES, INPUTS):
        assert is_well_behaved(outcome(question, text), text)
        assert any(taken < limit for taken in list_seconds(partial(outcome, question, text)))


PIECES = st.sampled_from(
    [
        *"()[]{}|'^_+-*/,;.=<>&\\ \n0127abcdeijknuvxABCIMST%#!\"",
        *("\\frac", "\\sum", "\\sum_{", "_{", "^{", "\\left(", "\\right)", "\\text{", "\\mathbf{"),
        *("\\lVert", "\\rVert", "\\|", "||", "\\langle", "\\rangle", "\\\\", "\\cdot", "\\top"),
        *("^T", "^{-1}", "where ", "C = 50", "C >> 0", ", ", "and ", "sum_{i != a,b}", "mu_a"),
        *("k_b", "a_1", "\\mu_a", "1e5", "e^", "\\pi", "sqrt", "log ", "exp(", "norm(", "I_"),
        *("zeros(", "∑", "≠", "²", "⁻", "ₐ", "𝜇", "½", "\u200b", "\ud800", "\0", "٣", "１"),
        *("\\begin{aligned}", "&=", "\\ell", "{,}", "10\\,000", "softmax(", "\\to\\infty"),
        *("%", "25% ", "Σ_", "[a]", "np.", "pinv(", "sum(mu)", "D = 2 C", "large C", ". It", "≈ "),
        *("\\in", "\\setminus", "not in ", "\\sqrt", "\\infty", "~", "$", "q = ", "@", "⊗"),
    ]
)
WRITTEN = [text for _, text, _ in (*PLAIN, *LATEX, *SUMS)]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A formula that somebody could have written, with a piece taken away, added or doubled."""
    text = draw(st.sampled_from(WRITTEN))
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 8)))
    middle = draw(PIECES | st.just("") | st.just(text[start:end] * 2) | st.sampled_from(WRITTEN))
    return text[:start] + middle + text[end:]


TEXTS = damaged() | st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=60)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(ALL), TEXTS, st.sampled_from(["q", "q1", "c_2_plus_d", ""]))
@example(MEANS, "C mu_a where C = norm(mu_a)", "q")
@example(MEANS, "sum_{i=²}^n mu_i", "q")
@example(INPUTS, "x_{²}", "q")
@example(BASES, "I_t where t = -1", "q")
def test_no_text_raises_anything_but_a_formula_error(
    question: Given, text: str, named: str
) -> None:
    assert is_well_behaved(outcome(question, text, named), text)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ALL), TEXTS)
@example(PAIR, "distance(1 < 2, 2 < 3)")
@example(BASES, "unit(a)")
@example(PAIR, "unit(i) and 1 < 2")
def test_no_expression_of_an_author_raises_anything_but_a_formula_error(
    question: Given, text: str
) -> None:
    scope = replace(question.scope, functions=RUBRIC_FUNCTIONS, allows_conditions=True)
    with suppress(FormulaError):
        evaluate_finite(read_tree(text, scope), question.environment())


@pytest.mark.parametrize("text", ["sum(mu) " * 200, "mu_a - sum(mu)" + " - sum(mu)" * 60])
def test_a_second_reading_for_a_shape_is_quick_too(text: str) -> None:
    def read_for_shape() -> None:
        with suppress(FormulaError):
            read_formula(text, MEANS.scope, named="q", shape=make_column_shape(4))

    limit = compute_limit()
    assert any(taken < limit for taken in list_seconds(read_for_shape))


def deep(frames: int, action: Callable[[], object]) -> object:
    return action() if frames == 0 else deep(frames - 1, action)


def used_frames() -> int:
    frame, count = sys._getframe(), 0
    while frame.f_back is not None:
        frame, count = frame.f_back, count + 1
    return count


DEEP = [
    pytest.param(" + ".join(["mu_a"] * MAX_DEPTH), id="a long sum"),
    pytest.param("n " * (MAX_DEPTH - 1) + "mu_a", id="a long product"),
    pytest.param("-" * (MAX_DEPTH - 1) + "mu_a", id="many signs"),
    pytest.param("mu_a" + "'" * (MAX_DEPTH - 1), id="many transposes"),
    pytest.param("1" + "^1" * (MAX_DEPTH - 1), id="many powers"),
    pytest.param("(" * MAX_NESTING + "mu_a" + ")" * MAX_NESTING, id="many brackets"),
    pytest.param("tanh(" * MAX_NESTING + "mu_a" + ")" * MAX_NESTING, id="many calls"),
]


@pytest.mark.parametrize("text", DEEP)
def test_the_deepest_formula_is_read_and_shown_from_a_deep_stack(text: str) -> None:
    free = sys.getrecursionlimit() - used_frames()

    assert deep(free - 300, lambda: outcome(MEANS, text)) is None
    formula = MEANS.read(text)
    assert deep(free - 300, formula.to_text) == formula.to_text()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        pytest.param("1" * (MAX_LENGTH + 1), "characters", id="too long"),
        pytest.param("1+" * MAX_TOKENS, "numbers, names and signs", id="too many tokens"),
        pytest.param("(" * (MAX_NESTING + 1), "nested", id="too many brackets"),
        pytest.param("-" * MAX_DEPTH + "mu_a", "nested", id="too deep"),
        pytest.param(" + ".join(["mu_a"] * (MAX_DEPTH + 1)), "in a row", id="too many terms"),
        pytest.param("zeros(300, 300)", "too large", id="too many elements"),
        pytest.param("ones(256, 256) " * 4, "too long to compute", id="too much work"),
        pytest.param(
            "sum_{i=1}^{999} sum_{j=1}^{999} 1", "too long to", id="too many terms in sums"
        ),
    ],
)
def test_what_asks_for_too_much_is_refused_beforehand(text: str, what: str) -> None:
    error = outcome(MEANS, text)

    assert error is not None
    assert error.code == "formula.limit"
    assert what in error.message
