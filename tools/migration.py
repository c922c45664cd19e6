"""Write a migration from what `grader.store.tables` has and the migrations have not.

::

    python tools/migration.py "Add what it adds"    the next one
    python tools/migration.py                       the newest one anew, until it is released

Read what it writes: a renamed column looks to it like one dropped and one added.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.operations import ops
from sqlalchemy.types import TypeDecorator

from grader.store.database import open_database
from grader.store.migrations import (
    build_alembic_config,
    get_migrations_folder,
    list_revisions,
)
from grader.store.tables.base import Base

VERSIONS = get_migrations_folder() / "versions"


def main(words: list[str]) -> None:
    """Write the next migration, or the newest one anew."""
    if words:
        write(" ".join(words), f"{len(list_revisions()) + 1:04d}")
        return
    newest = sorted(VERSIONS.glob("[0-9]*.py"))[-1]
    with removed(newest):
        title = re.match(r'"""(.*)\."""', newest.read_text(encoding="utf-8"))
        assert title is not None, f"{newest.name} must begin with a title"
        old = newest.rename(newest.with_suffix(".old"))
        write(title[1], old.name.partition("_")[0])


@contextmanager
def removed(file: Path) -> Iterator[None]:
    """Bring a file back where writing it anew fails."""
    old = file.with_suffix(".old")
    try:
        yield
    except BaseException:
        if old.exists():
            old.rename(file)
        raise
    old.unlink()


def write(title: str, revision: str) -> None:
    """Compare the models with a database that has all migrations, and write the difference."""
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(f"sqlite:///{folder}/database.sqlite3")
        # Not by `migrate_up`, which reads rows by the columns that are not there yet.
        with database.write() as session:
            command.upgrade(build_alembic_config(session.connection()), "head")
        with database.write() as session:
            config = build_alembic_config(
                session.connection(),
                target_metadata=Base.metadata,
                render_item=render_plainly,
                process_revision_directives=tidy,
            )
            command.revision(config, title, autogenerate=True, rev_id=revision)
        database.close()
    (file,) = VERSIONS.glob(f"{revision}_*.py")
    polish(file)
    print(file)


def polish(file: Path) -> None:
    """Leave out what Alembic writes for itself, and format the rest."""
    text = re.sub(r"^ *# ###.*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    # Names are final: the models' naming convention is not at work in a migration.
    text = re.sub(r"(?:batch_)?op\.f\(('\w+')\)", r"\1", text)
    file.write_text(text.replace(", unique=False)", ")"), encoding="utf-8")
    for arguments in (["check", "--fix-only", "--quiet"], ["format", "--quiet"]):
        subprocess.run([Path(sys.executable).parent / "ruff", *arguments, file], check=True)


def render_plainly(kind: str, item: Any, _: object) -> str | bool:
    """Types of our own by the plain ones beneath, which will never change."""
    if kind == "type" and isinstance(item, TypeDecorator):
        return f"sa.{item.impl_instance!r}"
    return False


def tidy(_: object, __: object, scripts: list[ops.MigrationScript]) -> None:
    """Indexes stand by themselves, and go with their table."""
    for script in scripts:
        for container in (script.upgrade_ops, script.downgrade_ops):
            assert container is not None
            gone = {each.table_name for each in container.ops if isinstance(each, ops.DropTableOp)}
            container.ops = [each for one in container.ops for each in flatten(one, gone)]


def flatten(operation: ops.MigrateOperation, gone: set[str]) -> list[ops.MigrateOperation]:
    """What a group of changes of a table comes to where none of them needs a batch."""
    if not isinstance(operation, ops.ModifyTableOps):
        return [operation]
    if operation.table_name in gone:
        return []
    plain = all(isinstance(each, ops.CreateIndexOp | ops.DropIndexOp) for each in operation.ops)
    return list(operation.ops) if plain else [operation]


if __name__ == "__main__":
    main(sys.argv[1:])
