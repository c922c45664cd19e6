"""Variants: all draws of a question for one student."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from grader.engine.random.draws import (
    Computed,
    DistinctIndices,
    Draw,
    DrawFailed,
    DrawRule,
    Gaussian,
    Orthogonal,
    Orthonormal,
    OrthonormalBases,
    Uniform,
    UnitRows,
)
from grader.engine.random.streams import open_stream
from grader.formula.eval.evaluate import Environment, evaluate_finite

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Variant:
    """What was drawn for one student; indices count from zero.

    `environment` holds it for the evaluation of formulas. `known` keeps what a question has
    computed from it, so that the next attempt need not.
    """

    id: str
    values: Mapping[str, Array]
    indices: Mapping[str, int]
    environment: Environment = field(init=False, repr=False, compare=False)
    known: dict[object, Mapping[int, Array]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        environment = Environment(
            {name: value[None, None] for name, value in self.values.items()},
            {name: np.array([index]) for name, index in self.indices.items()},
        )
        object.__setattr__(self, "environment", environment)


def draw_variant(draws: Sequence[Draw], *, key: bytes, variant: str) -> Variant:
    """Draw a variant; the same key and name always give the same one."""
    values: dict[str, Array] = {}
    indices: dict[str, int] = {}
    for draw in draws:
        generator = open_stream(key, "variant", variant, *draw.names)
        drawn = Variant(variant, values, indices).environment
        for name, value in zip(draw.names, draw.rule.draw(generator, drawn), strict=True):
            if isinstance(draw.rule, DistinctIndices):
                indices[name] = int(value)
            else:
                values[name] = value
    return Variant(variant, values, indices)


def redraw_numbers(
    draws: Sequence[Draw], variant: Variant, *, key: bytes, names: Iterable[str]
) -> tuple[Variant, ...]:
    """Variants that differ from one by drawn numbers, and by what follows from these.

    Directions and indices stay. Empty where no number is drawn.
    """
    if not any(isinstance(draw.rule, Uniform) for draw in draws):
        return ()
    return tuple(_redraw(draws, variant, key, name) for name in names)


def _redraw(draws: Sequence[Draw], variant: Variant, key: bytes, name: str) -> Variant:
    values: dict[str, Array] = {}
    for draw in draws:
        drawn = Variant(name, values, variant.indices).environment
        match draw.rule:
            case DistinctIndices():
                continue
            case Uniform() | Computed():
                generator = open_stream(key, "variant", name, *draw.names)
                values |= zip(draw.names, draw.rule.draw(generator, drawn), strict=True)
            case Orthogonal(norm=norm):
                before, now = (
                    evaluate_finite(norm, each)[0, 0] for each in (variant.environment, drawn)
                )
                values |= {each: variant.values[each] * (now / before) for each in draw.names}
            case _:
                values |= {each: variant.values[each] for each in draw.names}
    return Variant(name, values, variant.indices)


def stack_variants(variants: Sequence[Variant]) -> Environment:
    """Put variants side by side along the axis of answers."""
    first = variants[0]
    if len(variants) == 1:
        return first.environment
    return Environment(
        {
            name: np.concatenate([each.environment.values[name] for each in variants])
            for name in first.values
        },
        {name: np.array([each.indices[name] for each in variants]) for name in first.indices},
    )


# Beyond this many tries a draw with a condition is taken to be impossible.
_MAX_TRIES = 10_000


def draw_variants(draws: Sequence[Draw], generator: np.random.Generator, count: int) -> Environment:
    """Draw `count` variants, side by side as `stack_variants` would put them."""
    values: dict[str, Array] = {}
    indices: dict[str, NDArray[np.intp]] = {}
    for draw in draws:
        drawn = Environment(dict(values), dict(indices))
        for name, value in zip(
            draw.names, _draw_batch(draw.rule, generator, drawn, count), strict=True
        ):
            if isinstance(draw.rule, DistinctIndices):
                indices[name] = value
            else:
                values[name] = value[:, None]
    return Environment(values, indices)


def select_variant(crowd: Environment, row: int, *, name: str) -> Variant:
    """One of the variants that stand side by side, under a name."""
    values = {each: np.asarray(value[row, 0]) for each, value in crowd.values.items()}  # type: ignore[index]  # drawn, never sampled
    return Variant(name, values, {each: int(index[row]) for each, index in crowd.indices.items()})


def _draw_batch(
    rule: DrawRule, generator: np.random.Generator, drawn: Environment, count: int
) -> Sequence[Array]:
    """For each name an array of shape (count, …)."""
    match rule:
        case DistinctIndices():
            order = generator.random((count, rule.below)).argsort(axis=1)
            return list(order[:, : rule.count].T)
        case Orthonormal():
            return [_draw_orthonormal_rows(generator, count, rule.rows, rule.columns)]
        case Orthogonal():
            norm = evaluate_finite(rule.norm, drawn)[:, 0]
            return [
                _draw_orthonormal_rows(generator, count, rule.rows, rule.columns)
                * norm[:, None, None]
            ]
        case OrthonormalBases():
            frames = _draw_orthonormal_rows(generator, count, sum(rule.columns), rule.rows)
            parts = np.split(frames, np.cumsum(rule.columns)[:-1], axis=1)
            return [np.ascontiguousarray(part.swapaxes(1, 2)) for part in parts]
        case Gaussian():
            return [generator.standard_normal((count, *rule.axes))]
        case UnitRows():
            return [_draw_unit_rows(rule, generator, count)]
        case Uniform():
            return [generator.uniform(rule.low, rule.high, count)]
        case Computed():
            value = evaluate_finite(rule.node, drawn)[:, 0]
            return [np.broadcast_to(value, (count, *value.shape[1:]))]
        case _:
            assert_never(rule)


def _draw_orthonormal_rows(
    generator: np.random.Generator, count: int, rows: int, columns: int
) -> Array:
    """Orthonormal rows, of shape (count, rows, columns); rotations by Haar's measure."""
    basis, upper = np.linalg.qr(generator.standard_normal((count, columns, rows)))
    # Without the signs QR would favour some rotations over others.
    signs = np.sign(np.diagonal(upper, axis1=1, axis2=2))
    return np.ascontiguousarray((basis * signs[:, None]).swapaxes(1, 2))


def _draw_unit_rows(rule: UnitRows, generator: np.random.Generator, count: int) -> Array:
    """Row by row; a row too close to an earlier one of its matrix is drawn again."""
    chosen = np.zeros((count, rule.rows, rule.columns))
    for place in range(rule.rows):
        waiting = np.arange(count)
        for _ in range(_MAX_TRIES):
            rows = generator.standard_normal((len(waiting), rule.columns))
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            cosines = np.einsum("brd,bd->br", chosen[waiting, :place], rows)
            is_fine = np.abs(cosines).max(axis=1, initial=0.0) <= rule.max_cosine
            chosen[waiting[is_fine], place] = rows[is_fine]
            waiting = waiting[~is_fine]
            if not len(waiting):
                break
        else:
            raise DrawFailed(f"row {place + 1} of {rule.rows} unit vectors was not found")
    return chosen
