"""What reading asks of the database and of threads: counted, because times are noisy."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.pages import GRADES, ORDERS, fill_bench_service
from bench.reading import ReadingService, fill_reading_service
from grader.accounts.courses import make_run
from grader.domain.roles import Role
from grader.grading.publishing.publish import publish
from grader.rubric.catalog import get_shipped_folder, load_catalog
from grader.store.database import Database
from grader.store.queries.courses import EnrolmentLine, add_enrolments, change_enrolment
from grader.store.queries.credentials import end_all_credentials
from grader.store.rows import make_id
from tests.support.world import NOW

#: How many SELECT statements each call has: who asks, where, and what is shown.
STATEMENTS = {
    "question page": 10,
    "my work": 5,
    "API question": 9,
    "check a formula": 3,
    "check numbers": 3,
}


@pytest.fixture
def reading(sqlite_database: Database) -> ReadingService:
    return fill_reading_service(sqlite_database)


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_call_has_one_thread_and_no_statement_twice(reading: ReadingService, name: str) -> None:
    trace = reading.trace(name)

    assert trace.hops == 1
    assert len(trace.statements) == STATEMENTS[name]
    repeated = Counter((each.sql, str(each.parameters)) for each in trace.statements)
    assert max(repeated.values()) == 1


@pytest.mark.parametrize("name", STATEMENTS)
def test_more_attempts_and_answers_need_no_more_statements(
    reading: ReadingService, name: str
) -> None:
    for number in range(3):
        reading.submit({"q": f"{number + 50} (mu_a + mu_b)"})
    reading.submit({"q": "k_a"}, question="3b")

    assert len(reading.trace(name).statements) == STATEMENTS[name]


def test_more_courses_need_no_more_statements_for_my_work(reading: ReadingService) -> None:
    with reading.database.write() as session:
        run = make_run(
            session, course_id="two", run_id="two", title="Two", time_zone="UTC", at=NOW, by="x"
        )
        assignment = load_catalog(get_shipped_folder()).assignments["single-head-attention"]
        publish(
            session, reading.service.context, run=run, assignment=assignment, opens_at=None,
            due_at=None, note="", at=NOW, by="x",
        )  # fmt: skip
        place = EnrolmentLine(make_id("enr"), "two", reading.student.person_id, Role.STUDENT, "")
        add_enrolments(session, [place], at=NOW)

    trace = reading.trace("my work")

    assert "/courses/two/assignments/single-head-attention" in trace.text
    assert len(trace.statements) == STATEMENTS["my work"]


@pytest.mark.parametrize("query", ORDERS.values(), ids=ORDERS)
def test_the_dashboard_has_one_thread_and_few_statements(
    sqlite_database: Database, query: str
) -> None:
    service = fill_bench_service(sqlite_database, students=60, questions=3)
    trace = service.trace(GRADES + query)

    assert trace.hops == 1
    assert len(trace.statements) == 10
    assert len({each.sql for each in trace.statements}) == 10


@pytest.mark.parametrize("name", STATEMENTS)
def test_an_ended_credential_is_refused_by_the_very_next_call(
    reading: ReadingService, name: str
) -> None:
    reading.trace(name)
    with reading.database.write() as session:
        end_all_credentials(session, person_id=reading.student.person_id, at=NOW)

    with pytest.raises(AssertionError, match=r"^$|caller\.unknown"):
        reading.trace(name)


@pytest.mark.parametrize("name", [each for each in STATEMENTS if each != "my work"])
def test_a_removed_student_is_refused_by_the_very_next_call(
    reading: ReadingService, name: str
) -> None:
    reading.trace(name)
    with reading.database.write() as session:
        change_enrolment(
            session, enrolment_id=reading.student.id, role=Role.STUDENT, section="", left_at=NOW
        )

    with pytest.raises(AssertionError, match=r"404|Nothing|not"):
        reading.trace(name)
