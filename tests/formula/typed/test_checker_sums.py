"""Sums as papers write them, against NumPy."""

from __future__ import annotations

import pytest

from grader.errors import FormulaError
from tests.support.formula_tables import SUMS
from tests.support.formulas import (
    BASES,
    MEANS,
    PAIR,
    Expected,
    Given,
    as_parameters,
    assert_value,
)


@pytest.mark.parametrize(("given", "text", "expected"), as_parameters(SUMS))
def test_a_sum_means_what_it_says(given: Given, text: str, expected: Expected) -> None:
    assert_value(given, text, expected, named="c")


UNREADABLE = [
    pytest.param(MEANS, r"\sum_{i \neq} \mu_i", id="nothing is left out"),
    pytest.param(MEANS, r"\sum_{i \in \{\}} \mu_i", id="over nothing"),
    pytest.param(MEANS, r"\sum_{i \neq a + b} \mu_i", id="an operation among the indices"),
    pytest.param(PAIR, r"\sum_{i \neq i, j} k_i", id="its own index is left out"),
    pytest.param(MEANS, r"\sum_{i \neq 1} \mu_i", id="a number where members have none"),
    pytest.param(MEANS, r"\sum_{i \neq z} \mu_i", id="no such index"),
    pytest.param(MEANS, r"\sum_{i=1}^{²} \mu_i", id="a superscript as a bound"),
    pytest.param(MEANS, r"\sum_{i=²}^n \mu_i", id="a superscript as the first"),
    pytest.param(MEANS, r"\sum_{i=1}^{n-1} \mu_i", id="a bound to be computed"),
    pytest.param(MEANS, r"\sum_{i=1}^t \mu_i \text{ where } t = 2.5", id="half a member"),
    pytest.param(MEANS, r"\sum_{i=0}^n \mu_i", id="from zero"),
    pytest.param(MEANS, r"\sum_{i=1}^9 \mu_i", id="too far"),
    pytest.param(MEANS, r"\sum_{i=1}^n \sum_{i=1}^n \mu_i", id="bound twice"),
    pytest.param(MEANS, r"\sum_{i=1} 1", id="no end"),
    pytest.param(MEANS, r"\sum_{i \neq a} 1", id="no member"),
    pytest.param(
        BASES, r"\sum_{j \in [m] \setminus \{1\} \setminus \{2\}} a_j", id="twice without"
    ),
    pytest.param(BASES, r"\sum_{j=2, j \in [m]} a_j", id="two ranges"),
    pytest.param(MEANS, r"\sum_{i}_{j} \mu_j", id="two heads"),
    pytest.param(MEANS, r"\sum \mu_a", id="no head"),
    pytest.param(MEANS, "sum mu_a", id="no head in plain text"),
    pytest.param(BASES, r"\sum_j a_j b_j^\top", id="bases of different sizes"),
]


@pytest.mark.parametrize(("given", "text"), UNREADABLE)
def test_a_sum_that_cannot_be_told_is_refused(given: Given, text: str) -> None:
    with pytest.raises(FormulaError) as refused:
        given.read(text)

    assert refused.value.code in ("formula.sum", "formula.subscript")
    assert refused.value.column == text.rindex("sum") + (0 if "\\" in text else 1)


def test_an_index_of_one_sum_is_unknown_outside_it() -> None:
    with pytest.raises(FormulaError) as refused:
        MEANS.read(r"\sum_{i=1}^n \mu_i + \mu_i")

    assert (refused.value.code, refused.value.column) == ("formula.subscript", 22)
