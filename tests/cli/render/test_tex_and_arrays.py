from __future__ import annotations

import numpy as np
import pytest

from grader.cli.commands.show import MAX_ROWS, format_array
from grader.cli.render.tex import render_tex, render_tex_in_markdown


@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"$\mu_a^\top k_a < 0$", "μ_aᵀ k_a < 0"),
        (r"$c \approx \frac12 (v_{a} + v_{b})$", "c ≈ ½ (v_a + v_b)"),
        (r"$0.1\,\lVert v_a - v_b\rVert^2$", "0.1 ‖v_a - v_b‖²"),
        (r"$\Sigma_a = \alpha I$", "Σ_a = α I"),
        (r"$\operatorname{softmax}_j(k_j^\top q_i)$", "softmax_j(k_jᵀ q_i)"),
        (r"$\dfrac{\exp(x_i)}{\sum_{j=1}^n \exp(x_j)}$", "(exp(x_i))/(Σ_(j=1)^n exp(x_j))"),
        (r"$\frac{1}{\frac{a}{b}}$", "1/(a/b)"),
        (r"$x^{-1} \in \mathbb{R}^d$", "x⁻¹ ∈ R^d"),
        (r"$a_1, \dots, a_m$", "a_1, …, a_m"),
        (r"$\unheardof{x}$", r"\unheardof{x}"),
        ("`$x$` costs 5 $", "`$x$` costs 5 $"),
        ("no mathematics", "no mathematics"),
    ],
)
def test_tex_becomes_readable(tex: str, shown: str) -> None:
    assert render_tex(tex) == shown


def test_mathematics_is_not_taken_for_markdown() -> None:
    assert render_tex_in_markdown("*so* $a * b * c_i$") == r"*so* a \* b \* c\_i"


def test_a_wide_matrix_leaves_out_columns_in_the_middle() -> None:
    lines = format_array(np.arange(40.0).reshape(2, 20), width=60, names={1: "mu_a"})

    assert all(len(line) <= 60 and "…" in line for line in lines)
    assert lines[1].startswith("1 = mu_a ")
    assert lines[1].endswith("39.000000")


def test_a_row_that_is_somewhat_too_long_takes_two_lines() -> None:
    """Issue 10, item 11: what students copy is complete and has six decimals."""
    matrix = np.arange(16.0).reshape(2, 8) / 7

    lines = format_array(matrix, width=60, names={1: "k_a"})

    assert all(len(line) <= 60 for line in lines)
    assert [line.split()[0] for line in lines] == ["0", "0.571429", "1", "1.714286"]
    assert " ".join(lines).split().count("…") == 0
    assert " ".join(lines).count(".") == 16


def test_a_long_matrix_keeps_its_named_rows() -> None:
    lines = format_array(np.ones((500, 2)), width=80, names={250: "k_j"})

    assert len(lines) <= MAX_ROWS
    assert any(line.startswith("250 = k_j") for line in lines)
    assert lines[-1].startswith("499 ")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.000000"),
        (1e-9, "1.000000e-09"),
        (3e7, "3.000000e+07"),
        (-1.5, "-1.500000"),
        (0.12345678, "0.123457"),
    ],
)
def test_numbers_of_any_size_can_be_told_apart(value: float, shown: str) -> None:
    assert format_array(np.full(3, value), width=80, names={})[0].split() == [shown] * 3


def test_an_empty_vector_is_no_error() -> None:
    assert format_array(np.zeros(0), width=80, names={}) == [" "]
