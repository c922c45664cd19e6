"""What stands beside a formula: its name on the left, the writer's own constants.

Issue 10, item 2: how a constant is declared as large.
"""

from __future__ import annotations

import numpy as np
import pytest

from grader.errors import FormulaError
from tests.support.formulas import MEANS, make_given

FIFTY = [
    "C(mu_a + mu_b) where C = 50",
    "C(mu_a + mu_b), where C = 50.",
    "C(mu_a + mu_b) with C=50",
    "C(mu_a + mu_b) for C = 50",
    "C(mu_a + mu_b), C = 50",
    "C(mu_a + mu_b); C := 50",
    "C(mu_a + mu_b) (where C = 50)",
    "C(mu_a + mu_b)   (C = 50)",
    "C(mu_a + mu_b) where C ≈ 50",
    "q = C(mu_a + mu_b), C = 50",
    "q = C(mu_a + mu_b)\nC = 50",
    "C = 50; q = C(mu_a + mu_b)",
    "let C = 50, q = C(mu_a + mu_b)",
    "C = 50, C(mu_a + mu_b)",
    r"C(\mu_a + \mu_b) \text{ where } C = 5 \cdot 10^1",
    r"$q = C(\mu_a+\mu_b)$ where $C = 50$",
    r"C(\mu_a+\mu_b) \quad (C = 50)",
    r"\begin{align*} q &= C(\mu_a + \mu_b) \\ C &= 50 \end{align*}",
    r"C_1(\mu_a + \mu_b), C_{1} = 50",
    "C₁(mu_a + mu_b), C_1 = 50",
    r"\lambda(\mu_a + \mu_b), \lambda = 50",
    "λ(μ_a + μ_b) where λ = 50",
    r"λ(μ_a + μ_b) where \lambda = 50",
    "C t (mu_a + mu_b) where C = 25, t = 2",
    "C t (mu_a + mu_b) where C = 25 and t = 2",
    "C (mu_a + mu_b) where C = 2 t and t = 25",
    "C (mu_a + mu_b) where C = n^2 + 25",
    "C (mu_a + mu_b) where C = 50,",
    "C (mu_a + mu_b) where C = 50, t = 3",
    "e (mu_a + mu_b) where e = 50",
    "pi (mu_a + mu_b) where pi = 50",
]


@pytest.mark.parametrize("text", FIFTY)
def test_constants_take_the_values_that_are_given_to_them(text: str) -> None:
    np.testing.assert_allclose(MEANS.value(text), 50 * (MEANS.mu_a + MEANS.mu_b), rtol=1e-12)


LARGE = [
    "C (mu_a + mu_b), C>>0",
    "C (mu_a + mu_b) where C >> 1",
    "C (mu_a + mu_b) where C >> n",
    "C (mu_a + mu_b) where C >> 10^6",
    r"C (mu_a + mu_b) where C \gg \log n",
    r"C (mu_a + mu_b) where C \gg \max(n, 1)",
    "C (mu_a + mu_b) for C ≫ 0",
    "C (mu_a + mu_b), C → ∞",
    "C (mu_a + mu_b) where C -> inf",
    r"C(\mu_a + \mu_b), C \gg 0",
    r"C(\mu_a + \mu_b), C \to \infty",
    r"C(\mu_a + \mu_b) \text{ as } C \rightarrow +\infty",
    r"C(\mu_a + \mu_b) as $C \to \infty$",
    "C (mu_a + mu_b) for any C >> 0",
    "C >> 0, q = C (mu_a + mu_b)",
    "C (mu_a + mu_b), C >= 100",
    "C (mu_a + mu_b) where C ≥ 100",
    r"C (mu_a + mu_b) where C \geq 100",
    r"C (mu_a + mu_b) where C \ge 10^6",
    "C (mu_a + mu_b) for all C > 1000",
    "C (mu_a + mu_b) where C > 10 n",
    "C >= 100, q = C (mu_a + mu_b)",
    "C (mu_a + mu_b) for sufficiently large C",
    r"C (\mu_a + \mu_b) \text{ for sufficiently large } C",
    "C (mu_a + mu_b) for large C",
    "C (mu_a + mu_b) for any large C",
    "C (mu_a + mu_b) for C large enough",
    "C (mu_a + mu_b) for a large constant C",
    "C (mu_a + mu_b) where C is large",
    "C (mu_a + mu_b) Where C is large.",
    "C (mu_a + mu_b), C large",
    "C (mu_a + mu_b), large C",
    "C (mu_a + mu_b) (C large)",
    "C (mu_a + mu_b) with C a very large constant",
    "C (mu_a + mu_b) with C a very large number",
    "C (mu_a + mu_b) with C a very large scalar",
    "C (mu_a + mu_b) where C is a sufficiently large positive constant",
    "let C be large, q = C (mu_a + mu_b)",
]

