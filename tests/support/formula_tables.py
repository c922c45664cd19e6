"""Formulas as people write them, with their values by NumPy: plain text, LaTeX and sums."""

from __future__ import annotations

import numpy as np

from tests.support.formulas import BASES, INPUTS, KEYS, MEANS, PAIR, SIDES, Array, Given, Row


def softmax_values(given: Given, scores: Array) -> Array:
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
    (SIDES, "(t_1^T s_2)^T I_d", lambda g: (g.t_1 @ g.s_2) * np.eye(5)),
    (INPUTS, "u_b u_c.T / beta^2", lambda g: np.outer(g.u_b, g.u_c) / 7.3**2),
    (INPUTS, "u_b u_c^T / ||u_b||^2", lambda g: np.outer(g.u_b, g.u_c) / (g.u_b @ g.u_b)),
    (INPUTS, "u_b u_c^T / ‖u_b‖₂²", lambda g: np.outer(g.u_b, g.u_c) / (g.u_b @ g.u_b)),
    (INPUTS, "x_1 x_2^T + d I", lambda g: np.outer(g.x_1, g.x_2) + 6 * np.eye(6)),
    (INPUTS, "norm(x) I_d", lambda g: np.linalg.norm(g.x) * np.eye(6)),
    (PAIR, "v^T softmax(4 k k_i)", lambda g: softmax_values(g, 4 * g.k @ g.k_i)),
]


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


def off_diagonal(basis: Array) -> Array:
    total = basis.sum(axis=1)
    return np.asarray(np.outer(total, total) - basis @ basis.T)


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
