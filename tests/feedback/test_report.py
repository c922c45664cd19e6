from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from grader.domain.verdicts import Evidence, Interval, Outcome, Reason, Verdict
from grader.feedback.plots import HeatMap, OutputPlane, WeightBars, make_pictures
from grader.feedback.receipt import compose_receipt, hash_answer
from grader.feedback.report import Report, build_report
from grader.feedback.sentences import describe_outcome, explain
from tests.support.rubrics import judge_of, judged, rubric_of, shipped, submit

NOISY = "self-attention-and-transformers/c-i"
STRETCHED = "self-attention-and-transformers/c-ii"
CALM = "self-attention-and-transformers/d-ii"


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_words(reason: Reason) -> None:
    sampled = Evidence(0.3, 0.02, False, 0.4, 0.99, Interval(0.3, 0.5), 2000, 2000)
    for evidence in (
        sampled,
        Evidence(0.3, 0.02),
        Evidence(0.3, 0.02, expected=Interval(0.1, 0.2)),
    ):
        verdict = Verdict("x", Outcome.NOT_MET, reason, Decimal(0), Decimal(1), evidence)
        sentence = explain(verdict)
        assert sentence.endswith(".")
        assert "None" not in sentence


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_a_word(outcome: Outcome) -> None:
    assert describe_outcome(outcome)


def test_the_gap_is_told_in_numbers() -> None:
    verdict = judged(NOISY, {"q": "4.2 (mu_a + mu_b)"}).verdict("weights")
    sentence = explain(verdict)

    assert "Measured 0.043" in sentence
    assert "at most 0.02 is needed, on 99 % of the key sets" in sentence
    assert "It holds on 0 % of 2,000" in sentence


def test_a_wrong_prediction_is_not_told_the_right_number() -> None:
    predictions = {
        "share_near_average": 0.5,
        "share_nearer_b": 1,
        "variance": 0.9,
        "spread_ratio": 0,
    }
    verdict = judged(STRETCHED, predictions).verdict("variance")

    assert "far above what is measured" in explain(verdict)
    assert "0.25" not in explain(verdict)
    assert "0.24" not in explain(verdict)


def report_of(question: str, sent: dict[str, Any], **more: Any) -> Report:
    judge = judge_of(question)
    submission = submit(question, sent, **more)
    (judgement,) = judge.judge([submission])
    rubric = rubric_of(question)
    receipt = compose_receipt(judge, submission, judgement, versions=rubric.versions)
    return build_report(rubric.question, judgement, receipt, used=submission.used)


def test_a_report_has_the_promised_keys() -> None:
    data = report_of(NOISY, {"q": "40 (mu_a + mu_b)"}).model_dump(mode="json")

    assert set(data) >= {
        "id", "number", "score", "max_score", "max_automatic", "pending", "criteria", "feedback",
        "misconceptions", "receipt", "attempts_left",
    }  # fmt: skip
    assert (data["score"], data["max_score"], data["max_automatic"], data["pending"]) == (
        8,
        10,
        8,
        2,
    )
    assert set(data["criteria"][0]) >= {"points", "measured", "needed", "interval"}


def test_a_report_shows_no_expected_numbers() -> None:
    predictions = {
        "share_near_average": 0.5,
        "share_nearer_b": 1,
        "variance": 0.9,
        "spread_ratio": 0,
    }
    data = report_of(STRETCHED, predictions).model_dump(mode="json")

    assert "expected" not in str(data)


def test_a_report_says_whose_earlier_answer_was_used() -> None:
    predictions = {
        "share_near_average": 0,
        "share_nearer_b": 1,
        "variance": 0.25,
        "spread_ratio": 0,
    }

    assert report_of(STRETCHED, predictions).uses == "reference"
    own = report_of(STRETCHED, predictions, uses={"q": "99 (mu_a + mu_b)"})
    assert own.uses == "own"
    assert own.receipt.used.startswith("sha256:")
    assert own.receipt.used != report_of(STRETCHED, predictions).receipt.used
    assert report_of(NOISY, {"q": "40 (mu_a + mu_b)"}).uses is None


def test_the_receipt_rests_on_answer_rubric_and_noise() -> None:
    one = report_of(NOISY, {"q": "40 (mu_a + mu_b)"}).receipt
    other = report_of(NOISY, {"q": "41 (mu_a + mu_b)"}).receipt

    assert one.answer != other.answer
    assert one.noise == other.noise
    assert one.noise.startswith("sha256:")
    assert one.key_sets == 2000
    assert one.used == ""
    assert one.rubric == rubric_of(NOISY).version


