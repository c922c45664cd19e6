"""Local times that people type: read in the course's time zone, and refused where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from grader.errors import MalformedRequest
from grader.grading.dates import read_local_time


def read(text: str, time_zone: str = "Europe/Warsaw") -> datetime | None:
    return read_local_time(text, time_zone=time_zone, field="due_at")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        pytest.param("", None, id="nothing typed"),
        pytest.param("2026-12-08T12:30", datetime(2026, 12, 8, 11, 30, tzinfo=UTC), id="winter"),
        pytest.param("2026-07-08 12:30", datetime(2026, 7, 8, 10, 30, tzinfo=UTC), id="summer"),
        pytest.param(
            "2026-12-08T23:59", datetime(2026, 12, 8, 22, 59, 59, tzinfo=UTC), id="a whole minute"
        ),
        pytest.param(
            "2026-10-25T01:59", datetime(2026, 10, 24, 23, 59, 59, tzinfo=UTC), id="just before"
        ),
        pytest.param("2026-10-25T03:00", datetime(2026, 10, 25, 2, tzinfo=UTC), id="just after"),
    ],
)
def test_a_local_time_is_read_in_its_time_zone(text: str, moment: datetime | None) -> None:
    assert read(text) == moment


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        pytest.param("soon", "date.invalid", "a date and a time", id="no date"),
        pytest.param("2026-02-30T10:00", "date.invalid", "a date and a time", id="no such day"),
        pytest.param("2026-12-08T10:00Z", "date.invalid", "a date and a time", id="not local"),
        pytest.param("0001-01-01T00:00", "date.range", "year must be between", id="long ago"),
        pytest.param("2026-03-29T02:30", "date.absent", "never show 02:30", id="clocks go forward"),
        pytest.param("2026-10-25T02:30", "date.twice", "show 02:30 twice", id="clocks go back"),
    ],
)
def test_what_clocks_never_show_once_is_refused(text: str, code: str, words: str) -> None:
    with pytest.raises(MalformedRequest) as refused:
        read(text)

    assert refused.value.code == code
    assert words in str(refused.value)
    assert refused.value.faults[0].pointer == "#/due_at"


def test_where_clocks_never_change_every_time_is_there_once() -> None:
    assert read("2026-03-29T02:30", "UTC") == datetime(2026, 3, 29, 2, 30, tzinfo=UTC)
