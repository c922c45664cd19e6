import ast
import re
import shutil
import subprocess
import sys
import textwrap
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from hatchling.builders.wheel import WheelBuilder
from sqlalchemy import MetaData, inspect, select, text

from grader.errors import OperatorError
from grader.store.database import Database, open_database
from grader.store.migrations import (
    find_current_revision,
    get_migrations_folder,
    list_pending_revisions,
    list_revisions,
    migrate_down,
    migrate_up,
)
from grader.store.queries.audit import MIGRATION, STATE_RECORDED
from grader.store.queries.facts import RecordedTable, read_facts
from grader.store.queries.idempotency import find_answered_requests
from grader.store.tables.base import Base
from tests.support.databases import empty_url
from tests.support.rows import add_rows
from tests.support.sealing import OLD_KEYS, begin, list_stored_secrets, rotate

ROOT = Path(__file__).parents[2]
NEWEST = list_revisions()[-1]

Rows = dict[str, list[dict[str, Any]]]


def look(url: str) -> Rows:
    """All rows by table, as they are and whatever the models say."""
    with closing(open_database(url)) as database, database.read() as session:
        found = MetaData()
        found.reflect(session.connection())
        return {
            table.name: [dict(row) for row in session.execute(select(table)).mappings()]
            for table in found.sorted_tables
            if table.name != "alembic_version"
        }


def shared(rows: Rows, other: Rows) -> Rows:
    """Rows reduced to the tables and columns that the other ones have, too."""
    return {
        name: [
            {column: value for column, value in row.items() if column in other[name][0]}
            for row in rows[name]
        ]
        for name in rows
        if other.get(name)
    }


def look_without_recorded(url: str) -> Rows:
    """All rows without the entries of the chain that a migration adds."""
    rows = look(url)
    return rows | {"audit": [each for each in rows["audit"] if each["by"] != MIGRATION]}


def describe(database: Database) -> dict[str, Any]:
    """What the database itself says about its tables, without the words of one dialect."""
    inspector = inspect(database.reading)

    def names(constraints: Any) -> list[tuple[object, ...]]:
        # Checks and indexes are compared by name; some say their columns in another way.
        return sorted((each["name"], *each.get("constrained_columns", ())) for each in constraints)

    return {
        table: {
            "columns": [(each["name"], each["nullable"]) for each in inspector.get_columns(table)],
            "primary key": names([inspector.get_pk_constraint(table)]),
            "foreign keys": names(inspector.get_foreign_keys(table)),
            "unique": names(inspector.get_unique_constraints(table)),
            "checks": names(inspector.get_check_constraints(table)),
            "indexes": names(
                each for each in inspector.get_indexes(table) if not each["unique"]
            ),
        }
        for table in inspector.get_table_names()
        if table != "alembic_version"
    }  # fmt: skip


def checks(database: Database) -> dict[tuple[str, object], str]:
    """What the checks say, in the words of the database."""
    inspector = inspect(database.reading)
    return {
        (table, each["name"]): each["sqltext"]
        for table in inspector.get_table_names()
        for each in inspector.get_check_constraints(table)
    }


def test_an_empty_database_comes_up_to_date(blank_url: str) -> None:
    assert find_current_revision(blank_url) is None
    assert list_pending_revisions(blank_url) == list_revisions()

    assert migrate_up(blank_url) == list_revisions()

    assert find_current_revision(blank_url) == NEWEST
    assert list_pending_revisions(blank_url) == []
    assert migrate_up(blank_url) == []


def test_models_and_migrations_agree(database: Database) -> None:
    with database.read() as session:
        context = MigrationContext.configure(
            session.connection(),
            opts={"compare_type": True, "compare_server_default": True},
        )

        assert compare_metadata(context, Base.metadata) == []


def test_constraints_agree_with_the_models(
    database: Database, backend: str, tmp_path: Path
) -> None:
    # Alembic's own comparison leaves out checks and the names of primary keys.
    with (
        empty_url(backend, tmp_path) as url,
        closing(open_database(url)) as from_models,
    ):
        Base.metadata.create_all(from_models.writing)

        assert describe(database) == describe(from_models)
        assert checks(database) == checks(from_models)


def test_both_databases_have_the_same_tables(
    sqlite_database: Database, postgresql_database: Database
) -> None:
    assert describe(sqlite_database) == describe(postgresql_database)


def test_data_survives_every_step_down_and_up(database_url: str) -> None:
    with closing(open_database(database_url)) as database, database.write() as session:
        add_rows(session)
    before = look_without_recorded(database_url)
    assert {len(rows) for rows in before.values()} == {1}

    for revision in list_revisions()[-2::-1]:
        migrate_down(database_url, revision)
        lower = look_without_recorded(database_url)
        # A column that the step takes away comes back without a row to compare it with.
        assert shared(lower, before) == shared(before, lower)
        migrate_up(database_url)
        upper = look_without_recorded(database_url)
        assert shared(upper, lower) == shared(before, lower)
        before = upper


