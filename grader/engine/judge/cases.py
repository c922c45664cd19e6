"""Submissions to cases: what must be judged, on which variant and at which size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.domain.verdicts import Reason
from grader.engine.question import MeasuredCriterion, Question
from grader.engine.random.variants import Variant, stack_variants
from grader.engine.sample.context import SATURATED_EXPONENT, count_answers, scale_down
from grader.engine.sample.observe import build_environment
from grader.engine.sample.plans import list_fields_read_by
from grader.formula.eval.evaluate import Environment
from grader.formula.formula import Formula
from grader.formula.typed.tree import Stack
from grader.reading.answer import LARGE_VALUES, Answer, Numbers, evaluate_formula
from grader.reading.fields import ArrayField

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class UsedAnswer:
    """The earlier answer that a part builds on: the student's own, or the reference."""

    arrays: Mapping[str, Array]
    is_own: bool


@dataclass(frozen=True, slots=True)
class Submission:
    """An answer that was read, with the variant it answers.

    `sent` and `earlier` are the answer and the earlier answer as they were sent, for the receipt.
    """

    variant: Variant
    answer: Answer
    used: UsedAnswer | None = None
    sent: Any = None
    earlier: Any = None


@dataclass(frozen=True, slots=True)
class JudgeCase:
    """One thing to judge: arrays on one variant, at one size of constants declared large.

    On fresh variants the same formula is judged once, however many students sent it. `reason` says
    what it means that this case fails where an earlier one of the submission does not; `criteria`
    are those that it counts for, None for all.
    """

    submissions: tuple[int, ...]
    variant: Variant
    arrays: Mapping[str, Array]
    reason: Reason | None = None
    criteria: frozenset[str] | None = None


def list_cases(
    question: Question, submissions: Sequence[Submission], fresh: Sequence[Variant]
) -> list[JudgeCase]:
    """Every submission on its own variant and, where all is formula, on fresh ones."""
    cases: list[JudgeCase] = []
    general: dict[tuple[tuple[str, str], ...], tuple[list[int], frozenset[str]]] = {}
    for number, submission in enumerate(submissions):
        formulas = _find_formulas(submission)
        sizes = _list_sizes(formulas)
        for size in sizes:
            (arrays,) = compute_arrays(submission, [submission.variant], size)
            reason = None if size == sizes[0] else Reason.NOT_FOR_EVERY_SIZE
            cases.append(JudgeCase((number,), submission.variant, arrays, reason))
        criteria = _list_general_criteria(question, submission, formulas) if fresh else frozenset()
        if criteria:
            # Students who sent the same formulas share what becomes of them on fresh variants.
            texts = tuple((name, each.text) for name, each in sorted(formulas.items()))
            general.setdefault(texts, ([], criteria))[0].append(number)
    for numbers, criteria in general.values():
        submission = submissions[numbers[0]]
        sizes = _list_sizes(_find_formulas(submission))
        placed = [compute_arrays(submission, fresh, size) for size in sizes]
        cases.extend(
            JudgeCase(tuple(numbers), variant, arrays, Reason.NOT_GENERAL, criteria)
            for variant, of_sizes in zip(fresh, zip(*placed, strict=True), strict=True)
            for arrays in of_sizes
        )
    return cases


def _find_formulas(submission: Submission) -> dict[str, Formula]:
    values = submission.answer.values.items()
    return {name: value for name, value in values if isinstance(value, Formula)}


def _list_sizes(formulas: Mapping[str, Formula]) -> tuple[float, ...]:
    """The sizes to try: several where a constant is declared large."""
    is_large = any(each.large for each in formulas.values())
    return LARGE_VALUES if is_large else LARGE_VALUES[:1]


def _list_general_criteria(
    question: Question, submission: Submission, formulas: Mapping[str, Formula]
) -> frozenset[str]:
    """The criteria that must hold on every variant: those that depend on nothing but formulas.

    Numbers belong to one variant, also when they stand in a formula, such as 40 [0.1, 0.2]. A
    field that may not use anything drawn asks for a constant, which means the same everywhere.
    """
    drawing, own_only = set(), set()
    for field in question.fields:
        formula = formulas.get(field.name)
        names = formula.names if formula else frozenset()
        if names:
            drawing.add(field.name)
        elif isinstance(field, ArrayField) and (field.scope.shapes or field.scope.families):
            is_constant = formula is not None and not any(
                isinstance(each, Stack) for each in formula.nodes()
            )
            if not is_constant:
                own_only.add(field.name)
    if not drawing:
        return frozenset()
    return frozenset(
        criterion.id
        for criterion in question.criteria
        if isinstance(criterion, MeasuredCriterion)
        and (fields := list_fields_read_by(question, criterion)) & drawing
        and not fields & own_only
    )


def compute_arrays(
    submission: Submission, variants: Sequence[Variant], size: float
) -> list[dict[str, Array]]:
    """For each variant the numbers of a submission, of shape (1, …) each.

    A formula that is not finite on a variant gives NaN there.
    """
    used = submission.used.arrays if submission.used is not None else {}
    shared = {name: array[None] for name, array in used.items()}
    computed: dict[str, Array] = {}
    for name, value in submission.answer.values.items():
        if isinstance(value, Numbers):
            shared[name] = value.array[None]
        elif isinstance(value, Formula):
            computed[name] = _evaluate_or_nan(value, stack_variants(variants), size)
    return [
        shared | {name: array[row : row + 1] for name, array in computed.items()}
        for row in range(len(variants))
    ]


def _evaluate_or_nan(formula: Formula, variants: Environment, size: float) -> Array:
    """The value of a formula on every variant, NaN where it is not finite."""
    values = evaluate_formula(formula, variants, large=size)
    is_finite = np.isfinite(values).all(axis=tuple(range(1, values.ndim)), keepdims=True)
    values = values if is_finite.all() else np.where(is_finite, values, np.nan)
    return np.broadcast_to(values, (count_answers(variants), *values.shape[1:]))


def compute_used_arrays(answer: Answer, variant: Variant, names: Iterable[str]) -> dict[str, Array]:
    """The arrays of an answer on its variant, for a part that builds on it."""
    (placed,) = compute_arrays(Submission(variant, answer), [variant], LARGE_VALUES[0])
    return {name: scale_down(placed[name], SATURATED_EXPONENT)[0][0] for name in names}


def stack_cases(cases: Sequence[JudgeCase]) -> Environment:
    """Cases side by side, each on its own variant."""
    arrays = {
        name: np.concatenate([each.arrays[name] for each in cases]) for name in cases[0].arrays
    }
    return build_environment([each.variant for each in cases], arrays)
