"""Distances in fewer dimensions are the same distances."""

from __future__ import annotations

import numpy as np
import pytest

from grader.engine.judge.judge import Judge
from grader.engine.question import MeasuredCriterion
from grader.engine.random.variants import stack_variants
from grader.engine.sample.observe import add_fixed_values, observe
from grader.engine.sample.plans import plan_for
from grader.formula.eval.buffers import borrow_buffers
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
