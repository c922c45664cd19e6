"""Issue 10, items 1 and 16: what the writer defines beside a formula may be any expression."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from grader.domain.shapes import NUMBER, make_column_shape
from grader.errors import FormulaError
from grader.formula.eval.evaluate import Array
from grader.formula.formula import Formula
from grader.formula.typed.tree import Stack
from tests.support.formulas import BASES, INPUTS, KEYS, LARGE, MEANS, Given
from tests.support.growth import is_proportional

READ: list[tuple[Given, str, str, Callable[[Given], Any]]] = [
    (KEYS, "q", "C k_a + D k_b where C >> 0, D = C", lambda g: LARGE * (g.k_a + g.k_b)),
    (KEYS, "q", "C k_a + D k_b where C >> 0, D = 2 C", lambda g: LARGE * (g.k_a + 2 * g.k_b)),
    (KEYS, "q", "C k_a + D k_b where D = 2 C, C >= 100", lambda g: LARGE * (g.k_a + 2 * g.k_b)),
    (KEYS, "q", "C k_a + D k_b for large C, D = C + log(C)",
     lambda g: LARGE * (g.k_a + g.k_b) + np.log(LARGE) * g.k_b),
    (INPUTS, "M", "A = u_a u_b^T, M = A A^T",
     lambda g: np.outer(g.u_a, g.u_b) @ np.outer(g.u_a, g.u_b).T),
    (INPUTS, "M", "A A^T where A = u_a u_b^T",
     lambda g: np.outer(g.u_a, g.u_b) @ np.outer(g.u_a, g.u_b).T),
    (BASES, "M", r"P = A(A^\top A)^{-1}A^\top \\ M = P", lambda g: g.A @ np.linalg.pinv(g.A)),
    (MEANS, "q", "let y = mu_a + mu_b; q = 50 y", lambda g: 50 * (g.mu_a + g.mu_b)),
    (MEANS, "q", "Let y = mu_a + mu_b. q = 50 y.", lambda g: 50 * (g.mu_a + g.mu_b)),
    (MEANS, "q", "y = mu_a + mu_b\nq = 50 y", lambda g: 50 * (g.mu_a + g.mu_b)),
    (MEANS, "q", "50 (y_1 + y_2) where y_1 = mu_a, y_2 = mu_b", lambda g: 50 * (g.mu_a + g.mu_b)),
    (MEANS, "q", "50 ν where ν = 2 λ, λ = mu_a", lambda g: 100 * g.mu_a),
    (MEANS, "q", "z where z = r y, y = mu_a, r = t^2, t = 5", lambda g: 25 * g.mu_a),
    (MEANS, "q", "C mu_a where C = norm(mu_a)", lambda g: np.linalg.norm(g.mu_a) * g.mu_a),
    (MEANS, "q", "w where w = [1, 2, 3, 4]", lambda g: [1, 2, 3, 4]),
    (MEANS, "q1", "q = mu_a + mu_b, q1 = 50 q", lambda g: 50 * (g.mu_a + g.mu_b)),
    (MEANS, "q", "sum_{i=1}^{r} y where r = 3, y = mu_a", lambda g: 3 * g.mu_a),
    (MEANS, "q", "P mu_a where P = 2 I_t, t = 4", lambda g: 2 * g.mu_a),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "named", "text", "expected"), [pytest.param(*row, id=row[2]) for row in READ]
)
def test_a_definition_may_use_given_names_and_other_definitions(
    given: Given, named: str, text: str, expected: Callable[[Given], Any]
) -> None:
    np.testing.assert_allclose(given.value(text, named), expected(given), rtol=1e-12, atol=1e-13)


def test_only_plain_numbers_are_constants() -> None:
    formula = MEANS.read("z + r y where z = r y, y = mu_a, r = 2 t, t = 5, C >> 0, D = C")

    assert formula.constants == {"t": 5.0, "r": 10.0}
    assert formula.large == ("C",)
    assert list(formula.definitions) == ["y", "z", "D"]
    assert formula.definitions["y"].shape == make_column_shape(4)
    assert formula.definitions["D"].shape == NUMBER


def test_a_plain_number_may_be_a_size_or_a_bound_and_other_numbers_may_not() -> None:
    np.testing.assert_array_equal(MEANS.value("zeros(r) where r = 2 + 2"), np.zeros(4))
    for text in ("zeros(r) where r = norm(mu_a)", "zeros(D) where D = C, C >> 0"):
        with pytest.raises(FormulaError, match="whole numbers"):
            MEANS.read(text)
    with pytest.raises(FormulaError, match="cannot be a bound"):
        MEANS.read("sum_{i=1}^{D} mu_i where D = C, C >> 0")


def test_the_names_of_the_question_are_collected_through_definitions() -> None:
    assert MEANS.read("50 y where y = mu_a").names == {"mu"}
    assert MEANS.read("C y where y = [1, 2, 3, D], D = C, C >> 0").names == set()
    assert INPUTS.read("y where y = beta z, z = u_a + x_1").names == {"beta", "u", "x"}


def test_lists_are_found_in_definitions() -> None:
    formula = MEANS.read("50 y where y = [1, 2, 3, 4]")

    assert any(isinstance(each, Stack) for each in formula.nodes())
    assert not any(isinstance(each, Stack) for each in MEANS.read("50 y where y = mu_a").nodes())


REFUSED = [
    pytest.param("y where y = z, z = mu_a + y", "formula.where", 9, "of itself", id="a circle"),
    pytest.param("y where y = I_t, t = y", "formula.where", 9, "of itself", id="as a size"),
    pytest.param("y where mu = mu_a", "formula.where", 9, "already has", id="a given name"),
    pytest.param("y where y = mu_a + 1", "formula.shape", 13, "c ones(4)", id="a wrong shape"),
    pytest.param("y where y = mu_a + zeta", "formula.unknown", 20, "zeta", id="unknown"),
    pytest.param("y z where y = mu_a, z = mu_b", "formula.shape", 1, "y^T z", id="two columns"),
    pytest.param("y where y = mu_a / (n - 5)", "formula.not_finite", 13, "by zero", id="infinite"),
]


@pytest.mark.parametrize(("text", "code", "column", "words"), REFUSED)
def test_a_definition_is_refused_with_its_place(
    text: str, code: str, column: int, words: str
) -> None:
    with pytest.raises(FormulaError) as refused:
        MEANS.value(text)

    assert (refused.value.code, refused.value.column) == (code, column)
    assert words in str(refused.value)


def test_the_work_of_all_definitions_is_bounded_together() -> None:
    each = "ones(256, 256) ones(256, 256)"

    MEANS.read(f"y^T y where y = {each}")
    with pytest.raises(FormulaError, match="too long to compute"):
        MEANS.read(f"mu_a where y = {each}, z = {each}, w = {each}")


def test_a_chain_of_definitions_takes_work_in_proportion_to_its_length() -> None:
    def read_chain(length: int) -> Formula:
        names = pairwise(f"y{number}" for number in range(length))
        chain = "".join(f", {later} = {earlier} + {earlier}" for earlier, later in names)
        return MEANS.read(f"y{length - 1} where y0 = mu_a{chain}")

    def evaluate(formula: Formula) -> Array:
        return formula.evaluate(MEANS.environment(formula), finite=True)

    assert is_proportional(evaluate, read_chain, 20)
    formula = read_chain(20)
    value = evaluate(formula)
    np.testing.assert_array_equal(value[0, 0], 2**19 * MEANS.mu_a)
    assert len(formula.to_text()) < 500
