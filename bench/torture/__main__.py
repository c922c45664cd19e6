"""`make torture`: campaigns against the service, each of which can break a promise about grades."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bench.load.databases import KINDS
from bench.torture.attack import AttackPlan, run_attack
from bench.torture.database_kills import DatabaseKillPlan, run_database_kills
from bench.torture.kills import KillPlan, run_kills
from bench.torture.limit import LimitPlan, run_limit
from bench.torture.regrade_kills import RegradeKillPlan, run_regrade_kills
from bench.torture.results import CampaignResult, print_results, write_results
from bench.torture.soak import SLICES, SoakPlan, run_soak
from bench.torture.system_calls import SystemCallPlan, run_system_calls
from bench.torture.verdicts import VerdictPlan, run_verdicts
from grader.cli.console import ExitCode, make_progress, make_typer

app = make_typer(no_args_is_help=True)

Cycles = Annotated[int, typer.Option(min=1, help="How many cycles.")]
Trials = Annotated[int, typer.Option(min=1, help="How many trials, each of 64 requests.")]
Database = Annotated[str, typer.Option(help="Only this one: sqlite or postgresql.")]
Lanes = Annotated[int, typer.Option(min=1, help="How many stores are used at once.")]
Acknowledgements = Annotated[
    int, typer.Option(min=1, help="Acknowledgements per cycle, on average.")
]


@dataclass(frozen=True, slots=True)
class _Options:
    seed: int
    evidence: Path
    output: Path | None


@app.callback()
def choose_options(
    context: typer.Context,
    seed: Annotated[int, typer.Option(help="Of all random choices but the moments.")] = 1,
    evidence: Annotated[
        Path, typer.Option(help="Where stores are kept that broke a promise.")
    ] = Path(".torture"),
    output: Annotated[
        Path | None, typer.Option(help="A JSON file to which results are added.")
    ] = None,
) -> None:
    """Try the promises about grades. Exit code 1: one of them was broken."""
    context.obj = _Options(seed, evidence, output)


@app.command("kills")
def run_kills_command(
    context: typer.Context,
    cycles: Cycles = 1000,
    database: Database = "",
    acknowledgements: Acknowledgements = 120,
    lanes: Lanes = 2,
) -> None:
    """Kill the service with signal 9 while it works."""
    options: _Options = context.obj

    def run(kind: str, advance: Callable[[int], object]) -> CampaignResult:
        plan = KillPlan(kind, cycles, acknowledgements, lanes, options.seed, options.evidence)
        return run_kills(plan, advance=advance)

    _run_campaigns(options, _choose_kinds(database), cycles, run)


@app.command("database-kills")
def run_database_kills_command(context: typer.Context, cycles: Cycles = 50) -> None:
    """Kill the processes of PostgreSQL while the service goes on."""
    options: _Options = context.obj

    def run(_: str, advance: Callable[[int], object]) -> CampaignResult:
        plan = DatabaseKillPlan(cycles, options.seed, options.evidence)
        return run_database_kills(plan, advance=advance)

    _run_campaigns(options, ["postgresql"], cycles, run)


@app.command("system-calls")
def run_system_calls_command(
    context: typer.Context, cycles: Cycles = 100, lanes: Lanes = 2
) -> None:
    """Kill the service at chosen system calls, and let others of them fail."""
    options: _Options = context.obj

    def run(_: str, advance: Callable[[int], object]) -> CampaignResult:
        plan = SystemCallPlan(cycles, lanes, options.seed, options.evidence)
        return run_system_calls(plan, advance=advance)

    _run_campaigns(options, ["sqlite"], cycles, run)


@app.command("limit")
def run_limit_command(
    context: typer.Context, trials: Trials = 2000, database: Database = ""
) -> None:
    """Send 64 answers of one student at once, of which few are allowed."""
    options: _Options = context.obj

    def run(kind: str, advance: Callable[[int], object]) -> CampaignResult:
        plan = LimitPlan(kind, trials, options.seed, options.evidence)
        return run_limit(plan, advance=advance)

    _run_campaigns(options, _choose_kinds(database), trials, run)


@app.command("regrade-kills")
def run_regrade_kills_command(
    context: typer.Context,
    cycles: Cycles = 20,
    database: Database = "",
    attempts: Annotated[int, typer.Option(min=1, help="Stored attempts.")] = 10_000,
    kills: Annotated[int, typer.Option(min=0, help="Workers killed in each cycle.")] = 3,
) -> None:
    """Kill the workers that judge stored attempts again."""
    options: _Options = context.obj

    def run(kind: str, advance: Callable[[int], object]) -> CampaignResult:
        plan = RegradeKillPlan(kind, cycles, attempts, kills, options.seed, options.evidence)
        return run_regrade_kills(plan, advance=advance)

    _run_campaigns(options, _choose_kinds(database), cycles, run)


@app.command("verdicts")
def run_verdicts_command(
    context: typer.Context,
    repeats: Annotated[int, typer.Option(min=1, help="How often to judge.")] = 1_000_000,
    students: Annotated[int, typer.Option(min=1, help="How many send theirs by HTTP.")] = 30,
) -> None:
    """Judge borderline answers again and again, in several processes and on both databases."""
    options: _Options = context.obj

    def run(_: str, advance: Callable[[int], object]) -> CampaignResult:
        plan = VerdictPlan(repeats, students, options.seed, options.evidence)
        return run_verdicts(plan, advance=advance)

    _run_campaigns(options, ["both"], repeats, run)


@app.command("attack")
def run_attack_command(
    context: typer.Context,
    turns: Annotated[int, typer.Option(min=1, help="Calm turns and turns under attack.")] = 5,
    seconds: Annotated[float, typer.Option(min=1, help="The length of a turn.")] = 20.0,
    database: Database = "",
) -> None:
    """Attack the service with large bodies and as strangers, while a class hands in."""
    options: _Options = context.obj

    def run(kind: str, advance: Callable[[int], object]) -> CampaignResult:
        plan = AttackPlan(kind, turns, seconds, options.seed, options.evidence)
        return run_attack(plan, advance=advance)

    _run_campaigns(options, _choose_kinds(database), turns, run)


@app.command("soak")
def run_soak_command(
    context: typer.Context,
    minutes: Annotated[float, typer.Option(min=0.1, help="How long students work.")] = 30.0,
    database: Database = "",
) -> None:
    """Let students work at half of what the service can take, and see whether anything grows."""
    options: _Options = context.obj

    def run(kind: str, advance: Callable[[int], object]) -> CampaignResult:
        plan = SoakPlan(kind, minutes, options.seed, options.evidence)
        return run_soak(plan, advance=advance)

    _run_campaigns(options, _choose_kinds(database), SLICES, run)


def _choose_kinds(database: str) -> list[str]:
    if database not in ("", *KINDS):
        raise typer.BadParameter(f"There are {' and '.join(KINDS)}.")
    return [database] if database else list(KINDS)


def _run_campaigns(
    options: _Options,
    kinds: list[str],
    total: int,
    run: Callable[[str, Callable[[int], object]], CampaignResult],
) -> None:
    """Run a campaign on each kind of database, and show what came of it.

    It is kept as well, unless somebody has ended the campaign.
    """
    stopping, results = threading.Event(), []
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: stopping.set())
    for kind in kinds:
        with make_progress() as progress:
            step = partial(progress.advance, progress.add_task(kind, total=total))
            results.append(run(kind, partial(_advance, stopping, step)))
    print_results(results)
    if options.output is not None and not stopping.is_set():
        write_results(options.output, results)
    if not all(each.is_kept for each in results):
        raise typer.Exit(ExitCode.NOT_SOUND)


def _advance(stopping: threading.Event, step: Callable[[int], object], count: int) -> None:
    """Note that a part is done, and end there when asked to: no process must be left behind."""
    step(count)
    if stopping.is_set():
        raise KeyboardInterrupt


app()
