"""Random histories of answers, reviews, overrides, publications and regrades.

After each step, and after histories of several people at once, grades must be what the events say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from grader.accounts.callers import Caller, get_membership
from grader.domain.regrades import RegradeState
from grader.domain.roles import ALL_SCOPES
from grader.errors import OutdatedVersion, RequestRefused
from grader.grading.context import GradingContext
from grader.grading.grades.overrides import format_grade_version, override_grade
from grader.grading.publishing.publish import publish
from grader.grading.regrades import decide
from grader.grading.submissions.submit import SubmitRequest, submit
from grader.jobs.worker import JobWorker
from grader.store.database import Database, Session
from grader.store.queries.courses import find_enrolments, get_member, get_run
from grader.store.queries.grades import find_grades
from grader.store.queries.regrades.records import RegradeLine, list_regrades
from tests.support import regrades
from tests.support.histories import (
    LONG,
    QUESTION,
    History,
    check_against_all_events,
    long_assignment,
)
from tests.support.world import DUE, World, make_service, question_path

STUDENTS = ("ada", "bob")
TOLERANCES = (0.01, 0.02, 0.05, 0.2)


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (), "two": ()}) as world:
        yield world


@dataclass(slots=True)
class RegradeHistory(History):
    """A history in which staff judge answers again, too."""

    def go_on(self, who: str) -> None:
        if self.random.random() < 0.5:
            self.decide()
        else:
            # A dataclass with slots is another class than the one that `super` looks for.
            History.go_on(self, who)

    def publish_again(self, who: str) -> None:
        self.within = self.random.choice(TOLERANCES)
        History.publish_again(self, who)

    def decide(self) -> None:
        """Prepare a regrade, or decide about one."""
        with self.world.database.read() as session:
            lines = list_regrades(session, run_id="one", assignment=LONG)
        waiting = next((each for each in lines if each.state.is_open), None)
        applied = next((each for each in lines if each.state is RegradeState.APPLIED), None)
        try:
            if waiting is not None:
                self.random.choice([regrades.apply, regrades.apply, regrades.discard])(
                    self.world, waiting
                )
            elif applied is not None and self.random.random() < 0.4:
                regrades.undo(self.world, applied)
            elif self.random.random() < 0.1:
                regrades.decline(self.world)
            else:
                regrades.prepare(
                    self.world,
                    judges_all=self.random.random() < 0.6,
                    never_lower=self.random.random() < 0.3,
                )
        except RequestRefused:
            # Nothing is to be judged again, or it was published again since.
            if waiting is not None:
                regrades.discard(self.world, waiting)


def check(world: World, counted: str) -> None:
    """Grades are those of all events from the beginning, and those that students can add up."""
    check_against_all_events(world, STUDENTS)
    for who in STUDENTS:
        grade = world.read(question_path(QUESTION) + f"/grades/{who}", "irene")
        attempts = world.read(question_path(QUESTION) + "/attempts", who)
        if grade["is_overridden"] or not attempts:
            continue
        points = [Decimal(str(each["points"])) for each in attempts]
        expected = {"best": max(points), "last": points[-1], "first": points[0]}[counted]
        assert Decimal(str(grade["points"])) == expected


@pytest.mark.parametrize("counted", ["best", "last", "first"])
@pytest.mark.parametrize("seed", [1, 2])
def test_after_any_history_grades_are_those_of_all_events(
    world: World, counted: str, seed: int
) -> None:
    history = RegradeHistory(world, Random(f"{counted} {seed}"), counted)
    history.publish()

    for _ in range(40):
        history.go_on(history.random.choice(STUDENTS))
        check(world, counted)

    with world.database.read() as session:
        states = {each.state for each in list_regrades(session, run_id="one", assignment=LONG)}
    assert RegradeState.APPLIED in states or RegradeState.UNDONE in states
    assert regrades.find_discrepancies(world) == {}


# Several people at once


@dataclass(slots=True)
class Actor:
    """Somebody who does something again and again, with a process of their own."""

    world: World
    random: Random
    context: GradingContext

    def write(self, change: Callable[[Session], Any]) -> Any:
        with self.world.database.write() as session:
            return change(session)

    def submit(self) -> None:
        who = self.random.choice(STUDENTS)
        with self.world.database.read() as session:
            (enrolment,) = find_enrolments(
                session, places=[("one", self.world.people[who].id)]
            ).values()
        answer = {"q": f"{self.random.randint(1, 900) / 100} k_a"}
        request = SubmitRequest(enrolment, LONG, "one", answer, self.world.clock())
        self.write(lambda session: submit(session, self.context, [request], at=self.world.clock()))

    def override(self) -> None:
        who = self.random.choice(STUDENTS)
        points = self.random.choice([None, Decimal(3), Decimal("4.5")])
        irene = self.world.people["irene"]

        def change(session: Session) -> None:
            membership = get_membership(session, Caller(irene.id, ALL_SCOPES, irene), run_id="one")
            member = get_member(session, run_id="one", login=who)
            part = (member.enrolment.id, LONG, "one")
            override_grade(
                session, self.context, membership, member, assignment=LONG, question="one",
                points=points, reason="As it should be.",
                version=format_grade_version(find_grades(session, parts=[part]).get(part)),
                at=self.world.clock(),
            )  # fmt: skip

        self.write(change)

    def mend(self) -> None:
        assignment = long_assignment(within=self.random.choice(TOLERANCES), most=500)
        self.write(
            lambda session: publish(
                session, self.context, run=get_run(session, run_id="one"), assignment=assignment,
                opens_at=None, due_at=DUE, note="", at=self.world.clock(), by="test",
            )
        )  # fmt: skip

    def regrade(self) -> None:
        line: RegradeLine = self.write(
            lambda session: decide.start_regrade(
                session, self.context, run_id="one", assignment=LONG, judges_all=True, by="test",
                at=self.world.clock(),
            )
        )  # fmt: skip
        JobWorker(self.world.database, self.context, self.world.clock).work_off()
        about: dict[str, Any] = {
            "run_id": "one",
            "regrade_id": line.id,
            "by": "test",
            "at": self.world.clock(),
        }
        try:
            self.write(
                lambda session: decide.apply_regrade(session, self.context, reason="So.", **about)
            )
        except RequestRefused:
            self.write(lambda session: decide.discard_regrade(session, **about))
            return
        if self.random.random() < 0.4:
            self.write(
                lambda session: decide.undo_regrade(session, self.context, reason="No.", **about)
            )


def test_what_many_do_at_once_comes_to_what_the_events_say(world: World) -> None:
    world.publish(long_assignment(within=0.2, most=500))
    for who in STUDENTS:
        world.submit(who, QUESTION, {"q": "3 k_a"})
    doings: list[tuple[Callable[[Actor], None], int]] = [
        (Actor.submit, 40), (Actor.submit, 40), (Actor.override, 15), (Actor.mend, 8),
        (Actor.regrade, 10),
    ]  # fmt: skip

    def act(number: int) -> int:
        do, times = doings[number]
        key = world.service.context.signing_key
        actor = Actor(world, Random(number), GradingContext(key))
        done = 0
        for _ in range(times):
            try:
                do(actor)
                done += 1
            except (OutdatedVersion, RequestRefused):
                # Somebody was faster.
                continue
        return done

    with ThreadPoolExecutor(len(doings)) as pool:
        done = list(pool.map(act, range(len(doings))))

    assert done[0] == done[1] == 40
    assert done[4] > 0, "no regrade came through"
    check(world, "best")
    assert regrades.find_discrepancies(world) == {}
