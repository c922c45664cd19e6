from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from sqlalchemy import Boolean, Column, Integer, LargeBinary, String, Table, select, text, update

from grader.accounts.people import change_person, end_account, get_by_login
from grader.accounts.rosters import end_enrolment
from grader.accounts.sign_in import set_password
from grader.accounts.tokens import make_personal_token, make_service_token, revoke_service_token
from grader.domain.roles import Role, Scope
from grader.grading.audit.findings import AuditCheck
from grader.grading.audit.state import check_state
from grader.grading.context import GradingContext
from grader.grading.regrades.decide import undo_regrade
from grader.grading.signing import SigningKey
from grader.grading.submissions.uploads import upload
from grader.store.database import Database, Session, open_database
from grader.store.queries.audit import MIGRATION, STATE_RECORDED, record_existing_rows
from grader.store.queries.courses import get_member
from grader.store.queries.facts import (
    ROWS_PER_ENTRY,
    RecordedTable,
    RowFacts,
    is_hashed,
    is_recorded_completely,
    list_fact_columns,
    stream_facts,
)
from grader.store.tables.base import Base
from grader.store.types import JsonText, UtcDateTime
from tests.support.audit_entries import list_audit_entries
from tests.support.audited_store import TRANSFORMERS, Store, days, fill, tampering
from tests.support.databases import BACKENDS, fresh_url
from tests.support.histories import LONG, QUESTION, StaffHistory, long_assignment
from tests.support.people import NOW, RUN, add, add_member, add_run, bring, place_of
from tests.support.regrades import regrade_now
from tests.support.rows import add_rows
from tests.support.statements import record_writing

PDF = b"%PDF-1.7 written"


@pytest.fixture(scope="module", params=BACKENDS)
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """One store for all tests; what they tamper with is undone."""
    folder = tmp_path_factory.mktemp("store")
    with fresh_url(request.param, folder) as url, closing(open_database(url)) as database:
        yield fill_everything(database)


def fill_everything(database: Database) -> Store:
    """A store in which every recorded column has a value somewhere, and an answer has a file."""
    store = fill(database)
    store.publish(long_assignment(), due_at=days(30), at=days(2))
    with database.write() as session:
        grace = place_of(session, "grace")
        bob = get_by_login(session, login="bob")
        set_password(session, bob, "a long password", at=days(3), by="operator")
        change_person(session, bob, email="bob@example.edu", at=days(3), by="operator")
        make_personal_token(
            session, bob, label="notebook", scopes=[Scope.READ], days=30, at=days(3), by="operator"
        )
        sync = make_service_token(
            session, grace, label="sync", scopes=[Scope.READ], days=30, at=days(3)
        )
        revoke_service_token(session, grace, token_id=sync.line.id, at=days(4))
        add_member(session, "leaver", Role.ASSISTANT)
        leaver = get_member(session, run_id=RUN, login="leaver")
        end_enrolment(session, grace, leaver, at=days(5), by="operator")
        end_account(session, add(session, "gone"), at=days(5), by="operator")
        file = upload(
            session, place_of(session, "cora"), name="written.pdf", content=PDF, at=days(1)
        )
    written = f"See [written.pdf]({file.digest})."
    store.send("file", "cora", QUESTION, {"q": "k_a", "explanation": written}, at=days(3))
    store.publish(long_assignment(within=0.05), due_at=days(30), at=days(6))
    with database.write() as session:
        line = regrade_now(session, store.context, run_id=RUN, assignment=LONG, at=days(7))
        undo_regrade(
            session, store.context, run_id=RUN, regrade_id=line.id, reason="Too early.",
            by="operator", at=days(8),
        )  # fmt: skip
    return store


def find_wrong(store: Store, session: Session) -> dict[str, list[str]]:
    """What is wrong by subject, without SQLite's own word on what points nowhere."""
    # A context keeps what never changes.
    fresh = replace(store, verifier=GradingContext(SigningKey.generate()))
    found: dict[str, list[str]] = {}
    for each in fresh.verify(session).checks:
        for one in each.discrepancies if each.name != "database" else ():
            found.setdefault(one.subject, []).append(one.text)
    return found


def find_value(store: Store, statement: str) -> str:
    with store.database.read() as session:
        return str(session.execute(text(statement)).scalars().first())


