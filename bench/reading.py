"""A student who reads: the calls whose speed is measured, on a service with some work done.

Everything is real: the shipped assignments, one student with attempts, a draft and a token.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from bench.pages import AT, make_bench_service
from bench.requests import Call, PageTiming, Trace, measure_call, trace_call
from grader.accounts.courses import make_run
from grader.accounts.sign_in import open_session
from grader.accounts.tokens import make_personal_token
from grader.cli.server import open_grading_context
from grader.domain.roles import ALL_SCOPES, Role
from grader.errors import KeysetError
from grader.grading.publishing.publish import publish
from grader.rubric.catalog import get_shipped_folder, load_catalog
from grader.store.database import Database, open_database
from grader.store.migrations import migrate_up
from grader.store.queries.attempts import record_view
from grader.store.queries.courses import EnrolmentLine, add_enrolments
from grader.store.queries.credentials import record_token_uses
from grader.store.queries.people import add_person
from grader.store.queries.submissions import DraftLine, put_draft
from grader.store.rows import make_id
from grader.web.app import make_app
from grader.web.auth import SESSION_COOKIE
from grader.web.service import Service
from grader.web.submissions import Sender, SentAnswer

RUN, ASSIGNMENT, QUESTION = "reading", "attention-exploration", "3c-i"
QUESTION_PATH = f"/courses/{RUN}/assignments/{ASSIGNMENT}/questions/{QUESTION}"
ATTEMPTS = 3
_DUE = timedelta(days=7)
_FORMULA = "40 (mu_a + mu_b)"
_NUMBERS = [round(0.25 * place - 2, 2) for place in range(16)]


@dataclass(frozen=True, slots=True)
class ReadingService:
    """A service, and one student's session and token."""

    database: Database
    app: FastAPI
    service: Service
    student: EnrolmentLine
    secret: str
    token: str

    @property
    def calls(self) -> dict[str, Call]:
        """The calls to measure, by name."""
        browser = {"cookie": f"{SESSION_COOKIE}={self.secret}"}
        program = {"authorization": f"Bearer {self.token}"}
        check = f"/api/v1{QUESTION_PATH}/check"
        return {
            "question page": Call(QUESTION_PATH, browser),
            "my work": Call("/", browser),
            "API question": Call(f"/api/v1{QUESTION_PATH}", program),
            "check a formula": Call(check, program, {"answer": {"q": _FORMULA}}),
            "check numbers": Call(check, program, {"answer": {"q": _NUMBERS}}),
        }

    def trace(self, name: str) -> Trace:
        """What a call does once it was made before."""
        return asyncio.run(self._trace(self.calls[name]))

    async def _trace(self, call: Call) -> Trace:
        await trace_call(self.app, self.database, call)
        return await trace_call(self.app, self.database, call)

    def measure(self, name: str, *, turns: int) -> PageTiming:
        """Time a call and its statements."""
        return asyncio.run(measure_call(self.app, self.database, self.calls[name], turns=turns))

    def submit(self, answer: dict[str, Any], *, question: str = QUESTION) -> None:
        """Submit an answer of the student."""
        sender = Sender(self.student, self.student.person_id)
        sent = SentAnswer(sender, RUN, ASSIGNMENT, question, answer, AT)
        with self.database.write() as session:
            (result,) = self.service.submit_batch(session, [sent])
        if isinstance(result, KeysetError):
            raise result


@contextmanager
def open_reading_service() -> Iterator[ReadingService]:
    """A service on a temporary database."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'reading.sqlite'}"
        database = open_database(url)
        migrate_up(url)
        yield fill_reading_service(database)
        database.close()


def fill_reading_service(database: Database, *, attempts: int = ATTEMPTS) -> ReadingService:
    """The same, on an existing empty database."""
    context = open_grading_context(database)
    with database.write() as session:
        run = make_run(
            session, course_id=RUN, run_id=RUN, title="A course", time_zone="Europe/Warsaw",
            at=AT, by="bench",
        )  # fmt: skip
        for assignment in load_catalog(get_shipped_folder()).assignments.values():
            publish(
                session, context, run=run, assignment=assignment, opens_at=None,
                due_at=AT + _DUE, note="", at=AT, by="bench",
            )  # fmt: skip
        person = add_person(session, login="ada", name="Ada", email=None, at=AT)
        student = EnrolmentLine(make_id("enr"), RUN, person.id, Role.STUDENT, "")
        add_enrolments(session, [student], at=AT)
        secret = open_session(session, person_id=person.id, at=AT).secret
        token = make_personal_token(
            session, person, label="bench", scopes=ALL_SCOPES, days=30, at=AT, by="bench"
        )
        record_token_uses(session, token_ids=[token.line.id], at=AT)
        part = (student.id, ASSIGNMENT, QUESTION)
        record_view(session, run_id=RUN, part=part, at=AT)
        draft = DraftLine({"answer.q": _FORMULA, "answer.explanation": "Because."}, AT)
        put_draft(session, run_id=RUN, student_question=part, draft=draft)
    service = make_bench_service(database, context)
    app = make_app(service)
    app.state.routes.load()
    reading = ReadingService(database, app, service, student, secret, token.secret)
    for number in range(attempts):
        reading.submit({"q": f"{number + 1} (mu_a + mu_b)", "explanation": "The means."})
    return reading