SEVERAL = [
    "C mu_a + D mu_b, C >> 0, D >> 0",
    "C mu_a + D mu_b, C, D >> 0",
    "C mu_a + D mu_b where C and D >= 100",
    "C mu_a + D mu_b where C, D are large",
    "C mu_a + D mu_b for large C and D",
    "C mu_a + D mu_b for large C, D",
    "C mu_a + D mu_b for C and D large enough",
]


@pytest.mark.parametrize("text", SEVERAL)
def test_several_constants_may_be_called_large_at_once(text: str) -> None:
    assert MEANS.read(text).large == ("C", "D")
    assert MEANS.read(text).to_text() == "C mu_a + D mu_b where C >> 0, D >> 0"


def test_constants_with_subscripts_may_be_called_large_at_once() -> None:
    formula = MEANS.read(r"C_1 \mu_a + C_2 \mu_b, C_1, C_2 \gg 0")

    assert formula.large == ("C_1", "C_2")


def test_a_formula_that_is_only_a_name_is_no_declaration() -> None:
    assert MEANS.read("mu_a, C >> 0").to_text() == "mu_a where C >> 0"
    assert MEANS.read("C >> 0, mu_a").to_text() == "mu_a where C >> 0"


@pytest.mark.parametrize("text", LARGE)
def test_a_constant_may_be_called_large(text: str) -> None:
    formula = MEANS.read(text)

    assert (formula.large, formula.constants) == (("C",), {})
    assert formula.to_text() == "C (mu_a + mu_b) where C >> 0"
    np.testing.assert_allclose(MEANS.value(text), 100 * (MEANS.mu_a + MEANS.mu_b), rtol=1e-12)


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ("q", "q = 50 mu_a"),
        ("q", "q=50mu_a"),
        ("q", "q := 50 mu_a"),
        ("q", "q ≈ 50 mu_a"),
        ("q", "q^* = 50 mu_a"),
        ("q", r"q^{\star} = 50 mu_a"),
        ("q", r"\mathbf{q} = 50 mu_a"),
        ("q", r"\vec q = 50 mu_a"),
        ("q", r"\hat{q} = 50 mu_a"),
        ("q", "q_1 = 50 mu_a"),
        ("q1", "q_1 = 50 mu_a"),
        ("q1", "q_{1} = 50 mu_a"),
        ("q1", "q₁ = 50 mu_a"),
        ("q1", "q1 = 50 mu_a"),
        ("q1", "q = 50 mu_a"),
        ("c_2", "c_2 = 50 mu_a"),
        ("c_2_plus_d", r"c_2 \approx 50 mu_a"),
        ("c_2_plus_d", "c_2_plus_d = 50 mu_a"),
        ("M", "M = 50 mu_a"),
        ("share_near_average", "s mu_a where s = 50"),
        ("q", "q_0 mu_a where q_0 = 50"),
    ],
)
def test_the_name_of_what_is_asked_for_may_stand_on_the_left(named: str, text: str) -> None:
    np.testing.assert_allclose(MEANS.value(text, named), 50 * MEANS.mu_a, rtol=1e-12)


