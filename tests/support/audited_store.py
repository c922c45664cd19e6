"""A store in which something of every kind has happened, for tests of `grader verify`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session as OrmSession
from sqlalchemy.pool import NullPool

from grader.domain.roles import Role
from grader.grading.audit.verify import Verification, verify
from grader.grading.context import GradingContext
from grader.grading.grades.extensions import record_extension
from grader.grading.grades.external_scores import ScoreEntry, record_external_scores
from grader.grading.grades.overrides import format_grade_version, override_grade
from grader.grading.idempotency import IdempotencyKey, IdempotentResponse
from grader.grading.publishing.publish import publish
from grader.grading.reviews.review import review_criterion
from grader.grading.signing import SigningKey
from grader.grading.submissions.submit import SubmitRequest, submit
from grader.rubric.catalog import CompiledAssignment, read_assignment
from grader.store.database import Database, Session
from grader.store.queries.audit import add_signing_key
from grader.store.queries.courses import get_member, get_run
from grader.store.queries.grades import find_grades
from tests.support.people import NOW, RUN, add_member, add_run, place_of
from tests.support.rubrics import shipped

TRANSFORMERS = "self-attention-and-transformers"
SINGLE_HEAD = "single-head-attention"
MODEL = {"q": "40 (mu_a + mu_b)"}
UNDERSTANDING = {
    "share_near_average": 0.0,
    "share_nearer_b": 1,
    "variance": 0.25,
    "spread_ratio": 0,
    "explanation": "It jumps.",
}
DUE = NOW + timedelta(days=7)


def days(count: float) -> datetime:
    return NOW + timedelta(days=count)


def small(name: str, questions: list[str], attempts: str) -> CompiledAssignment:
    """A shipped assignment with a few of its questions only, and another policy."""
    whole = shipped().assignments[name]
    form = f"id: {name}\ntitle: {name}\nquestions: {questions}\nattempts: {attempts}\n"
    form = form.replace("'", "") + "late: {grace_seconds: 60, per_day: 0.1, days: 3}\n"
    return read_assignment(name, form, {each: whole.rubrics[each].text for each in questions})


@dataclass(slots=True)
class Store:
    """A store with its service's key; `told` is what clients got for their attempts, by name."""

    database: Database
    context: GradingContext
    told: dict[str, dict[str, Any]] = field(default_factory=dict)
    verifier: GradingContext = field(default_factory=lambda: GradingContext(SigningKey.generate()))
    """A desk that signs nothing, as that of the command."""

    def publish(
        self, assignment: CompiledAssignment, *, due_at: datetime | None, at: datetime
    ) -> None:
        with self.database.write() as session:
            publish(
                session, self.context, run=get_run(session, run_id=RUN), assignment=assignment,
                opens_at=NOW, due_at=due_at, note="", at=at, by="operator",
            )  # fmt: skip

    def send(self, name: str, login: str, question: str, answer: Any, *, at: datetime) -> str:
        """Submit an answer, and return the attempt's id."""
        assignment, _, part = question.partition("/")
        with self.database.write() as session:
            member = get_member(session, run_id=RUN, login=login)
            request = IdempotencyKey(member.enrolment.person_id, name, name)
            sending = SubmitRequest(member.enrolment, assignment, part, answer, at, request)
            (answered,) = submit(session, self.context, [sending], at=at)
        assert isinstance(answered, IdempotentResponse), answered
        self.told[name] = orjson.loads(answered.body)
        return str(self.told[name]["id"])

    def lines(self) -> list[bytes]:
        """What clients were told, as they would have kept it."""
        return [orjson.dumps(each) for each in self.told.values()]

    def id(self, name: str) -> str:
        return str(self.told[name]["id"])

    def extend(
        self, login: str, *, due_at: datetime | None = None, extra: int = 0, at: datetime
    ) -> None:
        with self.database.write() as session:
            record_extension(
                session, self.context, place_of(session, "grace"),
                get_member(session, run_id=RUN, login=login), assignment=TRANSFORMERS,
                due_at=due_at, extra_attempts=extra, reason="ill", at=at,
            )  # fmt: skip

    def verify(self, session: Session | None = None, **more: Any) -> Verification:
        if session is not None:
            return verify(session, self.verifier, **more)
        with self.database.read() as own:
            return verify(own, self.verifier, **more)

    def found(self, session: Session, **more: Any) -> dict[str, list[tuple[str, str]]]:
        """What is wrong, by check."""
        return {
            each.name: [(one.subject, one.text) for one in each.discrepancies]
            for each in self.verify(session, acknowledged=self.lines(), **more).checks
            if not each.is_fine
        }


