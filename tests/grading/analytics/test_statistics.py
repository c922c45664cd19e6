from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest

from grader.domain.roles import Role
from grader.engine.random.streams import DEVELOPMENT_SECRET
from grader.errors import NotFound
from grader.grading.analytics.models import AssignmentStatistics, QuestionStatistics
from grader.grading.analytics.statistics import load_assignment_statistics
from grader.grading.context import GradingContext
from grader.grading.idempotency import IdempotentResponse
from grader.grading.publishing.publish import publish
from grader.grading.signing import SigningKey
from grader.grading.submissions.submit import SubmitRequest, submit
from grader.rubric.catalog import CompiledAssignment, read_assignment
from grader.store.database import Database, Session
from grader.store.queries.attempts import list_judged_of_question, record_view
from grader.store.queries.courses import (
    EnrolmentLine,
    RunLine,
    add_course,
    add_enrolments,
    add_run,
    change_enrolment,
)
from grader.store.queries.people import add_person
from grader.store.queries.publications import add_extension
from tests.support.regrades import regrade_now
from tests.support.rubrics import shipped

OPENS = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
DUE = datetime(2026, 3, 9, 22, 59, 59, tzinfo=UTC)
HOMEWORK = "single-head-attention"
RUN = RunLine("attention-2026", "attention", "Attention", "Europe/Warsaw")

RIGHT = {"q": "40 (k_i + k_j)"}
PARTLY = {"q": "20 (k_i + k_j) + log(0.54 / 0.46) k_i"}
TOO_SHORT = {"q": "k_i + k_j"}
ONE_KEY = {"q": "40 k_i"}
#: What 1c gives for each, of 8 points.
EARNS = {8: RIGHT, 3: PARTLY, 0: TOO_SHORT}
#: The same for 1b, of 3 points.
GAP = "log(99 (n - 1))"
EARNS_1B = {3: {"q": "40 k_i", "gap": GAP}, 1: {"q": "k_i", "gap": GAP}}


#: Some questions of each, because compiling all of them takes its time.
QUESTIONS = {
    HOMEWORK: ("1a", "1b", "1c", "2a"),
    "again": ("1c",),
    "self-attention-and-transformers": ("c-i",),
}


@cache
def homework(name: str) -> CompiledAssignment:
    """A shipped assignment with some of its questions, which takes answers three days late."""
    questions = QUESTIONS[name]
    text = f"id: {name}\ntitle: Homework\nquestions: [{', '.join(questions)}]\nlate: {{days: 3}}\n"
    rubrics = shipped().assignments[HOMEWORK if name == "again" else name].rubrics
    return read_assignment(name, text, {each: rubrics[each].text for each in questions})


@dataclass
class Classroom:
    """A course run with its students, and one assignment in force."""

    database: Database
    context: GradingContext = field(
        default_factory=lambda: GradingContext(SigningKey.from_bytes(bytes(32)))
    )
    members: dict[str, EnrolmentLine] = field(default_factory=dict)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        with self.database.write() as session:
            yield session

    def open(self, assignment: str = HOMEWORK, due_at: datetime | None = DUE) -> None:
        with self.writing() as session:
            add_course(session, course_id=RUN.course_id, title=RUN.title, at=OPENS)
            add_run(session, RUN, secret=DEVELOPMENT_SECRET, at=OPENS)
        self.publish(assignment, due_at)

    def publish(self, assignment: str = HOMEWORK, due_at: datetime | None = DUE) -> None:
        with self.writing() as session:
            publish(
                session,
                self.context,
                run=RUN,
                assignment=homework(assignment),
                opens_at=None,
                due_at=due_at,
                note="",
                at=OPENS,
                by="per_ada",
            )

    def enrol(self, *logins: str, role: Role = Role.STUDENT) -> None:
        with self.writing() as session:
            for login in logins:
                person = add_person(session, login=login, name=login, email=None, at=OPENS)
                self.members[login] = EnrolmentLine(f"enr_{login}", RUN.id, person.id, role, "")
            add_enrolments(session, [self.members[login] for login in logins], at=OPENS)

    def see(self, login: str, minute: float, assignment: str = HOMEWORK) -> None:
        with self.writing() as session:
            part = (self.members[login].id, assignment, "1c")
            record_view(session, run_id=RUN.id, part=part, at=OPENS + timedelta(minutes=minute))

    def send(
        self,
        login: str,
        answer: dict[str, Any],
        *,
        minute: float = 0,
        at: datetime | None = None,
        question: str = "1c",
        assignment: str = HOMEWORK,
    ) -> None:
        received_at = at or OPENS + timedelta(minutes=minute)
        sending = SubmitRequest(self.members[login], assignment, question, answer, received_at)
        self.send_all([sending])

    def send_all(self, sendings: list[SubmitRequest]) -> None:
        with self.writing() as session:
            results = submit(session, self.context, sendings, at=OPENS)
        for result in results:
            assert isinstance(result, IdempotentResponse), result

    def statistics(self, assignment: str = HOMEWORK) -> AssignmentStatistics:
        with self.database.read() as session:
            return load_assignment_statistics(
                session, self.context, run_id=RUN.id, assignment=assignment
            )

    def question(self, name: str = "1c", assignment: str = HOMEWORK) -> QuestionStatistics:
        (found,) = (each for each in self.statistics(assignment).questions if each.question == name)
        return found


