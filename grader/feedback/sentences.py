"""Verdicts → sentences: what is right, what is off, and by how much."""

from __future__ import annotations

from typing import assert_never

from grader.domain.verdicts import Evidence, Outcome, Reason, Verdict

_OUTCOMES = {
    Outcome.MET: "met",
    Outcome.PARTLY_MET: "partly met",
    Outcome.NOT_MET: "not met",
    Outcome.UNGRADABLE: "could not be judged",
    Outcome.PENDING: "waits for a person",
}


def describe_outcome(outcome: Outcome) -> str:
    """The outcome as a student reads it."""
    return _OUTCOMES[outcome]


def explain(verdict: Verdict) -> str:
    """Say why a criterion came out as it did, with the gap in numbers."""
    sentence = _explain(verdict)
    if verdict.evidence.is_shrunk and verdict.reason is not Reason.NOT_FINITE:
        sentence += (
            " Your numbers are so large that the computation overflows; they were judged at a "
            "smaller size. Where a softmax follows it has long decided, so that nothing changes."
        )
    return sentence


def _explain(verdict: Verdict) -> str:
    evidence = verdict.evidence
    match verdict.reason:
        case Reason.HOLDS:
            return _measured(evidence)
        case Reason.LOWER_LEVEL:
            return f"Close, but not close enough for all points. {_measured(evidence)}"
        case Reason.OUTSIDE_TOLERANCE:
            return _measured(evidence)
        case Reason.TOO_FEW_KEY_SETS:
            return f"It works on some key sets, but not on enough of them. {_measured(evidence)}"
        case Reason.UNDECIDED:
            return (
                f"{_measured(evidence)} That is too close to call even on "
                f"{evidence.key_sets or 0:,} key sets; an instructor will look at it."
            )
        case Reason.NEEDS_OTHER:
            return "This counts only together with another criterion, which earned nothing."
        case Reason.NOT_GENERAL:
            return (
                "The formula works for your own numbers, but not for others drawn in the same way. "
                f"{_measured(evidence)}"
            )
        case Reason.NOT_FOR_EVERY_SIZE:
            return (
                "The formula does not work for every size of the constant that you call large. "
                f"{_measured(evidence)}"
            )
        case Reason.NOT_FINITE:
            return (
                "The numbers are so large, or of such different size, that the computation has "
                "no finite result. An instructor will look at it."
            )
        case Reason.WRONG_CHOICE:
            return "This is not the right choice."
        case Reason.AWAITS_REVIEW:
            return "A person will read this."
        case Reason.NOT_SENT:
            return "Nothing was sent yet; it may follow later."
        case Reason.SCORED_OUTSIDE:
            return "This score comes from outside."
        case _:
            assert_never(verdict.reason)


def _measured(evidence: Evidence) -> str:
    if evidence.expected is not None:
        return _compared(evidence)
    if evidence.measured is None or evidence.needed is None:
        return ""
    bound = f"{'at least' if evidence.at_least else 'at most'} {evidence.needed:g}"
    if evidence.share is None or evidence.share_needed is None:
        return f"Measured {_short(evidence.measured)}; {bound} is needed."
    return (
        f"Measured {_short(evidence.measured)} (the median); {bound} is needed, on "
        f"{_percent(evidence.share_needed)} of the key sets. "
        f"It holds on {_percent(evidence.share)} of {evidence.key_sets:,}{_interval(evidence)}."
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


def _compared(evidence: Evidence) -> str:
    """A prediction against what was measured, without giving the measured value away."""
    assert evidence.expected is not None, "the caller looked"
    predicted, tolerance = evidence.measured or 0.0, evidence.needed or 0.0
    low, high = evidence.expected.low, evidence.expected.high
    if low - tolerance <= predicted <= high + tolerance:
        return f"Your {_short(predicted)} agrees with what is measured, give or take {tolerance:g}."
    way = "above" if predicted > high else "below"
    gap = predicted - high if predicted > high else low - predicted
    size = "far" if gap > 5 * tolerance else "clearly" if gap > 2 * tolerance else "somewhat"
    return (
        f"Your {_short(predicted)} lies {size} {way} what is measured; "
        f"{tolerance:g} off is allowed."
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