def fill(database: Database) -> Store:
    """Let everything happen: attempts, reviews, overrides, scores, extensions, publications."""
    store = Store(database, GradingContext(key := SigningKey.generate()))
    with database.write() as session:
        add_signing_key(session, key_id=key.id, private=key.to_bytes(), at=NOW)
        add_run(session)
        add_member(session, "grace", Role.INSTRUCTOR)
        for login in ("ada", "bob", "cora"):
            add_member(session, login, Role.STUDENT)
    noisy = small(TRANSFORMERS, ["c-i", "c-ii"], "{most: 2}")
    store.publish(noisy, due_at=DUE, at=NOW)
    store.publish(small(SINGLE_HEAD, ["1c", "2a"], "{feedback: after_due}"), due_at=DUE, at=NOW)
    _attempt(store)
    _decide(store)
    # From now on fewer attempts and less time than some have had already.
    store.publish(
        small(TRANSFORMERS, ["c-i", "c-ii"], "{most: 1, counted: last}"),
        due_at=days(1),
        at=days(13),
    )
    return store


def _attempt(store: Store) -> None:
    first, second = f"{TRANSFORMERS}/c-i", f"{TRANSFORMERS}/c-ii"
    store.send("ada wrong", "ada", first, {"q": "mu_a"}, at=days(5))
    store.send("ada right", "ada", first, MODEL, at=days(5.1))
    store.send("ada builds", "ada", second, UNDERSTANDING, at=days(6))
    store.send("ada withheld", "ada", f"{SINGLE_HEAD}/1c", {"q": "40 (k_i + k_j)"}, at=days(6))
    store.extend("bob", extra=1, at=days(1))
    for number, size in enumerate((1, 20, 40), 1):
        store.send(
            f"bob {number}", "bob", first, {"q": f"{size} (mu_a + mu_b)"}, at=days(1 + number / 10)
        )
    store.send("bob builds", "bob", second, UNDERSTANDING, at=days(2))
    store.extend("bob", at=days(2))
    store.extend("cora", due_at=days(11), at=days(1))
    store.send("cora late", "cora", first, MODEL, at=days(12.5))
    store.extend("cora", at=days(12.6))


def _decide(store: Store) -> None:
    with store.database.write() as session:
        place = place_of(session, "grace")
        review_criterion(
            session,
            store.context,
            place,
            attempt_id=store.id("ada builds"),
            criterion="explanation",
            items=[0],
            points=None,
            comment="",
            version=None,
            at=days(8),
        )
        bob = get_member(session, run_id=RUN, login="bob")
        part = (bob.enrolment.id, TRANSFORMERS, "c-ii")
        override_grade(
            session, store.context, place, bob, assignment=TRANSFORMERS, question="c-ii",
            points=Decimal("7.5"), reason="appeal",
            version=format_grade_version(find_grades(session, parts=[part]).get(part)), at=days(8),
        )  # fmt: skip
        record_external_scores(
            session, store.context, place, assignment=SINGLE_HEAD, question="2a",
            scores=[ScoreEntry("ada", Decimal(17)), ScoreEntry("bob", Decimal("2.25"))],
            source="lab", at=days(8),
        )  # fmt: skip


@contextmanager
def tampering(database: Database, *statements: str, **values: Any) -> Iterator[Session]:
    """A session past all rules of the database, in which statements were run; nothing stays."""
    engine = create_engine(database.url, poolclass=NullPool)
    with engine.connect() as connection:
        if database.is_sqlite:
            assert connection.connection.driver_connection is not None
            connection.connection.driver_connection.isolation_level = None
            connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
            connection.exec_driver_sql("BEGIN")
        else:
            connection.execute(text("SET LOCAL session_replication_role = replica"))
        for statement in statements:
            done = connection.execute(text(statement), values)
            assert done.rowcount, f"nothing changed: {statement}"
        with OrmSession(connection, join_transaction_mode="control_fully") as session:
            yield session
            session.rollback()