REFUSED = [
    pytest.param("C (mu_a + mu_b)", "formula.unknown", 1, "where C >> 0", id="no value"),
    pytest.param("mu_a where n = 3", "formula.where", 12, "already has a meaning", id="n"),
    pytest.param("mu_a where I = 3", "formula.where", 12, "already has a meaning", id="I"),
    pytest.param("mu_a where mu = 3", "formula.where", 12, "already has", id="a given name"),
    pytest.param("mu_a where b = 3", "formula.where", 12, "already has", id="an index"),
    pytest.param("mu_a where exp = 3", "formula.where", 12, "already has", id="a function"),
    pytest.param("C mu_a where C = 2, C = 3", "formula.where", 21, "already has", id="twice"),
    pytest.param("C mu_a, C = 2, C >> 0", "formula.where", 16, "already has", id="also large"),
    pytest.param("C mu_a, C >> 0, C >> 0", "formula.where", 17, "already has", id="large twice"),
    pytest.param("C mu_a where C = C", "formula.where", 14, "of itself", id="by itself"),
    pytest.param("C mu_a where C = r, r = C", "formula.where", 14, "of itself", id="in a circle"),
    pytest.param("C mu_a where C = r", "formula.unknown", 18, "r", id="by something unknown"),
    pytest.param("C mu_a where C = 1/0", "formula.not_finite", 18, "by zero", id="infinite"),
    pytest.param("C mu_a where C =", "formula.empty", 16, "formula is missing", id="nothing"),
    pytest.param("C mu_a where C", "formula.where", 14, "C = 50", id="no sign"),
    pytest.param("C mu_a where", "formula.where", 8, "C = 50", id="nothing behind where"),
    pytest.param("C mu_a where C is not large", "formula.where", 14, "C >> 0", id="not large"),
    pytest.param("C mu_a, large enough", "formula.syntax", 7, "C >> 0", id="no name"),
    pytest.param("C mu_a where C > 0", "formula.where", 14, "C >> 0", id="C > 0"),
    pytest.param("C mu_a where C >= 1", "formula.where", 14, "C >> 0", id="C >= 1"),
    pytest.param("C mu_a where C >= r", "formula.where", 14, "C >> 0", id="C >= r"),
    pytest.param("C mu_a where C >= C", "formula.where", 14, "C >> 0", id="C >= C"),
    pytest.param(r"C mu_a, C \to 0", "formula.where", 9, "C >> 0", id="C to zero"),
    pytest.param(r"C mu_a, C \to -\infty", "formula.where", 9, "C >> 0", id="C to -infinity"),
    pytest.param("r = 50 mu_a", "formula.syntax", 1, "q is asked for", id="another name"),
    pytest.param("q = 50 mu_a = 50 mu_b", "formula.character", 13, "one expression", id="="),
    pytest.param(r"q \propto mu_a", "formula.syntax", 3, "length", id="proportional"),
    pytest.param("mu_a, mu_b", "formula.syntax", 5, "one expression", id="two formulas"),
    pytest.param("C mu_a + D mu_b, C >> 0, D", "formula.syntax", 24, "one", id="only C is large"),
    pytest.param("mu_a and mu_b", "formula.syntax", 6, "one expression", id="and"),
    pytest.param("0,5 mu_a", "formula.syntax", 2, "0.5", id="decimal comma"),
    pytest.param("10,000 mu_a", "formula.syntax", 3, "10000", id="thousands"),
    pytest.param("40 (mu_a + mu_b where C = 5", "formula.brackets", 4, "closed", id="bracket"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "column", "words"), REFUSED)
def test_what_stands_beside_a_formula_is_refused_with_its_place(
    text: str, code: str, column: int, words: str
) -> None:
    with pytest.raises(FormulaError) as refused:
        MEANS.read(text)

    assert (refused.value.code, refused.value.column) == (code, column)
    assert words in str(refused.value)


def test_the_second_of_two_heads_is_not_taken_for_the_first() -> None:
    with pytest.raises(FormulaError, match="q1 is asked for"):
        MEANS.read("q_2 = 50 mu_a", named="q1")


def test_twenty_constants_are_enough() -> None:
    twenty = ", ".join(f"c{number} = {number}" for number in range(20))

    assert len(MEANS.read(f"mu_a where {twenty}").constants) == 20
    with pytest.raises(FormulaError, match="20 constants"):
        MEANS.read(f"mu_a where {twenty}, C = 1")


def test_a_constant_called_T_is_not_mixed_up_with_the_transpose() -> None:
    with pytest.raises(FormulaError, match="transpose"):
        MEANS.read("10^T mu_a where T = 2")

    np.testing.assert_allclose(MEANS.value("10^(T) mu_a where T = 2"), 100 * MEANS.mu_a)
    np.testing.assert_allclose(
        MEANS.value("T mu_a^T mu_b where T = 2"), 2 * MEANS.mu_a @ MEANS.mu_b
    )


def test_e_is_a_number_only_where_the_question_does_not_use_the_letter() -> None:
    axes = make_given({"e": np.arange(12.0).reshape(3, 4)}, indices={"a": 1}, n=3)

    np.testing.assert_allclose(MEANS.value("e^2 mu_a"), np.exp(2) * MEANS.mu_a)
    np.testing.assert_array_equal(axes.value("e_a"), [4, 5, 6, 7])
    with pytest.raises(FormulaError, match="square"):
        axes.read("e^2")
    with pytest.raises(FormulaError, match=r"exp\(1\)"):
        MEANS.read("e mu_a")
