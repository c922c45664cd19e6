"""A question's own tests: its examples, run on many variants, and mutants that they must notice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge, Judgement
from grader.engine.question import (
    Level,
    MeasuredCriterion,
    PredictedCriterion,
    Question,
    ReviewedCriterion,
)
from grader.engine.random.noise import NoiseBank
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.engine.random.variants import Variant
from grader.errors import AnswerRefused, FormulaError
from grader.formula.eval.evaluate import Environment, evaluate_finite
from grader.rubric.catalog import Rubric
from grader.rubric.forms import ExampleForm, RangeForm

#: On how many variants mutants are tried; a mutant that matters shows on any of them.
MUTANT_VARIANTS = 4


@dataclass(frozen=True, slots=True)
class Failure:
    """An example that did not come out as its file says."""

    example: str
    variant: str
    message: str


@dataclass(frozen=True, slots=True)
class ExampleOutcome:
    """What came out of an example on one variant: it was refused, or earned something."""

    variant: str
    fault: str = ""
    """How it differs from what the file says; empty where it does not."""
    refused: str = ""
    """The code of the error, where it could not be read."""
    earned: Decimal | None = None
    shown: tuple[str, ...] = ()
    """The misconceptions that it shows."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A question with one small change that its examples should notice."""

    change: str
    question: Question


def run_examples(
    rubric: Rubric, *, variants: int, question: Question | None = None
) -> Iterator[list[Failure]]:
    """Run every example of a rubric on a number of variants; for each example its failures.

    Parameters
    ----------
    question
        A mutant to judge by, instead of the rubric's own question.
    """
    for example, outcomes in list_example_outcomes(rubric, variants=variants, question=question):
        failures = [
            Failure(example.name, each.variant, each.fault) for each in outcomes if each.fault
        ]
        yield failures if len(failures) > example.by_chance * variants else []


def list_example_outcomes(
    rubric: Rubric, *, variants: int, question: Question | None = None
) -> Iterator[tuple[ExampleForm, list[ExampleOutcome]]]:
    """Every example of a rubric with its outcome on each variant."""
    judge = Judge(question or rubric.question, DEVELOPMENT_KEYS, NoiseBank())
    # One more variant, so that every one has another that it is not.
    drawn = [judge.variant(f"example-{number}") for number in range(variants + 1)]
    for example in rubric.form.examples:
        yield example, _run_example(rubric, example, judge, drawn)


def _run_example(
    rubric: Rubric, example: ExampleForm, judge: Judge, drawn: Sequence[Variant]
) -> list[ExampleOutcome]:
    """What comes out of one example on all but the last of some variants."""
    outcomes: list[ExampleOutcome] = []
    submissions: list[Submission] = []
    for variant, other in pairwise(drawn):
        source = other if example.of == "another" else variant
        try:
            submission = make_submission(rubric, example, judge, variant, source)
        except AnswerRefused as refused:
            is_expected = refused.code == example.refused
            fault = "" if is_expected else f"refused ({refused.code}): {refused}"
            outcomes.append(ExampleOutcome(variant.id, fault, refused=refused.code))
        except FormulaError as error:
            return [ExampleOutcome(variant.id, f"the example itself is wrong: {error}")]
        else:
            if example.refused:
                fault = f"read, but {example.refused} was expected"
                outcomes.append(ExampleOutcome(variant.id, fault))
            else:
                submissions.append(submission)
    if submissions:
        outcomes += _judge(example, judge, submissions)
    return outcomes


def _judge(
    example: ExampleForm, judge: Judge, submissions: Sequence[Submission]
) -> Iterator[ExampleOutcome]:
    for submission, judgement in zip(submissions, judge.judge(submissions), strict=True):
        yield ExampleOutcome(
            submission.variant.id,
            _describe_difference(example, judgement),
            earned=judgement.score.awarded,
            shown=tuple(each.id for each in judgement.misconceptions),
        )


def make_submission(
    rubric: Rubric, example: ExampleForm, judge: Judge, variant: Variant, source: Variant
) -> Submission:
    """An example as a student would send it; `source` is the variant its numbers come from."""
    sent = {**example.answer, **_compute_fields(rubric, example, source)}
    return judge.prepare(variant, sent, earlier=example.uses, strict=True)


