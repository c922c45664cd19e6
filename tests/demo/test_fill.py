"""Filling the demo."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from grader.cli.server import open_grading_context
from grader.demo.behaviour import make_student
from grader.demo.fill import SEED, fill_demo, open_demo, plan
from grader.demo.people import make_login
from grader.demo.schedule import compute_midnight, make_schedule
from grader.domain.roles import Role
from grader.grading.audit.verify import verify
from grader.grading.context import GradingContext
from grader.grading.grades.gradebook import load_gradebook
from grader.grading.signing import SigningKey
from grader.store.database import Database, Session, open_database
from grader.store.queries.attempts import list_judged_of_question
from grader.store.queries.audit import add_signing_key
from grader.store.queries.courses import list_members, list_runs
from grader.store.queries.fills import FillLine, find_fill
from grader.store.queries.publications import list_in_force
from tests.support.databases import fresh_url
from tests.support.rubrics import shipped

NOW = datetime(2026, 11, 16, 14, 30, tzinfo=UTC)
LATE, LAB, NEWEST = (
    "self-attention-and-transformers",
    "single-head-attention",
    "attention-exploration",
)


STUDENTS = 4


def make_context(database: Database) -> GradingContext:
    key = SigningKey.generate()
    with database.write() as session:
        add_signing_key(session, key_id=key.id, private=key.to_bytes(), at=NOW)
    return GradingContext(key)


def open_course(database: Database, *, students: int = STUDENTS) -> GradingContext:
    context = make_context(database)
    with database.write() as session:
        open_demo(session, context, now=NOW, students=students)
    return context


def fill(
    database: Database, context: GradingContext, *, should_stop: Callable[[], bool] = lambda: False
) -> list[tuple[int, int]]:
    """Do the steps that are missing; what was told of the progress."""
    told: list[tuple[int, int]] = []

    def write(change: Callable[[Session], FillLine | None]) -> FillLine | None:
        with database.write() as session:
            return change(session)

    fill_demo(
        write,
        context,
        clock=lambda: NOW,
        should_stop=should_stop,
        progress=lambda done, of: told.append((done, of)),
    )
    return told


def find_progress(database: Database) -> FillLine | None:
    with database.read() as session:
        return find_fill(session, run_id="demo")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, GradingContext]]:
    """A demo with four students besides Ada."""
    with (
        fresh_url("sqlite", tmp_path_factory.mktemp("small")) as url,
        closing(open_database(url)) as database,
    ):
        context = open_course(database)
        fill(database, context)
        yield database, context


def test_a_demo_passes_the_audit_of_the_store(database: Database) -> None:
    context = open_course(database)
    told = fill(database, context)

    assert told == [(done, len(told)) for done in range(len(told))]
    with database.read() as session:
        found = verify(session, context)
        assert found.is_fine, [each for each in found.checks if not each.is_fine]
        published = [each.assignment for each in list_in_force(session, run_id="demo")]
    assert published == [LATE, LAB, NEWEST]


def test_a_demo_is_added_once(small: tuple[Database, GradingContext]) -> None:
    database, context = small

    with database.write() as session:
        open_demo(session, context, now=NOW, students=STUDENTS)
    assert fill(database, context) == []
    with database.read() as session:
        assert [run.id for run in list_runs(session)] == ["demo"]
        assert len(list_members(session, run_id="demo", role=Role.STUDENT)) == 5


def test_every_planned_answer_and_view_is_stored(small: tuple[Database, GradingContext]) -> None:
    catalog = shipped()
    schedule = make_schedule(catalog, today=compute_midnight(NOW))
    students = [make_student(make_login(number), seed=SEED) for number in range(STUDENTS)]
    answers, views = plan(students, schedule, catalog)

    sent = [(each.login, each.rubric.form.id, to_microsecond(each.received_at)) for each in answers]
    stored = describe(small[0])["attempts"]
    assert sorted((row[0], row[2], row[4]) for row in stored) == sorted(sent)
    assert read_rows(small[0], "SELECT count(*) FROM views") == [(len(views),)]


def to_microsecond(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}"


def read_rows(database: Database, statement: str) -> list[tuple[Any, ...]]:
    with database.read() as session:
        return [tuple(row) for row in session.execute(text(statement))]


def test_ada_has_sent_nothing_so_that_she_can_begin(small: tuple[Database, GradingContext]) -> None:
    database, context = small

    with database.read() as session:
        for assignment in (LATE, LAB, NEWEST):
            book = load_gradebook(session, context, run_id="demo", assignment=assignment)
            assert [row.grades for row in book.rows if row.member.login == "ada"] == [{}]


def test_what_is_sent_is_stored_when_it_arrived(small: tuple[Database, GradingContext]) -> None:
    with small[0].read() as session:
        judged = list_judged_of_question(session, run_id="demo", assignment=LATE, question="a-ii")

    assert judged
    assert all(
        NOW - timedelta(days=17) < attempt.received_at <= judgement.judged_at < NOW
        for attempt, judgement in judged
    )


def test_a_course_is_not_complete_before_its_last_step(sqlite_database: Database) -> None:
    context = open_course(sqlite_database, students=0)
    opened = find_progress(sqlite_database)
    assert opened is not None
    assert (opened.done, opened.percent) == (0, 0)

    left = iter([False] * (opened.of - 1))
    fill(sqlite_database, context, should_stop=lambda: next(left, True))
    before = find_progress(sqlite_database)
    assert before is not None
    assert (before.done, before.percent) == (opened.of - 1, 100 * (opened.of - 1) // opened.of)

    assert len(fill(sqlite_database, context)) == 1
    assert find_progress(sqlite_database) is None


def test_two_processes_that_fill_one_course_do_each_step_once(
    postgresql_url: str, small: tuple[Database, GradingContext]
) -> None:
    with (
        closing(open_database(postgresql_url)) as one,
        closing(open_database(postgresql_url)) as two,
    ):
        context = open_course(one)
        other = GradingContext(context.signing_key)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(fill, (one, two), (context, other)))

        assert find_progress(one) is None
        assert describe(one) == describe(small[0])


#: Does two steps, and is killed with the third one done and not committed.
KILLED = f"""
import os, signal, sys
from datetime import datetime
from grader.cli.server import open_grading_context
from grader.demo.fill import fill_demo, open_demo
from grader.store.database import open_database

