"""Distances in fewer dimensions are the same distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.domain.shapes import make_column_shape, make_matrix_shape
from grader.engine.judge.judge import Judge
from grader.engine.question import MeasuredCriterion
from grader.engine.random.variants import stack_variants
from grader.engine.sample import distances
from grader.engine.sample.observe import add_fixed_values, observe
from grader.engine.sample.plans import plan_for
from grader.formula.eval.buffers import FRESH, borrow_buffers
from grader.formula.typed.tree import FunctionCall, Name, Node, list_nodes
from tests.support.rubrics import judge_of, submit

NOISY = "self-attention-and-transformers/c-i"
KNOWN = "self-attention-and-transformers/b-ii"


def get_output_measure(judge: Judge) -> Node:
    criterion = judge.question.criterion("output")
    assert isinstance(criterion, MeasuredCriterion)
    return criterion.measure


def is_reduced(node: Node) -> bool:
    calls = [each for each in list_nodes(node) if isinstance(each, FunctionCall)]
    return any(each.name == "triangle" for each in calls)


@pytest.mark.parametrize("query", ["40 (mu_a + mu_b)", "mu_a", "12 mu_a + 3 mu_b", "0 mu_a"])
def test_a_reduced_distance_is_the_distance_of_the_output(query: str) -> None:
    judge, submission = judge_of(NOISY), submit(NOISY, {"q": query})
    environment, source = judge.environment(submission), judge.context.source(0, 500)
    measure, output = get_output_measure(judge), judge.question.compute["c"]

    (measured,) = observe(judge.question, environment, [measure], source).values

    values, indices = submission.variant.values["v"], submission.variant.indices
    first, second = values[indices["a"]], values[indices["b"]]
    (outputs,) = observe(judge.question, environment, [output], source).values
    away = np.linalg.norm(outputs - (first + second) / 2, axis=-1)
    assert is_reduced(plan_for(judge.question, [measure]).results[0])
    np.testing.assert_allclose(
        measured, away / np.linalg.norm(first - second), rtol=1e-11, atol=1e-15
    )


def test_a_softmax_needs_one_row_less_than_any_other_column() -> None:
    judge = judge_of(NOISY)
    question = judge.question
    assert question.key_sets is not None
    (result,) = plan_for(question, [get_output_measure(judge)]).results
    (triangle,) = (
        each
        for each in list_nodes(result)
        if isinstance(each, FunctionCall) and each.name == "triangle"
    )

    keys = question.compute["w"].shape.size
    assert triangle.shape.axes == (keys, keys)


@pytest.mark.parametrize("answers", [1, 3])
@pytest.mark.parametrize("sums_to_one", [True, False])
def test_a_distance_in_fewer_dimensions_is_the_distance(answers: int, sums_to_one: bool) -> None:
    generator = np.random.default_rng(5)
    matrices = generator.normal(size=(answers, 1, 9, 4))
    targets = generator.normal(size=(answers, 1, 9))
    columns = generator.random((answers, 20, 4))
    if sums_to_one:
        columns /= columns.sum(axis=-1, keepdims=True)
    shapes = make_matrix_shape(9, 4), make_column_shape(9)

    compute = (distances._TRIANGLE_OF_DIFFERENCE if sums_to_one else distances._TRIANGLE).compute
    triangles = compute(matrices, targets, shapes=shapes)
    measured = distances._REDUCED_DISTANCE.compute(
        triangles, columns, shapes=(), spare=False, buffers=FRESH
    )

    outputs = np.einsum("bdn,bsn->bsd", matrices[:, 0], columns)
    np.testing.assert_allclose(measured, np.linalg.norm(outputs - targets, axis=-1), rtol=1e-12)


WEIGHTS = np.random.default_rng(6).dirichlet(np.ones(5), size=(3, 20))
TARGETS = np.array([[0.5, 0, 0, 0.5, 0], [0, 0, 1, 0, 0], [0.25, 0.25, 0.25, 0, 0.25]])


@pytest.mark.parametrize(
    ("weights", "targets"),
    [
        pytest.param(WEIGHTS[:1], TARGETS[:1], id="one answer"),
        pytest.param(WEIGHTS, TARGETS, id="targets with one, two and four keys"),
        pytest.param(WEIGHTS, TARGETS[:1], id="all answers share the target"),
        pytest.param(WEIGHTS[:1], TARGETS, id="all answers share the weights"),
        pytest.param(WEIGHTS, 0.75 * TARGETS, id="targets that do not sum to one"),
        pytest.param(WEIGHTS, TARGETS - 0.125, id="targets below zero"),
        pytest.param(WEIGHTS, 0 * TARGETS, id="no key is wanted"),
        pytest.param(np.full((1, 20, 5), np.nan), TARGETS[:1], id="no value"),
    ],
)
def test_what_the_wanted_keys_lack_is_the_total_variation(
    weights: NDArray[Any], targets: NDArray[Any]
) -> None:
    targets = targets[:, None]

    measured = distances._SHORTFALL.compute(
        distances._rank_targets(targets, shapes=()), weights, shapes=(), spare=False, buffers=FRESH
    )

    expected = np.abs(weights - targets).sum(axis=-1) / 2
    np.testing.assert_allclose(np.broadcast_to(measured, expected.shape), expected, rtol=1e-12)


def test_the_total_variation_of_a_softmax_looks_at_the_wanted_keys() -> None:
    question = judge_of(NOISY).question
    (measure, _) = (each.measure for each in question.measured)
    (result,) = plan_for(question, [measure]).results

    assert any(
        isinstance(each, FunctionCall) and each.name == "ranked" for each in list_nodes(result)
    )


def test_a_question_without_key_sets_computes_its_distances_directly() -> None:
    judge = judge_of(KNOWN)

    assert not is_reduced(plan_for(judge.question, [get_output_measure(judge)]).results[0])


def test_what_is_read_elsewhere_too_stays_a_step() -> None:
    judge = judge_of(NOISY)
    measure = get_output_measure(judge)
    (output,) = (
        each for each in list_nodes(measure) if isinstance(each, Name) and each.name == "c"
    )

    plan = plan_for(judge.question, [measure, output])

    assert "c" in dict(plan.steps)
    assert not is_reduced(plan.results[0])


def test_fixed_values_are_those_of_each_variant_whatever_stands_beside_it() -> None:
    judge = judge_of(NOISY)
    nodes = [get_output_measure(judge)]
    names = ("one", "two", "three")
    alone = [
        add_fixed_values(judge.question, each.environment, nodes, [each]).ready
        for each in map(judge.variant, names)
    ]
    several = [judge.variant(name) for name in names]
    # One of them is known before the others.
    add_fixed_values(judge.question, several[1].environment, nodes, several[1:2])

    together = add_fixed_values(judge.question, stack_variants(several), nodes, several).ready

    assert together.keys() == alone[0].keys()
    for node, values in together.items():
        expected = np.concatenate([each[node] for each in alone])
        np.testing.assert_allclose(values, expected, atol=1e-14)


def test_observing_leaves_the_settings_of_numpy_alone() -> None:
    judge = judge_of(NOISY)
    environment = judge.environment(submit(NOISY, {"q": "40 (mu_a + mu_b)"}))
    before = np.getbufsize(), np.geterr()

    observe(judge.question, environment, [get_output_measure(judge)], judge.context.source(0, 500))

    assert (np.getbufsize(), np.geterr()) == before


def test_observations_do_not_lie_in_the_buffers_of_the_thread() -> None:
    judge = judge_of(NOISY)
    environment = judge.environment(submit(NOISY, {"q": "40 (mu_a + mu_b)"}))
    source, weights = judge.context.source(0, 500), judge.question.compute["w"]

    (kept,) = observe(judge.question, environment, [weights], source).values
    before = kept.copy()
    with borrow_buffers() as buffers:
        (overwritten,) = observe(judge.question, environment, [weights], source, buffers).values
        overwritten[:] = 0

    np.testing.assert_array_equal(kept, before)