@pytest.fixture
def classroom(database: Database) -> Classroom:
    made = Classroom(database)
    made.open()
    return made


def test_an_assignment_that_nobody_tried_has_figures_without_values(classroom: Classroom) -> None:
    classroom.enrol("ada")
    found = classroom.statistics()

    assert [each.question for each in found.questions] == list(QUESTIONS[HOMEWORK])
    assert (found.enrolled, found.students, found.attempts, found.hours) == (1, 0, 0, ())
    question = classroom.question()
    assert question.difficulty is not None
    assert (question.difficulty.n, question.difficulty.value) == (0, None)
    assert question.attempts_to_solve is not None
    assert question.attempts_to_solve.steps == ()
    assert [each.id for each in question.criteria] == ["weights", "output", "explanation"]
    assert all(each.attempts.n == 0 for each in question.criteria)


def test_an_unknown_assignment_is_not_found(classroom: Classroom) -> None:
    with pytest.raises(NotFound):
        classroom.statistics("no-such-homework")


def test_a_small_class_worked_by_hand(classroom: Classroom) -> None:
    """Ada solves it at once, Bo at the third attempt, Cy gives up, and Di only looks."""
    classroom.enrol("ada", "bo", "cy", "di", "ed")
    for login in ("ada", "bo", "cy", "di"):
        classroom.see(login, 0)
    classroom.send("ada", RIGHT, minute=10)
    classroom.send("bo", TOO_SHORT, minute=5)
    classroom.send("bo", PARTLY, minute=20)
    classroom.send("bo", {"q": "41 (k_i + k_j)"}, minute=140)
    classroom.send("cy", ONE_KEY, minute=7)
    classroom.send("cy", TOO_SHORT, minute=9)
    found = classroom.question()

    assert (found.max_score, found.max_automatic) == (Decimal(10), Decimal(8))
    assert (found.students, found.attempts, found.late_attempts) == (3, 6, 0)
    assert found.difficulty is not None
    assert found.difficulty.n == 3
    assert found.difficulty.value == pytest.approx(1 / 3)
    assert found.success_rate is not None
    assert found.success_rate.n == 3
    assert found.success_rate.value == pytest.approx(2 / 3)
    assert found.discrimination is not None
    assert (found.discrimination.n, found.discrimination.value) == (3, None)
    solving = found.attempts_to_solve
    assert solving is not None
    assert (solving.n, solving.censored) == (3, 1)
    assert [(each.attempt, each.tried, each.solved) for each in solving.steps] == [
        (1, 3, 1),
        (2, 2, 0),
        (3, 1, 1),
    ]
    assert [each.unsolved for each in solving.steps] == pytest.approx([2 / 3, 2 / 3, 0])
    time = found.time_to_correct
    assert time is not None
    # Bo's two hours before the last attempt are cut out: 20 minutes, and Ada's 10.
    assert (time.n, time.censored, time.untimed) == (2, 2, 0)
    assert time.median_seconds == 15 * 60
    assert (time.lower_quartile_seconds, time.upper_quartile_seconds) == (750, 1050)


def test_criteria_count_their_outcomes_in_all_and_in_first_attempts(classroom: Classroom) -> None:
    classroom.enrol("ada", "bo")
    classroom.send("ada", PARTLY)
    classroom.send("ada", RIGHT)
    classroom.send("bo", RIGHT)
    criteria = {each.id: each for each in classroom.question().criteria}

    weights = criteria["weights"]
    assert weights.title == "Half the weight on each of the two keys"
    assert (weights.attempts.n, weights.attempts.met, weights.attempts.partly_met) == (3, 2, 1)
    assert (weights.first_attempts.n, weights.first_attempts.partly_met) == (2, 1)
    assert criteria["explanation"].attempts.pending == 3
    assert all(each.attempts.n == 3 for each in criteria.values())


