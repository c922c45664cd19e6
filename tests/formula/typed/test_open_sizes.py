"""Issue 10, item 10: `I` and `unit(i)` know their size from their place, or are written with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grader.domain.shapes import (
    NUMBER,
    OPEN_SQUARE,
    make_column_shape,
    make_matrix_shape,
)
from grader.engine.functions import RUBRIC_FUNCTIONS
from grader.errors import FormulaError
from grader.formula.eval.evaluate import evaluate_finite
from grader.formula.formula import read_formula, read_tree
from grader.formula.typed.tree import Identity, Node, list_nodes
from tests.support.formulas import Array, make_given

_normal = np.random.default_rng(10).standard_normal
#: No two sizes are equal, and none is called `d`; two indices count different things.
GIVEN = make_given(
    {"A": _normal((5, 3)), "B": _normal((3, 5)), "G": _normal((4, 4)), "x": _normal((2, 6))},
    families={},
    m=3, p=5,
)  # fmt: skip
SCOPE = replace(
    GIVEN.scope, functions=RUBRIC_FUNCTIONS, allows_conditions=True, indices={"i": 5, "j": 3}
).with_shapes({})


def read(text: str, **expected: tuple[int, int]) -> Node:
    shape = make_matrix_shape(*expected["shape"]) if expected else None
    return read_tree(text, SCOPE, shape=shape)


def value(node: Node) -> Array:
    return np.asarray(evaluate_finite(node, GIVEN.environment())[0, 0])


@pytest.mark.parametrize(
    ("text", "same"),
    [
        pytest.param("I + G", "I_4 + G", id="added on the left"),
        pytest.param("G - I", "G - I_4", id="taken away on the right"),
        pytest.param("I A", "A", id="a matrix on the right"),
        pytest.param("A I", "A", id="a matrix on the left"),
        pytest.param("B (2 I) A", "2 B A", id="between two matrices"),
        pytest.param("A I + I A", "2 A", id="two sizes in one formula"),
        pytest.param("A A^T - I", "A A^T - I_5", id="a product that is square"),
        pytest.param("B (I - A B) A", "B A - B A B A", id="in brackets"),
        pytest.param("I [1, 2, 3]", "[1, 2, 3]", id="a column"),
        pytest.param("[1, 2, 3]^T I", "[1, 2, 3]^T", id="a row"),
        pytest.param("(-I)^T G", "-G", id="negative and transposed"),
        pytest.param("(I + I)^2 A", "4 A", id="a power of a sum"),
        pytest.param("2 I * 3 I / 4 A", "1.5 A", id="a product of multiples"),
        pytest.param("inv(2 I) A", "A / 2", id="an inverse"),
        pytest.param("transpose(I) G", "G", id="a function that keeps the size"),
        pytest.param("exp(I) [1, 2]", "exp(I_2) [1, 2]", id="entry by entry"),
        pytest.param(r"\sum_{i=1}^3 I + G", "3 I_4 + G", id="a sum over an index"),
        pytest.param(r"(\sum_{i=1}^3 2 I) G", "6 G", id="a sum as a factor"),
        pytest.param("distance(G, 2 I)", "distance(G, 2 I_4)", id="beside another argument"),
        pytest.param("distance(I, G)", "distance(I_4, G)", id="before another argument"),
        pytest.param(
            "self_attention(x, I, I, 2 I)", "self_attention(x, I_6, I_6, 2 I_6)", id="three of them"
        ),
        pytest.param("trace(I + G)", "trace(I_4 + G)", id="settled inside a function"),
        pytest.param("norm(I G)^2", "norm(G)^2", id="settled inside a norm"),
        pytest.param("I_m B", "B", id="the name of a size"),
        pytest.param("I_{m} B", "B", id="the name of a size in braces"),
        pytest.param("I_3 B", "B", id="a size"),
        pytest.param("identity(m) B", "B", id="a function of a size"),
        pytest.param("Id B", "B", id="written Id"),
    ],
)  # fmt: skip
def test_an_identity_has_the_size_that_its_place_needs(text: str, same: str) -> None:
    node, other = read(text), read(same)

    assert node.shape == other.shape
    assert all(each.shape != OPEN_SQUARE for each in list_nodes(node))
    np.testing.assert_allclose(value(node), value(other), rtol=1e-12)


@pytest.mark.parametrize("text", ["I", "-2 I", "I^T", "(I / 2)^3", "I + I", "inv(I I)"])
def test_an_identity_has_the_size_that_is_asked_for(text: str) -> None:
    node = read(text, shape=(4, 4))

    assert {each.shape for each in list_nodes(node) if isinstance(each, Identity)} == {
        make_matrix_shape(4, 4)
    }
    np.testing.assert_allclose(value(node), value(read(text.replace("I", "I_4"))))


@pytest.mark.parametrize(
    ("text", "column"),
    [
        pytest.param("I", 1, id="alone"),
        pytest.param("2 (I + I)", 4, id="a sum"),
        pytest.param("norm(I) A", 6, id="a norm"),
        pytest.param("A + trace(2 I) A", 13, id="a trace"),
        pytest.param("distance(I, 2 I)", 10, id="two of them beside each other"),
        pytest.param("diag(I)", 6, id="a diagonal"),
        pytest.param("sum(I I)", 5, id="a sum of entries"),
    ],
)
def test_a_size_that_stays_open_is_refused_with_what_to_write(text: str, column: int) -> None:
    with pytest.raises(FormulaError, match="size of I does not follow") as refused:
        read(text)

    assert (refused.value.code, refused.value.column) == ("formula.subscript", column)
    assert refused.value.hint == "Write it as a subscript: I_3 or I_m."


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("A + I", "Cannot add a 5 × 3 matrix and a square matrix.", id="not square"),
        pytest.param("2 + I", "Cannot add a number and a square matrix.", id="a number"),
        pytest.param("I + [1, 2]", "Cannot add a square matrix and a column", id="a column"),
        pytest.param("[1, 2] I", "Cannot multiply a column vector", id="a column on the left"),
        pytest.param("distance(A, I)", "a 5 × 3 matrix and a square matrix", id="another argument"),
        pytest.param("softmax(I)", "a vector, but it is given a square matrix", id="function"),
        pytest.param("I_3 A", "Cannot multiply a 3 × 3 matrix by a 5 × 3 matrix", id="written"),
    ],
)  # fmt: skip
def test_a_place_where_no_identity_fits_is_told(text: str, says: str) -> None:
    with pytest.raises(FormulaError) as refused:
        read(text)

    assert says in str(refused.value)


def test_where_something_else_than_a_square_matrix_is_asked_for_that_is_told() -> None:
    for shape in (NUMBER, make_column_shape(3), make_matrix_shape(3, 5)):
        with pytest.raises(FormulaError, match=f"must be {shape.describe()}") as refused:
            read_formula("2 I", SCOPE, shape=shape)

        assert refused.value.code == "answer.shape"


def test_a_question_with_a_size_called_d_gives_it_no_meaning_of_its_own() -> None:
    scope = replace(SCOPE, constants={"d": 7, "n": 8})

    assert read_tree("I G", scope).shape == make_matrix_shape(4, 4)
    assert read_tree("unit(i)", scope).shape == make_column_shape(5)
    with pytest.raises(FormulaError):
        read_tree("I", scope)


@pytest.mark.parametrize(
    ("text", "length"), [("unit(i)", 5), ("unit(j)", 3), ("unit(j, m)", 3), ("unit(i, 5)", 5)]
)
def test_a_unit_vector_is_as_long_as_its_index_counts(text: str, length: int) -> None:
    assert read(text).shape == make_column_shape(length)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("unit(i, m)", "i is one of 5, so unit(i) has 5 entries, not m."),
        ("unit(j, 5)", "j is one of 3, so unit(j) has 3 entries, not 5."),
        ("unit(i, m + 2)", "not m + 2"),
        ("unit(k)", ""),
        ("unit(1)", "takes a drawn index"),
        ("unit(i, m, p)", "takes a drawn index"),
        ("unit((i))", "takes a drawn index"),
    ],
)
def test_a_unit_vector_of_another_length_is_refused(text: str, says: str) -> None:
    with pytest.raises(FormulaError) as refused:
        read(text)

    assert says in str(refused.value)


def test_only_indices_that_count_its_members_are_subscripts_of_a_family() -> None:
    scope = replace(SCOPE, shapes={}, families={}).with_shapes(
        {"A": make_matrix_shape(5, 3), "B": make_matrix_shape(3, 5)}
    )

    assert set(scope.members()) == {"A_i", "B_j"}
    with pytest.raises(FormulaError, match="A_j is not known here: j is one of 3, not of 5"):
        read_tree("A_j", scope)
    with pytest.raises(FormulaError, match="i is not an index here: it is one of 5, but this sum"):
        read_tree(r"\sum_{k \neq i} B_k", scope)
    assert read_tree(r"\sum_{k \neq j} B_k", scope).shape == make_column_shape(5)
