"""Letters → names: which known name begins at a place, and which subscript it has.

Only the scope tells `SS^T`, a product, from `beta`, a name, and `k_ak_b` from a longer subscript.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.errors import FormulaError
from grader.formula.syntax.normalize import closing_brace
from grader.formula.syntax.notation import SUBSCRIPT_LETTERS, SUPERSCRIPT_DIGITS, SUPERSCRIPT_MINUS
from grader.formula.syntax.suggestions import index_as_value, unknown_name, unknown_subscript
from grader.formula.typed.scope import EULER, FAMOUS, IDENTITY, Scope

#: A superscript that is the transpose, in plain text and in LaTeX.
TRANSPOSED = re.compile(
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
_UNDERSCORE = re.compile(r"\s*(_)\s*")


@dataclass(frozen=True, slots=True)
class Subscripted:
    """The value of a MEMBER token: a family's name and the subscript as written."""

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class Found:
    """A name that was read: what kind of token it is, its value and where it ends."""

    kind: str
    value: str | Subscripted
    end: int


@dataclass(frozen=True, slots=True)
class _Subscript:
    """A subscript as written; one in braces must be taken as a whole."""

    label: str
    start: int
    end: int
    is_whole: bool


class NameReader:
    """Reads the names of one text; `bound` grows by the indices of the sums met so far."""

    def __init__(self, text: str, scope: Scope) -> None:
        self.text = text
        self.scope = scope
        self.bound: set[str] = set()

    def read_letters(self, start: int) -> Found:
        """Read letters: a known name, a name with a subscript, or known names side by side."""
        match = _RUN.match(self.text, start)
        assert match is not None, "the caller saw a letter"
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
                raise index_as_value(name, start=start)
            raise self._unknown(name, start, start + len(run))
        return self.read_named(first, start, start + len(first))

    def read_named(self, name: str, start: int, end: int) -> Found:
        """Read what follows a name: perhaps a subscript, which makes it a member or a longer name.

        Parameters
        ----------
        start, end
            Where the name itself is written, in letters, as a sign or as a command.
        """
        subscript = self._subscript(end)
        if subscript is None:
            return self._without_subscript(name, start, end)
        if name in self.scope.functions:
            raise FormulaError(
                f"{name} takes no subscript.",
                column=subscript.start + 1,
                length=subscript.end - subscript.start,
                hint="log is the natural logarithm; to base 2 write log(x) / log(2)."
                if name in ("log", "ln")
                else "",
                code="formula.syntax",
            )
        for label in _beginnings(subscript):
            cut = subscript.end - (len(subscript.label) - len(label))
            if self.scope.is_value(f"{name}_{label}"):
                return Found("NAME", f"{name}_{label}", cut)
            if (fitting := self._fitting(name, label)) is not None:
                return Found("MEMBER", Subscripted(name, fitting), cut)
        if name in self.scope.families:
            raise unknown_subscript(
                name, subscript.label, start=start, end=subscript.end, scope=self.scope
            )
        raise self._unknown(f"{name}_{subscript.label}", start, subscript.end)

    def _without_subscript(self, name: str, start: int, end: int) -> Found:
        if name in self.scope.functions:
            return Found("FUNCTION", name, end)
        if self._is_name(name, end) or name in self.scope.indices:
            return Found("NAME", name, end)
        raise self._unknown(name, start, end)

    def _is_name(self, name: str, end: int) -> bool:
        """Whether a name may stand by itself, or before its subscript."""
        if self.scope.is_value(name) or name in self.scope.families or name == IDENTITY:
            return True
        return name in FAMOUS and (name != EULER or self._is_raised(end))

    def _is_raised(self, end: int) -> bool:
        power = _POWER.match(self.text, end)
        return power is not None and not TRANSPOSED.match(self.text, power.start(1))

    def _first_name(self, head: str, start: int) -> str | None:
        """The longest name that letters begin with, such that the rest consists of names, too."""
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

    def _is_piece(self, name: str, end: int, is_last: bool) -> bool:
        if not is_last:
            return self.scope.is_value(name) or name in (IDENTITY, "pi")
        if name in self.scope.functions or self._is_name(name, end):
            return True
        subscript = self._subscript(end)
        return subscript is not None and any(
            self.scope.is_value(f"{name}_{label}") for label in _beginnings(subscript)
        )

    def _subscript(self, end: int) -> _Subscript | None:
        """The subscript behind a name, None where there is none."""
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
            stop = closing_brace(self.text, sign.end())
            label = "".join(self.text[sign.end() + 1 : stop].replace("\\_", "_").split())
            return _Subscript(label, start, stop + 1, is_whole=True)
        match = _LABEL.match(self.text, sign.end())
        if match is None:
            raise FormulaError(
                "A subscript must follow this '_'.", column=start + 1, code="formula.syntax"
            )
        return _Subscript(match[0], start, match.end(), is_whole=False)

    def _fitting(self, name: str, label: str) -> str | None:
        """The subscript in the form that the family, or the identity, knows it by."""
        is_number = label.isascii() and label.isdigit()
        family = self.scope.families.get(name)
        if family is not None:
            fits = label in family.labels or label in self.bound or (family.numbered and is_number)
            return label if fits else None
        if name != IDENTITY:
            return None
        if (square := _SQUARE.fullmatch(label)) and square[1] == square[2]:
            return self._fitting(name, square[1])
        return label if is_number or label in self.scope.constants else None

    def _unknown(self, name: str, start: int, end: int) -> FormulaError:
        return unknown_name(name, text=self.text, start=start, length=end - start, scope=self.scope)


def _beginnings(subscript: _Subscript) -> Iterator[str]:
    """The subscript, then its beginnings where letters follow: in `k_ak_b` it is the `a`."""
    label = subscript.label
    yield label
    if not subscript.is_whole and len(label) <= _LONGEST_HEAD:
        for size in range(len(label) - 1, 0, -1):
            if label[size].isalpha():
                yield label[:size]
