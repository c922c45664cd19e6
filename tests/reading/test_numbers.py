from __future__ import annotations

import json
import time
import timeit
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from grader.domain.shapes import NUMBER, Shape, make_column_shape, make_matrix_shape, make_row_shape
from grader.errors import MAX_PLACES, AnswerRefused, FieldError
from grader.reading.locations import format_excerpt
from grader.reading.numbers import MAX_ENTRIES, Array, read_array

SHAPES = st.sampled_from(
    [
        NUMBER,
        make_column_shape(1),
        make_column_shape(3),
        make_row_shape(2),
        make_matrix_shape(2, 3),
        make_matrix_shape(3, 1),
    ]
)
JSON_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)
JSON_VALUES = st.recursive(
    JSON_SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def refusal(value: object, shape: Shape, field: str = "q") -> list[FieldError]:
    with pytest.raises(AnswerRefused) as refused:
        read_array(value, field=field, shape=shape)
    return refused.value.errors


def outcome(value: object, shape: Shape) -> Array | list[FieldError]:
    try:
        return read_array(value, field="q", shape=shape)
    except AnswerRefused as refused:
        return refused.errors


def is_well_behaved(outcome: Array | list[FieldError], shape: Shape) -> bool:
    """Whether it is finite and of the shape, or faults that can be shown to a person."""
    if isinstance(outcome, list):
        return bool(outcome) and all(str(fault).isprintable() for fault in outcome)
    return outcome.shape == shape.axes and bool(np.isfinite(outcome).all())


def nested(depth: int) -> list[Any]:
    value: list[Any] = [1.0]
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        pytest.param(0.25, NUMBER, id="a number"),
        pytest.param(np.float32(0.25), NUMBER, id="a NumPy number"),
        pytest.param(np.array(0.25), NUMBER, id="an array without axes"),
        pytest.param([1.5, -2.0, 3.0], make_column_shape(3), id="a column"),
        pytest.param([1.5, -2.0], make_row_shape(2), id="a row, flat as a column is"),
        pytest.param([1, 2, 3], make_column_shape(3), id="integers"),
        pytest.param([2**53, -(2**53)], make_column_shape(2), id="the largest exact integers"),
        pytest.param([[1, 2.5, 3], [4, 5, 6]], make_matrix_shape(2, 3), id="a matrix"),
        pytest.param([[1], [2], [3]], make_matrix_shape(3, 1), id="a matrix of one column"),
        pytest.param(((1, 2, 3), (4, 5, 6)), make_matrix_shape(2, 3), id="tuples"),
        pytest.param(
            [np.array([1, 2, 3]), (4, 5, 6)], make_matrix_shape(2, 3), id="rows of several types"
        ),
        pytest.param(
            [np.int8(1), np.float16(2)], make_column_shape(2), id="a list of NumPy numbers"
        ),
        pytest.param(
            np.arange(6, dtype=np.int32).reshape(2, 3), make_matrix_shape(2, 3), id="an int array"
        ),
        pytest.param(
            np.arange(6.0).reshape(3, 2).T, make_matrix_shape(2, 3), id="a transposed view"
        ),
        pytest.param(
            np.array([1, 2], dtype=">f8"), make_column_shape(2), id="bytes in the other order"
        ),
    ],
)
def test_numbers_of_the_right_shape_are_read(value: object, shape: Shape) -> None:
    array = read_array(value, field="q", shape=shape)

    assert array.dtype == np.float64
    assert array.shape == shape.axes
    assert array.flags.c_contiguous
    assert np.array_equal(array, np.array(value))


def test_the_array_does_not_share_memory_with_what_was_sent() -> None:
    sent = np.array([1.0, 2.0])

    read_array(sent, field="q", shape=make_column_shape(2))[0] = 9.0

    assert sent[0] == 1.0


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        pytest.param(-0.0, NUMBER, id="a number"),
        pytest.param([-0.0, 1.0], make_column_shape(2), id="a list"),
        pytest.param(np.array([[-0.0, 1.0]]), make_matrix_shape(1, 2), id="an array"),
    ],
)
def test_negative_zeros_become_zeros(value: object, shape: Shape) -> None:
    assert not np.signbit(read_array(value, field="q", shape=shape)).any()


