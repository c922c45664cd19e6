"""Observations: what an answer does on key sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.engine.question import Question
from grader.engine.random.keysets import NoiseSource, add_key_sets
from grader.engine.random.variants import Variant, stack_variants
from grader.engine.sample.plans import Plan, plan_for
from grader.engine.sample.readings import read_weights
from grader.formula.eval.buffers import FRESH, Buffers
from grader.formula.eval.evaluate import Environment, Evaluation
from grader.formula.typed.tree import Node

Array = NDArray[Any]

# Where fewer numbers than this lie side by side, NumPy copies what it broadcasts into a buffer
# first, which takes longer than the computation. Its default is 8192, more than the usual key sets.
_BROADCAST_NUMBERS = 64


@dataclass(frozen=True, slots=True)
class Observations:
    """The values of some quantities for every answer and key set.

    `kept` marks the key sets that count, and is None where all do.
    """

    values: tuple[Array, ...]
    kept: Array | None


def build_environment(variants: Sequence[Variant], arrays: Mapping[str, Array]) -> Environment:
    """Put answers on their variants.

    Parameters
    ----------
    arrays
        By name, arrays of shape (answers, …): the answers' own fields and what they use.
    """
    drawn = stack_variants(variants)
    placed = {name: array[:, None] for name, array in arrays.items()}
    return Environment({**drawn.values, **placed}, drawn.indices)


def add_fixed_values(
    question: Question, environment: Environment, nodes: Sequence[Node], variants: Sequence[Variant]
) -> Environment:
    """Add what depends on the variants alone, computed once for a single variant."""
    plan = plan_for(question, nodes)
    missing = [row for row, each in enumerate(variants) if plan not in each.known]
    if missing:
        few = select_rows(environment, np.array(missing)) if len(variants) > 1 else environment
        _keep_fixed_values(plan, few, [variants[row] for row in missing])
    ready = variants[0].known[plan]
    if len(variants) > 1:
        known = [each.known[plan] for each in variants]
        ready = {node: np.concatenate([each[node] for each in known]) for node in ready}
    return Environment(environment.values, environment.indices, ready=ready)


def _keep_fixed_values(plan: Plan, environment: Environment, variants: Sequence[Variant]) -> None:
    """Compute what depends on the variants alone, and keep it with each of them."""
    computed = compute_fixed_values(plan, environment)
    for row, variant in enumerate(variants):
        variant.known[plan] = {
            # A copy, or one variant would keep the values of all the others in memory.
            node: value[row : row + 1].copy("K") if len(value) > 1 else value
            for node, value in computed.items()
        }


def compute_fixed_values(plan: Plan, environment: Environment) -> dict[int, Array]:
    """The values of what depends on the variants alone, by the identity of its node."""
    computed: dict[int, Array] = {}
    # What follows from values that were computed before finds them there.
    evaluation = Evaluation(replace(environment, ready=computed))
    with np.errstate(all="ignore"):
        for node in plan.fixed:
            computed[id(node)] = evaluation.value(node)
    return computed


def select_rows(environment: Environment, rows: NDArray[np.intp] | slice) -> Environment:
    """Some of the answers, with their variants."""

    def select(value: Any) -> Any:
        return value[rows] if len(value) > 1 else value

    return Environment(
        {name: select(value) for name, value in environment.values.items()},
        {name: select(index) for name, index in environment.indices.items()},
        ready={node: select(value) for node, value in environment.ready.items()},
    )


def observe(
    question: Question,
    environment: Environment,
    nodes: Sequence[Node],
    source: NoiseSource | None,
    buffers: Buffers = FRESH,
) -> Observations:
    """Compute quantities on the source's key sets, of shape (answers, key sets, …).

    Values may hold infinities and NaN where an answer overflows; the caller looks. They may lie in
    the buffers.
    """
    with np.errstate(all="ignore"):
        np.setbufsize(_BROADCAST_NUMBERS)
        return _observe(question, environment, nodes, source, buffers)


def _observe(
    question: Question,
    environment: Environment,
    nodes: Sequence[Node],
    source: NoiseSource | None,
    buffers: Buffers,
) -> Observations:
    plan = plan_for(question, nodes)
    values, ready = dict(environment.values), dict(environment.ready)
    known = Environment(values, environment.indices, None, ready, plan.read_once, buffers)
    if question.key_sets is not None and source is not None and plan.samples:
        add_key_sets(question.key_sets, plan.samples, values, known, source)
        if question.key_sets.keep is not None:
            kept = Evaluation(known).value(question.key_sets.keep)
            values["left_out"] = 1.0 - kept.mean(axis=1, keepdims=True)
            known = replace(known, kept=kept)
    evaluation = Evaluation(known)
    for name, node in plan.steps:
        if (reading := plan.readings.get(name)) and (read := read_weights(reading, evaluation)):
            ready.update(read)
        else:
            values[name] = evaluation.value(node)
    return Observations(tuple([evaluation.value(node) for node in plan.results]), known.kept)
