"""What is called hopeless on few key sets is denied full credit on all of them."""

from __future__ import annotations

import numpy as np
import pytest

from grader.engine.judge import misconceptions
from grader.engine.judge.cases import list_cases, stack_cases
from grader.engine.judge.hopeless import find_hopeless
from grader.engine.judge.measured import measure
from grader.engine.question import MeasuredCriterion
from grader.engine.sample.context import count_answers
from tests.support.rubrics import judge_of, submit

NOISY = "self-attention-and-transformers/c-i"
HEADS = "attention-exploration/3d-i"
SPAN = "single-head-attention/1d"


def find_both(question: str, answers: list[dict[str, object]]) -> tuple[list[bool], list[bool]]:
    """Which answers are hopeless, and which earn full credit by everything that is measured."""
    judge = judge_of(question)
    submissions = [submit(question, each) for each in answers]
    cases = list_cases(judge.question, submissions, fresh=(), redraw=lambda _: ())
    criteria = [each for each in judge.question.criteria if isinstance(each, MeasuredCriterion)]
    environment = stack_cases(cases)
    is_hopeless = find_hopeless(judge.question, criteria, environment, judge.context)
    measured = measure(judge.question, criteria, environment, judge.context)
    is_full = [
        all(measured.get_credit(row, column)[1] == 1 for column in range(len(criteria)))
        for row in range(len(cases))
    ]
    return is_hopeless.tolist(), is_full


def test_hopeless_and_full_credit_exclude_each_other() -> None:
    scales = [*np.geomspace(1e-3, 1e15, 37), 4.99, 5.0, 5.01, 5.02, 5.1]
    leans = [0.0, 0.05, 0.08, 0.1, 0.4]
    answers: list[dict[str, object]] = [
        {"q": f"{scale!r} (mu_a + mu_b) + {lean} mu_a"}
        for scale in map(float, scales)
        for lean in leans
    ]

    is_hopeless, is_full = find_both(NOISY, answers)

    assert not any(one and other for one, other in zip(is_hopeless, is_full, strict=True))
    assert any(is_full)
    assert any(is_hopeless)


@pytest.mark.parametrize(
    ("question", "answer", "is_hopeless"),
    [
        pytest.param(NOISY, {"q": "mu_a"}, True, id="plainly wrong"),
        pytest.param(NOISY, {"q": "40 (mu_a + mu_b)"}, False, id="right"),
        pytest.param(HEADS, {"q1": "40 mu_a", "q2": "40 mu_a"}, True, id="two heads, wrong"),
        pytest.param(HEADS, {"q1": "40 mu_a", "q2": "40 mu_b"}, False, id="two heads, right"),
        pytest.param(SPAN, {"M": "0 S S^T"}, False, id="nothing is foreseen without key sets"),
    ],
)
def test_plain_cases(question: str, answer: dict[str, object], is_hopeless: bool) -> None:
    assert find_both(question, [answer])[0] == [is_hopeless]


def test_the_same_factor_is_found_where_nothing_is_ruled_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge = judge_of(NOISY)
    # Each needs another factor, between the first and the last that are tried.
    submissions = [
        submit(NOISY, {"q": f"{length} (mu_a + mu_b)"}, student=student)
        for length in (0.001, 0.02, 0.6, 1.4, 4)
        for student in ("ada", "bob")
    ]
    expected = judge.judge(submissions)
    monkeypatch.setattr(
        misconceptions,
        "find_hopeless",
        lambda question, criteria, environment, context: np.zeros(
            count_answers(environment), dtype=bool
        ),
    )

    assert judge.judge(submissions) == expected
    assert len({each.misconceptions[0].factor for each in expected}) == 5
