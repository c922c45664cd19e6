from __future__ import annotations

from decimal import Decimal
from typing import Any

from grader.feedback.receipt import compose_receipt, hash_answer
from grader.feedback.report import Report, build_report
from tests.support.rubrics import judge_of, rubric_of, submit

NOISY = "self-attention-and-transformers/c-i"
STRETCHED = "self-attention-and-transformers/c-ii"


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
