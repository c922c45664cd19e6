"""Tallies: what is not counted because it is plain must come out as if it were."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.engine.judge.measured import Tally
from grader.engine.question import Level
from tests.support.rubrics import rubric_of

KEY_SETS = 40
GENERATOR = np.random.default_rng(7)
#: For each of three answers, whether each key set counts.
KEPT = GENERATOR.random((3, KEY_SETS)) < 0.7


def make_tally(levels: tuple[Level, ...]) -> Tally:
    (criterion, *_) = rubric_of("self-attention-and-transformers/c-i").question.measured
    return Tally(replace(criterion, levels=levels), 3, None)


def measure_up_to(*largest: float) -> NDArray[Any]:
    """Numbers from zero to the largest, for each answer its own."""
    measured: NDArray[Any] = GENERATOR.random((3, KEY_SETS)) * np.array(largest)[:, None]
    measured[:, 0], measured[:, 1] = 0, largest
    return measured


@pytest.mark.parametrize("kept", [None, KEPT], ids=["all key sets count", "some are left out"])
@pytest.mark.parametrize(
    "measured",
    [
        pytest.param(measure_up_to(0.4, 0.5, 0.3), id="all within"),
        pytest.param(measure_up_to(0.4, 0.8, 0.3), id="one answer is outside at times"),
        pytest.param(measure_up_to(2, 3, 4) + 0.6, id="none within"),
        pytest.param(measure_up_to(0.4, np.inf, 0.3), id="one is infinite"),
        pytest.param(measure_up_to(0.4, 0.4, np.nan), id="one is undefined"),
    ],
)
def test_a_tally_has_the_counts_of_every_key_set(
    measured: NDArray[Any], kept: NDArray[Any] | None
) -> None:
    levels = (Level(Decimal(1), within=0.5), Level(Decimal("0.5"), at_least=0.0))
    tally = make_tally(levels)

    tally.add(measured, kept, slice(0, 3), is_first=True)
    # A second look, at two of the answers.
    again = np.array([0, 2])
    tally.add(measured[again], None if kept is None else kept[again], again, is_first=False)

    counted = np.ones(measured.shape, dtype=bool) if kept is None else kept
    for row, looks in enumerate((2, 1, 2)):
        within, at_least = measured[row] <= 0.5, measured[row] >= 0
        counts = [int((holds & counted[row]).sum()) for holds in (within, at_least)]
        assert tally.passed[row].tolist() == [looks * each for each in counts]
        assert tally.tried[row] == looks * counted[row].sum()
        assert tally.finite[row] == np.isfinite(measured[row]).all()
