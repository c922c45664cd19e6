"""Variants: all draws of a question for one student."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.engine.random.draws import DistinctIndices, Draw
from grader.engine.random.streams import open_stream
from grader.formula.eval.evaluate import Environment

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Variant:
    """What was drawn for one student; indices count from zero.

    `known` keeps what a question has computed from it, so that the next attempt need not.
    """

    id: str
    values: Mapping[str, Array]
    indices: Mapping[str, int]
    known: dict[object, Mapping[int, Array]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )


def draw_variant(draws: Sequence[Draw], *, key: bytes, variant: str) -> Variant:
    """Draw a variant; the same key and name always give the same one."""
    values: dict[str, Array] = {}
    indices: dict[str, int] = {}
    for draw in draws:
        generator = open_stream(key, "variant", variant, *draw.names)
        drawn = Environment(
            {name: value[None, None] for name, value in values.items()},
            {name: np.array([index]) for name, index in indices.items()},
        )
        for name, value in zip(draw.names, draw.rule.draw(generator, drawn), strict=True):
            if isinstance(draw.rule, DistinctIndices):
                indices[name] = int(value)
            else:
                values[name] = value
    return Variant(variant, values, indices)


def stack_variants(variants: Sequence[Variant]) -> Environment:
    """Put variants side by side along the axis of answers."""
    first = variants[0]
    if len(variants) == 1:
        return Environment(
            {name: value[None, None] for name, value in first.values.items()},
            {name: np.array([index]) for name, index in first.indices.items()},
        )
    return Environment(
        {
            name: np.stack([each.values[name] for each in variants])[:, None]
            for name in first.values
        },
        {name: np.array([each.indices[name] for each in variants]) for name in first.indices},
    )
