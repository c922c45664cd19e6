"""Secrets sealed in the database, on both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from sqlalchemy import text

from grader.errors import OperatorError
from grader.store.database import Database, open_database
from grader.store.queries.courses import get_secret
from grader.store.queries.secrets import Rotation, check_secrets_open
from grader.store.sealing import NO_SEALING_KEYS, SealedSecret, SealingKeys, find_key_id
from tests.support.people import OTHER, RUN, add_run
from tests.support.sealing import (
    BOTH_KEYS,
    NEW_KEYS,
    OLD_KEYS,
    begin,
    is_anywhere,
    list_stored_secrets,
    open_secrets,
    rotate,
)


@pytest.fixture
def sealed(database_url: str) -> Iterator[Database]:
    """A database that was opened with a key from the beginning."""
    with closing(open_database(database_url, sealing_keys=OLD_KEYS)) as opened:
        yield opened


def list_key_ids(database: Database) -> set[str | None]:
    return {find_key_id(each) for each in list_stored_secrets(database)}


def test_new_secrets_are_sealed_and_found_nowhere_in_the_database(sealed: Database) -> None:
    secrets = begin(sealed)

    assert list_key_ids(sealed) == {OLD_KEYS.newest_id}
    assert [len(each) for each in secrets] == [32, 32]
    assert not any(is_anywhere(sealed, each) for each in secrets)


def test_without_a_key_secrets_are_stored_as_they_are(database: Database) -> None:
    secrets = begin(database)

    assert list_stored_secrets(database) == list(secrets)
    assert all(is_anywhere(database, each) for each in secrets)


def test_sealing_leaves_no_trace_in_the_database(database: Database) -> None:
    secrets = list(begin(database))
    with database.write() as session:
        if database.is_sqlite:
            # Some systems build SQLite so that it overwrites what is deleted; others do not.
            session.execute(text("PRAGMA secure_delete = OFF"))
        # Enough for pages of SQLite to be split, which leaves copies of rows behind.
        for number in range(60):
            add_run(session, f"run-{number}")
            secrets.append(get_secret(session, run_id=f"run-{number}"))
    assert all(is_anywhere(database, each) for each in secrets)

    assert rotate(database, OLD_KEYS) == Rotation(OLD_KEYS.newest_id, 61, 1)

    assert not any(is_anywhere(database, each) for each in secrets)
    assert open_secrets(replace(database, sealing_keys=OLD_KEYS)) == tuple(secrets[:2])


def test_a_rotation_needs_the_old_key_once_and_then_no_longer(sealed: Database) -> None:
    secrets = begin(sealed)

    with pytest.raises(SealedSecret):
        rotate(sealed, NEW_KEYS)
    assert list_key_ids(sealed) == {OLD_KEYS.newest_id}
    assert rotate(sealed, BOTH_KEYS) == Rotation(NEW_KEYS.newest_id, 1, 1)
    assert rotate(sealed, BOTH_KEYS) == Rotation(NEW_KEYS.newest_id, 0, 0)

    assert list_key_ids(sealed) == {NEW_KEYS.newest_id}
    assert open_secrets(replace(sealed, sealing_keys=NEW_KEYS)) == secrets
    with pytest.raises(SealedSecret):
        open_secrets(sealed)


def test_unsealed_secrets_need_no_key(sealed: Database) -> None:
    secrets = begin(sealed)

    assert rotate(sealed, OLD_KEYS, unseal=True) == Rotation(None, 1, 1)

    assert list_stored_secrets(sealed) == list(secrets)
    assert open_secrets(replace(sealed, sealing_keys=NO_SEALING_KEYS)) == secrets


def test_a_rotation_that_fails_changes_nothing(database: Database) -> None:
    begin(database)
    rotate(database, OLD_KEYS)
    with database.write() as session:
        add_run(session, OTHER)
        stored = session.execute(text("SELECT id, secret FROM runs")).all()
        copied = {"id": OTHER, "secret": dict(map(tuple, stored))[RUN]}
        session.execute(text("UPDATE runs SET secret = :secret WHERE id = :id"), copied)
    before = list_stored_secrets(database)

    with pytest.raises(SealedSecret, match=f"runs/{OTHER}/secret .* changed or copied"):
        rotate(database, BOTH_KEYS)

    assert list_stored_secrets(database) == before


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        pytest.param(NO_SEALING_KEYS, "which was not given.*GRADER_SECRET_KEY_FILE", id="none"),
        pytest.param(NEW_KEYS, f"sealed by the key {OLD_KEYS.newest_id}, which", id="another"),
    ],
)
def test_the_wrong_keys_are_noticed(sealed: Database, keys: SealingKeys, said: str) -> None:
    begin(sealed)

    with replace(sealed, sealing_keys=keys).read() as session:
        with pytest.raises(OperatorError, match=said) as refused:
            check_secrets_open(session)
        assert "So are 1 more. `grader secrets status`" in str(refused.value)
    for right in (OLD_KEYS, BOTH_KEYS):
        with replace(sealed, sealing_keys=right).read() as session:
            check_secrets_open(session)


def test_a_rotation_is_in_the_audit_chain(database: Database) -> None:
    begin(database)
    rotate(database, OLD_KEYS)
    rotate(database, OLD_KEYS, unseal=True)

    with database.read() as session:
        statement = "SELECT action, subject, by, facts FROM audit ORDER BY number DESC LIMIT 2"
        (last, last_facts), (first, first_facts) = [
            (tuple(row[:3]), row[3]) for row in session.execute(text(statement))
        ]
    assert first == ("secrets.sealed", OLD_KEYS.newest_id, "operator")
    assert last == ("secrets.unsealed", "store", "operator")
    # The facts are those of the secrets, whichever key seals them.
    assert first_facts == last_facts
    assert '"runs"' in first_facts
    assert '"signing_keys"' in first_facts
