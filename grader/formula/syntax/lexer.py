"""Text → tokens, for plain text, Unicode and LaTeX alike.

The lexer needs the scope to distinguish `C(mu_a)`, a product, from `exp(mu_a)`, a call.
"""

from __future__ import annotations

import re
import unicodedata

from lark import Token

from grader.errors import FormulaError
from grader.formula.syntax.names import TRANSPOSE_SUPERSCRIPT, NameMatch, NameReader
from grader.formula.syntax.normalize import DIGIT_GAP
from grader.formula.syntax.notation import (
    COMMAND_BARS,
    COMMAND_NAMES,
    COMMAND_SIGNS,
    DOTS,
    DOTS_HINT,
    GREEK,
    SIGNS,
    SUBSCRIPT_LETTERS,
    SUPERSCRIPT_DIGITS,
    SUPERSCRIPT_MINUS,
)
from grader.formula.syntax.sum_header import SUM_SIGN, SumHeader, read_header
from grader.formula.typed.scope import FormulaScope

MAX_TOKENS = 500
MAX_NESTING = 40

_CLOSING = {"RPAR": "LPAR", "RBRACE": "LBRACE", "RBRACK": "LBRACK", "RANGLE": "LANGLE",
            "BAR_CLOSE": "BAR_OPEN"}  # fmt: skip
_OPENING = frozenset(_CLOSING.values())
# What can be a whole argument of \frac without braces, as in \frac12.
_SINGLE = frozenset({"NUMBER", "NAME", "MEMBER"})


class _BracketTracker:
    """The open brackets, innermost last, and the number of arguments a fraction still needs."""

    def __init__(self) -> None:
        self._open: list[Token] = []
        self._awaited: dict[int, int] = {}

    def add(self, token: Token) -> None:
        """Record the next token; refuses a closing bracket that does not match."""
        if token.type in _OPENING:
            self._open.append(token)
            if len(self._open) > MAX_NESTING:
                raise _make_bracket_error(
                    f"Brackets may be nested at most {MAX_NESTING} deep.", token, "formula.limit"
                )
        elif token.type in _CLOSING:
            self._close(token)
        elif token.type == "FRACTION":
            self._awaited[len(self._open)] = 2
        if token.type in _SINGLE or token.type == "RBRACE":
            depth = len(self._open)
            self._awaited[depth] = max(self._awaited.get(depth, 0) - 1, 0)

    def _close(self, token: Token) -> None:
        if not self._open:
            raise _make_bracket_error(
                f"This {_format_bracket(token)} has no opening bracket.", token, "formula.brackets"
            )
        opening = self._open[-1]
        if opening.type != _CLOSING[token.type]:
            raise _make_bracket_error(
                f"This {_format_bracket(token)} does not match the {_format_bracket(opening)} "
                f"in column {(opening.start_pos or 0) + 1}.",
                token,
                "formula.brackets",
            )
        self._open.pop()

    def open_bar(self) -> str | None:
        """The kind of the innermost bracket if it is a bar, else None."""
        return self._open[-1].value if self._open and self._open[-1].type == "BAR_OPEN" else None

    def awaits_argument(self) -> bool:
        """Whether the next token is an argument of a fraction."""
        return self._awaited.get(len(self._open), 0) > 0

    def check_all_closed(self) -> None:
        """Refuse the innermost bracket that is still open."""
        if self._open:
            opening = self._open[-1]
            raise _make_bracket_error(
                f"This {_format_bracket(opening)} is never closed.", opening, "formula.brackets"
            )


def _format_bracket(token: Token) -> str:
    return {"bars": "'|'", "norm": "'‖'"}.get(token.value, repr(str(token)))


def _make_bracket_error(message: str, token: Token, code: str) -> FormulaError:
    return FormulaError(message, column=(token.start_pos or 0) + 1, code=code)


