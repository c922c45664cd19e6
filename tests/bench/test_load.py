"""The load harness, in small: what is acknowledged is stored, and no request is sent twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from bench.load.databases import KINDS, LoadDatabase, open_load_database
from bench.load.generators import LoadResult, OpenLoopAnswer, OpenLoopResult
from bench.load.layers import summarize
from bench.load.rounds import (
    Cost,
    Requests,
    combine_costs,
    count_stored,
    measure_closed_loop,
    measure_open_loop,
    run_server,
)
from bench.load.students import open_course

STUDENTS = 60

needs_wrk = pytest.mark.skipif(
    shutil.which("wrk") is None,
    reason="there is no wrk on this machine, and tools/programs.sh could not get one",
)


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest) -> Iterator[LoadDatabase]:
    with open_load_database(request.param) as opened:
        yield opened


@needs_wrk
def test_every_answer_of_both_loops_is_accepted_and_stored(database: LoadDatabase) -> None:
    opened = database.open()
    students = open_course(opened).enrol(STUDENTS)
    opened.close()
    requests = Requests(students, repeats=2)

    with run_server(database, "service", workers=1, requests=requests, warm_up=10) as server:
        closed = measure_closed_loop(
            server, database, requests, connections=8, seconds=30, most=STUDENTS
        )
        answers = measure_open_loop(server, requests, rate=100, seconds=30)

    left = 2 * STUDENTS - 10 - STUDENTS
    assert answers.counts == {201: left}
    assert answers.failed == closed.load.failed == 0
    # The generator stops with the last request, and leaves alone what is under way then.
    assert STUDENTS - 8 <= closed.load.accepted == closed.load.answered <= STUDENTS
    assert closed.load.accepted + left <= count_stored(database) <= 2 * STUDENTS
    assert closed.is_exhausted
    assert closed.load.seconds < 20, "it ends with its last request"
    assert closed.server_milliseconds > 0
    assert closed.memory_mebibytes > 10


@needs_wrk
def test_the_barest_endpoint_takes_the_same_requests(database: LoadDatabase) -> None:
    opened = database.open()
    students = open_course(opened).enrol(20)
    opened.close()
    requests = Requests(students)

    with run_server(database, "barest", workers=1, requests=requests, warm_up=5) as server:
        answers = measure_open_loop(server, requests, rate=100, seconds=30)

    assert answers.counts == {201: 15}
    assert count_stored(database) == 0


def make_cost(answered: int, seconds: float, p50: float, server: float) -> Cost:
    load = LoadResult(answered, answered - 1, 1, seconds, p50, 2 * p50, 3 * p50)
    return Cost(load, server, 0.0, 0.0, memory_mebibytes=p50, is_exhausted=p50 > 20)


def test_turns_are_one_by_their_sums_and_the_medians_of_their_times() -> None:
    whole = combine_costs(
        [make_cost(100, 1.0, 10.0, 1.0), make_cost(300, 2.0, 30.0, 2.0), make_cost(0, 1.0, 20.0, 9)]
    )

    assert (whole.load.answered, whole.load.accepted, whole.load.failed) == (400, 397, 3)
    assert whole.load.per_second == 397 / 4
    assert (whole.load.p50, whole.load.p99, whole.load.most) == (20.0, 40.0, 90.0)
    assert whole.server_milliseconds == 1.75, "by the number of answers"
    assert whole.memory_mebibytes == 30.0
    assert whole.is_exhausted


def test_the_rate_of_an_open_loop_is_that_of_its_second_half() -> None:
    came = [OpenLoopAnswer(201, 0.0, at) for at in (0.5, 1.0, 2.5, 3.0, 4.0, 4.5)]
    result = OpenLoopResult(4.0, [*came, OpenLoopAnswer(503, 0.0, 3.5)])

    assert result.compute_rate(201) == 3 / 2
    assert result.compute_rate(503) == 1 / 2


def test_no_request_is_handed_out_twice(database: LoadDatabase) -> None:
    opened = database.open()
    students = open_course(opened).enrol(5)
    opened.close()
    requests = Requests(students, repeats=3)

    taken = requests.take(7) + requests.take(100)

    assert len(taken) == len(set(taken)) == 15
    assert requests.take(1) == []


def test_a_sample_belongs_to_the_innermost_layer_that_is_known() -> None:
    web = "uvicorn/protocols/http.py:1;starlette/routing.py:2"
    stacks = "\n".join(
        (
            f"{web} (x.py:1) 2",
            f"{web};grader/web/api/attempts.py:5;json/encoder.py:9 1",
            "threading.py:1;grader/store/writer.py:3;grader/grading/submissions/submit.py:1;"
            "grader/engine/judge/judge.py:4;numpy/core.py:2 5",
            "threading.py:1;anyio/_backends/_asyncio.py:7 90",
            "threading.py:1;grader/store/writer.py:3;threading.py:320 90",
        )
    )

    shares = summarize(stacks)

    assert shares == {"judging": 5 / 8, "framework": 2 / 8, "intake and routes": 1 / 8}
