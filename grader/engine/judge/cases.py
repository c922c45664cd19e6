"""Submissions to cases: what must be judged, on which variant and at which size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.engine.question import MeasuredCriterion, PredictedCriterion, Question
from grader.engine.random.variants import Variant, stack_variants
from grader.engine.sample.context import SATURATED_EXPONENT, count_answers, scale_down
from grader.engine.sample.observe import build_environment
from grader.engine.sample.plans import find_inputs
from grader.formula.eval.evaluate import Environment
from grader.formula.formula import Formula
from grader.formula.typed.tree import Stack
from grader.reading.answer import Answer, Numbers
from grader.reading.fields import ArrayField, NumberField
from grader.reading.large import NO_SIZES, Sizes, evaluate_formula, list_sizes, select_typical

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

    @property
    def formulas(self) -> dict[str, Formula]:
        """The fields that were sent as formulas."""
        values = self.answer.values.items()
        return {name: value for name, value in values if isinstance(value, Formula)}


@dataclass(frozen=True, slots=True)
class JudgeCase:
    """One thing to judge: arrays on one variant, at one combination of sizes.

    `trial` is 0 on the student's own variant and counts the others; the cases of a trial differ by
    the sizes of constants declared large. On fresh variants the same formula is judged once,
    however many students sent it. `criteria` are those that the case counts for, None for all.
    """

    submissions: tuple[int, ...]
    variant: Variant
    arrays: Mapping[str, Array]
    sizes: Sizes
    trial: int = 0
    criteria: frozenset[str] | None = None


def list_cases(
    question: Question,
    submissions: Sequence[Submission],
    *,
    fresh: Sequence[Variant],
    redraw: Callable[[Variant], Sequence[Variant]],
) -> list[JudgeCase]:
    """Every submission on its own variant and, as far as it consists of formulas, on others.

    Parameters
    ----------
    fresh
        The variants on which formulas are tried.
    redraw
        Variants that differ from the student's own by drawn numbers only. A formula that stands
        beside numbers is tried on these, because the numbers belong to the student's arrays.
    """
    cases: list[JudgeCase] = []
    shared: dict[object, tuple[list[int], frozenset[str]]] = {}
    for number, submission in enumerate(submissions):
        formulas = submission.formulas
        if not formulas:
            arrays = _collect_numbers(submission)
            cases.append(JudgeCase((number,), submission.variant, arrays, NO_SIZES))
            continue
        cases += _place(submission, [submission.variant], (number,), trials=[0])
        if not fresh:
            continue
        general, beside = _list_general_criteria(question, formulas)
        if general:
            # Students who sent the same share what becomes of it on fresh variants.
            shared.setdefault(_make_key(submission), ([], general))[0].append(number)
        if beside and (others := redraw(submission.variant)):
            trials = range(len(fresh) + 1, len(fresh) + 1 + len(others))
            cases += _place(submission, others, (number,), trials=trials, criteria=beside)
    for numbers, criteria in shared.values():
        trials = range(1, len(fresh) + 1)
        cases += _place(
            submissions[numbers[0]], fresh, tuple(numbers), trials=trials, criteria=criteria
        )
    return cases


def _place(
    submission: Submission,
    variants: Sequence[Variant],
    numbers: tuple[int, ...],
    *,
    trials: Iterable[int],
    criteria: frozenset[str] | None = None,
) -> Iterator[JudgeCase]:
    """A submission on some variants, each at every combination of sizes."""
    for sizes in list_sizes(submission.formulas.values(), stack_variants(variants)):
        placed = compute_arrays(submission, variants, sizes)
        for variant, arrays, trial in zip(variants, placed, trials, strict=True):
            yield JudgeCase(numbers, variant, arrays, sizes, trial, criteria)


def _make_key(submission: Submission) -> object:
    """Equal for submissions that are the same on every variant."""
    return tuple(
        (name, value.text if isinstance(value, Formula) else value.array.tobytes())
        for name, value in sorted(submission.answer.values.items())
        if isinstance(value, Formula | Numbers)
    )


def _list_general_criteria(
    question: Question, formulas: Mapping[str, Formula]
) -> tuple[frozenset[str], frozenset[str]]:
    """The criteria to try on fresh variants, and those to try with the student's own arrays.

    Numbers belong to one variant, also when they stand in a formula, such as 40 [0.1, 0.2], and so
    does an earlier answer. A field that may not use anything drawn asks for a constant, which means
    the same everywhere.
    """
    drawing, own_only = set(), set(question.uses.reference if question.uses else ())
    for field in question.fields:
        if not isinstance(field, ArrayField | NumberField):
            continue
        formula = formulas.get(field.name)
        if formula is not None and formula.names:
            drawing.add(field.name)
        if (field.scope.shapes or field.scope.families) and not _is_constant(formula):
            own_only.add(field.name)
    own_only -= drawing
    general: set[str] = set()
    beside: set[str] = set()
    for criterion in question.criteria:
        if isinstance(criterion, MeasuredCriterion | PredictedCriterion):
            inputs = find_inputs(question, criterion)
            if inputs & drawing:
                (beside if inputs & own_only else general).add(criterion.id)
    return frozenset(general), frozenset(beside)


def _is_constant(formula: Formula | None) -> bool:
    """Whether a field holds a formula without any list of numbers."""
    return formula is not None and not any(isinstance(each, Stack) for each in formula.nodes())


def compute_arrays(
    submission: Submission, variants: Sequence[Variant], sizes: Sizes
) -> list[dict[str, Array]]:
    """For each variant the numbers of a submission, of shape (1, …) each.

    A formula that is not finite on a variant gives NaN there.
    """
    shared = _collect_numbers(submission)
    computed = {
        name: _evaluate_or_nan(formula, stack_variants(variants), sizes)
        for name, formula in submission.formulas.items()
    }
    return [
        shared | {name: array[row : row + 1] for name, array in computed.items()}
        for row in range(len(variants))
    ]


def _collect_numbers(submission: Submission) -> dict[str, Array]:
    """What was sent as numbers, and the earlier answer that is used, of shape (1, …) each."""
    used = submission.used.arrays if submission.used is not None else {}
    numbers = {name: array[None] for name, array in used.items()}
    for name, value in submission.answer.values.items():
        if isinstance(value, Numbers):
            numbers[name] = value.array[None]
    return numbers


def compute_typical_arrays(submission: Submission) -> dict[str, Array]:
    """The numbers of a submission on its variant, constants declared large at a typical size."""
    variants = [submission.variant]
    sizes = list_sizes(submission.formulas.values(), submission.variant.environment)
    (arrays,) = compute_arrays(submission, variants, select_typical(sizes))
    return arrays


def _evaluate_or_nan(formula: Formula, variants: Environment, sizes: Sizes) -> Array:
    """The value of a formula on every variant, NaN where it is not finite."""
    values = evaluate_formula(formula, variants, sizes.values)
    is_finite = np.isfinite(values).all(axis=tuple(range(1, values.ndim)), keepdims=True)
    values = values if is_finite.all() else np.where(is_finite, values, np.nan)
    return np.broadcast_to(values, (count_answers(variants), *values.shape[1:]))


def compute_used_arrays(answer: Answer, variant: Variant, names: Iterable[str]) -> dict[str, Array]:
    """The arrays of an answer on its variant, for a part that builds on it."""
    placed = compute_typical_arrays(Submission(variant, answer))
    return {name: scale_down(placed[name], SATURATED_EXPONENT)[0][0] for name in names}


def stack_cases(cases: Sequence[JudgeCase]) -> Environment:
    """Cases side by side, each on its own variant."""
    if len(cases) == 1:
        return build_environment([cases[0].variant], cases[0].arrays)
    arrays = {
        name: np.concatenate([each.arrays[name] for each in cases]) for name in cases[0].arrays
    }
    return build_environment([each.variant for each in cases], arrays)
