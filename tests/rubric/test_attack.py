"""Issue 10, item 17: the adversary finds what a careless rubric lets through."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.rubric.attack import AttackKind, AttackResult, Problem, run_attacks
from grader.rubric.catalog import read_rubric
from tests.support.rubrics import rubric_of

CARELESS = """
id: careless
title: A query that is judged by the two weights alone
points: 1
prompt: Give both keys the same weight.
draw:
  n: 4
  d: 6
  a, b: {distinct_indices: n}
  k: {orthonormal: [n, d]}
given: [n, d, a, b, k]
answer:
  q: {shape: [d], symbols: [k]}
compute:
  w: softmax(k q)
criteria:
  - id: equal
    title: Both have the same weight
    points: 1
    measure: abs(unit(a)^T w - unit(b)^T w)
    in_words: "the weights differ by {measured}; {needed} is allowed"
    levels: [{within: 0.001, credit: 1}]
misconceptions:
  - id: lopsided
    say: Take away what leans on one of them.
    when: max(w) >= 0
    passes: {q: "0 q"}
ALSO_RIGHT
examples:
  - {name: model, answer: {q: "40 (k_a + k_b)"}, earns: 1}
"""


def attack(also_right: str = "", text: str = CARELESS) -> dict[str, AttackResult]:
    text = text.replace("ALSO_RIGHT", also_right)
    rubric = read_rubric(text, path=Path("careless.yaml"), assignment="x", earlier={})
    return {each.name: each for each in run_attacks(rubric, variants=3)}


def problems(result: AttackResult) -> set[Problem]:
    return set(result.list_problems())


def test_item_17_the_zero_query_is_found_where_only_equality_is_asked_for() -> None:
    results = attack()

    assert problems(results["zero"]) == {Problem.EARNS_ALL}
    assert problems(results["sign"]) == {Problem.EARNS_ALL}
    assert problems(results["q + 1000 k_a"]) == set()


def test_item_17_what_is_declared_right_is_expected_to_be() -> None:
    results = attack('also_right: [zero, "q + 1000 k_a", nothing]')

    assert results["zero"].kind is AttackKind.HARMLESS
    assert problems(results["zero"]) == set()
    assert problems(results["q + 1000 k_a"]) == {Problem.LOSES}
    assert problems(results["nothing"]) == {Problem.UNKNOWN}


def test_item_17_a_loss_by_rounding_must_be_told() -> None:
    strict = CARELESS.replace("within: 0.001", "within: 1e-9").replace('"0 q"', '"q + 9 k_a"')
    results = attack(text=strict)

    assert problems(results["given arrays rounded to 3 decimals"]) == {Problem.LOSES_BY_ROUNDING}


def test_item_17_independent_constants_are_tried_by_itself() -> None:
    result = run_attacks(rubric_of("attention-exploration/3b"), variants=2)
    (independent,) = [each for each in result if each.name.startswith("independent")]

    assert independent.full == 0
    assert not problems(independent)


@pytest.mark.parametrize(
    "question",
    [
        "attention-exploration/3a",
        "attention-exploration/3b",
        "attention-exploration/3e-i",
        "attention-exploration/3e-ii",
        "self-attention-and-transformers/a-ii",
        "self-attention-and-transformers/a-iii",
        "self-attention-and-transformers/b-i",
        "self-attention-and-transformers/b-ii",
        "single-head-attention/1b",
        "single-head-attention/1c",
        "single-head-attention/1d",
    ],
)
def test_item_17_shipped_questions_are_clean(question: str) -> None:
    results = run_attacks(rubric_of(question), variants=6)

    assert len(results) > 20
    assert {each.name: list(each.list_problems()) for each in results if problems(each)} == {}


@pytest.mark.parametrize(
    "question", ["self-attention-and-transformers/c-i", "attention-exploration/3d-i"]
)
def test_item_17_shipped_questions_with_key_sets_are_clean(question: str) -> None:
    results = run_attacks(rubric_of(question), variants=5)

    assert {each.name: list(each.list_problems()) for each in results if problems(each)} == {}
