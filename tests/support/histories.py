"""An assignment of one question with much to decide, and random histories at it.

`History` is of students, `StaffHistory` of what staff do with accounts and rosters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from grader.accounts.people import change_person, end_account, get_by_login
from grader.accounts.rosters import end_enrolment, enrol
from grader.accounts.sign_in import set_password
from grader.accounts.tokens import make_personal_token, make_service_token, revoke_service_token
from grader.domain.roles import Role, Scope
from grader.grading.grades.settle import update_grades
from grader.rubric.catalog import CompiledAssignment, read_assignment
from grader.store.database import Database, Session
from grader.store.queries.courses import find_member, get_run
from grader.store.queries.grades import find_grades
from tests.support.people import LATER, RUN, add, bring, place_of
from tests.support.world import DUE, World, question_path

LONG = "long"
QUESTION = f"{LONG}/one"

_FORM = """
id: long
title: A long history
questions: [one]
attempts: {{most: {most}, counted: {counted}}}
late: {{grace_seconds: 60, per_day: 0.15, days: 6}}
"""
_ONE = """
id: one
title: One key
points: 6
prompt: "Send $q$, and say why."
draw:
  n: 5
  d: 7
  a: {{distinct_indices: n}}
  k: {{orthonormal: [n, d]}}
given: [n, d, a, k]
answer:
  q: {{shape: [d], symbols: [k]}}
  explanation: {{text: {{items: [{{points: 2, for: "the score is far above all others"}}]}}}}
compute:
  w: softmax(k q)
criteria:
  - id: weights
    title: All weight on one key
    points: 4
    measure: tv(w, unit(a))
    in_words: "{{measured}} of the weight is in the wrong place; {{needed}} may be"
    levels: [{{within: {within}, credit: 1}}, {{within: 0.25, credit: 0.4}}]
"""


def long_assignment(
    *, counted: str = "best", most: int = 12, within: float = 0.02
) -> CompiledAssignment:
    """The assignment; a multiple of `k_a` earns more, the longer it is."""
    form = _FORM.format(counted=counted, most=most)
    return read_assignment(LONG, form, {"one": _ONE.format(within=within)})


@dataclass(slots=True)
class History:
    """What happens to students one after the other, as `random` has it."""

    world: World
    random: Random
    counted: str
    within: float = 0.02

    def publish(self, *, due_at: datetime = DUE) -> None:
        self.world.publish(long_assignment(counted=self.counted, within=self.within), due_at=due_at)

    def go_on(self, who: str) -> None:
        """Let something happen to a student."""
        steps = [self.attempt] * 8 + [self.review] * 3 + [self.override, self.extend] * 2
        self.random.choice([*steps, self.wait, self.wait, self.publish_again])(who)

    def attempt(self, who: str) -> None:
        answer: dict[str, Any] = {"q": f"{self.random.randint(1, 8)} k_a"}
        if self.random.random() < 0.5:
            answer["explanation"] = self.random.choice(["It is far above.", "Because."])
        path = question_path(QUESTION) + "/attempts"
        sent = self.world.post(path, who, {"answer": answer})
        assert sent.status_code in (200, 201, 409), sent.text

    def review(self, who: str) -> None:
        attempts = self.world.read(question_path(QUESTION) + "/attempts", who)
        if attempts:
            attempt = self.random.choice(attempts)["id"]
            body = {"criterion": "explanation", "points": self.random.randint(0, 8) / 4}
            path = f"/api/v1/courses/one/attempts/{attempt}/reviews"
            sent = self.world.post(path, "arthur", body)
            # Nobody reviews what was not sent.
            assert sent.status_code in (201, 404, 409, 422), sent.text

    def override(self, who: str) -> None:
        """Set the points, or leave them to the attempts again."""
        path = question_path(QUESTION) + f"/grades/{who}"
        version = self.world.get(path, "irene").headers["ETag"]
        points = None if self.random.random() < 0.5 else self.random.randint(0, 24) / 4
        body = {"points": points, "reason": "As it should be."}
        sent = self.world.call("PUT", path + "/override", "irene", body, {"If-Match": version})
        assert sent.status_code == 200, sent.text

    def extend(self, who: str) -> None:
        """Give more time, or less than before, or one more attempt."""
        due_at = self.world.clock() + timedelta(days=self.random.uniform(-3, 3))
        body = {
            "student": who,
            "due_at": due_at.replace(microsecond=0).isoformat(),
            "extra_attempts": self.random.randint(0, 2),
            "reason": "Ill.",
        }
        path = f"/api/v1/courses/one/assignments/{LONG}/extensions"
        sent = self.world.post(path, "irene", body)
        assert sent.status_code == 201, sent.text

    def wait(self, _: str) -> None:
        self.world.clock.turn(hours=self.random.uniform(0, 30))

    def publish_again(self, _: str) -> None:
        """Mend the rubric, after which old answers are judged again for free, and move the end."""
        self.within = self.random.choice([0.02, 0.01, 0.05])
        self.publish(due_at=DUE + timedelta(days=self.random.choice([-2, -1, 0, 1])))


def check_against_all_events(world: World, students: Iterable[str]) -> None:
    """Compute everybody's grades from the beginning: nothing may change."""
    parts = [(world.enrolment(who), LONG, "one") for who in students]
    with world.database.write() as session:
        stored = find_grades(session, parts=parts)
        computed = update_grades(
            session, world.service.context, run_id="one", parts=stored, at=world.clock()
        )
    assert computed == stored