_NUMBER = re.compile(
    r"(?:[0-9]{1,3}(?:_+[0-9]{3})+(?![0-9_])|[0-9]+)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?"
)
_PERCENT = re.compile(r"\s*+\\?%")
# The prefix of a function that the language has, too: np.log, np.linalg.inv.
_MODULE = re.compile(
    r"(?:np|numpy|math|torch|scipy)\.(?:linalg\.|special\.)?(?=(?P<name>[A-Za-z]\w*+))"
)
_LIMIT = re.compile(r"lim\s*+_")
_BEGIN = re.compile(r"\\begin\s*+\{(?P<name>[A-Za-z]++\*?)\}")
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_DOT_T = re.compile(r"\.T(?![A-Za-z0-9_])")
_COMPARE = re.compile(r"<=|>=")
_AND = re.compile(r"and(?![A-Za-z0-9_])")
_SUPERSCRIPT = re.compile(rf"({SUPERSCRIPT_MINUS}?)([{''.join(SUPERSCRIPT_DIGITS)}]+)")
_BAR = re.compile(r"\|\||\\\||[|‖∥]")
# A subscript may name the norm: the Euclidean norm, or the Frobenius norm of a matrix.
_NORM = re.compile(r"\s*_\s*(?:\{\s*(\w+)\s*\}|(\w))|([₀-₉])")
_ROOT = re.compile(r"\s*\[")

# After one of these an operand has ended, so that a bar closes.
_OPERAND_ENDS = frozenset(
    {"NUMBER", "NAME", "MEMBER", "RPAR", "RBRACE", "RBRACK", "BAR_CLOSE", "TRANSPOSE", "RANGLE"}
)


def read_tokens(text: str, scope: FormulaScope) -> list[Token]:
    """The tokens of a normalized text, each with its position.

    Raises
    ------
    FormulaError
        At an unknown name, a sign without meaning or a bracket without its counterpart.
    """
    return _Lexer(text, scope).tokens()


def _to_hundredths(digits: str) -> str:
    """A number of percent as a plain number: `0.25` for `25`."""
    mantissa, _, exponent = digits.lower().partition("e")
    # Read at once, because dividing the nearest float by 100 would round twice.
    return repr(float(f"{mantissa}e{int(exponent or 0) - 2}")).removesuffix(".0")


