"""What the demo's students do."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from grader.demo.answers import compute_points, make_pool
from grader.demo.behaviour import PlannedAnswer, make_student
from grader.demo.fill import SEED, plan
from grader.demo.people import NAMES, make_login, make_roster
from grader.demo.schedule import compute_midnight, make_schedule
from grader.demo.texts import Quality, find_quality
from tests.support.rubrics import shipped

NOW = datetime(2026, 11, 16, 14, 30, tzinfo=UTC)
LATE, LAB, NEWEST = (
    "self-attention-and-transformers",
    "single-head-attention",
    "attention-exploration",
)


def plan_at(now: datetime) -> list[PlannedAnswer]:
    students = [make_student(make_login(number), seed=SEED) for number in range(len(NAMES))]
    terms = make_schedule(shipped(), today=compute_midnight(now))
    tries, _ = plan(students, terms, shipped())
    return tries


@pytest.fixture(scope="module")
def tries() -> list[PlannedAnswer]:
    return plan_at(NOW)


def test_the_class_is_large_and_everybody_has_another_name() -> None:
    roster = make_roster(len(NAMES)).lines
    students = Counter(each.section for each in roster if each.login.startswith("s"))

    assert len(set(NAMES)) == 120
    assert students == {"A": 60, "B": 60}
    assert sum(not name.isascii() for name in NAMES) > 40


def test_there_are_enough_attempts_to_look_at_and_not_too_many_to_wait_for(
    tries: list[PlannedAnswer],
) -> None:
    assert 1500 <= len(tries) <= 2500
    assert len({each.rubric.id for each in tries}) == 24, "all but the lab are tried"


def test_everything_was_done_before_today(tries: list[PlannedAnswer]) -> None:
    assert max(each.received_at for each in tries) <= compute_midnight(NOW) <= NOW


@pytest.mark.parametrize("hours", [-14, -6, 8])
def test_the_hour_at_which_the_demo_is_made_changes_nothing(
    tries: list[PlannedAnswer], hours: int
) -> None:
    assert plan_at(NOW + timedelta(hours=hours)) == tries


def test_a_day_later_everything_is_a_day_later(tries: list[PlannedAnswer]) -> None:
    later = plan_at(NOW + timedelta(days=1))

    assert [each.received_at - timedelta(days=1) for each in later] == [
        each.received_at for each in tries
    ]


def test_one_assignment_is_past_due_and_still_taken_and_the_others_are_open() -> None:
    late, lab, newest = make_schedule(shipped(), today=compute_midnight(NOW))

    assert [each.assignment.form.id for each in (late, lab, newest)] == [LATE, LAB, NEWEST]
    assert late.due_at < NOW < late.due_at + timedelta(days=late.assignment.form.late.days)
    assert NOW + timedelta(days=6) < lab.due_at
    assert NOW + timedelta(days=13) < newest.due_at


def test_some_are_late(tries: list[PlannedAnswer]) -> None:
    due_at = make_schedule(shipped(), today=compute_midnight(NOW))[0].due_at
    late = [each for each in tries if each.rubric.assignment == LATE and each.received_at > due_at]

    assert 20 <= len(late) <= 150


def test_some_solve_a_question_at_once_some_later_and_some_never(
    tries: list[PlannedAnswer],
) -> None:
    pools = {rubric.id: make_pool(rubric) for rubric in shipped().rubrics()}
    of_one: dict[tuple[str, str], list[bool]] = {}
    for each in tries:
        pool = pools[each.rubric.id]
        if not pool.is_written:
            solved = of_one.setdefault((each.login, each.rubric.id), [])
            solved.append(each.example in pool.right)
    counts = Counter((len(solved) > 1, solved[-1]) for solved in of_one.values())

    assert all(
        counts[several, solved] >= 30 for several in (True, False) for solved in (True, False)
    )


def test_nobody_gets_worse_by_trying(tries: list[PlannedAnswer]) -> None:
    points: dict[tuple[str, str], list[Decimal]] = {}
    for each in tries:
        points.setdefault((each.login, each.rubric.id), []).append(compute_points(each.example))

    assert all(each == sorted(each) for each in points.values())


def test_answers_come_as_formulas_as_numbers_and_as_text_of_every_quality(
    tries: list[PlannedAnswer],
) -> None:
    written = Counter(find_quality(text) for each in tries for text in each.texts.values())

    assert sum(bool(each.example.numbers) for each in tries) >= 200
    assert sum(bool(each.example.answer) for each in tries) >= 500
    assert min(written[quality] for quality in Quality) >= 100
