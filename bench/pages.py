"""The speed of the grade dashboard: the whole page compared with its SQL statements.

Everything is real except the students: a temporary database is filled with them.
"""

from __future__ import annotations

import asyncio
import io
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from fastapi import FastAPI

from bench.requests import Call, PageTiming, Trace, call_app, measure_call, trace_call
from bench.statements import Statement, explain_statement
from grader.accounts.courses import make_run
from grader.accounts.sign_in import open_session
from grader.cli.server import open_grading_context
from grader.domain.roles import Role
from grader.grading.context import GradingContext
from grader.grading.publishing.publish import publish
from grader.rubric.catalog import CompiledAssignment, get_shipped_folder, read_assignment
from grader.store.database import Database, open_database
from grader.store.migrations import migrate_up
from grader.store.queries.courses import EnrolmentLine, add_enrolments
from grader.store.queries.grades import GradeLine, put_grades
from grader.store.queries.people import PersonLine, add_people, add_person
from grader.store.rows import make_id
from grader.store.writer import Writer
from grader.web.app import make_app
from grader.web.auth import SESSION_COOKIE
from grader.web.http.rate_limits import BUDGETS, RateLimit, RateLimiter
from grader.web.ops.logs import open_logs
from grader.web.ops.metrics import open_metrics
from grader.web.service import Service

RUN, ASSIGNMENT = "bench", "wide"
QUESTIONS = 30
GRADES = f"/courses/{RUN}/assignments/{ASSIGNMENT}/grades"
#: The sort orders to measure.
ORDERS = {"login": "", "total": "?sort=-total", "question": "?sort=-question:q1"}
#: The time of all that happens.
AT = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
_BATCH_SIZE = 400


@dataclass(frozen=True, slots=True)
class BenchService:
    """A service with a large course, and the session of its instructor."""

    database: Database
    app: FastAPI
    secret: str

    def call(self, address: str) -> Call:
        """The instructor's request for a page."""
        return Call(address, {"cookie": f"{SESSION_COOKIE}={self.secret}"})

    def get(self, address: str) -> str:
        """A page."""
        return asyncio.run(call_app(self.app, self.call(address)))

    def trace(self, address: str) -> Trace:
        """What a page asks of the database, once it was asked for before."""
        self.get(address)
        return asyncio.run(trace_call(self.app, self.database, self.call(address)))

    def statements(self, address: str) -> list[Statement]:
        """The SELECT statements of a page."""
        return list(self.trace(address).statements)

    def plans(self, address: str) -> dict[str, list[str]]:
        """The query plans for the students and grades of a page, by statement."""
        statements = [each for each in self.statements(address) if _is_of_table(each)]
        return {each.sql: explain_statement(self.database, each) for each in statements}

    def measure(self, address: str, *, turns: int) -> PageTiming:
        """Time a page and its statements."""
        return asyncio.run(measure_call(self.app, self.database, self.call(address), turns=turns))


def _is_of_table(statement: Statement) -> bool:
    """Whether it selects a page of students, or their grades."""
    sql = statement.sql
    return ("people.name" in sql and "LIMIT" in sql) or "grades.late_days" in sql


@contextmanager
def open_bench_service(*, students: int, questions: int = QUESTIONS) -> Iterator[BenchService]:
    """A service with `students` students, nearly all with grades for all questions."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'bench.sqlite'}"
        database = open_database(url)
        migrate_up(url)
        yield fill_bench_service(database, students=students, questions=questions)
        database.close()


def fill_bench_service(
    database: Database, *, students: int, questions: int = QUESTIONS
) -> BenchService:
    """The same, on an existing empty database."""
    context = open_grading_context(database)
    with database.write() as session:
        run = make_run(
            session, course_id=RUN, run_id=RUN, title="A large course", time_zone="UTC",
            at=AT, by="bench",
        )  # fmt: skip
        publish(
            session, context, run=run, assignment=_make_assignment(questions), opens_at=None,
            due_at=None, note="", at=AT, by="bench",
        )  # fmt: skip
        teacher = add_person(session, login="teacher", name="T", email=None, at=AT)
        teaches = EnrolmentLine(make_id("enr"), RUN, teacher.id, Role.INSTRUCTOR, "")
        add_enrolments(session, [teaches], at=AT)
        secret = open_session(session, person_id=teacher.id, at=AT).secret
    for start in range(0, students, _BATCH_SIZE):
        _add_students(database, range(start, min(start + _BATCH_SIZE, students)), questions)
    return BenchService(database, make_app(make_bench_service(database, context)), secret)


def _make_assignment(questions: int) -> CompiledAssignment:
    """A shipped question under many names."""
    text = (get_shipped_folder() / "attention-exploration" / "3b.yaml").read_text(encoding="utf-8")
    names = [f"q{number}" for number in range(1, questions + 1)]
    form = f"id: {ASSIGNMENT}\ntitle: A wide assignment\nquestions: [{', '.join(names)}]\n"
    texts = {each: re.sub(r"(?m)^id: .*$", f"id: {each}", text) for each in names}
    return read_assignment(ASSIGNMENT, form, texts)


def _add_students(database: Database, numbers: range, questions: int) -> None:
    people = [
        PersonLine(make_id("per"), f"s{each:05}", f"Student Number {each}", None, False)
        for each in numbers
    ]
    places = [
        EnrolmentLine(make_id("enr"), RUN, each.id, Role.STUDENT, "ABCD"[number % 4])
        for number, each in enumerate(people)
    ]
    # Every hundredth student has not sent anything yet.
    grades = [
        _make_grade(place, number, question)
        for number, place in zip(numbers, places, strict=True)
        if number % 100 != 99
        for question in range(1, questions + 1)
    ]
    with database.write() as session:
        add_people(session, people, at=AT)
        add_enrolments(session, places, at=AT)
        put_grades(session, grades)


def _make_grade(place: EnrolmentLine, number: int, question: int) -> GradeLine:
    """A deterministic grade, so that every run measures the same."""
    chance = (number * 7919 + question * 104729) % 101
    return GradeLine(
        run_id=RUN,
        enrolment_id=place.id,
        assignment=ASSIGNMENT,
        question=f"q{question}",
        points=Decimal(min(chance, 40)) / 4,
        possible=Decimal(10),
        pending=Decimal(1 if chance % 17 == 0 else 0),
        attempts=1 + chance % 5,
        counted_attempt_id=None,
        late_days=1 if chance % 13 == 0 else 0,
        is_overridden=chance % 29 == 0,
        needs_person=False,
        changes=1,
        changed_at=AT,
        counted_points=None,
        counted_pending=None,
    )


def make_bench_service(database: Database, context: GradingContext) -> Service:
    """A service whose callers are never too many, at a time that stands still."""
    plenty = RateLimit(per_minute=60_000_000, burst=1_000_000)
    return Service(
        database=database,
        writer=Writer(database),
        make_context=lambda: context,
        clock=lambda: AT,
        budgets=RateLimiter(dict.fromkeys(BUDGETS, plenty), time.monotonic),
        logs=open_logs(io.StringIO(), pretty=False),
        metrics=open_metrics(),
        base_url="http://127.0.0.1",
    )
