"""Races: many posts at once, in one process and in several, on both databases."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from grader.errors import KeysetError
from grader.grading.context import GradingContext
from grader.grading.idempotency import IdempotencyKey, IdempotentResponse
from grader.grading.publishing.publish import publish
from grader.grading.submissions.submit import SubmitRequest, submit
from grader.rubric.catalog import read_assignment
from grader.store.database import Database, Session, open_database
from grader.store.queries.attempts import list_judged
from grader.store.queries.courses import EnrolmentLine, find_enrolments, get_run
from grader.store.queries.grades import find_grades
from tests.support.mending import NEARLY, ONE, SLIPS, slips
from tests.support.rubrics import shipped
from tests.support.world import DUE, EXPLORATION, World, make_service
from tests.support.writers import start_writers

POSTS = 64


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (EXPLORATION,), "two": ()}) as world:
        yield world


def enrolment_of(world: World, login: str) -> EnrolmentLine:
    with world.database.read() as session:
        (found,) = find_enrolments(session, places=[("one", world.people[login].id)]).values()
    return found


def post_all(
    world: World, sendings: Sequence[SubmitRequest], *, processes: int
) -> list[IdempotentResponse | KeysetError]:
    """Put all into the lines of several writers at the same moment, and wait."""
    desks = [GradingContext(world.service.context.signing_key) for _ in range(processes)]
    handlers = [_handler(context) for context in desks]
    barrier = threading.Barrier(len(sendings))

    def post(number: int) -> IdempotentResponse | KeysetError:
        barrier.wait()
        writer, handler = started[number % processes], handlers[number % processes]
        try:
            answered: IdempotentResponse = writer.put(handler, sendings[number]).result(60)
            return answered
        except KeysetError as error:
            return error

    with start_writers(world, processes) as started, ThreadPoolExecutor(len(sendings)) as pool:
        return list(pool.map(post, range(len(sendings))))


def _handler(context: GradingContext) -> Any:
    def handle(
        session: Session, pieces: Sequence[SubmitRequest]
    ) -> Sequence[IdempotentResponse | KeysetError]:
        return submit(session, context, pieces, at=datetime.now(UTC))

    return handle


@pytest.mark.parametrize("processes", [1, 3])
def test_of_many_posts_at_once_exactly_the_limit_is_taken(world: World, processes: int) -> None:
    enrolment = enrolment_of(world, "ada")
    sendings = [
        SubmitRequest(enrolment, EXPLORATION, "3b", {"q": f"{number + 1} k_a"}, world.clock())
        for number in range(POSTS)
    ]

    results = post_all(world, sendings, processes=processes)

    codes = Counter(
        each.status if isinstance(each, IdempotentResponse) else each.code for each in results
    )
    assert codes == {201: 10, "attempts.none_left": POSTS - 10}
    with world.database.read() as session:
        judged = list_judged(session, parts=[(enrolment.id, EXPLORATION, "3b")])
        grades = find_grades(session, parts=[(enrolment.id, EXPLORATION, "3b")])
    assert [attempt.number for attempt, _ in judged] == list(range(1, 11))
    assert next(iter(grades.values())).attempts == 10


@pytest.mark.parametrize("processes", [1, 3])
def test_one_key_sent_many_times_at_once_gives_one_attempt_and_one_body(
    world: World, processes: int
) -> None:
    enrolment = enrolment_of(world, "ada")
    key = IdempotencyKey("per_ada", "try", "digest")
    sending = SubmitRequest(enrolment, EXPLORATION, "3b", {"q": "k_a"}, world.clock(), key)

    results = post_all(world, [sending] * 24, processes=processes)

    assert all(isinstance(each, IdempotentResponse) for each in results), results
    assert (
        len({(each.status, each.body) for each in results if isinstance(each, IdempotentResponse)})
        == 1
    )
    with world.database.read() as session:
        judged = list_judged(session, parts=[(enrolment.id, EXPLORATION, "3b")])
    assert len(judged) == 1


@pytest.mark.parametrize("processes", [1, 3])
def test_the_same_answer_sent_by_a_double_click_is_one_attempt(
    world: World, processes: int
) -> None:
    enrolment = enrolment_of(world, "ada")
    sending = SubmitRequest(enrolment, EXPLORATION, "3b", {"q": "k_a"}, world.clock())

    results = post_all(world, [sending] * 16, processes=processes)

    bodies = [json.loads(each.body) for each in results if isinstance(each, IdempotentResponse)]
    assert len({each["id"] for each in bodies}) == 1
    assert Counter(each.status for each in results if isinstance(each, IdempotentResponse)) == {
        201: 1,
        200: 15,
    }


@pytest.mark.parametrize("processes", [1, 3])
def test_an_old_answer_sent_often_after_a_mended_rubric_is_one_free_attempt(
    world: World, processes: int
) -> None:
    """Issue 10, item 9: also where no attempts are left."""
    world.publish(slips(within=0.02, most=1))
    before = world.submit("ada", ONE, NEARLY)
    world.publish(slips(within=0.03, most=1))
    sending = SubmitRequest(enrolment_of(world, "ada"), SLIPS, "one", NEARLY, world.clock())

    results = post_all(world, [sending] * POSTS, processes=processes)

    answered = [each for each in results if isinstance(each, IdempotentResponse)]
    bodies = [json.loads(each.body) for each in answered]
    assert Counter(each.status for each in answered) == {201: 1, 200: POSTS - 1}
    assert {(each["number"], each["repeats_attempt"]) for each in bodies} == {(2, before["id"])}
    assert {each["attempts_left"] for each in bodies} == {0}
    assert len({each["id"] for each in bodies}) == 1
    with world.database.read() as session:
        judged = list_judged(session, parts=[sending.part])
    assert [attempt.number for attempt, _ in judged] == [1, 2]


@pytest.mark.parametrize("processes", [1, 2])
def test_everybodys_answers_are_judged_as_if_each_were_alone(world: World, processes: int) -> None:
    logins = ["ada", "bob", "arthur", "irene"]
    answers = [{"q": "40 (k_a + k_b)"}, {"q": "k_a"}, {"q": "40 k_b"}, {"q": "no_such"}]
    sendings = [
        SubmitRequest(enrolment_of(world, login), EXPLORATION, "3b", answer, world.clock())
        for login in logins
        for answer in answers
    ]

    results = post_all(world, sendings, processes=processes)

    for start in range(0, len(sendings), len(answers)):
        scores = [
            json.loads(each.body)["score"] if isinstance(each, IdempotentResponse) else each.code
            for each in results[start : start + len(answers)]
        ]
        assert scores == [8, 0, 0, "formula.unknown"]


def test_publishing_waits_for_answers_on_their_way_and_they_for_it(world: World) -> None:
    enrolment = enrolment_of(world, "ada")
    shipped_one = shipped().assignments[EXPLORATION]
    stricter = read_assignment(
        EXPLORATION,
        shipped_one.text.replace("counted: best", "counted: last"),
        {name: rubric.text for name, rubric in shipped_one.rubrics.items()},
    )
    world.submit("ada", f"{EXPLORATION}/3b", {"q": "40 (k_a + k_b)"})
    url = world.database.url.render_as_string(hide_password=False)
    other, has_published = open_database(url), threading.Event()

    def publish_stricter() -> None:
        with other.write() as session:
            run = get_run(session, run_id="one")
            publish(
                session,
                GradingContext(world.service.context.signing_key),
                run=run,
                assignment=stricter,
                opens_at=None,
                due_at=DUE,
                note="",
                at=world.clock(),
                by="test",
            )
        has_published.set()

    publishing = threading.Thread(target=publish_stricter)
    with world.database.write() as session:
        sending = SubmitRequest(enrolment, EXPLORATION, "3b", {"q": "k_a"}, world.clock())
        submit(session, world.service.context, [sending], at=world.clock())
        publishing.start()
        assert not has_published.wait(0.5), "it would not see the answer on its way"
    publishing.join(30)
    other.close()

    part = (enrolment.id, EXPLORATION, "3b")
    with world.database.read() as session:
        grade = find_grades(session, parts=[part])[part]
        judged = list_judged(session, parts=[part])
    assert grade.counted_attempt_id == judged[-1][0].id
    assert grade.points == 0
