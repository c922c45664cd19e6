"""Issue 10, items 5 and 6: formulas are tried on fresh variants wherever they stand."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from grader.domain.verdicts import Reason
from grader.engine.judge.judge import Judge
from grader.engine.question import MeasuredCriterion
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.reading.fields import describe_field
from grader.rubric.catalog import Rubric, read_rubric
from tests.support.rubrics import BANK, awarded, judge_of, judged, shown, submit

MATRICES = "attention-exploration/3e-ii"
HEADS = ("attention-exploration/3d-i", "self-attention-and-transformers/d-i")
Q, V = "u_d u_a^T + u_c u_d^T", "(u_b u_b^T - u_c u_c^T) / beta^2"


def as_numbers(question: str, field: str, text: str, rest: dict[str, Any]) -> list[Any]:
    submission = submit(question, {**rest, field: text})
    values = judge_of(question).environment(submission).values[field]
    assert isinstance(values, np.ndarray)
    return list(values[0, 0].tolist())


def guess_of_beta() -> str:
    beta = float(judge_of(MATRICES).variant("ada").values["beta"])
    return f"{1 / beta**2} (u_b u_b^T - u_c u_c^T)"


@pytest.mark.parametrize("numeric", ["K", "Q"])
def test_item_5_a_number_in_place_of_beta_is_found_beside_a_numeric_matrix(numeric: str) -> None:
    sent: dict[str, Any] = {"K": "I", "Q": Q, "V": guess_of_beta()}
    sent[numeric] = as_numbers(MATRICES, numeric, sent[numeric], sent)
    judgement = judged(MATRICES, sent)

    assert awarded(judgement) == 0
    assert {each.reason for each in judgement.verdicts} == {Reason.NOT_GENERAL}


@pytest.mark.parametrize("numeric", [("K",), ("Q",), ("V",), ("K", "Q"), ("Q", "V"), ("K", "V")])
@pytest.mark.parametrize(
    "model",
    [
        {"K": "I", "Q": Q, "V": V},
        {"K": "u_a u_d^T + u_d u_c^T", "Q": "I", "V": V},
        {
            "K": "50 (u_a u_d^T + u_b u_c^T) / beta^2",
            "Q": "(u_a u_a^T + u_b u_d^T) / beta^2",
            "V": V,
        },
    ],
    ids=["the queries", "the keys", "both"],
)
def test_item_5_right_formulas_beside_right_numbers_earn_everything(
    model: dict[str, Any], numeric: tuple[str, ...]
) -> None:
    sent = {**model, **{name: as_numbers(MATRICES, name, model[name], model) for name in numeric}}

    assert judged(MATRICES, sent).is_solved


@pytest.mark.parametrize("question", HEADS)
def test_item_5_a_head_as_a_formula_beside_one_as_numbers_earns_everything(question: str) -> None:
    model = {"q1": "40 mu_a", "q2": "40 mu_b"}
    sent = {"q1": as_numbers(question, "q1", "40 mu_a", model), "q2": "40 mu_b"}

    assert judged(question, sent).is_solved


NUMBERS = read_rubric(
    """
id: numbers
title: A number that depends on what is drawn
points: 2
prompt: How long is a sum of two orthogonal vectors of length beta?
draw:
  beta: {uniform: [6, 12]}
given: [beta]
answer:
  length:
    number: sqrt(2) beta
    tolerance: 0.01
    symbols: [beta]
    points: 2
misconceptions:
  - id: not-rooted
    say: Take the root.
    passes: {length: sqrt(length)}
