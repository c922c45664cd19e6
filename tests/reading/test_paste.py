from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from grader.domain.shapes import NUMBER, Shape
from grader.domain.shapes import make_column_shape as column
from grader.domain.shapes import make_matrix_shape as matrix
from grader.domain.shapes import make_row_shape as row
from grader.errors import AnswerRefused, FieldError
from grader.reading.cells import PasteFormat
from grader.reading.numbers import Array
from grader.reading.paste import MAX_TEXT_LENGTH, PastedArray, is_pasted_array, read_pasted
from tests.support.growth import is_proportional

SHAPES = st.sampled_from(
    [
        NUMBER,
        column(1),
        column(3),
        row(2),
        matrix(2, 3),
        matrix(3, 1),
    ]
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
MATRICES = arrays.arrays(np.float64, (2, 3), elements=FINITE)
VECTORS = arrays.arrays(np.float64, (3,), elements=FINITE)
# Pieces of pastes, put together at random, come closer to the edges than random signs do.
PIECES = st.lists(
    st.sampled_from(list("[](){};,.\n\t =&-+'$\u2028\u00a0\x00\ud800…"))
    | st.sampled_from(["1", "0,5", "2.5e-3", "1" * 400, "nan", "inf", "...", "null", "mu", "\r\n"])
    | st.sampled_from(["q =", "np.array(", "dtype=float)", "np.float64("])
    | st.sampled_from([r"\begin{pmatrix}", r"\end{pmatrix}", r"\\", r"\left(", r"\hline"]),
    max_size=25,
).map("".join)


ROW_END = r" \\ "


def refusal(text: str, shape: Shape) -> list[FieldError]:
    with pytest.raises(AnswerRefused) as refused:
        read_pasted(text, field="q", shape=shape)
    return refused.value.errors


def outcome(text: str, shape: Shape) -> PastedArray | list[FieldError]:
    try:
        return read_pasted(text, field="q", shape=shape)
    except AnswerRefused as refused:
        return refused.errors


def is_well_behaved(outcome: PastedArray | list[FieldError], text: str, shape: Shape) -> bool:
    """Whether it is finite and of the shape, or faults within the text that can be shown."""
    if isinstance(outcome, PastedArray):
        return outcome.values.shape == shape.axes and bool(np.isfinite(outcome.values).all())
    return bool(outcome) and all(
        str(fault).isprintable()
        and len(str(fault)) < 300
        and (fault.column is None or 1 <= fault.column <= len(text))
        for fault in outcome
    )


def lines(numbers: Array, between: str, after: str) -> str:
    return after.join(between.join(map(repr, line)) for line in np.atleast_2d(numbers).tolist())


def as_latex(numbers: Array) -> str:
    return rf"\begin{{bmatrix}} {lines(numbers, ' & ', ROW_END)} \end{{bmatrix}}"


def as_numpy(numbers: Array, write: Callable[[Array], str]) -> str:
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        return write(numbers)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("40 (mu_a + mu_b)", id="a product"),
        pytest.param("q = C(k_a+k_b) where C = 50", id="a named formula with a constant"),
        pytest.param("mu_a where C = 50, t = 1e6", id="several constants"),
        pytest.param(r"\frac{1}{\beta^2}(u_b u_b^\top)", id="LaTeX"),
        pytest.param("[mu_a, mu_b]", id="a list of symbols"),
        pytest.param("[1, 0, 0, C]", id="a list with one symbol"),
        pytest.param("[1/2, 1/3]", id="a list of fractions"),
        pytest.param("1/4", id="a fraction"),
        pytest.param("ln(99*7)", id="a call"),
        pytest.param("max(1, 2, 3, 4, 5, 6, 7)", id="a call with many arguments"),
        pytest.param("diag([1, 2])", id="a call with a list"),
        pytest.param("2*3", id="an operator"),
        pytest.param("2 -3", id="a difference"),
        pytest.param("0.25", id="a single number"),
        pytest.param("q = 0.25", id="a named single number"),
        pytest.param("2 [1, 2, 0]", id="a multiple of a list"),
        pytest.param("[1, 0] [0, 1]", id="two lists"),
        pytest.param("[1, 2, 0]^T [1, 2, 3]", id="a row and a column"),
        pytest.param("[1, 2, 0]^2", id="a power of a list"),
        pytest.param("(1, 2, k_a)", id="a tuple with a symbol"),
        pytest.param("(1 + 2, 3)", id="a tuple with a sum"),
        pytest.param("(5)", id="a number in brackets"),
        pytest.param("[(1)(2), 3]", id="a product in a list"),
        pytest.param("(1, 2) mu_a", id="a tuple and a symbol"),
        pytest.param("(1, 2]", id="brackets that do not match"),
        pytest.param("np.array([1, 2]) * 2", id="an array and an operator"),
        pytest.param("np.array([1, 2], float) * np.sqrt(2)", id="an array and a call"),
        pytest.param(r"\begin{pmatrix}1 & 2\end{pmatrix} \mu_a", id="a matrix and a symbol"),
        pytest.param("1.0e+03 *\n\n 1.0 2.0", id="what MATLAB prints with a common factor"),
        pytest.param("", id="nothing"),
        pytest.param(" \n", id="space"),
    ],
)
def test_a_formula_does_not_look_like_numbers(text: str) -> None:
    assert not is_pasted_array(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[1, 2, 0]", id="a list that a formula could be too"),
        pytest.param("[5]", id="a list of one"),
        pytest.param("[]", id="an empty list"),
        pytest.param("array([[nan, 1.]])", id="NaN"),
        pytest.param("[0. 1. ... 8. 9.]", id="a shortened vector"),
        pytest.param("[[0. ... 9.]\n ...\n [0. ... 9.]]", id="a shortened matrix"),
        pytest.param("0,5; 0,25", id="decimal commas"),
        pytest.param("0,5", id="one decimal comma"),
        pytest.param("1 2 3", id="spaces"),
        pytest.param("1\n-2\n-3", id="a column of signed numbers"),
        pytest.param("1; -2", id="signed numbers after semicolons"),
        pytest.param("1, 2, O.5, 4", id="a table with a wrong cell"),
        pytest.param("x,y\n1,2\n3,4", id="a table with a heading"),
        pytest.param("[1, null]", id="an absent number"),
        pytest.param("[1, 2", id="a bracket that is not closed"),
        pytest.param("np.array([1, abc])", id="a wrong entry in an array"),
        pytest.param("1 " * MAX_TEXT_LENGTH, id="too long for any formula"),
    ],
)
def test_a_pasted_array_looks_like_numbers_even_if_damaged(text: str) -> None:
    assert is_pasted_array(text)