now = datetime.fromisoformat({NOW.isoformat()!r})
database = open_database(sys.argv[1])
context = open_grading_context(database)
with database.write() as session:
    open_demo(session, context, now=now, students={STUDENTS})
told = []

def write(change):
    with database.write() as session:
        result = change(session)
        session.flush()
        if len(told) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

fill_demo(
    write, context, clock=lambda: now, should_stop=lambda: False,
    progress=lambda done, of: told.append(done),
)
"""


def test_filling_that_was_killed_goes_on_and_ends_in_the_same_state(
    sqlite_url: str, small: tuple[Database, GradingContext]
) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, sqlite_url], check=False)
    assert killed.returncode == -signal.SIGKILL

    with closing(open_database(sqlite_url)) as database:
        before = find_progress(database)
        assert before is not None
        assert before.done == 2
        context = open_grading_context(database)

        told = fill(database, context)

        assert told[0] == (2, before.of)
        assert find_progress(database) is None
        assert describe(database) == describe(small[0])
        with database.read() as session:
            assert verify(session, context).is_fine


def describe(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """What everybody did, without what differs from demo to demo: ids and numbers."""
    statements = {
        "attempts": "SELECT login, a.assignment, a.question, a.number, a.received_at, j.awarded"
        " FROM attempts a JOIN judgements j ON j.attempt_id = a.id"
        " JOIN enrolments e ON e.id = a.enrolment_id",
        "views": "SELECT login, assignment, question, first_at FROM views"
        " JOIN enrolments e ON e.id = enrolment_id",
        "reviews": "SELECT login, a.question, r.criterion, r.number, r.points, r.comment, r.at"
        " FROM reviews r JOIN attempts a ON a.id = r.attempt_id"
        " JOIN enrolments e ON e.id = a.enrolment_id",
        "external scores": "SELECT login, question, points, at FROM external_scores"
        " JOIN enrolments e ON e.id = enrolment_id",
        "overrides": "SELECT login, question, points, at FROM overrides"
        " JOIN enrolments e ON e.id = enrolment_id",
        "extensions": "SELECT login, assignment, due_at, at FROM extensions"
        " JOIN enrolments e ON e.id = enrolment_id",
        "grades": "SELECT login, assignment, question, points, pending FROM grades"
        " JOIN enrolments e ON e.id = enrolment_id",
    }
    return {
        name: sorted(tuple(map(to_text, row)) for row in read_rows(database, statement))
        for name, statement in statements.items()
    }


def to_text(value: object) -> str:
    """A value of either database: SQLite has times as text."""
    return to_microsecond(value) if isinstance(value, datetime) else str(value)


def test_a_student_who_has_left_meanwhile_does_nothing_more(sqlite_database: Database) -> None:
    context = open_course(sqlite_database)
    with sqlite_database.write() as session:
        gone = list_members(session, run_id="demo", role=Role.STUDENT)[1]
        session.execute(
            text("UPDATE enrolments SET left_at = :at WHERE id = :id"),
            {"at": "2026-11-15 00:00:00.000000", "id": gone.enrolment.id},
        )

    fill(sqlite_database, context)

    assert find_progress(sqlite_database) is None
    assert gone.login not in {row[0] for row in describe(sqlite_database)["attempts"]}
