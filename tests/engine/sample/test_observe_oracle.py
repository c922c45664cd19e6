"""The engine against fifty digits."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.engine.random.variants import Variant
from grader.engine.sample.context import OVERFLOW_EXPONENT, scale_down_answers
from grader.engine.sample.observe import build_environment, observe
from grader.formula.formula import read_tree
from tests.support.rubrics import judge_of, rubric_of

KEYS, SIZE = 5, 7
EXACT = "attention-exploration/3b"
SELF = "attention-exploration/3e-ii"


def as_mp(array: Any) -> mp.matrix:
    return mp.matrix(np.asarray(array).tolist())


def exact_softmax(scores: mp.matrix) -> list[Any]:
    largest = max(scores)
    powers = [mp.e ** (score - largest) for score in scores]
    return [power / mp.fsum(powers) for power in powers]


def exact_weights(keys: np.ndarray, query: np.ndarray) -> list[Any]:
    with mp.workdps(400):
        return exact_softmax(as_mp(keys) * as_mp(query))


def observed(formula: str, variant: Variant, arrays: dict[str, np.ndarray], question: str) -> Any:
    judge = judge_of(question)
    node = read_tree(formula, rubric_of(question).scope)
    environment = build_environment(
        [variant], {name: array[None] for name, array in arrays.items()}
    )
    (value,) = observe(judge.question, environment, [node], None).values
    if not np.isfinite(value).all():
        smaller, _ = scale_down_answers(environment, arrays, OVERFLOW_EXPONENT)
        (value,) = observe(judge.question, smaller, [node], None).values
    return value[0, 0]


def random_variant(seed: int) -> Variant:
    generator = np.random.default_rng(seed)
    values = {
        "k": generator.normal(size=(KEYS, SIZE)),
        "v": generator.normal(size=(KEYS, SIZE)),
    }
    return Variant("random", values, {"a": 1, "b": 3, "other": 0})


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.floats(-3, 3))
def test_weights_and_outputs_agree_with_fifty_digits(seed: int, exponent: float) -> None:
    variant = random_variant(seed)
    query = 10**exponent * np.random.default_rng(seed + 1).normal(size=SIZE)
    exact = exact_weights(variant.values["k"], query)

    weights = observed("w", variant, {"q": query}, EXACT)
    scores = np.abs(variant.values["k"] @ query).max()
    # A score's rounding error is relative to its size, and goes into the weight's exponent.
    tolerance = 1e-13 * (1 + scores)
    assert weights == pytest.approx(np.array(exact, dtype=float), abs=tolerance)

    output = observed("c", variant, {"q": query}, EXACT)
    expected = [
        float(mp.fsum(exact[i] * mp.mpf(variant.values["v"][i, j]) for i in range(KEYS)))
        for j in range(SIZE)
    ]
    assert output == pytest.approx(np.array(expected), abs=10 * tolerance)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.floats(150, 308))
def test_queries_of_overflowing_size_agree_with_many_digits(seed: int, exponent: float) -> None:
    variant = random_variant(seed)
    direction = np.random.default_rng(seed + 1).normal(size=SIZE)
    query = 10**exponent * (direction / np.abs(direction).max())
    exact = np.array(exact_weights(variant.values["k"], query), dtype=float)

    assert observed("w", variant, {"q": query}, EXACT) == pytest.approx(exact, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_measures_agree_with_fifty_digits(seed: int) -> None:
    variant = random_variant(seed)
    query = np.random.default_rng(seed + 1).normal(size=SIZE)
    exact = exact_weights(variant.values["k"], query)

    target = [mp.mpf(0)] * KEYS
    target[1] = target[3] = mp.mpf("0.5")
    variation = mp.fsum(abs(w - t) for w, t in zip(exact, target, strict=True)) / 2
    measure = "tv(w, (unit(a) + unit(b)) / 2)"
    assert observed(measure, variant, {"q": query}, EXACT) == pytest.approx(
        float(variation), abs=1e-13
    )

    values = as_mp(variant.values["v"])
    output = as_mp([float(0)] * SIZE)
    for i in range(KEYS):
        output += exact[i] * values[i, :].T
    middle = (values[1, :].T + values[3, :].T) / 2
    distance = mp.norm(output - middle) / mp.norm(values[1, :] - values[3, :])
    measure = "distance(c, (v_a + v_b) / 2) / distance(v_a, v_b)"
    assert observed(measure, variant, {"q": query}, EXACT) == pytest.approx(
        float(distance), rel=1e-12
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.1, 3))
def test_self_attention_with_matrices_agrees_with_fifty_digits(seed: int, scale: float) -> None:
    generator = np.random.default_rng(seed)
    inputs = generator.normal(size=(3, 6))
    variant = Variant(
        "random", {"x": inputs, "u": generator.normal(size=(4, 6)), "beta": np.array(7.0)}, {}
    )
    arrays = {name: scale * generator.normal(size=(6, 6)) for name in "KQV"}

    outputs = observed("c", variant, arrays, SELF)
    with mp.workdps(50):
        rows = [as_mp(inputs[i]) for i in range(3)]
        keys, queries, values = (
            [as_mp(arrays[name]) * row for row in rows] for name in ("K", "Q", "V")
        )
        for i in range(3):
            weights = exact_softmax(mp.matrix([(key.T * queries[i])[0] for key in keys]))
            expected = sum((weights[j] * values[j] for j in range(3)), mp.zeros(6, 1))
            assert outputs[i] == pytest.approx(
                np.array([float(entry) for entry in expected]), abs=1e-10
            )