@pytest.mark.parametrize(
    ("text", "shape", "is_vector"),
    [
        pytest.param("1 -2 -3", column(3), True, id="a column"),
        pytest.param("1 -2 -3", row(3), True, id="a row"),
        pytest.param("q = -1  -2.5 -3e2;", column(3), True, id="with a name"),
        pytest.param("1 \u22122 \u22123", column(3), True, id="with signs of the web"),
        pytest.param("1 -2 -3", None, False, id="any shape"),
        pytest.param("1 -2 -3", NUMBER, False, id="a number"),
        pytest.param("1 -2 -3", column(4), False, id="a longer vector"),
        pytest.param("1 -2 -3", matrix(1, 3), False, id="a matrix"),
        pytest.param("2 -3", column(2), False, id="only two numbers"),
        pytest.param("2 - 3", column(2), False, id="a difference"),
        pytest.param("2 - 3", column(3), False, id="a difference of three words"),
        pytest.param("1 - 2 -3", column(3), False, id="one sign that stands alone"),
        pytest.param("1 -2 -x", column(3), False, id="a symbol"),
        pytest.param("1-2-3", column(3), False, id="no spaces"),
    ],
)
def test_a_line_of_signed_numbers_is_a_vector_only_where_one_of_its_length_is_asked_for(
    text: str, shape: Shape | None, is_vector: bool
) -> None:
    assert is_pasted_array(text, shape=shape) is is_vector


def test_a_line_of_signed_numbers_is_read_as_a_vector() -> None:
    pasted = read_pasted("1 -2 -3", field="q", shape=column(3))

    assert pasted.format is PasteFormat.SPACES
    assert pasted.values.tolist() == [1.0, -2.0, -3.0]


M = [[1.0, -2.5, 3.0], [4.0, 5.0, 600.0]]
V = [1.0, -2.5, 3.0]


