"""How people write the same thing: Greek letters, LaTeX commands, Unicode signs.

Tables only. What is blanked out here keeps its length, so that columns in error messages stay true.
"""

from __future__ import annotations

import re
import unicodedata

from grader.errors import FormulaError

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

#: Signs of one meaning: the token they are, and the sign that stands for all of them.
SIGNS = {
    "+": ("PLUS", "+"), "-": ("MINUS", "-"), "−": ("MINUS", "-"), "–": ("MINUS", "-"),
    "*": ("TIMES", "*"), "@": ("TIMES", "*"), "∗": ("TIMES", "*"), "×": ("TIMES", "*"),
    "·": ("TIMES", "·"), "⋅": ("TIMES", "·"), "∙": ("TIMES", "·"), "•": ("TIMES", "·"),
    "/": ("DIVIDE", "/"), "÷": ("DIVIDE", "/"), "∕": ("DIVIDE", "/"),
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
    "langle": ("LANGLE", "⟨"), "rangle": ("RANGLE", "⟩"), "lbrace": ("LPAR", "("),
    "rbrace": ("RPAR", ")"), "lbrack": ("LBRACK", "["), "rbrack": ("RBRACK", "]"),
    "le": ("COMPARE", "<="), "leq": ("COMPARE", "<="), "ge": ("COMPARE", ">="),
    "geq": ("COMPARE", ">="), "lt": ("COMPARE", "<"), "gt": ("COMPARE", ">"),
    "top": ("TRANSPOSE", "^T"), "intercal": ("TRANSPOSE", "^T"),
}  # fmt: skip

# Commands that only change how a formula looks.
_LOOKS = re.compile(
    r"\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|nolimits|quad|qquad|,|;|:|!| )"
    r"(?![A-Za-z])|\\\(|\\\)|\\\[|\\\]|\$|~"
)
# Commands that change how their argument looks; the argument stays.
_WRAPPER = re.compile(
    r"\\(?:mathbf|mathrm|mathit|mathsf|mathcal|boldsymbol|bm|vec|hat|bar|tilde|text|textrm|textit"
    r"|textbf|operatorname\*?|mathop|ensuremath)\s*\{"
)


def blank_out(text: str) -> str:
    """Replace what only concerns looks by spaces, character for character.

    Invisible and direction-changing characters are refused: they would let a formula show
    one thing to a person and another to the grader.
    """
    for position, character in enumerate(text):
        if unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Cn") and (
            character not in "\n\t\r"
        ):
            raise FormulaError(
                f"There is an invisible character (U+{ord(character):04X}) in the formula.",
                column=position + 1,
                hint="Type this place anew.",
                code="formula.character",
            )
    plain = "".join(" " if character.isspace() else character for character in text)
    plain = _LOOKS.sub(lambda match: " " * len(match[0]), plain)
    return _unwrap(plain)


def _unwrap(text: str) -> str:
    while match := _WRAPPER.search(text):
        end = closing_brace(text, match.end() - 1)
        inside = text[match.end() : end]
        # The padding goes behind the argument, so that a subscript that follows finds its name.
        text = text[: match.start()] + " " * len(match[0]) + inside + " " + text[end + 1 :]
    return text


def closing_brace(text: str, opening: int) -> int:
    r"""The position of the brace that closes the one at `opening`; `\{` and `\}` do not count."""
    depth = 0
    position = opening
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 2
            continue
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return position
        position += 1
    raise FormulaError("This brace is never closed.", column=opening + 1, code="formula.brackets")
