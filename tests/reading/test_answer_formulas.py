"""A text that is plainly a formula is not examined as a pasted array, and never was one."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.domain.shapes import NUMBER, Shape, make_column_shape, make_matrix_shape
from grader.reading import answer
from grader.reading.paste import MAX_TEXT_LENGTH, is_pasted_array
from tests.support.formula_tables import LATEX, PLAIN, SUMS
from tests.support.rubrics import submit

SHAPES = st.sampled_from([NUMBER, make_column_shape(3), make_matrix_shape(2, 3)])
PIECES = st.lists(
    st.sampled_from(
        [
            *["1", "-2.5", "3e2", "nan", "q", "q_1", "=", " ", "\n", ";", "_", "^", "*", "/", "{"],
            *["(", ")", "[", "]", ",", "\t", "k_a", "np.float64(", "array(", r"\begin{matrix}"],
        ]
    ),
    max_size=12,
).map("".join)


@given(PIECES | st.text(max_size=20), SHAPES)
@example("q_1 = 1 2 3", make_column_shape(3))
@example("1 2 _", make_column_shape(3))
def test_a_plain_formula_is_never_a_pasted_array(text: str, shape: Shape) -> None:
    assert not (answer._is_plain_formula(text) and is_pasted_array(text, shape=shape))


def test_a_text_too_long_for_a_formula_is_left_to_the_paste() -> None:
    text = "_" * (MAX_TEXT_LENGTH + 1)

    assert is_pasted_array(text)
    assert not answer._is_plain_formula(text)


def test_most_formulas_are_found_to_be_plain() -> None:
    texts = [text for _, text, _ in (*PLAIN, *LATEX, *SUMS)]

    assert sum(map(answer._is_plain_formula, texts)) > 0.7 * len(texts)


def test_reading_a_plain_formula_does_not_enter_the_paste(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "is_pasted_array", lambda *_, **__: pytest.fail("was entered"))

    submit("attention-exploration/3b", {"q": "2 k_a - k_b"})
