"""Issue 10, items 4, 13 and 14: what is said of a verdict is so, in the words of its rubric."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from grader.domain.verdicts import Evidence, Interval, Outcome, Reason, Scaling, Verdict
from grader.engine.judge.misconceptions import RecognisedMisconception
from grader.engine.question import Level, MeasuredCriterion, PredictedCriterion, Question
from grader.feedback.report import describe_used
from grader.feedback.sentences import describe_outcome, explain, explain_misconception
from grader.rubric.catalog import Rubric
from tests.support.rubrics import judged, rubric_of, shipped, submit

COPY = "single-head-attention/1c"
NOISY = "self-attention-and-transformers/c-i"
STRETCHED = "self-attention-and-transformers/c-ii"
HEADS = "self-attention-and-transformers/d-ii"


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_words(reason: Reason) -> None:
    sampled = Evidence(0.3, 0.02, False, 0.4, 0.99, Interval(0.3, 0.5), 2000, 2000)
    for evidence in (
        sampled,
        Evidence(0.3, 0.02),
        Evidence(0.3, 0.02, expected=Interval(0.1, 0.2)),
    ):
        for criterion in ("weights", "output", "unknown"):
            sentence = said(rubric_of(NOISY).question, evidence, reason, criterion=criterion)
            assert sentence.endswith(".")
            assert "None" not in sentence
            assert "{" not in sentence


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_a_word(outcome: Outcome) -> None:
    assert describe_outcome(outcome)


def said(
    question: Question,
    evidence: Evidence,
    reason: Reason = Reason.OUTSIDE_TOLERANCE,
    *,
    criterion: str = "weights",
    is_own: bool = True,
) -> str:
    outcome = Outcome.MET if reason is Reason.HOLDS else Outcome.NOT_MET
    verdict = Verdict(criterion, outcome, reason, Decimal(0), Decimal(1), evidence)
    return explain(verdict, question, is_own=is_own)


WEIGHT = "{measured} of the weight is in the wrong place; {needed} may be"
BEST, HALF = Level(Decimal(1), within=0.02), Level(Decimal("0.5"), within=0.1)
QUARTER = Level(Decimal("0.25"), within=0.2)


def question_with(sentence: str, *levels: Level, called: str = "key sets") -> Question:
    """A question whose criterion `weights` has this sentence and these levels."""
    question = rubric_of(NOISY).question
    criteria = tuple(
        replace(each, in_words=sentence, levels=levels)
        if isinstance(each, MeasuredCriterion) and each.id == "weights"
        else each
        for each in question.criteria
    )
    assert question.key_sets is not None
    return replace(question, criteria=criteria, key_sets=replace(question.key_sets, called=called))


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        pytest.param(
            WEIGHT, "0.356 of the weight is in the wrong place; at most 0.02 may be.", id="number"
        ),
        pytest.param(
            "the output is {measured} away from the average, in units of |v_a - v_b|; {needed} is "
            "allowed",
            "The output is 0.356 away from the average, in units of |v_a - v_b|; at most 0.02 is "
            "allowed.",
            id="words",
        ),
        pytest.param(
            "c_2 is off by {measured}. {needed} is allowed.",
            "c_2 is off by 0.356. At most 0.02 is allowed.",
            id="a name",
        ),
    ],
)
def test_a_sentence_is_the_one_of_the_rubric(sentence: str, told: str) -> None:
    assert said(question_with(sentence, BEST), Evidence(0.356, 0.02)) == told


def test_what_must_be_large_is_told_as_such() -> None:
    sentence = "{measured} of the weight differs; {needed} must"
    question = question_with(sentence, Level(Decimal(1), at_least=0.25))

    told = said(question, Evidence(0.1, 0.25, True))

    assert told == "0.1 of the weight differs; at least 0.25 must."


def test_levels_with_partial_credit_are_told() -> None:
    question = question_with(WEIGHT, BEST, HALF, QUARTER)

    assert said(question, Evidence(0.356, 0.02)) == (
        "0.356 of the weight is in the wrong place; at most 0.02 may be for all points, at most "
        "0.1 for half of them, at most 0.2 for 25 % of them."
    )


def test_levels_are_not_told_where_all_points_are_earned() -> None:
    told = said(question_with(WEIGHT, BEST, HALF), Evidence(0.01, 0.02), Reason.HOLDS)

    assert told == "0.01 of the weight is in the wrong place; at most 0.02 may be."


def test_levels_that_were_changed_since_are_not_told() -> None:
    told = said(question_with(WEIGHT, BEST, HALF), Evidence(0.5, 0.03))

    assert told == "0.5 of the weight is in the wrong place; at most 0.03 may be."


def test_levels_have_their_shares_where_key_sets_are_drawn() -> None:
    verdict = judged(NOISY, {"q": "4.2 (mu_a + mu_b)"}).verdict("weights")

    assert explain(verdict, rubric_of(NOISY).question).startswith(
        "Close, but not close enough for all points. 0.0431 (the median) of the weight is in the "
        "wrong place; at most 0.02 may be for all points, on 99 % of the key sets; at most 0.1 "
        "for half of them, on 90 %. The first bound holds on 0 % of 2,000 (at most 0."
    )


def test_a_single_level_has_its_share_where_key_sets_are_drawn() -> None:
    verdict = judged(NOISY, {"q": "4.2 (mu_a + mu_b)"}).verdict("output")

    assert explain(verdict, rubric_of(NOISY).question).startswith(
        "The output is 0.0249 (the median) away from the average, in units of |v_a - v_b|; at "
        "most 0.02 is allowed, on 99 % of the key sets. That holds on 0 % of 2,000 (at most 0."
    )


@pytest.mark.parametrize("reason", [Reason.TOO_FEW_KEY_SETS, Reason.UNDECIDED, Reason.LOWER_LEVEL])
def test_key_sets_are_called_what_the_rubric_calls_them(reason: Reason) -> None:
    sampled = Evidence(0.3, 0.02, False, 0.4, 0.99, Interval(0.3, 0.5), 2000, 2000)
    levels = (replace(BEST, share=0.99), replace(HALF, share=0.9))

    told = said(question_with(WEIGHT, *levels, called="pairs"), sampled, reason)

    assert "of the pairs" in told
    assert "key set" not in told


def prediction(
    evidence: Evidence, *, is_right: bool, criterion: str = "variance", is_own: bool = True
) -> str:
    reason = Reason.HOLDS if is_right else Reason.OUTSIDE_TOLERANCE
    question = rubric_of(HEADS if criterion == "left_out_share" else STRETCHED).question
    return said(question, evidence, reason, criterion=criterion, is_own=is_own)


def test_a_prediction_is_compared_with_what_was_measured() -> None:
    right = Evidence(0.25, 0.04, expected=Interval(0.24, 0.24))
    wrong = Evidence(0.35, 0.04, expected=Interval(0.24, 0.24))

    assert prediction(right, is_right=True) == (
        "You predicted 0.25 for the variance of the output. That agrees with what was measured, "
        "within 0.04."
    )
    assert prediction(wrong, is_right=False) == (
        "You predicted 0.35 for the variance of the output. That is clearly above what was "
        "measured; it may be off by 0.04."
    )


def test_a_closed_form_is_not_called_measured() -> None:
    right = Evidence(0.08, 0.02, expected=Interval(0.0786, 0.0786), is_exact=True)
    wrong = right._replace(measured=0.5)

    assert prediction(right, is_right=True, criterion="left_out_share") == (
        "You predicted 0.08 for the share of samples left out. That agrees with the exact value, "
        "within 0.02."
    )
    assert prediction(wrong, is_right=False, criterion="left_out_share") == (
        "You predicted 0.5 for the share of samples left out. That is far above the exact value; "
        "it may be off by 0.02."
    )


@pytest.mark.parametrize(("is_own", "whose"), [(True, "your"), (False, "the reference")])
def test_an_interval_is_told_as_one(is_own: bool, whose: str) -> None:
    right = Evidence(0.2, 0.04, expected=Interval(0.157, 0.25))
    wrong = right._replace(measured=0.02)

    assert prediction(right, is_right=True, is_own=is_own) == (
        f"You predicted 0.2 for the variance of the output. For {whose} query and longer ones it "
        "is between 0.157 and 0.25; within 0.04 of that is right."
    )
    assert prediction(wrong, is_right=False, is_own=is_own) == (
        f"You predicted 0.02 for the variance of the output. That is clearly below what {whose} "
        "query and longer ones give; it may be off by 0.04."
    )


def test_an_interval_too_narrow_to_see_is_told_as_a_number() -> None:
    evidence = Evidence(0.25, 0.04, expected=Interval(0.24999, 0.25001))

    assert "it is about 0.25; within 0.04" in prediction(evidence, is_right=True)


def test_a_wrong_prediction_is_not_told_the_right_number() -> None:
    sent = {"share_near_average": 0.5, "share_nearer_b": 1, "variance": 0.9, "spread_ratio": 0}
    verdict = judged(STRETCHED, sent).verdict("variance")

    told = explain(verdict, rubric_of(STRETCHED).question)

    assert told.startswith("You predicted 0.9 for the variance of the output. That is far above ")
    assert "0.25" not in told
    assert "0.24" not in told


@pytest.mark.parametrize(
    ("scaling", "cause"),
    [
        (Scaling.NONE, ""),
        (Scaling.SATURATED, "rounding errors would decide"),
        (Scaling.OVERFLOW, "the computation overflows"),
    ],
)
def test_a_smaller_scale_is_told_with_its_cause(scaling: Scaling, cause: str) -> None:
    told = said(rubric_of(COPY).question, Evidence(0.3, 0.02, scaling=scaling))

    assert cause in told
    assert ("smaller scale" in told) == (scaling is not Scaling.NONE)


def test_what_has_no_value_is_not_told_to_be_large() -> None:
    verdict = Verdict("weights", Outcome.UNGRADABLE, Reason.UNDEFINED, Decimal(0), Decimal(1))

    assert explain(verdict, rubric_of(COPY).question) == (
        "What is measured has no value for this answer, as when zero is divided by zero. An "
        "instructor will look at it."
    )


@pytest.mark.parametrize(("is_own", "whose"), [(True, "your"), (False, "the reference")])
def test_your_query_is_said_only_of_the_own_one(is_own: bool, whose: str) -> None:
    found = RecognisedMisconception("small-noise", "With {whose} query {t} times.", 5.0)

    assert explain_misconception(found, is_own=is_own) == f"With {whose} query 5 times."


CALM = {"share_near_average": 1, "share_nearer_b": 0.5, "variance": 0, "spread_ratio": 0}


@pytest.mark.parametrize(
    ("uses", "begins"),
    [(None, "With the reference query"), ({"q": "99 (mu_a + mu_b)"}, "With your query")],
)
def test_a_misconception_speaks_of_the_query_that_was_used(
    uses: dict[str, Any] | None, begins: str
) -> None:
    found = judged(STRETCHED, CALM, uses=uses).misconceptions[0]
    is_own = describe_used(submit(STRETCHED, CALM, uses=uses).used) == "own"

    assert found.id == "small-noise"
    assert explain_misconception(found, is_own=is_own).startswith(begins)


@pytest.mark.parametrize("rubric", list(shipped().rubrics()), ids=lambda rubric: rubric.id)
def test_every_shipped_criterion_has_words_of_its_own(rubric: Rubric) -> None:
    for each in rubric.question.criteria:
        match each:
            case MeasuredCriterion():
                evidence = Evidence(0.3, each.levels[0].bound)
                told = said(rubric.question, evidence, criterion=each.id)
                assert "0.3" in told
                assert "measured" not in told
                assert told.endswith(".")
            case PredictedCriterion(in_words=number):
                assert number.startswith("the ")


@pytest.mark.parametrize(
    "rubric",
    [each for each in shipped().rubrics() if each.question.uses is not None],
    ids=lambda rubric: rubric.id,
)
def test_the_prediction_parts_speak_of_samples_and_of_whose_query(rubric: Rubric) -> None:
    question = rubric.question
    assert question.key_sets is not None
    assert question.uses is not None

    assert question.key_sets.called == "samples"
    assert question.uses.called in ("query", "queries")
    assert not any("your" in each.say.lower() for each in question.misconceptions)
