"""What a submitted answer asks of the database: the same for any number of students and attempts.

How long that takes is for the bench; here statements and rows are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import pytest

from bench.statements import Statement, run_statements
from grader.accounts.callers import Credential
from grader.domain.roles import Role
from grader.grading.idempotency import IdempotentResponse
from grader.store.database import Database
from grader.web.submissions import SentAnswer, SentKey
from tests.support.histories import LONG, QUESTION, long_assignment
from tests.support.statements import record_writing
from tests.support.world import World, make_service


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (), "two": ()}) as world:
        world.publish(long_assignment(most=20))
        # Rubrics are compiled and the course's secret is read with the first answer.
        world.submit("irene", QUESTION, {"q": "k_a"})
        yield world


def add_students(world: World, count: int) -> list[str]:
    logins = [f"student-{world.number()}" for _ in range(count)]
    for login in logins:
        world.add_member(login, Role.STUDENT)
    return logins


class _Undone(Exception):
    """What was tried out is not to be kept."""


def submit(
    world: World,
    senders: Sequence[str],
    query: str,
    *,
    with_keys: bool = False,
    status: int = 201,
    keep: bool = True,
) -> list[Statement]:
    """The statements of one batch with an answer of each."""
    sent = [
        SentAnswer(
            Credential.of_token(world.tokens[who]), "one", LONG, "one", {"q": query}, world.clock(),
            SentKey(f"key-{world.number()}", "digest") if with_keys else None,
        )
        for who in senders
    ]  # fmt: skip
    with (
        record_writing(world.database) as statements,
        suppress(_Undone),
        world.database.write() as session,
    ):
        results = world.service.submit_batch(session, sent)
        if not keep:
            raise _Undone
    statuses = [each.status for each in results if isinstance(each, IdempotentResponse)]
    assert statuses == [status] * len(senders)
    return statements


def texts(statements: Sequence[Statement]) -> list[str]:
    return [each.sql for each in statements]


@pytest.mark.parametrize("with_keys", [False, True], ids=["without keys", "with keys"])
def test_many_students_are_asked_for_with_the_statements_of_one(
    world: World, with_keys: bool
) -> None:
    alone, all_others = add_students(world, 1), add_students(world, 30)

    assert len(submit(world, alone, "k_a", with_keys=with_keys)) == len(
        submit(world, all_others, "k_a", with_keys=with_keys)
    ), "their first attempts"
    assert len(submit(world, alone, "2 k_a", with_keys=with_keys)) == len(
        submit(world, all_others, "2 k_a", with_keys=with_keys)
    ), "their second attempts"


def test_statements_that_only_read_have_one_text_for_any_number_of_students(world: World) -> None:
    alone, all_others = add_students(world, 1), add_students(world, 30)

    one, many = submit(world, alone, "k_a"), submit(world, all_others, "k_a")

    assert [each for each in texts(one) if each.startswith("SELECT")] == [
        each for each in texts(many) if each.startswith("SELECT")
    ]


def test_the_tenth_attempt_asks_what_the_second_did(world: World) -> None:
    asked = []
    for number in range(1, 11):
        world.clock.turn(minutes=1)
        asked.append(texts(submit(world, ["ada"], f"{number} k_a")))

    # What was drawn with the first attempt is kept in memory once it was read with the second.
    assert [each for each in asked[1] if "FROM variants" not in each] == asked[9]
    assert asked[2:] == [asked[9]] * 8


def test_a_plain_attempt_reads_nothing_about_earlier_verdicts(world: World) -> None:
    for number in range(1, 6):
        submit(world, ["ada"], f"{number} k_a")

    # Undone, so that they can be run again on what there was before.
    plain = find_readings_of_verdicts(submit(world, ["ada"], "6 k_a", keep=False))
    repeated = find_readings_of_verdicts(submit(world, ["ada"], "2 k_a", status=200, keep=False))

    assert run_statements(world.database, plain) == 0
    assert run_statements(world.database, repeated) == 1, "only the one with the same answer"


def find_readings_of_verdicts(statements: Sequence[Statement]) -> list[Statement]:
    columns = ("judgements.verdicts", "judgements.receipt")
    return [
        each
        for each in statements
        if each.sql.startswith(("SELECT", "WITH")) and any(name in each.sql for name in columns)
    ]


def test_a_plain_attempt_reads_as_many_rows_as_there_are_students(world: World) -> None:
    for number in range(1, 11):
        submit(world, ["ada", "bob"], f"{number} k_a")

    statements = submit(world, ["ada", "bob"], "11 k_a", keep=False)
    readings = [each for each in statements if each.sql.startswith("SELECT")]
    locks = [each for each in readings if "pg_advisory" in each.sql]

    rows = run_statements(world.database, [each for each in readings if each not in locks])
    # Both tokens, the course run, both places, its publication and where both stand.
    assert rows == 2 + 1 + 2 + 1 + 2
