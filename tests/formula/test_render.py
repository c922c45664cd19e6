"""How a formula was read can be shown, and what is shown is read in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.domain.shapes import NUMBER, make_column_shape, make_matrix_shape, make_row_shape
from grader.engine.question import MeasuredCriterion, PredictedCriterion, Question
from grader.formula.formula import read_tree
from grader.formula.render import to_latex, to_text
from grader.formula.typed.tree import Node, collect_names
from tests.support.formula_tables import LATEX, PLAIN, SUMS
from tests.support.formulas import BASES, INPUTS, KEYS, MEANS, PAIR, SIDES, Given
from tests.support.generated_formulas import QUESTION, formulas
from tests.support.rubrics import shipped


def skeleton(part: Any) -> Any:
    """A tree without the places of its nodes in the text."""
    if isinstance(part, Node):
        fields = (getattr(part, name) for name in part.__dataclass_fields__ if name != "start")
        return type(part).__name__, *map(skeleton, fields)
    return tuple(map(skeleton, part)) if isinstance(part, tuple) else part


SHOWN = [
    (MEANS, "50*mu_a+50*mu_b", "50 mu_a + 50 mu_b", r"50 \mu_{a} + 50 \mu_{b}"),
    (MEANS, "((50))((mu_a)+mu_b)", "50 (mu_a + mu_b)", r"50 \left(\mu_{a} + \mu_{b}\right)"),
    (MEANS, "C mu_a, C=50", "C mu_a where C = 50", r"C \mu_{a} \text{ where } C = 50"),
    (MEANS, "C mu_a, C>>0", "C mu_a where C >> 0", r"C \mu_{a} \text{ where } C \gg 0"),
    (
        MEANS,
        "z, z = 2 C y, y = mu_a - r mu_b, r = 3, C>>0",
        "z where r = 3, C >> 0, y = mu_a - r mu_b, z = 2 C y",
        r"z \text{ where } r = 3, C \gg 0, y = \mu_{a} - r \mu_{b}, z = 2 C y",
    ),
    (MEANS, "1e6 mu_a", "1e6 mu_a", r"10^{6} \mu_{a}"),
    (MEANS, "2.5e-3 mu_a", "2.5e-3 mu_a", r"2.5 \cdot 10^{-3} \mu_{a}"),
    (MEANS, "2.5e-9 mu_a", "2.5e-9 mu_a", r"2.5 \cdot 10^{-9} \mu_{a}"),
    (MEANS, "mu_a*2", "mu_a * 2", r"\mu_{a} \cdot 2"),
    (MEANS, "1/2 mu_a", "(1 / 2) mu_a", r"\frac{1}{2} \mu_{a}"),
    (MEANS, "mu_a / (2 n)", "mu_a / (2 n)", r"\frac{\mu_{a}}{2 n}"),
    (MEANS, "n/2/d", "n / 2 / d", r"\frac{\frac{n}{2}}{d}"),
    (MEANS, "-(mu_a + mu_b)", "-(mu_a + mu_b)", r"-\left(\mu_{a} + \mu_{b}\right)"),
    (MEANS, "mu_a - (mu_b - mu_a)", None, None),
    (MEANS, "(mu_a - mu_b) - mu_a", "mu_a - mu_b - mu_a", None),
    (MEANS, "(2^3)^2", "(2^3)^2", r"\left(2^{3}\right)^{2}"),
    (MEANS, "2^(3^2)", "2^(3^2)", "2^{3^{2}}"),
    (MEANS, "-2^-n", "-2^(-n)", "-2^{-n}"),
    (MEANS, "(-2)^n", "(-2)^n", r"\left(-2\right)^{n}"),
    (MEANS, "mu_a · mu_b", "mu_a^T mu_b", r"\mu_{a}^{\top} \mu_{b}"),
    (MEANS, "⟨mu_a, mu_b⟩", "dot(mu_a, mu_b)", r"\langle \mu_{a}, \mu_{b} \rangle"),
    (MEANS, "|n - 9|", "abs(n - 9)", r"\lvert n - 9 \rvert"),
    (MEANS, "‖mu_a‖^2", "norm(mu_a)^2", r"\lVert \mu_{a} \rVert^{2}"),
    (MEANS, "√n", "sqrt(n)", r"\sqrt{n}"),
    (MEANS, "log 10 mu_a", "log(10) mu_a", r"\log\left(10\right) \mu_{a}"),
    (MEANS, "e^2 pi", "e^2 pi", r"e^{2} \pi"),
    (MEANS, "softmax(mu mu_a)", None, r"\operatorname{softmax}\left(\mu \mu_{a}\right)"),
    (MEANS, "(mu_a + mu_b)'", "(mu_a + mu_b)^T", r"\left(\mu_{a} + \mu_{b}\right)^{\top}"),
    (MEANS, "[1, n, 3]", "[1, n, 3]", "[1, n, 3]"),
    (BASES, "AA'", "A A^T", r"A A^{\top}"),
    (BASES, "A(A'A)^-1", "A (A^T A)^(-1)", r"A \left(A^{\top} A\right)^{-1}"),
    (BASES, "I - B B'", "I_5 - B B^T", r"I_{5} - B B^{\top}"),
    (BASES, "A(A'B)", "A (A^T B)", r"A \left(A^{\top} B\right)"),
    (
        MEANS,
        r"-50\sum_{i\ne a,b}\mu_i",
        "-50 sum_{i=1, i != a, b}^{5} mu_i",
        r"-50 \sum_{i=1,\, i \neq a, b}^{5} \mu_{i}",
    ),
    (
        MEANS,
        r"(\sum_{i\in\{a,b\}}\mu_i) 2",
        "(sum_{i=1, i in {a, b}}^{5} mu_i) * 2",
        r"\left(\sum_{i=1,\, i \in \{a, b\}}^{5} \mu_{i}\right) \cdot 2",
    ),
    (BASES, r"\sum_j (a_j)(a_j)'", "sum_{j=1}^{3} a_j a_j^T", None),
    (INPUTS, r"\beta x_1", "beta x_1", r"\beta x_{1}"),
    (KEYS, "zeros(d) + 0 k_a", "zeros(4) + 0 k_a", None),
]


@pytest.mark.parametrize(
    ("question", "text", "plain", "latex"), [pytest.param(*row, id=row[1]) for row in SHOWN]
)
def test_a_formula_is_shown_with_as_few_brackets_as_a_reader_needs(
    question: Given, text: str, plain: str | None, latex: str | None
) -> None:
    formula = question.read(text)

    assert formula.to_text() == (plain or text)
    assert latex in (None, formula.to_latex())


def assert_read_again(question: Given, text: str) -> None:
    formula = question.read(text)
    value = formula.evaluate(question.environment(formula), finite=True)
    plain = question.read(formula.to_text())
    latex = question.read(formula.to_latex())

    assert skeleton(plain.tree) == skeleton(formula.tree)
    assert (plain.constants, plain.large) == (formula.constants, formula.large)
    assert list(plain.definitions) == list(formula.definitions)
    for one, other in zip(plain.definitions.values(), formula.definitions.values(), strict=True):
        assert skeleton(one) == skeleton(other)
    assert latex.shape == formula.shape
    again = latex.evaluate(question.environment(latex), finite=True)
    np.testing.assert_allclose(again, value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("question", "text"),
    [pytest.param(question, text, id=text) for question, text, _ in (*PLAIN, *LATEX, *SUMS)]
    + [pytest.param(question, text, id=f"shown {text}") for question, text, _, _ in SHOWN]
    + [
        pytest.param(KEYS, "2^(T) k_a where T = 3", id="a power called T"),
        pytest.param(KEYS, "2^(T n) k_a where T = 3", id="a power beginning with T"),
        pytest.param(KEYS, "C_1 λ k_a where C_1 = 1e-7, λ = -1e22", id="names and numbers"),
        pytest.param(PAIR, "sum_{l=1}^n (k_l + k_i)^T k_l v_l", id="a long body"),
        pytest.param(SIDES, "sqrt(4)^3 S", id="a root to a power"),
        pytest.param(KEYS, "C k_a + D k_b where D = 2 C, C >> 0, r = 5", id="of a large one"),
        pytest.param(KEYS, "z where z = 50 y, y = sum_{i != a} k_i, λ = y^T y", id="definitions"),
        pytest.param(SIDES, "0e400 S + 0.001e310 / 1e307 S", id="exponents out of range"),
    ],
)
def test_what_is_shown_is_read_in_the_same_way(question: Given, text: str) -> None:
    assert_read_again(question, text)


SHAPES = st.sampled_from(
    [
        NUMBER,
        make_column_shape(3),
        make_row_shape(2),
        make_matrix_shape(2, 4),
        make_matrix_shape(3, 3),
    ]
)


@settings(max_examples=300, deadline=None)
@given(SHAPES.flatmap(formulas))
def test_whatever_is_shown_is_read_in_the_same_way(sample: Any) -> None:
    assert_read_again(QUESTION, sample.text)


def expressions(question: Question) -> Iterator[Node]:
    """Every expression that a question computes, measures or recognises."""
    yield from question.compute.values()
    yield from (each.measure for each in question.criteria if isinstance(each, MeasuredCriterion))
    yield from (each.expected for each in question.criteria if isinstance(each, PredictedCriterion))
    yield from (each.when for each in question.misconceptions if each.when is not None)


def test_every_expression_of_the_shipped_rubrics_is_read_as_it_is_shown() -> None:
    for rubric in shipped().rubrics():
        for node in expressions(rubric.question):
            plain = read_tree(to_text(node), rubric.scope)
            latex = read_tree(to_latex(node), rubric.scope)

            assert skeleton(plain) == skeleton(node)
            assert (latex.shape, collect_names(latex)) == (node.shape, collect_names(node))


def test_places_in_the_text_are_left_out_of_the_comparison() -> None:
    one, other = KEYS.read("k_a + k_b").tree, KEYS.read("  k_a  +  k_b").tree

    assert (one.start, other.start) == (0, 2)
    assert one != other
    assert skeleton(one) == skeleton(other)
