from __future__ import annotations

from decimal import Decimal

import pytest

from grader.domain.shapes import NUMBER, make_column_shape, make_matrix_shape
from grader.domain.verdicts import Evidence, Interval, Outcome, Reason, Verdict
from grader.engine.functions import RUBRIC_FUNCTIONS
from grader.engine.question import Level, MeasuredCriterion, Question
from grader.feedback.sentences import describe_outcome, explain
from grader.formula.formula import read_tree
from grader.formula.typed.scope import FormulaScope
from tests.support.rubrics import judged, rubric_of

NOISY = "self-attention-and-transformers/c-i"
STRETCHED = "self-attention-and-transformers/c-ii"


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_words(reason: Reason) -> None:
    sampled = Evidence(0.3, 0.02, False, 0.4, 0.99, Interval(0.3, 0.5), 2000, 2000)
    for evidence in (
        sampled,
        Evidence(0.3, 0.02),
        Evidence(0.3, 0.02, expected=Interval(0.1, 0.2)),
    ):
        for criterion in ("weights", "output", "unknown"):
            verdict = Verdict(criterion, Outcome.NOT_MET, reason, Decimal(0), Decimal(1), evidence)
            sentence = explain(verdict, rubric_of(NOISY).question)
            assert sentence.endswith(".")
            assert "None" not in sentence


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_a_word(outcome: Outcome) -> None:
    assert describe_outcome(outcome)


def test_the_gap_is_told_in_numbers() -> None:
    verdict = judged(NOISY, {"q": "4.2 (mu_a + mu_b)"}).verdict("weights")
    sentence = explain(verdict, rubric_of(NOISY).question)

    assert sentence.startswith("Close, but not close enough for all points. 0.043")
    assert " of the weight is in the wrong place (the median); " in sentence
    assert "at most 0.02 may be, on 99 % of the key sets" in sentence
    assert "That holds on 0 % of 2,000" in sentence


def test_a_wrong_prediction_is_not_told_the_right_number() -> None:
    predictions = {
        "share_near_average": 0.5,
        "share_nearer_b": 1,
        "variance": 0.9,
        "spread_ratio": 0,
    }
    verdict = judged(STRETCHED, predictions).verdict("variance")

    sentence = explain(verdict, rubric_of(STRETCHED).question)

    assert "You predicted 0.9. That is far above the measured value" in sentence
    assert "0.25" not in sentence
    assert "0.24" not in sentence


SCOPE = FormulaScope(
    constants={"n": 5},
    indices={"a": 5, "b": 5},
    functions=RUBRIC_FUNCTIONS,
    allows_conditions=True,
).with_shapes(
    {
        "v": make_matrix_shape(5, 5),
        "w": make_column_shape(5),
        "y": make_column_shape(5),
        "secret": make_column_shape(5),
        "beta": NUMBER,
    }
)


def explain_measure(measure: str, *, at_least: bool = False) -> str:
    bound = {"at_least": 0.25} if at_least else {"within": 0.02}
    criterion = MeasuredCriterion(
        "x", "", Decimal(1), read_tree(measure, SCOPE), (Level(Decimal(1), **bound),)
    )
    question = Question(
        id="q", revision=1, draws=(), given=("a", "b", "v", "beta"), fields=(),
        criteria=(criterion,),
    )  # fmt: skip
    evidence = Evidence(0.1, 0.25 if at_least else 0.02, at_least)
    reason = Reason.OUTSIDE_TOLERANCE
    verdict = Verdict("x", Outcome.NOT_MET, reason, Decimal(0), Decimal(1), evidence)
    return explain(verdict, question)


@pytest.mark.parametrize(
    ("measure", "sentence"),
    [
        ("tv(w, unit(a))", "0.1 of the weight is in the wrong place; at most 0.02 may be."),
        (
            "distance(y, secret)",
            "The distance from where it should be is 0.1; it must be at most 0.02.",
        ),
        (
            "distance(y, secret) / distance(v_a, v_b)",
            "The distance from where it should be is 0.1, in units of the distance from v_a to "
            "v_b; it must be at most 0.02.",
        ),
        (
            "distance(y, secret) / norm(v_b)",
            "The distance from where it should be is 0.1, in units of the length of v_b; it must "
            "be at most 0.02.",
        ),
        (
            "distance(y, secret) / norm(secret)",
            "The distance from where it should be is 0.1, relative to its correct length; it must "
            "be at most 0.02.",
        ),
        (
            "distance(y, secret) / distance(secret, v_a)",
            "The distance from where it should be is 0.1, relative to the scale of this question; "
            "it must be at most 0.02.",
        ),
        (
            "distance(y, secret) / beta",
            "The distance from where it should be is 0.1, in units of beta; it must be at most "
            "0.02.",
        ),
        (
            "max(abs(y - secret))",
            "The largest difference from what it should be is 0.1; it must be at most 0.02.",
        ),
        (
            "unit(b)^T w - unit(a)^T w",
            "The difference is 0.1; it must be at most 0.02.",
        ),
        ("beta / 2", "The measured value is 0.1; it must be at most 0.02."),
    ],
)
def test_a_sentence_says_what_was_measured(measure: str, sentence: str) -> None:
    assert explain_measure(measure) == sentence


@pytest.mark.parametrize(
    ("measure", "noun"),
    [
        ("tv(w, y)", "share of the weight that is placed differently"),
        ("distance(y, w) / beta", "distance"),
        ("share(norm(y) > 1)", "share of key sets"),
        ("beta", "measured value"),
    ],
)
def test_a_sentence_names_what_must_be_large(measure: str, noun: str) -> None:
    sentence = f"The {noun} is 0.1; it must be at least 0.25."

    assert explain_measure(measure, at_least=True) == sentence
