"""An answer in a notebook → the request's body, checked by the service's own reader.

Numbers are sent in full precision: every float64 round-trips. An answer that cannot be read is
refused before it is sent, except for formulas: only the service knows what their names mean.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from grader.client.errors import make_answer_error
from grader.client.questions import FieldInfo
from grader.client.results import FieldReading, Reading
from grader.domain.shapes import make_shape
from grader.errors import AnswerRefused
from grader.formula.eval.evaluate import Environment
from grader.formula.typed.scope import FormulaScope
from grader.reading.answer import Answer, ExternalScore, Numbers, list_notes, read_answer
from grader.reading.fields import (
    ArrayField,
    ChoiceField,
    ExternalField,
    Field,
    FileField,
    NumberField,
    TextField,
)

# No answer is nested deeper; the reader refuses what is left.
_MAX_LEVELS = 6


@dataclass(frozen=True, slots=True)
class PreparedAnswer:
    """An answer to send, and the fields with formulas, which only the service can read.

    ``notes`` tell by field how numbers were read, where that may surprise.
    """

    answer: Mapping[str, Any]
    formulas: frozenset[str]
    notes: Mapping[str, tuple[str, ...]]

    def body(self) -> bytes:
        """The request's body; the same answer gives the same bytes."""
        return json.dumps({"answer": self.answer}, ensure_ascii=False, allow_nan=False).encode()


def build_reading(prepared: PreparedAnswer, fields: Sequence[FieldInfo]) -> Reading:
    """How an answer without formulas is read, in the form that the service reports it."""
    sent = [each for each in fields if each.name in prepared.answer]
    left_out = [each.name for each in fields if each not in sent and each.is_optional]
    return Reading(tuple(_build_field_reading(prepared, each) for each in sent), tuple(left_out))


def _build_field_reading(prepared: PreparedAnswer, field: FieldInfo) -> FieldReading:
    if field.is_numeric:
        shape = np.shape(prepared.answer[field.name])
        notes = prepared.notes[field.name]
        return FieldReading(field.name, "numbers", shape=shape, format="JSON", notes=notes)
    kinds = {"several": "choice", "external": "score"}
    return FieldReading(field.name, kinds.get(field.kind, field.kind))


def prepare_answer(values: Mapping[str, object], fields: Sequence[FieldInfo]) -> PreparedAnswer:
    """Read an answer as the service would.

    Parameters
    ----------
    values
        By field: arrays, tensors, lists, numbers, formulas or other text; None leaves a field out.

    Raises
    ------
    ClientError
        With every error that does not need the service, in the service's words.
    """
    sent = {name: _to_plain(value) for name, value in values.items() if value is not None}
    formulas = frozenset(
        each.name for each in fields if each.is_numeric and isinstance(sent.get(each.name), str)
    )
    known = [_build_field(each, is_formula=each.name in formulas) for each in fields]
    try:
        read = read_answer(sent, known, Environment.empty())
    except AnswerRefused as refused:
        raise make_answer_error(refused) from None
    notes = {name: list_notes(value) for name, value in read.values.items()}
    return PreparedAnswer({**sent, **_list_exact_numbers(read)}, formulas, notes)


def _list_exact_numbers(read: Answer) -> dict[str, Any]:
    """The numbers of an answer as plain data."""
    exact: dict[str, Any] = {}
    for name, value in read.values.items():
        match value:
            case Numbers():
                exact[name] = value.array.tolist()
            case ExternalScore():
                exact[name] = float(value.points)
    return exact


def _to_plain(value: object, level: int = 0) -> object:
    """The value in Python's and NumPy's own types; tensors become lists or arrays."""
    match value:
        case str():
            return str(value)
        case np.ndarray() | np.generic() | int() | float() | complex() | None:
            return value
        case list() | tuple() if level < _MAX_LEVELS:
            return [_to_plain(each, level + 1) for each in value]
        case set() | frozenset():
            return sorted(value, key=str)
    if callable(convert := getattr(value, "tolist", None)):
        # A tensor on a graphics card has tolist, but refuses to become an array.
        return convert()
    return np.asarray(value) if hasattr(value, "__array__") else value


def _build_field(info: FieldInfo, *, is_formula: bool) -> Field:
    if is_formula:
        # The client does not parse formulas: to it, they are text.
        return TextField(info.name, max_characters=sys.maxsize)
    match info.kind:
        case "array":
            return ArrayField(info.name, make_shape(info.shape or ()), FormulaScope())
        case "number":
            return NumberField(info.name, FormulaScope())
        case "choice" | "several":
            return ChoiceField(info.name, info.options, several=info.kind == "several")
        case "file":
            return FileField(info.name)
        case "external":
            # Only the service knows the maximum.
            return ExternalField(info.name, Decimal("Infinity"))
        case _:
            return TextField(info.name, max_characters=sys.maxsize)
