"""Formulas as students type them, in plain text and Unicode, against NumPy."""

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
    make_given,
)


def attention(given: Given, scores: Array) -> Array:
    weights = np.exp(scores)
    return np.asarray(given.v.T @ weights / weights.sum())


PLAIN: list[Row] = [
    (MEANS, "100*(mu_a+mu_b)", lambda g: 100 * (g.mu_a + g.mu_b)),
    (MEANS, "100 * mu_a + 100 * mu_b", lambda g: 100 * (g.mu_a + g.mu_b)),
    (MEANS, "mu_a*100", lambda g: 100 * g.mu_a),
    (MEANS, "40 mu_a - 3mu_b", lambda g: 40 * g.mu_a - 3 * g.mu_b),
    (MEANS, "1/2 mu_a", lambda g: g.mu_a / 2),
    (MEANS, "mu_a/2/n", lambda g: g.mu_a / 10),
    (MEANS, "-mu_a", lambda g: -g.mu_a),
    (MEANS, "2*-mu_a", lambda g: -2 * g.mu_a),
    (MEANS, "nmu_a", lambda g: 5 * g.mu_a),
    (MEANS, "mu mu_a", lambda g: g.mu @ g.mu_a),
    (MEANS, "mu^T mu mu_a", lambda g: g.mu.T @ g.mu @ g.mu_a),
    (MEANS, "1_000 mu_a", lambda g: 1000 * g.mu_a),
    (MEANS, "1.5e3mu_a", lambda g: 1500 * g.mu_a),
    (MEANS, ".5 mu_a", lambda g: 0.5 * g.mu_a),
    (MEANS, "5. mu_a", lambda g: 5 * g.mu_a),
    (MEANS, "2**3 mu_a", lambda g: 8 * g.mu_a),
    (MEANS, "log(100)(mu_a + mu_b)", lambda g: np.log(100) * (g.mu_a + g.mu_b)),
    (MEANS, "log 100 mu_a", lambda g: np.log(100) * g.mu_a),
    (MEANS, "log 10^2 mu_a", lambda g: np.log(100) * g.mu_a),
    (MEANS, "log(10)^2 mu_a", lambda g: np.log(10) ** 2 * g.mu_a),
    (MEANS, "2e^3 mu_a", lambda g: 2 * np.exp(3) * g.mu_a),
    (MEANS, "e^-n mu_a", lambda g: np.exp(-5) * g.mu_a),
    (MEANS, "2 pi mu_a", lambda g: 2 * np.pi * g.mu_a),
    (MEANS, "10⁶ μ_a", lambda g: 1e6 * g.mu_a),
    (MEANS, "10⁻³ μ_a", lambda g: 1e-3 * g.mu_a),
    (MEANS, "μₐ + μ_b", lambda g: g.mu_a + g.mu_b),
    (MEANS, "√2 μ_a", lambda g: np.sqrt(2) * g.mu_a),
    (MEANS, "50·(μ_a − μ_b)", lambda g: 50 * (g.mu_a - g.mu_b)),
    (MEANS, "μ_a · μ_b", lambda g: g.mu_a @ g.mu_b),
    (KEYS, "½(k_a + k_b)", lambda g: (g.k_a + g.k_b) / 2),
    (KEYS, "50[k_a + k_b]", lambda g: 50 * (g.k_a + g.k_b)),
    (KEYS, "－５０ （𝑘_𝑎 ＋ 𝑘_𝑏）", lambda g: -50 * (g.k_a + g.k_b)),
    (KEYS, "⟨k_a, k_b⟩ k_a", lambda g: (g.k_a @ g.k_b) * g.k_a),
    (KEYS, "|k_a||k_b|", lambda g: np.linalg.norm(g.k_a) * np.linalg.norm(g.k_b)),
    (KEYS, "k^T [1, 0, 0, 0, 0]", lambda g: g.k[0]),
    (KEYS, "[k_a, k_b] k_a", lambda g: np.array([g.k_a @ g.k_a, g.k_b @ g.k_a])),
    (KEYS, "k_a^Tk_bk_a", lambda g: (g.k_a @ g.k_b) * g.k_a),
    (KEYS, "50\nk_a\n+ 50 k_b", lambda g: 50 * (g.k_a + g.k_b)),
    (KEYS, "softmax(k k_a)", lambda g: np.exp(g.k @ g.k_a) / np.exp(g.k @ g.k_a).sum()),
    (BASES, "AA^T", lambda g: g.A @ g.A.T),
    (BASES, "A A'", lambda g: g.A @ g.A.T),
    (BASES, "A @ A.T", lambda g: g.A @ g.A.T),
    (BASES, "A Aᵀ", lambda g: g.A @ g.A.T),
    (BASES, "A A^⊤", lambda g: g.A @ g.A.T),
    (BASES, "a_1a_1^T+a_2a_2^T", lambda g: g.A[:, :2] @ g.A[:, :2].T),
    (BASES, "a₁a₂ᵀ", lambda g: np.outer(g.a_1, g.a_2)),
    (BASES, "a_1 ⊗ b_2", lambda g: np.outer(g.a_1, g.b_2)),
    (BASES, "I - BB^T", lambda g: np.eye(5) - g.B @ g.B.T),
    (BASES, "I_d - B B^T", lambda g: np.eye(5) - g.B @ g.B.T),
    (BASES, "Id - B B^T", lambda g: np.eye(5) - g.B @ g.B.T),
    (BASES, "eye(d) - B B^T", lambda g: np.eye(5) - g.B @ g.B.T),
    (BASES, "A (A^T A)^-1 A^T", lambda g: g.A @ np.linalg.inv(g.A.T @ g.A) @ g.A.T),
    (BASES, "A (AᵀA)⁻¹ Aᵀ", lambda g: g.A @ np.linalg.inv(g.A.T @ g.A) @ g.A.T),
    (BASES, "(A A^T)^2", lambda g: g.A @ g.A.T @ g.A @ g.A.T),
    (SIDES, "2SS^T", lambda g: 2 * g.S @ g.S.T),
    (SIDES, "2 S S'", lambda g: 2 * g.S @ g.S.T),
    (SIDES, "TT^T", lambda g: g.T @ g.T.T),
    (SIDES, "T^TT", lambda g: g.T.T @ g.T),
    (SIDES, "S^TT", lambda g: g.S.T @ g.T),
    (SIDES, "(t_1^T s_2)^T I", lambda g: (g.t_1 @ g.s_2) * np.eye(5)),
    (INPUTS, "u_b u_c.T / beta^2", lambda g: np.outer(g.u_b, g.u_c) / 7.3**2),
    (INPUTS, "u_b u_c^T / ||u_b||^2", lambda g: np.outer(g.u_b, g.u_c) / (g.u_b @ g.u_b)),
    (INPUTS, "u_b u_c^T / ‖u_b‖₂²", lambda g: np.outer(g.u_b, g.u_c) / (g.u_b @ g.u_b)),
    (INPUTS, "x_1 x_2^T + d I", lambda g: np.outer(g.x_1, g.x_2) + 6 * np.eye(6)),
    (INPUTS, "norm(x) I", lambda g: np.linalg.norm(g.x) * np.eye(6)),
    (PAIR, "v^T softmax(4 k k_i)", lambda g: attention(g, 4 * g.k @ g.k_i)),
]


@pytest.mark.parametrize(("given", "text", "expected"), as_parameters(PLAIN))
def test_plain_text_means_what_it_says(given: Given, text: str, expected: Expected) -> None:
    assert_value(given, text, expected, named="M")


def test_of_two_names_that_letters_could_begin_with_the_longer_is_meant() -> None:
    question = make_given({"m": np.array(2.0), "mu": np.array(3.0), "u": np.array(5.0)}, n=7)

    assert question.value("mun") == 3 * 7
    assert question.value("nm u") == 7 * 2 * 5
