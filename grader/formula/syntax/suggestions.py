"""What is said where a name or a subscript is not known: what was perhaps meant."""

from __future__ import annotations

import difflib
import re

from grader.errors import FormulaError
from grader.formula.syntax.notation import GREEK
from grader.formula.typed.scope import IDENTITY, Scope

_MOST_SHOWN = 24
_CONSTANT = re.compile(r"(?:[A-Za-z]|[A-Z]\w?|" + "|".join(GREEK.values()) + r")(?:_?\w)?")


def unknown_name(name: str, *, text: str, start: int, length: int, scope: Scope) -> FormulaError:
    """The error for a name that stands for nothing here."""
    known = sorted({*scope.names(), *scope.members(), IDENTITY})
    return FormulaError(
        f"{name[:40]} is not known here. Known: {', '.join(known[:_MOST_SHOWN])}.",
        column=start + 1,
        length=length,
        code="formula.unknown",
        hint=_name_hint(name[:40], text[:start].rstrip(), known, scope),
    )


def _name_hint(name: str, before: str, known: list[str], scope: Scope) -> str:
    if before.endswith("^"):
        return "The transpose is written ^T."
    if name == "e":
        return "Euler's number is written exp(1), and its powers e^x."
    hints = []
    close = _closest(name, [*known, *scope.functions])
    if close:
        hints.append(f"Did you mean {close}?")
    if _CONSTANT.fullmatch(name):
        hints.append(f"If it is a constant of yours, say its value: … where {name} = 50.")
    return " ".join(hints)


def _closest(name: str, known: list[str]) -> str | None:
    same = [each for each in known if each.casefold() == name.casefold()]
    return next(iter(same or difflib.get_close_matches(name, known, n=1, cutoff=0.7)), None)


def unknown_subscript(name: str, label: str, *, start: int, end: int, scope: Scope) -> FormulaError:
    """The error for a subscript that a family does not have."""
    family = scope.families[name]
    known = [f"{name}_{each}" for each in family.labels]
    if family.numbered:
        known.append(f"{name}_1 … {name}_{family.count}")
    return FormulaError(
        f"{name}_{label[:20]} is not known here.",
        column=start + 1,
        length=end - start,
        code="formula.unknown",
        hint=f"Known: {', '.join(known)}." if known else "",
    )


def index_as_value(name: str, *, start: int) -> FormulaError:
    """The error for an index that stands where a value should."""
    return FormulaError(
        f"{name} is an index.",
        column=start + 1,
        length=len(name),
        code="formula.subscript",
        hint="It stands in subscripts only.",
    )