@pytest.mark.parametrize(
    ("text", "form", "values"),
    [
        pytest.param("[[1, -2.5, 3], [4, 5, 6e2]]", "LIST", M, id="a nested list"),
        pytest.param("[\n  [1, -2.5, 3],\n  [4, 5, 6e2],\n]\n", "LIST", M, id="on several lines"),
        pytest.param("M = [[1, -2.5, 3], [4, 5, 6e2]];", "LIST", M, id="with a name"),
        pytest.param("[1,\n -2.5,\n 3]", "LIST", V, id="a flat list on several lines"),
        pytest.param("[np.float64(1.0), np.float64(-2.5), np.int64(3)]", "LIST", V, id="scalars"),
        pytest.param("[[  1.   -2.5   3. ]\n [  4.    5.  600. ]]", "NUMPY", M, id="printed"),
        pytest.param(
            "array([[   1. ,   -2.5,    3. ],\n       [   4. ,    5. ,  600. ]])", "NUMPY", M,
            id="an array's repr",
        ),
        pytest.param("q = np.array([1, -2.5, 3], dtype=np.float64)", "NUMPY", V, id="a call"),
        pytest.param("torch.tensor([1, -2.5, 3], device='cuda:0')", "NUMPY", V, id="a tensor"),
        pytest.param("tensor([1, -2.5, 3.], grad_fn=<MulBackward0>)", "NUMPY", V, id="a gradient"),
        pytest.param("[1 -2.5 3]", "NUMPY", V, id="a printed vector"),
        pytest.param("[1. -2.5\n 3. ]", "NUMPY", V, id="a printed vector on two lines"),
        pytest.param("[1 -2.5 3; 4 5 600]", "MATLAB", M, id="semicolons"),
        pytest.param("M = [1, -2.5, 3;\n     4, 5, 600];", "MATLAB", M, id="commas, semicolons"),
        pytest.param("[1 -2.5 3\n4 5 600]", "MATLAB", M, id="rows on lines"),
        pytest.param("[1, -2.5, 3\n4, 5, 600]", "MATLAB", M, id="rows on lines, with commas"),
        pytest.param("[1 -2.5 ...\n 3; 4 5...\n 600]", "MATLAB", M, id="continued lines"),
        pytest.param("[[1 -2.5 3]; [4 5 600]]", "MATLAB", M, id="rows in brackets"),
        pytest.param("[1; -2.5; 3]", "MATLAB", V, id="a column for a vector"),
        pytest.param("[1 -2.5 ...\n 3]", "NUMPY", V, id="a continued vector"),
        pytest.param("1,-2.5,3\r\n4,5,6e2\r\n", "CSV", M, id="commas"),
        pytest.param("1, -2.5, 3,\n4, 5, 600,", "CSV", M, id="commas at the ends"),
        pytest.param("1\n-2.5\n3\n", "SPACES", V, id="a column of a spreadsheet"),
        pytest.param("1\t-2.5\t3\n4\t5\t600\n", "TSV", M, id="tabs"),
        pytest.param("\t1\t-2.5\t3\n\t4\t5\t600", "TSV", M, id="indented by tabs"),
        pytest.param("M =\n\n   1.0  -2.5   3.0\n   4.0   5.0 600.0\n", "SPACES", M, id="spaces"),
        pytest.param("\ufeff1\u00a0\u22122.5\u20093", "SPACES", V, id="signs of the web"),
        pytest.param(
            r"\begin{pmatrix} 1 & -2.5 & 3 \\ 4 & 5 & 600 \end{pmatrix}", "LATEX", M,
            id="LaTeX",
        ),
        pytest.param(
            r"$M=\left[\begin{array}{cc|c} 1&-2.5&3 \\ \hline 4&5&6e2 \\[2pt] \end{array}\right]$",
            "LATEX", M, id="LaTeX with all around it",
        ),
        pytest.param(
            r"\mathbf{q} = \begin{vmatrix} 1 \\ -2.5 \\ 3 \\ \end{vmatrix}.", "LATEX", V,
            id="a LaTeX column for a vector",
        ),
        pytest.param("0.25", "SPACES", 0.25, id="a number"),
    ],
)  # fmt: skip
def test_every_format_is_recognised_and_read(
    text: str, form: str, values: float | list[float] | list[list[float]]
) -> None:
    shape = {0: NUMBER, 1: column(3), 2: matrix(2, 3)}[np.ndim(values)]

    pasted = read_pasted(text, field="q", shape=shape)

    assert pasted.format is PasteFormat[form]
    assert pasted.values.tolist() == values
    assert is_pasted_array(text) or not np.ndim(values)


