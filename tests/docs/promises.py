"""The table of docs/explanation/what-we-promise.md, made from results that harnesses wrote.

`make torture` adds its results to docs/promises.json, one for each campaign and database, and
`make fuzz` writes docs/promises-fuzz.json. What another harness printed is added to the first by
hand, with the same keys and a sentence as `summary`. What has no result says so.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from tests.docs.pages import ROOT

PAGE: Final = ROOT / "docs" / "explanation" / "what-we-promise.md"
RESULTS: Final = ROOT / "docs" / "promises.json"
FUZZ_RESULTS: Final = ROOT / "docs" / "promises-fuzz.json"

NOT_MEASURED: Final = "not measured yet"
NOT_BUILT: Final = "not built yet"
HELD_BY_TESTS: Final = "held by `make check`"

#: The part of a fuzz run that calls the loader.
_RUBRIC_FILES: Final = "rubric files"
_HEADINGS: Final = "| promise | harness and command | result | date | commit | machine |\n"
_TABLE: Final = re.compile(rf"^{re.escape(_HEADINGS)}(?:\|.*\n)+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Promise:
    """A row of the table.

    Parameters
    ----------
    text, check
        What is promised, and how to check it.
    campaign, database
        By what its result is found. Without one, `state` stands in its place.
    goal, unit
        In how many trials the promise must hold; a result of fewer says so.
    """

    text: str
    check: str
    campaign: str = ""
    database: str = ""
    goal: int = 0
    unit: str = ""
    state: str = NOT_MEASURED


@dataclass(frozen=True, slots=True)
class Measured:
    """A result, with when, of which commit and on what machine it was measured."""

    trials: int
    is_kept: bool
    sentence: str
    date: str
    commit: str
    machine: str


def _torture(arguments: str, module: str) -> str:
    command = f'make torture ARGS="--output docs/promises.json {arguments}"'
    return f"`{command}` (`bench/torture/{module}.py`)"


_FUZZ = 'make fuzz ARGS="--requests 1000000 --json docs/promises-fuzz.json"'

PROMISES: Final = (
    Promise(
        "No acknowledged attempt is lost when the service is killed (signal 9) on SQLite",
        _torture("kills --cycles 1000 --database sqlite", "kills"),
        *("kills", "sqlite", 100_000, "acknowledged attempts"),
    ),
    Promise(
        "The same on PostgreSQL",
        _torture("kills --cycles 200 --database postgresql", "kills"),
        *("kills", "postgresql", 20_000, "acknowledged attempts"),
    ),
    Promise(
        "No acknowledged attempt is lost when PostgreSQL's own processes are killed 50 times",
        _torture("database-kills --cycles 50", "database_kills"),
        *("database kills", "postgresql", 0, "acknowledged attempts"),
    ),
    Promise(
        "No acknowledged attempt is lost when the service is killed at chosen system calls, "
        "or they fail, 100 times each",
        _torture("system-calls --cycles 100", "system_calls"),
        *("system calls", "sqlite", 0, "acknowledged attempts"),
    ),
    Promise(
        "No attempt is accepted over the limit when 64 are sent at once, on SQLite",
        _torture("limit --trials 10000 --database sqlite", "limit"),
        *("limit", "sqlite", 10_000, "trials of 64 requests"),
    ),
    Promise(
        "The same on PostgreSQL with several processes",
        _torture("limit --trials 2000 --database postgresql", "limit"),
        *("limit", "postgresql", 2_000, "trials of 64 requests"),
    ),
    Promise(
        "No mutated request gets a 5xx, an error of another form or unescaped markup, or costs "
        "more than 100 ms of processor time",
        f"`{_FUZZ}` (`bench/fuzz/`)",
        *("fuzz", "sqlite", 1_000_000, "cases"),
    ),
    Promise(
        "Every corner case of JSON is read or refused as documented",
        "`tests/bench/test_fuzz.py`, `tests/web/http/test_body.py`",
        state=HELD_BY_TESTS,
    ),
    Promise(
        "The same answer gets the same verdicts, across processes and both databases",
        _torture("verdicts --repeats 1000000", "verdicts"),
        *("verdicts", "both", 1_000_000, "repeats of borderline answers"),
    ),
    Promise(
        "A request that is sent again with its key gives one attempt and one response",
        "`tests/grading/submissions/test_submit_races.py`, `tests/web/api/test_attempts.py`",
        state=HELD_BY_TESTS,
    ),
    Promise(
        "At saturation the 99th percentile of the time of an attempt is at most 3 times the median",
        "`make load` (`bench/load/`)",
        *("saturation", "sqlite"),
    ),
    Promise(
        "At least 0.6 of the attempts per second of the barest endpoint that commits one row",
        "`make load` (`bench/load/`)",
        *("attempts per second", "both"),
    ),
    Promise(
        "At 200 requests per second feedback takes at most 50 ms in the median, 300 ms at the "
        "99th percentile",
        "the soak below, at its rate",
        *("soak", "sqlite"),
    ),
    Promise(
        "Judging one answer takes at most 1.2 times the bare NumPy kernel with 16 keys of size 64, "
        "1.3 times with 8 of 16",
        "`make bench` (`bench/engine.py`)",
        *("judging", "none"),
    ),
    Promise(
        "The first page of grades, with 30 questions, takes at most 1 s for 2,000 students and for "
        "10,000",
        "`make bench` (`bench/pages.py`)",
        *("grades page", "sqlite"),
    ),
    Promise(
        "While 16 students and 100 anonymous addresses attack, the 99th percentile of everybody "
        "else stays within a factor of 3",
        _torture("attack --database sqlite", "attack"),
        *("attack", "sqlite"),
    ),
    Promise(
        "The same on PostgreSQL",
        _torture("attack --database postgresql", "attack"),
        *("attack", "postgresql"),
    ),
    Promise(
        "In 30 minutes at half load memory, descriptors and times stay flat",
        _torture("soak --minutes 30 --database sqlite", "soak"),
        *("soak", "sqlite"),
    ),
    Promise(
        "A body of 100 MB is refused when it is announced, and never held",
        "`tests/web/http/test_body.py`",
        state=HELD_BY_TESTS,
    ),
    Promise(
        "Slow clients, however many, leave room for quick ones and are cut",
        "`tests/web/http/test_server.py`",
        state=HELD_BY_TESTS,
    ),
    Promise(
        "Every route answers every role and every foreign id as the access matrix says",
        "`tests/web/test_auth.py`, `tests/web/pages/student/test_question.py`",
        state=HELD_BY_TESTS,
    ),
    Promise(
        "`grader verify` finds what was changed in the database by hand",
        "`tests/grading/audit/test_state.py`, `tests/grading/audit/test_verify.py`",
        state=HELD_BY_TESTS,
    ),
    Promise(
        "Every error of the API is a problem (RFC 9457) with a code",
        "`tests/web/errors/test_problems.py`, `bench/fuzz/sending.py`",
        state=HELD_BY_TESTS,
    ),
    Promise(
        "axe finds no violation on any page, in both themes and at two widths",
        "`tests/browser/test_accessible.py`, where Chromium is installed",
        state=HELD_BY_TESTS,
    ),
    Promise(
        "A preview of a regrade of 100,000 attempts takes at most 60 s, and an undo gives back the "
        "same grades",
        "`python -m bench.regrade` (`bench/regrade.py`)",
        *("regrade", "sqlite"),
    ),
    Promise(
        "Workers that are killed in 20 regrades judge every attempt once, and no grade changes "
        "before the regrade is applied",
        _torture("regrade-kills --database sqlite", "regrade_kills"),
        *("regrade kills", "sqlite", 0, "attempts judged again"),
    ),
    Promise(
        "The same on PostgreSQL",
        _torture("regrade-kills --database postgresql", "regrade_kills"),
        *("regrade kills", "postgresql", 0, "attempts judged again"),
    ),
    Promise(
        "A regrade that changes nothing alters no grade",
        "`tests/grading/regrades/test_decide.py`",
        state=HELD_BY_TESTS,
    ),
    Promise(
        "At least 99.9 % of grades are in the LMS within 60 s, and none is lost while it is down",
        "follows with the LMS",
        state=NOT_BUILT,
    ),
)


def with_promises(page: str) -> str:
    """The page with its table made anew from the results that are kept."""
    assert _TABLE.search(page), f"the page must have the table {_HEADINGS}"
    return _TABLE.sub(lambda _: render_promises(load_results()), page)


def render_promises(results: dict[tuple[str, str], Measured]) -> str:
    """The table: a row for each promise, with its result or why it has none."""
    rows = (_render_row(each, results.get((each.campaign, each.database))) for each in PROMISES)
    return _HEADINGS + "| --- | --- | --- | --- | --- | --- |\n" + "".join(rows)


def load_results() -> dict[tuple[str, str], Measured]:
    """What the harnesses wrote, by campaign and database."""
    found = {}
    if RESULTS.is_file():
        for line in json.loads(RESULTS.read_text(encoding="utf-8")):
            found[line["campaign"], line["database"]] = read_campaign(line)
    if FUZZ_RESULTS.is_file():
        found["fuzz", "sqlite"] = read_fuzz(json.loads(FUZZ_RESULTS.read_text(encoding="utf-8")))
    return found


def read_campaign(line: dict[str, Any]) -> Measured:
    """A result as `make torture` writes it, or one with a sentence of its own."""
    machine, trials, findings = line["machine"], line.get("trials", 0), line.get("findings", [])
    summary = line.get("summary", "")
    return Measured(
        trials=trials,
        # A campaign that tried nothing keeps no promise.
        is_kept=not findings and bool(trials or summary),
        sentence="; ".join(findings[:1]) or summary,
        date=line["at"][:10],
        commit=line["commit"],
        machine=f"{machine['cores']} cores, {machine['processor']}, Python {machine['python']}",
    )


def read_fuzz(data: dict[str, Any]) -> Measured:
    """A result as `make fuzz` writes it."""
    parts = data["parts"]
    grown = "; ".join(f"{each[0][1]:.0f} to {each[-1][1]:.0f} MiB" for each in data["memory"])
    # Files of rubrics are not sent, and have no limit of time.
    slowest = max(each["slowest_seconds"] for name, each in parts.items() if name != _RUBRIC_FILES)
    store = "sound" if data["verified"] else "**not sound**"
    return Measured(
        trials=sum(each["requests"] for each in parts.values()),
        is_kept=data["verified"] and not data["faults"],
        sentence=(
            f"{len(data['faults'])} failures, store {store}, "
            f"at most {1000 * slowest:.0f} ms a request, memory from {grown}"
        ),
        date=data["date"][:10],
        commit=data["commit"],
        machine=f"{data['cores']} cores, Python {data['python']}",
    )


def _render_row(promise: Promise, measured: Measured | None) -> str:
    if measured is None:
        cells = (promise.text, promise.check, promise.state, "", "", "")
    else:
        origin = (measured.date, f"`{measured.commit}`", measured.machine)
        cells = (promise.text, promise.check, _describe(promise, measured), *origin)
    return f"| {' | '.join(cells)} |\n".replace("|  ", "| ")


def _describe(promise: Promise, measured: Measured) -> str:
    """What came out, with the bound where nothing failed, and the goal where it is not reached."""
    said = [measured.sentence] if measured.sentence else []
    if not measured.is_kept:
        return "; ".join(["**broken**", *said])
    if measured.trials and promise.unit:
        # The rule of three: what fails more often is seen in N trials with a probability of 95 %.
        bound = f"95 % bound 3/{measured.trials:,}"
        said.insert(0, f"0 of {measured.trials:,} {promise.unit} ({bound})")
    if measured.trials < promise.goal:
        said.append(f"the goal is {promise.goal:,}")
    return "; ".join(said)
