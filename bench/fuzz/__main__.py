"""`make fuzz`: send mutated requests to real servers, and print what came of them."""

from __future__ import annotations

import base64
import json
import multiprocessing
import os
import platform
import queue
import socket
import subprocess
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from bench.fuzz.requests import PARTS
from bench.fuzz.runs import (
    MOST_CPU_SECONDS,
    FuzzResult,
    Share,
    run_rubrics,
    work_share,
    write_faults,
)
from grader.cli.console import console

_SHOWN_FAULTS = 20
#: Of a hundred requests, how many files the loader is given beside them; each takes about 20 ms.
_RUBRICS_PER_HUNDRED = 1


def run_fuzz(
    requests: Annotated[int, typer.Option(min=1, help="How many requests to send.")] = 100_000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same requests.")] = 1,
    servers: Annotated[int, typer.Option(min=1, help="Servers, each with its own sender.")] = 2,
    part: Annotated[str, typer.Option(help=f"Only this one: {', '.join(PARTS)}.")] = "",
    most_bytes: Annotated[int, typer.Option(min=1024, help="The largest body.")] = 65_536,
    minutes: Annotated[float, typer.Option(help="Stop after this time in any case.")] = 1440,
    faults: Annotated[Path, typer.Option(help="The file of failures.")] = Path("fuzz-faults.jsonl"),
    results: Annotated[Path | None, typer.Option("--json", help="A file for the result.")] = None,
    replay: Annotated[
        Path | None, typer.Option(help="Instead, send the failures of a file to --port.")
    ] = None,
    port: Annotated[int, typer.Option(help="Where a server listens, for --replay.")] = 8000,
) -> None:
    """Send requests by HTTP on loopback, one after another to each server.

    Everything runs on this machine. The exit code is 1 where a promise is broken: a status of 5xx
    other than a 503 with Retry-After, an error in the wrong form, markup that is not escaped, an
    answer that does not end, more than 100 ms of processor time, or a store that is not sound.
    """
    if part and part not in PARTS:
        raise typer.BadParameter(f"There is no part {part!r}.")
    if replay is not None:
        _replay(replay, port)
        return
    shares = [
        Share(seed, each, servers, requests, most_bytes, part, most_seconds=60 * minutes)
        for each in range(servers)
    ]
    files = 0 if part else requests * _RUBRICS_PER_HUNDRED // 100
    result, memory = _run(shares, files)
    console.print(_make_table(result))
    console.print(_make_memory_table(memory))
    for each in result.faults[:_SHOWN_FAULTS]:
        console.print(f"[red]{each['part']} {each['number']}: {each['fault']}[/]", highlight=False)
        console.print(each.get("curl", "")[:2000], markup=False, highlight=False, soft_wrap=True)
    if result.faults:
        write_faults(faults, result.faults)
        console.print(f"{len(result.faults)} failures are in {faults}.")
    if result.restored:
        console.print(f"{result.restored} times a sender got back the role it had lost.")
    console.print(f"grader verify: {'sound' if result.is_verified else '[red]not sound[/]'}.")
    if results is not None:
        about = {"seed": seed, "requests": requests, "servers": servers, **_describe_machine()}
        data = {**about, **result.to_json(), "memory": [_pick_rows(each) for each in memory]}
        results.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    if result.faults or not result.is_verified:
        raise typer.Exit(1)


def _run(shares: list[Share], files: int) -> tuple[FuzzResult, list[list[tuple[int, float]]]]:
    """Run all senders in processes of their own, and show how far they are."""
    seed, requests = shares[0].seed, shares[0].stop
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    with tempfile.TemporaryDirectory(prefix="keyset-fuzz-") as name:
        processes = [
            context.Process(target=work_share, args=(Path(name) / str(number), share, told))
            for number, share in enumerate(shares)
        ]
        for each in processes:
            each.start()
        result = FuzzResult()
        memory: list[list[tuple[int, float]]] = []
        columns = TextColumn("requests"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("requests", total=requests + files)
            result.merge(run_rubrics(seed, files, lambda count: progress.advance(task, count)))
            while len(memory) < len(shares):
                found = _take(told, processes)
                if isinstance(found, FuzzResult):
                    result.merge(found)
                    memory.append(found.memory)
                else:
                    progress.advance(task, found)
        for each in processes:
            each.join()
    return result, memory


def _take(told: Any, processes: list[Any]) -> int | FuzzResult:
    while True:
        try:
            found: int | FuzzResult = told.get(timeout=5)
            return found
        except queue.Empty:
            if any(each.exitcode for each in processes):
                raise RuntimeError("A sender has failed; its error is above.") from None


def _make_table(result: FuzzResult) -> Table:
    table = Table(title="Fuzzed", title_justify="left", box=None, pad_edge=False)
    kinds = sorted({kind for part in result.parts.values() for kind in part.statuses})
    table.add_column("part")
    for heading in (
        "requests",
        *kinds,
        "broken promises",
        "mean CPU ms",
        "slowest CPU ms",
        "number",
    ):
        table.add_column(heading, justify="right")
    whole = FuzzResult()
    for part in result.parts.values():
        whole.part("all").merge(part)
    for name, part in [*result.parts.items(), *whole.parts.items()]:
        table.add_row(
            name, str(part.requests), *(str(part.statuses.get(kind, 0)) for kind in kinds),
            f"[red]{part.faults}[/]" if part.faults else "0",
            f"{1000 * part.cpu_seconds / max(1, part.requests):.2f}",
            f"{1000 * part.slowest_seconds:.0f}", str(part.slowest),
        )  # fmt: skip
    return table


def _make_memory_table(memory: list[list[tuple[int, float]]]) -> Table:
    table = Table(title="MiB of a server", title_justify="left", box=None, pad_edge=False)
    table.add_column("after requests", justify="right")
    for number in range(len(memory)):
        table.add_column(f"server {number + 1}", justify="right")
    for rows in zip(*map(_pick_rows, memory), strict=False):
        table.add_row(str(rows[0][0]), *(f"{each:.0f}" for _, each in rows))
    return table


def _pick_rows(samples: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """About ten of many samples, and the last one."""
    step = max(1, len(samples) // 10)
    return [*samples[:-1:step], samples[-1]]


def _replay(path: Path, port: int) -> None:
    """Send failures as they were, and print what comes back."""
    for line in path.read_text(encoding="utf-8").splitlines():
        fault = json.loads(line)
        if not fault.get("request"):
            continue
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(base64.b64decode(fault["request"]))
            connection.shutdown(socket.SHUT_WR)
            received = b"".join(iter(lambda: connection.recv(65_536), b""))
        first = received.partition(b"\r\n")[0].decode("latin-1")
        console.print(f"{fault['number']}: was {fault['fault']}; now {first}", highlight=False)


def _describe_machine() -> dict[str, object]:
    """When, of which commit and on what it ran; no name of a host or a folder."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "most_cpu_seconds": MOST_CPU_SECONDS,
    }


typer.run(run_fuzz)
