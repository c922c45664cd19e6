"""A whole service on loopback, with a course, a shipped assignment and students with tokens."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import uvicorn

from grader.accounts.courses import make_run
from grader.accounts.tokens import make_personal_token
from grader.cli.database import read_clock
from grader.cli.server import make_body_limits, open_service
from grader.client import Client
from grader.domain.roles import STUDENT_SCOPES, Role
from grader.grading.publishing.publish import publish
from grader.settings import Settings
from grader.store.database import Session
from grader.store.queries.courses import EnrolmentLine, add_enrolments
from grader.store.queries.people import add_person
from grader.store.rows import make_id
from grader.web.app import make_app
from grader.web.http.server import DeadlineProtocol
from grader.web.service import Service
from tests.support.rubrics import shipped

COURSE = "demo"
ASSIGNMENT = "attention-exploration"


@dataclass(frozen=True, slots=True)
class Running:
    """A service that is being served."""

    service: Service
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add_student(self) -> str:
        """A new student of the course, by a token."""

        def add(session: Session) -> str:
            at = read_clock()
            person = add_person(session, login=make_id("ada"), name="Ada", email=None, at=at)
            enrolment = EnrolmentLine(make_id("enr"), COURSE, person.id, Role.STUDENT, section="")
            add_enrolments(session, [enrolment], at=at)
            token = make_personal_token(
                session, person, label="notebook", scopes=STUDENT_SCOPES, days=1, at=at, by="test"
            )
            return token.secret

        return self.service.writer.run_now(add)

    def client(self, token: str | None = None, **options: Any) -> Client:
        """A client for a student, who is new where there is no token."""
        where = {"course": COURSE, "assignment": ASSIGNMENT, "address": self.address} | options
        return Client(token=token or self.add_student(), **where)


_BUDGETS = (
    "reads_per_minute", "checks_per_minute", "submits_per_minute", "anonymous_per_minute",
)  # fmt: skip


@contextmanager
def run_service(folder: Path, **settings: Any) -> Iterator[Running]:
    """Serve a course with one of the shipped assignments, as `grader serve` would."""
    chosen = Settings(
        data_folder=folder,
        database_url=f"sqlite:///{folder / 'keyset.sqlite'}",
        log_level="error",
        **dict.fromkeys(_BUDGETS, 100_000) | settings,
    )
    service = open_service(chosen)
    with service.database.write() as session:
        _publish(session, service)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        make_app(service, make_body_limits(chosen)),
        http=DeadlineProtocol,
        ws="none",
        log_config=None,
        access_log=False,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield Running(service, listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


def _publish(session: Session, service: Service) -> None:
    at = read_clock()
    run = make_run(
        session, course_id="attention", run_id=COURSE, title="Attention", time_zone="UTC", at=at,
        by="test",
    )  # fmt: skip
    publish(
        session,
        service.context,
        run=run,
        assignment=shipped().assignments[ASSIGNMENT],
        opens_at=None,
        due_at=at + timedelta(days=7),
        note="",
        at=at,
        by="test",
    )
