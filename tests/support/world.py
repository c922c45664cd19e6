"""A whole service on a database for tests: two course runs, people in them, a clock to turn.

One course run is `one`, with Irene, Arthur, Ada and Bob; the other is `two`, with Ivan and Cora::

    def test_a_student_sees_the_course(database):
        with make_service(database) as world:
            assert world.get("/api/v1/courses/one", "ada").json()["role"] == "student"
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Client, Response

from grader.accounts.callers import Caller, get_membership
from grader.accounts.courses import make_run
from grader.accounts.people import make_person
from grader.accounts.rosters import enrol
from grader.accounts.sign_in import make_sign_in_link
from grader.accounts.tokens import NewToken, make_personal_token, make_service_token
from grader.domain.roles import ALL_SCOPES, Role, Scope
from grader.grading.context import GradingContext
from grader.grading.publishing.publish import publish
from grader.grading.signing import SigningKey
from grader.grading.submissions.uploads import upload
from grader.rubric.catalog import CompiledAssignment
from grader.store.database import Database, Session, open_database
from grader.store.queries.audit import add_signing_key
from grader.store.queries.courses import RunLine, get_member, get_run
from grader.store.queries.people import PersonLine, get_person
from grader.store.writer import Writer
from grader.web.app import make_app
from grader.web.http.hosts import KnownHosts
from grader.web.http.rate_limits import RateLimit
from grader.web.ops.logs import open_logs
from grader.web.ops.metrics import open_metrics
from grader.web.service import Service
from tests.support.budgets import make_budgets
from tests.support.clients import AppClient
from tests.support.rubrics import shipped
from tests.support.server import serve
from tests.support.snapshots import Rows, put_rows, take_rows

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
DUE = NOW + timedelta(days=7)
BASE = "http://testserver"

EXPLORATION = "attention-exploration"
SINGLE_HEAD = "single-head-attention"
TRANSFORMERS = "self-attention-and-transformers"

#: Who takes part where; Olga operates the service and takes part nowhere.
MEMBERS = {
    "one": {
        "irene": Role.INSTRUCTOR,
        "arthur": Role.ASSISTANT,
        "ada": Role.STUDENT,
        "bob": Role.STUDENT,
    },
    "two": {"ivan": Role.INSTRUCTOR, "cora": Role.STUDENT},
}
OPERATOR = "olga"
PUBLISHED = {"one": (EXPLORATION, SINGLE_HEAD), "two": (EXPLORATION, TRANSFORMERS)}


@dataclass(slots=True)
class Clock:
    """A clock that stands still until it is turned."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now

    def turn(self, **by: float) -> None:
        """Go on by so many days, hours, seconds."""
        self.now += timedelta(**by)