@pytest.mark.parametrize(
    "shape",
    [pytest.param(row(3), id="row"), pytest.param(column(3), id="column")],
)
@pytest.mark.parametrize("text", ["[1 2 3]", "[1; 2; 3]", "1,2,3", "1\n2\n3", "1;2;3"])
def test_a_vector_may_stand_upright_or_lie(text: str, shape: Shape) -> None:
    assert read_pasted(text, field="q", shape=shape).values.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("text", "shape", "code", "path", "place"),
    [
        pytest.param("[1, 2]", column(3), "answer.shape", (), None, id="too short"),
        pytest.param("[[1], [2]]", column(3), "answer.shape", (), None, id="a nested column"),
        pytest.param("[[1], [nan]]", column(2), "number.nan", (1, 0), 8, id="in a nested column"),
        pytest.param("1 2\n3 4", column(4), "answer.shape", (), None, id="a table for a vector"),
        pytest.param("[1, 2, 3]", matrix(1, 3), "answer.shape", (), None, id="flat for a matrix"),
        pytest.param("[1 2; 3 4; 5 6]", matrix(2, 3), "answer.shape", (), None, id="transposed"),
        pytest.param("[0.25]", NUMBER, "answer.shape", (), None, id="a list for a number"),
        pytest.param("[[[[[1]]]]]", column(1), "answer.shape", (), None, id="five levels"),
        pytest.param("[1 2 ...\n 3; 4 5 6]", matrix(2, 4), "answer.shape", (), None, id="MATLAB"),
        pytest.param("1 2 3\n4 5", matrix(2, 3), "row.length", (1,), None, id="ragged"),
        pytest.param("[]", column(2), "answer.empty", (), None, id="an empty list"),
        pytest.param("q = ;", column(2), "answer.empty", (), None, id="only a name"),
        pytest.param("array([[nan, 1.]])", matrix(1, 2), "number.nan", (0, 0), 9, id="NaN"),
        pytest.param("[1 -Inf]", column(2), "number.infinite", (1,), 4, id="infinity"),
        pytest.param("1, 1e309", column(2), "number.infinite", (1,), 4, id="beyond the range"),
        pytest.param("9" * 5000 + " 1", column(2), "number.infinite", (0,), 1, id="5000 digits"),
        pytest.param(
            "[1, 9007199254740993]", column(2), "number.precision", (1,), 5, id="would be rounded"
        ),
        pytest.param("[1, null]", column(2), "number.type", (1,), 5, id="null"),
        pytest.param("[1. 2. ... 9.]", column(1001), "paste.truncated", (), 8, id="shortened"),
        pytest.param(
            "[1. 2. ...\n 9.]", column(1001), "paste.truncated", (), 8, id="at a line's end"
        ),
        pytest.param(
            "array([1., ..., 9.], shape=(1001,))",
            column(1001),
            "paste.truncated",
            (),
            12,
            id="a shortened repr",
        ),
        pytest.param(
            "[[1 2]\n ...\n [3 4]]", matrix(2, 2), "paste.truncated", (), 9, id="rows left out"
        ),
        pytest.param(
            r"\begin{matrix}1 & \cdots & 9\end{matrix}",
            column(9),
            "paste.truncated",
            (),
            19,
            id="dots in LaTeX",
        ),
        pytest.param("0,5; 0,25", column(2), "paste.decimal_comma", (), 1, id="semicolons"),
        pytest.param("0,5; 0,25", matrix(2, 2), "paste.decimal_comma", (), 1, id="for a matrix"),
        pytest.param("0,5\t0,25", column(2), "paste.decimal_comma", (), 1, id="comma and tab"),
        pytest.param("1 0,25", column(2), "paste.decimal_comma", (), 3, id="comma and space"),
        pytest.param("0,5\n0,25", column(2), "paste.decimal_comma", (), 1, id="comma and line"),
        pytest.param("[0,5, 0,25]", column(2), "paste.decimal_comma", (), 2, id="only commas"),
        pytest.param("[0,5; 0,25]", column(2), "paste.decimal_comma", (), 2, id="in brackets"),
        pytest.param("0,5", NUMBER, "paste.decimal_comma", (), 1, id="for a number"),
        pytest.param(
            r"\begin{matrix}0,5 & 1\end{matrix}",
            column(2),
            "paste.decimal_comma",
            (),
            15,
            id="comma in LaTeX",
        ),
        pytest.param("[1, abc]", column(2), "paste.unreadable", (1,), 5, id="a word"),
        pytest.param("[[1, 2], [3, 1/4]]", matrix(2, 2), "paste.unreadable", (1, 1), 14, id="1/4"),
        pytest.param("1\n2\n3.4.5", column(3), "paste.unreadable", (2,), 5, id="two points"),
        pytest.param("1_000 2", column(2), "paste.unreadable", (0,), 1, id="an underscore"),
        pytest.param("\u0661 \u0662", column(2), "paste.unreadable", (0,), 1, id="other digits"),
        pytest.param("1,,3", column(3), "paste.unreadable", (1,), 3, id="an empty cell"),
        pytest.param("[[1,,3]]", matrix(1, 3), "paste.unreadable", (0, 1), 5, id="empty in a list"),
        pytest.param(
            r"\begin{matrix}1 & \\ 2 & 3\end{matrix}",
            matrix(2, 2),
            "paste.unreadable",
            (0, 1),
            19,
            id="empty in LaTeX",
        ),
        pytest.param(
            r"\begin{matrix}1 2 & 3\end{matrix}",
            column(3),
            "paste.unreadable",
            (0,),
            15,
            id="two numbers in one cell of LaTeX",
        ),
        pytest.param("[1, 2", column(2), "paste.unreadable", (), 1, id="not closed"),
        pytest.param("[[1, 2], [3, 4]", matrix(2, 2), "paste.unreadable", (), 1, id="nor here"),
        pytest.param("[1, 2] + mu", column(2), "paste.unreadable", (), 8, id="more behind"),
        pytest.param("[[1]] [2]", matrix(1, 1), "paste.unreadable", (), 7, id="a second list"),
        pytest.param("[" * 9 + "1" + "]" * 9, column(1), "paste.unreadable", (), 6, id="too deep"),
        pytest.param("1\x00 2", column(2), "paste.unreadable", (), 2, id="NUL"),
        pytest.param("1 \x1b[0m2", column(2), "paste.unreadable", (), 3, id="a control character"),
        pytest.param("1 2\u2028", column(2), "paste.unreadable", (1,), 3, id="a foreign line end"),
        pytest.param(
            "1 " * MAX_TEXT_LENGTH, column(2), "paste.unreadable", (), None, id="too long"
        ),
    ],
)
def test_a_refusal_has_a_code_and_a_place(
    text: str, shape: Shape, code: str, path: tuple[int, ...], place: int | None
) -> None:
    fault = refusal(text, shape)[0]

    assert (fault.code, fault.path, fault.column) == (code, path, place)
    assert fault.expected


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        pytest.param(
            "[1, abc]", column(2), 'q, entry 2 is "abc"; write a plain number such as 0.25.',
            id="a word",
        ),
        pytest.param(
            "[1, 2", column(2), 'q cannot be read: "[" is never closed.', id="a bracket"
        ),
        pytest.param(
            "[1 ... 9]", column(9),
            'q contains "...", so numbers were left out when it was printed. '
            "In NumPy, call np.set_printoptions(threshold=np.inf, precision=17) "
            "and print it again.",
            id="a shortened array",
        ),
        pytest.param(
            "0,5; 0,25", column(2),
            'q contains "0,5", which may mean the number 0.5 or the two numbers 0 and 5. '
            "Write decimal points, or put a space after each comma that separates two numbers.",
            id="a decimal comma",
        ),
        pytest.param(
            "[[1], [2]]", column(3),
            "q is a 2 × 1 matrix; a column vector of 3 numbers is needed. "
            "Write it as a flat list of 3 numbers.",
            id="a shape, in the words of sent numbers",
        ),
    ],
)  # fmt: skip
def test_a_refusal_says_what_to_do(text: str, shape: Shape, message: str) -> None:
    assert str(refusal(text, shape)[0]) == message


