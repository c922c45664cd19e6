"""The writer: groups in one transaction, after the commit, and one bad piece spoils no other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from sqlalchemy.exc import IntegrityError

from grader.errors import KeysetError, NotFound, Unavailable
from grader.store import writer as writer_module
from grader.store.database import Database, Session
from grader.store.queries.courses import add_course, has_course
from grader.store.writer import MAX_BATCH_SIZE, Writer

NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.fixture
def writer(database: Database) -> Iterator[Writer]:
    # One transaction after the other, so that a test knows what waits for what.
    writer = Writer(database, transactions=1).start()
    yield writer
    writer.stop()


@pytest.fixture
def wide_writer(postgresql_database: Database) -> Iterator[Writer]:
    writer = Writer(postgresql_database).start()
    yield writer
    writer.stop()


class Courses:
    """A handler that adds courses and remembers its groups."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.has_begun = threading.Event()
        self.is_free = threading.Event()

    def add(self, session: Session, names: Sequence[str]) -> Sequence[str | KeysetError]:
        self.has_begun.set()
        self.is_free.wait(10)
        self.groups.append(list(names))
        results: list[str | KeysetError] = []
        for name in names:
            if name == "refused":
                results.append(NotFound())
                continue
            if name == "broken":
                raise RuntimeError("a defect")
            add_course(session, course_id=name, title=name, at=NOW)
            results.append(name)
        return results


def is_there(database: Database, name: str) -> bool:
    with database.read() as session:
        return has_course(session, course_id=name)


def put_all(writer: Writer, courses: Courses, names: Sequence[str]) -> list[object]:
    """Put names into the line while the writer is busy with the first, and wait for all."""
    futures = [writer.put(courses.add, name) for name in names]
    courses.is_free.set()
    return [future.exception(10) or future.result(10) for future in futures]


def test_what_waits_shares_a_transaction(writer: Writer, database: Database) -> None:
    courses = Courses()

    results = put_all(writer, courses, ["first", "second", "third", "fourth"])

    assert results == ["first", "second", "third", "fourth"]
    assert sorted(map(len, courses.groups)) in ([1, 3], [4], [2, 2])
    assert all(is_there(database, name) for name in ("first", "second", "third", "fourth"))


def test_a_refused_piece_is_told_and_the_others_are_done(
    writer: Writer, database: Database
) -> None:
    results = put_all(writer, Courses(), ["first", "refused", "third"])

    assert isinstance(results[1], NotFound)
    assert is_there(database, "first")
    assert is_there(database, "third")


def test_a_piece_that_fails_is_undone_alone(writer: Writer, database: Database) -> None:
    courses = Courses()

    results = put_all(writer, courses, ["first", "second", "broken", "fourth"])

    assert [results[0], results[1], results[3]] == ["first", "second", "fourth"]
    assert isinstance(results[2], RuntimeError)
    assert all(is_there(database, name) for name in ("first", "second", "fourth"))


def test_nothing_is_told_before_the_commit(writer: Writer, database: Database) -> None:
    seen: list[bool] = []
    future = writer.put(Courses.add.__get__(free()), "early")
    future.add_done_callback(lambda _: seen.append(is_there(database, "early")))

    assert future.result(10) == "early"
    writer.stop()
    assert seen == [True]


def free() -> Courses:
    courses = Courses()
    courses.is_free.set()
    return courses


def test_a_constraint_that_stays_broken_is_an_error_and_changes_nothing(
    writer: Writer, database: Database
) -> None:
    courses = free()
    assert writer.put(courses.add, "twice").result(10) == "twice"

    error = writer.put(courses.add, "twice").exception(10)

    assert isinstance(error, IntegrityError)
    assert len(courses.groups) == 3, "it was tried once more, in case another process was faster"


def test_a_single_change_is_carried_out_alone(writer: Writer, database: Database) -> None:
    def change(session: Session) -> str:
        add_course(session, course_id="alone", title="", at=NOW)
        return "done"

    assert asyncio.run(writer.run(change)) == "done"
    assert is_there(database, "alone")


def test_who_gave_up_disturbs_nobody(writer: Writer, database: Database) -> None:
    courses = Courses()
    given_up = writer.put(courses.add, "first")
    second = writer.put(courses.add, "second")
    given_up.cancel()
    courses.is_free.set()

    assert second.result(10) == "second"


def test_who_waits_too_long_is_told_and_what_had_not_begun_does_not_happen(
    writer: Writer, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "MAX_WAIT_SECONDS", 0.05)
    courses = Courses()
    first = writer.put(courses.add, "first")
    courses.has_begun.wait(10)

    with pytest.raises(Unavailable, match="not known"):
        asyncio.run(writer.submit(courses.add, "second"))

    courses.is_free.set()
    assert first.result(10) == "first"
    writer.stop()
    assert not is_there(database, "second")


