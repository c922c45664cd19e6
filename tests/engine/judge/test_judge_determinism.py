"""Same answer, same verdicts: across repeats, batches, threads and processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.domain.verdicts import Interval
from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge, Judgement
from grader.engine.random.noise import NoiseBank
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.rubric.examples import make_submission
from tests.support.rubrics import BANK, judge_of, rubric_of, submit

NOISY = "self-attention-and-transformers/c-i"
HEADS = "attention-exploration/3d-i"
SPAN = "single-head-attention/1d"
PREDICTIONS = "attention-exploration/3d-ii"

ANSWERS: list[tuple[str, dict[str, Any]]] = [
    (NOISY, {"q": "40 (mu_a + mu_b)"}),
    (NOISY, {"q": "log(147) (mu_a + mu_b)"}),
    (NOISY, {"q": "20 (mu_a + mu_b) + log(0.52 / 0.48) mu_a"}),
    (NOISY, {"q": "mu_a + mu_b"}),
    (HEADS, {"q1": "40 mu_a", "q2": "40 mu_b"}),
    (HEADS, {"q1": "20 (mu_a + mu_b) + log(5/3) mu_a", "q2": "20 (mu_a + mu_b) + log(5/3) mu_b"}),
    (SPAN, {"M": "2 S S^T + 0.05 T T^T"}),
    (
        PREDICTIONS,
        {"share_near_average": 0.9, "variance_1": 0, "variance_2": 0, "left_out_share": 0.09},
    ),
]

_SCRIPT = """
import json, sys
from tests.engine.judge.test_judge_determinism import ANSWERS, flat
from tests.support.rubrics import judged
print(json.dumps([flat(judged(question, sent)) for question, sent in ANSWERS]))
"""


def flat(judgement: Judgement) -> list[Any]:
    """A judgement as plain data, figures included."""
    verdicts = [
        [
            *(each.criterion, each.outcome, each.reason, str(each.credit)),
            *(asdict(one) if isinstance(one, Interval) else one for one in each.evidence),
        ]
        for each in judgement.verdicts
    ]
    return [*verdicts, *([each.id, each.factor] for each in judgement.misconceptions)]


def assert_alike(one: list[Any], other: list[Any]) -> None:
    """Everything equal; figures to nine digits."""
    assert len(one) == len(other)
    for first, second in zip(one, other, strict=True):
        if isinstance(first, list):
            assert_alike(first, second)
        elif isinstance(first, dict):
            assert_alike(list(first.values()), list(second.values()))
        elif isinstance(first, float) and not isinstance(first, bool):
            assert first == pytest.approx(second, rel=2e-9, abs=1e-12)
        else:
            assert first == second


def one_by_one() -> list[Any]:
    return [flat(judge_of(q).judge([submit(q, sent)])[0]) for q, sent in ANSWERS]


def test_repeats_agree() -> None:
    first = one_by_one()

    for _ in range(3):
        assert one_by_one() == first


def test_threads_that_judge_at_once_do_not_disturb_each_other() -> None:
    expected = one_by_one()

    with ThreadPoolExecutor(4) as pool:
        judged_at_once = [pool.submit(one_by_one) for _ in range(8)]

    for each in judged_at_once:
        assert each.result() == expected


@pytest.mark.parametrize("threads", ["1", "2"])
def test_another_process_with_another_number_of_threads_agrees(threads: str) -> None:
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": threads,
        "PYTHONHASHSEED": threads,
        "PYTHONPATH": os.getcwd(),
    }
    run = subprocess.run(
        [sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, text=True, check=True
    )

    assert_alike(json.loads(run.stdout), json.loads(json.dumps(one_by_one())))


@settings(max_examples=12, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([a for q, a in ANSWERS if q == NOISY]), st.sampled_from("abcdef")
        ),
        min_size=1,
        max_size=12,
    )
)
def test_a_batch_gives_each_answer_the_verdicts_it_gets_alone(
    batch: list[tuple[dict[str, Any], str]],
) -> None:
    judge = Judge(judge_of(NOISY).question, DEVELOPMENT_KEYS, BANK)
    submissions = [submit(NOISY, sent, student=student) for sent, student in batch]

    together = [flat(judgement) for judgement in judge.judge(submissions)]
    alone = [flat(judge.judge([submission])[0]) for submission in submissions]

    for one, other in zip(together, alone, strict=True):
        assert_alike(one, other)


@pytest.mark.parametrize("question", [NOISY, HEADS, SPAN, PREDICTIONS])
def test_a_batch_shows_the_misconceptions_that_each_answer_shows_alone(question: str) -> None:
    rubric, judge = rubric_of(question), judge_of(question)
    ada, bob = judge.variant("ada"), judge.variant("bob")
    submissions = [
        make_submission(
            rubric, example, judge, variant, bob if example.of == "another" else variant
        )
        for example in rubric.form.examples
        if example.refused is None
        for variant in (ada, bob)
    ]

    together = judge.judge(submissions)

    assert any(each.misconceptions for each in together)
    for one, submission in zip(together, submissions, strict=True):
        assert_alike(flat(one), flat(judge.judge([submission])[0]))


def test_a_batch_of_many_students_agrees_with_each_alone() -> None:
    judge = judge_of(NOISY)
    submissions = [
        submit(NOISY, {"q": "log(147) (mu_a + mu_b)"}, student=f"s{number}")
        for number in range(150)
    ]

    together = judge.judge(submissions)

    for number in (0, 1, 64, 127, 128, 149):
        assert_alike(flat(together[number]), flat(judge.judge([submissions[number]])[0]))


def test_forgotten_noise_is_drawn_again_alike() -> None:
    submission = submit(NOISY, {"q": "log(147) (mu_a + mu_b)"})
    question = judge_of(NOISY).question
    small = Judge(question, DEVELOPMENT_KEYS, NoiseBank(max_bytes=1))

    first = flat(small.judge([submission])[0])
    second = flat(small.judge([submission])[0])

    assert small.bank.cached_bytes == 0
    assert first == second == flat(judge_of(NOISY).judge([submission])[0])


def test_judging_leaves_the_variant_untouched() -> None:
    submission = submit(NOISY, {"q": "mu_a + mu_b"})
    before = {name: value.copy() for name, value in submission.variant.values.items()}

    judge_of(NOISY).judge([submission])
    judge_of(NOISY).judge([Submission(submission.variant, submission.answer)])

    for name, value in submission.variant.values.items():
        assert (value == before[name]).all()
