"""Formulas as students write them in LaTeX, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

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


def both(given: Given) -> Array:
    return np.asarray(50 * (given.mu_a + given.mu_b))


def projection(given: Given) -> Array:
    return np.asarray(given.A @ given.A.T)


def complement(given: Given) -> Array:
    return np.asarray(np.eye(5) - given.B @ given.B.T)


def filtered(given: Given) -> Array:
    return np.asarray(np.outer(given.u_b, given.u_c) / (given.u_b @ given.u_b))


LATEX: list[Row] = [
    (MEANS, r"50(\mu_a+\mu_b)", both),
    (MEANS, r"50\left(\mu_{a}+\mu_{b}\right)", both),
    (MEANS, r"50 \cdot \bigl( \mu_a + \mu_b \bigr)", both),
    (MEANS, r"50 \times \{\mu_a + \mu_b\}", both),
    (MEANS, r"50\,\mu_a + 50\;\mu_b", both),
    (MEANS, r"$50(\mu_a+\mu_b)$", both),
    (MEANS, r"\(50(\mu_a+\mu_b)\)", both),
    (MEANS, r"\[ 50(\mu_a+\mu_b) \]", both),
    (MEANS, r"\boxed{50(\mu_a+\mu_b)}", both),
    (MEANS, r"50(\boldsymbol{\mu}_a + \bm{\mu}_{b})", both),
    (MEANS, r"50(\boldsymbol\mu_a + {\bf \mu}_b)", both),
    (MEANS, r"50(\mu_{\mathrm{a}} + \mu_\mathrm{b})", both),
    (MEANS, r"50(\mu_a + \mu_b) \\", both),
    (MEANS, r"\begin{aligned} q &= 50\mu_a \\ &\quad + 50\mu_b \end{aligned}", both),
    (MEANS, r"\begin{equation*} 50(\mu_a + \mu_b) \tag{1} \end{equation*}", both),
    (MEANS, r"5\times 10^1(\mu_a+\mu_b)", both),
    (MEANS, r"\frac{100}{2}(\mu_a+\mu_b)", both),
    (MEANS, r"\frac{\mu_a + \mu_b}{0.02}", both),
    (MEANS, r"10{,}000\mu_a", lambda g: 10_000 * g.mu_a),
    (MEANS, r"1\,000\,000 \mu_a", lambda g: 1e6 * g.mu_a),
    (MEANS, r"10^{6}\mu_a", lambda g: 1e6 * g.mu_a),
    (MEANS, r"1.5 \cdot 10^{-3}\mu_a", lambda g: 1.5e-3 * g.mu_a),
    (MEANS, r"\tfrac12 \mu_a", lambda g: g.mu_a / 2),
    (MEANS, r"\frac12\mu_a+\frac{1}3\mu_b", lambda g: g.mu_a / 2 + g.mu_b / 3),
    (MEANS, r"\frac1n \mu_a", lambda g: g.mu_a / 5),
    (MEANS, r"\dfrac{\mu_a}{\sqrt{d}}", lambda g: g.mu_a / 2),
    (MEANS, r"\sqrt{n}^2 \mu_a", lambda g: 5 * g.mu_a),
    (MEANS, r"\sqrt2 \mu_a", lambda g: np.sqrt(2) * g.mu_a),
    (MEANS, r"\log(10^{6})(\mu_a + \mu_b)", lambda g: np.log(1e6) * (g.mu_a + g.mu_b)),
    (MEANS, r"\ln 10^{6} \mu_a", lambda g: np.log(1e6) * g.mu_a),
    (MEANS, r"\exp(5)\mu_a", lambda g: np.exp(5) * g.mu_a),
    (MEANS, r"\exp\{5\} \mu_a", lambda g: np.exp(5) * g.mu_a),
    (MEANS, r"e^{5}\mu_a", lambda g: np.exp(5) * g.mu_a),
    (MEANS, r"e^{-n}\mu_a", lambda g: np.exp(-5) * g.mu_a),
    (MEANS, r"2\pi\mu_a", lambda g: 2 * np.pi * g.mu_a),
    (MEANS, r"\mu_a^\top\mu_b", lambda g: g.mu_a @ g.mu_b),
    (MEANS, r"\mu_a \cdot \mu_b", lambda g: g.mu_a @ g.mu_b),
    (KEYS, r"50\vec{k}_a", lambda g: 50 * g.k_a),
    (KEYS, r"50\vec k_a", lambda g: 50 * g.k_a),
    (KEYS, r"50\mathbf k_{a}", lambda g: 50 * g.k_a),
    (KEYS, r"\left\langle k_a, k_b\right\rangle k_a", lambda g: (g.k_a @ g.k_b) * g.k_a),
    (KEYS, r"(k_a^\top k_b)\, k_a", lambda g: (g.k_a @ g.k_b) * g.k_a),
    (KEYS, r"\lvert k_a^\top k_b\rvert k_a", lambda g: abs(g.k_a @ g.k_b) * g.k_a),
    (BASES, r"A A^\top", projection),
    (BASES, r"AA^{T}", projection),
    (BASES, r"A A^{\mathsf{T}}", projection),
    (BASES, r"A A^\mathsf{T}", projection),
    (BASES, r"A A^{\mathsf T}", projection),
    (BASES, r"A A^\mathrm{T}", projection),
    (BASES, r"A A^{\rm T}", projection),
    (BASES, r"A A^{\!\top}", projection),
    (BASES, r"A A^{\intercal}", projection),
    (BASES, r"A A^\prime", projection),
    (BASES, r"A \cdot A^\top", projection),
    (BASES, r"\mathbf{A}\mathbf{A}^\top", projection),
    (BASES, r"\operatorname{diag}([1, 2, 3])", lambda g: np.diag([1.0, 2, 3])),
    (BASES, r"I - BB^\top", complement),
    (BASES, r"I_d - B B^\top", complement),
    (BASES, r"\mathbf{I} - B B^\top", complement),
    (BASES, r"\mathbf{I}_{d} - B B^\top", complement),
    (BASES, r"I_{d\times d} - BB^\top", complement),
    (BASES, r"\mathrm{Id}_d - BB^\top", complement),
    (BASES, r"\mathbb{I}_5 - BB^\top", complement),
    (BASES, r"A(A^\top A)^{-1}", lambda g: g.A @ np.linalg.inv(g.A.T @ g.A)),
    (SIDES, r"2 S S^\top", lambda g: 2 * g.S @ g.S.T),
    (SIDES, r"2TT^{T}", lambda g: 2 * g.T @ g.T.T),
    (INPUTS, r"\beta\left(u_a+u_b\right)", lambda g: 7.3 * (g.u_a + g.u_b)),
    (INPUTS, r"\mathbf{u}_{\mathrm{b}}", lambda g: g.u_b),
    (INPUTS, r"u_{a} u_{b}^{\top}", lambda g: np.outer(g.u_a, g.u_b)),
    (INPUTS, r"u_a \otimes u_b", lambda g: np.outer(g.u_a, g.u_b)),
    (INPUTS, r"\frac{u_b u_c^T}{\|u_b\|^2}", filtered),
    (INPUTS, r"\frac{u_b u_c^T}{\lVert u_b\rVert^2}", filtered),
    (INPUTS, r"\frac{u_b u_c^T}{\lVert u_b\rVert_2^2}", filtered),
    (INPUTS, r"\frac{u_b u_c^T}{\left\|u_b\right\|_{2}^{2}}", filtered),
    (INPUTS, r"\frac{u_b u_c^T}{\left|\left|u_b\right|\right|^2}", filtered),
    (INPUTS, r"\frac{u_b u_c^T}{|u_b|^2}", filtered),
    (INPUTS, r"\frac{u_b u_c^T}{u_b^\top u_b}", filtered),
    (
        INPUTS,
        r"\frac{1}{\beta^2}\left(u_b u_b^\top - u_c u_c^\top\right)",
        lambda g: (np.outer(g.u_b, g.u_b) - np.outer(g.u_c, g.u_c)) / 7.3**2,
    ),
    (
        PAIR,
        r"v^\top\,\mathrm{softmax}\left(k k_i\right)",
        lambda g: g.v.T @ np.exp(g.k @ g.k_i) / np.exp(g.k @ g.k_i).sum(),
    ),
]


@pytest.mark.parametrize(("given", "text", "expected"), as_parameters(LATEX))
def test_latex_means_what_it_shows(given: Given, text: str, expected: Expected) -> None:
    assert_value(given, text, expected, named="q")
