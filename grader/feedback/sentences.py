"""Verdicts → sentences: what was measured, what is allowed, and what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from grader.domain.verdicts import Evidence, Outcome, Reason, Verdict
from grader.engine.question import (
    Criterion,
    Level,
    MeasuredCriterion,
    PredictedCriterion,
    Question,
)
from grader.formula.render import to_text
from grader.formula.typed import tree as t

_OUTCOMES = {
    Outcome.MET: "met",
    Outcome.PARTLY_MET: "partly met",
    Outcome.NOT_MET: "not met",
    Outcome.UNGRADABLE: "could not be judged",
    Outcome.PENDING: "to be graded by a person",
}

#: What the outermost function of a measure computes.
_NOUNS = {
    "abs": "absolute value",
    "deviation": "standard deviation over the key sets",
    "distance": "distance from where it should be",
    "dot": "inner product",
    "inner": "inner product",
    "max": "largest value",
    "mean": "mean over the key sets",
    "min": "smallest value",
    "norm": "length",
    "share": "share of key sets",
    "trace": "trace",
    "trace_variance": "total variance over the key sets",
    "tv": "share of the weight in the wrong place",
}


@dataclass(frozen=True, slots=True)
class _Wording:
    """How a criterion's measure is named: "the distance … is 0.2, in units of …"."""

    noun: str = "measured value"
    unit: str = ""
    is_weight: bool = False


def describe_outcome(outcome: Outcome) -> str:
    """The outcome as a student reads it."""
    return _OUTCOMES[outcome]


def explain(verdict: Verdict, question: Question) -> str:
    """Say why a criterion came out as it did: what was measured, and what is allowed."""
    sentence = _explain(verdict.reason, verdict.evidence, _find_wording(verdict, question))
    if verdict.evidence.is_shrunk and verdict.reason is not Reason.NOT_FINITE:
        sentence += (
            " Your numbers are so large that the computation overflows, so they were judged at a "
            "smaller scale. Where a softmax follows, this changes nothing."
        )
    return sentence


def _find_wording(verdict: Verdict, question: Question) -> _Wording:
    """The wording of the verdict's criterion, worked out once per question."""
    wordings = question.known.get("wordings")
    if not isinstance(wordings, dict):
        wordings = {each.id: _choose_wording(each, question) for each in question.criteria}
        question.known["wordings"] = wordings
    return wordings.get(verdict.criterion, _Wording())


def _choose_wording(criterion: Criterion, question: Question) -> _Wording:
    match criterion:
        case MeasuredCriterion(measure=measure, levels=(Level(at_least=None), *_)):
            return _name_deviation(measure, question)
        case MeasuredCriterion(measure=t.FunctionCall(name="tv")):
            return _Wording("share of the weight that is placed differently")
        case MeasuredCriterion(
            measure=t.FunctionCall(name="distance") | t.Divide(left=t.FunctionCall(name="distance"))
        ):
            # A distance that must be large is one between two results.
            return _Wording("distance")
        case MeasuredCriterion(measure=measure):
            return _Wording(_find_noun(measure) or "measured value")
        case PredictedCriterion(expected=expected):
            return _Wording(_find_noun(expected) or "value")
        case _:
            return _Wording()


def _name_deviation(measure: t.Node, question: Question) -> _Wording:
    """Name a measure that must stay small, without saying what the right answer is."""
    match measure:
        case t.FunctionCall(name="tv"):
            return _Wording(is_weight=True)
        case t.Divide(left=t.FunctionCall(name="distance", arguments=(_, target)), right=unit):
            return _Wording(_NOUNS["distance"], _describe_unit(unit, target, question))
        case t.FunctionCall(name="abs" | "norm", arguments=(t.Add(sign=-1),)):
            return _Wording("difference from what it should be")
        case t.FunctionCall(
            name="max", arguments=(t.FunctionCall(name="abs", arguments=(t.Add(sign=-1),)),)
        ):
            return _Wording("largest difference from what it should be")
        case _:
            return _Wording(_find_noun(measure) or "measured value")


def _find_noun(node: t.Node) -> str | None:
    match node:
        case t.FunctionCall(name=name):
            return _NOUNS.get(name)
        case t.Add(sign=-1):
            return "difference"
        case _:
            return None


def _describe_unit(unit: t.Node, target: t.Node, question: Question) -> str:
    match unit:
        case t.FunctionCall(name="norm", arguments=(whole,)) if to_text(whole) == to_text(target):
            return ", relative to its correct length"
        case t.FunctionCall(name="norm", arguments=(whole,)) if _is_given(whole, question):
            return f", in units of the length of {to_text(whole)}"
        case t.FunctionCall(name="distance", arguments=(first, second)) if _is_given(
            first, question
        ) and _is_given(second, question):
            return f", in units of the distance from {to_text(first)} to {to_text(second)}"
        case _ if _is_given(unit, question):
            return f", in units of {to_text(unit)}"
        case _:
            return ", relative to the scale of this question"


