r"""TeX between dollar signs as plain text for a terminal: `$\mu_a^\top k$` → μ_aᵀ k.

Unknown commands and subscripts stay unchanged.
"""

from __future__ import annotations

import re
import unicodedata

# Code is left unchanged, including its dollar signs.
_PIECES = re.compile(r"(?P<code>`[^`]*`)|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$]+)\$", re.DOTALL)
_PUNCTUATION = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&])")

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa mu nu xi pi rho sigma tau upsilon "
    "phi chi psi omega"
)
_OTHERS = (
    "lambda λ Lambda Λ varepsilon ε varphi φ sum Σ prod Π top ᵀ infty ∞ dots … ldots … cdots … "
    "approx ≈ sim ~ neq ≠ ne ≠ le ≤ leq ≤ ge ≥ geq ≥ gg ≫ ll ≪ times × cdot · pm ± perp ⊥ in ∈ "
    "to → mapsto ↦ mid | lVert ‖ rVert ‖ Vert ‖ lvert | rvert | langle ⟨ rangle ⟩"
)
_SYMBOLS = dict(re.findall(r"(\S+) (\S+)", _OTHERS))
for _name in _GREEK.split():
    _SYMBOLS[_name] = unicodedata.lookup(f"GREEK SMALL LETTER {_name}")
    _SYMBOLS[_name.capitalize()] = unicodedata.lookup(f"GREEK CAPITAL LETTER {_name}")
_SYMBOLS |= {name: name for name in ("exp", "log", "ln", "max", "min", "det", "dim")}
_SYMBOLS |= dict.fromkeys(("left", "right", "big", "Big", "displaystyle", "quad"), "")
_FRACTIONS = {("1", "2"): "½", ("1", "3"): "⅓", ("1", "4"): "¼", ("3", "4"): "¾"}
_SUPERSCRIPTS = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")

_WORDS = re.compile(r"\\(?:text|operatorname|mathrm|mathbf|mathbb|mathcal|mathit)\{([^{}]*)\}")
_SCRIPT = re.compile(r"([_^])\{([^{}]*)\}")
_OPERAND = r"(?:\{([^{}]*)\}|\s*(\w))"
_FRACTION = re.compile(r"\\[dt]?frac" + _OPERAND + _OPERAND)
_POWER = re.compile(r"\^([0-9]|\([+-]?[0-9]+\))")
_COMMAND = re.compile(r"\\([A-Za-z]+)")


def render_tex(text: str) -> str:
    """Replace the TeX in plain text."""
    return _PIECES.sub(lambda piece: piece["code"] or _render_piece(piece), text)


def render_tex_in_markdown(text: str) -> str:
    """Replace the TeX in Markdown, escaped so that it is not read as Markdown."""
    return _PIECES.sub(
        lambda piece: piece["code"] or _PUNCTUATION.sub(r"\\\1", _render_piece(piece)), text
    )


def _render_piece(piece: re.Match[str]) -> str:
    tex = _WORDS.sub(r"\1", piece["block"] or piece["inline"])
    tex = re.sub(r"\\[,;:!]", " ", tex)
    tex = re.sub(r"\\lVert\s*", "‖", tex)
    # From the inside outwards, because fractions contain subscripts and other fractions.
    previous = ""
    while tex != previous:
        previous = tex
        tex = _FRACTION.sub(_render_fraction, _SCRIPT.sub(_render_script, tex))
    tex = re.sub(r"\^(\\top|T)\b", "ᵀ", tex)
    tex = _COMMAND.sub(lambda name: _SYMBOLS.get(name[1], name[0]), tex)
    tex = _POWER.sub(lambda power: power[1].strip("()").translate(_SUPERSCRIPTS), tex)
    tex = tex.replace(r"\{", "{").replace(r"\}", "}")
    return " ".join(tex.split())


def _render_script(script: re.Match[str]) -> str:
    mark, inside = script.groups()
    return f"{mark}{inside}" if re.fullmatch(r"\w+|\\\w+", inside) else f"{mark}({inside})"


def _render_fraction(fraction: re.Match[str]) -> str:
    above, below = fraction[1] or fraction[2] or "", fraction[3] or fraction[4] or ""
    half = _FRACTIONS.get((above.strip(), below.strip()))
    return half or f"{_add_brackets(above)}/{_add_brackets(below)}"


def _add_brackets(term: str) -> str:
    return term if re.fullmatch(r"\\?\w+", term.strip()) else f"({term})"