def test_an_offline_receipt_names_its_question_and_is_not_signed() -> None:
    receipt = report_of(NOISY, {"q": "40 (mu_a + mu_b)"}).receipt

    assert (receipt.question, receipt.variant) == (NOISY, "ada")
    assert (receipt.score, receipt.max_score) == (Decimal(8), Decimal(10))
    assert (receipt.attempt, receipt.course, receipt.received_at) == (None, None, None)
    assert (receipt.key, receipt.signature) == (None, None)


def test_a_receipt_tells_verdicts_apart_but_not_their_figures() -> None:
    modest = report_of(NOISY, {"q": "40 (mu_a + mu_b)"}).receipt
    bold = report_of(NOISY, {"q": "80 (mu_a + mu_b)"}).receipt
    wrong = report_of(NOISY, {"q": "mu_a"}).receipt

    assert modest.verdicts == bold.verdicts
    assert modest.verdicts != wrong.verdicts


def test_a_receipt_of_a_part_that_builds_on_another_binds_that_one_too() -> None:
    predictions = {
        "share_near_average": 0,
        "share_nearer_b": 1,
        "variance": 0.25,
        "spread_ratio": 0,
    }
    earlier = {"q": "mu_a"}
    receipt = report_of(STRETCHED, predictions, uses=earlier).receipt

    assert receipt.used == "reference"
    assert receipt.used_answer == hash_answer(earlier)
    assert receipt.used_rubric == rubric_of(NOISY).version
    assert report_of(NOISY, {"q": "mu_a"}).receipt.used_rubric == ""


def test_the_hash_of_an_answer_does_not_depend_on_the_order_of_fields() -> None:
    assert hash_answer({"a": 1, "b": 2}) == hash_answer({"b": 2, "a": 1})
    assert hash_answer({"a": 1}) != hash_answer({"a": 2})


def test_the_weights_picture_names_the_given_keys() -> None:
    submission = submit(NOISY, {"q": "40 (mu_a + mu_b)"})
    bars = make_pictures(judge_of(NOISY), submission)[0]

    assert isinstance(bars, WeightBars)
    assert len(bars.quantiles) == 8
    assert sorted(bars.named.values()) == ["a", "b"]
    for position in bars.named:
        assert bars.quantiles[position][2] == pytest.approx(0.5, abs=1e-3)


def test_the_jump_is_seen_and_the_calm_is_seen() -> None:
    predictions = {
        "share_near_average": 0,
        "share_nearer_b": 1,
        "variance": 0.25,
        "spread_ratio": 0,
    }
    jumping = make_pictures(judge_of(STRETCHED), submit(STRETCHED, predictions), revealing=True)[-1]
    calm_sent = {"share_near_average": 1, "variance_1": 0, "variance_2": 0, "left_out_share": 0.08}
    calm = make_pictures(judge_of(CALM), submit(CALM, calm_sent), revealing=True)[-1]

    assert isinstance(jumping, OutputPlane)
    assert isinstance(calm, OutputPlane)
    along = np.array(jumping.points)[:, 0]
    assert ((along < 0.1) | (along > 0.9)).mean() > 0.9
    assert 0.4 < (along < 0.5).mean() < 0.6
    assert (np.abs(np.array(calm.points)[:, 0] - 0.5) < 0.1).mean() > 0.9


def test_a_matrix_is_shown_beside_what_it_should_make() -> None:
    question = "self-attention-and-transformers/b-i"
    first, second = make_pictures(judge_of(question), submit(question, {"M": "A A^T"}))

    assert isinstance(first, HeatMap)
    assert isinstance(second, HeatMap)
    assert np.array(first.matrices[0]).shape == (10, 3)
    assert np.allclose(first.matrices[0], first.matrices[1], atol=1e-5)
    assert np.allclose(second.matrices[0], np.zeros((10, 4)), atol=1e-9)


@pytest.mark.parametrize("rubric", list(shipped().rubrics()), ids=lambda rubric: rubric.id)
def test_every_plot_of_every_question_can_be_made(rubric: Any) -> None:
    example = rubric.form.examples[0]
    submission = submit(rubric.id, dict(example.answer), uses=example.uses)

    pictures = make_pictures(judge_of(rubric.id), submission, revealing=True)
    assert len(pictures) == len(rubric.question.plots)


@pytest.mark.parametrize(
    "question", [STRETCHED, CALM, "attention-exploration/3e-i", "single-head-attention/1f"]
)
def test_a_picture_that_shows_what_is_asked_for_waits_until_all_is_right(question: str) -> None:
    example = rubric_of(question).form.examples[0]
    submission = submit(question, dict(example.answer), uses=example.uses)

    assert make_pictures(judge_of(question), submission) == []
    assert make_pictures(judge_of(question), submission, revealing=True)
