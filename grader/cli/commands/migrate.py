"""`grader migrate`: upgrade or downgrade the database."""

from __future__ import annotations

from typing import Annotated

import typer

from grader.cli.console import ExitCode, JsonOption, YesOption, print_json, print_line
from grader.cli.database import remove_password
from grader.errors import OperatorError
from grader.settings import load_settings
from grader.store.migrations import (
    BASE,
    find_current_revision,
    list_pending_revisions,
    list_revisions,
    migrate_down,
    migrate_up,
)

EXAMPLES = """\
[bold]Examples[/]
  grader migrate                upgrade to the newest revision
  grader migrate --check        list pending migrations (exit code 1 if there are any)
  grader migrate --to 0001      downgrade to an earlier revision

`grader serve` upgrades the database when it starts.
"""


def migrate(
    check: Annotated[
        bool,
        typer.Option("--check", metavar="", help="List pending migrations without running them."),
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(metavar="REVISION", help="Downgrade to this revision; base drops all tables."),
    ] = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Upgrade the database to the newest revision, or downgrade it."""
    address = load_settings().address_of_database
    if check:
        _check(address, as_json=as_json)
        return
    before = find_current_revision(address)
    if to is None or to == list_revisions()[-1]:
        done = migrate_up(address)
    else:
        done = _downgrade(address, before or BASE, to, yes=yes)
    if as_json:
        data = {"before": before, "revision": find_current_revision(address), "revisions": done}
        print_json({"database": remove_password(address), **data})
    elif done:
        print_line(
            f"The database {remove_password(address)} is at revision "
            f"{find_current_revision(address) or BASE}."
        )
    else:
        print_line("Nothing to do.")


def _check(address: str, *, as_json: bool) -> None:
    pending = list_pending_revisions(address)
    if as_json:
        data = {"revision": find_current_revision(address), "pending": pending}
        print_json({"database": remove_password(address), **data})
    elif pending:
        print_line(f"Pending: {', '.join(pending)}. Run `grader migrate`.")
    else:
        print_line(f"The database {remove_password(address)} is up to date.")
    if pending:
        raise typer.Exit(ExitCode.NOT_SOUND)


def _downgrade(address: str, before: str, to: str, *, yes: bool) -> list[str]:
    known = [BASE, *list_revisions()]
    if to in known and before in known and known.index(to) > known.index(before):
        raise OperatorError("An upgrade always goes to the newest revision; leave out --to.")
    if to in known and to != before and not yes:
        typer.confirm(
            f"Downgrading to {to} deletes the data of later revisions. Continue?",
            abort=True,
            err=True,
        )
    return migrate_down(address, to)
