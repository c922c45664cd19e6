"""The demo: a course run, its members, and what they did over the last days.

`open_demo` adds the course in one transaction. `fill_demo` then adds what students and staff did,
in steps: each is one short transaction, which also records that it is done, so that filling may end
at any moment and goes on at the next step. Answers, reviews and overrides go through the same
functions as real ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

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
from grader.demo.staff_decisions import DemoCourse, Step, list_staff_steps, to_utc
from grader.grading.context import GradingContext
from grader.grading.publishing.publish import publish
from grader.grading.submissions.submit import SubmitRequest, submit
from grader.rubric.catalog import Catalog, get_shipped_folder, load_catalog
from grader.store.database import Session, lock
from grader.store.queries.attempts import record_view
from grader.store.queries.courses import EnrolmentLine, find_run, get_run, list_members
from grader.store.queries.fills import (
    FillLine,
    add_fill,
    delete_fill,
    find_fill,
    record_fill,
)

TITLE = "Attention and Transformers (demo)"
SEED = "keyset demo"

#: The author of changes that no member of the course makes.
_OPERATOR = "operator"
#: Answers per step. More would be judged a little faster, but whoever sends an answer to the
#: service meanwhile waits for the end of a step.
_BATCH_SIZE = 16

#: Runs a change in a transaction of its own, and returns the progress after it.
Write = Callable[[Callable[[Session], FillLine | None]], FillLine | None]
#: Called with the number of steps so far and the total.
ProgressCallback = Callable[[int, int], None]


def open_demo(session: Session, context: GradingContext, *, now: datetime, students: int) -> None:
    """Add the course with this number of students, unless it exists; the caller commits."""
    _lock(session)
    if find_run(session, run_id=RUN_ID) is not None:
        return
    catalog = load_catalog(get_shipped_folder())
    schedule = make_schedule(catalog, today=compute_midnight(now))
    _open_course(session, context, schedule, students)
    steps = list_steps(catalog, now=now, students=students)
    add_fill(session, FillLine(RUN_ID, students, 0, len(steps), began_at=now, seen_at=now))


def _lock(session: Session) -> None:
    # Two processes may be about to do the same step.
    lock(session, ["demo"])


def fill_demo(
    write: Write,
    context: GradingContext,
    *,
    clock: Callable[[], datetime],
    should_stop: Callable[[], bool],
    progress: ProgressCallback,
) -> bool:
    """Do the steps that are missing, until there are none or it must stop; True if none are left.

    Each goes to `write` on its own. Another process may fill the same course at the same time: then
    each step is done by one of them.
    """
    fill = write(partial(_resume, at=clock()))
    if fill is None:
        return True
    catalog = load_catalog(get_shipped_folder())
    steps = list_steps(catalog, now=fill.began_at, students=fill.students)
    while fill is not None and not should_stop():
        progress(fill.done, fill.of)
        fill = write(partial(_do_next_step, context=context, steps=steps, at=clock()))
    return fill is None


def _resume(session: Session, *, at: datetime) -> FillLine | None:
    """Say that somebody works on it."""
    _lock(session)
    fill = find_fill(session, run_id=RUN_ID)
    if fill is not None:
        record_fill(session, run_id=RUN_ID, done=fill.done, of=fill.of, at=at)
    return fill


def _do_next_step(
    session: Session, *, context: GradingContext, steps: Sequence[Step], at: datetime
) -> FillLine | None:
    _lock(session)
    fill = find_fill(session, run_id=RUN_ID)
    if fill is None:
        return None
    if fill.done < len(steps):
        steps[fill.done](_load_course(session, context))
    if fill.done + 1 < len(steps):
        record_fill(session, run_id=RUN_ID, done=fill.done + 1, of=len(steps), at=at)
    else:
        delete_fill(session, run_id=RUN_ID)
    return find_fill(session, run_id=RUN_ID)


def list_steps(catalog: Catalog, *, now: datetime, students: int) -> list[Step]:
    """Return all steps in order; the same arguments give the same steps."""
    today = compute_midnight(now)
    schedule = make_schedule(catalog, today=today)
    class_list = [make_student(make_login(number), seed=SEED) for number in range(students)]
    planned, views = plan(class_list, schedule, catalog)
    answers = _sort_by_round(planned)
    return [
        partial(_record_views, views=views),
        *(
            partial(_submit_answers, answers=answers[start : start + _BATCH_SIZE])
            for start in range(0, len(answers), _BATCH_SIZE)
        ),
        *list_staff_steps(class_list, schedule, today=today, seed=SEED),
    ]


def _sort_by_round(answers: Sequence[PlannedAnswer]) -> list[PlannedAnswer]:
    """Put everybody's first answers to an assignment before everybody's second ones, and so on.

    Answers of different students to one question are judged together, which is faster.
    """
    count: Counter[tuple[str, str]] = Counter()
    rounds = []
    for each in answers:
        rubric = each.rubric
        count[each.login, rubric.assignment] += 1
        rounds.append((rubric.assignment, count[each.login, rubric.assignment], rubric.form.id))
    order = sorted(range(len(answers)), key=lambda number: rounds[number])
    return [answers[number] for number in order]


def _open_course(
    session: Session,
    context: GradingContext,
    schedule: Sequence[ScheduledAssignment],
    students: int,
) -> None:
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


def _load_course(session: Session, context: GradingContext) -> DemoCourse:
    members = {each.login: each for each in list_members(session, run_id=RUN_ID)}
    return DemoCourse(session, context, get_run(session, run_id=RUN_ID), members)


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


# Visitors of the demo may have changed the course meanwhile, as an instructor can: a student who
# has left does nothing more, and an answer that is refused now is left out.


def _record_views(course: DemoCourse, *, views: Sequence[PlannedView]) -> None:
    for view in views:
        if view.login in course.members:
            enrolment = course.members[view.login].enrolment
            part = (enrolment.id, view.rubric.assignment, view.rubric.form.id)
            record_view(course.session, run_id=course.run.id, part=part, at=to_utc(view.at))


def _submit_answers(course: DemoCourse, *, answers: Sequence[PlannedAnswer]) -> None:
    """Submit answers together, like those that arrive at a busy service."""
    batch = [each for each in answers if each.login in course.members]
    if batch:
        requests = _make_requests(course, batch)
        at = max(each.received_at for each in batch)
        submit(course.session, course.context, requests, at=to_utc(at))


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
