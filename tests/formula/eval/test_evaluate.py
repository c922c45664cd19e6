"""Evaluation over answers and key sets, and what the engine relies on to be fast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.domain.shapes import NUMBER, make_matrix_shape
from grader.engine.functions import RUBRIC_FUNCTIONS
from grader.errors import FormulaError
from grader.formula.eval.evaluate import (
    Environment,
    LazyMatrix,
    evaluate,
    evaluate_finite,
    take_row,
)
from grader.formula.eval.softmax import softmax
from grader.formula.formula import read_tree
from grader.formula.typed.scope import Family, FormulaScope
from grader.formula.typed.tree import Multiply, Node, has_bound_index, list_nodes
from tests.support.formulas import Array

ANSWERS, KEY_SETS = 3, 4
generator = np.random.default_rng(11)
MU = generator.standard_normal((ANSWERS, 1, 5, 4))
K = generator.standard_normal((ANSWERS, KEY_SETS, 5, 4))
Q = generator.standard_normal((ANSWERS, 1, 4))
INDICES = {"a": np.array([0, 3, 2]), "b": np.array([4, 1, 0])}
ENVIRONMENT = Environment({"mu": MU, "k": K, "q": Q}, INDICES)
SCOPE = FormulaScope(
    constants={"n": 5, "d": 4},
    indices={"a": 5, "b": 5},
    functions=RUBRIC_FUNCTIONS,
    allows_conditions=True,
).with_shapes(
    {
        "mu": make_matrix_shape(5, 4),
        "k": make_matrix_shape(5, 4),
        "q": read_tree("ones(4)", FormulaScope()).shape,
    }
)


def read(text: str) -> Node:
    return read_tree(text, SCOPE)


def one_by_one(text: str) -> Array:
    """The value computed for each answer and key set by itself, and put together."""
    node = read(text)
    rows = []
    for answer in range(ANSWERS):
        cells = []
        for key_set in range(KEY_SETS):
            values = {
                "mu": MU[answer : answer + 1],
                "k": K[answer : answer + 1, key_set : key_set + 1],
                "q": Q[answer : answer + 1],
            }
            indices = {name: index[answer : answer + 1] for name, index in INDICES.items()}
            cells.append(evaluate(node, Environment(values, indices))[0, 0])
        rows.append(np.stack(cells))
    return np.stack(rows)


@pytest.mark.parametrize(
    "text",
    [
        "mu_a + mu_b",
        "mu_a^T k_b",
        "k q",
        "softmax(k q)",
        "q^T k^T k",
        "k^T softmax(k q)",
        "k_a mu_b^T k_b",
        "unit(a) unit(b)^T",
        "tv(softmax(k q), unit(a))",
        "sum_{i != a, b} k_i",
        "sum_{i in {a, b}} mu_i k_i^T",
        "sum_i sum_{j != i} (k_i^T mu_j) k_j",
        "[k_a, k_b] q",
        "norm(k) mu_a / norm(q)",
        "inv(k^T k) q",
        "(k^T k)^2 q",
        "max(k q) >= 0 and mu_a^T q < 1",
        "diag(k q)",
    ],
)
def test_all_answers_and_key_sets_at_once_are_each_by_itself(text: str) -> None:
    together = evaluate(read(text), ENVIRONMENT)
    expected = one_by_one(text)

    np.testing.assert_allclose(
        np.broadcast_to(together, expected.shape), expected, rtol=1e-12, atol=1e-12
    )


def test_a_matrix_without_inverse_spoils_its_own_answer_only() -> None:
    matrices = generator.standard_normal((ANSWERS, 2, 3, 3))
    matrices[1, 0] = 0
    scope = FormulaScope().with_shapes({"M": make_matrix_shape(3, 3)})

    for text in ("inv(M)", "M^-1"):
        inverse = evaluate(read_tree(text, scope), Environment({"M": matrices}))
        assert np.isnan(inverse[1, 0]).all()
        kept = np.ones((ANSWERS, 2), dtype=bool)
        kept[1, 0] = False
        np.testing.assert_allclose(inverse[kept] @ matrices[kept], [np.eye(3)] * 5, atol=1e-9)


def test_the_first_part_that_is_not_finite_is_named() -> None:
    with pytest.raises(FormulaError, match=r"log\(0 - 1\) is the logarithm"):
        evaluate_finite(read("q + 2 exp(log(0 - 1)) q"), ENVIRONMENT)


# What the engine computes beforehand


def test_a_part_that_is_ready_is_not_computed_again() -> None:
    node = read("mu_a^T q + 1")
    (part,) = (each for each in list_nodes(node) if isinstance(each, Multiply))
    known = replace(ENVIRONMENT, ready={id(part): np.full((ANSWERS, 1), 41.0)})

    np.testing.assert_array_equal(evaluate(node, known), np.full((ANSWERS, 1), 42.0))


def test_a_ready_part_is_used_on_the_left_of_a_product_too() -> None:
    node = read("(mu^T mu) q")
    assert isinstance(node, Multiply)
    known = replace(ENVIRONMENT, ready={id(node.left): np.zeros((ANSWERS, 1, 4, 4))})

    np.testing.assert_array_equal(evaluate(node, known), np.zeros((ANSWERS, 1, 4)))


def test_values_are_overwritten_only_where_they_are_read_once() -> None:
    scores = generator.standard_normal((ANSWERS, KEY_SETS, 5))
    scope = FormulaScope().with_shapes({"s": read("k q").shape})
    node = read_tree("softmax(s)", scope)
    before = scores.copy()

    first = evaluate(node, Environment({"s": scores}))
    np.testing.assert_array_equal(scores, before)
    second = evaluate(node, Environment({"s": scores}, read_once=frozenset({"s"})))
    np.testing.assert_array_equal(first, second)
    assert np.shares_memory(second, scores)


def test_a_ready_value_is_never_overwritten() -> None:
    node = read("softmax(k q)")
    (part,) = (each for each in list_nodes(node) if isinstance(each, Multiply))
    scores = np.asarray(evaluate(part, ENVIRONMENT))
    before = scores.copy()

    evaluate(node, replace(ENVIRONMENT, ready={id(part): scores}))

    np.testing.assert_array_equal(scores, before)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        pytest.param("sum_{i=1}^n mu_i mu_i^T", True, id="a product of members"),
        pytest.param("sum_{a=1}^n mu_a mu_a^T", True, id="called like a drawn index"),
        pytest.param("sum_{i=1}^n mu_b mu_b^T", False, id="a drawn index"),
    ],
)
def test_a_part_of_a_sum_is_known_to_change_from_term_to_term(text: str, inside: bool) -> None:
    node = read(text)
    (product,) = (each for each in list_nodes(node) if isinstance(each, Multiply))

    assert not has_bound_index(node)
    assert has_bound_index(product) is inside


def test_a_sum_that_leaves_out_an_outer_index_changes_with_it() -> None:
    outer = read("sum_{i=1}^n sum_{j != i} mu_j")
    (inner,) = outer.children()

    assert has_bound_index(inner)
    assert not has_bound_index(outer)


# Matrices that are never built


class Watched(LazyMatrix):
    """Rows that remember what was asked of them."""

    __slots__ = ("asked", "matrices")

    def __init__(self, matrices: Array) -> None:
        self.matrices = matrices
        self.asked: list[str] = []

    def times(self, vectors: Array) -> Array:
        self.asked.append("times")
        return np.asarray(np.matmul(self.matrices, vectors[..., None])[..., 0])

    def softmax_times(self, vectors: Array) -> Array:
        self.asked.append("softmax_times")
        return softmax(np.matmul(self.matrices, vectors[..., None])[..., 0])

    def row(self, position: int | NDArray[np.intp]) -> Array:
        self.asked.append("row")
        return take_row(self.matrices, position)

    def row_dot(self, position: int | NDArray[np.intp], vectors: Array) -> Array:
        self.asked.append("row_dot")
        return np.asarray((take_row(self.matrices, position) * vectors).sum(axis=-1))

    def whole(self) -> Array:
        self.asked.append("whole")
        return self.matrices


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        pytest.param("k q", ["times"], id="times a column"),
        pytest.param("k_a + q", ["row"], id="one row"),
        pytest.param("q^T k_a", ["row_dot"], id="a row times a vector"),
        pytest.param("k k^T", ["whole", "whole"], id="times a matrix"),
        pytest.param("softmax(k q)", ["softmax_times"], id="softmax of a product with a column"),
        pytest.param("softmax(2 (k q))", ["times"], id="softmax of more than that"),
        pytest.param("k^T softmax(k q)", ["whole", "softmax_times"], id="transposed"),
        pytest.param("sum_i k_i", ["row"] * 5, id="a sum over rows"),
    ],
)
def test_a_matrix_is_built_only_where_there_is_no_other_way(text: str, asked: list[str]) -> None:
    keys = Watched(K)
    watched = Environment({**ENVIRONMENT.values, "k": keys}, INDICES)

    np.testing.assert_allclose(
        evaluate(read(text), watched), evaluate(read(text), ENVIRONMENT), rtol=1e-12
    )
    assert keys.asked == asked


def test_a_family_by_columns_of_a_matrix_that_is_never_built_takes_columns() -> None:
    scope = replace(SCOPE, families={"c": Family("k", 4, 5, by_columns=True, numbered=True)})
    watched = Environment({**ENVIRONMENT.values, "k": Watched(K)}, INDICES)

    column = evaluate(read_tree("c_2", scope), watched)
    length = evaluate(read_tree("c_2^T c_2", scope), watched)

    np.testing.assert_array_equal(column, K[..., 1])
    np.testing.assert_allclose(length, (K[..., 1] ** 2).sum(axis=-1))
    assert read_tree("c_2^T c_2", scope).shape == NUMBER
