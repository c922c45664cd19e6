"""What a roster would change, shown before it is."""

from __future__ import annotations

from grader.accounts.rosters import Kind, RosterChange, RosterPlan
from grader.cli.database import print_table, say

# A table that is longer than this tells nobody anything.
_MOST_SHOWN = 40

_WORDS = {
    Kind.NEW: "new",
    Kind.ENROLLED: "enrolled",
    Kind.RETURNING: "comes back",
    Kind.CHANGED: "changed",
    Kind.LEAVING: "leaves",
}


def print_plan(plan: RosterPlan) -> None:
    """Print everybody to whom something happens, then how many stay as they are."""
    changes = plan.of(*_WORDS)
    for heading in plan.roster.unused:
        say(f"The column {heading!r} is not used.")
    if changes:
        rows = [_row(each) for each in changes[:_MOST_SHOWN]]
        print_table(["login", "name", "role", "section", "", ""], rows)
    if len(changes) > _MOST_SHOWN:
        say(f"… and {len(changes) - _MOST_SHOWN} more; --json lists all.")
    counts = plan.counts
    told = [f"{counts[kind]} {word}" for kind, word in _WORDS.items() if counts[kind]]
    say(", ".join([*told, f"{counts[Kind.UNCHANGED]} unchanged"]) + ".")


def _row(change: RosterChange) -> list[str]:
    notes = [
        f"{each.field} was {each.before}" if each.before else f"{each.field} is new"
        for each in change.differences
    ]
    notes += [f"keeps the {field} of the account" for field in change.kept]
    return [
        change.login, change.name, change.role.value, change.section, _WORDS[change.kind],
        ", ".join(notes),
    ]  # fmt: skip


def plan_as_data(plan: RosterPlan) -> dict[str, object]:
    """A plan for programs."""
    return {
        "complete": plan.is_complete,
        "unused_columns": list(plan.roster.unused),
        "counts": {kind.value: count for kind, count in plan.counts.items()},
        "changes": [_as_data(each) for each in plan.changes],
    }


def _as_data(change: RosterChange) -> dict[str, object]:
    return {
        "kind": change.kind.value,
        "line": change.line,
        "login": change.login,
        "name": change.name,
        "email": change.email,
        "role": change.role.value,
        "section": change.section,
        "differences": [
            {"field": each.field, "before": each.before, "after": each.after}
            for each in change.differences
        ],
        "kept": list(change.kept),
    }