def test_a_full_line_turns_away_at_once(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "MAX_QUEUE_LENGTH", 2)
    courses = Courses()
    waiting = [writer.put(courses.add, "first")]
    courses.has_begun.wait(10)
    waiting += [writer.put(courses.add, name) for name in ("second", "third")]

    with pytest.raises(Unavailable, match="nothing was changed"):
        writer.put(courses.add, "fourth")

    courses.is_free.set()
    assert [future.result(10) for future in waiting] == ["first", "second", "third"]


def test_stopping_finishes_what_waits_and_takes_nothing_more(database: Database) -> None:
    writer, courses = Writer(database).start(), Courses()
    futures = [writer.put(courses.add, name) for name in ("first", "second")]
    courses.is_free.set()
    writer.stop()

    assert [future.result(0) for future in futures] == ["first", "second"]
    with pytest.raises(Unavailable):
        writer.put(courses.add, "third")


# Two transactions at once


def begin(writer: Writer, name: str) -> tuple[Courses, Future[str]]:
    """Begin a transaction that ends when its courses are free."""
    courses = Courses()
    future = writer.put(courses.add, name)
    assert courses.has_begun.wait(10)
    return courses, future


def test_on_postgresql_a_long_transaction_keeps_nobody_waiting(
    wide_writer: Writer, postgresql_database: Database
) -> None:
    courses, long = begin(wide_writer, "long")

    assert wide_writer.put(free().add, "short").result(10) == "short"

    assert not long.done()
    assert is_there(postgresql_database, "short")
    courses.is_free.set()
    assert long.result(10) == "long"


def test_few_pieces_wait_for_the_transaction_under_way_and_many_begin_another(
    wide_writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "_MAX_GATHERING_SECONDS", 60)
    courses, long = begin(wide_writer, "long")
    others = free()

    futures = [wide_writer.put(others.add, f"few-{n}") for n in range(MAX_BATCH_SIZE - 1)]
    assert not others.has_begun.wait(0.1)
    futures.append(wide_writer.put(others.add, "enough"))

    assert [future.result(10) for future in futures][-1] == "enough"
    assert [len(each) for each in others.groups] == [MAX_BATCH_SIZE]
    assert not long.done()
    courses.is_free.set()
    assert long.result(10) == "long"


def test_while_the_queue_is_crowded_there_is_one_transaction(
    wide_writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "_MAX_GATHERING_SECONDS", 0.01)
    monkeypatch.setattr(writer_module, "_CROWDED_QUEUE_LENGTH", 3)
    courses, long = begin(wide_writer, "long")
    others = free()
    with wide_writer._changed:
        futures = [wide_writer.put(others.add, f"{n}") for n in range(3)]

    assert not others.has_begun.wait(0.1)

    courses.is_free.set()
    assert long.result(10) == "long"
    assert [future.result(10) for future in futures] == ["0", "1", "2"]


def test_few_pieces_are_done_when_the_transaction_under_way_ends(
    wide_writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "_MAX_GATHERING_SECONDS", 60)
    courses, long = begin(wide_writer, "long")
    few = wide_writer.put(free().add, "few")
    courses.is_free.set()

    assert (long.result(10), few.result(10)) == ("long", "few")


def test_on_sqlite_one_transaction_waits_for_the_other(sqlite_database: Database) -> None:
    writer = Writer(sqlite_database).start()
    courses, long = begin(writer, "long")
    others = free()
    short = writer.put(others.add, "short")

    assert not others.has_begun.wait(0.1)

    courses.is_free.set()
    assert (long.result(10), short.result(10)) == ("long", "short")
    writer.stop()


def test_stopping_waits_for_both_transactions(postgresql_database: Database) -> None:
    writer = Writer(postgresql_database).start()
    begun = [begin(writer, name) for name in ("first", "second")]
    for courses, _ in begun:
        threading.Timer(0.05, courses.is_free.set).start()
    writer.stop()

    assert [future.result(0) for _, future in begun] == ["first", "second"]


# From event loops


async def gather(writer: Writer, courses: Courses, names: Sequence[str]) -> list[object]:
    """Submit names from one event loop, all before the writer goes on with any."""
    waiting = [asyncio.ensure_future(writer.submit(courses.add, name)) for name in names]
    await asyncio.sleep(0)
    courses.is_free.set()
    return list(await asyncio.gather(*waiting, return_exceptions=True))


