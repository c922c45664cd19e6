"""Grades that are settled from the grade before, against those computed from all that happened."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from random import Random

import pytest
from sqlalchemy import update

from grader.grading.grades import settle
from grader.grading.grades.settle import lacks_counted_points
from grader.grading.idempotency import IdempotentResponse
from grader.grading.submissions.submit import SubmitRequest, submit
from grader.store.database import Database
from grader.store.queries.courses import find_enrolments
from grader.store.queries.grades import GradeLine, find_grades
from grader.store.tables.decisions import GradeRow
from tests.support.histories import (
    LONG,
    QUESTION,
    History,
    check_against_all_events,
    long_assignment,
)
from tests.support.regrades import find_discrepancies
from tests.support.world import World, make_service, question_path

STUDENTS = ("ada", "bob")


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (), "two": ()}) as world:
        yield world


def part_of(world: World, who: str) -> tuple[str, str, str]:
    return world.enrolment(who), LONG, "one"


def grade_of(world: World, who: str) -> GradeLine:
    part = part_of(world, who)
    with world.database.read() as session:
        return find_grades(session, parts=[part])[part]


@pytest.mark.parametrize("counted", ["best", "last", "first"])
@pytest.mark.parametrize("seed", [1, 2])
def test_after_any_history_grades_are_those_of_all_events(
    world: World, counted: str, seed: int
) -> None:
    history = History(world, Random(f"{counted} {seed}"), counted)
    history.publish()

    for _ in range(45):
        history.go_on(history.random.choice(STUDENTS))
        check_against_all_events(world, STUDENTS)

    numbers = [len(world.read(question_path(QUESTION) + "/attempts", who)) for who in STUDENTS]
    assert sum(numbers) > 8
    assert find_discrepancies(world) == {}


def test_an_attempt_is_settled_without_the_events_before_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish(long_assignment())
    world.submit("ada", QUESTION, {"q": "3 k_a"})

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("all events were read")

    monkeypatch.setattr(settle, "load_events", fail)

    assert world.submit("ada", QUESTION, {"q": "8 k_a"})["is_counted"]
    assert grade_of(world, "ada").points == 4


def forget_counted_points(world: World, who: str) -> None:
    """Leave a grade as it was stored before these columns were there."""
    enrolment_id, assignment, question = part_of(world, who)
    with world.database.write() as session:
        session.execute(
            update(GradeRow)
            .where(
                GradeRow.enrolment_id == enrolment_id,
                GradeRow.assignment == assignment,
                GradeRow.question == question,
            )
            .values(counted_points=None, counted_pending=None)
        )
    assert lacks_counted_points(grade_of(world, who))


@pytest.mark.parametrize(("counted", "points"), [("best", "4.5"), ("last", "0"), ("first", "4.5")])
def test_a_grade_that_lacks_its_figures_gets_them_with_the_next_attempt(
    world: World, counted: str, points: str
) -> None:
    world.publish(long_assignment(counted=counted))
    first = world.submit("ada", QUESTION, {"q": "8 k_a", "explanation": "Why."})
    review = {"criterion": "explanation", "points": 0.5}
    path = f"/api/v1/courses/one/attempts/{first['id']}/reviews"
    assert world.post(path, "arthur", review).status_code == 201
    forget_counted_points(world, "ada")
    assert find_discrepancies(world) == {}, "it is right as far as it goes"

    world.submit("ada", QUESTION, {"q": "k_a"})

    grade = grade_of(world, "ada")
    assert (grade.points, grade.counted_points) == (Decimal(points), Decimal(points))
    assert grade.attempts == 2
    check_against_all_events(world, STUDENTS)
    assert find_discrepancies(world) == {}


def test_in_a_batch_everybody_gets_their_own_grade(world: World) -> None:
    world.publish(long_assignment())
    for who in ("ada", "bob"):
        world.submit(who, QUESTION, {"q": "3 k_a"})
    forget_counted_points(world, "bob")
    people = {who: ("one", world.people[who].id) for who in ("ada", "bob", "irene")}
    answers = {"ada": "k_a", "bob": "8 k_a", "irene": "4 k_a"}

    with world.database.write() as session:
        places = find_enrolments(session, places=people.values())
        requests = [
            SubmitRequest(places[people[who]], LONG, "one", {"q": answer}, world.clock())
            for who, answer in answers.items()
        ]
        results = submit(session, world.service.context, requests, at=world.clock())

    assert all(isinstance(each, IdempotentResponse) for each in results)
    points = {who: grade_of(world, who).counted_points for who in answers}
    assert points == {"ada": Decimal("1.6"), "bob": Decimal(4), "irene": Decimal("1.6")}
    assert [grade_of(world, who).attempts for who in answers] == [2, 2, 1]
    check_against_all_events(world, STUDENTS)
    assert find_discrepancies(world) == {}
