"""Fill the demo: a course run, its members, and what they did over the last days.

Answers, reviews and overrides go through the same functions as real ones. All of it is one
transaction, so that a demo is either complete or absent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from grader.accounts.courses import make_run
from grader.accounts.roster_plans import plan_roster
from grader.accounts.rosters import apply_roster
from grader.demo.answers import build_answer, make_pool
from grader.demo.behaviour import (
    PlannedAnswer,
    PlannedView,
    Student,
    make_student,
    sample_actions,
)
from grader.demo.people import RUN_ID, make_login, make_roster
from grader.demo.schedule import ZONE, ScheduledAssignment, compute_midnight, make_schedule
from grader.demo.staff_decisions import DemoCourse, apply_staff_decisions, to_utc
from grader.grading.context import GradingContext
from grader.grading.idempotency import IdempotentResponse
from grader.grading.publishing.publish import publish
from grader.grading.submissions.submit import SubmitRequest, submit
from grader.rubric.catalog import Catalog, get_shipped_folder, load_catalog
from grader.store.database import Session, lock
from grader.store.queries.attempts import record_view
from grader.store.queries.courses import EnrolmentLine, find_run, list_members

TITLE = "Attention and Transformers (demo)"
SEED = "keyset demo"

#: The author of changes that no member of the course makes.
_OPERATOR = "operator"
_BATCH_SIZE = 160

#: Called with the number of answers submitted so far and the total.
ProgressCallback = Callable[[int, int], None]


def fill(
    session: Session,
    context: GradingContext,
    *,
    now: datetime,
    students: int,
    progress: ProgressCallback,
) -> None:
    """Add the demo with this number of students, unless it exists; the caller commits."""
    # Two processes that start at the same time must not both add it.
    lock(session, ["demo"])
    if find_run(session, run_id=RUN_ID) is not None:
        return
    catalog = load_catalog(get_shipped_folder())
    today = compute_midnight(now)
    schedule = make_schedule(catalog, today=today)
    course = _open_course(session, context, schedule, students)
    class_list = [make_student(make_login(number), seed=SEED) for number in range(students)]
    answers, views = plan(class_list, schedule, catalog)
    _record_views(course, views)
    _submit_answers(course, answers, progress)
    apply_staff_decisions(course, class_list, schedule, today=today, seed=SEED)


def _open_course(
    session: Session,
    context: GradingContext,
    schedule: Sequence[ScheduledAssignment],
    students: int,
) -> DemoCourse:
    at = to_utc(schedule[0].opens_at - timedelta(days=2))
    run = make_run(
        session, course_id="attention", run_id=RUN_ID, title=TITLE, time_zone=ZONE.key, at=at,
        by=_OPERATOR,
    )  # fmt: skip
    roster = plan_roster(session, run, make_roster(students), is_complete=False)
    apply_roster(session, run, roster, at=at, by=_OPERATOR)
    for scheduled in schedule:
        publish(
            session, context, run=run, assignment=scheduled.assignment,
            opens_at=to_utc(scheduled.opens_at), due_at=to_utc(scheduled.due_at), note="",
            at=at + timedelta(hours=1), by=_OPERATOR,
        )  # fmt: skip
    members = {each.login: each for each in list_members(session, run_id=run.id)}
    return DemoCourse(session, context, run, members)


def plan(
    students: Sequence[Student], schedule: Sequence[ScheduledAssignment], catalog: Catalog
) -> tuple[list[PlannedAnswer], list[PlannedView]]:
    """Return what the students do: answers in the order of their time, and first views."""
    pools = {rubric.id: make_pool(rubric) for rubric in catalog.rubrics()}
    actions = [
        each
        for scheduled in schedule
        for student in students
        for each in sample_actions(student, scheduled, pools, seed=SEED)
    ]
    answers = [each for each in actions if isinstance(each, PlannedAnswer)]
    views = [each for each in actions if isinstance(each, PlannedView)]
    return sorted(answers, key=lambda each: each.received_at), views


def _record_views(course: DemoCourse, views: Sequence[PlannedView]) -> None:
    for view in views:
        enrolment = course.members[view.login].enrolment
        part = (enrolment.id, view.rubric.assignment, view.rubric.form.id)
        record_view(course.session, run_id=course.run.id, part=part, at=to_utc(view.at))


def _submit_answers(
    course: DemoCourse, answers: Sequence[PlannedAnswer], progress: ProgressCallback
) -> None:
    """Submit the answers in the order of their time, in batches like those of a busy service."""
    for start in range(0, len(answers), _BATCH_SIZE):
        batch = answers[start : start + _BATCH_SIZE]
        requests = _make_requests(course, batch)
        results = submit(course.session, course.context, requests, at=to_utc(batch[-1].received_at))
        for request, result in zip(requests, results, strict=True):
            if not isinstance(result, IdempotentResponse) or result.status != 201:
                raise AssertionError(f"The demo's {request.part} was refused: {result}")
        progress(start + len(batch), len(answers))


def _make_requests(course: DemoCourse, batch: Sequence[PlannedAnswer]) -> list[SubmitRequest]:
    owners = [course.members[each.login].enrolment for each in batch]
    authors = [_find_author(course, each) for each in batch]
    needed = [
        (whose, each.rubric)
        for pair, each in zip(zip(owners, authors, strict=True), batch, strict=True)
        for whose in pair
    ]
    variants = course.context.variants(course.session, needed, at=to_utc(batch[0].received_at))
    return [
        SubmitRequest(
            owner,
            each.rubric.assignment,
            each.rubric.form.id,
            build_answer(each.rubric, each.example, variants[author.id, each.rubric.id])
            | dict(each.texts),
            to_utc(each.received_at),
        )
        for owner, author, each in zip(owners, authors, batch, strict=True)
    ]


def _find_author(course: DemoCourse, answer: PlannedAnswer) -> EnrolmentLine:
    """Return whose numbers an answer uses: some students copy from the one before them."""
    if answer.example.of == "own":
        return course.members[answer.login].enrolment
    logins = list(course.members)
    return course.members[logins[logins.index(answer.login) - 1]].enrolment