@pytest.mark.parametrize(
    ("value", "shape", "code", "path", "message"),
    [
        pytest.param(
            [1.0, 2.0], make_column_shape(3), "answer.shape", (), "q has 2 numbers; 3 are needed.",
            id="a vector too short",
        ),
        pytest.param(
            [[1.0], [2.0]], make_column_shape(3), "answer.shape", (),
            "q is a 2 × 1 matrix; a column vector of 3 numbers is needed.",
            id="a nested column that is too short",
        ),
        pytest.param(
            [[1.0], [None], [3.0]], make_column_shape(3), "number.type", (1, 0),
            "q, row 2, entry 1 is null; write a plain number such as 0.25.",
            id="null in a nested column",
        ),
        pytest.param(
            [[1.0, 2.0, True]], make_column_shape(3), "number.type", (0, 2),
            "q, row 1, entry 3 is true; write a plain number such as 0.25.",
            id="true in a nested row",
        ),
        pytest.param(
            [[1.0], [2.0, 3.0]], make_column_shape(3), "answer.shape", (),
            "q is 2 rows of different lengths; a column vector of 3 numbers is needed.",
            id="ragged rows for a vector",
        ),
        pytest.param(
            0.5, make_column_shape(3), "answer.shape", (),
            "q is a single number; a column vector of 3 numbers is needed.",
            id="a number for a vector",
        ),
        pytest.param(
            [1.0, 2.0, 3.0], make_matrix_shape(1, 3), "answer.shape", (),
            "q is a flat list of length 3; a 1 × 3 matrix is needed.",
            id="a flat list for a matrix",
        ),
        pytest.param(
            [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], make_matrix_shape(2, 3), "answer.shape", (),
            "q is a 3 × 2 matrix; a 2 × 3 matrix is needed.",
            id="a transposed matrix",
        ),
        pytest.param(
            [[1.0, 2.0], [3.0, 4.0]], make_matrix_shape(2, 3), "answer.shape", (),
            "q is a 2 × 2 matrix; a 2 × 3 matrix is needed.",
            id="all rows too short",
        ),
        pytest.param(
            [[[1.0], [2.0]]], make_matrix_shape(1, 2), "answer.shape", (),
            "q is a list with 3 levels of nesting; a 1 × 2 matrix is needed.",
            id="an axis too many",
        ),
        pytest.param(
            [[1.0, 2.0], 3.0], make_matrix_shape(2, 2), "answer.shape", (1,),
            "q, row 2 is a single number; a list of 2 numbers is needed.",
            id="a number for a row",
        ),
        pytest.param(
            [1.0], NUMBER, "answer.shape", (),
            "q is a flat list of length 1; a number is needed.",
            id="a list for a number",
        ),
        pytest.param(
            [[1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0]], make_matrix_shape(2, 5),
            "row.length", (1,),
            "q, row 2 has 3 numbers; 5 are needed.",
            id="a ragged matrix",
        ),
        pytest.param(
            [], make_column_shape(3), "answer.empty", (),
            "q is empty; a column vector of 3 numbers is needed.",
            id="an empty list",
        ),
        pytest.param(
            [[], []], make_matrix_shape(2, 3), "answer.empty", (),
            "q is empty; a 2 × 3 matrix is needed.",
            id="empty rows",
        ),
        pytest.param(
            None, make_column_shape(3), "number.type", (),
            "q is null; a column vector of 3 numbers is needed.",
            id="null for a vector",
        ),
        pytest.param(
            [0.0, 0.0, 0.0, True], make_column_shape(4), "number.type", (3,),
            "q, entry 4 is true; write a plain number such as 0.25.",
            id="true for a number",
        ),
        pytest.param(
            [[1.0, "0.5"]], make_matrix_shape(1, 2), "number.type", (0, 1),
            'q, row 1, entry 2 is the text "0.5"; write a plain number such as 0.25.',
            id="text for a number",
        ),
        pytest.param(
            [1.0, [2.0]], make_column_shape(2), "number.type", (1,),
            "q, entry 2 is a list; write a plain number such as 0.25.",
            id="a list among numbers",
        ),
        pytest.param(
            {"x": 1}, NUMBER, "number.type", (),
            "q is an object; write a plain number such as 0.25.",
            id="an object for a number",
        ),
        pytest.param(
            [float("nan"), 1.0], make_column_shape(2), "number.nan", (0,),
            "q, entry 1 is NaN, which is not a number; write a plain number such as 0.25.",
            id="NaN",
        ),
        pytest.param(
            json.loads("[1, -1e309]"), make_column_shape(2), "number.infinite", (1,),
            "q, entry 2 is infinite or beyond 1.8e308; write a finite number such as 1e6.",
            id="a number beyond the range of floats",
        ),
        pytest.param(
            [1, 10**5000], make_column_shape(2), "number.infinite", (1,),
            "q, entry 2 is infinite or beyond 1.8e308; write a finite number such as 1e6.",
            id="an integer beyond the range of floats",
        ),
        pytest.param(
            [1, 2**53 + 1], make_column_shape(2), "number.precision", (1,),
            "q, entry 2 is the integer 9007199254740993, which is too large to be stored exactly.",
            id="an integer that would be rounded",
        ),
    ],
)  # fmt: skip
def test_a_fault_has_a_code_a_place_and_a_sentence(
    value: object, shape: Shape, code: str, path: tuple[int, ...], message: str
) -> None:
    (fault,) = refusal(value, shape)

    assert (fault.code, fault.path, fault.message) == (code, path, message)
    assert fault.expected
    assert fault.got


@pytest.mark.parametrize(
    ("value", "shape", "hint"),
    [
        pytest.param([[1.0, 2], [3, 4]], make_column_shape(4), "as a flat list", id="a square"),
        pytest.param([[[1.0, 2.0]]], make_column_shape(2), "as a flat list", id="nested twice"),
        pytest.param(
            [[1], [2], [3]], make_matrix_shape(1, 3), "transposed: send q.T", id="a transpose"
        ),
        pytest.param(
            [1, 2, 3], make_matrix_shape(1, 3), "a list of 1 row with 3", id="a flat list"
        ),
        pytest.param(
            [2**60], make_column_shape(1), "with a decimal point", id="an integer too large"
        ),
    ],
)
def test_a_hint_says_how_to_put_it_right(value: object, shape: Shape, hint: str) -> None:
    assert hint in refusal(value, shape)[0].hint


