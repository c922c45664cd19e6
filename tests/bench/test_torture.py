"""The campaigns of `make torture`, in small: each keeps its promises, and can find them broken."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

import psutil
import pytest

from bench.load.databases import KINDS
from bench.load.generators import make_message
from bench.torture import limit, soak
from bench.torture.attack import STUDENTS, AttackPlan, run_attack
from bench.torture.connections import Connection, Response
from bench.torture.database_kills import DatabaseKillPlan, run_database_kills
from bench.torture.kills import KillPlan, run_kills, send_and_kill
from bench.torture.limit import REQUESTS, LimitPlan, run_limit
from bench.torture.results import CampaignResult, write_results
from bench.torture.soak import SoakPlan, run_soak
from bench.torture.stores import open_store
from bench.torture.system_calls import SystemCallPlan, has_strace, run_system_calls
from bench.torture.traffic import Sender, Traffic
from bench.torture.verdicts import VerdictPlan, run_verdicts

needs_strace = pytest.mark.skipif(
    not has_strace(),
    reason="there is no strace on this machine, and tools/programs.sh could not get one",
)


@pytest.fixture(autouse=True)
def _leaves_no_process() -> Iterator[None]:
    before = set(psutil.Process().children(recursive=True))
    yield
    left = set(psutil.Process().children(recursive=True)) - before
    # A process of this name belongs to Python, and lives as long as the one that started it.
    assert [each for each in left if "resource_tracker" not in " ".join(each.cmdline())] == []


def advance(_: int) -> None:
    """What a progress bar would be told."""


@pytest.mark.parametrize("database", KINDS)
def test_what_was_acknowledged_is_there_after_kill_9(database: str, tmp_path: Path) -> None:
    plan = KillPlan(database, cycles=2, acknowledgements=12, lanes=1, seed=1, evidence=tmp_path)

    result = run_kills(plan, advance=advance)

    assert result.findings == []
    assert (result.cycles, result.lost) == (2, 0)
    assert 0 < result.acknowledged <= result.counts["stored"]


def test_the_service_survives_kills_of_its_database(tmp_path: Path) -> None:
    plan = DatabaseKillPlan(cycles=2, seed=1, evidence=tmp_path, recovery_seconds=60)

    result = run_database_kills(plan, advance=advance)

    assert result.findings == []
    assert result.counts["first processes killed"] == result.counts["connections killed"] == 1
    assert result.acknowledged > 0


@needs_strace
def test_kills_and_failures_at_system_calls_lose_nothing(tmp_path: Path) -> None:
    plan = SystemCallPlan(cycles=1, lanes=1, seed=1, evidence=tmp_path)

    result = run_system_calls(plan, advance=advance)

    assert result.findings == []
    assert result.counts["killed at fdatasync"] + result.counts["killed at pwrite64"] == 1


@pytest.mark.parametrize("database", KINDS)
def test_parallel_answers_are_accepted_up_to_the_limit(database: str, tmp_path: Path) -> None:
    plan = LimitPlan(database, trials=3, seed=1, evidence=tmp_path)

    result = run_limit(plan, advance=advance)

    assert result.findings == []
    assert (result.cycles, result.over_limit) == (3, 0)
    assert result.acknowledged == 3 * limit.MOST_ATTEMPTS
    assert 3 * (REQUESTS - limit.MOST_ATTEMPTS) <= result.counts["refused"] < 3 * REQUESTS


def test_borderline_verdicts_are_the_same_everywhere(tmp_path: Path) -> None:
    plan = VerdictPlan(
        repeats=300, students=1, seed=1, evidence=tmp_path, families=["numbers"], commands=1
    )

    result = run_verdicts(plan, advance=advance)

    sent = result.counts["by HTTP on sqlite"]
    assert result.findings == []
    assert sent == result.counts["by HTTP on postgresql"] > 0
    assert result.trials == 300 + 1 + 2 * sent


def test_students_work_for_a_while_and_nothing_grows_that_is_not_told(tmp_path: Path) -> None:
    plan = SoakPlan("sqlite", minutes=0.1, seed=1, evidence=tmp_path, measuring_seconds=1)

    result = run_soak(plan, advance=advance)

    # In six seconds caches still fill, and each slice has few visits.
    assert [each for each in result.findings if "grew" not in each] == []
    assert result.cycles == soak.SLICES
    assert result.counts["MiB of memory in the last quarter"] > 0
    assert 0 < result.acknowledged == result.counts["stored"]


def make_slices(**last: float) -> list[soak.Slice]:
    usual = {"memory": 200.0, "descriptors": 50, "p50": 5.0, "p99": 20.0}
    return [soak.Slice(**usual)] * 45 + [soak.Slice(**(usual | last))] * 15  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("last", "told"),
    [
        pytest.param({}, 0, id="flat"),
        pytest.param({"memory": 209.0, "descriptors": 58, "p50": 6.0, "p99": 29.0}, 0, id="nearly"),
        pytest.param({"memory": 212.0}, 1, id="memory"),
        pytest.param({"descriptors": 60}, 1, id="descriptors"),
        pytest.param({"p50": 7.0, "p99": 40.0}, 2, id="times"),
    ],
)
def test_a_soak_finds_what_grows(last: dict[str, float], told: int) -> None:
    result = CampaignResult("soak", "sqlite")

    soak.compare(make_slices(**last), result)

    assert len(result.findings) == told


def test_a_term_signal_lets_everybody_finish(tmp_path: Path) -> None:
    result = CampaignResult("term", "sqlite")
    with (
        open_store("sqlite", result, evidence=tmp_path, students=8) as store,
        store.run_service(workers=1) as server,
    ):
        traffic = Traffic(
            store, [Sender([each]) for each in store.students], server.port, Random(1)
        )

        def end(traffic: Traffic) -> None:
            traffic.wait_for(8)
            traffic.is_dying = True
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(30) in (0, -signal.SIGTERM)

        asyncio.run(traffic.run(end))

    assert traffic.acknowledged >= 8
    assert traffic.findings == result.findings == []


def test_an_acknowledgement_that_is_not_there_is_found_and_kept(tmp_path: Path) -> None:
    result = CampaignResult("forged", "sqlite")
    with open_store("sqlite", result, evidence=tmp_path, students=8) as store:
        senders = [Sender([each]) for each in store.students]
        send_and_kill(store, senders, Random(1), result, workers=1, least=1)
        store.note_acknowledged(json.dumps({"id": "att_00000000000000000000000000"}).encode())

    assert result.lost == 1
    assert len(result.findings) == 1
    assert not result.is_kept
    (kept,) = tmp_path.glob("forged-sqlite-*")
    assert {"service.sqlite", "service.log", "acknowledged.jsonl"} <= {
        each.name for each in kept.iterdir()
    }


def test_attempts_over_the_limit_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The course allows one attempt more than the campaign thinks.
    monkeypatch.setattr(limit, "MOST_ATTEMPTS", 4)
    monkeypatch.setattr(limit, "COURSE_ATTEMPTS", 5)

    result = run_limit(LimitPlan("sqlite", trials=2, seed=1, evidence=tmp_path), advance=advance)

    assert result.over_limit == len(result.findings) == 2
    assert not result.is_kept


async def ask_without_last_byte(port: int, message: bytes) -> Response:
    connection = await Connection.open(port)
    connection.send(message[:-1])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await connection.receive()
    connection.send(message[-1:])
    try:
        return await connection.receive()
    finally:
        connection.close()


def test_a_request_waits_for_its_last_byte(tmp_path: Path) -> None:
    result = CampaignResult("last byte", "sqlite")
    with (
        open_store("sqlite", result, evidence=tmp_path, students=1) as store,
        store.run_service(workers=1) as server,
    ):
        message = make_message(store.students[0].make_request(1))
        response = asyncio.run(ask_without_last_byte(server.port, message))
        store.note_acknowledged(response.body)

    assert response.status == 201
    assert result.findings == []


def test_the_bound_follows_from_the_number_of_trials() -> None:
    assert CampaignResult("kills", "sqlite", trials=1000).bound == 0.003
    assert CampaignResult("kills", "sqlite", trials=1000, findings=["x"]).bound is None
    assert CampaignResult("kills", "sqlite").bound is None, "nothing was tried"


def test_results_in_a_file_replace_those_of_the_same_campaign(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    for trials in (10, 30):
        write_results(file, [CampaignResult("kills", kind, trials=trials) for kind in KINDS[:1]])
    write_results(file, [CampaignResult("limit", "sqlite", trials=10)])

    lines = json.loads(file.read_bytes())

    assert [(each["campaign"], each["trials"]) for each in lines] == [("kills", 30), ("limit", 10)]
    assert lines[0]["bound"] == 0.1
    assert lines[0]["machine"].keys() == {"system", "processor", "cores", "python"}
    assert {"at", "commit"} <= lines[0].keys()


def test_a_class_hands_in_while_the_service_is_attacked(tmp_path: Path) -> None:
    plan = AttackPlan("sqlite", 1, 2.0, 1, tmp_path, most_factor=0.0)

    result = run_attack(plan, advance=lambda count: None)

    # One second before the calm turn, two in it, and two under attack.
    assert result.acknowledged == result.counts["stored"] == 5 * STUDENTS
    (finding,) = result.findings
    assert "times as long under attack" in finding, "nobody waits no time at all"
