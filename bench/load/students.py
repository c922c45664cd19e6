"""A course whose students are about to answer, and the requests that they will send."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import text

from grader.accounts.callers import TOKEN_PREFIX, hash_secret
from grader.accounts.courses import make_run
from grader.cli.database import read_clock
from grader.cli.server import open_grading_context
from grader.domain.roles import STUDENT_SCOPES, Role
from grader.engine.judge.judge import Judge
from grader.engine.random.variants import Variant
from grader.grading.publishing.publish import publish
from grader.grading.serialize import encode_variant
from grader.rubric.catalog import CompiledAssignment, Rubric, get_shipped_folder, read_assignment
from grader.store.database import Database
from grader.store.queries.attempts import ShownVariant, add_variants
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.courses import EnrolmentLine, add_enrolments
from grader.store.queries.credentials import TokenLine, add_tokens
from grader.store.queries.facts import RecordedTable
from grader.store.queries.people import PersonLine, add_people
from grader.store.rows import make_id

RUN, ASSIGNMENT, QUESTION = "load", "self-attention-and-transformers", "c-i"
PATH = f"/api/v1/courses/{RUN}/assignments/{ASSIGNMENT}/questions/{QUESTION}/attempts"
#: More than any run sends for one student, and the largest limit that there is.
MOST_ATTEMPTS = 1000
_BATCH_SIZE = 500


@dataclass(frozen=True, slots=True)
class Student:
    """A student who has opened the question, with the numbers that were shown."""

    enrolment_id: str
    token: str
    variant: Variant

    def make_request(self, number: int, *, is_right: bool = True) -> bytes:
        """The student's answer of this number, as one line: the token and the body.

        Right answers differ in length only, and so do wrong ones, which are too short.
        """
        means, chosen = self.variant.values["mu"], self.variant.indices
        length = 40 + 0.001 * number if is_right else 1 + 0.001 * number
        query = length * (means[chosen["a"]] + means[chosen["b"]])
        return self.make_request_of({"q": query.tolist()})

    def make_request_of(self, answer: Any) -> bytes:
        """Any answer of the student, as one line."""
        return self.token.encode() + b"\t" + orjson.dumps({"answer": answer})


@dataclass(slots=True)
class Course:
    """A course run with one published assignment, to which students are added."""

    database: Database
    judge: Judge
    publication_id: str
    rubric: Rubric
    count: int = 0

    def enrol(self, count: int, *, ids: Sequence[str] = ()) -> list[Student]:
        """Add students, each with a token, who have opened the question.

        `ids` are those of their enrolments, by which their variants are drawn; by default new ones.
        """
        ids = ids or [make_id("enr") for _ in range(count)]
        added: list[Student] = []
        while count > len(added):
            chosen = ids[len(added) : min(count, len(added) + _BATCH_SIZE)]
            numbers = range(self.count, self.count + len(chosen))
            added += _add_batch(self.database, self.judge, numbers, chosen)
            self.count = numbers.stop
        return added


def open_course(
    database: Database, *, most_attempts: int = MOST_ATTEMPTS, secret: bytes | None = None
) -> Course:
    """Publish the assignment in a new course run, which has a new secret unless one is given."""
    at, context = read_clock(), open_grading_context(database)
    with database.write() as session:
        run = make_run(
            session, course_id=RUN, run_id=RUN, title="A large course", time_zone="UTC", at=at,
            by="load",
        )  # fmt: skip
        if secret is not None:
            statement = text("UPDATE runs SET secret = :secret WHERE id = :id")
            session.execute(statement, {"secret": secret, "id": RUN})
            add_audit_entry(
                session, at=at, by="load", action="run.changed", subject=RUN,
                changed={RecordedTable.RUNS: [RUN]},
            )  # fmt: skip
        publish(
            session, context, run=run, assignment=_read_assignment(most_attempts), opens_at=None,
            due_at=at + timedelta(days=7), note="", at=at, by="load",
        )  # fmt: skip
        published = context.in_force(session, run_id=RUN, assignment=ASSIGNMENT)
        rubric = published.rubric(QUESTION)
        judge = context.judge(session, run_id=RUN, rubric=rubric)
        return Course(database, judge, published.line.id, rubric)


def _read_assignment(most_attempts: int) -> CompiledAssignment:
    """The shipped assignment with one limit for all questions."""
    folder = get_shipped_folder() / ASSIGNMENT
    form = (folder / "assignment.yaml").read_text(encoding="utf-8")
    form = re.sub(r"(?m)^(exceptions|attempts): .*$", "", form)
    form += f"\nattempts: {{most: {most_attempts}, counted: best}}\n"
    questions = sorted(path for path in folder.glob("*.yaml") if path.name != "assignment.yaml")
    texts = {path.stem: path.read_text(encoding="utf-8") for path in questions}
    return read_assignment(ASSIGNMENT, form, texts)


def _add_batch(
    database: Database, judge: Judge, numbers: range, ids: Sequence[str]
) -> list[Student]:
    at = read_clock()
    people = [
        PersonLine(make_id("per"), f"s{each:06}", f"Student {each}", None, False)
        for each in numbers
    ]
    places = [
        EnrolmentLine(id_, RUN, person.id, Role.STUDENT, "ABCD"[number % 4])
        for number, (person, id_) in enumerate(zip(people, ids, strict=True))
    ]
    students = [
        Student(place.id, _make_token(number), judge.variant(place.id))
        for number, place in zip(numbers, places, strict=True)
    ]
    source = judge.question.source
    tokens = [_make_token_line(person, at) for person in people]
    with database.write() as session:
        add_people(session, people, at=at)
        add_enrolments(session, places, at=at)
        digests = [hash_secret(each.token) for each in students]
        add_tokens(session, list(zip(tokens, digests, strict=True)), by="load")
        add_variants(
            session,
            [
                ShownVariant(
                    RUN, each.enrolment_id, source.id, source.revision, encode_variant(each.variant)
                )
                for each in students
            ],
            at=at,
        )
        changed = {
            RecordedTable.PEOPLE: [each.id for each in people],
            RecordedTable.ENROLMENTS: ids,
            RecordedTable.TOKENS: [each.id for each in tokens],
        }
        add_audit_entry(
            session, at=at, by="load", action="roster.imported", subject=RUN, changed=changed
        )
    return students


def _make_token(number: int) -> str:
    return TOKEN_PREFIX + hashlib.sha256(f"load {number}".encode()).hexdigest()


def _make_token_line(person: PersonLine, at: datetime) -> TokenLine:
    return TokenLine(
        id=make_id("tok"), hint="load", label="load", person_id=person.id, run_id=None,
        scopes=tuple(each.value for each in STUDENT_SCOPES), made_at=at,
        expires_at=at + timedelta(days=30), revoked_at=None, used_at=None,
    )  # fmt: skip


def write_requests(path: Path, requests: Iterator[bytes] | Sequence[bytes]) -> Path:
    """Write requests to a file, one in a line."""
    path.write_bytes(b"\n".join(requests) + b"\n")
    return path
