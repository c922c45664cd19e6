"""Practice key sets: what an answer is tried on, from a stream that never decides a grade."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.engine.judge.judge import Judge
from grader.engine.random.keysets import PRACTICE, NoiseSource, sample_key_sets
from grader.engine.random.variants import Variant
from grader.engine.sample.observe import build_environment
from grader.formula.eval.arrays import LazyMatrix
from grader.reading.fields import ArrayField

MAX_KEY_SETS = 400


def sample_practice_key_sets(judge: Judge, variant: Variant, *, count: int) -> dict[str, Any]:
    """The first practice key sets of a variant, by name: lists of `count` members.

    Empty where the question samples nothing. Where their noise depends on the answer's length,
    they are those of an answer no longer than one.
    """
    question = judge.question
    if question.key_sets is None:
        return {}
    source = NoiseSource(judge.context.bank, judge.context.key, PRACTICE, 0, count)
    fields = list(question.fields)
    if question.uses is not None:
        fields += question.uses.question.fields
    nothing = {
        each.name: np.zeros((1, *each.shape.axes))
        for each in fields
        if isinstance(each, ArrayField)
    }
    environment = build_environment([variant], nothing)
    names = set(question.key_sets.rules)
    with np.errstate(all="ignore"):
        sampled = sample_key_sets(question.key_sets, names, environment, source)
    return {name: _as_lists(sampled.values[name]) for name in sorted(names)}


def _as_lists(value: Any) -> Any:
    array = value.whole() if isinstance(value, LazyMatrix) else value
    return array[0].tolist()