def test_a_square_matrix_is_never_called_transposed() -> None:
    assert refusal([[1.0, 2.0, 3.0]] * 3, make_matrix_shape(2, 2))[0].hint == ""


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(np.array([True, False]), id="bool"),
        pytest.param(np.array([1.0, 2.0], dtype=object), id="object"),
        pytest.param(np.array([1j, 2.0]), id="complex"),
        pytest.param(np.array(["1", "2"]), id="text"),
        pytest.param(np.array([0, 1], dtype="datetime64[s]"), id="dates"),
        pytest.param([np.True_, 1.0], id="a NumPy bool in a list"),
        pytest.param([1j, 1.0], id="a complex number in a list"),
        pytest.param([Decimal("0.5"), 1.0], id="a decimal in a list"),
    ],
)
def test_arrays_and_entries_of_other_types_are_refused(value: object) -> None:
    assert [fault.code for fault in refusal(value, make_column_shape(2))] == ["number.type"]


def test_a_masked_entry_is_refused_and_not_read_from_under_its_mask() -> None:
    sent = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])

    assert [fault.path for fault in refusal(sent, make_column_shape(3))] == [(1,)]


def test_a_long_double_beyond_the_range_is_infinite() -> None:
    sent = np.array(["1e4000", "1"], dtype=np.longdouble)

    assert [fault.code for fault in refusal(sent, make_column_shape(2))] == ["number.infinite"]
    assert [fault.code for fault in refusal(list(sent), make_column_shape(2))] == [
        "number.infinite"
    ]


def test_all_faults_are_told_at_once() -> None:
    faults = refusal(
        [[1.0, None], [True, 2.0, 3.0], [1.0, 2.0, "x"]], make_matrix_shape(2, 3), field="M"
    )

    assert [(fault.code, fault.path) for fault in faults] == [
        ("answer.shape", ()),
        ("row.length", (0,)),
        ("number.type", (0, 1)),
        ("number.type", (1, 0)),
        ("number.type", (2, 2)),
    ]


def test_no_more_than_fifty_faults_are_told() -> None:
    assert len(refusal([None] * 1000, make_column_shape(1000))) == MAX_PLACES


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([0.0] * (MAX_ENTRIES + 1), id="a long list"),
        pytest.param((0.0,) * (MAX_ENTRIES + 1), id="a long tuple"),
        pytest.param([[0.0] * 1000] * 100_000, id="a hundred million entries"),
        pytest.param([[0.0] * MAX_ENTRIES, [0.0]], id="a long and a short row"),
        pytest.param(np.broadcast_to(0.0, (10**5, 10**5)), id="a huge array"),
        pytest.param(nested(5), id="one level too deep"),
        pytest.param(nested(100_000), id="far too deep"),
        pytest.param(np.zeros((1,) * 5), id="an array of five axes"),
    ],
)
def test_what_is_too_large_is_refused_without_a_walk(value: object) -> None:
    for shape in (NUMBER, make_column_shape(3), make_matrix_shape(2, 3)):
        begun = time.process_time()

        assert refusal(value, shape)[0].code == "answer.shape"
        assert time.process_time() - begun < 1


def test_a_list_within_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)

    assert refusal(loop, make_column_shape(1))[0].code == "answer.shape"


def test_what_was_sent_is_repeated_only_in_short_and_printable() -> None:
    assert format_excerpt("\x1b[31m" + "x" * 100) == "�[31m" + "x" * 15 + "…"


def test_a_clean_vector_is_read_within_tens_of_microseconds() -> None:
    sent = np.linspace(-1.0, 1.0, 64).tolist()

    best = min(
        timeit.repeat(
            lambda: read_array(sent, field="q", shape=make_column_shape(64)), number=100, repeat=20
        )
    )

    assert best / 100 < 100e-6


@given(JSON_VALUES, SHAPES)
def test_no_json_value_raises_anything_but_a_refusal(value: object, shape: Shape) -> None:
    assert is_well_behaved(outcome(value, shape), shape)


@given(
    arrays.arrays(
        arrays.scalar_dtypes() | arrays.complex_number_dtypes() | arrays.unicode_string_dtypes(),
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    ),
    SHAPES,
)
def test_no_numpy_array_raises_anything_but_a_refusal(value: object, shape: Shape) -> None:
    assert is_well_behaved(outcome(value, shape), shape)


@given(arrays.arrays(np.float64, (2, 3), elements=FINITE))
def test_finite_numbers_are_read_to_the_last_bit(numbers: Array) -> None:
    for sent in (numbers, numbers.tolist(), json.loads(json.dumps(numbers.tolist()))):
        array = read_array(sent, field="M", shape=make_matrix_shape(2, 3))

        assert array.tobytes() == (numbers + 0.0).tobytes()