def test_rows_of_before_are_recorded_with_the_migration(database_url: str) -> None:
    with closing(open_database(database_url)) as database, database.write() as session:
        add_rows(session)
    migrate_down(database_url, "0007")

    migrate_up(database_url)

    entries = look(database_url)["audit"]
    assert [(each["by"], each["action"]) for each in entries[1:]] == [(MIGRATION, STATE_RECORDED)]
    recorded = {table for table, _, _ in read_facts(entries[1]["facts"])}
    # Regrades are younger than the facts: those of before are gone with the migration down.
    assert recorded == set(RecordedTable) - {RecordedTable.REGRADES}


def test_stored_responses_are_shared_and_survive(database_url: str) -> None:
    bodies = {"first": '{"id": "att_1"}', "again": '{"id": "att_1"}', "other": '{"id": "att_2"}'}
    with closing(open_database(database_url)) as database, database.write() as session:
        add_rows(session)
        session.execute(text("DELETE FROM idempotency_keys"))
        session.execute(text("DELETE FROM idempotent_responses"))
    migrate_down(database_url, "0007")
    with closing(open_database(database_url)) as database, database.write() as session:
        for key, body in bodies.items():
            session.execute(
                text(
                    "INSERT INTO idempotency_keys"
                    " (caller, key, request_digest, status, body, made_at) VALUES"
                    " ('per_1', :key, 'digest', 201, :body, '2026-11-16 12:00:00.000000')"
                ),
                {"key": key, "body": body},
            )

    migrate_up(database_url)

    with closing(open_database(database_url)) as database, database.read() as session:
        found = find_answered_requests(session, keys=[("per_1", key) for key in bodies])
        assert {key: each.body for (_, key), each in found.items()} == bodies
        assert session.scalar(text("SELECT count(*) FROM idempotent_responses")) == 2


def test_sealed_secrets_are_not_left_to_a_revision_that_knows_no_seals(
    database: Database, database_url: str
) -> None:
    secrets = begin(database)
    rotate(database, OLD_KEYS)

    for revision in ("0009", "base"):
        with pytest.raises(OperatorError, match="`grader secrets rotate --unseal` stores them"):
            migrate_down(database_url, revision)
        assert find_current_revision(database_url) == NEWEST
    rotate(database, OLD_KEYS, unseal=True)

    assert "0010" in migrate_down(database_url, "0009")
    assert list_stored_secrets(database) == list(secrets)


def test_a_filled_database_goes_down_to_nothing_and_up_again(database_url: str) -> None:
    with closing(open_database(database_url)) as database, database.write() as session:
        add_rows(session)

    assert migrate_down(database_url, "base") == list_revisions()[::-1]

    assert look(database_url) == {}
    assert find_current_revision(database_url) is None
    assert migrate_up(database_url) == list_revisions()
    with closing(open_database(database_url)) as database, database.write() as session:
        add_rows(session)


def test_going_down_to_where_it_is_does_nothing(database_url: str) -> None:
    assert migrate_down(database_url, NEWEST) == []
    assert find_current_revision(database_url) == NEWEST


def test_an_unknown_revision_is_refused(database_url: str) -> None:
    with pytest.raises(OperatorError, match=r"There is no revision 9999\. Known: base, 0001"):
        migrate_down(database_url, "9999")


# A program that is newer than this one.

WIDER = """
    import sqlalchemy as sa
    from alembic import op

    revision = "{revision}"
    down_revision = "{newest}"


    def upgrade() -> None:
        with op.batch_alter_table("people") as batch:
            batch.add_column(sa.Column("nickname", sa.Text(), server_default="none"))
            batch.alter_column("name", type_=sa.String(300), nullable=False)
        {more}


    def downgrade() -> None:
        with op.batch_alter_table("people") as batch:
            batch.drop_column("nickname")
            batch.alter_column("name", type_=sa.String(200), nullable=False)
"""
NEWER = f"{int(NEWEST) + 1:04d}"


def newer_program(folder: Path, more: str = "pass") -> Path:
    """A copy of this program that knows one more migration."""
    ignored = shutil.ignore_patterns("__pycache__")
    for part in ("grader", "alembic"):
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    text = WIDER.format(revision=NEWER, newest=NEWEST, more=more)
    (folder / "alembic" / "versions" / f"{NEWER}_widen.py").write_text(textwrap.dedent(text))
    return folder


def run_python(code: str, *arguments: str, program: Path = ROOT) -> "subprocess.Popen[str]":
    code = f"import sys; sys.path.insert(0, {str(program)!r})\n{code}"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=program,
    )


