"""`grader secrets`: the keys that seal secrets in the database, and those that sign receipts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated

import typer

from grader.cli.console import (
    Command,
    ExitCode,
    JsonOption,
    make_typer,
    print_json,
    print_line,
    print_table,
    select_fields,
)
from grader.cli.database import OPERATOR, open_to_read, open_to_write, read_clock
from grader.errors import OperatorError
from grader.store.database import Database, rewrite_file
from grader.store.queries.audit import add_signing_key, find_signing_key
from grader.store.queries.facts import RecordedTable
from grader.store.queries.secrets import SecretLine, rotate_secrets, stream_secrets
from grader.store.sealing import make_sealing_key

EXAMPLES = """\
[bold]Examples[/]
  (umask 077; grader secrets new-key > secret.key)
  export GRADER_SECRET_KEY_FILE=$PWD/secret.key
  grader secrets rotate             seal all secrets by the newest key
  grader secrets status             which key seals how many
  grader secrets rotate --unseal    store them as they are again

Keep the key apart from backups of the database; neither is of use without the other.
Exit code 1 of status: a secret cannot be opened with the keys that are given.
"""

app = make_typer(no_args_is_help=True)


@app.command("status", cls=Command)
def status(as_json: JsonOption = False) -> None:
    """Count the secrets in the database by the key that seals them; it shows ids, never keys."""
    with open_to_read() as database, database.read() as session:
        given = database.sealing_keys.ids
        lines = [each for each in stream_secrets(session) if isinstance(each, SecretLine)]
    counted = _count(lines, given)
    if as_json:
        print_json(counted)
    else:
        headings = ["key", "state", "runs", "signing keys"]
        print_table(headings, [[str(each or "–") for each in row.values()] for row in counted])
        for each in lines:
            if each.problem:
                print_line(each.problem)
    if any(each.problem for each in lines):
        raise typer.Exit(ExitCode.NOT_SOUND)


def _count(lines: Iterable[SecretLine], given: tuple[str, ...]) -> list[dict[str, object]]:
    """A row for each key, those that are given first, and one for what is plain."""
    counts = Counter((each.key_id, each.table) for each in lines)
    others = sorted({key for key, _ in counts if key is not None} - set(given))
    return [
        {
            "key": key,
            "state": _describe_key(key, given),
            "runs": counts[key, RecordedTable.RUNS],
            "signing_keys": counts[key, RecordedTable.SIGNING_KEYS],
        }
        for key in (*given, *others, None)
    ]


def _describe_key(key_id: str | None, given: tuple[str, ...]) -> str:
    if key_id is None:
        return "plain"
    if key_id not in given:
        return "missing"
    return "seals" if key_id == given[0] else "opens"


@app.command("new-key", cls=Command)
def new_key() -> None:
    """Print a new key that can seal secrets; it is stored nowhere."""
    typer.echo(make_sealing_key())


@app.command("rotate", cls=Command)
def rotate(
    unseal: Annotated[
        bool, typer.Option("--unseal", metavar="", help="Store all secrets as they are instead.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Seal all secrets in the database by the newest key, in one transaction."""
    with open_to_write() as database:
        if not database.sealing_keys.keys and not unseal:
            raise OperatorError(
                "There is no key. Set GRADER_SECRET_KEY_FILE to a file with one; "
                "`grader secrets new-key` prints a key."
            )
        with database.write() as session:
            rotation = rotate_secrets(session, unseal=unseal, at=read_clock(), by=OPERATOR)
        if not unseal:
            # Also if there was nothing to seal: another try may have come no further.
            _rewrite_file(database)
    if as_json:
        print_json(select_fields(rotation, "key_id", "runs", "signing_keys"))
        return
    how = f"sealed by the key {rotation.key_id}" if rotation.key_id else "stored as they are"
    print_line(
        f"All secrets are {how}. Changed: {rotation.runs} of course runs, "
        f"{rotation.signing_keys} signing keys."
    )


def _rewrite_file(database: Database) -> None:
    try:
        rewrite_file(database)
    except OperatorError as error:
        raise OperatorError(
            f"The secrets are sealed, but the file may still have traces of them. {error} "
            "Run `grader secrets rotate` again."
        ) from None


@app.command("new-signing-key", cls=Command)
def new_signing_key(as_json: JsonOption = False) -> None:
    """Add a key that signs receipts from the next start on; older receipts stay verifiable."""
    # Only this command needs to make a key.
    from grader.grading.signing import SigningKey

    key = SigningKey.generate()
    with open_to_write() as database, database.write() as session:
        add_signing_key(
            session, key_id=key.id, private=key.to_bytes(), at=read_clock(), by=OPERATOR
        )
        if find_signing_key(session) != key.to_bytes():
            raise OperatorError(
                "A signing key of the database is newer than this one: the clock of this machine "
                "is behind, or was ahead. Nothing was changed."
            )
    if as_json:
        print_json({"id": key.id, "public": key.public})
        return
    print_line(f"Added {key.id}. Restart the service: each process signs with it from its start.")
