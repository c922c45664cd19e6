"""Statistics as text: shares, durations, and how far an answer is off."""

from __future__ import annotations

from grader.domain.behaviour import GAP_EDGES, Gap, Trait
from grader.domain.verdicts import Reason

_REASONS = {
    Reason.UNDECIDED: "too close to call",
    Reason.NEEDS_OTHER: "counts only with another criterion, which earned nothing",
    Reason.NOT_GENERAL: "works for the student's own numbers, but not for others",
    Reason.NOT_FOR_EVERY_SIZE: "does not work for every size of a large constant",
    Reason.NOT_FINITE: "has no finite result",
    Reason.UNDEFINED: "is undefined, as zero divided by zero is",
    Reason.WRONG_CHOICE: "another choice",
    Reason.TOO_FEW_KEY_SETS: "works on some key sets only",
}
_QUARTERS = ("less than a quarter", "a quarter to a half", "half to three quarters")


def format_share(value: float | None) -> str:
    """A share in percent; a dash for None. Only exact zero and one are 0 % and 100 %."""
    if value is None:
        return "–"
    text = f"{100 * value:.0f}"
    if value > 0 and text == "0":
        return "under 1 %"
    if value < 1 and text == "100":
        return "over 99 %"
    return f"{text} %"


def format_correlation(value: float | None) -> str:
    """A correlation with two digits and a real minus sign."""
    return "–" if value is None else f"{value:.2f}".replace("-", "−")


def format_p_value(p_value: float) -> str:
    """A p-value with two or three significant digits."""
    if p_value < 0.001:
        return "p < 0.001"
    return f"p = {p_value:.3f}" if p_value < 0.1 else f"p = {p_value:.2f}"


def format_duration(value: float | None) -> str:
    """A duration: 45 s, 12 min, 1 h 5 min."""
    if value is None:
        return "–"
    if value < 90:
        return f"{value:.0f} s"
    minutes = round(value / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def format_count(count: int, one: str, more: str | None = None) -> str:
    """A count with its word: 1 student, 2 students, 12,000 students."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def describe_trait(each: Trait) -> str:
    """The reason for an outcome, and by how much; empty where both are unknown."""
    reason = _REASONS.get(Reason(each.reason), "") if each.reason in set(Reason) else ""
    return ", ".join(filter(None, (reason, _describe_gap(each.gap) if each.gap else "")))


def _describe_gap(each: Gap) -> str:
    """How large a gap is, in words."""
    match each.way:
        case "over":
            return f"measured {_describe_factor(each.size)} what is allowed"
        case "under":
            return f"what is needed is {_describe_factor(each.size)} what is measured"
        case "share" if each.size < len(_QUARTERS):
            return f"holds on {_QUARTERS[each.size]} of the key sets"
        case "share":
            return "holds on more than three quarters of the key sets"
        case _:
            factor = _describe_factor(each.size)
            return f"lies {each.way} what is measured, by {factor} what is allowed"


def _describe_factor(size: int) -> str:
    if size == 0:
        return "no more than"
    if size == len(GAP_EDGES):
        return f"more than {GAP_EDGES[-1]:,} times"
    return f"{GAP_EDGES[size - 1]:,} to {GAP_EDGES[size]:,} times"
