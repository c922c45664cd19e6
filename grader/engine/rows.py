"""Submissions → rows: what must be judged, on which variant and at which size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.domain.verdicts import Reason
from grader.engine.observe import set_up
from grader.engine.question import Question
from grader.engine.variants import Variant, stack_variants
from grader.errors import FormulaError
from grader.formula.evaluate import Environment
from grader.formula.read import Formula
from grader.reading.answer import Answer, Numbers
from grader.reading.fields import ArrayField
from grader.reading.formulas import LADDER, evaluate_formula

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class UsedAnswer:
    """The earlier answer that a part builds on: the student's own, or the reference."""

    arrays: Mapping[str, Array]
    is_own: bool


@dataclass(frozen=True, slots=True)
class Submission:
    """An answer that was read, with the variant it answers."""

    variant: Variant
    answer: Answer
    used: UsedAnswer | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One thing to judge: arrays on one variant, at one size of constants declared large.

    On fresh variants the same formula is judged once, however many students sent it.
    """

    submissions: tuple[int, ...]
    variant: Variant
    arrays: Mapping[str, Array]
    reason: Reason | None
    """What it means if this row fails and the first one does not."""


def list_rows(
    question: Question, submissions: Sequence[Submission], fresh: Sequence[Variant]
) -> list[Row]:
    """Every submission on its own variant and, where all is formula, on fresh ones."""
    rows = []
    senders: dict[tuple[str, ...], list[int]] = {}
    for number, submission in enumerate(submissions):
        formulas = _formulas(question, submission)
        for size in _sizes(formulas):
            arrays = place(submission, submission.variant, size)
            reason = None if size == LADDER[0] else Reason.NOT_FOR_EVERY_SIZE
            rows.append(Row((number,), submission.variant, arrays, reason))
        if formulas:
            senders.setdefault(tuple(each.text for each in formulas), []).append(number)
    for numbers in senders.values():
        submission = submissions[numbers[0]]
        rows.extend(
            Row(tuple(numbers), variant, place(submission, variant, size), Reason.NOT_GENERAL)
            for variant in fresh
            for size in _sizes(_formulas(question, submission))
        )
    return rows


def _formulas(question: Question, submission: Submission) -> list[Formula]:
    """The formulas of all arrays; none where one of the arrays is numbers."""
    values = [
        submission.answer.values.get(field.name)
        for field in question.fields
        if isinstance(field, ArrayField)
    ]
    formulas = [value for value in values if isinstance(value, Formula)]
    return formulas if len(formulas) == len(values) else []


def _sizes(formulas: Sequence[Formula]) -> tuple[float, ...]:
    """The sizes to try: a ladder where a constant is declared large."""
    return LADDER if any(formula.large for formula in formulas) else LADDER[:1]


def place(submission: Submission, variant: Variant, size: float) -> dict[str, Array]:
    """The numbers of a submission on a variant; a formula that is not finite there gives NaN."""
    arrays: dict[str, Array] = {}
    if submission.used is not None:
        arrays |= submission.used.arrays
    formulas = {}
    for name, value in submission.answer.values.items():
        if isinstance(value, Numbers):
            arrays[name] = value.array
        elif isinstance(value, Formula):
            formulas[name] = value
    if formulas:
        drawn = stack_variants([variant])
        for name, formula in formulas.items():
            arrays[name] = _evaluated(formula, drawn, size)
    return {name: array[None] for name, array in arrays.items()}


def _evaluated(formula: Formula, drawn: Environment, size: float) -> Array:
    try:
        return np.asarray(evaluate_formula(formula, drawn, large=size)[0])
    except FormulaError:
        return np.full(formula.shape.axes, np.nan)


def own_arrays(answer: Answer, variant: Variant, names: Iterable[str]) -> dict[str, Array]:
    """The arrays of an answer on its variant, for a part that builds on it."""
    placed = place(Submission(variant, answer), variant, LADDER[0])
    return {name: placed[name][0] for name in names}


def environment_of(rows: Sequence[Row]) -> Environment:
    """Rows side by side, each on its own variant."""
    return set_up([row.variant for row in rows], _stacked([row.arrays for row in rows]))


def _stacked(lines: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    if len(lines) == 1:
        return dict(lines[0])
    return {name: np.concatenate([line[name] for line in lines]) for name in lines[0]}