def test_misconceptions_come_with_students_attempts_and_the_earliest_example(
    classroom: Classroom,
) -> None:
    classroom.enrol("ada", "bo")
    classroom.send("bo", TOO_SHORT, minute=9)
    classroom.send("ada", {"q": "2 (k_i + k_j)"}, minute=5)
    classroom.send("ada", {"q": "1.5 (k_i + k_j)"}, minute=8)
    classroom.send("bo", ONE_KEY, minute=1)
    with classroom.database.read() as session:
        ids = {
            (attempt.enrolment_id, attempt.number): attempt.id
            for attempt, _ in list_judged_of_question(session, run_id=RUN.id, assignment=HOMEWORK)
        }
    scale, one_key = classroom.question().misconceptions

    assert (scale.id, scale.students, scale.attempts) == ("scale-too-small", 2, 3)
    assert scale.example == ids["enr_ada", 1]
    # The text is the one that Ada was told, factor and all.
    assert "About 3 times" in scale.text
    assert (one_key.id, one_key.students, one_key.attempts) == ("one-key-only", 1, 1)
    assert one_key.example == ids["enr_bo", 2]


@pytest.mark.parametrize("question", ["1a", "2a"])
def test_what_no_machine_grades_has_no_figures_about_points(
    classroom: Classroom, question: str
) -> None:
    classroom.enrol("ada")
    if question == "1a":
        classroom.send("ada", {"explanation": "They are positive."}, question="1a")
    found = classroom.question(question)

    assert found.max_automatic == 0
    assert found.attempts == (1 if question == "1a" else 0)
    assert found.difficulty is None
    assert found.success_rate is None
    assert found.discrimination is None
    assert found.attempts_to_solve is None
    assert found.time_to_correct is None


def test_staff_do_not_count_and_students_who_left_do(classroom: Classroom) -> None:
    classroom.enrol("ada", "bo")
    classroom.enrol("prof", role=Role.INSTRUCTOR)
    classroom.enrol("helper", role=Role.ASSISTANT)
    for login in ("ada", "bo", "prof", "helper"):
        classroom.see(login, 0)
        classroom.send(login, TOO_SHORT if login == "bo" else RIGHT, minute=1)
    with classroom.writing() as session:
        change_enrolment(
            session, enrolment_id="enr_bo", role=Role.STUDENT, section="", left_at=OPENS
        )
    found = classroom.statistics()

    assert (found.enrolled, found.left, found.students, found.attempts) == (1, 1, 2, 2)
    assert sum(each.attempts for each in found.hours) == 2
    question = classroom.question()
    assert question.difficulty is not None
    assert (question.difficulty.n, question.difficulty.value) == (2, 0.5)
    assert question.time_to_correct is not None
    assert (question.time_to_correct.n, question.time_to_correct.censored) == (1, 1)


def test_the_same_question_of_another_assignment_does_not_count(classroom: Classroom) -> None:
    classroom.enrol("ada")
    classroom.publish("again")
    classroom.send("ada", RIGHT, minute=5)
    classroom.send("ada", TOO_SHORT, assignment="again")
    classroom.see("ada", 0, assignment="again")

    assert classroom.statistics().attempts == 1
    assert classroom.statistics("again").attempts == 1
    time = classroom.question().time_to_correct
    assert time is not None
    assert (time.n, time.untimed) == (0, 1)


def test_posts_are_counted_by_the_hour_against_the_due_date(classroom: Classroom) -> None:
    classroom.enrol("ada", "bo")
    classroom.send("ada", TOO_SHORT, minute=59)
    classroom.send("ada", RIGHT, minute=60)
    classroom.send("bo", EARNS_1B[3], minute=119, question="1b")
    classroom.send("bo", RIGHT, minute=600)
    found = classroom.statistics()

    assert found.due_at == DUE
    assert [(each.hour, each.attempts) for each in found.hours] == [
        (OPENS, 1),
        (OPENS + timedelta(hours=1), 2),
        (OPENS + timedelta(hours=10), 1),
    ]
    assert found.hours[0].hour.utcoffset() == timedelta(0)


def test_late_is_what_comes_after_the_students_own_due_date_and_the_grace(
    classroom: Classroom,
) -> None:
    classroom.enrol("ada", "bo", "cy")
    grace = homework(HOMEWORK).form.late.grace_seconds
    with classroom.writing() as session:
        for number, days in enumerate((2, 1)):
            add_extension(
                session, run_id=RUN.id, enrolment_id="enr_bo", assignment=HOMEWORK,
                due_at=DUE + timedelta(days=days), extra_attempts=0, reason="ill", by="per_ada",
                at=OPENS + timedelta(hours=number),
            )  # fmt: skip
    in_time = DUE + timedelta(seconds=grace)
    classroom.send("ada", TOO_SHORT, at=in_time)
    classroom.send("ada", RIGHT, at=in_time + timedelta(microseconds=1))
    classroom.send("bo", TOO_SHORT, at=DUE + timedelta(days=1))
    classroom.send("bo", RIGHT, at=DUE + timedelta(days=1, hours=1))
    classroom.send("cy", EARNS_1B[3], at=DUE + timedelta(hours=1), question="1b")

    assert classroom.question().late_attempts == 2
    assert classroom.question("1b").late_attempts == 1
    assert classroom.statistics().late_attempts == 3


