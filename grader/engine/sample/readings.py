"""Weights that only distances read: computed some at a time, and read while they are in the cache.

A key whose score is far below the best has a weight that is lost when it is added to the others.
Such keys are left out, with their noise, when everything that reads the weights would lose them in
rounding. Right answers saturate the softmax, so that mostly two of eight keys are left.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grader.engine.random.keysets import SampledKeys, SplitScores
from grader.engine.sample.distances import READERS, Places, Reader, make_effects, take_places
from grader.formula.eval.buffers import select_part, split_for_cache, split_for_products
from grader.formula.eval.evaluate import Evaluation
from grader.formula.eval.softmax import softmax_around
from grader.formula.typed.tree import FunctionCall, Multiply, Name, Node, Product, list_nodes

Array = NDArray[Any]

# The logarithm of what one is multiplied by to be lost when it is added to one.
_LOG_ROUNDING = math.log(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The softmax of keys times a column, and the nodes that read it, each with its reader.

    The value of `effects` tells how much each key's weight moves what is read.
    """

    keys: str
    column: Node
    nodes: tuple[FunctionCall, ...]
    readers: tuple[Reader, ...]
    effects: Node


def find_reading(name: str, step: Node, results: Sequence[Node]) -> Reading | None:
    """What reads a step in the results; None unless the step is a softmax that distances read."""
    match step:
        case FunctionCall(
            name="softmax",
            arguments=(
                Multiply(product=Product.MATRIX_COLUMN, left=Name(name=keys), right=column),
            ),
        ):
            calls = [
                node
                for root in results
                for node in list_nodes(root)
                if isinstance(node, FunctionCall) and _reads(node, name)
            ]
            if not calls:
                return None
            readers = tuple(READERS[each.function] for each in calls)
            return Reading(keys, column, tuple(calls), readers, make_effects(calls))
        case _:
            return None


def _reads(node: FunctionCall, name: str) -> bool:
    weights = node.arguments[-1]
    return node.function in READERS and isinstance(weights, Name) and weights.name == name


def read_weights(reading: Reading, evaluation: Evaluation) -> dict[int, Array] | None:
    """The values of what reads the weights, by the identity of its node.

    None where the keys are not sampled, or not as a mean plus noise times a vector for each answer:
    then the weights must be computed as they are.
    """
    keys = evaluation.environment.values[reading.keys]
    if not isinstance(keys, SampledKeys):
        return None
    scores = keys.split_scores(evaluation.value(reading.column))
    if scores is None:
        return None
    fixed = [evaluation.value(node.arguments[0]) for node in reading.nodes]
    kept = _list_kept_keys(scores, evaluation.value(reading.effects))
    if len(kept) > len(scores.vectors):
        return None
    read = _read_groups(keys, scores, reading.readers, fixed, _make_groups(kept, keys.noise.shape))
    return {id(node): values for node, values in zip(reading.nodes, read, strict=True)}


def _list_kept_keys(scores: SplitScores, effects: Array) -> list[list[int]]:
    """For every answer the keys that are not lost in rounding in everything that is read.

    All others together are no more than the rounding error of the largest.
    """
    terms = scores.centres[:, None] + effects[:, 0]
    terms -= np.maximum.reduce(terms, axis=2, keepdims=True)
    # The noise may raise a key that is far below the largest, and lower the largest.
    limits = -2.0 * scores.reach + (_LOG_ROUNDING - math.log(terms.shape[2]))
    # A comparison with NaN is false, so that NaN is never left out.
    is_lost = np.maximum.reduce(terms, axis=1) < limits[:, None]
    return [[key for key, lost in enumerate(line) if not lost] for line in is_lost.tolist()]


class _Group(NamedTuple):
    """Answers that keep equally many keys, with the places of these; None for all keys."""

    rows: list[int]
    size: int
    places: Places | None


def _make_groups(kept: Sequence[Sequence[int]], axes: tuple[int, ...]) -> list[_Group]:
    """Groups for one product with the noise each; `axes` are those of the noise."""
    keys, key_sets, _ = axes
    rows_by_count: defaultdict[int, list[int]] = defaultdict(list)
    for row, each in enumerate(kept):
        # Where few keys are lost, it takes longer to leave them out.
        rows_by_count[len(each) if len(each) <= keys // 2 else keys].append(row)
    return [
        _Group(some := rows[part], count, _list_places(kept, some) if count < keys else None)
        for count, rows in rows_by_count.items()
        for part in split_for_products(len(rows), count * key_sets)
    ]


def _list_places(kept: Sequence[Sequence[int]], rows: Sequence[int]) -> Places:
    return np.array([kept[row] for row in rows])


def _read_groups(
    keys: SampledKeys,
    scores: SplitScores,
    readers: Sequence[Reader],
    fixed: Sequence[Array],
    groups: Sequence[_Group],
) -> list[Array]:
    """What each reader reads of all answers, of shape (B, S)."""
    key_sets = keys.noise.shape[1]
    memory = keys.buffers.take((max(len(each.rows) * each.size for each in groups), key_sets))
    if len(groups) == 1:
        return _read_group(keys, scores, readers, fixed, groups[0], memory)
    read = [np.empty((len(scores.vectors), key_sets)) for _ in readers]
    for group in groups:
        rows = np.array(group.rows)
        some = SplitScores(*[select_part(each, rows) for each in scores])
        known = [select_part(each, rows) for each in fixed]
        found = _read_group(keys, some, readers, known, group, memory)
        for values, part in zip(read, found, strict=True):
            values[rows] = part
    return read


def _read_group(
    keys: SampledKeys,
    scores: SplitScores,
    readers: Sequence[Reader],
    fixed: Sequence[Array],
    group: _Group,
    memory: Array,
) -> list[Array]:
    answers, size, places = len(group.rows), group.size, group.places
    noise = memory[: answers * size].reshape(answers, size, memory.shape[1])
    keys.multiply_noise(scores.vectors, places, noise)
    centres = scores.centres if places is None else take_places(scores.centres, places)
    read = []
    for rows in split_for_cache(answers, noise[0].size):
        weights = softmax_around(
            select_part(centres, rows)[:, :, None],
            noise[rows],
            reach=scores.reach[rows],
            buffers=keys.buffers,
        )
        few = places if places is None else places[rows]
        read.append(
            [
                reader(select_part(known, rows), weights, few, keys.buffers)
                for reader, known in zip(readers, fixed, strict=True)
            ]
        )
    return read[0] if len(read) == 1 else [np.concatenate(each) for each in zip(*read, strict=True)]