def _compute_fields(rubric: Rubric, example: ExampleForm, variant: Variant) -> dict[str, Any]:
    """Compute fields on a variant, from the arrays as they were copied."""
    drawn = variant.environment
    values: Mapping[str, Any] = drawn.values
    if example.rounded is not None:
        values = {name: np.round(value, example.rounded) for name, value in values.items()}
    environment = Environment(values, drawn.indices)
    return {
        name: evaluate_finite(rubric.read_field(name, text), environment)[0, 0].tolist()
        for name, text in example.numbers.items()
    }


def _describe_difference(example: ExampleForm, judgement: Judgement) -> str:
    """What came out differently from what the file says; empty where nothing did."""
    awarded = judgement.score.awarded
    undecided = [each.criterion for each in judgement.verdicts if each.needs_person]
    if undecided:
        return f"{', '.join(undecided)} stays undecided; choose a clearer example"
    if not _is_expected(example.earns, awarded):
        return f"earns {awarded}, not {_format_expected(example.earns)}"
    if example.shows == "any":
        return ""
    expected = {example.shows} if isinstance(example.shows, str) else set(example.shows)
    shown = {each.id for each in judgement.misconceptions}
    if shown != expected:
        return f"shows {_format_names(shown)}, not {_format_names(expected)}"
    return ""


def _is_expected(expected: Decimal | RangeForm | None, awarded: Decimal) -> bool:
    if isinstance(expected, RangeForm):
        return expected.at_least <= awarded <= expected.at_most
    return awarded == expected


def _format_expected(expected: Decimal | RangeForm | None) -> str:
    if isinstance(expected, RangeForm):
        return f"{expected.at_least} to {expected.at_most}"
    return str(expected)


def _format_names(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "no misconception"


def list_mutants(question: Question) -> Iterator[Mutant]:
    """Every small change that a question's examples should notice."""
    for place, criterion in enumerate(question.criteria):
        if isinstance(criterion, ReviewedCriterion):
            continue
        rest = tuple(
            replace(each, needs=None) if each.needs == criterion.id else each
            for each in question.criteria
            if each is not criterion
        )
        yield Mutant(f"{criterion.id} removed", replace(question, criteria=rest))
        changed: Iterator[tuple[str, Any]]
        if isinstance(criterion, MeasuredCriterion):
            changed = _list_changed_levels(criterion)
        elif isinstance(criterion, PredictedCriterion):
            changed = _list_changed_tolerances(criterion)
        else:
            continue
        for change, other in changed:
            criteria = (*question.criteria[:place], other, *question.criteria[place + 1 :])
            yield Mutant(f"{criterion.id}: {change}", replace(question, criteria=criteria))
    for misconception in question.misconceptions:
        kept = tuple(each for each in question.misconceptions if each is not misconception)
        yield Mutant(f"{misconception.id} removed", replace(question, misconceptions=kept))


def _list_changed_tolerances(
    criterion: PredictedCriterion,
) -> Iterator[tuple[str, PredictedCriterion]]:
    for factor in (3.0, 1 / 3):
        tolerance = criterion.tolerance * factor
        yield f"tolerance {tolerance:.3g}", replace(criterion, tolerance=tolerance)


def _list_changed_levels(criterion: MeasuredCriterion) -> Iterator[tuple[str, MeasuredCriterion]]:
    for place, level in enumerate(criterion.levels):
        for change, other in _change_level(level):
            levels = (*criterion.levels[:place], other, *criterion.levels[place + 1 :])
            yield f"level {place + 1}, {change}", replace(criterion, levels=levels)


def _change_level(level: Level) -> Iterator[tuple[str, Level]]:
    for factor in (3.0, 1 / 3):
        bound = level.bound * factor
        if level.within is not None:
            yield f"within {bound:.3g}", replace(level, within=bound)
        else:
            yield f"at least {bound:.3g}", replace(level, at_least=bound)
        if level.share is not None:
            share = min(level.share * factor, 1.0)
            yield f"share {share:.3g}", replace(level, share=share)


def is_noticed(rubric: Rubric, mutant: Mutant, *, variants: int = MUTANT_VARIANTS) -> bool:
    """Whether any example fails on the mutant; those that may fail by chance do not count."""
    certain = tuple(each for each in rubric.form.examples if not each.by_chance)
    form = rubric.form.model_copy(update={"examples": certain})
    changed = replace(rubric, form=form)
    return any(run_examples(changed, variants=variants, question=mutant.question))
