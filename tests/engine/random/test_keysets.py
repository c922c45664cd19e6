"""Keys are never built: what is computed instead must be what building them would give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grader.engine.random.keysets import GRADING, PRACTICE, SampledKeys
from grader.engine.random.noise import BLOCK_SIZE, NoiseBank, NoiseName

ANSWERS, SETS, KEYS, SIZE = 3, 7, 4, 5


def sampled(seed: int, *, stretched: bool) -> SampledKeys:
    generator = np.random.default_rng(seed)
    return SampledKeys(
        generator.normal(size=(ANSWERS, 1, KEYS, SIZE)),
        generator.uniform(0.1, 2, size=(ANSWERS, 1)),
        generator.normal(size=(KEYS, SETS, SIZE)),
        position=np.array([2, 0, 3]) if stretched else None,
        stretch=generator.normal(size=(1, SETS)) if stretched else None,
    )


def built(keys: SampledKeys) -> NDArray[np.float64]:
    """The keys by their definition, one by one."""
    result = np.empty((ANSWERS, SETS, KEYS, SIZE))
    for answer in range(ANSWERS):
        for row in range(KEYS):
            mean = keys.mean[answer, 0, row]
            for each in range(SETS):
                key = mean + keys.deviation[answer, 0] * keys.noise[row, each]
                if keys.position is not None and keys.stretch is not None:
                    key = key + (keys.position[answer] == row) * keys.stretch[0, each] * mean
                result[answer, each, row] = key
    return result


@pytest.mark.parametrize("stretched", [False, True])
@given(seed=st.integers(0, 1000))
def test_scores_are_those_of_keys_that_are_built(seed: int, stretched: bool) -> None:
    keys = sampled(seed, stretched=stretched)
    queries = np.random.default_rng(seed + 1).normal(size=(ANSWERS, 1, SIZE))

    expected = np.einsum("bskd,bd->bsk", built(keys), queries[:, 0])
    assert keys.times(queries) == pytest.approx(expected)


@pytest.mark.parametrize("stretched", [False, True])
@pytest.mark.parametrize(
    "length",
    [
        pytest.param(1.0, id="scores near zero"),
        pytest.param(1e4, id="scores whose exponentials overflow"),
    ],
)
@given(seed=st.integers(0, 1000))
def test_weights_are_the_softmax_of_keys_that_are_built(
    seed: int, length: float, stretched: bool
) -> None:
    keys = sampled(seed, stretched=stretched)
    queries = length * np.random.default_rng(seed + 1).normal(size=(ANSWERS, 1, SIZE))

    scores = np.einsum("bskd,bd->bsk", built(keys), queries[:, 0])
    expected = np.exp(scores - scores.max(axis=-1, keepdims=True))
    expected /= expected.sum(axis=-1, keepdims=True)
    assert keys.softmax_times(queries) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["mean", "noise"])
def test_one_answer_with_large_scores_does_not_spoil_the_others(name: str) -> None:
    keys = sampled(4, stretched=False)
    queries = np.random.default_rng(5).normal(size=(ANSWERS, 1, SIZE))
    alone = keys.softmax_times(queries)
    # The second answer alone is large: by its means, or by the noise around them.
    (keys.mean if name == "mean" else keys.deviation)[1] *= 1e4

    together = keys.softmax_times(queries)

    assert np.isfinite(together).all()
    assert together[[0, 2]] == pytest.approx(alone[[0, 2]])


@pytest.mark.parametrize("stretched", [False, True])
def test_single_keys_and_all_keys_are_as_defined(stretched: bool) -> None:
    keys = sampled(3, stretched=stretched)
    all_keys = built(keys)
    own = np.array([1, 0, 3])

    assert keys.whole() == pytest.approx(all_keys)
    assert keys.row(2) == pytest.approx(all_keys[:, :, 2])
    assert keys.row(own) == pytest.approx(all_keys[np.arange(ANSWERS), :, own])


@pytest.mark.parametrize("stretched", [False, True])
@pytest.mark.parametrize("position", [2, np.array([1, 0, 3])])
def test_a_product_with_one_key_is_that_of_the_key(
    stretched: bool, position: int | NDArray[np.intp]
) -> None:
    keys = sampled(5, stretched=stretched)
    vectors = np.random.default_rng(6).normal(size=(ANSWERS, 1, SIZE))

    expected = np.einsum("bsd,bd->bs", keys.row(position), vectors[:, 0])
    assert keys.row_dot(position, vectors) == pytest.approx(expected)


def test_a_block_of_noise_does_not_depend_on_how_much_is_asked_for() -> None:
    name = NoiseName(b"key", GRADING, "k", (3, 4))
    whole = NoiseBank().normals(name, 0, 3 * BLOCK_SIZE)
    middle = NoiseBank().normals(name, BLOCK_SIZE, 2 * BLOCK_SIZE)
    odd = NoiseBank().normals(name, 100, BLOCK_SIZE + 50)

    assert whole.shape == (3, 3 * BLOCK_SIZE, 4)
    assert np.array_equal(whole[:, BLOCK_SIZE : 2 * BLOCK_SIZE], middle)
    assert np.array_equal(whole[:, 100 : BLOCK_SIZE + 50], odd)


@pytest.mark.parametrize("axes", [(3, 4), (4,), ()])
def test_key_sets_come_last_in_memory(axes: tuple[int, ...]) -> None:
    drawn = NoiseBank().normals(NoiseName(b"key", GRADING, "k", axes), 0, BLOCK_SIZE)

    assert drawn.shape == (*axes[:-1], BLOCK_SIZE, *axes[-1:])
    assert drawn.strides[len(axes[:-1])] == drawn.itemsize


def test_practice_and_grading_never_mix() -> None:
    bank = NoiseBank()
    practice = bank.normals(NoiseName(b"key", PRACTICE, "k", (3, 4)), 0, BLOCK_SIZE)
    grading = bank.normals(NoiseName(b"key", GRADING, "k", (3, 4)), 0, BLOCK_SIZE)

    correlation = np.corrcoef(practice.ravel(), grading.ravel())[0, 1]
    assert abs(correlation) < 5 / np.sqrt(practice.size)


def test_noise_is_drawn_once_and_kept_within_the_bound() -> None:
    bank = NoiseBank(max_bytes=3 * BLOCK_SIZE * 12 * 8)
    names = [NoiseName(b"key", GRADING, f"k{i}", (3, 4)) for i in range(9)]

    first = bank.normals(names[0], 0, BLOCK_SIZE)
    assert bank.normals(names[0], 0, BLOCK_SIZE) is first
    for name in names:
        bank.normals(name, 0, BLOCK_SIZE)
    assert bank.cached_bytes <= bank.max_bytes
    again = bank.normals(names[0], 0, BLOCK_SIZE)
    assert again is not first
    assert np.array_equal(again, first)


def test_kept_noise_cannot_be_changed_by_accident() -> None:
    drawn = NoiseBank().normals(NoiseName(b"key", GRADING, "k", (3, 4)), 0, BLOCK_SIZE)

    with pytest.raises(ValueError, match="read-only"):
        drawn[0, 0, 0] = 1.0
