"""Text → tokens, for plain text, Unicode and LaTeX alike.

The lexer knows the scope, because only that tells `C(mu_a)`, a product, from `exp(mu_a)`, a call,
and `SS^T`, a product, from `beta`, a name.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from lark import Token

from grader.errors import FormulaError
from grader.formula.notation import (
    COMMAND_NAMES,
    COMMAND_SIGNS,
    GREEK,
    SIGNS,
    SUBSCRIPT_LETTERS,
    SUPERSCRIPT_DIGITS,
    closing_brace,
)
from grader.formula.scope import Scope
from grader.formula.series import Header, bound_names, read_header

MAX_TOKENS = 500
MAX_NESTING = 40

_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_RUN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_SUPERSCRIPT_T = re.compile(r"\^\s*(?:T|\\top|\\intercal|\\mathsf|⊤|ᵀ|\{\s*(?:T|\\top|⊤)\s*\}|')")
_DOT_T = re.compile(r"\.T(?![A-Za-z0-9_])")
_COMPARE = re.compile(r"<=|>=")
_AND = re.compile(r"and(?![A-Za-z0-9_])")
_SUM = re.compile(r"(?:\\sum|∑|sum)\s*(?=_|\^)")
_SUBSCRIPT_RUN = re.compile(r"[A-Za-z0-9]+")

# After one of these an operand has ended, so that a bar closes and a quote transposes.
_OPERAND_ENDS = frozenset(
    {"NUMBER", "NAME", "MEMBER", "RPAR", "RBRACE", "RBRACK", "BAR_CLOSE", "TRANSPOSE", "RANGLE"}
)
_OPENING = {"LPAR": "RPAR", "LBRACE": "RBRACE", "LBRACK": "RBRACK"}
_CLOSING = {closing: opening for opening, closing in _OPENING.items()}


@dataclass(frozen=True, slots=True)
class Subscripted:
    """The value of a MEMBER token: a family's name and the subscript as written."""

    name: str
    label: str


