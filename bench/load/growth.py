"""The cost of one more attempt in courses that have grown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from bench.load.databases import LoadDatabase, open_load_database
from bench.load.rounds import Requests, measure_closed_loop, run_server
from bench.load.students import ASSIGNMENT, QUESTION, RUN, Course, Student, open_course
from grader.cli.database import read_clock
from grader.feedback.receipt import compose_receipt_fields, hash_answer
from grader.grading.serialize import encode_misconceptions, encode_verdicts
from grader.store.queries.attempts import (
    AttemptLine,
    JudgedAttempt,
    JudgementLine,
    add_attempts,
)
from grader.store.queries.grades import GradeLine, put_grades
from grader.store.rows import make_id

#: The same students send in both courses, so that nothing else differs.
_SENDERS = 100
#: Answers of each in a round, the first of which warm the service up; its budgets allow more.
_ANSWERS = 20
#: Few enough that nobody's answers overtake each other.
_CONNECTIONS = 48
_BATCH_SIZE = 2000


@dataclass(frozen=True, slots=True)
class Growth:
    """A course before and after it has grown."""

    what: str
    students: tuple[int, int] = (_SENDERS, _SENDERS)
    stored: tuple[int, int] = (0, 0)
    """Attempts of others."""
    own: tuple[int, int] = (0, 0)
    """Earlier attempts of each student who sends."""


#: What may grow, as far as is promised.
GROWTHS = (
    Growth("100 or 100,000 students", students=(100, 100_000)),
    Growth("10 or 1,000,000 stored attempts", students=(5_000, 5_000), stored=(10, 1_000_000)),
    Growth("first or hundredth attempt of a student", own=(0, 99)),
)


def measure_growth(kind: str, growth: Growth, *, rounds: int) -> list[tuple[float, float]]:
    """Processor time per attempt in milliseconds, before and after, of servers and database."""
    with _open_grown(kind, growth, 0) as small, _open_grown(kind, growth, 1) as large:
        return [(_measure(small, turn), _measure(large, turn)) for turn in range(rounds)]


@dataclass(frozen=True, slots=True)
class _GrownCourse:
    database: LoadDatabase
    senders: Sequence[Student]


def _measure(course: _GrownCourse, turn: int) -> float:
    requests = Requests(course.senders, number=turn + 1, repeats=_ANSWERS)
    with run_server(course.database, "service", workers=1, requests=requests) as server:
        cost = measure_closed_loop(
            server, course.database, requests, connections=_CONNECTIONS, seconds=30,
            most=len(course.senders) * _ANSWERS,
        )  # fmt: skip
    return cost.server_milliseconds + cost.database_milliseconds


@contextmanager
def _open_grown(kind: str, growth: Growth, place: int) -> Iterator[_GrownCourse]:
    with open_load_database(kind) as database:
        opened = database.open()
        course = open_course(opened)
        senders = course.enrol(min(_SENDERS, growth.students[place]))
        others = course.enrol(growth.students[place] - len(senders))
        if growth.stored[place]:
            each = -(-growth.stored[place] // len(others))
            _store_attempts(course, others[: -(-growth.stored[place] // each)], each)
        if growth.own[place]:
            _store_attempts(course, senders, growth.own[place])
        opened.close()
        yield _GrownCourse(database, senders)


def _store_attempts(course: Course, students: Sequence[Student], each: int) -> None:
    """Store attempts of students as if they had sent them, all with the same wrong answer."""
    pattern = _judge_one(course, students[0])
    waiting: list[JudgedAttempt] = []
    grades: list[GradeLine] = []
    for student in students:
        lines = [_copy(pattern, student, number) for number in range(1, each + 1)]
        waiting += lines
        grades.append(_make_grade(course, student, lines))
        if len(waiting) >= _BATCH_SIZE:
            _write(course, waiting, grades)
    _write(course, waiting, grades)


def _write(course: Course, waiting: list[JudgedAttempt], grades: list[GradeLine]) -> None:
    with course.database.write() as session:
        add_attempts(session, waiting, at=read_clock())
        put_grades(session, grades)
    waiting.clear()
    grades.clear()


def _judge_one(course: Course, student: Student) -> JudgedAttempt:
    """A wrong answer, judged as the service would."""
    sent = {"q": [1.5] * course.judge.variant("any").values["mu"].shape[1]}
    submission = course.judge.prepare(student.variant, sent)
    (judgement,) = course.judge.judge([submission])
    at = read_clock() - timedelta(hours=1)
    receipt = compose_receipt_fields(
        course.judge, submission, judgement, versions=course.rubric.versions, course=RUN,
        received_at=at,
    )  # fmt: skip
    attempt = AttemptLine(
        id="", run_id=RUN, enrolment_id=student.enrolment_id, assignment=ASSIGNMENT,
        question=QUESTION, number=1, answer=sent, answer_digest=hash_answer(sent),
        publication_id=course.publication_id, uses_attempt_id=None, repeats_attempt_id=None,
        received_at=at,
    )  # fmt: skip
    score = judgement.score
    line = JudgementLine(
        id="", attempt_id="", number=1, rubric_version=course.rubric.version,
        verdicts=encode_verdicts(judgement), misconceptions=encode_misconceptions(judgement),
        uses=None, awarded=score.awarded, possible=score.possible, pending=score.pending,
        needs_person=False, receipt=receipt, judged_at=at,
    )  # fmt: skip
    return attempt, line


def _copy(pattern: JudgedAttempt, student: Student, number: int) -> JudgedAttempt:
    attempt, line = pattern
    own_id = make_id("att")
    return (
        attempt._replace(id=own_id, enrolment_id=student.enrolment_id, number=number),
        line._replace(id=make_id("jud"), attempt_id=own_id),
    )


def _make_grade(course: Course, student: Student, lines: Sequence[JudgedAttempt]) -> GradeLine:
    attempt, line = lines[0]
    return GradeLine(
        run_id=RUN, enrolment_id=student.enrolment_id, assignment=ASSIGNMENT, question=QUESTION,
        points=line.awarded, possible=course.rubric.form.points, pending=Decimal(0),
        attempts=len(lines), counted_attempt_id=attempt.id, late_days=0, is_overridden=False,
        needs_person=False, changes=1, changed_at=attempt.received_at,
        counted_points=line.awarded, counted_pending=Decimal(0),
    )  # fmt: skip