def test_a_store_of_every_kind_of_row_is_fine(store: Store) -> None:
    result = store.verify()

    assert result.is_fine
    assert result.recorded_at is None
    looked_at = {each.name: each.looked_at for each in result.checks}
    assert looked_at["state"] == 55
    assert looked_at["uploads"] == 1
    with store.database.read() as session:
        for table in RecordedTable:
            rows = Base.metadata.tables[table]
            for name in list_fact_columns(table):
                values = session.scalars(select(rows.c[name])).all()
                assert any(each is not None for each in values), (table, name)


# Every recorded column

_COLUMNS = [
    pytest.param(table, name, id=f"{table}.{name}")
    for table in RecordedTable
    if is_recorded_completely(table)
    for name in list_fact_columns(table)
]


@pytest.mark.parametrize(("table", "name"), _COLUMNS)
def test_a_changed_column_of_a_recorded_row_is_named(
    store: Store, table: RecordedTable, name: str
) -> None:
    rows = Base.metadata.tables[table]
    column, keys = rows.c[name], list(rows.primary_key)
    with tampering(store.database) as session:
        row = session.execute(select(*keys, column).where(column.is_not(None)).limit(1)).one()
        is_it = [key == value for key, value in zip(keys, row[:-1], strict=True)]
        session.execute(update(rows).where(*is_it).values({name: make_other(column, row[-1])}))
        tally = AuditCheck("state", lambda _name, _count: None)
        check_state(session, tally)

    found = {each.subject: each.text for each in tally.kept}
    assert list(found) == [f"{table} {'/'.join(row[:-1])}"]
    (says,) = found.values()
    assert says.startswith(f"Its {name} is ")
    if is_hashed(table, name):
        assert says.startswith(f"Its {name} is not what entry ")
        assert not row[-1] or str(row[-1]) not in says


def make_other(column: Column[Any], value: Any) -> Any:
    """Another value that the constraints of the table allow."""
    match column.type:
        case Boolean():
            return not value
        case UtcDateTime():
            return value + timedelta(microseconds=1)
        case JsonText():
            return value | {"other": 7} if isinstance(value, dict) else [*value, 7]
        case LargeBinary():
            return value[::-1] + b"\0"
        case Integer():
            return value + 7
        case _ if column.name == "role":
            return "instructor" if value != "instructor" else "student"
        case _ if column.name in ("points", "possible"):
            return value + 1
        case _ if column.name == "state":
            return "applied" if value != "applied" else "undone"
        case _:
            return "x" + value[1:] if value and value[0] != "x" else "y"


# Rows added and deleted, and what receipts and files cover


@dataclass(frozen=True)
class Edit:
    statements: tuple[str, ...]
    subject: str
    says: str


def edit(name: str, *statements: str, subject: str, says: str) -> Any:
    return pytest.param(Edit(statements, subject, says), id=name)


_MISSING = "but it is missing."
_EXTRA = "No entry of the audit chain records this row."
_RECEIPT = "Its receipt does not agree with what is stored: judgement."


def deleted(table: str, where: str = "true", key: str = "id") -> Any:
    first = f"SELECT {key} FROM {table} WHERE {where} ORDER BY 1 LIMIT 1"
    return edit(
        f"one of {table} deleted",
        f"DELETE FROM {table} WHERE {key} = ({first})",
        subject=f"SELECT '{table} ' || ({first})",
        says=_MISSING,
    )


def judged(name: str, change: str) -> Any:
    ours = "(SELECT id FROM attempts WHERE number = 3)"
    return edit(
        name,
        f"UPDATE judgements SET {change} WHERE attempt_id = {ours}",
        subject=f"SELECT id FROM judgements WHERE attempt_id = {ours}",
        says=_RECEIPT,
    )


def attempted(name: str, change: str) -> Any:
    return edit(
        name,
        f"UPDATE attempts SET {change} WHERE number = 3",
        subject="SELECT id FROM judgements WHERE attempt_id ="
        " (SELECT id FROM attempts WHERE number = 3)",
        says="Its receipt does not agree with what is stored",
    )


