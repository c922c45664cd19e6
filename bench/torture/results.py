"""What came of a campaign: counts, broken promises, and how they are shown and kept."""

from __future__ import annotations

import os
import platform
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path

import orjson
from rich.markup import escape
from rich.table import Table

from grader.cli.console import console

#: Findings of a campaign that are shown and kept; the others are counted.
_MAX_FINDINGS = 20


@dataclass(slots=True)
class CampaignResult:
    """The counts of one campaign on one kind of database.

    Parameters
    ----------
    trials
        How many times the promise could have been broken, by which the bound is computed.
    lost, over_limit
        Acknowledged attempts that are not as they were told, and attempts beyond a limit.
    findings
        Every broken promise, also those counted above, as a sentence.
    counts
        What else happened, by its name.
    summary
        What was measured, in a sentence, where that is more than a number of failures.
    """

    campaign: str
    database: str
    cycles: int = 0
    acknowledged: int = 0
    trials: int = 0
    lost: int = 0
    over_limit: int = 0
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    summary: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether no promise was broken, and anything was tried at all."""
        return not self.findings and self.trials > 0

    @property
    def bound(self) -> float | None:
        """The probability that a trial fails is below this, with 95 % confidence; None if any did.

        Where none of N trials failed it is 3/N, the rule of three.
        """
        return 3 / self.trials if self.is_kept else None

    def add(self, other: CampaignResult) -> None:
        """Add the counts of another part of the same campaign, which ran beside this one."""
        self.cycles += other.cycles
        self.acknowledged += other.acknowledged
        self.trials += other.trials
        self.lost += other.lost
        self.over_limit += other.over_limit
        self.findings += other.findings
        self.counts += other.counts


def print_results(results: Iterable[CampaignResult]) -> None:
    """Print a table of results, and every broken promise below it."""
    columns = ("cycles", "acknowledged", "lost", "over the limit", "95 % bound", "seconds")
    table = Table(box=None, pad_edge=False)
    for name in ("campaign", "database"):
        table.add_column(name, no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right")
    for each in results:
        table.add_row(
            each.campaign, each.database, f"{each.cycles:,}", f"{each.acknowledged:,}",
            f"{each.lost:,}", f"{each.over_limit:,}",
            "[red]broken[/]" if each.bound is None else f"{each.bound:.1g}", f"{each.seconds:.0f}",
        )  # fmt: skip
    console.print(table)
    for each in results:
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(each.counts.items()))
        console.print(f"{each.campaign}, {each.database}: {counts}.")
        if each.summary:
            console.print(f"{each.campaign}, {each.database}: {each.summary}.")
        for finding in each.findings[:_MAX_FINDINGS]:
            console.print(f"[red]✗[/] {each.campaign}, {each.database}: {escape(finding)}")
        if len(each.findings) > _MAX_FINDINGS:
            console.print(f"… and {len(each.findings) - _MAX_FINDINGS:,} more")


def write_results(path: Path, results: Iterable[CampaignResult]) -> None:
    """Write results to a JSON file, where they replace earlier ones of the same campaigns."""
    earlier = orjson.loads(path.read_bytes()) if path.exists() else []
    lines = {(each["campaign"], each["database"]): each for each in earlier}
    run = {
        "at": datetime.now(UTC).replace(microsecond=0),
        "commit": _find_commit(),
        "machine": {
            "system": platform.system(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
    }
    for each in results:
        line = {known.name: getattr(each, known.name) for known in fields(each)}
        line |= {"bound": each.bound, "findings": each.findings[:_MAX_FINDINGS]}
        line |= {"seconds": round(each.seconds), "counts": dict(each.counts)}
        lines[each.campaign, each.database] = line | run
    path.write_bytes(orjson.dumps(list(lines.values()), option=orjson.OPT_INDENT_2) + b"\n")


def _find_commit() -> str:
    """The commit that was tried, with a plus sign if files were changed since."""
    command = ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()
