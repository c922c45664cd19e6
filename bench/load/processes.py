"""Servers in processes of their own, and what they cost: processor time and memory."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil

from bench.load.barest import ADDRESS

_START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers on loopback."""

    process: psutil.Process
    port: int

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def list_processes(self) -> list[psutil.Process]:
        """Its processes: the one that was started, and its workers."""
        return [self.process, *self.process.children(recursive=True)]

    def find_busiest(self) -> psutil.Process:
        """The process that used the processor most: a worker, where there are some."""
        return max(self.list_processes(), key=measure_process)


def measure_process(process: psutil.Process) -> float:
    """The processor time of a process so far, in seconds; of one that has ended, none."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def measure_processes(processes: list[psutil.Process]) -> float:
    """The processor time of processes so far, in seconds."""
    return sum(measure_process(each) for each in processes)


def measure_memory(processes: list[psutil.Process]) -> float:
    """The resident memory of processes, in MiB."""
    return sum(float(each.memory_info().rss) for each in processes) / 2**20


@contextmanager
def run_service(
    url: str, *, workers: int, folder: Path, environment: Mapping[str, str] | None = None
) -> Iterator[RunningServer]:
    """Run `grader serve` with its default settings but these; its log goes to a file."""
    with _reserve_port() as port:
        command = [sys.executable, "-m", "grader", "serve", "--port", str(port)]
        command += ["--workers", str(workers)]
        own = {"GRADER_DATABASE_URL": url, "GRADER_DATA_FOLDER": str(folder)}
        with _run(command, {**(environment or {}), **own}, port, folder / "service.log") as server:
            yield server


@contextmanager
def run_barest(url: str, *, workers: int, folder: Path) -> Iterator[RunningServer]:
    """Run the barest endpoint."""
    with _reserve_port() as port:
        command = [sys.executable, "-m", "uvicorn", "bench.load.barest:make_app", "--factory"]
        command += ["--port", str(port), "--workers", str(workers), "--no-access-log"]
        with _run(command, {ADDRESS: url}, port, folder / "barest.log") as server:
            yield server


@contextmanager
def _run(
    command: list[str], environment: dict[str, str], port: int, log: Path
) -> Iterator[RunningServer]:
    with log.open("ab") as output:
        started = subprocess.Popen(
            command,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"} | environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    server = RunningServer(psutil.Process(started.pid), port)
    try:
        _wait_until_answering(server, started, log)
        yield server
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait(60)


def _wait_until_answering(
    server: RunningServer, started: subprocess.Popen[bytes], log: Path
) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if started.poll() is not None:
            break
        try:
            # Any answer will do: the barest endpoint has no page that says it is ready.
            httpx2.get(f"{server.url}/readyz", timeout=5)
            return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise RuntimeError(f"{started.args!r} does not answer:\n{log.read_text()[-2000:]}")


@contextmanager
def _reserve_port() -> Iterator[int]:
    """A free port of loopback, which nobody else is given before the server has it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    yield int(port)
