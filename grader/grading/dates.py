"""Dates that people choose: opening dates, due dates and extensions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from grader.errors import ErrorDetail, MalformedRequest

# Python's calendar ends with the year 9999, and a late policy must be able to add to a date.
_FIRST_YEAR, _LAST_YEAR = 2000, 2999


def normalize_date(moment: datetime | None, *, field: str) -> datetime | None:
    """A date in UTC, or None; MalformedRequest about `field` for an implausible year."""
    if moment is None:
        return None
    _check_year(moment, field)
    return moment.astimezone(UTC)


def check_date_order(opens_at: datetime | None, due_at: datetime | None) -> None:
    """Refuse an assignment that is due before it opens."""
    if opens_at is not None and due_at is not None and opens_at >= due_at:
        raise _make_error("due_at", "date.order", "The due date must be after the opening date.")


def read_local_time(text: str, *, time_zone: str, field: str) -> datetime | None:
    """A local time such as 2026-12-08T23:59 in UTC; None for an empty text.

    As in an assignment's file, 23:59 lasts until the end of that minute.

    Raises
    ------
    MalformedRequest
        About `field`: the text is not a time, or the time zone's clocks change that night and show
        the time never or twice.
    """
    text = text.strip()
    if not text:
        return None
    zone = ZoneInfo(time_zone)
    try:
        local = datetime.strptime(text.replace("T", " "), "%Y-%m-%d %H:%M").replace(tzinfo=zone)
    except ValueError:
        raise _make_error(field, "date.invalid", "Write a date and a time of day.") from None
    _check_year(local, field)
    day, hour = f"{local:%-d %B %Y}", f"{local:%H:%M}"
    if local.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != local.replace(tzinfo=None):
        detail = f"Clocks in {time_zone} go forward on {day} and never show {hour}."
        raise _make_error(field, "date.absent", f"{detail} Choose a time one hour later.")
    if local.utcoffset() != local.replace(fold=1).utcoffset():
        detail = f"Clocks in {time_zone} go back on {day} and show {hour} twice."
        raise _make_error(field, "date.twice", f"{detail} Choose a time before or after that hour.")
    end = timedelta(seconds=59) if local.minute == 59 else timedelta(0)
    return local.astimezone(UTC) + end


def _check_year(moment: datetime, field: str) -> None:
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        detail = f"The year must be between {_FIRST_YEAR} and {_LAST_YEAR}."
        raise _make_error(field, "date.range", detail, got=f"the year {moment.year}")


def _make_error(field: str, code: str, detail: str, *, got: str = "") -> MalformedRequest:
    return MalformedRequest.of(ErrorDetail(field, code, detail, got=got))
