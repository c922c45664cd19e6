"""What the demo's students send: the examples of the rubrics, on their own numbers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from grader.engine.random.variants import Variant, stack_variants
from grader.formula.eval.evaluate import evaluate_finite
from grader.formula.formula import read_tree
from grader.reading.fields import ExternalField, TextField
from grader.rubric.catalog import Rubric
from grader.rubric.forms import ExampleForm, RangeForm


@dataclass(frozen=True, slots=True)
class AnswerPool:
    """What is sent to a question: right answers, typical mistakes, and fields for text."""

    right: tuple[ExampleForm, ...]
    wrong: tuple[ExampleForm, ...]
    text_fields: tuple[str, ...]
    is_external: bool

    @property
    def is_written(self) -> bool:
        """Whether text is all that is asked for."""
        return not self.right


def make_pool(rubric: Rubric) -> AnswerPool:
    """Sort a question's examples, without those that name an earlier answer or rest on chance."""
    fields = rubric.question.fields
    texts = tuple(each.name for each in fields if isinstance(each, TextField))
    usable = [each for each in rubric.form.examples if _is_usable(each, texts)]
    most = max((compute_points(each) for each in usable), default=Decimal(0))
    return AnswerPool(
        right=tuple(each for each in usable if compute_points(each) == most),
        # What is wrong by rounding alone is now and then right by luck.
        wrong=tuple(
            each for each in usable if compute_points(each) < most and each.rounded is None
        ),
        text_fields=texts,
        is_external=any(isinstance(each, ExternalField) for each in fields),
    )


def _is_usable(example: ExampleForm, texts: Sequence[str]) -> bool:
    sends = (set(example.answer) | set(example.numbers)) - set(texts)
    is_certain = example.refused is None and not example.by_chance
    return bool(sends) and is_certain and example.uses is None


def compute_points(example: ExampleForm) -> Decimal:
    """What an example earns, or at least earns."""
    if isinstance(example.earns, RangeForm):
        return example.earns.at_least
    return example.earns or Decimal(0)


def choose_right(pool: AnswerPool, rng: random.Random) -> ExampleForm:
    """A right answer; authors put the usual ones first."""
    return rng.choices(pool.right, [1 / (place + 1) for place in range(len(pool.right))])[0]


def choose_wrong(pool: AnswerPool, rng: random.Random, count: int) -> list[ExampleForm]:
    """So many different wrong answers, if there are so many, each no worse than the one before.

    Mistakes that rubrics have a name for are the usual ones.
    """
    left = list(pool.wrong)
    chosen: list[ExampleForm] = []
    while left and len(chosen) < count:
        weights = [5 if each.shows and each.shows != "any" else 1 for each in left]
        pick = rng.choices(range(len(left)), weights)[0]
        chosen.append(left.pop(pick))
    return sorted(chosen, key=compute_points)


def build_answer(rubric: Rubric, example: ExampleForm, variant: Variant) -> dict[str, Any]:
    """An example as a student with this variant sends it."""
    return {**example.answer, **_compute_fields(rubric, example, variant)}


def _compute_fields(rubric: Rubric, example: ExampleForm, variant: Variant) -> dict[str, Any]:
    if not example.numbers:
        return {}
    if example.rounded is not None:
        copied = {name: np.round(each, example.rounded) for name, each in variant.values.items()}
        variant = Variant(variant.id, copied, variant.indices)
    environment = stack_variants([variant])
    return {
        name: evaluate_finite(read_tree(text, rubric.scope), environment)[0, 0].tolist()
        for name, text in example.numbers.items()
    }
