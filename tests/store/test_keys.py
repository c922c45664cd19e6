"""Tables of keys: statements of one text that find exactly the rows of any number of keys."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.dialects import sqlite

from bench.statements import Statement, explain_statement, record_statements
from grader.domain.roles import Role
from grader.store.database import Database, Session
from grader.store.keys import bind_keys, get_dialect, make_key_table, match_keys
from grader.store.queries.attempts import (
    ShownVariant,
    add_variants,
    find_attempts,
    find_newest_times,
    find_variants,
    list_judged,
    list_same_answers,
)
from grader.store.queries.courses import (
    EnrolmentLine,
    RunLine,
    add_course,
    add_enrolments,
    add_run,
    find_enrolments,
)
from grader.store.queries.credentials import find_browser_sessions, find_tokens
from grader.store.queries.grades import GradeLine, find_grades, find_progress, put_grades
from grader.store.queries.people import PersonLine, add_people
from grader.store.queries.publications import find_extensions
from grader.store.tables.credentials import TokenRow
from grader.store.tables.decisions import GradeRow
from grader.store.tables.people import PersonRow

NOW = datetime(2026, 11, 16, tzinfo=UTC)
RUN, STUDENT = "run", "enr_one"
#: Names that a text of SQL or of JSON could get wrong.
ODD = [
    "plain",
    "it's",
    'say "so"',
    "back\\slash",
    "\\u0041",
    "%s",
    ":name",
    "?",
    "{0}",
    "a,b",
    "[1]",
    "null",
    "true",
    "7",
    "07",
    "1e3",
    " plain",
    "plain ",
    "PLAIN",
    "",
    "tab\tand\nline",
    "\x01\x1f\x7f",
    "é",
    "e\u0301",
    "ß",
    "Ünïcödé",
    "\u2028",
    "\ufb33",
    "😀",
    "𝒳",
    "x" * 64,
]


@pytest.fixture
def filled(database: Database) -> Database:
    """A course run with a student."""
    fill(database)
    return database


def fill(database: Database) -> None:
    with database.write() as session:
        add_course(session, course_id=RUN, title=RUN, at=NOW)
        add_run(session, RunLine(RUN, RUN, RUN, "UTC"), secret=b"x" * 32, at=NOW)
        add_people(session, [PersonLine("per_one", "one", "One", None, False)], at=NOW)
        place = EnrolmentLine(STUDENT, RUN, "per_one", Role.STUDENT, "")
        add_enrolments(session, [place], at=NOW)


def grade(assignment: str, question: str) -> GradeLine:
    return GradeLine(
        run_id=RUN, enrolment_id=STUDENT, assignment=assignment, question=question,
        points=Decimal(1), possible=Decimal(2), pending=Decimal(0), attempts=1,
        counted_attempt_id=None, late_days=0, is_overridden=False, needs_person=False, changes=1,
        changed_at=NOW, counted_points=None, counted_pending=None,
    )  # fmt: skip


def store(database: Database, places: Iterable[tuple[str, str]]) -> None:
    with database.write() as session:
        put_grades(session, [grade(assignment, question) for assignment, question in places])


def find(database: Database, places: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    with database.read() as session:
        found = find_grades(session, parts=[(STUDENT, *each) for each in places])
    return {(each.assignment, each.question) for each in found.values()}


def test_every_name_is_found_and_no_other(filled: Database) -> None:
    store(filled, [("work", name) for name in ODD])

    assert [name for name in ODD if find(filled, [("work", name)]) != {("work", name)}] == []
    assert find(filled, [("work", name) for name in ODD]) == {("work", name) for name in ODD}


def test_a_name_that_is_not_there_finds_nothing(filled: Database) -> None:
    store(filled, [("work", "plain"), ("work", "7")])

    wanted = [("work", name) for name in ("'", "' OR '1'='1", "Plain", "7.0", "7 ", "\\", "😀")]
    assert find(filled, wanted) == set()


def test_no_keys_find_no_rows(filled: Database) -> None:
    store(filled, [("work", "plain")])

    assert find(filled, []) == set()


def test_a_key_sent_twice_gives_its_row_once(filled: Database) -> None:
    store(filled, [("work", "plain")])
    parts = [(STUDENT, "work", "plain")] * 3
    keys = bind_keys(parts)

    with filled.read() as session:
        wanted = make_key_table(get_dialect(session), "enrolment_id", "assignment", "question")
        statement = select(GradeRow.question).join(wanted, match_keys(wanted, GradeRow))
        rows = session.connection().execute(statement, keys).all()

    assert [tuple(each) for each in rows] == [("plain",)]


def test_neighbours_that_share_some_of_the_columns_are_not_found(filled: Database) -> None:
    names = ["a", "b", "c"]
    everything = [(assignment, question) for assignment in names for question in names]
    store(filled, everything)

    wanted = [("a", "b"), ("b", "c"), ("c", "a")]

    assert find(filled, wanted) == set(wanted)


def test_many_thousands_of_keys_are_found(filled: Database) -> None:
    places = [("work", f"question {number}") for number in range(12_000)]
    store(filled, places[::2])

    assert find(filled, places) == set(places[::2])


def test_a_number_among_the_columns_is_compared_as_a_number(filled: Database) -> None:
    variants = [ShownVariant(RUN, STUDENT, "one", revision, {}) for revision in (1, 2, 10)]
    with filled.write() as session:
        add_variants(session, variants, at=NOW)

    with filled.read() as session:
        found = find_variants(session, wanted=[(STUDENT, "one", each) for each in (1, 10, 11)])

    assert sorted(found) == [(STUDENT, "one", 1), (STUDENT, "one", 10)]


# The text and the plan of statements

PART = ("enr", "work", "question")
QUERIES: dict[str, tuple[Callable[[Session, int], Any], str]] = {
    "find_progress": (
        lambda session, count: find_progress(session, parts=make_keys(count, *PART)),
        "grades",
    ),
    "find_grades": (
        lambda session, count: find_grades(session, parts=make_keys(count, *PART)),
        "grades",
    ),
    "list_same_answers": (
        lambda session, count: list_same_answers(session, answers=make_keys(count, *PART, "sha")),
        "attempts",
    ),
    "list_judged": (
        lambda session, count: list_judged(session, parts=make_keys(count, *PART)),
        "attempts",
    ),
    "find_attempts": (
        lambda session, count: find_attempts(
            session, attempt_ids=[each for (each,) in make_keys(count, "att")]
        ),
        "attempts",
    ),
    "find_newest_times": (
        lambda session, count: find_newest_times(session, parts=make_keys(count, *PART)),
        "attempts",
    ),
    "find_variants": (
        lambda session, count: find_variants(
            session, wanted=[(*each, 1) for each in make_keys(count, "enr", "one")]
        ),
        "variants",
    ),
    "find_tokens": (
        lambda session, count: find_tokens(
            session, digests=[each for (each,) in make_keys(count, "sha")]
        ),
        "tokens",
    ),
    "find_browser_sessions": (
        lambda session, count: find_browser_sessions(
            session, digests=[each for (each,) in make_keys(count, "sha")]
        ),
        "browser_sessions",
    ),
    "find_enrolments": (
        lambda session, count: find_enrolments(session, places=make_keys(count, "run", "per")),
        "enrolments",
    ),
    "find_extensions": (
        lambda session, count: find_extensions(session, pairs=make_keys(count, "enr", "work")),
        "extensions",
    ),
}


def make_keys(count: int, *names: str) -> list[Any]:
    return [tuple(f"{name} {number}" for name in names) for number in range(count)]


def record(database: Database, name: str, count: int) -> Statement:
    """The SQL of a query for this number of keys."""
    ask, _ = QUERIES[name]
    with record_statements(database) as statements, database.read() as session:
        ask(session, count)
    (statement,) = statements
    return statement


@pytest.mark.parametrize("name", QUERIES)
def test_the_text_is_the_same_for_any_number_of_keys(database: Database, name: str) -> None:
    texts = {record(database, name, count).sql for count in (0, 1, 100)}

    assert len(texts) == 1


@pytest.mark.parametrize("name", QUERIES)
def test_the_plan_looks_up_the_keys_by_an_index(sqlite_database: Database, name: str) -> None:
    _, table = QUERIES[name]

    plan = explain_statement(sqlite_database, record(sqlite_database, name, 100))

    scans = [step for step in plan if step.startswith("SCAN") and not step.startswith("SCAN sent")]
    assert scans == [], plan
    assert any(step.startswith(f"SEARCH {table} USING") for step in plan), plan
    assert "AUTOMATIC" not in " ".join(plan), plan


def test_a_batch_reads_no_whole_table_while_that_is_small(postgresql_database: Database) -> None:
    # Its plan is kept when the table has grown.
    fill(postgresql_database)
    store(postgresql_database, [("work", f"question {number}") for number in range(500)])
    statement = record(postgresql_database, "find_progress", 64)

    with postgresql_database.write() as session:
        cursor = session.connection().connection.cursor()
        cursor.execute("ANALYZE grades")
        cursor.execute(f"EXPLAIN {statement.sql}", statement.parameters)
        plan = [row[0] for row in cursor.fetchall()]

    assert not any("Seq Scan on grades" in step for step in plan), plan


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_threads")
def test_threads_that_are_the_first_to_ask_at_once_all_have_statements_that_work() -> None:
    threads, barrier = 6, Barrier(6)

    def compile_with_new_keys(number: int) -> str:
        barrier.wait()
        keys = make_key_table("sqlite", "digest", f"new_{number}")
        # It selects from two tables, so that only the columns of the keys tell which one is joined.
        statement = (
            select(TokenRow.digest, PersonRow.id)
            .join(keys, keys.c.digest == TokenRow.digest)
            .outerjoin(PersonRow, PersonRow.id == TokenRow.person_id)
        )
        return str(statement.compile(dialect=sqlite.dialect()))

    with ThreadPoolExecutor(threads) as pool:
        for number in range(60):
            assert len(set(pool.map(compile_with_new_keys, [number] * threads))) == 1
