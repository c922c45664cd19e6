"""Filling in the demo: a course run, its people, and what they did over the last days.

Everything goes the way of any other answer, review or override. It is one transaction, so that a
demo is there as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from grader.accounts.courses import make_run
from grader.accounts.rosters import apply_roster, plan_roster
from grader.demo.answers import answer_on, make_pool
from grader.demo.behaviour import Student, Term, Try, View, make_student, work
from grader.demo.people import RUN_ID, login_of, make_roster
from grader.demo.schedule import ZONE, last_midnight, make_terms
from grader.demo.staff_decisions import Course, decide, utc
from grader.grading.context import Desk
from grader.grading.idempotency import Answered
from grader.grading.publishing.publish import publish
from grader.grading.submissions.submit import Sending, submit
from grader.rubric.catalog import Catalog, load_catalog, shipped_folder
from grader.store.database import Session, lock
from grader.store.queries.attempts import note_view
from grader.store.queries.courses import EnrolmentLine, find_run, list_members

TITLE = "Attention and Transformers (demo)"
SEED = "keyset demo"

#: Who did it where nobody of the course did.
_BY = "operator"
_AT_ONCE = 160

#: Called with how much is done, and how much there is to do.
Progress = Callable[[int, int], None]


def fill(session: Session, desk: Desk, *, now: datetime, students: int, progress: Progress) -> None:
    """Add the demo with so many students, unless it is there; the caller commits."""
    # Two processes that start at once must not both add it.
    lock(session, ["demo"])
    if find_run(session, run_id=RUN_ID) is not None:
        return
    catalog = load_catalog(shipped_folder())
    today = last_midnight(now)
    terms = make_terms(catalog, today=today)
    course = _open_course(session, desk, terms, students)
    everybody = [make_student(login_of(number), seed=SEED) for number in range(students)]
    tries, views = plan(everybody, terms, catalog)
    _note(course, views)
    _send(course, tries, progress)
    decide(course, everybody, terms, today=today, seed=SEED)


def _open_course(session: Session, desk: Desk, terms: Sequence[Term], students: int) -> Course:
    at = utc(terms[0].opens_at - timedelta(days=2))
    run = make_run(
        session, course_id="attention", run_id=RUN_ID, title=TITLE, time_zone=ZONE.key, at=at,
        by=_BY,
    )  # fmt: skip
    roster = plan_roster(session, run, make_roster(students), is_complete=False)
    apply_roster(session, run, roster, at=at, by=_BY)
    for term in terms:
        publish(
            session, desk, run=run, assignment=term.assignment, opens_at=utc(term.opens_at),
            due_at=utc(term.due_at), note="", at=at + timedelta(hours=1), by=_BY,
        )  # fmt: skip
    members = {each.login: each for each in list_members(session, run_id=run.id)}
    return Course(session, desk, run, members)


def plan(
    students: Sequence[Student], terms: Sequence[Term], catalog: Catalog
) -> tuple[list[Try], list[View]]:
    """All that the students do, by time."""
    pools = {rubric.id: make_pool(rubric) for rubric in catalog.rubrics()}
    done = [
        each
        for term in terms
        for student in students
        for each in work(student, term, pools, seed=SEED)
    ]
    tries = [each for each in done if isinstance(each, Try)]
    views = [each for each in done if isinstance(each, View)]
    return sorted(tries, key=lambda each: each.received_at), views


def _note(course: Course, views: Sequence[View]) -> None:
    for view in views:
        enrolment = course.members[view.login].enrolment
        part = (enrolment.id, view.rubric.assignment, view.rubric.form.id)
        note_view(course.session, run_id=course.run.id, part=part, at=utc(view.at))


def _send(course: Course, tries: Sequence[Try], progress: Progress) -> None:
    """Send the answers by time, in groups as a busy service takes them."""
    for start in range(0, len(tries), _AT_ONCE):
        group = tries[start : start + _AT_ONCE]
        sendings = _sendings(course, group)
        results = submit(course.session, course.desk, sendings, at=utc(group[-1].received_at))
        for sending, result in zip(sendings, results, strict=True):
            if not isinstance(result, Answered) or result.status != 201:
                raise AssertionError(f"The demo's {sending.part} was refused: {result}")
        progress(start + len(group), len(tries))


def _sendings(course: Course, group: Sequence[Try]) -> list[Sending]:
    owners = [course.members[each.login].enrolment for each in group]
    authors = [_author(course, each) for each in group]
    wanted = [
        (whose, each.rubric)
        for pair, each in zip(zip(owners, authors, strict=True), group, strict=True)
        for whose in pair
    ]
    variants = course.desk.variants(course.session, wanted, at=utc(group[0].received_at))
    return [
        Sending(
            owner,
            each.rubric.assignment,
            each.rubric.form.id,
            answer_on(each.rubric, each.example, variants[author.id, each.rubric.id])
            | dict(each.texts),
            utc(each.received_at),
        )
        for owner, author, each in zip(owners, authors, group, strict=True)
    ]


def _author(course: Course, sent: Try) -> EnrolmentLine:
    """Whose numbers an answer has: some are copied from the one before in the list."""
    if sent.example.of == "own":
        return course.members[sent.login].enrolment
    logins = list(course.members)
    return course.members[logins[logins.index(sent.login) - 1]].enrolment
