"""Hostile formulas: from a grammar with too much of everything, and mutations of valid ones."""

from __future__ import annotations

from typing import Final

from bench.fuzz.values import Mutator

#: Formulas as students write them, of which nearly all are right somewhere.
VALID: Final = (
    *("40 (k_a + k_b)", "\\frac{k_a + k_b}{2}", "k_a^T k_b", "softmax(k_a)", "\\sum_{i=1}^n k_i"),
    *("\\sum_{i \\neq a,b} v_i", "norm(mu_a - mu_b)", "W_Q^\\top x_2", "\\lVert k_a \\rVert_2 k_b"),
    *("\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}", "I_3 + k_a k_b^T", "a = 2; a k_a"),
    *("q = 100 (mu_a + mu_b), where mu_a are means", "\\beta (k_a - k_b)", "⟨k_a, k_b⟩ k_a"),
    *("log(n) k_a", "exp(-1)", "1/3", "33 %", "sqrt(2) k_a", "diag(k_a)", "max(1, 2) k_a"),
)
_NAMES: Final = (
    *("k_a", "k_b", "k_1", "k_i", "mu_a", "μ_b", "v_2", "n", "d", "pi", "e", "x", "I_3", "I_99999"),
    *("\\mathbf{k}_a", "\\alpha", "k_{a}", "k_{99}", "k_{k_a}", "q", "W_Q", "0", "1e308", "1e-308"),
    *("9" * 30, "½", "∞", "NaN", "__class__", "import", "lambda", "k.a", "k[0]", "k_", "_", "\\"),
)
_FUNCTIONS: Final = (
    *("softmax", "norm", "exp", "log", "sqrt", "sum", "mean", "dot", "diag", "max", "eval", "tanh"),
    *("\\softmax", "\\operatorname{softmax}", "\\exp", "\\log", "\\sqrt", "\\text", "\\mathrm"),
)
_SIGNS: Final = (
    *("+", "-", "*", "/", "^", "**", " ", "·", "⊗", "@", "\\cdot ", "\\times ", "÷", ",", ";", "="),
    *("^T ", "^{-1}", "_", "'", "!", "|", "‖", "\\\\", "&", "<", "≈", "\n", "%", "where", "…"),
)
_FRAMES: Final = (
    *("({})", "[{}]", "{{{}}}", "\\left({}\\right)", "\\left[{}\\right)", "|{}|", "‖{}‖", "-{}"),
    *(
        "\\frac{{{}}}{{{}}}",
        "\\sum_{{i={}}}^{{{}}} {}",
        "sum_{{i != a}} {}",
        "{}^{{{}}}",
        "{}_{{{}}}",
    ),
    *(
        "\\begin{{pmatrix}} {} & {} \\\\ {} \\end{{pmatrix}}",
        "⟨{}, {}⟩",
        "$${}$$",
        "\\({}\\)",
        "```{}```",
    ),
)


def make_formula(mutator: Mutator) -> str:
    """A formula that may be valid, nearly valid, or nothing of the kind."""
    rng = mutator.rng
    match rng.randrange(10):
        case 0 | 1 | 2:
            text = rng.choice(VALID)
            for _ in range(rng.randrange(4)):
                text = mutator.change_text(text)
            return text
        case 3:
            frame = rng.choice(
                ("(", "-", "softmax(", "\\frac{", "k_a^", "k_a+", "\\left(", "[", "1,")
            )
            return frame * rng.randrange(1, 3000) + "k_a"
        case 4:
            sign = rng.choice(_SIGNS)
            return sign.join(rng.choices(_NAMES, k=rng.randrange(2, 300)))
        case 5:
            return mutator.make_text()
        case _:
            return _make(mutator, rng.randrange(1, 9))[: mutator.most_bytes // 2]


def _make(mutator: Mutator, depth: int) -> str:
    rng = mutator.rng
    if depth == 0 or mutator.happens(0.1):
        return rng.choice(_NAMES)
    match rng.randrange(4):
        case 0:
            return f"{rng.choice(_FUNCTIONS)}({_make(mutator, depth - 1)})"
        case 1:
            frame = rng.choice(_FRAMES)
            inner = _make(mutator, depth - 1)
            return frame.format(*(inner if each == 0 else _make(mutator, 0) for each in range(3)))
        case _:
            return _make(mutator, depth - 1) + rng.choice(_SIGNS) + _make(mutator, depth - 1)
