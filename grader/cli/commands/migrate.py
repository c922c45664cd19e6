"""`grader migrate`: the tables of the database, brought up to date."""

from __future__ import annotations

from typing import Annotated

import typer

from grader.cli.console import JsonOption, print_json
from grader.cli.database import YesOption, print_line, remove_password
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
  grader migrate                to the newest revision
  grader migrate --check        is anything to do? (exit code 1: yes)
  grader migrate --to 0001      back to an earlier one

`grader serve` does this by itself when it starts.
"""


def migrate(
    check: Annotated[
        bool, typer.Option("--check", metavar="", help="Only say what is to do.")
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(metavar="REVISION", help="Back to this one; base takes every table away."),
    ] = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Bring the database up to date, or take it back to an earlier revision."""
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
        print_line("Nothing was to do.")


def _check(address: str, *, as_json: bool) -> None:
    waiting = list_pending_revisions(address)
    if as_json:
        data = {"revision": find_current_revision(address), "pending": waiting}
        print_json({"database": remove_password(address), **data})
    elif waiting:
        print_line(f"To do: {', '.join(waiting)}. `grader migrate` does it.")
    else:
        print_line(f"The database {remove_password(address)} is up to date.")
    if waiting:
        raise typer.Exit(1)


def _downgrade(address: str, before: str, to: str, *, yes: bool) -> list[str]:
    known = [BASE, *list_revisions()]
    if to in known and before in known and known.index(to) > known.index(before):
        raise OperatorError("Going up ends at the newest revision only; leave --to out.")
    if to in known and to != before and not yes:
        typer.confirm(f"Going back to {to} loses what came later. Go on?", abort=True, err=True)
    return migrate_down(address, to)