@pytest.mark.parametrize(
    "done",
    [
        deleted("people", "login = 'leaver'"),
        deleted("courses"),
        deleted("runs"),
        deleted("enrolments", "left_at IS NOT NULL"),
        deleted("tokens"),
        deleted("extensions"),
        deleted("reviews"),
        deleted("overrides"),
        deleted("external_scores"),
        deleted("publications"),
        deleted("signing_keys"),
        deleted("rubric_texts", key="version"),
        edit(
            "a question taken out of a publication",
            f"DELETE FROM publication_parts WHERE question = 'c-ii' AND publication_id ="
            f" (SELECT id FROM publications WHERE assignment = '{TRANSFORMERS}' AND number = 1)",
            subject="SELECT 'publication_parts ' || id || '/c-ii' FROM publications"
            f" WHERE assignment = '{TRANSFORMERS}' AND number = 1",
            says=_MISSING,
        ),
        edit(
            "an operator added",
            "INSERT INTO people (id, login, name, is_operator, made_at)"
            " SELECT 'per_mal', 'mal', 'Mal', true, made_at FROM people WHERE login = 'ada'",
            subject="SELECT 'people per_mal'",
            says=_EXTRA,
        ),
        edit(
            "an instructor added",
            "INSERT INTO enrolments (id, run_id, person_id, role, section, joined_at, login)"
            " SELECT 'enr_mal', run_id, 'per_mal', 'instructor', '', joined_at, 'mal'"
            " FROM enrolments WHERE login = 'ada'",
            subject="SELECT 'enrolments enr_mal'",
            says=_EXTRA,
        ),
        edit(
            "a token added",
            "INSERT INTO tokens (id, digest, hint, label, person_id, scopes, by, made_at,"
            " expires_at) SELECT 'tok_mal', 'known', hint, label, person_id, scopes, by, made_at,"
            " expires_at FROM tokens WHERE person_id IS NOT NULL",
            subject="SELECT 'tokens tok_mal'",
            says=_EXTRA,
        ),
        edit(
            "an extension added",
            "INSERT INTO extensions (id, run_id, enrolment_id, assignment, number, extra_attempts,"
            " reason, by, at) SELECT 'ext_mal', run_id, enrolment_id, 'long', 1, 9, reason, by, at"
            " FROM extensions WHERE extra_attempts > 0",
            subject="SELECT 'extensions ext_mal'",
            says=_EXTRA,
        ),
        edit(
            "an override added",
            "INSERT INTO overrides (id, run_id, enrolment_id, assignment, question, number, points,"
            " reason, by, at) SELECT 'ovr_mal', run_id, enrolment_id, assignment, question, 2,"
            " points, reason, by, at FROM overrides",
            subject="SELECT 'overrides ovr_mal'",
            says=_EXTRA,
        ),
        edit(
            "a review added",
            "INSERT INTO reviews (id, run_id, attempt_id, criterion, number, items, points,"
            " comment, by, at) SELECT 'rev_mal', run_id, attempt_id, criterion, 2, items, points,"
            " comment, by, at FROM reviews",
            subject="SELECT 'reviews rev_mal'",
            says=_EXTRA,
        ),
        edit(
            "a score added",
            "INSERT INTO external_scores (id, run_id, enrolment_id, assignment, question, number,"
            " points, source, by, at) SELECT 'sco_mal', run_id, enrolment_id, assignment, question,"
            " 2, points, source, by, at FROM external_scores WHERE points = 225",
            subject="SELECT 'external_scores sco_mal'",
            says=_EXTRA,
        ),
        edit(
            "a signing key added",
            "INSERT INTO signing_keys (id, private, made_at)"
            " SELECT 'ed25519-mal', private, made_at FROM signing_keys",
            subject="SELECT 'signing_keys ed25519-mal'",
            says=_EXTRA,
        ),
        judged(
            "a measured number",
            r"""verdicts = replace(verdicts, '"measured"\:', '"measured"\:1')""",
        ),
        judged("an interval", r"""verdicts = replace(verdicts, '"needed"\:0', '"needed"\:1')"""),
        judged("a space in the verdicts", "verdicts = verdicts || ' '"),
        judged(
            "a misconception",
            r"""misconceptions = '[{"id"\:"swapped","say"\:"You swapped.","factor"\:1}]'""",
        ),
        judged("the time of a judgement", "judged_at = (SELECT min(judged_at) FROM judgements)"),
        attempted("the time of storing", "stored_at = (SELECT min(stored_at) FROM attempts)"),
        attempted("the time of arrival", "received_at = (SELECT min(received_at) FROM attempts)"),
        attempted(
            "the publication of an attempt",
            "publication_id = (SELECT id FROM publications"
            f" WHERE assignment = '{TRANSFORMERS}' AND number = 2)",
        ),
        attempted("the number of an attempt", "number = 4"),
        edit(
            "the content of a file",
            "UPDATE uploads SET content = (SELECT private FROM signing_keys)",
            subject="SELECT id FROM uploads",
            says="The content of this file does not match its digest.",
        ),
        edit(
            "the size of a file",
            "UPDATE uploads SET size = 1",
            subject="SELECT id FROM uploads",
            says="This file has 16 bytes, but its size is 1.",
        ),
        edit(
            "a file deleted",
            "DELETE FROM uploads",
            subject=f"SELECT id FROM attempts WHERE assignment = '{LONG}'",
            says="which is missing.",
        ),
        edit(
            "a file given to another student",
            "UPDATE uploads SET enrolment_id = (SELECT id FROM enrolments WHERE login = 'bob')",
            subject=f"SELECT id FROM attempts WHERE assignment = '{LONG}'",
            says="which is missing.",
        ),
        edit(
            "facts in the chain",
            "UPDATE audit SET facts = replace(facts, 'false', 'true') WHERE number = 3",
            subject="SELECT 'audit 3'",
            says="The facts of this entry do not match their digest.",
        ),
        edit(
            "facts deleted from the chain",
            "UPDATE audit SET facts = NULL WHERE number = 3",
            subject="SELECT 'audit 3'",
            says="The facts that this entry recorded are missing.",
        ),
        edit(
            "facts that nobody recorded",
            "UPDATE audit SET facts = '{}' WHERE action = 'assignment.published'"
            " AND number = (SELECT max(number) FROM audit WHERE action = 'assignment.published')",
            subject="SELECT 'audit ' || max(number) FROM audit"
            " WHERE action = 'assignment.published'",
            says="The facts of this entry do not match their digest.",
        ),
    ],
)  # fmt: skip
def test_an_edit_by_hand_is_reported_by_the_name_of_its_row(store: Store, done: Edit) -> None:
    subject = find_value(store, done.subject)
    with tampering(store.database, *done.statements) as session:
        found = find_wrong(store, session)

    assert any(done.says in each for each in found.get(subject, [])), (subject, found)


