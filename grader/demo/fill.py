"""Filling in the demo: a course run, its people, and what they did over the last days.

Everything goes the way of any other answer, review or override. It is one transaction, so that a
demo is there as a whole or not at all.
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
    ScheduledAssignment,
    Student,
    make_student,
    sample_actions,
)
from grader.demo.people import RUN_ID, make_login, make_roster
from grader.demo.schedule import ZONE, compute_midnight, make_schedule
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

#: Who did it where nobody of the course did.
_OPERATOR = "operator"
_BATCH_SIZE = 160

#: Called with how much is done, and how much there is to do.
ProgressCallback = Callable[[int, int], None]


def fill(
    session: Session,
    context: GradingContext,
    *,
    now: datetime,
    students: int,
    progress: ProgressCallback,
) -> None:
    """Add the demo with so many students, unless it is there; the caller commits."""
    # Two processes that start at once must not both add it.
    lock(session, ["demo"])
    if find_run(session, run_id=RUN_ID) is not None:
        return
    catalog = load_catalog(get_shipped_folder())
    today = compute_midnight(now)
    terms = make_schedule(catalog, today=today)
    course = _open_course(session, context, terms, students)
    everybody = [make_student(make_login(number), seed=SEED) for number in range(students)]
    tries, views = plan(everybody, terms, catalog)
    _record_views(course, views)
    _submit_answers(course, tries, progress)
    apply_staff_decisions(course, everybody, terms, today=today, seed=SEED)


def _open_course(
    session: Session, context: GradingContext, terms: Sequence[ScheduledAssignment], students: int
) -> DemoCourse:
    at = to_utc(terms[0].opens_at - timedelta(days=2))
    run = make_run(
        session, course_id="attention", run_id=RUN_ID, title=TITLE, time_zone=ZONE.key, at=at,
        by=_OPERATOR,
    )  # fmt: skip
    roster = plan_roster(session, run, make_roster(students), is_complete=False)
    apply_roster(session, run, roster, at=at, by=_OPERATOR)
    for term in terms:
        publish(
            session, context, run=run, assignment=term.assignment, opens_at=to_utc(term.opens_at),
            due_at=to_utc(term.due_at), note="", at=at + timedelta(hours=1), by=_OPERATOR,
        )  # fmt: skip
    members = {each.login: each for each in list_members(session, run_id=run.id)}
    return DemoCourse(session, context, run, members)


def plan(
    students: Sequence[Student], terms: Sequence[ScheduledAssignment], catalog: Catalog
) -> tuple[list[PlannedAnswer], list[PlannedView]]:
    """All that the students do, by time."""
    pools = {rubric.id: make_pool(rubric) for rubric in catalog.rubrics()}
    done = [
        each
        for term in terms
        for student in students
        for each in sample_actions(student, term, pools, seed=SEED)
    ]
    tries = [each for each in done if isinstance(each, PlannedAnswer)]
    views = [each for each in done if isinstance(each, PlannedView)]
    return sorted(tries, key=lambda each: each.received_at), views


def _record_views(course: DemoCourse, views: Sequence[PlannedView]) -> None:
    for view in views:
        enrolment = course.members[view.login].enrolment
        part = (enrolment.id, view.rubric.assignment, view.rubric.form.id)
        record_view(course.session, run_id=course.run.id, part=part, at=to_utc(view.at))


def _submit_answers(
    course: DemoCourse, tries: Sequence[PlannedAnswer], progress: ProgressCallback
) -> None:
    """Send the answers by time, in groups as a busy service takes them."""
    for start in range(0, len(tries), _BATCH_SIZE):
        group = tries[start : start + _BATCH_SIZE]
        sendings = _make_requests(course, group)
        results = submit(course.session, course.context, sendings, at=to_utc(group[-1].received_at))
        for sending, result in zip(sendings, results, strict=True):
            if not isinstance(result, IdempotentResponse) or result.status != 201:
                raise AssertionError(f"The demo's {sending.part} was refused: {result}")
        progress(start + len(group), len(tries))


def _make_requests(course: DemoCourse, group: Sequence[PlannedAnswer]) -> list[SubmitRequest]:
    owners = [course.members[each.login].enrolment for each in group]
    authors = [_find_author(course, each) for each in group]
    wanted = [
        (whose, each.rubric)
        for pair, each in zip(zip(owners, authors, strict=True), group, strict=True)
        for whose in pair
    ]
    variants = course.context.variants(course.session, wanted, at=to_utc(group[0].received_at))
    return [
        SubmitRequest(
            owner,
            each.rubric.assignment,
            each.rubric.form.id,
            build_answer(each.rubric, each.example, variants[author.id, each.rubric.id])
            | dict(each.texts),
            to_utc(each.received_at),
        )
        for owner, author, each in zip(owners, authors, group, strict=True)
    ]


def _find_author(course: DemoCourse, sent: PlannedAnswer) -> EnrolmentLine:
    """Whose numbers an answer has: some are copied from the one before in the list."""
    if sent.example.of == "own":
        return course.members[sent.login].enrolment
    logins = list(course.members)
    return course.members[logins[logins.index(sent.login) - 1]].enrolment
