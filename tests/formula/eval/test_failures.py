"""Issue 10, item 13: overflow, 0/0 and infinities are told apart, and the part is named."""

from __future__ import annotations

import numpy as np
import pytest

from grader.errors import FormulaError
from grader.formula.eval.evaluate import Environment, evaluate_finite
from grader.formula.typed.scope import Family
from tests.support.formulas import BASES, INPUTS, MEANS, Given, make_given

ZEROS = make_given({"k": np.zeros((3, 2)), "z": np.array(0.0)}, n=3)
ROWS = make_given(
    {"x": np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]])},
    families={"x": Family("x", 3, 2, numbered=True)},
    n=3,
)

FAILURES = [
    # Division by zero
    (MEANS, "mu_a / 0", 1, "mu_a / 0 divides by zero."),
    (MEANS, "mu_a + mu_b / (n - 5)", 8, "mu_b / (n - 5) divides by zero."),
    (MEANS, "(n - 5)^(-1) mu_a", 1, "(n - 5)^(-1) divides by zero."),
    (ROWS, r"\sum_{i=1}^3 x_i / norm(x_i)", 14, "x_i / norm(x_i) is 0/0, which has no value."),
    # 0/0
    (MEANS, "mu_a + (n - 5) / (d - 4) mu_b", 8, "(n - 5) / (d - 4) is 0/0, which has no value."),
    (ZEROS, "k / z", 1, "k / z is 0/0, which has no value."),
    (MEANS, "(mu_a - mu_a) / 0", 1, "(mu_a - mu_a) / 0 is 0/0, which has no value."),
    # Logarithms and roots
    (MEANS, "log(-1) mu_a", 1, "log(-1) is the logarithm of a negative number."),
    (MEANS, "2 ln(n - 5) mu_a", 3, "ln(n - 5) is the logarithm of zero."),
    (INPUTS, "log([1, 0, 2])", 1, "log([1, 0, 2]) is the logarithm of zero."),
    (MEANS, r"\sqrt{-2}^2 mu_a", 1, "sqrt(-2) is the square root of a negative number."),
    (MEANS, "(-8)^(1/3) mu_a", 1, "(-8)^(1 / 3) is a negative number to a power that is"),
    # Inverses
    (BASES, "inv(0 I_5)", 1, "inv(0 I_5) does not exist: this matrix has no inverse."),
    (BASES, "(0 I)^-1 a_1", 1, "(0 I_5)^(-1) does not exist: this matrix has no inverse."),
    (ZEROS, "2 inv(k^T k)", 3, "inv(k^T k) does not exist: this matrix has no inverse."),
    # Overflow
    (MEANS, "9^9^9^9 mu_a", 3, "9^(9^9) overflows: its value is too large for a computer."),
    (MEANS, "exp(1000) mu_a", 1, "exp(1000) overflows: its value is too large for a computer."),
    (MEANS, "1e300 * 1e300 mu_a", 1, "1e300 * 1e300 overflows:"),
    (MEANS, "1e300 / 1e-300 mu_a", 1, "1e300 / 1e-300 overflows:"),
    (MEANS, "mu_a + 0 (1.5e308 + 1.5e308) mu_b", 10, "1.5e308 + 1.5e308 overflows:"),
    (MEANS, r"\sum_{i=1}^5 1e308", 1, "sum_{i=1}^{5} 1e308 overflows:"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "text", "column", "says"), [pytest.param(*row, id=row[1]) for row in FAILURES]
)
def test_the_part_that_fails_is_named_with_its_reason(
    given: Given, text: str, column: int, says: str
) -> None:
    with pytest.raises(FormulaError) as refused:
        given.value(text)

    assert (refused.value.code, refused.value.column) == ("formula.not_finite", column)
    assert str(refused.value).startswith(says)


@pytest.mark.parametrize(("given", "text", "column", "says"), FAILURES)
def test_overflow_is_said_only_where_something_overflows(
    given: Given, text: str, column: int, says: str
) -> None:
    with pytest.raises(FormulaError) as refused:
        given.value(text)

    assert ("overflow" in str(refused.value)) == ("overflow" in says)


def test_a_zero_vector_is_not_told_that_its_numbers_are_too_large() -> None:
    with pytest.raises(FormulaError, match="is 0/0") as refused:
        MEANS.value("0 mu_a / norm(0 mu_a)")

    assert "large" not in str(refused.value)


def test_the_reason_is_that_of_the_variant_on_which_it_fails() -> None:
    tree = MEANS.read("mu_a / (mu_a^T mu_a)").tree
    values = np.stack([np.ones((5, 4)), np.zeros((5, 4))])[:, None]

    with pytest.raises(FormulaError, match="is 0/0"):
        evaluate_finite(tree, Environment({"mu": values}, {"a": np.array([1, 2])}))
