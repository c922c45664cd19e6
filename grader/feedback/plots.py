"""What an answer does, as data for pictures, taken from the practice key sets only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import Kind
from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge
from grader.engine.question import Plot, PlotKind
from grader.engine.random.keysets import PRACTICE, NoiseSource
from grader.engine.sample.observe import observe

Array = NDArray[Any]

#: How many practice key sets pictures are made from.
PRACTICE_COUNT = 400
#: The quantiles that show how weights spread over the key sets.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class WeightBars:
    """Weights of the keys: for each key its quantiles over the practice key sets.

    `named` gives the keys that the question speaks of, by position: {3: "a"}.
    """

    title: str
    quantiles: tuple[tuple[float, ...], ...]
    named: dict[int, str]


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
    """A matrix, or what came out (first) beside what should have (second)."""

    title: str
    matrices: tuple[tuple[tuple[float, ...], ...], ...]
    captions: tuple[str, ...]


Picture = WeightBars | OutputPlane | HeatMap


def make_pictures(
    judge: Judge, submission: Submission, *, revealing: bool = False
) -> list[Picture]:
    """The pictures of a question for one answer; those that are not finite are left out.

    Those that show what is asked for come only with `revealing`, that is, when all is right.
    """
    question = judge.question
    source = None
    if question.key_sets is not None:
        ground = judge.context
        source = NoiseSource(ground.bank, ground.key, PRACTICE, 0, PRACTICE_COUNT)
    environment = judge.environment(submission)
    named = {
        position: name
        for name, position in submission.variant.indices.items()
        if name in question.given
    }
    pictures = []
    for plot in question.plots:
        if plot.reveals and not revealing:
            continue
        seen = observe(question, environment, plot.values, source)
        values = [value[0] for value in seen.values]
        if seen.kept is not None:
            values = [value[seen.kept[0]] if len(value) > 1 else value for value in values]
        if all(np.isfinite(value).all() for value in values):
            pictures.append(_picture(plot, values, named))
    return pictures


def _picture(plot: Plot, values: list[Array], named: dict[int, str]) -> Picture:
    match plot.kind:
        case PlotKind.WEIGHTS:
            if plot.values[0].shape.kind is Kind.MATRIX:
                return HeatMap(plot.title, (_rows(values[0][0]),), ("weights",))
            return WeightBars(plot.title, _quantiles(values[0]), named)
        case PlotKind.PLANE:
            labels = (plot.labels[0], plot.labels[1])
            return OutputPlane(plot.title, labels, _plane(*values))
        case PlotKind.COMPARE:
            came, should = (_rows(np.atleast_2d(value[0])) for value in values)
            return HeatMap(plot.title, (came, should), ("what comes out", "what should"))
        case _:
            assert_never(plot.kind)


def _rows(matrix: Array) -> tuple[tuple[float, ...], ...]:
    # What is left of a zero after rounding errors would only distract.
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
