"""What we promise, and threats and faults: results are data, and named files exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, name_of, read_tables
from tests.docs.promises import (
    HELD_BY_TESTS,
    NOT_MEASURED,
    PAGE,
    PROMISES,
    Promise,
    load_results,
    read_campaign,
    read_fuzz,
    render_promises,
    with_promises,
)

THREATS = ROOT / "docs" / "explanation" / "threats-and-faults.md"
MEND = "run `make docs` and read what it changes"

_PATH = re.compile(r"`((?:bench|tests|tools)/[\w./-]*)`")
_STATES = re.compile(r"tested|no test yet|(?:partly|not yet): .+")

LINE = {
    "campaign": "kills",
    "database": "sqlite",
    "trials": 1200,
    "findings": [],
    "at": "2026-11-18T20:00:00Z",
    "commit": "0123456789ab",
    "machine": {"system": "Linux", "processor": "x86_64", "cores": 2, "python": "3.11.7"},
}
FUZZED = {
    "parts": {
        "api": {"requests": 500, "slowest_seconds": 0.04},
        "rubric files": {"requests": 100, "slowest_seconds": 0.2},
    },
    "faults": [],
    "memory": [[[0, 170.0], [600, 180.0]]],
    "verified": True,
    "date": "2026-11-18T20:00:00+00:00",
    "commit": "0123456",
    "cores": 2,
    "python": "3.11.7",
}


def paths_of(page: Path) -> list[str]:
    return _PATH.findall(page.read_text(encoding="utf-8"))


def result_of(promise: Promise, line: dict[str, object]) -> str:
    """The cell that says what came out."""
    measured = {(promise.campaign, promise.database): read_campaign(line)}
    (table,) = read_tables(render_promises(measured))
    return table.rows[PROMISES.index(promise)]["result"]


def test_the_table_is_made_from_the_results_that_are_kept() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert with_promises(page) == page, MEND


def test_every_result_that_is_kept_is_that_of_a_promise() -> None:
    assert load_results().keys() <= {(each.campaign, each.database) for each in PROMISES}


@pytest.mark.parametrize("page", [PAGE, THREATS], ids=name_of)
def test_every_named_test_and_harness_exists(page: Path) -> None:
    paths = paths_of(page)

    assert len(paths) > 15
    assert [path for path in paths if (ROOT / path).is_dir() != path.endswith("/")] == []
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_a_promise_is_measured_by_a_campaign_or_held_by_a_test() -> None:
    for promise in PROMISES:
        if promise.state == HELD_BY_TESTS:
            assert _PATH.search(promise.check), promise.text
        assert bool(promise.campaign) == (promise.state == NOT_MEASURED), promise.text


def test_what_was_not_measured_has_no_figure() -> None:
    (table,) = read_tables(render_promises({}))

    for row, promise in zip(table.rows, PROMISES, strict=True):
        assert row["result"] == promise.state
        assert row["date"] == row["commit"] == row["machine"] == ""


def test_none_of_n_is_told_with_its_bound_and_with_the_goal_that_is_not_reached() -> None:
    promise = PROMISES[0]

    assert result_of(promise, LINE) == (
        "0 of 1,200 acknowledged attempts (95 % bound 3/1,200); the goal is 100,000"
    )
    assert result_of(promise, LINE | {"trials": 100_000}).endswith("(95 % bound 3/100,000)")


def test_a_broken_promise_is_told_and_has_no_bound() -> None:
    assert result_of(PROMISES[0], LINE | {"findings": ["one", "two"]}) == "**broken**; one"


def test_a_result_of_nothing_is_no_result() -> None:
    assert "**broken**" in result_of(PROMISES[0], LINE | {"trials": 0})


def test_a_figure_is_told_in_the_words_of_its_summary() -> None:
    (promise,) = (each for each in PROMISES if each.campaign == "saturation")
    line = {key: LINE[key] for key in ("at", "commit", "machine")} | {"summary": "2.8 times"}

    assert result_of(promise, line) == "2.8 times"


def test_a_fuzz_run_is_told_with_what_it_saw() -> None:
    kept, failed = read_fuzz(FUZZED), read_fuzz(FUZZED | {"faults": [{"fault": "status 500"}]})

    assert (kept.trials, kept.is_kept) == (600, True)
    assert (
        kept.sentence
        == "0 failures, store sound, at most 40 ms a request, memory from 170 to 180 MiB"
    )
    assert not failed.is_kept
    assert not read_fuzz(FUZZED | {"verified": False}).is_kept


def test_every_threat_and_fault_has_a_row() -> None:
    threats, faults = list(read_tables(THREATS.read_text(encoding="utf-8")))

    assert [row[""] for row in threats.rows] == [f"{number}" for number in range(1, 25)]
    assert [row[""] for row in faults.rows] == [f"F{number}" for number in range(1, 41)]


def test_a_row_names_its_tests_or_says_why_there_is_none() -> None:
    for table in read_tables(THREATS.read_text(encoding="utf-8")):
        for row in table.rows:
            state, paths = row["state"], _PATH.findall(row["tests and harnesses"])
            assert _STATES.fullmatch(state), row[""]
            assert bool(paths) == state.startswith(("tested", "partly")), row[""]