def test_whoever_awaits_gets_their_own_result_or_error(writer: Writer, database: Database) -> None:
    names = ["first", "refused", "broken", "fourth", "fifth"]

    results = asyncio.run(gather(writer, Courses(), names))

    assert [results[0], results[3], results[4]] == ["first", "fourth", "fifth"]
    assert isinstance(results[1], NotFound)
    assert isinstance(results[2], RuntimeError)
    assert [is_there(database, name) for name in names] == [True, False, False, True, True]


def test_two_loops_in_two_threads_get_what_is_theirs(writer: Writer, database: Database) -> None:
    courses = Courses()
    names = [[f"{loop}-{number}" for number in range(20)] for loop in ("one", "two")]
    barrier = threading.Barrier(2)
    first = writer.put(courses.add, "first")
    courses.has_begun.wait(10)

    def run(of_loop: list[str]) -> list[object]:
        async def submit_all() -> list[object]:
            waiting = [asyncio.ensure_future(writer.submit(courses.add, name)) for name in of_loop]
            await asyncio.sleep(0)
            barrier.wait(10)
            courses.is_free.set()
            return list(await asyncio.gather(*waiting))

        return asyncio.run(submit_all())

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, names)) == names
    assert first.result(10) == "first"
    assert [len(each) for each in courses.groups] == [1, 40], "both loops wait for one group"
    assert all(is_there(database, name) for of_loop in names for name in of_loop)


def test_threads_and_loops_share_a_group(writer: Writer) -> None:
    courses = Courses()
    first = writer.put(courses.add, "first")
    courses.has_begun.wait(10)
    thread = writer.put(courses.add, "thread")

    async def submit() -> object:
        waiting = asyncio.ensure_future(writer.submit(courses.add, "loop"))
        await asyncio.sleep(0)
        courses.is_free.set()
        return await waiting

    assert asyncio.run(submit()) == "loop"
    assert (first.result(10), thread.result(10)) == ("first", "thread")
    assert courses.groups == [["first"], ["thread", "loop"]]


def test_a_task_that_gave_up_is_not_done_and_spoils_no_other(
    writer: Writer, database: Database
) -> None:
    courses = Courses()
    first = writer.put(courses.add, "first")
    courses.has_begun.wait(10)

    async def submit() -> tuple[object, bool]:
        given_up = asyncio.ensure_future(writer.submit(courses.add, "given-up"))
        other = asyncio.ensure_future(writer.submit(courses.add, "other"))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.sleep(0)
        courses.is_free.set()
        return await other, given_up.cancelled()

    assert asyncio.run(submit()) == ("other", True)
    assert first.result(10) == "first"
    assert courses.groups == [["first"], ["other"]]
    assert not is_there(database, "given-up")


def test_a_task_that_gives_up_while_it_is_done_spoils_no_other(
    writer: Writer, database: Database
) -> None:
    courses, told = Courses(), []

    async def submit() -> object:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        first = asyncio.ensure_future(writer.submit(courses.add, "first"))
        await asyncio.to_thread(courses.has_begun.wait, 10)
        second = asyncio.ensure_future(writer.submit(courses.add, "second"))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        courses.is_free.set()
        return await second

    assert asyncio.run(submit()) == "second"
    assert is_there(database, "first"), "it had begun"
    assert told == []


def test_a_loop_that_was_closed_spoils_nothing(writer: Writer, database: Database) -> None:
    courses = Courses()
    loop = asyncio.new_event_loop()
    # As a process that is cut off leaves it: nobody cancels what waits.
    left = loop.create_task(writer.submit(courses.add, "left"))
    loop.run_until_complete(asyncio.sleep(0))
    courses.has_begun.wait(10)
    loop.close()
    other = writer.put(courses.add, "other")
    courses.is_free.set()

    assert other.result(10) == "other"
    assert asyncio.run(writer.submit(courses.add, "later")) == "later"
    assert all(is_there(database, name) for name in ("left", "other", "later"))
    assert not left.done()
    left._log_destroy_pending = False  # type: ignore[attr-defined]  # it is meant to be left
    left.get_coro().close()


def test_a_closed_loop_spoils_no_other_of_its_group(writer: Writer, database: Database) -> None:
    courses = Courses()
    first = writer.put(courses.add, "first")
    courses.has_begun.wait(10)
    loop = asyncio.new_event_loop()
    left = loop.create_task(writer.submit(courses.add, "left"))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()

    async def submit() -> object:
        waiting = asyncio.ensure_future(writer.submit(courses.add, "other"))
        await asyncio.sleep(0)
        courses.is_free.set()
        return await waiting

    assert asyncio.run(submit()) == "other"
    assert first.result(10) == "first"
    assert courses.groups == [["first"], ["left", "other"]]
    left._log_destroy_pending = False  # type: ignore[attr-defined]  # it is meant to be left
    left.get_coro().close()