@dataclass(slots=True)
class World:
    """A service that runs, with everybody's tokens; `who` is a login, or what was named a token."""

    service: Service
    client: TestClient
    clock: Clock
    log: io.StringIO
    people: dict[str, PersonLine] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def database(self) -> Database:
        return self.service.database

    def number(self) -> int:
        """A number that was not given before."""
        return next(self._numbers)

    # Calls

    def call(
        self,
        method: str,
        path: str,
        who: str | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send a request with somebody's token, or with none at all; bytes are sent as they are."""
        sent = dict(headers or {})
        if who is not None:
            sent["Authorization"] = f"Bearer {self.tokens[who]}"
        # A cookie of an earlier call would sign in whoever comes next.
        self.client.cookies.clear()
        if isinstance(body, bytes):
            return self.client.request(
                method, path, content=body, headers=sent, follow_redirects=False
            )
        return self.client.request(method, path, json=body, headers=sent, follow_redirects=False)

    def get(self, path: str, who: str | None = None, **more: Any) -> Response:
        return self.call("GET", path, who, **more)

    def post(self, path: str, who: str | None = None, body: Any = None, **more: Any) -> Response:
        return self.call("POST", path, who, body, **more)

    def read(self, path: str, who: str | None = None) -> Any:
        """The JSON of something that must be there."""
        response = self.get(path, who)
        assert response.status_code == 200, response.text
        return response.json()

    def submit(
        self, who: str, question: str, answer: Any, *, course: str = "one", status: int = 201
    ) -> dict[str, Any]:
        """Send an answer to `ASSIGNMENT/QUESTION`, and return what came back."""
        response = self.post(question_path(question, course) + "/attempts", who, {"answer": answer})
        assert response.status_code == status, response.text
        found: dict[str, Any] = response.json()
        return found

    def lines(self) -> list[dict[str, Any]]:
        """What was logged."""
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    def last_line(self) -> dict[str, Any]:
        """What was logged last, for tests with too many requests to read all lines each time."""
        found: dict[str, Any] = json.loads(self.log.getvalue().rstrip("\n").rpartition("\n")[2])
        return found

    # Setting up, past the web

    def add_person(self, login: str, *, is_operator: bool = False) -> PersonLine:
        with self.database.write() as session:
            return self._person(session, login, is_operator=is_operator)

    def add_member(
        self, login: str, role: Role, course: str = "one", *, name: str = "", section: str = ""
    ) -> PersonLine:
        """Somebody new, with a token that has every scope."""
        with self.database.write() as session:
            person = self._person(session, login, name=name)
            run = get_run(session, run_id=course)
            enrol(session, run, person, role=role, section=section, at=self.clock(), by="test")
            return person

    def _person(
        self, session: Session, login: str, *, is_operator: bool = False, name: str = ""
    ) -> PersonLine:
        at = self.clock()
        person = make_person(
            session, login=login, name=name or f"{login.title()} Surname-Of-{login.title()}",
            email=f"{login}@people.example", is_operator=is_operator, at=at, by="test",
        )  # fmt: skip
        token = make_personal_token(
            session, person, label="all", scopes=ALL_SCOPES, days=300, at=at, by="test"
        )
        self.people[login] = person
        self.tokens[login] = token.secret
        return person

    def add_token(
        self, name: str, login: str, scopes: Iterable[Scope], *, days: int = 300
    ) -> NewToken:
        """One more token of a person, known as `name` from now on."""
        with self.database.write() as session:
            token = make_personal_token(
                session, self.people[login], label=name, scopes=scopes, days=days,
                at=self.clock(), by="test",
            )  # fmt: skip
        self.tokens[name] = token.secret
        return token

    def add_service(self, name: str, scopes: Iterable[Scope], *, course: str = "one") -> NewToken:
        """A token of a service of a course run, known as `name` from now on."""
        operator = self.people[OPERATOR]
        with self.database.write() as session:
            membership = get_membership(
                session, Caller(operator.id, ALL_SCOPES, operator), run_id=course
            )
            token = make_service_token(
                session, membership, label=name, scopes=scopes, days=300, at=self.clock()
            )
        self.tokens[name] = token.secret
        return token

    def publish(
        self,
        assignment: CompiledAssignment,
        course: str = "one",
        *,
        due_at: datetime | None = DUE,
        opens_at: datetime | None = None,
    ) -> None:
        with self.database.write() as session:
            run = get_run(session, run_id=course)
            publish(
                session, self.service.context, run=run, assignment=assignment, opens_at=opens_at,
                due_at=due_at, note="", at=self.clock(), by="test",
            )  # fmt: skip

    def enrolment(self, login: str, course: str = "one") -> str:
        with self.database.read() as session:
            return get_member(session, run_id=course, login=login).enrolment.id

    def upload(
        self, login: str, content: bytes = b"%PDF-1.7 of a test", course: str = "one"
    ) -> str:
        """The id of a PDF that somebody has uploaded."""
        person = self.people[login]
        with self.database.write() as session:
            membership = get_membership(
                session, Caller(person.id, ALL_SCOPES, person), run_id=course
            )
            return upload(session, membership, name="a b.pdf", content=content, at=self.clock()).id

    def link(self, login: str, *, lasts: timedelta = timedelta(days=7)) -> str:
        """A code that signs somebody in once."""
        with self.database.write() as session:
            person = get_person(session, person_id=self.people[login].id)
            return make_sign_in_link(session, person, at=self.clock(), by="test", lasts=lasts)

    def browser(self) -> TestClient:
        """A browser with cookies of its own; the service must run already."""
        return AppClient(
            self.client.app,
            base_url=self.service.base_url,
            follow_redirects=False,
            beside=self.client,
        )


def question_path(question: str, course: str = "one") -> str:
    """The address of `ASSIGNMENT/QUESTION`."""
    assignment, _, name = question.partition("/")
    return f"/api/v1/courses/{course}/assignments/{assignment}/questions/{name}"


@contextmanager
def make_service(
    database: Database,
    *,
    clock: Clock | None = None,
    base_url: str = BASE,
    hosts: KnownHosts | None = None,
    monotonic: Callable[[], float] | None = None,
    rules: Mapping[str, RateLimit] | None = None,
    published: Mapping[str, Iterable[str]] = PUBLISHED,
) -> Iterator[World]:
    """A service with both course runs on a fresh database, which is closed afterwards.

    `rules` are budgets instead of those that nobody uses up; `published` says which of the shipped
    assignments each course run has.
    """
    clock = clock or Clock()
    asked = tuple((course, tuple(published[course])) for course in MEMBERS)
    known = _beginnings.get(asked) if clock() == NOW else None
    key = known.key if known else SigningKey.generate()
    with _run_service(database, key, clock, base_url, rules or {}, hosts, monotonic) as world:
        if known is not None:
            put_rows(database, known.rows)
            world.people |= known.people
            world.tokens |= known.tokens
        else:
            _begin(world, key, asked)
            if clock() == NOW:
                _beginnings[asked] = Beginning(
                    take_rows(database), dict(world.people), dict(world.tokens), key
                )
        yield world


@contextmanager
def make_service_beside(world: World) -> Iterator[World]:
    """Another process on the database of a service, with connections and memory of its own."""
    database = open_database(world.database.url.render_as_string(hide_password=False))
    key = world.service.context.signing_key
    with _run_service(database, key, world.clock, world.service.base_url, {}) as other:
        other.people |= world.people
        other.tokens |= world.tokens
        yield other


@contextmanager
def _run_service(
    database: Database,
    key: SigningKey,
    clock: Clock,
    base_url: str,
    rules: Mapping[str, RateLimit],
    hosts: KnownHosts | None = None,
    monotonic: Callable[[], float] | None = None,
) -> Iterator[World]:
    log, metrics = io.StringIO(), open_metrics()
    service = Service(
        database=database,
        writer=Writer(database, observe_group=metrics.writer_group_size.observe),
        make_context=lambda: GradingContext(key),
        clock=clock,
        budgets=make_budgets(rules),
        logs=open_logs(log, pretty=False),
        metrics=metrics,
        base_url=base_url,
        hosts=hosts,
        # The clock that a test turns takes this one with it.
        monotonic=monotonic or (lambda: clock().timestamp()),
    )
    app = make_app(service)
    # They are made once in a process; each test then has them from its first request.
    app.state.routes.load()
    with AppClient(app, base_url=base_url) as client:
        yield World(service, client, clock, log)


@contextmanager
def serve_world(world: World) -> Iterator[World]:
    """The same service behind a real server, which its client calls by HTTP."""
    app = world.client.app
    assert isinstance(app, FastAPI)
    with serve(app) as port, Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        # It is called in the same ways.
        yield replace(world, client=client)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Beginning:
    """A world in which nothing has happened yet."""

    rows: Rows
    people: dict[str, PersonLine]
    tokens: dict[str, str]
    key: SigningKey


#: The worlds that were begun in this process, by what is published in them.
_beginnings: dict[tuple[tuple[str, tuple[str, ...]], ...], Beginning] = {}


def _begin(world: World, key: SigningKey, published: Iterable[tuple[str, tuple[str, ...]]]) -> None:
    with world.database.write() as session:
        add_signing_key(session, key_id=key.id, private=key.to_bytes(), at=world.clock())
    world.add_person(OPERATOR, is_operator=True)
    for course, names in published:
        _add_course(world, course)
        for login, role in MEMBERS[course].items():
            world.add_member(login, role, course)
        for name in names:
            world.publish(shipped().assignments[name], course)


def _add_course(world: World, course: str) -> RunLine:
    with world.database.write() as session:
        return make_run(
            session, course_id=f"{course}-course", run_id=course, title=f"Course {course}",
            time_zone="UTC", at=world.clock(), by="test",
        )  # fmt: skip
