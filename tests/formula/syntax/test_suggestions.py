"""Issue 10, item 12: hints on unknown names are true, and safe to follow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.errors import FormulaError
from grader.formula.syntax.suggestions import find_close_name
from grader.formula.typed.scope import FormulaScope
from tests.support.formulas import INPUTS, MEANS, Given

WITHHELD = {
    "v": "v is given, but the answer must not depend on it.",
    "v_c": "v_c is drawn at random, so its values are not known beforehand.",
    "w": "w follows from your answer.",
}


def refuse(given: Given, text: str, **changes: object) -> FormulaError:
    scope: FormulaScope = replace(given.scope, **changes)  # type: ignore[arg-type]  # by field name
    with pytest.raises(FormulaError) as refused:
        Given(scope, given.values, given.indices).read(text)
    assert refused.value.code == "formula.unknown"
    return refused.value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("40 v_a", "v_a may not be used here: v is given, but", id="a member"),
        pytest.param("40 v", "v is given, but the answer must not depend on it.", id="the family"),
        pytest.param("40 v_c", "v_c is drawn at random", id="a name with its own reason"),
        pytest.param("w", "w follows from your answer.", id="what follows"),
        pytest.param("W", "W is not known here. If W is your own", id="another case"),
        pytest.param("V mu_a", "V may not be used here: v is given", id="a paper's other case"),
        pytest.param(r"\alpha mu_a", "alpha has no meaning in this question.", id="a paper's name"),
        pytest.param("Sigma_a mu_a", "Sigma_a has no meaning in this question.", id="a subscript"),
    ],
)
def test_a_name_of_the_question_is_told_why_it_may_not_be_used(text: str, says: str) -> None:
    error = refuse(MEANS, text, withheld=WITHHELD)

    assert str(error).startswith(says)
    assert error.hint.endswith("You may use mu_a, mu_b, mu, n, d, I.")


@pytest.mark.parametrize("name", ["C", "t", r"\lambda", "C_1", "r2", "s_a"])
def test_a_foreign_letter_is_proposed_as_a_constant_without_a_value(name: str) -> None:
    shown = name.removeprefix("\\")
    error = refuse(MEANS, f"log({name}) mu_a")

    assert f"If {shown} is your own constant, declare it: … where {shown} >> 0" in error.hint
    assert "=" not in error.hint
    assert MEANS.read(f"log({name}) mu_a where {name} >> 0").large == (shown,)


@pytest.mark.parametrize(
    "text",
    [
        *("40 v_a", "alpha mu_a", "query mu_a", "np.array(mu_a)", "most of them", "Nn mu_a"),
        *("N mu_a", "D mu_a", "mu_c", "sin(2) mu_a", "xyz_a", "AAT"),
    ],
)
def test_anything_else_is_not_taken_for_a_constant(text: str) -> None:
    assert "constant" not in refuse(MEANS, text, withheld=WITHHELD).hint


def test_a_letter_written_before_a_known_name_is_the_unknown_one() -> None:
    error = refuse(MEANS, "3 Cmu_a")

    assert (error.column, error.message) == (3, "C is not known here.")
    assert MEANS.read("3 Cmu_a where C = 2").constants == {"C": 2.0}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("torch.nn.functional.softmax(mu mu_a)", "Write softmax(…)."),
        ("np.matmul(mu, mu_a)", "Write a product by placing its factors side by side"),
        ("matmul(mu, mu_a)", "Write a product by placing its factors side by side"),
        ("np.array([mu_a])", "Write numbers as a list"),
        ("mean(mu)", "Write a mean as sum(x)"),
        ("np.mean(mu, axis=0)", "Write a mean as sum(x)"),
        ("reshape(mu_a)", "transposed by ^T"),
        ("argmax(mu_a) mu_b", "has no such function; send the numbers that it gives."),
        ("np.random.randn(4)", "has no such function; send the numbers that it gives."),
        ("linalg", "has no such function"),
        ("np mu_a", "without the name of a library"),
    ],
)
def test_numpy_names_are_told_what_is_written_instead(text: str, hint: str) -> None:
    error = refuse(MEANS, text)

    assert hint in error.hint
    assert "Did you mean" not in error.hint


@pytest.mark.parametrize(
    "text", ["most of them", "large mu_a", "the average", "not mu_a", "long mu_a", "Because it is"]
)
def test_words_are_told_apart(text: str) -> None:
    error = refuse(MEANS, text)

    assert "Words are not part of a formula" in error.hint
    assert "Did you mean" not in error.hint


@pytest.mark.parametrize(
    ("given", "text", "name"),
    [
        (MEANS, "40 Mu_a", "mu_a"),
        (MEANS, "40 MU_A", "mu_a"),
        (MEANS, "40 mua", "mu_a"),
        (MEANS, "40 mmu_a", "mu_a"),
        (MEANS, r"40 \mu_{aa}", "mu_a"),
        (MEANS, "40 mu_A", "mu_a"),
        (MEANS, "sofmax(mu mu_a)", "softmax"),
        (MEANS, "sotfmax(mu mu_a)", "softmax"),
        (MEANS, "nrm(mu_a) mu_a", "norm"),
        (INPUTS, "betta u_a", "beta"),
        (INPUTS, "bata u_a", "beta"),
        (INPUTS, "Beta u_a", "beta"),
        (INPUTS, "X_1", "x_1"),
    ],
)
def test_a_slip_is_recognised(given: Given, text: str, name: str) -> None:
    assert f"Did you mean {name}?" in refuse(given, text).hint


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param(MEANS, r"40 \mu_{ab}", id="either of two"),
        pytest.param(MEANS, r"40 \nu_a", id="another letter"),
        pytest.param(MEANS, "x_a", id="another letter with a subscript"),
        pytest.param(MEANS, "D mu_a", id="another case of a number"),
        pytest.param(INPUTS, "eta u_a", id="another Greek letter"),
        pytest.param(MEANS, "tan(2) mu_a", id="another function"),
        pytest.param(MEANS, "det(2) mu_a", id="nearly dot"),
        pytest.param(MEANS, "sfotmxa(mu mu_a)", id="two slips"),
    ],
)
def test_what_may_be_another_name_is_no_slip(given: Given, text: str) -> None:
    assert "Did you mean" not in refuse(given, text).hint


def test_a_slip_must_be_of_one_name_only() -> None:
    assert find_close_name("alpa", ["alpha", "beta"]) == "alpha"
    assert find_close_name("alpa", ["alpha", "alps"]) == ""
    assert find_close_name("Alpha", ["alpha", "ALPHA"]) == ""


def test_another_case_of_a_number_is_told_as_such() -> None:
    assert "Capital and small letters differ: n is known." in refuse(MEANS, "N mu_a").hint