# Rows that cannot be read


def find_first_key(table: Table) -> Column[Any]:
    return next(iter(table.primary_key))


_TEXTS = [
    pytest.param(table, column.name, id=f"{table.name}.{column.name}")
    for table in Base.metadata.sorted_tables
    for column in table.c
    if isinstance(column.type, String | UtcDateTime | JsonText)
    # What has no name any more cannot be reported by it.
    and column is not find_first_key(table)
]


@pytest.fixture(scope="module")
def one_of_each(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store on SQLite with one row in every table; PostgreSQL takes no such bytes."""
    folder = tmp_path_factory.mktemp("each")
    with fresh_url("sqlite", folder) as url, closing(open_database(url)) as database:
        with database.write() as session:
            add_rows(session)
        yield Store(database, GradingContext(SigningKey.generate()))


@pytest.mark.parametrize(("table", "column"), _TEXTS)
def test_a_row_with_bytes_that_are_no_text_is_named_and_ends_nothing(
    one_of_each: Store, table: Table, column: str
) -> None:
    key = find_first_key(table).name
    name = find_value(one_of_each, f"SELECT {key} FROM {table.name}")
    statements = (
        "PRAGMA ignore_check_constraints = ON",
        f"UPDATE {table.name} SET {column} = CAST(x'ff41' AS TEXT)",
    )
    with tampering(one_of_each.database, *statements) as session:
        found = find_wrong(one_of_each, session)

    # A judgement is reported by its attempt.
    names = {name, "attempts.id"} if table.name == "judgements" else {name}
    unreadable = [
        subject for subject, says in found.items() if any("cannot be read" in each for each in says)
    ]
    assert any(subject.split()[-1].split("/")[0] in names for subject in unreadable), found
    assert not any("The rest" in each for says in found.values() for each in says), found


# What was there before


def forget_facts(session: Session) -> None:
    """The store as it was before entries had facts."""
    session.execute(text("UPDATE audit SET facts = NULL"))


def test_a_store_of_before_is_recorded_once_and_noticed_from_then_on(database: Database) -> None:
    store = fill_everything(database)
    with database.write() as session:
        forget_facts(session)
    assert not store.verify().is_fine
    at = days(40)
    for _ in range(2):
        with database.write() as session:
            record_existing_rows(session, at=at)

    with database.read() as session:
        (entry,) = [each for each in list_audit_entries(session) if each.by == MIGRATION]
    assert (entry.action, entry.at) == (STATE_RECORDED, at)
    result = store.verify()
    assert result.is_fine
    assert result.recorded_at == at
    # Receipts of before do not cover them, and the chain does.
    change = "UPDATE judgements SET misconceptions = '[1]' WHERE number = 1"
    with tampering(database, change) as session:
        found = find_wrong(store, session)
    assert sum(subject.startswith("judgements jud_") for subject in found) == 10


def test_an_empty_store_needs_no_entry(database: Database) -> None:
    with database.write() as session:
        record_existing_rows(session, at=NOW)

    with database.read() as session:
        assert list_audit_entries(session) == []


def test_a_row_that_cannot_be_read_does_not_keep_a_store_from_being_recorded(
    sqlite_database: Database,
) -> None:
    store = fill(sqlite_database)
    with sqlite_database.write() as session:
        forget_facts(session)
        session.execute(text("UPDATE people SET name = CAST(x'ff' AS TEXT) WHERE login = 'ada'"))
    ada = find_value(store, "SELECT id FROM people WHERE login = 'ada'")
    with sqlite_database.write() as session:
        record_existing_rows(session, at=days(40))

    found = find_wrong_now(store)
    assert found == {f"people {ada}": ["This row cannot be read."]}


def find_wrong_now(store: Store) -> dict[str, list[str]]:
    with store.database.read() as session:
        return find_wrong(store, session)


# What is in the chain


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_after_any_history_of_staff_the_state_is_that_of_the_chain(
    database: Database, seed: int
) -> None:
    with database.write() as session:
        add_run(session)
        add_member(session, "grace", Role.INSTRUCTOR)
    history = StaffHistory(database, Random(seed), "grace")
    store = Store(database, GradingContext(SigningKey.generate()))

    for _ in range(8):
        for _ in range(5):
            history.go_on()
        assert find_wrong_now(store) == {}

    assert len(history.students) > 5


def test_a_large_roster_is_recorded_by_few_statements_in_several_entries(
    database: Database,
) -> None:
    count = ROWS_PER_ENTRY + 50
    with database.write() as session:
        run = add_run(session)
    lines = "".join(f"s{number},Student {number}\n" for number in range(count))
    with record_writing(database) as statements:
        bring(database, run, f"login,name\n{lines}")

    # A person and an enrolment each; the last entries hold what the first has no room for.
    with database.read() as session:
        _, *entries = list_audit_entries(session)
    assert [each.action for each in entries] == ["roster.applied", *[STATE_RECORDED] * 2]
    assert len(statements) < count / 20
    store = Store(database, GradingContext(SigningKey.generate()))
    assert store.verify().is_fine


def test_the_chain_tells_nobody_who_somebody_is(store: Store) -> None:
    with store.database.read() as session:
        facts = "".join(
            session.scalars(text("SELECT facts FROM audit WHERE facts IS NOT NULL")).all()
        )
        logins = session.scalars(text("SELECT login FROM people")).all()
        secrets = session.execute(
            text("SELECT password_hash, email FROM people WHERE email IS NOT NULL")
        ).one()

    for secret in (*logins, *secrets, "bob@example.edu"):
        assert f'"{secret}"' not in facts


def test_equal_names_do_not_look_equal_in_the_chain(database: Database) -> None:
    with database.write() as session:
        ids = [add(session, login).id for login in ("ada", "bob")]
        session.execute(text("UPDATE people SET name = 'Kim'"))
        facts = list(stream_facts(session, RecordedTable.PEOPLE, ids=ids))

    place = list_fact_columns(RecordedTable.PEOPLE).index("name")
    assert len({each.values[place] for each in facts if isinstance(each, RowFacts)}) == 2
