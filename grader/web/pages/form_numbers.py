"""Numbers in forms: the only place where pages turn what was typed into a number."""

from __future__ import annotations

from decimal import Decimal

from grader.domain.points import read_points
from grader.errors import ErrorDetail, MalformedRequest


def read_form_points(text: str) -> Decimal | None:
    """The points in a form field; None where it was left empty.

    Raises
    ------
    MalformedRequest
        If they are not a number with at most two decimals.
    """
    if not text.strip():
        return None
    # Half of Europe writes a comma.
    points = read_points(text.strip().replace(",", "."))
    if points is None:
        detail = "Points must be a number with at most two decimals, such as 7.5."
        raise MalformedRequest.of(ErrorDetail("points", "points.range", detail))
    return points


def read_whole_number(text: str, *, least: int = 0, most: int) -> int | None:
    """The whole number in a form field or a query; None unless it is from `least` to `most`."""
    text = text.strip()
    # Python also reads digits of all scripts, and refuses thousands of them.
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        return None
    number = int(text)
    return number if least <= number <= most else None