def _is_given(node: t.Node, question: Question) -> bool:
    """Whether a node is a single name that the student knows."""
    match node:
        case t.Name(name=name):
            return name in question.given
        case t.FamilyMember(name=name, label=label):
            return name in question.given or f"{name}_{label}" in question.given
        case _:
            return False


def _explain(reason: Reason, evidence: Evidence, wording: _Wording) -> str:
    measured = _describe_evidence(evidence, wording)
    match reason:
        case Reason.HOLDS | Reason.OUTSIDE_TOLERANCE:
            return measured
        case Reason.LOWER_LEVEL:
            return f"Close, but not close enough for all points. {measured}"
        case Reason.TOO_FEW_KEY_SETS:
            return f"It works on some key sets, but not on enough of them. {measured}"
        case Reason.UNDECIDED:
            return (
                f"{measured} That is too close to call even on {evidence.key_sets or 0:,} key "
                "sets; an instructor will look at it."
            )
        case Reason.NEEDS_OTHER:
            return "This counts only together with another criterion, which earned nothing."
        case Reason.NOT_GENERAL:
            return (
                "The formula works for your own numbers, but not for others drawn in the same way. "
                f"{measured}"
            )
        case Reason.NOT_FOR_EVERY_SIZE:
            return (
                "The formula does not work for every size of the constant that you call large. "
                f"{measured}"
            )
        case Reason.INCONSISTENT:
            return (
                f"{measured} It fits a query of another length than your other predictions do; "
                "all of them must fit the same one."
            )
        case Reason.NOT_FINITE:
            return (
                "Your numbers are too large, or too different in size, for the computation to "
                "have a finite result. An instructor will look at it."
            )
        case Reason.WRONG_CHOICE:
            return "This is not the right choice."
        case Reason.AWAITS_REVIEW:
            return "A person will read this."
        case Reason.NOT_SENT:
            return "Nothing was sent yet; you may send it later."
        case Reason.SCORED_OUTSIDE:
            return "This score comes from another system."
        case _:
            assert_never(reason)


def _describe_evidence(evidence: Evidence, wording: _Wording) -> str:
    if evidence.expected is not None:
        return _compare_prediction(evidence, wording)
    if evidence.measured is None or evidence.needed is None:
        return ""
    value = _short(evidence.measured)
    median = " (the median)" if evidence.share is not None else ""
    bound = f"{'at least' if evidence.at_least else 'at most'} {evidence.needed:g}"
    if wording.is_weight:
        comma = "," if median else ""
        text = f"{value} of the weight is in the wrong place{median}; {bound} may be{comma}"
    else:
        text = f"The {wording.noun} is {value}{median}{wording.unit}; it must be {bound}"
    if evidence.share is None or evidence.share_needed is None:
        return f"{text}."
    return (
        f"{text} on {_percent(evidence.share_needed)} of the key sets. "
        f"That holds on {_percent(evidence.share)} of {evidence.key_sets:,}{_interval(evidence)}."
    )


def _interval(evidence: Evidence) -> str:
    if evidence.interval is None or evidence.share is None:
        return ""
    low, high = evidence.interval.low, evidence.interval.high
    bounds = f"between {_percent(low)} and {_percent(high)}"
    if evidence.share == 1:
        bounds = f"at least {_percent(low)}"
    elif evidence.share == 0:
        bounds = f"at most {_percent(high)}"
    return f" ({bounds} with near certainty)"


def _compare_prediction(evidence: Evidence, wording: _Wording) -> str:
    """Compare a prediction with what was measured, without giving the measured value away."""
    assert evidence.expected is not None, "the caller checked"
    predicted, tolerance = evidence.measured or 0.0, evidence.needed or 0.0
    low, high = evidence.expected.low, evidence.expected.high
    if low - tolerance <= predicted <= high + tolerance:
        return (
            f"You predicted {_short(predicted)}. That agrees with the measured {wording.noun}, "
            f"within {tolerance:g}."
        )
    side = "above" if predicted > high else "below"
    gap = predicted - high if predicted > high else low - predicted
    size = "far" if gap > 5 * tolerance else "clearly" if gap > 2 * tolerance else "somewhat"
    return (
        f"You predicted {_short(predicted)}. That is {size} {side} the measured {wording.noun}; "
        f"it may be off by {tolerance:g}."
    )


def _percent(share: float) -> str:
    """A share with one decimal; only none and all are called 0 % and 100 %."""
    text = f"{100 * share:.1f}"
    if share > 0 and text == "0.0":
        return "less than 0.1 %"
    if share < 1 and text == "100.0":
        return "more than 99.9 %"
    return f"{text.removesuffix('.0')} %"


def _short(value: float) -> str:
    """Three digits, and powers of ten as people write them: 1.34e-5."""
    mantissa, e, exponent = f"{value:.3g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa
