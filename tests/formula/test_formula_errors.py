"""What is refused is refused at its place, in words that help."""

from __future__ import annotations

import pytest

from grader.errors import FormulaError
from tests.support.formulas import BASES, INPUTS, KEYS, MEANS, PAIR, SIDES, Given

REFUSED = [
    # Names
    (MEANS, "40 (mu_a + zeta)", "formula.unknown", 12, "zeta is not known here"),
    (MEANS, "40 (mu_a + mu_c)", "formula.unknown", 12, "You may use mu_a, mu_b."),
    (MEANS, "40 mu_{ab}", "formula.unknown", 4, "mu_ab is not known"),
    (MEANS, "40 mu_{a b}", "formula.unknown", 4, "mu_ab is not known"),
    (MEANS, "40 mu_a2", "formula.unknown", 4, "mu_a2 is not known"),
    (MEANS, "40 mua", "formula.unknown", 4, "Did you mean mu_a?"),
    (MEANS, "40 Mu_a", "formula.unknown", 4, "Did you mean mu_a?"),
    (MEANS, "sofmax(mu mu_a)", "formula.unknown", 1, "Did you mean softmax?"),
    (KEYS, "40 K_a", "formula.unknown", 4, "Did you mean k_a?"),
    (KEYS, "C k_a", "formula.unknown", 1, "declare it: … where C >> 0"),
    (KEYS, r"\lambda k_a", "formula.unknown", 1, "where lambda >> 0"),
    (KEYS, "C_1 k_a", "formula.unknown", 1, "where C_1 >> 0"),
    (KEYS, "k_1", "formula.unknown", 1, "You may use k_a, k_b."),
    (KEYS, "40 a", "formula.subscript", 4, "only be used as a subscript"),
    (KEYS, "k^t", "formula.unknown", 3, "^T"),
    (KEYS, "2 k_a^H", "formula.unknown", 7, "^T"),
    (KEYS, "e^T k_a", "formula.unknown", 1, "exp(1)"),
    (KEYS, r"\hat{k}_a", "formula.command", 1, "without accents"),
    (KEYS, r"\bar k_a", "formula.command", 1, "without accents"),
    (KEYS, r"2 k_a^\dagger", "formula.command", 7, "^T"),
    (KEYS, "k_a\nq = k_b", "formula.syntax", 4, "second formula"),
    (INPUTS, "x_4", "formula.subscript", 1, "from 1 to 3"),
    (INPUTS, "x_0", "formula.subscript", 1, "from 1 to 3"),
    (INPUTS, "x_{²}", "formula.unknown", 1, "x_²"),
    (BASES, "a a^T", "formula.subscript", 1, "Write a_1."),
    (BASES, "A_1", "formula.unknown", 1, "A_1"),
    (BASES, "I_0", "formula.subscript", 1, "from 1 to 1024"),
    (BASES, "I_{-1}", "formula.unknown", 1, "I_-1"),
    (BASES, "I_t where t = 2.5", "formula.subscript", 1, "from 1 to 1024"),
    (BASES, "I_t where t = -1", "formula.subscript", 1, "from 1 to 1024"),
    (BASES, r"\mathbf{1} a_1^T", "formula.command", 1, "ones(d)"),
    (BASES, r"a_1 \mathbb 1^T", "formula.command", 5, "ones(d)"),
    # Shapes
    (MEANS, "mu_a mu_b", "formula.shape", 1, "mu_a^T mu_b; for the outer product mu_a mu_b^T"),
    (MEANS, "(mu_a + mu_b) mu_b", "formula.shape", 1, "(mu_a + mu_b)^T mu_b"),
    (MEANS, "mu_a * 2 mu_b", "formula.shape", 1, "(mu_a * 2)^T mu_b"),
    (MEANS, "mu_a + 1", "formula.shape", 1, "c ones(4)"),
    (MEANS, "3 + (mu_a - 1)", "formula.shape", 6, "subtract a number from a column"),
    (MEANS, "mu_a + mu_b^T", "formula.shape", 1, "Did you mean mu_b?"),
    (MEANS, "mu_a^T - mu_b", "formula.shape", 1, "Did you mean mu_b^T?"),
    (MEANS, "mu_a / mu_b", "formula.shape", 8, "Cannot divide by mu_b, which is a column"),
    (MEANS, r"\frac{1}{\mu_a}", "formula.shape", 9, "a divisor must be a number"),
    (MEANS, "mu_a^2", "formula.shape", 1, "mu_a^T mu_a"),
    (MEANS, "2^mu_a", "formula.shape", 1, "cannot be raised"),
    (MEANS, "mu_a mu", "formula.shape", 1, "the other way round: mu mu_a?"),
    (MEANS, "[mu_a, 1]", "formula.shape", 1, "one length"),
    (MEANS, "norm(mu_a, mu_b)", "formula.arguments", 1, "takes 1 argument"),
    (MEANS, "dot(mu_a)", "formula.arguments", 1, "takes 2 arguments"),
    (MEANS, "softmax(3)", "formula.shape", 1, "takes a vector"),
    (MEANS, "zeros(-1)", "formula.arguments", 1, "whole numbers"),
    (MEANS, "zeros(1000000)", "formula.arguments", 1, "whole numbers"),
    (BASES, "2 + I", "formula.shape", 1, "c I"),
    (BASES, "AB", "formula.shape", 1, "Perhaps A^T B?"),
    (BASES, "A^2", "formula.shape", 1, "square"),
    (BASES, "I^9", "formula.shape", 1, "from -1 to 8"),
    (BASES, "A / I", "formula.shape", 5, "inv(I)"),
    (BASES, "|A|", "formula.syntax", 1, "determinant"),
    (BASES, r"\|A\|_2", "formula.syntax", 1, "Frobenius"),
    (BASES, r"\|a_1\|_1", "formula.syntax", 1, "Euclidean"),
    (BASES, "pinv(a_1)", "formula.shape", 1, "takes a matrix"),
    (BASES, "dot(A, A)", "formula.shape", 5, "A^T"),
    (BASES, "dot(A, A, A)", "formula.arguments", 1, "takes 2 arguments"),
    (BASES, "(a_1, a_2)", "formula.syntax", 5, "square brackets"),
    (BASES, "np.einsum(A)", "formula.unknown", 1, "np"),
    (SIDES, "S T^T", "formula.shape", 1, "T^T S"),
    # Signs and brackets
    (MEANS, "40 (mu_a + mu_b", "formula.brackets", 4, "never closed"),
    (MEANS, "40 mu_a + mu_b)", "formula.brackets", 15, "has no opening bracket"),
    (MEANS, "40 (mu_a + mu_b]", "formula.brackets", 16, "column 4"),
    (MEANS, r"\frac{1}{2", "formula.brackets", 9, "never closed"),
    (MEANS, r"\mathbf{\mu_a", "formula.brackets", 8, "never closed"),
    (MEANS, "|mu_a", "formula.brackets", 1, "never closed"),
    (MEANS, "||mu_a| - |mu_b||", "formula.brackets", 7, "abs(x)"),
    (MEANS, "40 mu_a +", "formula.syntax", 10, "ends too early"),
    (MEANS, "40 + * mu_a", "formula.syntax", 6, "'*' is not expected here"),
    (MEANS, "²", "formula.syntax", 1, "'²' is not expected here"),
    (MEANS, "2 3 mu_a", "formula.syntax", 3, "2 * 3"),
    (MEANS, "10 000 mu_a", "formula.syntax", 4, "without spaces"),
    (MEANS, "1.2.3 mu_a", "formula.syntax", 4, "next to each other"),
    (MEANS, "(1,5) mu_a", "formula.syntax", 3, "0.5"),
    (MEANS, "log 2 n", "formula.syntax", 1, "where the argument of log ends"),
    (MEANS, "log_2(8) mu_a", "formula.syntax", 4, "log(x) / log(2)"),
    (MEANS, r"\sqrt[3]{8} mu_a", "formula.syntax", 1, "x^(1/3)"),
    (MEANS, "mu_a <= mu_b", "formula.syntax", 1, "Comparisons"),
    (MEANS, "mu_a == mu_b", "formula.syntax", 1, "q is asked for"),
    (MEANS, "50 . mu_a", "formula.character", 4, "'.' has no meaning"),
    (MEANS, "mu_a # mu_b", "formula.character", 6, "'#' has no meaning"),
    (MEANS, "٣ mu_a", "formula.character", 1, "0 to 9"),
    (MEANS, "𝟙 mu_a", "formula.character", 1, "U+1D7D9"),
    (MEANS, "mu_a; mu_b", "formula.syntax", 5, "one expression"),
    (MEANS, r"\begin{pmatrix} \mu_a & \mu_b \end{pmatrix}", "formula.command", 1, "rows"),
    (MEANS, r"\undefined{x}", "formula.command", 1, r"\undefined"),
    (MEANS, "mu\u200b_a", "formula.character", 3, "U+200B"),
    (MEANS, "mu_a \u202e", "formula.character", 6, "U+202E"),
    (MEANS, "mu_a\0", "formula.character", 5, "U+0000"),
    (MEANS, "mu_a \ud800", "formula.character", 6, "U+D800"),
    (PAIR, "sum_{l=1}^n l k_l", "formula.subscript", 13, "only be used as a subscript"),
    # Values
    (MEANS, "mu_a + mu_b / (n - 5)", "formula.not_finite", 8, "mu_b / (n - 5) divides by zero."),
    (MEANS, r"\sqrt{-2}^2 mu_a", "formula.not_finite", 1, "sqrt(-2) is the square root"),
    (MEANS, "1e999 mu_a", "formula.limit", 1, "too large"),
]


@pytest.mark.parametrize(
    ("given", "text", "code", "column", "words"),
    [pytest.param(*row, id=ascii(row[1])) for row in REFUSED],
)
def test_a_refusal_says_where_and_what_would_help(
    given: Given, text: str, code: str, column: int, words: str
) -> None:
    with pytest.raises(FormulaError) as refused:
        given.value(text)

    assert (refused.value.code, refused.value.column) == (code, column)
    assert words in str(refused.value)


def test_a_long_part_is_not_quoted_in_full() -> None:
    with pytest.raises(FormulaError) as refused:
        MEANS.read(" + ".join(["mu_a"] * 20) + " + 1")

    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("text", ["", " ", "\n", "$$", ".", ";", r"\\", "where"])
def test_an_empty_formula_is_told_so(text: str) -> None:
    with pytest.raises(FormulaError) as refused:
        MEANS.read(text)

    assert refused.value.code in ("formula.empty", "formula.where")
