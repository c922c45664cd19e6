"""The answers of the demo's students: examples of the rubrics, with each student's numbers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from grader.engine.random.variants import Variant, stack_variants
from grader.formula.eval.evaluate import evaluate_finite
from grader.reading.fields import ExternalField, TextField
from grader.rubric.catalog import Rubric
from grader.rubric.forms import ExampleForm, RangeForm


@dataclass(frozen=True, slots=True)
class AnswerPool:
    """The possible answers to a question: right ones, typical mistakes, and its text fields."""

    right: tuple[ExampleForm, ...]
    wrong: tuple[ExampleForm, ...]
    text_fields: tuple[str, ...]
    is_external: bool

    @property
    def is_written(self) -> bool:
        """Whether the question asks for text only."""
        return not self.right


def make_pool(rubric: Rubric) -> AnswerPool:
    """Sort a question's examples, except those that use an earlier answer or depend on chance."""
    fields = rubric.question.fields
    texts = tuple(each.name for each in fields if isinstance(each, TextField))
    usable = [each for each in rubric.form.examples if _is_usable(each, texts)]
    max_points = max((compute_points(each) for each in usable), default=Decimal(0))
    return AnswerPool(
        right=tuple(each for each in usable if compute_points(each) == max_points),
        # An answer that is wrong only by rounding is sometimes right by luck.
        wrong=tuple(
            each for each in usable if compute_points(each) < max_points and each.rounded is None
        ),
        text_fields=texts,
        is_external=any(isinstance(each, ExternalField) for each in fields),
    )


def _is_usable(example: ExampleForm, texts: Sequence[str]) -> bool:
    fields = (set(example.answer) | set(example.numbers)) - set(texts)
    is_certain = example.refused is None and not example.by_chance
    return bool(fields) and is_certain and example.uses is None


def compute_points(example: ExampleForm) -> Decimal:
    """Return the points, or the fewest points, that an example earns."""
    if isinstance(example.earns, RangeForm):
        return example.earns.at_least
    return example.earns or Decimal(0)


def choose_right(pool: AnswerPool, rng: random.Random) -> ExampleForm:
    """Choose a right answer; authors list the usual ones first."""
    return rng.choices(pool.right, [1 / (index + 1) for index in range(len(pool.right))])[0]


def choose_wrong(pool: AnswerPool, rng: random.Random, count: int) -> list[ExampleForm]:
    """Choose up to `count` different wrong answers, from worst to best.

    Misconceptions that the rubric names are more likely.
    """
    left = list(pool.wrong)
    chosen: list[ExampleForm] = []
    while left and len(chosen) < count:
        weights = [5 if each.shows and each.shows != "any" else 1 for each in left]
        pick = rng.choices(range(len(left)), weights)[0]
        chosen.append(left.pop(pick))
    return sorted(chosen, key=compute_points)


def build_answer(rubric: Rubric, example: ExampleForm, variant: Variant) -> dict[str, Any]:
    """Build the answer that a student with this variant submits for an example."""
    return {**example.answer, **_compute_fields(rubric, example, variant)}


def _compute_fields(rubric: Rubric, example: ExampleForm, variant: Variant) -> dict[str, Any]:
    if not example.numbers:
        return {}
    if example.rounded is not None:
        copied = {name: np.round(each, example.rounded) for name, each in variant.values.items()}
        variant = Variant(variant.id, copied, variant.indices)
    environment = stack_variants([variant])
    return {
        name: evaluate_finite(rubric.read_field(name, text), environment)[0, 0].tolist()
        for name, text in example.numbers.items()
    }
