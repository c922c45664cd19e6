"""Formulas as students type them, in plain text and Unicode, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.formula_tables import PLAIN
from tests.support.formulas import (
    Expected,
    Given,
    as_parameters,
    assert_value,
    make_given,
)


@pytest.mark.parametrize(("given", "text", "expected"), as_parameters(PLAIN))
def test_plain_text_means_what_it_says(given: Given, text: str, expected: Expected) -> None:
    assert_value(given, text, expected, named="M")


def test_of_two_names_that_letters_could_begin_with_the_longer_is_meant() -> None:
    question = make_given({"m": np.array(2.0), "mu": np.array(3.0), "u": np.array(5.0)}, n=7)

    assert question.value("mun") == 3 * 7
    assert question.value("nm u") == 7 * 2 * 5
