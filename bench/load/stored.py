"""Attempts of a class, stored as if they had been sent, each on the variant of its student."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from bench.load.students import ASSIGNMENT, QUESTION, RUN, Course, Student
from grader.cli.database import read_clock
from grader.feedback.receipt import hash_answer
from grader.grading.context import GradingContext
from grader.grading.judgements import make_judgement_line
from grader.grading.publishing.publish import publish
from grader.rubric.catalog import read_assignment
from grader.store.database import Database
from grader.store.queries.attempts import (
    AttemptLine,
    JudgedAttempt,
    JudgementLine,
    add_attempts,
)
from grader.store.queries.courses import get_run
from grader.store.queries.grades import GradeLine, put_grades
from grader.store.rows import make_id

_BATCH_SIZE = 512
#: Right, too short by more and by less, and for one key only.
_LENGTHS = (40.0, 4.0, 3.4, 40.0)


def store_answers(
    course: Course,
    students: Sequence[Student],
    context: GradingContext,
    *,
    advance: Callable[[int], object] = lambda count: None,
) -> None:
    """Store an attempt of each student, judged as the service would have judged it."""
    for start in range(0, len(students), _BATCH_SIZE):
        batch = students[start : start + _BATCH_SIZE]
        judged = list(_judge(course, batch, start, context))
        with course.database.write() as session:
            add_attempts(session, judged, at=judged[0][0].received_at)
            put_grades(session, [_make_grade(*each) for each in judged])
        advance(len(batch))


def _judge(
    course: Course, students: Sequence[Student], first: int, context: GradingContext
) -> Iterator[JudgedAttempt]:
    submissions = [
        course.judge.prepare(student.variant, make_answer(student, first + place))
        for place, student in enumerate(students)
    ]
    judgements = course.judge.judge(submissions)
    at = read_clock()
    for student, submission, judgement in zip(students, submissions, judgements, strict=True):
        attempt = AttemptLine(
            id=make_id("att"), run_id=RUN, enrolment_id=student.enrolment_id,
            assignment=ASSIGNMENT, question=QUESTION, number=1, answer=submission.sent,
            answer_digest=hash_answer(submission.sent), publication_id=course.publication_id,
            uses_attempt_id=None, repeats_attempt_id=None, received_at=at,
        )  # fmt: skip
        yield attempt, make_judgement_line(
            course.judge, submission, judgement, attempt, rubric=course.rubric, number=1,
            stored_at=at, judged_at=at, key=context.signing_key,
        )  # fmt: skip


def make_answer(student: Student, number: int) -> dict[str, object]:
    """The student's answer of this number: right, too short, or for one key only."""
    means, chosen = student.variant.values["mu"], student.variant.indices
    kind = number % len(_LENGTHS)
    length = _LENGTHS[kind] + number * 1e-6
    query = length * means[chosen["a"]]
    if kind < len(_LENGTHS) - 1:
        query = query + length * means[chosen["b"]]
    return {"q": query.tolist()}


def _make_grade(attempt: AttemptLine, line: JudgementLine) -> GradeLine:
    return GradeLine(
        run_id=RUN, enrolment_id=attempt.enrolment_id, assignment=ASSIGNMENT, question=QUESTION,
        points=line.awarded, possible=line.possible, pending=Decimal(0), attempts=1,
        counted_attempt_id=attempt.id, late_days=0, is_overridden=False, needs_person=False,
        changes=1, changed_at=attempt.received_at, counted_points=line.awarded,
        counted_pending=Decimal(0),
    )  # fmt: skip


def mend(database: Database, context: GradingContext, *, tolerance: str) -> None:
    """Publish the rubric with another tolerance for half of the points."""
    with database.write() as session:
        published = context.in_force(session, run_id=RUN, assignment=ASSIGNMENT)
        before = published.assignment
        texts = {name: each.text for name, each in before.rubrics.items()}
        head, found, rest = texts[QUESTION].partition("- {within: 0.02, share: 0.99, credit: 1}")
        assert found, "the rubric has this level"
        line, _, below = rest.lstrip("\n").partition("\n")
        assert "credit: 0.5" in line, "the level for half of the points comes next"
        mended = f"      - {{within: {tolerance}, share: 0.90, credit: 0.5}}"
        texts[QUESTION] = f"{head}{found}\n{mended}\n{below}"
        publish(
            session, context, run=get_run(session, run_id=RUN),
            assignment=read_assignment(ASSIGNMENT, before.text, texts),
            opens_at=published.line.opens_at, due_at=published.line.due_at, note=tolerance,
            at=read_clock(), by="bench",
        )  # fmt: skip
