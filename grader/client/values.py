"""An answer as it stands in a notebook → what is sent: read as the service would, or refused here.

Numbers go in full precision: every float64 is written with as many digits as tell it from all
others. What cannot be read is refused before it is sent, by the service's own reader. Formulas are
the exception: only the service knows what their names stand for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.client.errors import refusal
from grader.client.questions import FieldFacts
from grader.domain.shapes import of_axes
from grader.errors import AnswerRefused
from grader.formula.evaluate import Environment
from grader.formula.scope import Scope
from grader.reading.answer import Numbers, read_answer
from grader.reading.fields import ArrayField, ChoiceField, Field, NumberField, TextField

# Deeper than any answer, and the reader refuses it then.
_MOST_LEVELS = 6


@dataclass(frozen=True, slots=True)
class Ready:
    """An answer that may be sent, and the fields whose text only the service can read."""

    answer: Mapping[str, Any]
    formulas: frozenset[str]

    def body(self) -> bytes:
        """The request's body; the same answer gives the same bytes."""
        text = json.dumps({"answer": self.answer}, ensure_ascii=False, allow_nan=False)
        return text.encode()


def make_ready(values: Mapping[str, object], fields: Sequence[FieldFacts]) -> Ready:
    """Read an answer as the service would.

    Parameters
    ----------
    values
        By field: arrays, tensors, lists, numbers, formulas or other text; None is left out.

    Raises
    ------
    ClientError
        With every fault that can be seen from here, in the service's words.
    """
    sent = {name: plain(value) for name, value in values.items() if value is not None}
    if any(each.kind in ("external", "file") for each in fields):
        # These are read from what the service knows; it will say what is wrong.
        return Ready(sent, frozenset(sent))
    formulas = frozenset(
        each.name for each in fields if each.is_numeric and isinstance(sent.get(each.name), str)
    )
    known = [_field(each, is_formula=each.name in formulas) for each in fields]
    try:
        read = read_answer(sent, known, Environment.empty())
    except AnswerRefused as refused:
        raise refusal(refused) from None
    numbers = {
        name: value.array.tolist()
        for name, value in read.values.items()
        if isinstance(value, Numbers)
    }
    return Ready({**sent, **numbers}, formulas)


def plain(value: object, level: int = 0) -> object:
    """The value in Python's and NumPy's own types; tensors and the like become lists or arrays."""
    match value:
        case np.ndarray() | np.generic() | int() | float() | complex() | None:
            return value
        case str():
            return str(value)
        case list() | tuple() if level < _MOST_LEVELS:
            return [plain(each, level + 1) for each in value]
        case set() | frozenset():
            return sorted(value, key=str)
    if callable(convert := getattr(value, "tolist", None)):
        # A tensor on a graphics card has this, while it refuses to become an array.
        return convert()
    return np.asarray(value) if hasattr(value, "__array__") else value


def _field(facts: FieldFacts, *, is_formula: bool) -> Field:
    if is_formula:
        # Here it is a text like any other.
        return TextField(facts.name, most_characters=sys.maxsize)
    match facts.kind:
        case "array":
            return ArrayField(facts.name, of_axes(facts.shape or ()), Scope())
        case "number":
            return NumberField(facts.name, Scope())
        case "choice" | "several":
            return ChoiceField(facts.name, facts.options, several=facts.kind == "several")
        case _:
            return TextField(facts.name, most_characters=sys.maxsize)
