"""Verdicts → sentences: what was found, what is needed, and what would help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import assert_never

from grader.domain.placeholders import fill_placeholders
from grader.domain.verdicts import Evidence, Interval, Outcome, Reason, Scaling, Verdict
from grader.engine.judge.misconceptions import RecognisedMisconception
from grader.engine.question import Level, MeasuredCriterion, PredictedCriterion, Question

_OUTCOMES = {
    Outcome.MET: "met",
    Outcome.PARTLY_MET: "partly met",
    Outcome.NOT_MET: "not met",
    Outcome.UNGRADABLE: "could not be judged",
    Outcome.PENDING: "to be graded by a person",
}

_SCALINGS = {
    Scaling.NONE: "",
    Scaling.SATURATED: (
        " Your numbers are so large that rounding errors would decide, so they were judged at a "
        "smaller scale; a softmax is saturated long before."
    ),
    Scaling.OVERFLOW: (
        " Your numbers are so large that the computation overflows, so they were judged at a "
        "smaller scale. Where a softmax follows, this changes nothing."
    ),
}


@dataclass(frozen=True, slots=True)
class _Words:
    """How a rubric speaks of one criterion.

    Parameters
    ----------
    measure
        The sentence about the measure, with placeholders.
    number
        What a predicted number is.
    levels
        What earns less than the best level, in order.
    samples
        What the key sets are called.
    used
        What of an earlier answer is used, such as "your query".
    """

    measure: str = "the measured value is {measured}; {needed} is needed"
    number: str = "this number"
    levels: Sequence[Level] = ()
    samples: str = "key sets"
    used: str = "your answer"


def describe_outcome(outcome: Outcome) -> str:
    """The outcome as a student reads it."""
    return _OUTCOMES[outcome]


def explain_misconception(found: RecognisedMisconception, *, is_own: bool = True) -> str:
    """What a student is told about a misconception.

    Parameters
    ----------
    is_own
        Whether the earlier answer that was used is the student's own, rather than the reference.
    """
    return fill_placeholders(
        found.say, {"t": f"{found.factor:g}", "whose": _describe_owner(is_own)}
    )


def explain(verdict: Verdict, question: Question, *, is_own: bool = True) -> str:
    """Say why a criterion came out as it did; `is_own` as for `explain_misconception`."""
    evidence, reason = verdict.evidence, verdict.reason
    sentence = _explain(reason, evidence, _find_words(question, verdict.criterion, is_own))
    if evidence.sizes and reason is not Reason.NOT_FOR_EVERY_SIZE:
        sentence += f" This is so with {_describe_sizes(evidence.sizes)}."
    if verdict.outcome is not Outcome.UNGRADABLE:
        sentence += _SCALINGS[evidence.scaling]
    return sentence


def _describe_owner(is_own: bool) -> str:
    return "your" if is_own else "the reference"


def _find_words(question: Question, criterion: str, is_own: bool) -> _Words:
    """The words for a criterion, also for one that the rubric does not have any more."""
    # They are needed for every answer.
    known, name = question.known, ("words", criterion, is_own)
    words = known.get(name)
    if not isinstance(words, _Words):
        words = known[name] = _make_words(question, criterion, is_own)
    return words


def _make_words(question: Question, criterion: str, is_own: bool) -> _Words:
    samples = question.key_sets.called if question.key_sets else _Words().samples
    used = f"{_describe_owner(is_own)} {question.uses.called if question.uses else 'answer'}"
    match next((each for each in question.criteria if each.id == criterion), None):
        case MeasuredCriterion(in_words=sentence, levels=levels):
            return _Words(measure=sentence, levels=levels, samples=samples)
        case PredictedCriterion(in_words=number):
            return _Words(number=number, samples=samples, used=used)
        case _:
            return _Words(samples=samples)


def _explain(reason: Reason, evidence: Evidence, words: _Words) -> str:
    found = _describe_evidence(evidence, words, is_met=reason is Reason.HOLDS)
    match reason:
        case Reason.HOLDS | Reason.OUTSIDE_TOLERANCE:
            return found
        case Reason.LOWER_LEVEL:
            return f"Close, but not close enough for all points. {found}"
        case Reason.TOO_FEW_KEY_SETS:
            return f"It works on some {words.samples}, but not on enough of them. {found}"
        case Reason.UNDECIDED:
            even = f" even on {evidence.key_sets:,} {words.samples}" if evidence.key_sets else ""
            return f"{found} That is too close to call{even}; an instructor will look at it."
        case Reason.NEEDS_OTHER:
            return "This counts only together with another criterion, which earned nothing."
        case Reason.NOT_GENERAL:
            return (
                "The formula works for your own numbers, but not for others drawn in the same way. "
                f"{found}"
            )
        case Reason.NOT_FOR_EVERY_SIZE:
            return f"{_explain_sizes(evidence.sizes or {})} {found}"
        case Reason.INCONSISTENT:
            return (
                f"You predicted {_short(evidence.measured or 0.0)} for {words.number}. That fits "
                f"{words.used} at another length than your other predictions do; all of them must "
                "fit the same one."
            )
        case Reason.NOT_FINITE:
            return (
                "Your numbers are too large, or too different in size, for the computation to "
                "have a finite result. An instructor will look at it."
            )
        case Reason.UNDEFINED:
            return (
                "What is measured has no value for this answer, as when zero is divided by zero. "
                "An instructor will look at it."
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


def _explain_sizes(sizes: Mapping[str, float]) -> str:
    if len(sizes) > 1:
        return (
            "The formula does not work for every combination of sizes of the constants that you "
            f"call large: not with {_describe_sizes(sizes)}. If one is meant to depend on another, "
            "define it: D = C."
        )
    where = f": not with {_describe_sizes(sizes)}" if sizes else ""
    return f"The formula does not work for every size of the constant that you call large{where}."


def _describe_sizes(sizes: Mapping[str, float]) -> str:
    listed = [f"{name} = {_short(size)}" for name, size in sizes.items()]
    return " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)


def _describe_evidence(evidence: Evidence, words: _Words, *, is_met: bool) -> str:
    if evidence.expected is not None:
        return _compare_prediction(evidence, words, is_right=is_met)
    if evidence.measured is None or evidence.needed is None:
        return ""
    median = " (the median)" if evidence.share is not None else ""
    values = {
        "measured": f"{_short(evidence.measured)}{median}",
        "needed": _describe_bound(evidence.needed, at_least=evidence.at_least),
    }
    sentence = fill_placeholders(words.measure.rstrip(" ."), values)
    levels = () if is_met else _find_levels(evidence, words)
    return _capitalize(sentence) + _describe_demands(
        tuple(levels),
        words.samples,
        evidence.share,
        evidence.share_needed,
        evidence.interval,
        evidence.key_sets or 0,
    )


def _find_levels(evidence: Evidence, words: _Words) -> Sequence[Level]:
    """The levels to tell: none where there is but one, or where the bounds changed since."""
    levels = words.levels
    if not levels or levels[0].bound != evidence.needed:
        return ()
    return levels if len(levels) > 1 or levels[0].credit != 1 else ()


# A class gets the same few of these again and again, other than what was measured.
@lru_cache(maxsize=4096)
def _describe_demands(
    levels: tuple[Level, ...],
    samples: str,
    share: float | None,
    share_needed: float | None,
    interval: Interval | None,
    key_sets: int,
) -> str:
    """What belongs to a bound: its points, the further levels, and the shares of key sets."""
    text = f" for {_describe_credit(levels[0].credit, 'the points')}" if levels else ""
    if share_needed is not None:
        text += f", on {_percent(share_needed)} of the {samples}"
    for level in levels[1:]:
        bound = _describe_bound(level.bound, at_least=level.at_least is not None)
        text += ", " if share_needed is None else "; "
        text += f"{bound} for {_describe_credit(level.credit, 'them')}"
        text += f", on {_percent(level.share)}" if level.share is not None else ""
    if share is None:
        return f"{text}."
    what = "The first bound" if len(levels) > 1 else "That"
    found = f"{_percent(share)} of {key_sets:,}{_describe_interval(interval, share)}"
    return f"{text}. {what} holds on {found}."


def _describe_bound(bound: float, *, at_least: bool) -> str:
    return f"{'at least' if at_least else 'at most'} {bound:g}"


def _describe_credit(credit: Decimal, whole: str) -> str:
    if credit == 1:
        return "all points"
    return (
        f"half of {whole}" if credit == Decimal("0.5") else f"{_percent(float(credit))} of {whole}"
    )


def _describe_interval(interval: Interval | None, share: float) -> str:
    if interval is None:
        return ""
    low, high = interval.low, interval.high
    bounds = f"between {_percent(low)} and {_percent(high)}"
    if share == 1:
        bounds = f"at least {_percent(low)}"
    elif share == 0:
        bounds = f"at most {_percent(high)}"
    return f" ({bounds} with near certainty)"


def _compare_prediction(evidence: Evidence, words: _Words, *, is_right: bool) -> str:
    """Compare a prediction with what is right, without giving that away where it is wrong."""
    assert evidence.expected is not None, "the caller checked"
    predicted, tolerance = evidence.measured or 0.0, evidence.needed or 0.0
    low, high = evidence.expected.low, evidence.expected.high
    said = f"You predicted {_short(predicted)} for {words.number}."
    # A closed form is not measured, and at several scales no single value is.
    value = "the exact value" if evidence.is_exact else "what was measured"
    longer = f"{words.used} and longer ones"
    if is_right or low - tolerance <= predicted <= high + tolerance:
        if low == high:
            return f"{said} That agrees with {value}, within {tolerance:g}."
        first, last = _short(low), _short(high)
        span = f"about {first}" if first == last else f"between {first} and {last}"
        return f"{said} For {longer} it is {span}; within {tolerance:g} of that is right."
    side = "above" if predicted > high else "below"
    gap = predicted - high if predicted > high else low - predicted
    size = "far" if gap > 5 * tolerance else "clearly" if gap > 2 * tolerance else "somewhat"
    right = value if low == high else f"what {longer} give"
    return f"{said} That is {size} {side} {right}; it may be off by {tolerance:g}."


def _capitalize(sentence: str) -> str:
    """The sentence with a capital letter, unless it begins with a name such as c_2."""
    word = sentence.partition(" ")[0]
    return sentence[:1].upper() + sentence[1:] if word.isalpha() and len(word) > 1 else sentence


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
