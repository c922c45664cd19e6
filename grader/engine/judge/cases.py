"""Submissions → rows: what must be judged, on which variant and at which size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.domain.verdicts import Reason
from grader.engine.question import MeasuredCriterion, Question
from grader.engine.random.variants import Variant, stack_variants
from grader.engine.sample.observe import build_environment
from grader.engine.sample.plans import list_fields_read_by
from grader.engine.sample.rescale import SATURATED_EXPONENT, scale_down
from grader.errors import FormulaError
from grader.formula.eval.evaluate import Environment
from grader.formula.formula import Formula
from grader.formula.typed.tree import Stack, collect_names, list_nodes
from grader.reading.answer import Answer, Numbers
from grader.reading.fields import ArrayField
from grader.reading.formulas import LARGE_VALUES, evaluate_formula

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
class JudgeCase:
    """One thing to judge: arrays on one variant, at one size of constants declared large.

    On fresh variants the same formula is judged once, however many students sent it.
    """

    submissions: tuple[int, ...]
    variant: Variant
    arrays: Mapping[str, Array]
    reason: Reason | None = None
    """What it means if this row fails and the first one does not."""
    criteria: frozenset[str] | None = None
    """The criteria that this row counts for; None for all."""


def list_cases(
    question: Question, submissions: Sequence[Submission], fresh: Sequence[Variant]
) -> list[JudgeCase]:
    """Every submission on its own variant and, where all is formula, on fresh ones."""
    rows = []
    senders: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for number, submission in enumerate(submissions):
        sizes = _sizes(submission)
        for size in sizes:
            arrays = compute_arrays(submission, submission.variant, size)
            reason = None if size == sizes[0] else Reason.NOT_FOR_EVERY_SIZE
            rows.append(JudgeCase((number,), submission.variant, arrays, reason))
        if _general_criteria(question, submission):
            senders.setdefault(_texts(submission), []).append(number)
    for numbers in senders.values():
        submission = submissions[numbers[0]]
        criteria = _general_criteria(question, submission)
        rows.extend(
            JudgeCase(
                tuple(numbers),
                variant,
                compute_arrays(submission, variant, size),
                Reason.NOT_GENERAL,
                criteria,
            )
            for variant in fresh
            for size in _sizes(submission)
        )
    return rows


def _general_criteria(question: Question, submission: Submission) -> frozenset[str]:
    """The criteria that must hold on every variant: those that depend on nothing but formulas."""
    values = submission.answer.values
    if not _formulas(submission):
        return frozenset()
    own_only = {
        field.name
        for field in question.fields
        if isinstance(field, ArrayField) and not _is_general(field, values[field.name])
    }
    drawing = {
        name for name, value in values.items() if isinstance(value, Formula) and _drawn_names(value)
    }
    return frozenset(
        criterion.id
        for criterion in question.criteria
        if isinstance(criterion, MeasuredCriterion)
        and list_fields_read_by(question, criterion) & drawing
        and not list_fields_read_by(question, criterion) & own_only
    )


def _is_general(field: ArrayField, value: object) -> bool:
    """Whether a value has a meaning on other variants: a formula, or a constant asked for.

    Numbers belong to one variant, also when they stand in a formula, such as 40 [0.1, 0.2].
    """
    if not field.scope.shapes and not field.scope.families:
        return True
    if not isinstance(value, Formula):
        return False
    return bool(_drawn_names(value)) or not any(
        isinstance(each, Stack) for each in list_nodes(value.tree)
    )


def _drawn_names(formula: Formula) -> frozenset[str]:
    return collect_names(formula.tree) - set(formula.large)


def _formulas(submission: Submission) -> list[Formula]:
    return [value for value in submission.answer.values.values() if isinstance(value, Formula)]


def _texts(submission: Submission) -> tuple[tuple[str, str], ...]:
    """What makes two submissions the same on fresh variants: their formulas."""
    return tuple(
        (name, value.text)
        for name, value in sorted(submission.answer.values.items())
        if isinstance(value, Formula)
    )


def _sizes(submission: Submission) -> tuple[float, ...]:
    """The sizes to try: a ladder where a constant is declared large."""
    return LARGE_VALUES if any(each.large for each in _formulas(submission)) else LARGE_VALUES[:1]


def compute_arrays(submission: Submission, variant: Variant, size: float) -> dict[str, Array]:
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
            arrays[name] = _evaluate_or_nan(formula, drawn, size)
    return {name: array[None] for name, array in arrays.items()}


def _evaluate_or_nan(formula: Formula, drawn: Environment, size: float) -> Array:
    try:
        return np.asarray(evaluate_formula(formula, drawn, large=size)[0])
    except FormulaError:
        return np.full(formula.shape.axes, np.nan)


def compute_used_arrays(answer: Answer, variant: Variant, names: Iterable[str]) -> dict[str, Array]:
    """The arrays of an answer on its variant, for a part that builds on it."""
    placed = compute_arrays(Submission(variant, answer), variant, LARGE_VALUES[0])
    return {name: scale_down(placed[name], SATURATED_EXPONENT)[0][0] for name in names}


def stack_cases(rows: Sequence[JudgeCase]) -> Environment:
    """Rows side by side, each on its own variant."""
    return build_environment(
        [row.variant for row in rows], _stack_arrays([row.arrays for row in rows])
    )


def _stack_arrays(lines: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    if len(lines) == 1:
        return dict(lines[0])
    return {name: np.concatenate([line[name] for line in lines]) for name in lines[0]}
