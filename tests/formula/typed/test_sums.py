"""Sums as papers write them, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from grader.errors import FormulaError
from tests.support.formulas import (
    BASES,
    INPUTS,
    KEYS,
    MEANS,
    PAIR,
    SIDES,
    Array,
    Expected,
    Given,
    Row,
    as_parameters,
    assert_value,
)


def projection(given: Given) -> Array:
    return np.asarray(given.A @ given.A.T)


def others(given: Given, family: str, *left_out: str) -> Array:
    """The sum of all members but some."""
    places = [given.indices[index] for index in left_out]
    return np.asarray(np.delete(given.values[family], places, axis=0).sum(axis=0))


def neither(given: Given) -> Array:
    return others(given, "mu", "a", "b")


def attention(given: Given) -> Array:
    weights = np.exp(given.k @ given.k_i)
    return np.asarray(given.v.T @ weights / weights.sum())


SUMS: list[Row] = [
    (BASES, r"\sum_{j=1}^m a_j a_j^\top", projection),
    (BASES, r"\sum_{j=1}^{m} a_j a_j^{\top}", projection),
    (BASES, r"\sum_{j=1}^ma_ja_j^T", projection),
    (BASES, r"\sum\limits_{j=1}^{m} \mathbf{a}_j \mathbf{a}_j^{\top}", projection),
    (BASES, r"\displaystyle\sum_{j=1}^{m}{a_{j}a_{j}^{T}}", projection),
    (BASES, r"\sum^m_{j=1} a_j a_j^\top", projection),
    (BASES, r"\sum_{j=1}^3 a_j a_j^\top", projection),
    (BASES, r"\sum_j a_j a_j^\top", projection),
    (BASES, r"\sum_{\ell=1}^m a_\ell a_\ell^\top", projection),
    (BASES, r"\sum_{1 \le j \le m} a_j a_j^\top", projection),
    (BASES, r"\sum_{j \in [m]} a_j a_j^\top", projection),
    (BASES, r"\sum_{j \in \{1,\dots,m\}} a_j a_j^\top", projection),
    (BASES, "sum_{j=1}^m a_j a_j'", projection),
    (BASES, "∑_(j=1)^m a_j a_jᵀ", projection),
    (BASES, r"\sum_{j=2}^m a_j a_j^\top", lambda g: g.A[:, 1:] @ g.A[:, 1:].T),
    (BASES, r"\sum_{j \neq 1} a_j a_j^\top", lambda g: g.A[:, 1:] @ g.A[:, 1:].T),
    (BASES, r"\sum_{j \in \{1,3\}} a_j", lambda g: g.a_1 + g.a_3),
    (BASES, r"\sum_{j=1}^p a_j b_j^\top", lambda g: g.A[:, :2] @ g.B.T),
    (BASES, r"\sum_{i=1}^m\sum_{j \neq i} a_i a_j^\top", lambda g: off_diagonal(g.A)),
    (BASES, r"I - \sum_{j=1}^p b_j b_j^\top", lambda g: np.eye(5) - g.B @ g.B.T),
    (SIDES, r"2\sum_{i=1}^{S} s_i s_i^\top", lambda g: 2 * g.S @ g.S.T),
    (SIDES, r"2\sum_{i=1}^T t_i t_i^\top", lambda g: 2 * g.T @ g.T.T),
    (MEANS, r"\sum_{i\ne a,b}\mu_i", neither),
    (MEANS, r"\sum_{i \notin \{a,b\}} \mu_i", neither),
    (MEANS, r"\sum_{i \not\in \{a,b\}} \mu_i", neither),
    (MEANS, r"\sum_{i\neq a, i\neq b} \mu_i", neither),
    (MEANS, r"\sum_{i\neq a \land i\neq b} \mu_i", neither),
    (MEANS, r"\sum_{i \neq a \text{ and } i \neq b} \mu_i", neither),
    (MEANS, r"\sum_{i \neq a \neq b} \mu_i", neither),
    (MEANS, r"\sum_{i=1, i\neq a,b}^n \mu_i", neither),
    (MEANS, r"\sum_{i: i \neq a,b} \mu_i", neither),
    (MEANS, r"\sum_{\substack{i=1\\ i\neq a,b}}^n \mu_i", neither),
    (MEANS, r"\sum_{\substack{i\neq a\\ i\neq b}} \mu_i", neither),
    (MEANS, r"\sum_{i \in \{1,\ldots,n\}\setminus\{a,b\}} \mu_i", neither),
    (MEANS, "∑_{i≠a,b} μ_i", neither),
    (MEANS, "sum_{i != a, b} mu_i", neither),
    (MEANS, "sum_{i not in {a, b}} mu_i", neither),
    (MEANS, r"-50\sum_{i \notin \{a,b\}} \mu_i", lambda g: -50 * neither(g)),
    (MEANS, "-50 * sum_{i != a,b} mu_i", lambda g: -50 * neither(g)),
    (MEANS, r"-\frac{50}{n-2}\sum_{i\neq a,b}\mu_i", lambda g: -50 / 3 * neither(g)),
    (MEANS, r"\sum_{i \in \{a,b\}} 50\mu_i", lambda g: 50 * (g.mu_a + g.mu_b)),
    (MEANS, r"\sum_i \mu_i - \mu_a", lambda g: others(g, "mu", "a")),
    (MEANS, r"n \mu_a / \sum_{i=1}^n 1", lambda g: g.mu_a),
    (KEYS, r"\frac1n\sum_{i=1}^n k_i", lambda g: g.k.mean(axis=0)),
    (KEYS, r"k_a^\top \sum_{i=1}^n k_i", lambda g: g.k_a @ g.k.sum(axis=0)),
    (PAIR, r"\sum_{m \neq i,j} k_m", lambda g: others(g, "k", "i", "j")),
    (PAIR, r"\sum_{i=1}^n k_i", lambda g: g.k.sum(axis=0)),
    (PAIR, r"k_i + \sum_{i=1}^n k_i", lambda g: g.k_i + g.k.sum(axis=0)),
    (PAIR, r"50 k_i - 30\sum_{l\ne i} k_l", lambda g: 50 * g.k_i - 30 * others(g, "k", "i")),
    (PAIR, r"\sum_l \frac{\exp(k_l^\top k_i)}{\sum_m \exp(k_m^\top k_i)} v_l", attention),
    (PAIR, r"\sum_{l=1}^n v_l \frac{e^{k_l^\top k_i}}{\sum_{m=1}^n e^{k_m^\top k_i}}", attention),
    (INPUTS, r"\sum_{j=1}^3 x_j x_j^\top", lambda g: g.x.T @ g.x),
]


def off_diagonal(basis: Array) -> Array:
    total = basis.sum(axis=1)
    return np.asarray(np.outer(total, total) - basis @ basis.T)


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
