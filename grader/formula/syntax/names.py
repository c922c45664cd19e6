"""Letters → names: which known name begins at a position, and which subscript it has.

Only the scope distinguishes `SS^T`, a product, from `beta`, a name, and `k_ak_b` from a longer
subscript.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.errors import FormulaError
from grader.formula.syntax.normalize import match_brace
from grader.formula.syntax.notation import (
    SUBSCRIPT_LETTERS,
    SUPERSCRIPT_DIGITS,
    SUPERSCRIPT_MINUS,
)
from grader.formula.syntax.suggestions import (
    LIBRARY_NAME,
    make_library_error,
    make_subscript_error,
    make_unknown_error,
)
from grader.formula.typed.scope import EULER, IDENTITY, MATH_CONSTANTS, FormulaScope

#: A superscript that is the transpose, in plain text and in LaTeX.
TRANSPOSE_SUPERSCRIPT = re.compile(
    r"\^\s*(?:T|\\top(?![A-Za-z])|\\intercal(?![A-Za-z])|\\prime(?![A-Za-z])|⊤|ᵀ|'"
    r"|\{\s*(?:T|\\top|\\intercal|\\prime|⊤|ᵀ|')\s*\})"
)

_RUN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_]|\\_)*")
_HEAD = re.compile(r"[A-Za-z0-9]+")
_LONGEST_HEAD = 40
_LABEL = re.compile(r"[A-Za-z0-9]+")
_SQUARE = re.compile(r"(\w+)(?:\\times|×|x)(\w+)")
_IDENTITY_WORD = "Id"
_POWER = re.compile(rf"\s*(\^|\*\*|[{''.join(SUPERSCRIPT_DIGITS)}{SUPERSCRIPT_MINUS}])")
_BRACKETED_LABEL = re.compile(r"\[\s*+([A-Za-z0-9]++)\s*+\]")
_UNDERSCORE = re.compile(r"\s*(_)\s*")


@dataclass(frozen=True, slots=True)
class SubscriptedName:
    """The value of a MEMBER token: a family's name and the subscript as written."""

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A name that was read: its kind of token, its value and its end."""

    kind: str
    value: str | SubscriptedName
    end: int


@dataclass(frozen=True, slots=True)
class _Subscript:
    """A subscript as written; one in braces cannot be split."""

    label: str
    start: int
    end: int
    is_whole: bool


class NameReader:
    """Reads the names of one text; `bound` are the indices of the sums so far."""

    def __init__(self, text: str, scope: FormulaScope) -> None:
        self.text = text
        self.scope = scope
        self.bound: set[str] = set()

    def read_letters(self, start: int) -> NameMatch:
        """Read letters: a known name, a name with a subscript, or known names side by side."""
        if library := LIBRARY_NAME.match(self.text, start):
            raise make_library_error(library, self.scope)
        match = _RUN.match(self.text, start)
        assert match is not None, "the caller found a letter"
        run = match[0].rstrip("_\\")
        name = run.replace("\\_", "_")
        if self.scope.knows(name):
            return self.read_named(name, start, start + len(run))
        if run == _IDENTITY_WORD:
            return self.read_named(IDENTITY, start, start + len(run))
        head = _HEAD.match(run)
        assert head is not None, "a run begins with a letter"
        first = self._first_name(head[0], start)
        if first is None:
            if name in self.bound:
                raise make_index_error(name, start=start)
            raise self._unknown(self._find_unknown_letter(head[0], start) or name, start)
        return self.read_named(first, start, start + len(first))

    def read_named(self, name: str, start: int, end: int) -> NameMatch:
        """Read a name and its subscript, if any, which makes it a member or a longer name.

        Parameters
        ----------
        start, end
            The position of the name itself, written in letters, as a sign or as a command.
        """
        subscript = self._subscript(end) or self._bracketed_subscript(name, start, end)
        if subscript is None:
            return self._without_subscript(name, start, end)
        if name in self.scope.functions:
            raise FormulaError(
                f"{name} cannot have a subscript.",
                column=subscript.start + 1,
                hint="log is the natural logarithm; for base 2 write log(x) / log(2)."
                if name in ("log", "ln")
                else "",
                code="formula.syntax",
            )
        for label in _list_prefixes(subscript):
            cut = subscript.end - (len(subscript.label) - len(label))
            if self.scope.is_value(f"{name}_{label}"):
                return NameMatch("NAME", f"{name}_{label}", cut)
            if (fitting := self._fitting(name, label)) is not None:
                return NameMatch("MEMBER", SubscriptedName(name, fitting), cut)
        if name in self.scope.families:
            raise make_subscript_error(name, subscript.label, start=start, scope=self.scope)
        raise self._unknown(f"{name}_{subscript.label}", start)

    def _without_subscript(self, name: str, start: int, end: int) -> NameMatch:
        if name in self.scope.functions:
            return NameMatch("FUNCTION", name, end)
        if self._is_name(name, end) or name in self.scope.indices:
            return NameMatch("NAME", name, end)
        raise self._unknown(name, start)

    def _is_name(self, name: str, end: int) -> bool:
        """Whether a name may be used alone, or before its subscript."""
        if self.scope.is_value(name) or name in self.scope.families or name == IDENTITY:
            return True
        return name in MATH_CONSTANTS and (name != EULER or self._is_raised(end))

    def _is_raised(self, end: int) -> bool:
        power = _POWER.match(self.text, end)
        return power is not None and not TRANSPOSE_SUPERSCRIPT.match(self.text, power.start(1))

    def _first_name(self, head: str, start: int) -> str | None:
        """The longest name at the beginning of letters whose rest consists of names too."""
        size = len(head)
        if size > _LONGEST_HEAD:
            return None
        cuts = [size]
        for begin in range(size - 1, -1, -1):
            fitting = [
                cut for cut in cuts if self._is_piece(head[begin:cut], start + cut, cut == size)
            ]
            if fitting and begin == 0:
                return head[: max(fitting)]
            if fitting:
                cuts.append(begin)
        return None

    def _find_unknown_letter(self, head: str, start: int) -> str:
        """The `C` of `Ck_a`, where what follows it is known; empty for anything else."""
        rest = head[1:]
        is_product = bool(rest) and self._first_name(rest, start + 1) is not None
        return head[0] if is_product and head[0].isupper() else ""

    def _is_piece(self, name: str, end: int, is_last: bool) -> bool:
        if not is_last:
            return self.scope.is_value(name) or name in (IDENTITY, "pi")
        if name in self.scope.functions or self._is_name(name, end):
            return True
        subscript = self._subscript(end)
        return subscript is not None and any(
            self.scope.is_value(f"{name}_{label}") for label in _list_prefixes(subscript)
        )

    def _subscript(self, end: int) -> _Subscript | None:
        """The subscript after a name; None where there is none."""
        stop = end
        while self.text[stop : stop + 1] in SUBSCRIPT_LETTERS:
            stop += 1
        if stop > end:
            letters = "".join(SUBSCRIPT_LETTERS[each] for each in self.text[end:stop])
            return _Subscript(letters, end, stop, is_whole=True)
        sign = _UNDERSCORE.match(self.text, end)
        if sign is None:
            return None
        start = sign.start(1)
        if self.text[sign.end() : sign.end() + 1] == "{":
            stop = match_brace(self.text, sign.end())
            label = "".join(self.text[sign.end() + 1 : stop].replace("\\_", "_").split())
            return _Subscript(label, start, stop + 1, is_whole=True)
        match = _LABEL.match(self.text, sign.end())
        if match is None:
            raise FormulaError(
                "A subscript is missing after this '_'.", column=start + 1, code="formula.syntax"
            )
        return _Subscript(match[0], start, match.end(), is_whole=False)

    def _bracketed_subscript(self, name: str, start: int, end: int) -> _Subscript | None:
        """The subscript of a member in the notation of programs, `k[a]`; None for other lists."""
        match = _BRACKETED_LABEL.match(self.text, end)
        if match is None or name not in self.scope.families:
            return None
        label = match[1]
        if label.isdigit():
            raise self._ambiguous_number(name, label, start)
        if self._fitting(name, label) is None:
            return None
        return _Subscript(label, end, match.end(), is_whole=True)

    def _ambiguous_number(self, name: str, label: str, start: int) -> FormulaError:
        family = self.scope.families[name]
        hint = ""
        if family.numbered:
            hint = f"Write {name}_1 for the first member."
        elif family.labels:
            hint = f"Write {name}_{next(iter(family.labels))}."
        return FormulaError(
            f"It is unclear whether {name}[{label[:20]}] counts from 0 or from 1.",
            column=start + 1,
            code="formula.subscript",
            hint=hint,
        )

    def _fitting(self, name: str, label: str) -> str | None:
        """The subscript as the family or the identity knows it; None where it does not."""
        is_number = label.isascii() and label.isdigit()
        family = self.scope.families.get(name)
        if family is not None:
            fits = label in family.labels or label in self.bound or (family.numbered and is_number)
            return label if fits else None
        if name != IDENTITY:
            return None
        if (square := _SQUARE.fullmatch(label)) and square[1] == square[2]:
            return self._fitting(name, square[1])
        is_size = label in self.scope.constants or label in self.scope.own
        return label if is_number or is_size else None

    def _unknown(self, name: str, start: int) -> FormulaError:
        return make_unknown_error(name, text=self.text, start=start, scope=self.scope)


def _list_prefixes(subscript: _Subscript) -> Iterator[str]:
    """The subscript, then its shorter beginnings before a letter: the `a` in `k_ak_b`."""
    label = subscript.label
    yield label
    if not subscript.is_whole and len(label) <= _LONGEST_HEAD:
        for size in range(len(label) - 1, 0, -1):
            if label[size].isalpha():
                yield label[:size]


def make_index_error(name: str, *, start: int) -> FormulaError:
    """The error of an index in the place of a value."""
    return FormulaError(
        f"{name} is an index and can only be used as a subscript.",
        column=start + 1,
        code="formula.subscript",
    )