UPGRADE = "from grader.store.migrations import migrate_up; print(migrate_up(sys.argv[1]))"
DOWNGRADE = (
    "from grader.store.migrations import migrate_down; "
    "print(migrate_down(sys.argv[1], sys.argv[2]))"
)


def test_changing_a_table_keeps_what_refers_to_it(database_url: str, tmp_path: Path) -> None:
    # On SQLite a changed table is a new one, and dropping the old must delete nothing.
    with closing(open_database(database_url)) as database, database.write() as session:
        add_rows(session)
    before = look(database_url)
    program = newer_program(tmp_path / "newer 100% program")

    assert run_python(UPGRADE, database_url, program=program).communicate()[0] == f"['{NEWER}']\n"
    upper = look(database_url)
    assert upper["people"][0]["nickname"] == "none"
    assert shared(upper, before) == before

    down = run_python(DOWNGRADE, database_url, NEWEST, program=program)
    assert down.communicate()[0] == f"['{NEWER}']\n"
    assert look(database_url) == before
    assert migrate_up(database_url) == []


def test_a_migration_that_fails_changes_nothing(database_url: str, tmp_path: Path) -> None:
    program = newer_program(tmp_path / "program", more='op.execute("SELECT nonsense")')
    with closing(open_database(database_url)) as database:
        before = describe(database)

    _, errors = run_python(UPGRADE, database_url, program=program).communicate()

    assert "OperatorError: The database cannot be used: " in errors
    assert find_current_revision(database_url) == NEWEST
    with closing(open_database(database_url)) as database:
        assert describe(database) == before


def test_a_row_that_would_refer_to_nothing_undoes_a_migration(
    sqlite_url: str, tmp_path: Path
) -> None:
    with closing(open_database(sqlite_url)) as database, database.write() as session:
        add_rows(session)
    before = look(sqlite_url)
    program = newer_program(tmp_path / "program", more='op.execute("DELETE FROM courses")')

    _, errors = run_python(UPGRADE, sqlite_url, program=program).communicate()

    assert "A row of runs would refer to a missing row of courses" in errors
    assert look(sqlite_url) == before


def test_a_newer_database_is_refused(database: Database, database_url: str) -> None:
    with database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    for action in (migrate_up, list_pending_revisions):
        with pytest.raises(OperatorError, match=r"is at revision 9999, .* Install the newer"):
            action(database_url)
    with pytest.raises(OperatorError, match="is at revision 9999"):
        migrate_down(database_url, "base")


def test_a_database_of_something_else_is_refused(blank_url: str) -> None:
    with closing(open_database(blank_url)) as database, database.write() as session:
        session.execute(text("CREATE TABLE people (id INTEGER)"))

    with pytest.raises(OperatorError, match=r"The database cannot be used: .*people.* exists"):
        migrate_up(blank_url)


def test_a_database_that_is_not_there_is_told_with_its_reason(postgresql_url: str) -> None:
    url = re.sub(r"test_\w+", "no_such_database", postgresql_url)

    with pytest.raises(OperatorError, match='database "no_such_database" does not exist'):
        migrate_up(url)


def test_many_processes_may_start_at_once(blank_url: str) -> None:
    # All begin at one moment, when each has imported what it needs.
    code = f"import grader.store.migrations; print('ready', flush=True); input()\n{UPGRADE}"
    processes = [run_python(code, blank_url) for _ in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()

    said = sorted(process.communicate() for process in processes)

    assert said == sorted([(f"{list_revisions()}\n", ""), *[("[]\n", "")] * 3])
    assert find_current_revision(blank_url) == NEWEST


def test_where_nothing_is_to_do_alembic_is_not_even_imported(database_url: str) -> None:
    process = run_python(f"{UPGRADE}; print('alembic' in sys.modules)", database_url)

    assert process.communicate() == ("[]\nFalse\n", "")


def test_migrations_are_one_line_numbered_by_their_files() -> None:
    before = None
    for file in sorted((get_migrations_folder() / "versions").glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        assigned = {
            target.id: ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and not target.id.startswith("_")
        }
        assert assigned == {"revision": file.name[:4], "down_revision": before}
        before = assigned["revision"]


def test_migrations_depend_on_nothing_that_may_change() -> None:
    for file in get_migrations_folder().rglob("*.py"):
        assert "grader" not in re.findall(
            r"^(?:from|import) (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE
        )


def test_the_folder_does_not_hide_the_library() -> None:
    assert not list(get_migrations_folder().rglob("__init__.py"))


def test_the_wheel_brings_the_migrations(sqlite_url: str, tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    migrate_down(sqlite_url, "base")

    code = f"{UPGRADE}; import grader.store.migrations as m; print(m.get_migrations_folder())"
    said = run_python(code, sqlite_url, program=installed).communicate()

    folder = installed / "grader" / "_shipped" / "alembic"
    assert said == (f"{list_revisions()}\n{folder}\n", "")
