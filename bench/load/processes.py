"""Servers in processes of their own, and what they cost: processor time and memory."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil

from bench.load.barest import ADDRESS

_START_SECONDS = 60.0
_STOP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server on loopback."""

    process: psutil.Popen
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

    def wait_until_answering(self) -> bool:
        """Wait for its first answer; False if it has ended or takes too long."""
        deadline = time.monotonic() + _START_SECONDS
        with httpx2.Client(timeout=5) as client:
            while time.monotonic() < deadline and self.process.poll() is None:
                # Any answer will do: the barest endpoint has no page that says it is ready.
                with suppress(httpx2.TransportError):
                    client.get(f"{self.url}/readyz")
                    return True
                time.sleep(0.02)
        return False

    def kill(self) -> None:
        """Kill all of its processes at once, and wait until they are gone."""
        killed: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            # The first one would replace the others, so it must go before them.
            killed = self.list_processes()
        for each in killed:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self.process.wait(_STOP_SECONDS)
        psutil.wait_procs(killed[1:], timeout=_STOP_SECONDS)

    def stop(self) -> None:
        """Ask it to end, and leave no process behind."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with suppress(psutil.TimeoutExpired, subprocess.TimeoutExpired):
                self.process.wait(_STOP_SECONDS)
                return
            self.kill()


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
    url: str,
    *,
    workers: int,
    folder: Path,
    settings: Mapping[str, str] | None = None,
    under: Sequence[str] = (),
    is_awaited: bool = True,
) -> Iterator[RunningServer]:
    """Run `grader serve` with its default settings, or others; its log goes to a file.

    Parameters
    ----------
    under
        A command that runs it and becomes it, such as a tracer that stays in the background.
    is_awaited
        Whether to wait for its first answer.
    """
    with _reserve_port() as port:
        command = [*under, sys.executable, "-m", "grader", "serve", "--port", str(port)]
        command += ["--workers", str(workers)]
        environment = {"GRADER_DATABASE_URL": url, "GRADER_DATA_FOLDER": str(folder)}
        environment |= settings or {}
        log = folder / "service.log"
        with _run(command, environment, port, log, is_awaited=is_awaited) as server:
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
    command: list[str],
    environment: dict[str, str],
    port: int,
    log: Path,
    *,
    is_awaited: bool = True,
) -> Iterator[RunningServer]:
    with log.open("ab") as output:
        started = psutil.Popen(
            command,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"} | environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    server = RunningServer(started, port)
    try:
        if is_awaited and not server.wait_until_answering():
            raise RuntimeError(f"{command!r} does not answer:\n{log.read_text()[-2000:]}")
        yield server
    finally:
        server.stop()


@contextmanager
def _reserve_port() -> Iterator[int]:
    """A free port of loopback, which nobody else is given before the server has it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    yield int(port)