def test_commas_without_spaces_separate_where_only_that_fits_the_shape() -> None:
    read = [read_pasted(text, field="M", shape=matrix(2, 2)) for text in ("[0,5;1,2]", "0,5\n1,2")]

    assert [pasted.values.tolist() for pasted in read] == [[[0.0, 5.0], [1.0, 2.0]]] * 2


def test_no_more_than_twenty_characters_of_the_text_are_repeated() -> None:
    fault = refusal("[1, " + "x" * 1000 + "]", column(2))[0]

    assert fault.got == '"' + "x" * 20 + '…"'


@pytest.mark.parametrize(
    "unit",
    [
        *[
            "1",
            "1,",
            "1 ",
            "0,5 ",
            "[",
            "[1,",
            "] ",
            " ",
            "\n",
            "\t",
            ",",
            ";",
            "a",
            "a.",
            "a=",
            "\\",
        ],
        *["...\n", "[1],", ",a", "1e", "np.float64(", "array(", r"\begin{array}{", r"\left", "&"],
        *["(", "(1,", ")", "(1, 2),", "^T", "'"],
    ],
)
def test_no_text_takes_more_than_linear_time(unit: str) -> None:
    def read(text: str) -> None:
        is_pasted_array(text)
        outcome(text, column(3))

    befores = ["", "[1", "[[1", "(1,", "array([1]", "q", r"\begin{matrix}"]
    for before, after in product(befores, ["", "]", "x", r"\end{matrix}"]):

        def make_text(length: int, before: str = before, after: str = after) -> str:
            return before + unit * (length // len(unit)) + after

        # Where the square of the length outweighs the length here, the longest text that is read
        # would take half a minute.
        assert is_proportional(read, make_text, MAX_TEXT_LENGTH // 32), (before, after)


@given(st.text() | PIECES, SHAPES)
@example("[1]\u2028", column(1))
@example("[[1]]\u2028;", column(1))
def test_no_text_raises_anything_but_a_refusal(text: str, shape: Shape) -> None:
    is_pasted_array(text)

    assert is_well_behaved(outcome(text, shape), text, shape)


def matrix_texts(numbers: Array) -> Iterable[tuple[str, str]]:
    yield "NUMPY", as_numpy(numbers, repr)
    yield "NUMPY", as_numpy(numbers, str)
    yield "NUMPY", f"np.array({numbers.tolist()})"
    yield "LIST", str(numbers.tolist())
    yield "LIST", str([list(line) for line in numbers])
    yield "MATLAB", f"[{lines(numbers, ' ', '; ')}]"
    yield "MATLAB", "M = [" + lines(numbers, ", ", "\n") + "];"
    yield "CSV", lines(numbers, ",", "\n")
    yield "TSV", lines(numbers, "\t", "\r\n")
    yield "SPACES", lines(numbers, "  ", "\n")
    yield "LATEX", as_latex(numbers)


@given(MATRICES)
def test_every_printed_matrix_comes_back_to_the_last_bit(numbers: Array) -> None:
    for form, text in matrix_texts(numbers):
        pasted = read_pasted(text, field="M", shape=matrix(2, 3))

        assert is_pasted_array(text)
        assert pasted.format is PasteFormat[form]
        assert pasted.values.tobytes() == (numbers + 0.0).tobytes()


@given(VECTORS)
def test_every_printed_vector_comes_back_to_the_last_bit(numbers: Array) -> None:
    upright = numbers[:, np.newaxis]
    texts = [as_numpy(numbers, repr), as_numpy(numbers, str), str(numbers.tolist())]
    texts += [f"[{lines(upright, '', ';')}]", lines(upright, "", "\n"), lines(numbers, ", ", "")]
    for text in [*texts, as_latex(numbers), as_latex(upright)]:
        pasted = read_pasted(text, field="q", shape=column(3))

        assert is_pasted_array(text)
        assert pasted.values.tobytes() == (numbers + 0.0).tobytes()


def test_a_long_printed_vector_is_read_across_its_line_breaks() -> None:
    numbers = np.random.default_rng(0).standard_normal(64)
    text = as_numpy(numbers, str)

    assert "\n" in text
    assert np.array_equal(read_pasted(text, field="q", shape=column(64)).values, numbers)


def test_what_numpy_prints_of_a_long_vector_is_known_to_be_shortened() -> None:
    for write in (repr, str):
        text = write(np.linspace(0.0, 1.0, 1001))

        assert is_pasted_array(text)
        assert refusal(text, column(1001))[0].code == "paste.truncated"
