"""Dates that people choose: opening and due dates, and extensions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from grader.errors import ErrorDetail, MalformedRequest

# Python's calendar ends with the year 9999, and a late policy must be able to add to a date.
_FIRST_YEAR, _LAST_YEAR = 2000, 2999


def normalize_date(moment: datetime | None, *, pointer: str) -> datetime | None:
    """A date in UTC; None where there is none.

    Raises
    ------
    MalformedRequest
        For a year that nobody can have meant.
    """
    if moment is None:
        return None
    _check_year(moment, pointer)
    return moment.astimezone(UTC)


def _check_year(moment: datetime, pointer: str) -> None:
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        says = f"A date is between the years {_FIRST_YEAR} and {_LAST_YEAR}."
        fault = ErrorDetail(pointer, "date.range", says, got=f"the year {moment.year}")
        raise MalformedRequest(says, code=fault.code, faults=(fault,))


def check_date_order(opens_at: datetime | None, due_at: datetime | None) -> None:
    """Refuse an assignment that is due before it opens, because nobody could ever answer it."""
    if opens_at is not None and due_at is not None and opens_at >= due_at:
        says = "It would be due before it opens."
        fault = ErrorDetail("#/due_at", "date.order", says)
        raise MalformedRequest(says, code=fault.code, faults=(fault,))


def read_local_time(text: str, *, time_zone: str, pointer: str) -> datetime | None:
    """A local time as somebody typed it, such as 2026-12-08T23:59, in UTC; None for no text.

    As in an assignment's file, 23:59 means until that minute has passed.

    Raises
    ------
    MalformedRequest
        Where it is no time, or where the clocks of the time zone show it never or twice because
        they change that night.
    """
    text = text.strip()
    if not text:
        return None
    zone = ZoneInfo(time_zone)
    try:
        local = datetime.strptime(text.replace("T", " "), "%Y-%m-%d %H:%M").replace(tzinfo=zone)
    except ValueError:
        raise _make_error(pointer, "date.invalid", "Write a date and a time of day.") from None
    _check_year(local, pointer)
    day, hour = f"{local:%-d %B %Y}", f"{local:%H:%M}"
    if local.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != local.replace(tzinfo=None):
        says = f"Clocks in {time_zone} go forward on {day} and never show {hour}."
        raise _make_error(pointer, "date.absent", f"{says} Choose an hour later.")
    if local.utcoffset() != local.replace(fold=1).utcoffset():
        says = f"Clocks in {time_zone} go back on {day} and show {hour} twice."
        raise _make_error(pointer, "date.twice", f"{says} Choose a time before or after that hour.")
    end = timedelta(seconds=59) if local.minute == 59 else timedelta(0)
    return local.astimezone(UTC) + end


def _make_error(pointer: str, code: str, says: str) -> MalformedRequest:
    return MalformedRequest(says, code=code, faults=(ErrorDetail(pointer, code, says),))
