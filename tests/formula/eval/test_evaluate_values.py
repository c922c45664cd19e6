"""Laws of values: NumPy and Python agree with what is computed, for every way of writing."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grader.domain.shapes import NUMBER, Shape, make_column_shape, make_matrix_shape, make_row_shape
from tests.support.formulas import KEYS
from tests.support.generated_formulas import QUESTION, SIZES, Sample, formulas

SHAPES = st.one_of(
    st.just(NUMBER),
    st.sampled_from(SIZES).map(make_column_shape),
    st.sampled_from(SIZES).map(make_row_shape),
    st.builds(make_matrix_shape, st.sampled_from(SIZES), st.sampled_from(SIZES)),
)


@st.composite
def samples(draw: st.DrawFn) -> tuple[Shape, Sample]:
    shape = draw(SHAPES)
    return shape, draw(formulas(shape))


@settings(max_examples=400, deadline=None)
@given(samples())
def test_a_formula_has_the_shape_and_the_value_that_numpy_gives(
    sample: tuple[Shape, Sample],
) -> None:
    shape, written = sample
    formula = QUESTION.read(written.text)
    value = QUESTION.value(written.text)

    assert formula.shape == shape
    np.testing.assert_allclose(value, written.value, rtol=1e-9, atol=1e-9)


@st.composite
def arithmetic(draw: st.DrawFn, depth: int = 4) -> str:
    """An expression of numbers that Python reads, too, with few brackets.

    They are floats, because Python would compute 7 ** 7 ** 7 ** 7 to its last digit.
    """
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(["1.0", "2.0", "3.0", "0.5", "7.0", "1e1"]))
    left, right = draw(arithmetic(depth - 1)), draw(arithmetic(depth - 1))
    ways = ["{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} ** {}", "-{}", "({})", "({}) * ({})"]
    return draw(st.sampled_from(ways)).format(left, right)


@settings(max_examples=400, deadline=None)
@given(arithmetic())
def test_operations_bind_as_they_do_in_python(text: str) -> None:
    try:
        expected = eval(text, {"__builtins__": {}})
    except (OverflowError, ZeroDivisionError):
        assume(False)
    assume(isinstance(expected, float | int) and abs(expected) < 1e300)

    np.testing.assert_allclose(KEYS.value(text), float(expected), rtol=1e-12)
    np.testing.assert_allclose(KEYS.value(text.replace("**", "^")), float(expected), rtol=1e-12)
