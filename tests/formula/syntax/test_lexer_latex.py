"""Formulas as students write them in LaTeX, against NumPy."""

from __future__ import annotations

import pytest

from tests.support.formula_tables import LATEX
from tests.support.formulas import (
    Expected,
    Given,
    as_parameters,
    assert_value,
)


@pytest.mark.parametrize(("given", "text", "expected"), as_parameters(LATEX))
def test_latex_means_what_it_shows(given: Given, text: str, expected: Expected) -> None:
    assert_value(given, text, expected, named="q")