def test_without_a_due_date_nothing_is_late(database: Database) -> None:
    classroom = Classroom(database)
    classroom.open(due_at=None)
    classroom.enrol("ada")
    classroom.send("ada", RIGHT, at=DUE + timedelta(days=1000))

    assert classroom.statistics().late_attempts == 0
    assert classroom.statistics().due_at is None


def test_discrimination_correlates_first_attempts_with_the_other_questions(
    classroom: Classroom,
) -> None:
    logins = [f"s{number:02}" for number in range(24)]
    classroom.enrol(*logins)
    generator = np.random.default_rng(7)
    first = {
        login: (int(generator.choice([0, 3, 8])), int(generator.choice([1, 3]))) for login in logins
    }
    sendings = []
    for login, (points, points_1b) in first.items():
        member = classroom.members[login]
        sendings += [
            SubmitRequest(member, HOMEWORK, "1c", EARNS[points], OPENS),
            # A second attempt changes nothing, and neither does the written part.
            SubmitRequest(member, HOMEWORK, "1c", {"q": "44 (k_i + k_j)"}, OPENS),
            SubmitRequest(member, HOMEWORK, "1a", {"explanation": "Σ = 1"}, OPENS),
        ]
        if login != "s00":
            sendings.append(SubmitRequest(member, HOMEWORK, "1b", EARNS_1B[points_1b], OPENS))
    classroom.send_all(sendings)
    others = [0 if login == "s00" else points for login, (_, points) in first.items()]
    expected = np.corrcoef([points for points, _ in first.values()], others)[0, 1]

    found = classroom.question().discrimination
    assert found is not None
    assert found.n == 24
    assert found.value == pytest.approx(expected)
    assert found.interval is not None
    assert found.interval[0] < expected < found.interval[1]
    assert found.is_dubious == (expected < 0.1)
    one_less = classroom.question("1b").discrimination
    assert one_less is not None
    assert one_less.n == 23


def test_what_could_not_be_decided_is_counted_for_a_person(database: Database) -> None:
    homework = "self-attention-and-transformers"
    classroom = Classroom(database)
    classroom.open(homework)
    classroom.enrol("ada", "bo")
    # So near to a bound that it cannot be decided.
    for login, more_of_one in (("ada", "0.07995"), ("bo", "0")):
        answer = {"q": f"20 (mu_a + mu_b) + {more_of_one} mu_a"}
        classroom.send(login, answer, question="c-i", assignment=homework)
    found = classroom.question("c-i", homework)

    assert (found.needs_person.students, found.needs_person.attempts) == (1, 1)
    with database.read() as session:
        (waiting,) = (
            attempt
            for attempt, judgement in list_judged_of_question(
                session, run_id=RUN.id, assignment=homework
            )
            if judgement.needs_person
        )
    assert found.needs_person.examples == (waiting.id,)
    assert waiting.enrolment_id == "enr_ada"


def test_after_a_regrade_its_judgements_count(classroom: Classroom) -> None:
    classroom.enrol("ada", "bo")
    classroom.send("ada", RIGHT)
    classroom.send("bo", PARTLY)
    before = classroom.question()
    assert before.difficulty is not None
    assert before.difficulty.value == pytest.approx((1 + 3 / 8) / 2)
    assignment = homework(HOMEWORK)
    texts = {name: each.text for name, each in assignment.rubrics.items()}
    assert "within: 0.02" in texts["1c"]
    texts["1c"] = texts["1c"].replace("within: 0.02", "within: 0.06")
    with classroom.writing() as session:
        publish(
            session, classroom.context, run=RUN,
            assignment=read_assignment(HOMEWORK, assignment.text, texts), opens_at=None,
            due_at=DUE, note="", at=OPENS, by="per_ada",
        )  # fmt: skip
        regrade_now(session, classroom.context, run_id=RUN.id, assignment=HOMEWORK, at=OPENS)
    found = classroom.question()

    assert found.attempts == 2
    assert found.difficulty is not None
    assert found.difficulty.value == 1
    assert {each.id: each.attempts.not_met for each in found.criteria}["weights"] == 0


def test_a_student_who_sends_without_looking_is_not_timed(classroom: Classroom) -> None:
    """Programs may send an answer without ever asking for the question."""
    classroom.enrol("ada")
    classroom.send("ada", RIGHT)
    found = classroom.question().time_to_correct

    assert found is not None
    assert (found.n, found.untimed, found.median_seconds) == (0, 1, None)


def test_statistics_are_plain_json(classroom: Classroom) -> None:
    classroom.enrol("ada")
    classroom.send("ada", RIGHT)
    found = classroom.statistics()

    assert AssignmentStatistics.model_validate_json(found.model_dump_json()) == found