@dataclass(slots=True)
class StaffHistory:
    """What staff do with the people of a course run and with tokens, as `random` has it."""

    database: Database
    random: Random
    by: str
    """The login of the instructor."""
    students: list[str] = field(default_factory=list)

    def go_on(self) -> None:
        """Let something happen."""
        who = self.random.choice(self.students) if self.students else ""
        if not who or self.random.random() < 0.3:
            self.bring_roster()
            return
        step = self.random.choice(
            [self.rename, self.enrol, self.leave, self.set_password, self.make_tokens, self.end]
        )
        with self.database.write() as session:
            step(session, who)

    def bring_roster(self) -> None:
        """Apply a roster with some new names, some old ones and some sections."""
        new = [f"new{len(self.students) + number}" for number in range(self.random.randint(1, 3))]
        some = self.random.sample(self.students, self.random.randint(0, len(self.students)))
        lines = [f"{login},N {self.random.random()},{self.random.choice('AB')}" for login in new]
        lines += [f"{login},Again,{self.random.choice('AB')}" for login in some]
        with self.database.read() as session:
            run = get_run(session, run_id=RUN)
        text = "login,name,section\n" + "\n".join(lines)
        bring(self.database, run, text, is_complete=False, at=LATER)
        self.students += new

    def rename(self, session: Session, who: str) -> None:
        person = get_by_login(session, login=who)
        changes: dict[str, Any] = self.random.choice(
            [{"name": "Other"}, {"email": "a@example.edu"}, {"is_operator": True}]
        )
        change_person(session, person, **changes, at=LATER, by="operator")

    def enrol(self, session: Session, who: str) -> None:
        role = self.random.choice(list(Role))
        person, run = get_by_login(session, login=who), get_run(session, run_id=RUN)
        enrol(session, run, person, role=role, section="C", at=LATER, by="operator")

    def leave(self, session: Session, who: str) -> None:
        member = find_member(session, run_id=RUN, login=who)
        if member is not None:
            run = get_run(session, run_id=RUN)
            end_enrolment(session, run, member, at=LATER, by="operator")

    def set_password(self, session: Session, who: str) -> None:
        password = self.random.choice([None, "a long password"])
        set_password(session, get_by_login(session, login=who), password, at=LATER, by="operator")

    def make_tokens(self, session: Session, who: str) -> None:
        """Make one for a person, and one for a service that is revoked at once."""
        make_personal_token(
            session, get_by_login(session, login=who), label=who, scopes=[Scope.READ],
            days=self.random.randint(1, 9), at=LATER, by="operator",
        )  # fmt: skip
        place = place_of(session, self.by)
        made = make_service_token(
            session, place, label="sync", scopes=[Scope.READ], days=1, at=LATER
        )
        revoke_service_token(session, place, token_id=made.line.id, at=LATER)

    def end(self, session: Session, who: str) -> None:
        """End an account, with its tokens."""
        end_account(session, get_by_login(session, login=who), at=LATER, by="operator")
        self.students.remove(who)
        add(session, f"instead-of-{who}")
        self.students.append(f"instead-of-{who}")
