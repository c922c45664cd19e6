"""Worker processes of the service, started as an operator starts them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import httpx2
import psutil
import pytest
from fastapi import FastAPI

from bench.load.processes import RunningServer, run_service
from grader.accounts.tokens import make_personal_token
from grader.cli.database import read_clock
from grader.cli.server import choose_cores, make_config
from grader.domain.roles import Scope
from grader.settings import Settings
from grader.store.database import open_database
from grader.store.queries.people import find_person
from tests.support.waiting import wait_for

CORES = len(os.sched_getaffinity(0))


def list_workers(server: RunningServer) -> list[psutil.Process]:
    """The processes that answer requests."""
    return [worker for each in server.process.children() for worker in _list_children(each)]


def _list_children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.NoSuchProcess:
        return []


def list_cores(worker: psutil.Process) -> set[frozenset[int]]:
    """The cores that the threads of a worker may run on."""
    return {frozenset(os.sched_getaffinity(each.id)) for each in worker.threads()}


@pytest.mark.skipif(CORES < 2, reason="one core is everybody's own")
def test_every_core_has_a_worker_also_after_one_was_killed(
    postgresql_url: str, tmp_path: Path
) -> None:
    def is_everywhere() -> bool:
        cores = Counter(core for each in list_workers(server) for core in list_cores(each))
        return cores == {frozenset({core}): 1 for core in os.sched_getaffinity(0)}

    with run_service(postgresql_url, workers=CORES, folder=tmp_path) as server:
        wait_for(is_everywhere)
        list_workers(server)[-1].kill()
        wait_for(lambda: not is_everywhere())
        wait_for(is_everywhere)


def try_from(server: RunningServer, *forwarded: str) -> int:
    """The status of a wrong password that comes by way of proxies."""
    headers = [("X-Forwarded-For", each) for each in forwarded]
    sent = {"login": "nobody", "password": "wrong wrong"}
    url = f"http://127.0.0.1:{server.port}/api/v1/session"
    return httpx2.post(url, json=sent, headers=headers).status_code


def test_a_proxy_on_this_machine_tells_the_address_of_its_client(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_SIGN_INS_PER_MINUTE", "1")
    with run_service(sqlite_url, workers=1, folder=tmp_path) as server:
        assert [try_from(server, "10.1.1.1"), try_from(server, "10.1.1.2")] == [401, 401]
        assert try_from(server, "10.1.1.1") == 429
        # Of several entries the last was written by the proxy, and the others by anybody.
        assert try_from(server, "10.9.9.9, 10.1.1.2") == 429
        assert try_from(server, "10.9.9.9", "10.1.1.2") == 429


def test_an_address_that_no_trusted_proxy_tells_is_ignored(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_SIGN_INS_PER_MINUTE", "1")
    monkeypatch.setenv("GRADER_TRUSTED_PROXIES", "10.0.0.5, 10.1.0.0/16")
    # A variable of uvicorn's own must not add to it.
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    with run_service(sqlite_url, workers=1, folder=tmp_path) as server:
        assert [try_from(server, "10.1.1.1"), try_from(server, "10.1.1.2")] == [401, 429]


def test_nobody_is_trusted_where_others_can_connect() -> None:
    everywhere = Settings(host="::", trusted_proxies="")

    config = make_config(FastAPI(), everywhere)

    assert (config.proxy_headers, config.forwarded_allow_ips) == (False, [])


def test_a_worker_finds_everything_imported_also_one_that_replaces_another(
    postgresql_url: str, tmp_path: Path
) -> None:
    """It was most of a start: each worker imported everything anew."""
    with run_service(postgresql_url, workers=2, folder=tmp_path) as server:
        wait_for(lambda: len(list_workers(server)) == 2)
        for _ in range(2):
            parents = {worker.parent() for worker in list_workers(server)}
            assert len(parents) == 1
            (importer,) = parents
            assert importer is not None
            assert importer != server.process
            # The name of what it imports is an argument of the process that all are forked from.
            assert "grader.cli.worker" in " ".join(importer.cmdline())
            replace_worker(server)
            for _ in range(20):
                assert httpx2.get(f"{server.url}/docs").status_code == 200


def test_what_workers_are_forked_from_has_imported_grading_and_the_routes() -> None:
    code = (
        "import sys, grader.cli.worker\n"
        "wanted = {'numpy', 'lark', 'jinja2', 'grader.web.api.routes', 'grader.web.pages.routes'}\n"
        "print(wanted - sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == "set()"


def replace_worker(server: RunningServer) -> None:
    """Kill a worker, and wait for the one that takes its place."""
    before = list_workers(server)
    before[-1].kill()
    wait_for(
        lambda: before[-1] not in list_workers(server) and len(list_workers(server)) == len(before)
    )


def test_any_worker_tells_what_all_of_them_have_counted(
    postgresql_url: str, tmp_path: Path
) -> None:
    with run_service(postgresql_url, workers=2, folder=tmp_path) as server:
        headers = {"Authorization": f"Bearer {make_metrics_token(postgresql_url)}"}
        for _ in range(30):
            assert httpx2.get(f"{server.url}/healthz").status_code == 200
        told = {
            line
            for _ in range(10)
            for line in httpx2.get(f"{server.url}/metrics", headers=headers).text.splitlines()
            if line.startswith('keyset_requests_total{method="GET",route="/healthz"')
        }

    assert [line.rpartition(" ")[2] for line in told] == ["30.0"]


def make_metrics_token(url: str) -> str:
    with closing(open_database(url)) as database, database.write() as session:
        operator = find_person(session, login="operator")
        assert operator is not None
        token = make_personal_token(
            session, operator, label="Prometheus", scopes=frozenset({Scope.METRICS}), days=1,
            at=read_clock(), by="test",
        )  # fmt: skip
    return token.secret


@pytest.mark.parametrize(
    ("allowed", "workers", "chosen"),
    [
        pytest.param([0, 1, 2], 3, [0, 1, 2], id="a worker for every core"),
        pytest.param([4, 7], 5, [4, 7, 4, 7, 4], id="more workers than cores"),
        pytest.param([0, 1, 2], 2, [], id="cores to spare"),
        pytest.param([3], 2, [], id="a single core"),
        pytest.param([], 2, [], id="a system without a choice"),
    ],
)
def test_workers_are_placed_only_where_every_core_gets_one(
    allowed: list[int], workers: int, chosen: list[int]
) -> None:
    assert choose_cores(allowed, workers=workers) == chosen
