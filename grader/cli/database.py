"""What the commands share that work on the service's database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from grader.cli.console import console
from grader.errors import OperatorError
from grader.settings import Settings, load_settings
from grader.store.database import Database, Session, open_database
from grader.store.migrations import find_current_revision, list_pending_revisions, migrate_up
from grader.store.queries.courses import RunLine, find_run, list_runs

#: Who did it, where somebody at the machine itself did.
OPERATOR = "operator"

_PASSWORD = re.compile(r"(?<=://)([^:@/]*):.*(?=@)")

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The course run.")]
LoginArgument = Annotated[str, typer.Argument(metavar="LOGIN", help="The person's login.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Do not ask.")]


def read_clock() -> datetime:
    """The time by this machine's clock."""
    return datetime.now(UTC)


@contextmanager
def open_to_read() -> Iterator[Database]:
    """The service's database, which must be up to date."""
    address = load_settings().address_of_database
    _check_file_exists(address)
    _check_up_to_date(address)
    with closing(open_database(address)) as database:
        yield database


@contextmanager
def open_to_write() -> Iterator[Database]:
    """The service's database; one that is still empty gets its tables first."""
    address = load_settings().address_of_database
    if find_current_revision(address) is None:
        migrate_up(address)
    with open_to_read() as database:
        yield database


def _check_file_exists(address: str) -> None:
    """Refuse to read from a file that is not there; opening it would make it."""
    path = address.partition("?")[0].removeprefix("sqlite:///")
    if address.startswith("sqlite:///") and path and not Path(path).exists():
        raise OperatorError(
            f"There is no database {path} yet. `grader migrate` makes it, and so does the first "
            "command that adds something. GRADER_DATA_FOLDER says where else it may be."
        )


def _check_up_to_date(address: str) -> None:
    waiting = list_pending_revisions(address)
    if not waiting:
        return
    revision = find_current_revision(address)
    state = f"is at revision {revision}, not {waiting[-1]}" if revision else "has no tables yet"
    raise OperatorError(
        f"The database {remove_password(address)} {state}. `grader migrate` brings it up to date."
    )


def remove_password(address: str) -> str:
    """The address of a database, for showing."""
    return re.sub(r"(?i)(?<=password=)[^&]*", "***", _PASSWORD.sub(r"\1:***", address))


def build_base_url(settings: Settings) -> str:
    """How browsers reach the service."""
    if settings.base_url:
        return settings.base_url.rstrip("/")
    host = "localhost" if settings.host in ("0.0.0.0", "::", "127.0.0.1") else settings.host
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"


def get_run(session: Session, run_id: str) -> RunLine:
    """The course run of this name, or a sentence about those that there are."""
    # Bytes that are no text come from the shell as characters that no database takes.
    run = find_run(session, run_id=run_id) if run_id.isprintable() else None
    if run is None:
        known = ", ".join(each.id for each in list_runs(session)[:20])
        there = (
            f"There are {known}." if known else "There is none yet; `grader course add` adds one."
        )
        raise OperatorError(f"There is no course run {run_id!r}. {there}")
    return run


def format_time(moment: datetime | None) -> str:
    """A moment for tables, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}" if moment else ""


def print_table(headings: list[str], rows: list[list[str]]) -> None:
    """Print a plain table; the text of its cells is never markup."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for place, heading in enumerate(headings):
        # What is typed again elsewhere stays in one piece.
        table.add_column(heading, overflow="fold", no_wrap=place == 0)
    for row in rows:
        table.add_row(*(_escape_cell(cell) for cell in row))
    console.print(table)


def _escape_cell(text: str) -> str:
    return escape("".join(c if c.isprintable() else "?" for c in text))


def print_line(text: str) -> None:
    """Print a line as it is."""
    console.print(text, markup=False, soft_wrap=True)


def check_line(text: str) -> str:
    """A title or label: one line that says something."""
    if not 1 <= len(text.strip()) <= 200 or not text.isprintable():
        raise typer.BadParameter("Write one line of 1 to 200 characters.")
    return text.strip()
