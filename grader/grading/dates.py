"""Dates that people choose: opening and due dates, and extensions."""

from __future__ import annotations

from datetime import UTC, datetime

from grader.errors import Fault, MalformedRequest

# Python's calendar ends with the year 9999, and a late policy must be able to add to a date.
_FIRST_YEAR, _LAST_YEAR = 2000, 2999


def read_date(moment: datetime | None, *, pointer: str) -> datetime | None:
    """A date in UTC; None where there is none.

    Raises
    ------
    MalformedRequest
        For a year that nobody can have meant.
    """
    if moment is None:
        return None
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        says = f"A date is between the years {_FIRST_YEAR} and {_LAST_YEAR}."
        fault = Fault(pointer, "date.range", says, got=f"the year {moment.year}")
        raise MalformedRequest(says, code=fault.code, faults=(fault,))
    return moment.astimezone(UTC)


def check_order(opens_at: datetime | None, due_at: datetime | None) -> None:
    """Refuse an assignment that is due before it opens, because nobody could ever answer it."""
    if opens_at is not None and due_at is not None and opens_at >= due_at:
        says = "It would be due before it opens."
        fault = Fault("#/due_at", "date.order", says)
        raise MalformedRequest(says, code=fault.code, faults=(fault,))
