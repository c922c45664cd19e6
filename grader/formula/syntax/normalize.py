r"""Text → text of the same length, without formatting.

`\left(`, `\mathbf{u}`, `$` and the like become spaces, so that a column in the result is the
column in the original. Each step is one pass, so that it takes time in proportion to the length.
"""

from __future__ import annotations

import re
import unicodedata

from grader.errors import FormulaError

# Commands and signs that only format a formula, with their arguments.
_FORMATTING = re.compile(
    r"\\(?:left|right)\."
    r"|\\(?:left|right|middle|[bB]igg?[lrm]?|displaystyle|textstyle|scriptstyle|limits|nolimits"
    r"|quad|qquad|enspace|thinspace|nonumber|notag|rm|bf|it|sf|bfseries|itshape)(?![A-Za-z])"
    r"|\\(?:label|tag)\s*\{[^{}]*\}"
    r"|\\(?:begin|end)\s*\{(?:aligned|align\*?|equation\*?|gather(?:ed)?\*?|split|math"
    r"|displaymath|multline\*?|eqnarray\*?)\}"
    r"|\\[,;:!> ()\[\]]|\$|~"
    r"|&(?=\s*:?=|\s*\\approx)|(?<==)&"
)
# Commands that only format their argument; the argument stays.
_WRAPPER = re.compile(
    r"\\(mathbf|mathrm|mathit|mathsf|mathtt|mathcal|mathbb|mathds|boldsymbol|bm|vec|text|textrm"
    r"|textit|textbf|textsf|operatorname\*?|mathop|ensuremath|boxed|substack)(?![A-Za-z])\s*(\{?)"
)
_BOLD = ("mathbf", "mathbb", "mathds", "boldsymbol", "bm", "vec")
_BOLD_NUMBER = re.compile(r"\s*([01])(?![\d.])")
_LINE_BREAK = re.compile(r"\\\\(?:\[\s*-?[\d.]+\s*(?:pt|em|ex|mm|cm|in)\s*\])?")
_IN_LINES = re.compile(r"\\begin\s*\{(?:aligned|align|gather|split|multline|eqnarray)")
# A name alone in braces with a subscript after it, as in `{\bf u}_b`.
_BRACED_NAME = re.compile(r"(?<![_^}A-Za-z])(\{)(\s*\\?[A-Za-z]+\s*)(\})(?=\s*_)")
_ELL = re.compile(r"\\ell(?![A-Za-z])")
# Digits in groups of three: 10{,}000 and 10\,000 are one number.
_THOUSANDS = re.compile(r"(?<![\d.])[1-9]\d{0,2}(?:(?:\{,\}|\\,|\\;)\d{3})+(?!\d)", re.ASCII)
_GROUPING = re.compile(r"\{,\}|\\[,;]")

#: Stands between the groups of digits of one number.
DIGIT_GAP = "_"


def normalize_text(text: str) -> str:
    """Replace formatting by spaces, character for character.

    Line breaks, also those of LaTeX, become newlines.

    Raises
    ------
    FormulaError
        At an invisible or direction-changing character, with which a formula could look different
        to a person than to the grader, and at a brace that is never closed.
    """
    plain = text if text.isascii() else "".join(map(_to_plain_character, text))
    if not plain.isprintable():
        _refuse_invisible(text)
        plain = "".join("\n" if each == "\n" else " " if each.isspace() else each for each in plain)
    if "\\" in plain or "{" in plain:
        return _without_commands(plain)
    return _FORMATTING.sub(_blank, plain)


def _without_commands(text: str) -> str:
    text = _THOUSANDS.sub(lambda match: _GROUPING.sub(_gap, match[0]), text)
    if _IN_LINES.search(text):
        text = text.replace("&", " ")
    text = _LINE_BREAK.sub(lambda match: "\n" + " " * (len(match[0]) - 1), text)
    text = _ELL.sub("l   ", text)
    text = _unwrap(_FORMATTING.sub(_blank, text))
    return _BRACED_NAME.sub(lambda match: f" {match[2]} ", text)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _gap(match: re.Match[str]) -> str:
    return DIGIT_GAP * len(match[0])


def _to_plain_character(character: str) -> str:
    """The plain form of a wide character or mathematical letter; a bold 1 is not a number."""
    if character.isascii():
        return character
    tag = unicodedata.decomposition(character).partition(" ")[0]
    if tag == "<wide>" or (tag == "<font>" and character.isalpha()):
        return unicodedata.normalize("NFKC", character)
    return character


def _refuse_invisible(text: str) -> None:
    for position, character in enumerate(text):
        if unicodedata.category(character).startswith("C") and character not in "\n\t\r":
            raise FormulaError(
                f"The formula contains an invisible character (U+{ord(character):04X}).",
                column=position + 1,
                hint="Delete this part and type it again.",
                code="formula.character",
            )


def _unwrap(text: str) -> str:
    r"""Blank out commands such as `\mathbf` and the braces of their arguments."""
    matches = list(_WRAPPER.finditer(text))
    if not matches:
        return text
    closing = _match_all_braces(text)
    characters = list(text)
    for match in matches:
        _refuse_bold_number(match, text)
        if match[2]:
            opening = match.end() - 1
            if opening not in closing:
                raise _make_unclosed_error(opening)
            characters[closing[opening]] = " "
        characters[match.start() : match.end()] = " " * len(match[0])
    return "".join(characters)


def _refuse_bold_number(match: re.Match[str], text: str) -> None:
    number = _BOLD_NUMBER.match(text, match.end())
    if number and match[1] in _BOLD:
        function = "ones" if number[1] == "1" else "zeros"
        raise FormulaError(
            f"A bold {number[1]} is a vector or a matrix, but its size is missing.",
            column=match.start() + 1,
            hint=f"Write {function}(d) for a vector, {function}(d, d) for a matrix.",
            code="formula.command",
        )


def _match_all_braces(text: str) -> dict[int, int]:
    r"""The position of the closing brace for every opening brace; `\{` does not count."""
    closing = {}
    waiting = []
    position = 0
    while position < len(text):
        match text[position]:
            case "\\":
                position += 1
            case "{":
                waiting.append(position)
            case "}" if waiting:
                closing[waiting.pop()] = position
        position += 1
    return closing


def match_brace(text: str, opening: int) -> int:
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
    raise _make_unclosed_error(opening)


def _make_unclosed_error(opening: int) -> FormulaError:
    return FormulaError("This '{' is never closed.", column=opening + 1, code="formula.brackets")
