"""How people write the same thing: Greek letters, LaTeX commands, Unicode signs. Tables only."""

from __future__ import annotations

import re

_GREEK_NAMES = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"),
    *("iota", "kappa", "lambda", "mu", "nu", "xi", "omicron", "pi"),
    *("rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
)

#: Greek letters by character. The two forms of epsilon, theta, sigma and phi are one letter each.
GREEK = {
    **dict(zip("αβγδεζηθικλμνξοπρστυφχψω", _GREEK_NAMES, strict=True)),
    "ς": "sigma", "ϵ": "epsilon", "ϑ": "theta", "ϕ": "phi", "µ": "mu",
    "Σ": "Sigma", "Λ": "Lambda", "Δ": "Delta", "Φ": "Phi", "Ω": "Omega", "Γ": "Gamma",
}  # fmt: skip

#: LaTeX commands that are names; `\varepsilon` and its like name the same letter.
COMMAND_NAMES = {
    **{name: name for name in _GREEK_NAMES},
    "varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi",
    "Sigma": "Sigma", "Lambda": "Lambda", "Delta": "Delta", "Phi": "Phi", "Omega": "Omega",
    "Gamma": "Gamma",
}  # fmt: skip

SUBSCRIPT_LETTERS = dict(
    zip("₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", "0123456789aehijklmnoprstuvx", strict=True)
)
SUPERSCRIPT_DIGITS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True))
SUPERSCRIPT_MINUS = "⁻"

#: Signs of one meaning: the token they are, and the sign that stands for all of them.
SIGNS = {
    "+": ("PLUS", "+"), "-": ("MINUS", "-"), "−": ("MINUS", "-"), "–": ("MINUS", "-"),
    "*": ("TIMES", "*"), "@": ("TIMES", "*"), "∗": ("TIMES", "*"), "×": ("TIMES", "*"),
    "·": ("TIMES", "·"), "⋅": ("TIMES", "·"), "∙": ("TIMES", "·"), "•": ("TIMES", "·"),
    "⊗": ("TIMES", "⊗"), "/": ("DIVIDE", "/"), "÷": ("DIVIDE", "/"), "∕": ("DIVIDE", "/"),
    "⁄": ("DIVIDE", "/"), "^": ("CARET", "^"),
    "(": ("LPAR", "("), ")": ("RPAR", ")"), "{": ("LBRACE", "{"), "}": ("RBRACE", "}"),
    "[": ("LBRACK", "["), "]": ("RBRACK", "]"), ",": ("COMMA", ","),
    "⟨": ("LANGLE", "⟨"), "⟩": ("RANGLE", "⟩"),
    "'": ("TRANSPOSE", "^T"), "′": ("TRANSPOSE", "^T"), "’": ("TRANSPOSE", "^T"),
    "ᵀ": ("TRANSPOSE", "^T"), "⊤": ("TRANSPOSE", "^T"), "<": ("COMPARE", "<"),
    ">": ("COMPARE", ">"), "≤": ("COMPARE", "<="), "≥": ("COMPARE", ">="),
}  # fmt: skip

#: LaTeX commands that are signs.
COMMAND_SIGNS = {
    "cdot": ("TIMES", "·"), "times": ("TIMES", "*"), "ast": ("TIMES", "*"),
    "otimes": ("TIMES", "⊗"), "div": ("DIVIDE", "/"),
    "langle": ("LANGLE", "⟨"), "rangle": ("RANGLE", "⟩"), "lbrace": ("LPAR", "("),
    "rbrace": ("RPAR", ")"), "lbrack": ("LBRACK", "["), "rbrack": ("RBRACK", "]"),
    "le": ("COMPARE", "<="), "leq": ("COMPARE", "<="), "ge": ("COMPARE", ">="),
    "geq": ("COMPARE", ">="), "lt": ("COMPARE", "<"), "gt": ("COMPARE", ">"),
    "top": ("TRANSPOSE", "^T"), "intercal": ("TRANSPOSE", "^T"), "prime": ("TRANSPOSE", "^T"),
    **dict.fromkeys(("frac", "tfrac", "dfrac", "cfrac", "nicefrac", "sfrac"), ("FRACTION", "/")),
}  # fmt: skip

#: Dots that leave something out, and what to write instead.
DOTS = re.compile(r"\.{2,}|[…⋯]|\\[cdlv]?dots[a-z]?(?![A-Za-z])")
DOTS_HINT = r"Write out all terms, or a sum: \sum_{i=1}^n."

#: LaTeX commands that are bars: how wide, and whether they open, close or do either.
COMMAND_BARS = {
    "lVert": (2, "open"), "lvert": (1, "open"), "rVert": (2, "close"), "rvert": (1, "close"),
    "Vert": (2, "either"), "vert": (1, "either"),
}  # fmt: skip