class Lexer:
    """Reads one formula; `tokens()` gives its tokens in order, each with its place."""

    def __init__(self, text: str, scope: Scope) -> None:
        self.text = text
        self.scope = scope
        self.position = 0
        self.found: list[Token] = []
        self.bound = bound_names(text)
        self._open_bars: list[str] = []
        self._open: list[Token] = []

    def tokens(self) -> list[Token]:
        """All tokens of the text."""
        while self._skip_space():
            self._next()
            if len(self.found) > MAX_TOKENS:
                raise self._error("This formula is too long.", code="formula.limit")
        if self._open:
            raise FormulaError(
                f"This {str(self._open[-1])!r} is never closed.",
                column=(self._open[-1].start_pos or 0) + 1,
                code="formula.brackets",
            )
        return self.found

    def _skip_space(self) -> bool:
        while self.position < len(self.text) and self.text[self.position] == " ":
            self.position += 1
        return self.position < len(self.text)

    def _next(self) -> None:
        character = self.text[self.position]
        if match := _NUMBER.match(self.text, self.position):
            self._take_number(match[0])
        elif match := _SUM.match(self.text, self.position):
            self._take_sum(match.end())
        elif character.isascii() and character.isalpha():
            self._take_run()
        elif character in GREEK:
            self._take_name(GREEK[character], self.position + 1)
        elif character == "\\":
            self._take_command()
        elif match := _SUPERSCRIPT_T.match(self.text, self.position):
            self._add("TRANSPOSE", "^T", match.end())
        elif character == "^":
            self._add("CARET", "^", self.position + 1)
        elif match := _DOT_T.match(self.text, self.position):
            self._add("TRANSPOSE", "^T", match.end())
        elif character in SUPERSCRIPT_DIGITS:
            self._take_superscript()
        elif character in "|‖∥":
            self._take_bar(2 if self.text.startswith("||", self.position) else 1)
        elif match := _COMPARE.match(self.text, self.position):
            self._add("COMPARE", match[0], match.end())
        elif character == "√":
            self._add("FUNCTION", "sqrt", self.position + 1)
        elif self.text.startswith("**", self.position):
            self._add("CARET", "^", self.position + 2)
        elif character in SIGNS:
            kind, sign = SIGNS[character]
            self._add(kind, sign, self.position + 1)
        else:
            raise self._error(f"{character!r} has no meaning here.", code="formula.character")

    def _add(self, kind: str, value: object, end: int) -> None:
        token = Token(kind, value, start_pos=self.position, end_pos=end)
        if kind in _OPENING:
            self._open.append(token)
            if len(self._open) > MAX_NESTING:
                raise self._error("The brackets are nested too deeply.", code="formula.limit")
        elif kind in _CLOSING:
            if not self._open or self._open[-1].type != _CLOSING[kind]:
                raise self._error(
                    f"This {value!r} closes nothing that was opened.", code="formula.brackets"
                )
            self._open.pop()
        self.found.append(token)
        self.position = end

    def _take_number(self, text: str) -> None:
        # In LaTeX, \frac12 is one half.
        if self._wants_single_digit():
            text = text[0]
        self._add("NUMBER", text, self.position + len(text))

    def _wants_single_digit(self) -> bool:
        kinds = [token.type for token in self.found[-2:]]
        return kinds[-1:] == ["FRACTION"] or kinds == ["FRACTION", "NUMBER"]

    def _take_superscript(self) -> None:
        digits = ""
        end = self.position
        while end < len(self.text) and self.text[end] in SUPERSCRIPT_DIGITS:
            digits += SUPERSCRIPT_DIGITS[self.text[end]]
            end += 1
        start = self.position
        self._add("CARET", "^", start)
        self._add("NUMBER", digits, end)

    def _take_bar(self, width: int, end: int | None = None) -> None:
        kind = "norm" if width == 2 or self.text[self.position] in "‖∥\\" else "bars"
        ends_operand = bool(self.found) and self.found[-1].type in _OPERAND_ENDS
        closes = bool(self._open_bars) and ends_operand
        if closes:
            self._open_bars.pop()
        else:
            self._open_bars.append(kind)
        self._add("BAR_CLOSE" if closes else "BAR_OPEN", kind, end or self.position + width)

    def _take_sum(self, end: int) -> None:
        header, position = read_header(self.text, end)
        self._add("SUM", header, position)

    def _take_command(self) -> None:
        if self.text.startswith("\\|", self.position):
            return self._take_bar(2, self.position + 2)
        if self.text[self.position : self.position + 2] in ("\\{", "\\}"):
            opens = self.text[self.position + 1] == "{"
            return self._add(*(("LPAR", "(") if opens else ("RPAR", ")")), self.position + 2)
        match = _COMMAND.match(self.text, self.position)
        if match is None:
            raise self._error("This backslash begins nothing known.", code="formula.character")
        name = match[1]
        if name in ("frac", "tfrac", "dfrac"):
            return self._add("FRACTION", name, match.end())
        if name in ("lVert", "lvert"):
            self._open_bars.append("norm")
            return self._add("BAR_OPEN", "norm" if name == "lVert" else "bars", match.end())
        if name in ("rVert", "rvert", "Vert", "vert"):
            return self._take_bar(2 if "V" in name else 1, match.end())
        if name in COMMAND_SIGNS:
            kind, sign = COMMAND_SIGNS[name]
            return self._add(kind, sign, match.end())
        if name in COMMAND_NAMES:
            return self._take_name(COMMAND_NAMES[name], match.end())
        if name in self.scope.functions:
            return self._take_function(name, match.end())
        raise self._error(
            f"The command \\{name} is not known here.", len(match[0]), code="formula.command"
        )

    def _take_run(self) -> None:
        """Read letters: a known name, a name with a subscript, or known names side by side."""
        if self.scope.allows_conditions and (match := _AND.match(self.text, self.position)):
            return self._add("AND", "and", match.end())
        match = _RUN.match(self.text, self.position)
        assert match is not None, "the caller saw a letter"
        run = match[0].rstrip("_")
        end = self.position + len(run)
        if self.scope.knows(run) and not self._has_subscript(end):
            return self._take_name(run, end)
        head = run.split("_", 1)[0]
        known = next(
            (head[:size] for size in range(len(head), 0, -1) if self._may_begin(head, size)), None
        )
        if known is None:
            raise self._unknown(run)
        self._take_name(known, self.position + len(known))

    def _may_begin(self, head: str, size: int) -> bool:
        """Whether the first letters of a run are a name by themselves, with the rest to follow."""
        name = head[:size]
        if size == len(head):
            return self.scope.knows(name) or name in self.scope.families or name == "I"
        is_value = name in self.scope.shapes or name in self.scope.constants or name == "I"
        rest = head[size:]
        return is_value and any(self._may_begin(rest, cut) for cut in range(len(rest), 0, -1))

    def _has_subscript(self, end: int) -> bool:
        return self.text[end : end + 1] == "_" or self.text[end : end + 1] in SUBSCRIPT_LETTERS

    def _take_name(self, name: str, end: int) -> None:
        subscript = self._subscript(end)
        if subscript is None:
            if name in self.scope.functions:
                return self._take_function(name, end)
            if not self.scope.knows(name) and name not in self.scope.families and name != "I":
                raise self._unknown(name)
            return self._add("NAME", name, end)
        label, stop = subscript
        if f"{name}_{label}" in self.scope.shapes:
            return self._add("NAME", f"{name}_{label}", stop)
        fitting = self._fitting_label(name, label)
        if fitting is None:
            raise self._bad_subscript(name, label, stop)
        if self.text[stop - 1] == "}" or len(fitting) == len(label):
            return self._add("MEMBER", Subscripted(name, fitting), stop)
        # In k_ak_b the subscript is the first letter only.
        self._add("MEMBER", Subscripted(name, fitting), stop - (len(label) - len(fitting)))

    def _subscript(self, end: int) -> tuple[str, int] | None:
        """The subscript behind a name and the position behind it."""
        letters = ""
        while end + len(letters) < len(self.text) and (
            self.text[end + len(letters)] in SUBSCRIPT_LETTERS
        ):
            letters += SUBSCRIPT_LETTERS[self.text[end + len(letters)]]
        if letters:
            return letters, end + len(letters)
        start = end
        while start < len(self.text) and self.text[start] == " ":
            start += 1
        if self.text[start : start + 1] != "_":
            return None
        if self.text[start + 1 : start + 2] == "{":
            stop = closing_brace(self.text, start + 1)
            return self.text[start + 2 : stop].replace(" ", ""), stop + 1
        match = _SUBSCRIPT_RUN.match(self.text, start + 1)
        if match is None:
            raise FormulaError(
                "A subscript must follow this '_'.", column=start + 1, code="formula.syntax"
            )
        return match[0], match.end()

    def _fitting_label(self, name: str, label: str) -> str | None:
        """The longest beginning of a subscript that the family knows; braces allow no other."""
        for size in range(len(label), 0, -1):
            if self._is_label(name, label[:size]):
                return label[:size]
        return None

    def _is_label(self, name: str, label: str) -> bool:
        if name == "I":
            return label.isdigit() or label in self.scope.constants
        family = self.scope.families.get(name)
        if family is None:
            return False
        return (
            label in family.labels or label in self.bound or (family.numbered and label.isdigit())
        )

    def _take_function(self, name: str, end: int) -> None:
        rest = self.text[end:].lstrip(" ")
        self._add("CALL" if rest.startswith("(") else "FUNCTION", name, end)

    def _error(self, message: str, length: int = 1, *, code: str, hint: str = "") -> FormulaError:
        return FormulaError(message, column=self.position + 1, length=length, code=code, hint=hint)

    def _unknown(self, name: str) -> FormulaError:
        known = sorted({*self.scope.names(), *self.scope.members(), "I"})
        close = difflib.get_close_matches(name, [*known, *self.scope.functions], n=1)
        if close:
            hint = f"Did you mean {close[0]}?"
        elif len(name) == 1 or name[0].isupper():
            hint = f"If it is a constant of yours, say its value: … where {name} = 50."
        else:
            hint = ""
        return self._error(
            f"{name[:40]} is not known here. Known: {', '.join(known[:24])}.",
            len(name),
            code="formula.unknown",
            hint=hint,
        )

    def _bad_subscript(self, name: str, label: str, stop: int) -> FormulaError:
        family = self.scope.families.get(name)
        if family is None:
            return self._unknown(f"{name}_{label}")
        known = [f"{name}_{each}" for each in family.labels]
        if family.numbered:
            known.append(f"{name}_1 … {name}_{family.count}")
        hint = f"Known: {', '.join(known)}." if known else ""
        return self._error(
            f"{name}_{label[:20]} is not known here.",
            stop - self.position,
            code="formula.unknown",
            hint=hint,
        )


def lex(text: str, scope: Scope) -> Iterator[Token]:
    """The tokens of a formula whose looks are already blanked out."""
    return iter(Lexer(text, scope).tokens())


__all__ = ["Header", "Lexer", "Subscripted", "lex"]