class _Lexer:
    """Reads one formula from left to right."""

    def __init__(self, text: str, scope: FormulaScope) -> None:
        self.text = text
        self.scope = scope
        self.position = 0
        self.found: list[Token] = []
        self.names = NameReader(text, scope)
        self.brackets = _BracketTracker()

    def tokens(self) -> list[Token]:
        """All tokens of the text."""
        while self._skip_space():
            self._next()
            if len(self.found) > MAX_TOKENS:
                raise self._error(
                    f"A formula may have at most {MAX_TOKENS} numbers, names and signs.",
                    code="formula.limit",
                )
        self.brackets.check_all_closed()
        return self.found

    def _skip_space(self) -> bool:
        while self.position < len(self.text) and self.text[self.position] in " \n":
            self.position += 1
        return self.position < len(self.text)

    def _next(self) -> None:
        text, start = self.text, self.position
        character = text[start]
        if match := _NUMBER.match(text, start):
            self._take_number(match)
        elif (match := SUM_SIGN.match(text, start)) and not self._is_named_sigma(match):
            self._take_sum(match)
        elif character.isascii() and character.isalpha():
            self._take_letters()
        elif character in GREEK:
            self._take_name(self.names.read_named(GREEK[character], start, start + 1))
        elif match := TRANSPOSE_SUPERSCRIPT.match(text, start) or _DOT_T.match(text, start):
            self._add("TRANSPOSE", "^T", match.end())
        elif match := _BAR.match(text, start):
            self._take_bar(1 if match[0] == "|" else 2, "either", match.end())
        elif character == "\\":
            self._take_command()
        else:
            self._take_sign(character)

    def _is_named_sigma(self, match: re.Match[str]) -> bool:
        """Whether a capital sigma is a name of the question or of the writer, and no sum sign."""
        scope = self.scope
        known = (scope.shapes, scope.constants, scope.families, scope.own)
        return match["sigma"] is not None and any(
            name.partition("_")[0] == "Sigma" for names in known for name in names
        )

    def _take_sum(self, match: re.Match[str]) -> None:
        header, end = read_header(self.text, self.position, match.end())
        if (
            match["sigma"]
            and header == SumHeader(header.bound)
            and header.bound in self.scope.indices
        ):
            raise self._error(
                f"Σ_{header.bound} could be a sum, or a matrix with the index {header.bound}.",
                hint=rf"Write a sum as \sum_{header.bound}. A matrix Σ is not given here.",
                code="formula.sum",
            )
        self.names.bound.add(header.bound)
        self._add("SUM", header, end)

    def _take_sign(self, character: str) -> None:
        text, start = self.text, self.position
        if match := _SUPERSCRIPT.match(text, start):
            self._take_superscript(match)
        elif match := _COMPARE.match(text, start):
            self._add("COMPARE", match[0], match.end())
        elif text.startswith("**", start):
            self._add("CARET", "^", start + 2)
        elif character == "√":
            self._take_name(NameMatch("FUNCTION", "sqrt", start + 1))
        elif character in SIGNS:
            kind, sign = SIGNS[character]
            self._add(kind, sign, start + 1)
        elif unicodedata.decomposition(character).startswith("<fraction>"):
            self._add("NUMBER", str(unicodedata.numeric(character)), start + 1)
        elif DOTS.match(text, start):
            raise self._dots()
        else:
            raise self._meaningless(character)

    def _add(self, kind: str, value: object, end: int) -> None:
        if kind == "NUMBER" and self.found and self.found[-1].type == "NUMBER":
            self._refuse_second_number()
        token = Token(kind, value, start_pos=self.position, end_pos=end)
        self.brackets.add(token)
        self.found.append(token)
        self.position = end

    def _refuse_second_number(self) -> None:
        # In LaTeX, \frac12 is one half.
        if self.brackets.awaits_argument():
            return
        raise self._error(
            "Two numbers stand next to each other.",
            hint="Write a product as 2 * 3, and a single number without spaces.",
            code="formula.syntax",
        )

    def _take_number(self, match: re.Match[str]) -> None:
        if self.brackets.awaits_argument() and match[0][0] != ".":
            return self._add("NUMBER", match[0][0], self.position + 1)
        digits = match[0].replace(DIGIT_GAP, "")
        if percent := _PERCENT.match(self.text, match.end()):
            return self._add("NUMBER", _to_hundredths(digits), percent.end())
        self._add("NUMBER", digits, match.end())

    def _take_superscript(self, match: re.Match[str]) -> None:
        """Read a superscript such as ⁻¹ as a power: tokens that share their position."""
        start = self.position
        digits = "".join(SUPERSCRIPT_DIGITS[each] for each in match[2])
        signs = [("CARET", "^"), *([("MINUS", "-")] if match[1] else []), ("NUMBER", digits)]
        for kind, value in signs:
            self.position = start
            self._add(kind, value, match.end())

    def _take_bar(self, width: int, role: str, end: int) -> None:
        kind = "bars" if width == 1 else "norm"
        is_open = self.brackets.open_bar()
        has_operand = bool(self.found) and self.found[-1].type in _OPERAND_ENDS
        if role == "open" or (role == "either" and not (is_open and has_operand)):
            return self._add("BAR_OPEN", kind, end)
        if is_open == "bars" and self.text.startswith("||", self.position):
            # The first of the two closes the single bar that is open.
            kind, end = "bars", self.position + 1
        if is_open is not None and is_open != kind:
            raise self._error(
                "It is unclear what this bar closes.",
                hint="Write abs(x) for a number and norm(x) for a vector.",
                code="formula.brackets",
            )
        which = _NORM.match(self.text, end)
        if which is None:
            return self._add("BAR_CLOSE", "", end)
        self._add("BAR_CLOSE", which[1] or which[2] or SUBSCRIPT_LETTERS[which[3]], which.end())

    def _take_letters(self) -> None:
        if self.scope.allows_conditions and (match := _AND.match(self.text, self.position)):
            return self._add("AND", "and", match.end())
        if _LIMIT.match(self.text, self.position) and not self.scope.knows("lim"):
            raise self._limit()
        self._take_name(self.names.read_letters(self._after_module()))

    def _after_module(self) -> int:
        """The position of a name, without the module before it if the language has it, too."""
        match = _MODULE.match(self.text, self.position)
        is_known = match and (match["name"] in self.scope.functions or match["name"] == "pi")
        return match.end() if match and is_known else self.position

    def _take_name(self, found: NameMatch) -> None:
        if found.kind != "FUNCTION":
            return self._add(found.kind, found.value, found.end)
        # The argument of a root ends at its brace, but that of `\log{t}^2` does not.
        brackets = "({" if found.value == "sqrt" else "("
        is_call = self.text[found.end :].lstrip().startswith(tuple(brackets))
        if found.value == "sqrt" and _ROOT.match(self.text, found.end):
            raise self._error(
                "A root sign can only be a square root.",
                hint="Write other roots as powers: x^(1/3).",
                code="formula.syntax",
            )
        if found.value == "sum" and not is_call:
            raise self._bare_sum()
        self._add("CALL" if is_call else "FUNCTION", found.value, found.end)

    def _take_command(self) -> None:
        start = self.position
        if self.text.startswith(("\\{", "\\}"), start):
            kind, sign = ("LPAR", "(") if self.text[start + 1] == "{" else ("RPAR", ")")
            return self._add(kind, sign, start + 2)
        match = _COMMAND.match(self.text, start)
        if match is None:
            raise self._error("This backslash does not begin a command.", code="formula.character")
        name = match[1]
        if name == "sum":
            raise self._bare_sum()
        if name in COMMAND_SIGNS:
            kind, sign = COMMAND_SIGNS[name]
            self._add(kind, sign, match.end())
        elif name in COMMAND_BARS:
            self._take_bar(*COMMAND_BARS[name], match.end())
        elif name in COMMAND_NAMES or name in self.scope.functions:
            known = COMMAND_NAMES.get(name, name)
            self._take_name(self.names.read_named(known, start, match.end()))
        else:
            raise self._unknown_command(match)

    def _error(self, message: str, *, code: str, hint: str = "") -> FormulaError:
        return FormulaError(message, column=self.position + 1, code=code, hint=hint)

    def _bare_sum(self) -> FormulaError:
        return self._error(
            "This sum has no index.",
            hint=r"Write \sum_{i=1}^n, or sum(x) for the sum of the entries of x.",
            code="formula.sum",
        )

    def _dots(self) -> FormulaError:
        return self._error(
            "It is unclear what these dots stand for.", hint=DOTS_HINT, code="formula.syntax"
        )

    def _limit(self) -> FormulaError:
        return self._error(
            "Limits cannot be computed here.",
            hint="Leave the limit out and declare the constant as large: … where C >> 0.",
            code="formula.syntax",
        )

    def _infinity(self) -> FormulaError:
        return self._error(
            "Infinity is not a number.",
            hint="Write a constant and declare it as large, … where C >> 0, or a number: 1e6.",
            code="formula.syntax",
        )

    def _unfinished(self, name: str) -> FormulaError:
        return self._error(
            rf"\begin{{{name}}} has no \end{{{name}}}.",
            hint="Add it after the last row, or send the numbers as a list.",
            code="formula.brackets",
        )

    def _unknown_command(self, match: re.Match[str]) -> FormulaError:
        if DOTS.match(match[0]):
            return self._dots()
        if match[1] == "lim":
            return self._limit()
        if match[1] == "infty":
            return self._infinity()
        begin = _BEGIN.match(self.text, self.position)
        if begin and rf"\end{{{begin['name']}}}" not in self.text:
            return self._unfinished(begin["name"])
        hint = ""
        if match[1] in ("begin", "end"):
            hint = "Send a matrix as numbers, or as a list of its rows: [u_a, u_b]."
        elif match[1] in ("hat", "bar", "tilde", "dot"):
            hint = "Use the given names, without accents."
        elif self.found and self.found[-1].type == "CARET":
            hint = "Write the transpose as ^T."
        return self._error(
            f"The command {match[0][:30]} is not known here.",
            hint=hint,
            code="formula.command",
        )

    def _meaningless(self, character: str) -> FormulaError:
        if character == "∞":
            return self._infinity()
        shown = repr(character) if character.isascii() else f"{character} (U+{ord(character):04X})"
        hints = {
            "=": "Send only one expression; define your own constants after 'where'.",
            ";": "Send only one expression.",
            "∑": r"Write \sum_{i=1}^n.",
        }
        hint = "Write digits as 0 to 9." if character.isdecimal() else hints.get(character, "")
        return self._error(f"{shown} has no meaning here.", hint=hint, code="formula.character")
