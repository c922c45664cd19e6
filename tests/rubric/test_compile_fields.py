"""Every type of field in one question, and what each of them counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.domain.verdicts import Outcome, Reason
from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge, Judgement
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.engine.random.variants import stack_variants
from grader.errors import AnswerRefused
from grader.reading.answer import read_answer
from grader.rubric.catalog import read_rubric

TEXT = """
id: all
title: One of each
points: 20
prompt: Answer all of it.
draw:
  d: 3
  u: {gaussian: [2, d]}
  r: {uniform: [2, 4]}
families: {u: {rows_of: u}}
given: [d, u, r]
answer:
  x: {shape: [d], symbols: [u]}
  M: {shape: [2, d], symbols: [u]}
  size: {number: norm(u_1), tolerance: 0.01, points: 2, symbols: [u]}
  twice: {number: 2 r, tolerance: 0.1, points: 1, needs: sum}
  colour: {choice: [red, green, blue], correct: green, points: 1}
  primes: {choice: ["2", "3", "4"], several: true, correct: ["2", "3"], points: 2}
  why: {text: {items: [{points: 1, for: a reason}, {points: 2, for: a good one}], note: be kind}}
  sketch: {file: {items: [{points: 3, for: a drawing}]}}
criteria:
  - id: sum
    title: The sum of both
    points: 4
    measure: distance(x, u_1 + u_2) / norm(u_1)
    in_words: x is {measured} away from the sum; {needed} is allowed
    levels: [{within: 0.01, credit: 1}]
  - id: matrix
    title: The vectors as rows
    points: 4
    measure: distance(M, u)
    in_words: M is {measured} away from the rows; {needed} is allowed
    levels: [{within: 0.01, credit: 1}]
"""
PDF = "sha256:" + "ab" * 32
RIGHT = {
    "x": "u_1 + u_2",
    "M": "[u_1, u_2]",
    "size": "norm(u_1)",
    "twice": 6,
    "colour": "green",
    "primes": ["3", "2"],
}

RUBRIC = read_rubric(TEXT, path=Path("all.yaml"), assignment="x", earlier={})
JUDGE = Judge(RUBRIC.question, DEVELOPMENT_KEYS)


def judged(**sent: Any) -> Judgement:
    variant = JUDGE.variant("ada")
    answer = read_answer({**RIGHT, **sent}, RUBRIC.question.fields, stack_variants([variant]))
    (judgement,) = JUDGE.judge([Submission(variant, answer)])
    return judgement


def test_a_right_answer_earns_all_that_is_automatic() -> None:
    twice = 2 * float(JUDGE.variant("ada").values["r"])
    score = judged(twice=twice).score

    assert float(score.awarded) == float(score.automatic) == 14
    assert float(score.pending) == 6
    assert float(score.possible) == 20


def test_what_was_not_written_yet_is_told_apart_from_what_awaits_review() -> None:
    verdicts = judged(why="Because.")

    assert verdicts.verdict("why").reason is Reason.AWAITS_REVIEW
    assert verdicts.verdict("sketch").reason is Reason.NOT_SENT
    assert judged(sketch=PDF).verdict("sketch").reason is Reason.AWAITS_REVIEW


@pytest.mark.parametrize("chosen", [["2"], ["2", "3", "4"], ["4"], []])
def test_several_options_must_be_exactly_the_right_ones(chosen: list[str]) -> None:
    assert judged(primes=chosen).verdict("primes").outcome is Outcome.NOT_MET


def test_a_number_that_needs_another_criterion_loses_its_points_without_it() -> None:
    twice = 2 * float(JUDGE.variant("ada").values["r"])
    verdict = judged(x="u_1", twice=twice).verdict("twice")

    assert verdict.reason is Reason.NEEDS_OTHER
    assert verdict.points == 0


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ({"colour": "pink"}, "choice.unknown"),
        ({"colour": ["green"]}, "choice.unknown"),
        ({"primes": ["2", "5"]}, "choice.unknown"),
        ({"why": 7}, "text.type"),
        ({"why": "x" * 20_001}, "text.length"),
        ({"why": "a\0b"}, "text.character"),
        ({"sketch": "notes.pdf"}, "file.digest"),
        ({"size": True}, "number.type"),
        ({"size": "r"}, "formula.unknown"),
        ({"M": "[u_1, u_2]^T"}, "answer.shape"),
    ],
)
def test_each_type_refuses_what_it_cannot_read(sent: dict[str, Any], code: str) -> None:
    with pytest.raises(AnswerRefused) as refused:
        judged(**sent)

    assert refused.value.code == code
