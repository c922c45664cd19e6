"""What commands share that work on the service's database."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.errors import OperatorError
from grader.settings import Settings, load_settings
from grader.store.database import Database, Session, open_database
from grader.store.migrations import find_current_revision, list_pending_revisions, migrate_up
from grader.store.queries.courses import RunLine, find_run, list_runs
from grader.store.queries.secrets import check_secrets_open
from grader.store.sealing import NO_SEALING_KEYS, SealingKeys, read_sealing_keys

if TYPE_CHECKING:
    from grader.grading.context import GradingContext

#: The author of changes made on the command line.
OPERATOR = "operator"

_PASSWORD = re.compile(r"(?<=://)([^:@/]*):.*(?=@)")

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The course run.")]
LoginArgument = Annotated[str, typer.Argument(metavar="LOGIN", help="The person's login.")]


def read_clock() -> datetime:
    """Return the current time, in UTC."""
    return datetime.now(UTC)


def make_grading_context() -> GradingContext:
    """Make a context for a command that grades or counts but signs nothing."""
    # Commands that only list or add records start faster without numpy.
    from grader.grading.context import GradingContext
    from grader.grading.signing import SigningKey

    return GradingContext(SigningKey.generate())


def open_with_keys(settings: Settings, *, read_only: bool = False) -> Database:
    """Open the service's database with the keys that seal its secrets."""
    return open_database(
        settings.address_of_database,
        read_only=read_only,
        sealing_keys=load_sealing_keys(settings),
    )


def load_sealing_keys(settings: Settings) -> SealingKeys:
    """Load the keys that seal secrets, from a file or a variable; there may be none.

    Raises
    ------
    OperatorError
        If the file cannot be read, others may read it, or something in it is not a key.
    """
    file, variable = settings.secret_key_file, settings.secret_key.get_secret_value()
    if file and variable:
        raise OperatorError(
            "Set GRADER_SECRET_KEY_FILE or GRADER_SECRET_KEY, but not both: the newest key seals."
        )
    if file:
        return read_sealing_keys(_read_private_file(Path(file)), source=file)
    if variable:
        return read_sealing_keys(variable, source="GRADER_SECRET_KEY")
    return NO_SEALING_KEYS


def _read_private_file(path: Path) -> str:
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise OperatorError(
            f"GRADER_SECRET_KEY_FILE: {path} cannot be read: {error.strerror}."
        ) from None
    except UnicodeDecodeError:
        raise OperatorError(f"GRADER_SECRET_KEY_FILE: {path} is not a text file.") from None
    # A group may read it, because containers often get secrets in that way.
    if mode & 0o037:
        raise OperatorError(
            f"GRADER_SECRET_KEY_FILE: others may read or change {path} "
            f"(mode {stat.S_IMODE(mode):04o}). `chmod 600` makes it private."
        )
    return text


@contextmanager
def open_to_read() -> Iterator[Database]:
    """Open the service's database, which must be up to date; it may be on a read-only disk."""
    with _open(read_only=True) as database:
        yield database


@contextmanager
def open_to_write() -> Iterator[Database]:
    """Open the service's database; create the tables first if it has none."""
    address = load_settings().address_of_database
    if find_current_revision(address) is None:
        migrate_up(address)
    with _open(read_only=False) as database:
        # A new secret must not be sealed by another key than those that the service has.
        with database.read() as session:
            check_secrets_open(session)
        yield database


@contextmanager
def _open(*, read_only: bool) -> Iterator[Database]:
    settings = load_settings()
    address = settings.address_of_database
    _check_file_exists(address)
    _check_up_to_date(address, read_only=read_only)
    with closing(open_with_keys(settings, read_only=read_only)) as database:
        yield database


def _check_file_exists(address: str) -> None:
    """Refuse a SQLite file that does not exist; opening it would create it."""
    path = address.partition("?")[0].removeprefix("sqlite:///")
    if address.startswith("sqlite:///") and path and not Path(path).exists():
        raise OperatorError(
            f"There is no database {path} yet. `grader migrate` creates it, and so does the first "
            "command that adds something. Set GRADER_DATA_FOLDER if it is in another folder."
        )


def _check_up_to_date(address: str, *, read_only: bool) -> None:
    pending = list_pending_revisions(address, read_only=read_only)
    if not pending:
        return
    revision = find_current_revision(address, read_only=read_only)
    state = f"is at revision {revision}, not {pending[-1]}" if revision else "has no tables yet"
    raise OperatorError(
        f"The database {remove_password(address)} {state}. `grader migrate` brings it up to date."
    )


def remove_password(address: str) -> str:
    """Return the address of a database with its password hidden."""
    return re.sub(r"(?i)(?<=password=)[^&]*", "***", _PASSWORD.sub(r"\1:***", address))


def build_base_url(settings: Settings) -> str:
    """Return the URL at which browsers reach the service."""
    if settings.base_url:
        return settings.base_url.rstrip("/")
    host = "localhost" if settings.host in ("0.0.0.0", "::", "127.0.0.1") else settings.host
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"


def get_run(session: Session, run_id: str) -> RunLine:
    """Return a course run; the error names the runs that exist."""
    # The shell may pass bytes that are not text, which no database accepts.
    run = find_run(session, run_id=run_id) if run_id.isprintable() else None
    if run is None:
        known = ", ".join(each.id for each in list_runs(session)[:20])
        hint = f"There are {known}." if known else "Add one with `grader course add`."
        raise OperatorError(f"There is no course run {run_id!r}. {hint}")
    return run
