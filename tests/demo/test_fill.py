"""Filling the demo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from grader.demo.fill import fill
from grader.domain.roles import Role
from grader.grading.audit.verify import verify
from grader.grading.context import GradingContext
from grader.grading.grades.export import to_csv_lines
from grader.grading.grades.gradebook import load_gradebook
from grader.grading.signing import SigningKey
from grader.store.database import Database, open_database
from grader.store.queries.attempts import list_judged_of_question
from grader.store.queries.audit import add_signing_key
from grader.store.queries.courses import list_members, list_runs
from grader.store.queries.publications import list_in_force
from tests.support.databases import fresh_url

NOW = datetime(2026, 11, 16, 14, 30, tzinfo=UTC)
LATE, LAB, NEWEST = (
    "self-attention-and-transformers",
    "single-head-attention",
    "attention-exploration",
)


def make_context(database: Database) -> GradingContext:
    key = SigningKey.generate()
    with database.write() as session:
        add_signing_key(session, key_id=key.id, private=key.to_bytes(), at=NOW)
    return GradingContext(key)


def add(database: Database, context: GradingContext, *, students: int) -> list[tuple[int, int]]:
    steps: list[tuple[int, int]] = []
    with database.write() as session:
        fill(
            session, context, now=NOW, students=students,
            progress=lambda done, of: steps.append((done, of)),
        )  # fmt: skip
    return steps


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, GradingContext]]:
    """A demo with four students besides Ada."""
    with (
        fresh_url("sqlite", tmp_path_factory.mktemp("small")) as url,
        closing(open_database(url)) as database,
    ):
        context = make_context(database)
        add(database, context, students=4)
        yield database, context


def test_a_demo_passes_the_audit_of_the_store(database: Database) -> None:
    context = make_context(database)
    steps = add(database, context, students=4)

    with database.read() as session:
        found = verify(session, context)
        assert found.is_fine, [each for each in found.checks if not each.is_fine]
        published = [each.assignment for each in list_in_force(session, run_id="demo")]
    assert published == [LATE, LAB, NEWEST]
    assert steps[-1][0] == steps[-1][1] > 20


def test_a_demo_is_added_once(small: tuple[Database, GradingContext]) -> None:
    database, context = small

    assert add(database, context, students=4) == []
    with database.read() as session:
        assert [run.id for run in list_runs(session)] == ["demo"]
        assert len(list_members(session, run_id="demo", role=Role.STUDENT)) == 5


def test_two_demos_differ_in_their_numbers_and_not_in_their_grades(
    small: tuple[Database, GradingContext], sqlite_database: Database
) -> None:
    context = make_context(sqlite_database)
    add(sqlite_database, context, students=4)

    assert grades_of(sqlite_database, context) == grades_of(*small)


def grades_of(database: Database, context: GradingContext) -> list[str]:
    with database.read() as session:
        return [
            "".join(
                to_csv_lines(load_gradebook(session, context, run_id="demo", assignment=assignment))
            )
            for assignment in (LATE, LAB, NEWEST)
        ]


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
