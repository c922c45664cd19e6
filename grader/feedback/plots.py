"""Data for pictures of what an answer does, from practice key sets only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import Kind
from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge
from grader.engine.question import Plot, PlotKind, Question
from grader.engine.random.draws import DistinctIndices
from grader.engine.random.keysets import PRACTICE, NoiseSource
from grader.engine.random.variants import Variant
from grader.engine.sample.observe import observe

Array = NDArray[Any]

#: The number of practice key sets behind a picture.
PRACTICE_COUNT = 400
#: The quantiles of the weights over the key sets.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class WeightBars:
    """Weights of the keys, as quantiles over the practice key sets.

    `named` holds the keys that the question names, by position: {3: "a"}. `called` is what the
    question calls its key sets.
    """

    title: str
    quantiles: tuple[tuple[float, ...], ...]
    named: dict[int, str]
    called: str = "key sets"


@dataclass(frozen=True, slots=True)
class OutputPlane:
    """Outputs in the plane through two points.

    Each point is (along, aside): 0 and 1 along are the two points, aside is the distance from
    the line through them; both in units of the points' distance. The target is halfway.
    """

    title: str
    labels: tuple[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A matrix, or the actual matrix (first) beside the correct one (second)."""

    title: str
    matrices: tuple[tuple[tuple[float, ...], ...], ...]
    captions: tuple[str, ...]


Picture = WeightBars | OutputPlane | HeatMap


def make_pictures(
    judge: Judge, submission: Submission, *, revealing: bool = False
) -> list[Picture]:
    """The pictures for one answer; pictures with values that are not finite are left out.

    Pictures that show the solution are made only with `revealing`, for answers with full credit.
    """
    question = judge.question
    source = None
    if question.key_sets is not None:
        ground = judge.context
        source = NoiseSource(ground.bank, ground.key, PRACTICE, 0, PRACTICE_COUNT)
    environment = judge.environment(submission)
    indices = _list_given_indices(question)
    pictures = []
    for plot in question.plots:
        if plot.reveals and not revealing:
            continue
        observed = observe(question, environment, plot.values, source)
        values = [value[0] for value in observed.values]
        if observed.kept is not None:
            values = [value[observed.kept[0]] if len(value) > 1 else value for value in values]
        if all(np.isfinite(value).all() for value in values):
            pictures.append(_make_picture(question, plot, values, submission.variant, indices))
    return pictures


def _list_given_indices(question: Question) -> dict[str, int]:
    """The indices that the student knows, each with the number of things that it counts."""
    return {
        name: draw.rule.below
        for draw in question.draws
        if isinstance(draw.rule, DistinctIndices)
        for name in draw.names
        if name in question.given
    }


def _make_picture(
    question: Question,
    plot: Plot,
    values: list[Array],
    variant: Variant,
    indices: Mapping[str, int],
) -> Picture:
    match plot.kind:
        case PlotKind.WEIGHTS:
            if plot.values[0].shape.kind is Kind.MATRIX:
                return HeatMap(plot.title, (_rows(values[0][0]),), ("weights",))
            count = plot.values[0].shape.rows
            named = {variant.indices[name]: name for name in indices if indices[name] == count}
            bars = WeightBars(plot.title, _quantiles(values[0]), named)
            return replace(bars, called=question.key_sets.called) if question.key_sets else bars
        case PlotKind.PLANE:
            labels = (plot.labels[0], plot.labels[1])
            return OutputPlane(plot.title, labels, _plane(*values))
        case PlotKind.COMPARE:
            actual, correct = (_rows(np.atleast_2d(value[0])) for value in values)
            return HeatMap(plot.title, (actual, correct), ("what comes out", "what should"))
        case _:
            assert_never(plot.kind)


def _rows(matrix: Array) -> tuple[tuple[float, ...], ...]:
    # The rounding errors of zeros would only distract.
    matrix = np.where(np.abs(matrix) < 1e-12 * np.abs(matrix).max(initial=1.0), 0.0, matrix)
    return tuple(tuple(float(f"{entry:.6g}") for entry in row) for row in matrix)


def _quantiles(weights: Array) -> tuple[tuple[float, ...], ...]:
    levels = np.quantile(weights, QUANTILES, axis=0)
    return tuple(tuple(float(f"{value:.6g}") for value in key) for key in levels.T)


def _plane(outputs: Array, first: Array, second: Array) -> tuple[tuple[float, float], ...]:
    line = second[0] - first[0]
    size = float(line @ line)
    offset = outputs - first[0]
    along = offset @ line / size
    aside = np.linalg.norm(offset - along[:, None] * line, axis=1) / np.sqrt(size)
    return tuple(
        (round(float(x), 6), round(float(y), 6)) for x, y in zip(along, aside, strict=True)
    )
