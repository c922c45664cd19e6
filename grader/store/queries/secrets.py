"""Secrets that may be sealed: those of course runs, and the private keys that sign receipts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select, update

from grader.errors import OperatorError
from grader.store.database import Session, lock
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.facts import RecordedTable
from grader.store.rows import UnreadableRow, stream_rows, to_raw_columns
from grader.store.sealing import (
    NO_SEALING_KEYS,
    SealedSecret,
    SealingKeys,
    find_key_id,
    get_sealing_keys,
    name_place,
)
from grader.store.tables.audit_keys import SigningKeyRow
from grader.store.tables.people import RunRow


class _SecretColumn(NamedTuple):
    table: RecordedTable
    row: type[RunRow] | type[SigningKeyRow]
    name: str


_COLUMNS = (
    _SecretColumn(RecordedTable.RUNS, RunRow, "secret"),
    _SecretColumn(RecordedTable.SIGNING_KEYS, SigningKeyRow, "private"),
)


@dataclass(frozen=True, slots=True)
class SecretLine:
    """A stored secret: the key that sealed it, None if it is plain, and why it cannot be opened."""

    table: RecordedTable
    row_id: str
    key_id: str | None
    problem: str
    """A sentence; empty if the secret can be read."""


def stream_secrets(session: Session) -> Iterator[SecretLine | UnreadableRow]:
    """All secrets, those of course runs first."""
    keys = get_sealing_keys(session)
    for column in _COLUMNS:

        def make(values: list[object], column: _SecretColumn = column) -> SecretLine:
            row_id, stored = values
            if not isinstance(row_id, str) or not isinstance(stored, bytes):
                raise TypeError("a secret is bytes")
            problem = ""
            try:
                keys.open(stored, place=name_place(column.table, row_id, column.name))
            except SealedSecret as error:
                problem = error.message
            return SecretLine(column.table, row_id, find_key_id(stored), problem)

        columns = (column.row.id, getattr(column.row, column.name))
        statement = select(*to_raw_columns(columns)).order_by(column.row.id)
        yield from stream_rows(session, statement, columns, make)


def check_secrets_open(session: Session) -> None:
    """Check that every sealed secret can be opened with the keys of this process.

    Raises
    ------
    OperatorError
        If one cannot; the message says what to do.
    """
    wrong = [
        each for each in stream_secrets(session) if isinstance(each, SecretLine) and each.problem
    ]
    if wrong:
        more = f" So are {len(wrong) - 1} more." if len(wrong) > 1 else ""
        raise OperatorError(
            f"{wrong[0].problem}{more} `grader secrets status` lists what is sealed by which key."
        )


@dataclass(frozen=True, slots=True)
class Rotation:
    """What a rotation sealed again or unsealed: the key, None if the secrets are plain now."""

    key_id: str | None
    runs: int
    signing_keys: int


def rotate_secrets(session: Session, *, unseal: bool, at: datetime, by: str) -> Rotation:
    """Seal every secret by the newest key, or store all of them as they are with `unseal`.

    On SQLite `rewrite_file` then removes the bytes of before.

    Raises
    ------
    SealedSecret
        If a secret cannot be opened; then nothing may be changed.
    """
    keys = get_sealing_keys(session)
    target = NO_SEALING_KEYS if unseal else SealingKeys(keys.keys[:1])
    lock(session, ["secrets"])
    changed = {each.table: _rotate(session, each, keys, target) for each in _COLUMNS}
    rotation = Rotation(
        target.newest_id,
        len(changed[RecordedTable.RUNS]),
        len(changed[RecordedTable.SIGNING_KEYS]),
    )
    if any(changed.values()):
        add_audit_entry(
            session, at=at, by=by, action="secrets.unsealed" if unseal else "secrets.sealed",
            subject=target.newest_id or "store", changed=changed,
            details={"runs": rotation.runs, "signing_keys": rotation.signing_keys},
        )  # fmt: skip
    return rotation


def _rotate(
    session: Session, column: _SecretColumn, keys: SealingKeys, target: SealingKeys
) -> list[str]:
    """Seal the secrets of a column that another key sealed; returns the ids of their rows."""
    stored = getattr(column.row, column.name)
    rows = session.execute(select(column.row.id, stored).order_by(column.row.id)).all()
    changed = []
    for row_id, before in rows:
        place = name_place(column.table, row_id, column.name)
        secret = keys.open(before, place=place)
        if find_key_id(before) == target.newest_id:
            continue
        sealed = target.seal(secret, place=place)
        session.execute(
            update(column.row).where(column.row.id == row_id).values({column.name: sealed})
        )
        changed.append(row_id)
    return changed
