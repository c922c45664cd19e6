"""What is read from a part of the weights is what all weights would give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.engine.random.keysets import SampledKeys, SplitScores
from grader.engine.sample import distances, readings
from grader.engine.sample.observe import build_environment, observe
from grader.engine.sample.plans import plan_for
from grader.formula.eval.buffers import FRESH, borrow_buffers
from tests.support.rubrics import judge_of

Array = NDArray[Any]

NOISY = "self-attention-and-transformers/c-i"
KEYS, SIZE, KEY_SETS = 5, 3, 7


def make_keys(answers: int) -> SampledKeys:
    generator = np.random.default_rng(3)
    return SampledKeys(
        mean=generator.normal(size=(answers, 1, KEYS, SIZE)),
        deviation=np.full((answers, 1), 1e-3),
        noise=generator.normal(size=(KEYS, KEY_SETS, SIZE)),
    )


def list_kept(
    centres: list[float], *, reach: float = 0.0, effects: list[list[float]] | None = None
) -> list[int]:
    rows = np.log(effects) if effects else np.zeros((1, 1))
    vectors = np.zeros((1, SIZE))
    scores = SplitScores(np.array([centres]), vectors, np.array([reach]))
    (kept,) = readings._list_kept_keys(scores, rows[None, None])
    return kept


@pytest.mark.parametrize(
    "lengths",
    [
        pytest.param([40.0], id="a saturated query alone"),
        pytest.param([3.0], id="a short query alone"),
        pytest.param([40.0, 45.0, 60.0], id="saturated queries"),
        pytest.param([40.0, 3.0, 0.0, 1e6, 20.0, -40.0, math.nan, 40.0], id="all kinds at once"),
        pytest.param([3.0] * 40, id="more than one product takes"),
    ],
)
def test_distances_are_those_of_all_weights(lengths: list[float]) -> None:
    judge = judge_of(NOISY)
    question, source = judge.question, judge.context.source(0, 2000)
    variants = [judge.variant(f"student-{number}") for number in range(len(lengths))]
    a, b = ([each.indices[name] for each in variants] for name in ("a", "b"))
    rows = np.arange(len(variants))
    means, values = (np.stack([each.values[name] for each in variants]) for name in ("mu", "v"))
    queries = np.array(lengths)[:, None] * (means[rows, a] + means[rows, b])
    environment = build_environment(variants, {"q": queries})
    measures = [each.measure for each in question.measured]
    assert plan_for(question, measures).readings

    with borrow_buffers() as buffers:
        read = observe(question, environment, measures, source, buffers).values

    (weights,) = observe(question, environment, [question.compute["w"]], source).values
    target = np.zeros(means.shape[:2])
    target[rows, a] = target[rows, b] = 0.5
    away = np.einsum("bnd,bsn->bsd", values, weights - target[:, None])
    expected = np.abs(weights - target[:, None]).sum(axis=-1) / 2
    np.testing.assert_allclose(read[0], expected, rtol=1e-9, atol=1e-15)
    apart = np.linalg.norm(values[rows, a] - values[rows, b], axis=-1)[:, None]
    expected = np.linalg.norm(away, axis=-1) / apart
    np.testing.assert_allclose(read[1], expected, rtol=1e-9, atol=1e-15)


def test_weights_that_something_else_reads_are_computed_as_they_are() -> None:
    question = judge_of(NOISY).question
    measures = [each.measure for each in question.measured]
    condition = next(each.when for each in question.misconceptions if each.id == "no-preference")
    assert condition is not None

    assert "w" in plan_for(question, measures).readings
    assert not plan_for(question, [*measures, condition]).readings


def test_stretched_keys_are_not_split_into_centres_and_noise() -> None:
    keys = make_keys(2)
    vectors = np.ones((2, 1, SIZE))
    keys.position, keys.stretch = np.array([0, 1]), np.ones((2, KEY_SETS))

    assert keys.split_scores(vectors) is None
    assert make_keys(2).split_scores(np.ones((2, KEY_SETS, SIZE))) is None


@pytest.mark.parametrize("places", [[[4, 1]], [[4, 1], [0, 2], [1, 3]]])
def test_the_noise_of_some_keys_is_that_of_all_at_their_places(places: list[list[int]]) -> None:
    keys, chosen = make_keys(len(places)), np.array(places)
    vectors = np.random.default_rng(4).normal(size=(len(places), SIZE))
    some, everything = np.empty((len(places), 2, KEY_SETS)), np.empty((len(places), KEYS, KEY_SETS))

    keys.multiply_noise(vectors, chosen, some)
    keys.multiply_noise(vectors, None, everything)

    expected = np.einsum("bd,nsd->bns", vectors, keys.noise)
    np.testing.assert_allclose(everything, expected, rtol=1e-12)
    np.testing.assert_allclose(some, distances.take_places(expected, chosen), rtol=1e-12)


def test_a_key_is_left_out_where_rounding_would_lose_it() -> None:
    assert list_kept([0.0, -39.0, 1.0, -30.0]) == [0, 2, 3]
    assert list_kept([1000.0, 0.0, 1000.0]) == [0, 2]


def test_keys_that_are_lost_together_are_no_more_than_rounding() -> None:
    many = [0.0, *[-37.0] * 8]

    assert list_kept(many[:2]) == [0]
    assert list_kept(many) == list(range(9))


def test_a_key_that_the_noise_may_raise_is_kept() -> None:
    assert list_kept([0.0, -39.0, 1.0]) == [0, 2]
    assert list_kept([0.0, -39.0, 1.0], reach=2.0) == [0, 1, 2]


def test_a_key_that_moves_the_output_far_is_kept() -> None:
    assert list_kept([0.0, -39.0, 1.0], effects=[[1, 1, 1], [1, 50, 1]]) == [0, 1, 2]


def test_a_key_is_kept_where_the_others_do_not_move_the_output() -> None:
    with np.errstate(divide="ignore"):
        assert list_kept([0.0, -39.0, 1.0], effects=[[1, 1, 1], [0, 1, 0]]) == [0, 1, 2]


def test_nothing_is_left_out_beside_what_has_no_value() -> None:
    assert list_kept([0.0, -90.0, math.nan]) == [0, 1, 2]


@pytest.mark.parametrize("reach", [math.nan, math.inf])
def test_nothing_is_left_out_where_the_noise_has_no_bound(reach: float) -> None:
    assert list_kept([0.0, -90.0, 1.0], reach=reach) == [0, 1, 2]


@pytest.mark.parametrize("answers", [1, 3])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("offset", [0.0, -0.15])
def test_a_reader_takes_keys_without_a_place_to_have_no_weight(
    answers: int, shared: bool, offset: float
) -> None:
    generator = np.random.default_rng(8)
    places = np.array([[3, 0], [1, 2], [2, 4]])[:answers]
    some = generator.dirichlet(np.ones(2), size=(answers, KEY_SETS)).swapaxes(1, 2)
    weights = np.zeros((answers, KEYS, KEY_SETS))
    weights[np.arange(answers)[:, None], places] = some
    variants = 1 if shared else answers
    targets = generator.dirichlet(np.ones(KEYS), size=(variants, 1)) + offset
    ranked = distances._rank_targets(targets, shapes=())
    triangles = np.triu(generator.normal(size=(variants, 1, KEYS, KEYS)))

    shortfall = distances._read_shortfalls(ranked, some, places, FRESH)
    distance = distances._read_distances(triangles, some, places, FRESH)

    whole = np.abs(weights.swapaxes(1, 2) - targets).sum(axis=-1) / 2
    np.testing.assert_allclose(shortfall, whole, rtol=1e-12)
    rotated = np.matmul(triangles[:, 0], weights)
    np.testing.assert_allclose(distance, np.linalg.norm(rotated, axis=1), rtol=1e-12)


def test_effects_are_the_lengths_of_the_columns_of_each_distance() -> None:
    triangles = np.triu(np.random.default_rng(9).normal(size=(2, 1, KEYS, KEYS)))

    effects = distances._EFFECTS.compute(triangles, shapes=())

    np.testing.assert_allclose(effects[:, :, 0], 0)
    lengths = np.linalg.norm(triangles, axis=2)
    np.testing.assert_allclose(np.exp(effects[:, :, 1]), lengths, rtol=1e-12)
    assert distances._EFFECTS.compute(shapes=()).shape == (1, 1, 1, 1)


def test_one_query_for_several_variants_is_read_on_each() -> None:
    judge = judge_of(NOISY)
    variants = [judge.variant(name) for name in ("one", "two")]
    queries = 40 * np.ones((1, variants[0].values["mu"].shape[1]))
    measures = [each.measure for each in judge.question.measured]
    source = judge.context.source(0, 50)

    together = observe(
        judge.question, build_environment(variants, {"q": queries}), measures, source
    )

    for row, variant in enumerate(variants):
        environment = build_environment([variant], {"q": queries})
        alone = observe(judge.question, environment, measures, source)
        for both, one in zip(together.values, alone.values, strict=True):
            np.testing.assert_allclose(both[row], one[0], rtol=1e-9)
