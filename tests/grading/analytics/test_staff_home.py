"""What waits for staff, counted on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from grader.accounts.callers import Caller, Membership, get_membership
from grader.domain.roles import ALL_SCOPES, Role
from grader.errors import MissingRole
from grader.grading.analytics.staff_home import (
    MAX_NAMES,
    DubiousQuestions,
    StaffHome,
    load_dubious_questions,
    load_staff_home,
)
from grader.store.database import Database
from grader.store.queries.courses import change_enrolment
from tests.support.world import (
    DUE,
    EXPLORATION,
    NOW,
    SINGLE_HEAD,
    TRANSFORMERS,
    World,
    make_service,
)

AVERAGE = f"{EXPLORATION}/3b"


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    published = {"one": (EXPLORATION, SINGLE_HEAD), "two": (TRANSFORMERS,)}
    with make_service(database, published=published) as world:
        yield world


def place_in(world: World, login: str, course: str) -> Membership:
    person = world.people[login]
    with world.database.read() as session:
        return get_membership(session, Caller(person.id, ALL_SCOPES, person), run_id=course)


def today_of(world: World, course: str = "one", login: str = "olga") -> StaffHome:
    place = place_in(world, login, course)
    with world.database.read() as session:
        return load_staff_home(session, world.service.context, place, at=world.clock())


def dubious_of(world: World) -> DubiousQuestions:
    place = place_in(world, "irene", "one")
    with world.database.read() as session:
        return load_dubious_questions(session, world.service.context, place, at=world.clock())


def tasks_of(world: World, course: str = "one") -> dict[str, tuple[int, int]]:
    return {
        each.published.line.assignment: (each.to_review, each.undecided)
        for each in today_of(world, course).tasks
    }


def miss(world: World, login: str, times: int, question: str = AVERAGE) -> None:
    for _ in range(times):
        world.submit(login, question, {"q": f"{world.number()} k_a"})


def review(world: World, attempt: str, criterion: str = "explanation") -> None:
    response = world.post(
        f"/api/v1/courses/one/attempts/{attempt}/reviews",
        "irene",
        {"criterion": criterion, "points": 1},
    )
    assert response.status_code == 201, response.text


def test_in_an_empty_course_nothing_waits(world: World) -> None:
    today = today_of(world)

    assert (today.students, today.tasks, today.stuck, today.past) == (2, (), (), ())
    assert [each.published.line.assignment for each in today.next] == [EXPLORATION, SINGLE_HEAD]
    assert today.attempts_lately == 0
    assert dubious_of(world) == DubiousQuestions((), 0, None)


def test_text_that_was_sent_waits_until_it_is_reviewed(world: World) -> None:
    made = world.submit("ada", AVERAGE, {"q": "k_a", "explanation": "So."})
    # Where nothing was written there is nothing to read.
    world.submit("bob", AVERAGE, {"q": "k_b"})
    assert tasks_of(world) == {EXPLORATION: (1, 0)}

    review(world, made["id"])

    assert tasks_of(world) == {}


def test_only_the_attempt_that_counts_waits(world: World) -> None:
    world.submit("ada", AVERAGE, {"q": "k_a", "explanation": "So."})
    world.submit("ada", AVERAGE, {"q": "40 (k_a + k_b)", "explanation": "So."})

    assert tasks_of(world) == {EXPLORATION: (1, 0)}


def submit_undecided(world: World, **more: str) -> tuple[dict[str, Any], list[str]]:
    """An attempt of Cora's so near to a bound that it cannot be decided, and the criteria.

    What is drawn is another every time, so that the first try may be decided after all.
    """
    for more_of_one in ("0.07995", "0.079952", "0.079948", "0.079954", "0.079946", "0.079944"):
        answer = {"q": f"20 (mu_a + mu_b) + {more_of_one} mu_a", **more}
        made = world.submit("cora", f"{TRANSFORMERS}/c-i", answer, course="two")
        undecided = [each["id"] for each in made["criteria"] if each["reason"] == "undecided"]
        if undecided:
            return made, undecided
    raise AssertionError("every one of them was decided")


def test_what_the_engine_could_not_decide_waits_beside_it(world: World) -> None:
    submit_undecided(world)

    assert tasks_of(world, "two") == {TRANSFORMERS: (0, 1)}
    assert tasks_of(world, "one") == {}


def test_a_part_that_was_reviewed_for_another_reason_leaves_the_text_waiting(
    world: World,
) -> None:
    made, undecided = submit_undecided(world, explanation="So.")
    for criterion in undecided:
        response = world.post(
            f"/api/v1/courses/two/attempts/{made['id']}/reviews",
            "ivan",
            {"criterion": criterion, "points": 1},
        )
        assert response.status_code == 201, response.text

    assert tasks_of(world, "two") == {TRANSFORMERS: (1, 0)}


def test_who_has_missed_three_times_is_stuck_a_day_before_the_end(world: World) -> None:
    miss(world, "ada", 3)
    miss(world, "bob", 2)
    assert today_of(world).stuck == ()

    world.clock.now = DUE - timedelta(hours=23)

    (stuck,) = today_of(world).stuck
    assert (stuck.question, stuck.count, stuck.title) == ("3b", 1, "The average of two values")
    (who,) = stuck.students
    assert (who.login, who.attempts) == ("ada", 3)
    world.clock.now = DUE + timedelta(hours=1)
    assert today_of(world).stuck == ()


def test_who_was_right_once_is_not_stuck(world: World) -> None:
    miss(world, "ada", 3)
    made = world.submit("ada", AVERAGE, {"q": "40 (k_a + k_b)", "explanation": "So."})
    miss(world, "ada", 1)
    # Points below the most there are do not mean that the automatic part was missed.
    review(world, made["id"])
    world.clock.now = DUE - timedelta(hours=1)

    assert today_of(world).stuck == ()


def test_ones_own_due_date_decides_who_is_stuck(world: World) -> None:
    for login in ("ada", "bob"):
        miss(world, login, 3)
    due_at = DUE + timedelta(days=3)
    response = world.post(
        f"/api/v1/courses/one/assignments/{EXPLORATION}/extensions",
        "irene",
        {"student": "ada", "due_at": due_at.isoformat(), "reason": "Ill."},
    )
    assert response.status_code == 201, response.text

    world.clock.now = DUE - timedelta(hours=1)
    assert [each.login for each in today_of(world).stuck[0].students] == ["bob"]
    world.clock.now = due_at - timedelta(hours=1)
    assert [each.login for each in today_of(world).stuck[0].students] == ["ada"]


def test_staff_and_those_who_left_are_not_stuck_nor_counted(world: World) -> None:
    for login in ("arthur", "bob"):
        miss(world, login, 3)
    with world.database.write() as session:
        change_enrolment(
            session, enrolment_id=world.enrolment("bob"), role=Role.STUDENT, section="",
            left_at=NOW,
        )  # fmt: skip
    world.clock.now = DUE - timedelta(hours=1)
    today = today_of(world)

    assert today.stuck == ()
    assert today.students == 1
    assert [each.tried for each in today.next] == [0, 0]


def test_many_who_are_stuck_are_counted_and_some_named(world: World) -> None:
    logins = [f"s{number:02}" for number in range(MAX_NAMES + 2)]
    for login in logins:
        world.add_member(login, Role.STUDENT)
        miss(world, login, 3)
    miss(world, "ada", 4)
    world.clock.now = DUE - timedelta(hours=1)
    (stuck,) = today_of(world).stuck

    assert stuck.count == MAX_NAMES + 3
    assert [each.login for each in stuck.students] == ["ada", *logins[: MAX_NAMES - 1]]


def test_what_came_in_within_a_day_is_counted(world: World) -> None:
    miss(world, "ada", 2)
    world.clock.turn(hours=20)
    miss(world, "bob", 1)
    first = next(
        each for each in today_of(world).next if each.published.line.assignment == EXPLORATION
    )
    world.clock.turn(hours=5)
    later = next(
        each for each in today_of(world).next if each.published.line.assignment == EXPLORATION
    )

    assert (first.tried, first.attempts_lately, first.students_lately) == (2, 3, 2)
    assert (later.tried, later.attempts_lately, later.students_lately) == (2, 1, 1)


def test_what_is_past_its_due_date_stands_apart(world: World) -> None:
    world.clock.now = DUE + timedelta(days=1)
    today = today_of(world)

    assert today.next == ()
    assert {each.published.line.assignment for each in today.past} == {EXPLORATION, SINGLE_HEAD}


def test_students_have_no_today(world: World) -> None:
    with pytest.raises(MissingRole):
        today_of(world, login="ada")


def test_a_question_at_which_the_others_points_tell_nothing_is_dubious(world: World) -> None:
    """Whoever solves 3b misses 3c-i, and the other way round."""
    for number in range(20):
        login = f"s{number:02}"
        world.add_member(login, Role.STUDENT)
        right, wrong = "40 (k_a + k_b)", "k_a"
        world.submit(login, AVERAGE, {"q": right if number % 2 else wrong})
        other = "40 (mu_a + mu_b)" if not number % 2 else "mu_a"
        world.submit(login, f"{EXPLORATION}/3c-i", {"q": other})
    found = dubious_of(world)

    assert found.looked_at == 2
    assert [each.question.question for each in found.questions] == ["3b", "3c-i"]
    assert found.at == NOW
    # The figures may be a while old, and say so.
    world.clock.turn(minutes=20)
    world.submit("ada", AVERAGE, {"q": "k_a"})
    assert dubious_of(world).at == NOW
    world.clock.turn(minutes=20)
    assert dubious_of(world).at == world.clock()
