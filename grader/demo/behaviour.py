"""How the demo's students work: when they sit down, what they try, and when they stop."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from grader.demo.answers import AnswerPool, choose_right, choose_wrong
from grader.demo.texts import Quality, write_text
from grader.rubric.catalog import CompiledAssignment, Rubric
from grader.rubric.forms import ExampleForm

#: What a question sends that asks for text alone.
_TEXT_ONLY = ExampleForm(name="nothing but text", earns=Decimal(0))

_MAX_ANSWERS = 5
_GIVE_UP_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class ScheduledAssignment:
    """An assignment with its time; nothing happens after `ends_at`, which has passed."""

    assignment: CompiledAssignment
    opens_at: datetime
    due_at: datetime
    ends_at: datetime
    starters: float
    """The share of students who have begun."""
    has_late: bool = False


@dataclass(frozen=True, slots=True)
class Student:
    """Somebody who answers; skill is normal around zero."""

    login: str
    skill: float
    diligence: float


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    """An answer that will be sent."""

    login: str
    rubric: Rubric
    example: ExampleForm
    texts: Mapping[str, str]
    received_at: datetime


@dataclass(frozen=True, slots=True)
class PlannedView:
    """When a student first looks at a question."""

    login: str
    rubric: Rubric
    at: datetime


def make_student(login: str, *, seed: str) -> Student:
    """A student, always the same one for a seed."""
    rng = random.Random(f"{seed} {login}")
    return Student(login, rng.gauss(0, 1), rng.random())


def sample_actions(
    student: Student, term: ScheduledAssignment, pools: Mapping[str, AnswerPool], *, seed: str
) -> Iterator[PlannedAnswer | PlannedView]:
    """All that a student does for an assignment, in order; nothing where it was not begun."""
    rng = random.Random(f"{seed} {student.login} {term.assignment.form.id}")
    if rng.random() > term.starters + 0.15 * student.skill:
        return
    moment, ends_at = _choose_start(student, term, rng)
    patience = rng.gauss(0.93 + 0.05 * student.skill, 0.06)
    for rubric in term.assignment.rubrics.values():
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
    student: Student, term: ScheduledAssignment, rng: random.Random
) -> tuple[datetime, datetime]:
    """When a student sits down first, and when the student stops at the latest."""
    in_time = min(term.due_at, term.ends_at)
    if term.has_late and rng.random() < 0.3 - 0.3 * student.diligence:
        return in_time + timedelta(hours=rng.uniform(-6, 16)), term.ends_at
    # The diligent begin early, the others shortly before the end.
    share = rng.betavariate(1.2 + 4 * (1 - student.diligence), 2)
    moment = term.opens_at + share * (in_time - term.opens_at)
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
    """How many wrong answers come first; trying helps, and so does having done the part before."""
    chance = min(max(0.5 + 0.2 * student.skill, 0.1), 0.9) + 0.3 * (rubric.earlier is not None)
    wrong = 0
    while wrong < _MAX_ANSWERS - 1 and rng.random() > chance:
        wrong += 1
        chance += 0.15
    return wrong


def _write_texts(
    student: Student, rubric: Rubric, pool: AnswerPool, rng: random.Random, *, is_last: bool
) -> dict[str, str]:
    """Texts for the fields that ask for some; many are written only with the last try."""
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
