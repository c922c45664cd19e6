"""How the demo's students behave: when they start, what they answer, and when they stop."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from grader.demo.answers import AnswerPool, choose_right, choose_wrong
from grader.demo.schedule import ScheduledAssignment
from grader.demo.texts import Quality, write_text
from grader.rubric.catalog import Rubric
from grader.rubric.forms import ExampleForm

#: The example for a question that asks for text only.
_TEXT_ONLY = ExampleForm(name="nothing but text", earns=Decimal(0))

_MAX_ANSWERS = 5
_GIVE_UP_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Student:
    """A student; skill has a standard normal distribution, diligence is between 0 and 1."""

    login: str
    skill: float
    diligence: float


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    """An answer that a student will submit."""

    login: str
    rubric: Rubric
    example: ExampleForm
    texts: Mapping[str, str]
    received_at: datetime


@dataclass(frozen=True, slots=True)
class PlannedView:
    """A student's first look at a question."""

    login: str
    rubric: Rubric
    at: datetime


def make_student(login: str, *, seed: str) -> Student:
    """Make a student; the same login and seed give the same student."""
    rng = random.Random(f"{seed} {login}")
    return Student(login, rng.gauss(0, 1), rng.random())


def sample_actions(
    student: Student, scheduled: ScheduledAssignment, pools: Mapping[str, AnswerPool], *, seed: str
) -> Iterator[PlannedAnswer | PlannedView]:
    """Yield what a student does for an assignment, in order; nothing if they never start."""
    rng = random.Random(f"{seed} {student.login} {scheduled.assignment.form.id}")
    if rng.random() > scheduled.starters + 0.15 * student.skill:
        return
    moment, ends_at = _choose_start(student, scheduled, rng)
    patience = rng.gauss(0.93 + 0.05 * student.skill, 0.06)
    for rubric in scheduled.assignment.rubrics.values():
        pool = pools[rubric.id]
        if pool.is_external:
            continue
        if moment > ends_at or rng.random() > patience:
            return
        yield PlannedView(student.login, rubric, moment)
        for example, texts in _choose_answers(student, rubric, pool, rng):
            moment += timedelta(minutes=rng.lognormvariate(1.9, 0.6))
            if moment > ends_at:
                return
            yield PlannedAnswer(student.login, rubric, example, texts, moment)
        moment = _next_sitting(moment, rng)


def _choose_start(
    student: Student, scheduled: ScheduledAssignment, rng: random.Random
) -> tuple[datetime, datetime]:
    """Return when a student starts, and when the student stops at the latest."""
    in_time = min(scheduled.due_at, scheduled.ends_at)
    if scheduled.has_late and rng.random() < 0.3 - 0.3 * student.diligence:
        return in_time + timedelta(hours=rng.uniform(-6, 16)), scheduled.ends_at
    # Diligent students start early, the others shortly before the due date.
    share = rng.betavariate(1.2 + 4 * (1 - student.diligence), 2)
    moment = scheduled.opens_at + share * (in_time - scheduled.opens_at)
    awake = moment.replace(hour=min(int(rng.triangular(8, 24, 18)), 23))
    return min(awake, in_time - timedelta(hours=rng.uniform(0.5, 9))), in_time


def _next_sitting(moment: datetime, rng: random.Random) -> datetime:
    if rng.random() < 0.2:
        return moment + timedelta(hours=rng.uniform(9, 30))
    return moment + timedelta(minutes=rng.lognormvariate(1.2, 0.7))


def _choose_answers(
    student: Student, rubric: Rubric, pool: AnswerPool, rng: random.Random
) -> Iterator[tuple[ExampleForm, dict[str, str]]]:
    if pool.is_written:
        yield _TEXT_ONLY, _write_texts(student, rubric, pool, rng, is_last=True)
        return
    wrong = choose_wrong(pool, rng, _count_wrong(student, rubric, rng))
    gives_up = bool(wrong) and rng.random() < _GIVE_UP_SHARE - 0.1 * student.skill
    sent = wrong if gives_up else [*wrong, choose_right(pool, rng)]
    for example in sent:
        yield example, _write_texts(student, rubric, pool, rng, is_last=example is sent[-1])


def _count_wrong(student: Student, rubric: Rubric, rng: random.Random) -> int:
    """Return the number of wrong answers; each try helps, and so does an earlier question."""
    chance = min(max(0.5 + 0.2 * student.skill, 0.1), 0.9) + 0.3 * (rubric.earlier is not None)
    wrong = 0
    while wrong < _MAX_ANSWERS - 1 and rng.random() > chance:
        wrong += 1
        chance += 0.15
    return wrong


def _write_texts(
    student: Student, rubric: Rubric, pool: AnswerPool, rng: random.Random, *, is_last: bool
) -> dict[str, str]:
    """Write texts for the text fields; most students write them only with their last answer."""
    if not is_last and rng.random() < 0.8:
        return {}
    if not pool.is_written and rng.random() < 0.1:
        return {}
    return {
        name: write_text(rubric.form.title, _choose_quality(student, rng), rng)
        for name in pool.text_fields
    }


def _choose_quality(student: Student, rng: random.Random) -> Quality:
    drawn = rng.gauss(0.5 + student.skill, 0.8)
    return Quality.GOOD if drawn > 0.5 else Quality.HALF if drawn > -0.5 else Quality.POOR
