"""Observations: what an answer does on key sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.engine.keysets import Source, sample_key_sets
from grader.engine.question import Question
from grader.engine.variants import Variant, stack_variants
from grader.formula.evaluate import Environment, evaluate
from grader.formula.tree import Node

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Observations:
    """The values of some quantities for every answer and key set.

    `kept` marks the key sets that count, and is None where all do.
    """

    values: tuple[Array, ...]
    kept: Array | None


def set_up(variants: Sequence[Variant], arrays: Mapping[str, Array]) -> Environment:
    """Put answers on their variants.

    Parameters
    ----------
    arrays
        By name, arrays of shape (answers, …): the answers' own fields and what they use.
    """
    drawn = stack_variants(variants)
    placed = {name: array[:, None] for name, array in arrays.items()}
    return Environment({**drawn.values, **placed}, drawn.indices)


def select_rows(environment: Environment, rows: NDArray[np.intp]) -> Environment:
    """Some of the answers, with their variants."""

    def select(value: Any) -> Any:
        return value[rows] if len(value) > 1 else value

    return Environment(
        {name: select(value) for name, value in environment.values.items()},
        {name: select(index) for name, index in environment.indices.items()},
    )


def observe(
    question: Question, environment: Environment, nodes: Sequence[Node], source: Source | None
) -> Observations:
    """Compute quantities on the source's key sets, of shape (answers, key sets, …).

    Values may hold infinities and NaN where an answer overflows; the caller looks.
    """
    kept = None
    if question.key_sets is not None and source is not None:
        environment = sample_key_sets(question.key_sets, environment, source)
        kept = _kept(question, environment)
    values = dict(environment.values)
    if kept is not None:
        values["left_out"] = 1.0 - kept.mean(axis=1, keepdims=True)
    known = Environment(values, environment.indices, kept)
    for name, node in question.needed_for(*nodes):
        values[name] = evaluate(node, known)
    return Observations(tuple(evaluate(node, known) for node in nodes), kept)


def _kept(question: Question, environment: Environment) -> Array | None:
    if question.key_sets is None or question.key_sets.keep is None:
        return None
    return evaluate(question.key_sets.keep, environment)
