"""Commands on a database of their own, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from grader.store.database import Session, open_database
from tests.support.command_line import Ended, data_of, run

RUN = "attention-2026"
ROSTER = "login,name,role\nada,Ada Lovelace,\ngrace,Grace Hopper,instructor\n"


def succeed(*arguments: object, sent: str | bytes | None = None) -> Ended:
    """Run a command that must end well."""
    ended = run(*arguments, sent=sent)
    assert ended.exit_code == 0, ended.stderr
    return ended


def told(*arguments: object) -> Any:
    """The data that a command prints."""
    return data_of(succeed(*arguments, "--json"))


@contextmanager
def reading(folder: Path) -> Iterator[Session]:
    """What the commands left in the database."""
    database = open_database(f"sqlite:///{folder / 'data' / 'keyset.sqlite'}")
    with closing(database), database.read() as session:
        yield session