""",
    path=Path("numbers.yaml"),
    assignment="x",
    earlier={},
)


def judge_number(sent: Any) -> tuple[float, Reason, set[str]]:
    judge = Judge(NUMBERS.question, DEVELOPMENT_KEYS, BANK)
    (judgement,) = judge.judge([judge.prepare(judge.variant("ada"), {"length": sent})])
    return awarded(judgement), judgement.verdict("length").reason, shown(judgement)


def test_item_5_formulas_in_number_fields_are_tried_on_fresh_variants() -> None:
    judge = Judge(NUMBERS.question, DEVELOPMENT_KEYS, BANK)
    beta = float(judge.variant("ada").values["beta"])

    assert judge_number("sqrt(2) beta") == (2, Reason.HOLDS, set())
    assert judge_number(f"{np.sqrt(2) * beta}") == (2, Reason.HOLDS, set())
    assert judge_number(f"beta + {(np.sqrt(2) - 1) * beta}") == (0, Reason.NOT_GENERAL, set())


def test_item_8_a_mended_number_is_recognised_in_number_fields() -> None:
    assert judge_number("2 beta^2") == (0, Reason.OUTSIDE_TOLERANCE, {"not-rooted"})


@pytest.mark.parametrize("question", ["attention-exploration/3c-ii", "single-head-attention/1b"])
def test_item_5_a_number_field_says_that_a_formula_may_be_sent(question: str) -> None:
    fields = {each.name: each for each in judge_of(question).question.fields}
    field = fields["gap" if "gap" in fields else "variance"]

    assert "or a formula" in describe_field(field)


# The share of key sets that pass grows with beta, so that it differs from variant to variant.
GROWING = """
id: growing
title: A share that depends on what is drawn
points: 1
prompt: Keep it short.
draw:
  beta: {uniform: [1, 2]}
  A: {orthonormal_bases: [3, [1]]}
given: [beta, A]
key_sets:
  called: inputs
  draw: {x: {in_span: A}}
answer:
  M: {shape: [3, 3], symbols: [A, beta]}
criteria:
  - id: short
    title: The result is short
    points: 1
    measure: norm(M x) / beta
    in_words: "the result is {measured} long; {needed} is allowed"
    levels: [{within: 1, share: 0.5, credit: 1}]
"""


def growing() -> Rubric:
    return read_rubric(GROWING, path=Path("growing.yaml"), assignment="x", earlier={})


def test_item_6_what_is_undecided_on_a_fresh_variant_goes_to_a_person() -> None:
    question = growing().question
    judge = Judge(question, DEVELOPMENT_KEYS, BANK)
    least = min(float(judge.variant(f"fresh/{n}").values["beta"]) for n in range(8))
    own = next(
        name
        for name in map(str, range(100))
        if float(judge.variant(name).values["beta"]) > least + 0.3
    )
    # |M x| = 1.5 |z| for a normal z: the share exactly at the threshold on the smallest beta.
    normal = NormalDist()
    share = normal.cdf(least / 1.5) - normal.cdf(-least / 1.5)
    (criterion,) = question.criteria
    assert isinstance(criterion, MeasuredCriterion)
    level = replace(criterion.levels[0], share=share)
    strict = replace(question, criteria=(replace(criterion, levels=(level,)),))
    judge = Judge(strict, DEVELOPMENT_KEYS, BANK)
    (judgement,) = judge.judge([judge.prepare(judge.variant(own), {"M": "1.5 A A^T"})])
    verdict = judgement.verdict("short")

    assert verdict.reason is Reason.UNDECIDED
    assert verdict.needs_person
    # As numbers it is judged on the student's own variant only, where it is plainly right.
    basis = judge.variant(own).values["A"]
    (alone,) = judge.judge(
        [judge.prepare(judge.variant(own), {"M": (1.5 * basis @ basis.T).tolist()})]
    )
    assert alone.is_solved


def test_item_6_what_certainly_fails_on_a_fresh_variant_is_not_general() -> None:
    judge = Judge(growing().question, DEVELOPMENT_KEYS, BANK)
    own = next(n for n in map(str, range(100)) if float(judge.variant(n).values["beta"]) > 1.9)
    (judgement,) = judge.judge([judge.prepare(judge.variant(own), {"M": "2.5 A A^T"})])

    assert judgement.verdict("short").reason is Reason.NOT_GENERAL


@pytest.mark.parametrize("question", HEADS)
@pytest.mark.parametrize(
    "sent",
    [
        {"q1": "100 (mu_a + mu_b)", "q2": "100 (mu_a + mu_b)"},
        {"q1": "100 (mu_a + mu_b)", "q2": "50 (mu_a + mu_b)"},
        {"q1": "-50 sum_{m != a, b} mu_m", "q2": "40 (mu_a + mu_b)"},
    ],
)
def test_item_6_equal_heads_earn_at_most_half_and_are_told_why(
    question: str, sent: dict[str, str]
) -> None:
    judgement = judged(question, sent)
    most = judgement.score.possible / 2

    assert judgement.score.awarded + judgement.score.pending <= most
    assert judgement.score.awarded <= Decimal("0.5") * judgement.score.automatic
    assert shown(judgement) == {"equal-heads"}
