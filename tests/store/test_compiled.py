"""Ready statements: what the driver alone finds is what SQLAlchemy finds, errors included."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError

from bench.reading import ASSIGNMENT, QUESTION, RUN, ReadingService, fill_reading_service
from bench.statements import record_statements
from grader.accounts.callers import hash_secret
from grader.errors import Unavailable
from grader.store.compiled import find_row, list_rows
from grader.store.database import Database, Session
from grader.store.queries.attempts import find_attempts, has_view, list_judged, list_outcomes
from grader.store.queries.courses import find_place, find_run, list_enrolments
from grader.store.queries.credentials import find_browser_sessions, find_tokens
from grader.store.queries.decisions import list_overrides
from grader.store.queries.grades import find_grades, find_progress
from grader.store.queries.publications import find_in_force, list_in_force
from grader.store.queries.submissions import find_seen
from grader.store.tables.people import RunRow


@pytest.fixture
def reading(database: Database) -> ReadingService:
    """A student with attempts, a draft and a token."""
    return fill_reading_service(database)


def ask_everything(session: Session, reading: ReadingService) -> list[Any]:
    student = reading.student
    part = (student.id, ASSIGNMENT, QUESTION)
    outcomes = list_outcomes(session, part=part)
    return [
        outcomes,
        find_tokens(session, digests=[hash_secret(reading.token)]),
        find_browser_sessions(session, digests=[hash_secret(reading.secret)]),
        find_run(session, run_id=RUN),
        find_place(session, run_id=RUN, person_id=student.person_id),
        list_enrolments(session, person_id=student.person_id),
        find_in_force(session, run_id=RUN, assignment=ASSIGNMENT),
        list_in_force(session, run_id=RUN),
        find_seen(session, student_question=part),
        has_view(session, part=part),
        find_grades(session, parts=[part]),
        find_progress(session, parts=[part]),
        find_attempts(session, attempt_ids=[each.id for each in outcomes]),
        list_judged(session, parts=[part]),
        list_overrides(session, student_questions=[part]),
    ]


def test_the_driver_alone_finds_what_sqlalchemy_finds(reading: ReadingService) -> None:
    with reading.database.read() as session:
        found = ask_everything(session, reading)
    with record_statements(reading.database) as statements, reading.database.read() as session:
        expected = ask_everything(session, reading)

    assert found == expected
    assert len(statements) == len(expected), "SQLAlchemy was asked"
    assert [each for each in found[:-1] if not each] == [], "there is something to compare"


_NOT_A_FUNCTION = select(func.there_is_no_such_function())


def test_an_error_of_the_driver_is_the_one_that_sqlalchemy_raises(database: Database) -> None:
    with database.read() as session, pytest.raises(DBAPIError) as raised:
        list_rows(session, _NOT_A_FUNCTION, {})
    with database.read() as session, pytest.raises(DBAPIError) as expected:
        session.connection().execute(_NOT_A_FUNCTION)

    assert type(raised.value) is type(expected.value)
    assert type(raised.value.orig) is type(expected.value.orig)


_ONE = select(text("1"))


def ask_interrupted(database: Database) -> None:
    with database.read() as session:
        driver: Any = session.connection().connection.driver_connection
        driver.set_progress_handler(lambda: 1, 1)
        try:
            find_row(session, _ONE, {})
        finally:
            driver.set_progress_handler(None, 0)


def test_a_statement_that_is_interrupted_says_that_the_database_is_away(
    sqlite_database: Database,
) -> None:
    with pytest.raises(Unavailable):
        ask_interrupted(sqlite_database)


def test_a_broken_connection_is_given_up(postgresql_database: Database) -> None:
    with postgresql_database.read() as session:
        (backend,) = session.connection().execute(text("SELECT pg_backend_pid()")).one()
        with postgresql_database.write() as other:
            other.execute(text("SELECT pg_terminate_backend(:backend)"), {"backend": backend})
        with pytest.raises(DBAPIError) as raised:
            find_row(session, _ONE, {})

    assert raised.value.connection_invalidated
    with postgresql_database.read() as session:
        assert find_row(session, _ONE, {}) == (1,)


def test_a_statement_whose_text_depends_on_its_parameters_is_refused(database: Database) -> None:
    statement = select(RunRow.id).where(RunRow.id.in_(["one", "two"]))

    with database.read() as session, pytest.raises(AssertionError, match="must not depend"):
        list_rows(session, statement, {})
