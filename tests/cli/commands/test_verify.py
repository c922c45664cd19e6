from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import text

from grader.store.database import open_database
from grader.store.migrations import migrate_up
from grader.store.queries.audit import record_existing_rows
from tests.support.audited_store import Store, fill
from tests.support.command_line import data_of, run
from tests.support.databases import BACKENDS, fresh_url
from tests.support.people import NOW

CHECKS = [
    "database",
    "rubrics",
    "uploads",
    "attempts",
    "judgements",
    "grades",
    "totals",
    "audit chain",
    "secrets",
    "state",
    "other rows",
    "idempotency",
]


@pytest.fixture(scope="module", params=BACKENDS)
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """One store for all tests that leave it as it is."""
    folder = tmp_path_factory.mktemp("store")
    with fresh_url(request.param, folder) as url, closing(open_database(url)) as database:
        yield fill(database)


@pytest.fixture
def store(filled: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that the command finds."""
    address = filled.database.url.render_as_string(hide_password=False)
    monkeypatch.setenv("GRADER_DATABASE_URL", address.replace("+psycopg", ""))
    return filled


@pytest.fixture
def acknowledged(store: Store, tmp_path: Path) -> Path:
    path = tmp_path / "sent.jsonl"
    path.write_bytes(b"\n".join(store.lines()))
    return path


def test_the_command_explains_itself_by_examples() -> None:
    result = run("verify", "--help")

    assert "grader verify --judge 1000" in result.stdout.split("Examples")[1]
    assert "1: a check found one" in result.stdout


def test_a_healthy_store_is_fine(store: Store, acknowledged: Path) -> None:
    result = run("verify", "--acknowledged", acknowledged)

    assert result.exit_code == 0, result.stdout
    assert "✓  acknowledged        9  ok" in result.stdout
    assert "✗" not in result.stdout
    assert "All checks passed." in result.stdout
    assert f"(keep a copy elsewhere): {store.verify().head}" in result.stdout


def test_what_clients_were_told_may_come_from_standard_input(store: Store) -> None:
    sent = b"\n".join([*store.lines(), b"torn"])
    result = run("verify", "--acknowledged", "-", sent=sent)

    assert result.exit_code == 1
    assert "✗  acknowledged       10  1 discrepancy" in result.stdout
    assert "acknowledged: line 10: This line is not JSON." in result.stdout
    assert "Checks that found discrepancies: acknowledged." in result.stdout


def test_json_has_every_check(store: Store) -> None:
    data = data_of(run("verify", "--json"))

    assert data["fine"] is True
    assert [each["name"] for each in data["checks"]] == CHECKS
    attempts = data["checks"][CHECKS.index("attempts")]
    assert attempts == {"name": "attempts", "looked_at": 9, "found": 0, "discrepancies": []}
    head = store.verify().head
    assert data["head"] == {"number": head.number, "digest": head.digest}
    assert data["seed"] is None


def test_json_has_every_discrepancy(store: Store) -> None:
    result = run("verify", "--json", "--acknowledged", "-", sent=b"{}")

    assert result.exit_code == 1
    assert data_of(result)["fine"] is False
    assert data_of(result)["checks"][1]["discrepancies"] == [
        {"subject": "line 1", "text": "This is not the response to an attempt."}
    ]


def test_the_head_that_is_printed_is_one_that_is_taken(store: Store) -> None:
    printed = run("verify").stdout.split("elsewhere): ")[1].split()[0]

    assert run("verify", "--head", printed).exit_code == 0
    other = run("verify", "--head", printed[:-4] + "0000")
    assert other.exit_code == 1
    assert "✗  audit chain" in other.stdout


def test_attempts_are_judged_again_and_the_seed_is_told(store: Store) -> None:
    some = run("verify", "--judge", "2")
    seed = some.stdout.split("--seed ")[1].split(".")[0]

    assert some.exit_code == 0
    assert "✓  judged again        2  ok" in some.stdout
    data = data_of(run("verify", "--judge", "2", "--seed", seed, "--json"))
    assert data["seed"] == int(seed)
    assert data["checks"][-1]["looked_at"] == 2
    assert "✓  judged again        9  ok" in run("verify", "--judge", "all").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--acknowledged", "absent.jsonl"), "absent.jsonl cannot be read", id="file"),
        pytest.param(("--head", "12"), "is not a head", id="head"),
        pytest.param(("--judge", "some"), "or all", id="judge"),
        pytest.param(("--judge", "0"), "or all", id="none"),
        pytest.param(("--seed", "1"), "--seed needs --judge", id="seed"),
    ],
)
def test_a_wrong_call_ends_with_two(store: Store, arguments: tuple[str, ...], said: str) -> None:
    result = run("verify", *arguments)

    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""
    assert data_of(run("verify", *arguments, "--json"))["code"] == "operator.error"


def test_a_database_that_is_not_there_ends_with_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GRADER_DATABASE_URL", raising=False)
    monkeypatch.setenv("GRADER_DATA_FOLDER", str(tmp_path))
    result = run("verify")

    assert result.exit_code == 2
    assert "There is no database" in result.stderr


def test_what_was_tampered_with_is_listed_by_its_id(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_database(sqlite_url)) as database:
        store = fill(database)
        with database.write() as session:
            session.execute(text("UPDATE attempts SET answer = '[]' WHERE number = 3"))
            session.execute(
                text("UPDATE audit SET subject = 'somebody else' WHERE number = 2"),
            )
            session.execute(
                text(
                    "UPDATE idempotency_keys SET key = :key, body_digest = '' WHERE key = 'bob 1'"
                ),
                {"key": "\x1b[2J[red]"},
            )
    monkeypatch.setenv("GRADER_DATABASE_URL", sqlite_url)
    result = run("verify")

    assert result.exit_code == 1
    said = "The answer does not match its hash."
    assert f"attempts: {store.id('bob 3')}: {said}" in result.stdout
    assert "✓  judgements" in result.stdout
    # Whoever wrote into the store cannot move the cursor.
    assert "\x1b" not in result.stdout
    assert "idempotency: ?[2J[red]: The stored response to this key is missing." in result.stdout
    assert "discrepancies: attempts, audit chain, idempotency." in result.stdout


def test_a_damaged_file_is_a_discrepancy(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    with closing(open_database(sqlite_url)) as database:
        fill(database)
    whole = bytearray(path.read_bytes())
    with closing(open_database(sqlite_url)) as database, database.read() as session:
        page = session.execute(
            text("SELECT rootpage FROM sqlite_master WHERE name = 'audit'")
        ).scalar_one()
    whole[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    path.write_bytes(whole)
    monkeypatch.setenv("GRADER_DATABASE_URL", sqlite_url)
    result = run("verify")

    assert result.exit_code == 1
    assert "audit chain: database: The rest cannot be read: database disk" in result.stdout
    assert "✗  database" in result.stdout
    assert "✓  grades" in result.stdout


def test_the_progress_does_not_mix_with_the_result(store: Store) -> None:
    assert run("verify", "--judge", "1").stderr == ""


# Where nothing can be written


@contextmanager
def reading_only(folder: Path) -> Iterator[None]:
    """Let nobody write a folder and its files; the superuser does not ask, and becomes nobody."""
    is_superuser = os.geteuid() == 0
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    if is_superuser:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_superuser:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.fixture
def shown_folder() -> Iterator[Path]:
    """A folder that everybody may look into, other than those of pytest."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_file_that_cannot_be_written_is_verified(
    shown_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{shown_folder / 'keyset.sqlite'}"
    migrate_up(url)
    with closing(open_database(url)) as database:
        fill(database)
    monkeypatch.setenv("GRADER_DATABASE_URL", url)
    # What the command imports is imported before.
    assert run("verify").exit_code == 0
    before = {each.name: each.stat().st_mtime_ns for each in shown_folder.iterdir()}

    with reading_only(shown_folder):
        result = run("verify")

    assert result.exit_code == 0, result.stderr
    assert "All checks passed." in result.stdout
    assert {each.name: each.stat().st_mtime_ns for each in shown_folder.iterdir()} == before


def test_a_log_that_cannot_be_read_is_named(
    shown_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shown_folder / "keyset.sqlite"
    migrate_up(f"sqlite:///{path}")
    monkeypatch.setenv("GRADER_DATABASE_URL", f"sqlite:///{path}")
    assert run("verify").exit_code == 0
    # A copy of the file and of its log, as of a service that was running, without the index.
    (shown_folder / "keyset.sqlite-shm").unlink(missing_ok=True)
    (shown_folder / "keyset.sqlite-wal").write_bytes(b"\0" * 4096)

    with reading_only(shown_folder):
        result = run("verify")

    assert result.exit_code == 2
    assert "keyset.sqlite-wal has changes that cannot be read" in result.stderr
    assert "Copy the database with this file to another folder" in result.stderr


def test_a_file_that_cannot_be_opened_is_named(
    shown_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shown_folder / "keyset.sqlite"
    migrate_up(f"sqlite:///{path}")
    monkeypatch.setenv("GRADER_DATABASE_URL", f"sqlite:///{path}")
    assert run("verify").exit_code == 0

    with reading_only(shown_folder):
        if os.geteuid() == 65534:
            os.seteuid(0)
            path.chmod(0)
            os.seteuid(65534)
        else:
            path.chmod(0)
        result = run("verify")

    assert result.exit_code == 2
    assert f"{path} cannot be opened" in result.stderr


def test_a_store_of_before_says_since_when_it_is_covered(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_database(sqlite_url)) as database:
        fill(database)
        with database.write() as session:
            session.execute(text("UPDATE audit SET facts = NULL"))
            record_existing_rows(session, at=NOW)
    monkeypatch.setenv("GRADER_DATABASE_URL", sqlite_url)
    result = run("verify")

    assert result.exit_code == 0
    assert f"Changes by hand are noticed since {NOW:%Y-%m-%d %H:%M} UTC." in result.stdout
    assert data_of(run("verify", "--json"))["recorded_at"] == NOW.isoformat(timespec="seconds")


def test_a_restored_backup_of_a_store_in_use_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy.sqlite"
    with fresh_url("sqlite", tmp_path) as url, closing(open_database(url)) as database:
        store = fill(database)
        monkeypatch.setenv("GRADER_DATABASE_URL", url)
        head = run("verify").stdout.split("elsewhere): ")[1].split()[0]
        # What `.backup` of the program sqlite3 does, while the service has the file open.
        with (
            closing(sqlite3.connect(str(database.url.database))) as used,
            closing(sqlite3.connect(copy)) as kept,
        ):
            used.backup(kept)
        sent = b"\n".join(store.lines()).decode()
    monkeypatch.setenv("GRADER_DATABASE_URL", f"sqlite:///{copy}")

    restored = run("verify", "--judge", "all", "--head", head, "--acknowledged", "-", sent=sent)

    assert restored.exit_code == 0, restored.stdout
