"""Tallies: what is not counted because it is plain must come out as if it were."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.domain.verdicts import Outcome
from grader.engine.judge.tallies import Scale, Tally, get_scale
from grader.engine.question import Level
from tests.support.rubrics import rubric_of

KEY_SETS = 40
GENERATOR = np.random.default_rng(7)
#: For each of three answers, whether each key set counts.
KEPT = GENERATOR.random((3, KEY_SETS)) < 0.7


def make_tally(levels: tuple[Level, ...]) -> Tally:
    (criterion, *_) = rubric_of("self-attention-and-transformers/c-i").question.measured
    return Tally(Scale.of(replace(criterion, levels=levels), None))


def measure_up_to(*largest: float) -> NDArray[Any]:
    """Numbers from zero to the largest, for each answer its own."""
    measured: NDArray[Any] = GENERATOR.random((3, KEY_SETS)) * np.array(largest)[:, None]
    measured[:, 0], measured[:, 1] = 0, largest
    return measured


def find_lower_median(numbers: NDArray[Any]) -> Any:
    """The median, or the lower of the two in the middle."""
    return np.sort(numbers)[(len(numbers) - 1) // 2]


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

    tally.add(measured, kept, range(3))
    # A second look, at two of the answers.
    again = [0, 2]
    tally.add(measured[again], None if kept is None else kept[again], again)

    counted = np.ones(measured.shape, dtype=bool) if kept is None else kept
    for row, looks in enumerate((2, 1, 2)):
        within, at_least = measured[row] <= 0.5, measured[row] >= 0
        counts = [int((holds & counted[row]).sum()) for holds in (within, at_least)]
        count = tally.counts[row]
        assert count.passed == tuple(looks * each for each in counts)
        assert count.tried == looks * counted[row].sum()
        assert count.drawn == looks * KEY_SETS
        assert count.is_finite == np.isfinite(measured[row]).all()
        if count.is_finite:
            assert count.median == find_lower_median(measured[row, counted[row]])


def test_a_measure_that_all_answers_share_counts_for_each() -> None:
    tally = make_tally((Level(Decimal(1), within=0.5),))

    tally.add(np.array([[0.25]]), KEPT, range(3))

    assert [tally.counts[row] for row in range(3)] == [((1,), 1, 1, 0.25, True)] * 3


@pytest.mark.parametrize(
    ("passed", "credit", "outcome"),
    [
        pytest.param((5, 5), "1", Outcome.MET, id="the best level on every key set"),
        pytest.param((4, 5), "0.5", Outcome.PARTLY_MET, id="the lower level"),
        pytest.param((5, 4), "1", Outcome.MET, id="a lower level that is missed is not asked for"),
        pytest.param((4, 4), "0", Outcome.NOT_MET, id="no level"),
    ],
)
def test_a_level_without_a_share_must_hold_on_every_key_set(
    passed: tuple[int, int], credit: str, outcome: Outcome
) -> None:
    levels = (Level(Decimal(1), within=0.5), Level(Decimal("0.5"), within=0.7))
    ruling = make_tally(levels).scale.rule(passed, 5)

    assert (ruling.credit, ruling.possible) == (Decimal(credit), Decimal(credit))
    assert ruling.outcome is outcome
    assert not ruling.is_open


def test_nothing_is_earned_on_no_key_set() -> None:
    ruling = make_tally((Level(Decimal(1), within=0.5),)).scale.rule((0,), 0)

    assert not ruling.credit
    assert not ruling.is_open
    assert ruling.share is None


def test_the_scale_of_a_criterion_is_made_once() -> None:
    question = rubric_of("self-attention-and-transformers/c-i").question

    assert get_scale(question, question.measured[0]) is get_scale(question, question.measured[0])
    assert get_scale(question, question.measured[1]).criterion is question.measured[1]
