"""Keys that seal secrets, and everything that a database holds, for tests."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from sqlalchemy import text

from grader.grading.signing import SigningKey
from grader.store.database import Database, rewrite_file
from grader.store.queries.audit import add_signing_key, find_signing_key, list_signing_keys
from grader.store.queries.courses import get_secret
from grader.store.queries.secrets import Rotation, rotate_secrets
from grader.store.sealing import SealingKeys, make_sealing_key
from tests.support.audited_store import days
from tests.support.people import NOW, RUN, add_run

OLD, NEW = make_sealing_key(), make_sealing_key()
OLD_KEYS, NEW_KEYS = SealingKeys((OLD,)), SealingKeys((NEW,))
BOTH_KEYS = SealingKeys((NEW, OLD))


def write_key_file(path: Path, *keys: str, mode: int = 0o600) -> Path:
    """A file with keys, the newest first."""
    path.write_text("".join(f"{each}\n" for each in keys), encoding="utf-8")
    path.chmod(mode)
    return path


def list_stored_secrets(database: Database) -> list[bytes]:
    """The secrets as the database has them: those of course runs, then the signing keys."""
    with database.read() as session:
        statement = "SELECT secret FROM runs UNION ALL SELECT private FROM signing_keys"
        return [bytes(each) for each in session.scalars(text(statement))]


def is_anywhere(database: Database, secret: bytes) -> bool:
    """Whether a secret can be found in the files of SQLite, or in a dump of PostgreSQL."""
    if database.is_sqlite:
        path = Path(database.url.database or "")
        files = [each for each in path.parent.glob(f"{path.name}*") if not each.is_dir()]
        return any(secret in each.read_bytes() for each in files)
    with closing(database.reading.raw_connection()) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for (table,) in cursor.fetchall():
            # As `pg_dump` writes them: bytes are in hexadecimal.
            cursor.execute(f'SELECT CAST(each AS text) FROM "{table}" AS each')
            if any(secret.hex() in line for (line,) in cursor.fetchall()):
                return True
    return False


def begin(database: Database) -> tuple[bytes, bytes]:
    """Add a course run and a signing key; returns their secrets."""
    key = SigningKey.generate()
    with database.write() as session:
        add_run(session)
        add_signing_key(session, key_id=key.id, private=key.to_bytes(), at=NOW)
    return open_secrets(database)


def open_secrets(database: Database) -> tuple[bytes, bytes]:
    """The secret of the course run, and the private key that signs."""
    with database.read() as session:
        private = find_signing_key(session)
        assert private is not None
        assert private in list_signing_keys(session).values()
        return get_secret(session, run_id=RUN), private


def rotate(database: Database, keys: SealingKeys, *, unseal: bool = False) -> Rotation:
    """Rotate the secrets, as the command does with these keys."""
    with replace(database, sealing_keys=keys).write() as session:
        rotation = rotate_secrets(session, unseal=unseal, at=days(20), by="operator")
    rewrite_file(database)
    return rotation
