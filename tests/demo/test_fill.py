"""The demo: what its students do, that it is added once, and the ways into it."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from grader.accounts.callers import check_token
from grader.accounts.sign_in import sign_in_by_link
from grader.cli.demo_course import prepare_demo
from grader.cli.server import open_service
from grader.demo.answers import compute_points, make_pool
from grader.demo.behaviour import PlannedAnswer, make_student
from grader.demo.fill import SEED, fill, plan
from grader.demo.people import NAMES, make_login, make_roster
from grader.demo.schedule import compute_midnight, make_schedule
from grader.demo.texts import EXPLANATIONS, Quality, find_quality
from grader.domain.roles import ALL_SCOPES, STUDENT_SCOPES, Role
from grader.grading.audit.verify import verify
from grader.grading.context import GradingContext
from grader.grading.grades.export import to_csv_lines
from grader.grading.grades.gradebook import load_gradebook
from grader.grading.signing import SigningKey
from grader.reading.fields import TextField
from grader.settings import Settings
from grader.store.database import Database, open_database
from grader.store.queries.attempts import list_judged_of_question
from grader.store.queries.audit import add_signing_key
from grader.store.queries.courses import list_members, list_runs
from grader.store.queries.publications import list_in_force
from grader.web.service import Service
from tests.docs.service_pages import read_exports
from tests.support.databases import fresh_url
from tests.support.rubrics import shipped

NOW = datetime(2026, 11, 16, 14, 30, tzinfo=UTC)
LATE, LAB, NEWEST = (
    "self-attention-and-transformers",
    "single-head-attention",
    "attention-exploration",
)


def plan_at(now: datetime) -> list[PlannedAnswer]:
    students = [make_student(make_login(number), seed=SEED) for number in range(len(NAMES))]
    terms = make_schedule(shipped(), today=compute_midnight(now))
    tries, _ = plan(students, terms, shipped())
    return tries


@pytest.fixture(scope="module")
def tries() -> list[PlannedAnswer]:
    return plan_at(NOW)


# What students do


def test_the_class_is_large_and_everybody_has_another_name() -> None:
    roster = make_roster(len(NAMES)).lines
    students = Counter(each.section for each in roster if each.login.startswith("s"))

    assert len(set(NAMES)) == 120
    assert students == {"A": 60, "B": 60}
    assert sum(not name.isascii() for name in NAMES) > 40


def test_there_are_enough_attempts_to_look_at_and_not_too_many_to_wait_for(
    tries: list[PlannedAnswer],
) -> None:
    assert 1500 <= len(tries) <= 2500
    assert len({each.rubric.id for each in tries}) == 24, "all but the lab are tried"


def test_everything_was_done_before_today(tries: list[PlannedAnswer]) -> None:
    assert max(each.received_at for each in tries) <= compute_midnight(NOW) <= NOW


@pytest.mark.parametrize("hours", [-14, -6, 8])
def test_the_hour_at_which_the_demo_is_made_changes_nothing(
    tries: list[PlannedAnswer], hours: int
) -> None:
    assert plan_at(NOW + timedelta(hours=hours)) == tries


def test_a_day_later_everything_is_a_day_later(tries: list[PlannedAnswer]) -> None:
    later = plan_at(NOW + timedelta(days=1))

    assert [each.received_at - timedelta(days=1) for each in later] == [
        each.received_at for each in tries
    ]


def test_one_assignment_is_past_due_and_still_taken_and_the_others_are_open() -> None:
    late, lab, newest = make_schedule(shipped(), today=compute_midnight(NOW))

    assert [each.assignment.form.id for each in (late, lab, newest)] == [LATE, LAB, NEWEST]
    assert late.due_at < NOW < late.due_at + timedelta(days=late.assignment.form.late.days)
    assert NOW + timedelta(days=6) < lab.due_at
    assert NOW + timedelta(days=13) < newest.due_at


def test_some_are_late(tries: list[PlannedAnswer]) -> None:
    due_at = make_schedule(shipped(), today=compute_midnight(NOW))[0].due_at
    late = [each for each in tries if each.rubric.assignment == LATE and each.received_at > due_at]

    assert 20 <= len(late) <= 150


def test_some_solve_a_question_at_once_some_later_and_some_never(
    tries: list[PlannedAnswer],
) -> None:
    pools = {rubric.id: make_pool(rubric) for rubric in shipped().rubrics()}
    of_one: dict[tuple[str, str], list[bool]] = {}
    for each in tries:
        pool = pools[each.rubric.id]
        if not pool.is_written:
            solved = of_one.setdefault((each.login, each.rubric.id), [])
            solved.append(each.example in pool.right)
    counts = Counter((len(solved) > 1, solved[-1]) for solved in of_one.values())

    assert all(
        counts[several, solved] >= 30 for several in (True, False) for solved in (True, False)
    )


def test_nobody_gets_worse_by_trying(tries: list[PlannedAnswer]) -> None:
    points: dict[tuple[str, str], list[Decimal]] = {}
    for each in tries:
        points.setdefault((each.login, each.rubric.id), []).append(compute_points(each.example))

    assert all(each == sorted(each) for each in points.values())


def test_answers_come_as_formulas_as_numbers_and_as_text_of_every_quality(
    tries: list[PlannedAnswer],
) -> None:
    written = Counter(find_quality(text) for each in tries for text in each.texts.values())

    assert sum(bool(each.example.numbers) for each in tries) >= 200
    assert sum(bool(each.example.answer) for each in tries) >= 500
    assert min(written[quality] for quality in Quality) >= 100


def test_there_are_sentences_for_every_question_that_asks_for_some() -> None:
    asked = {
        rubric.form.title
        for rubric in shipped().rubrics()
        for each in rubric.question.fields
        if isinstance(each, TextField)
    }

    assert asked == set(EXPLANATIONS)


@pytest.mark.parametrize("title", EXPLANATIONS)
def test_the_quality_of_a_sentence_is_told_from_the_sentence(title: str) -> None:
    for quality in Quality:
        assert all(
            find_quality(f"Well, {text}") is quality for text in EXPLANATIONS[title][quality]
        )


# Adding it


def make_desk(database: Database) -> GradingContext:
    key = SigningKey.generate()
    with database.write() as session:
        add_signing_key(session, key_id=key.id, private=key.to_bytes(), at=NOW)
    return GradingContext(key)


def add(database: Database, context: GradingContext, *, students: int) -> list[tuple[int, int]]:
    told: list[tuple[int, int]] = []
    with database.write() as session:
        fill(
            session, context, now=NOW, students=students,
            progress=lambda done, of: told.append((done, of)),
        )  # fmt: skip
    return told


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, GradingContext]]:
    """A demo with four students besides Ada."""
    with (
        fresh_url("sqlite", tmp_path_factory.mktemp("small")) as url,
        closing(open_database(url)) as database,
    ):
        context = make_desk(database)
        add(database, context, students=4)
        yield database, context


def test_a_demo_passes_the_audit_of_the_store(database: Database) -> None:
    context = make_desk(database)
    told = add(database, context, students=4)

    with database.read() as session:
        found = verify(session, context)
        assert found.is_fine, [each for each in found.checks if not each.is_fine]
        published = [each.assignment for each in list_in_force(session, run_id="demo")]
    assert published == [LATE, LAB, NEWEST]
    assert told[-1][0] == told[-1][1] > 20


def test_a_demo_is_added_once(small: tuple[Database, GradingContext]) -> None:
    database, context = small

    assert add(database, context, students=4) == []
    with database.read() as session:
        assert [run.id for run in list_runs(session)] == ["demo"]
        assert len(list_members(session, run_id="demo", role=Role.STUDENT)) == 5


def test_two_demos_differ_in_their_numbers_and_not_in_their_grades(
    small: tuple[Database, GradingContext], sqlite_database: Database
) -> None:
    context = make_desk(sqlite_database)
    add(sqlite_database, context, students=4)

    assert grades_of(sqlite_database, context) == grades_of(*small)


def grades_of(database: Database, context: GradingContext) -> list[str]:
    with database.read() as session:
        return [
            "".join(
                to_csv_lines(load_gradebook(session, context, run_id="demo", assignment=assignment))
            )
            for assignment in (LATE, LAB, NEWEST)
        ]


def test_ada_has_sent_nothing_so_that_she_can_begin(small: tuple[Database, GradingContext]) -> None:
    database, context = small

    with database.read() as session:
        for assignment in (LATE, LAB, NEWEST):
            book = load_gradebook(session, context, run_id="demo", assignment=assignment)
            assert [row.grades for row in book.rows if row.member.login == "ada"] == [{}]


def test_what_is_sent_is_stored_when_it_arrived(small: tuple[Database, GradingContext]) -> None:
    with small[0].read() as session:
        judged = list_judged_of_question(session, run_id="demo", assignment=LATE, question="a-ii")

    assert judged
    assert all(
        NOW - timedelta(days=17) < attempt.received_at <= judgement.judged_at < NOW
        for attempt, judgement in judged
    )


# The ways in


@contextmanager
def opened(folder: Path) -> Iterator[tuple[Service, Settings]]:
    settings = Settings(data_folder=folder, database_url="", port=8000, log_format="json")
    service = open_service(settings)
    try:
        yield service, settings
    finally:
        service.database.close()


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[tuple[Service, Path, str]]:
    """A service with a demo without students, its file of exports, and what it printed."""
    with opened(tmp_path / "data") as (service, settings):
        prepare_demo(service, settings, students=0)
        yield service, settings.data_folder / "demo.env", capsys.readouterr().out


def test_the_exports_are_printed_and_written_for_their_owner_alone(
    told: tuple[Service, Path, str],
) -> None:
    _, file, printed = told

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_exports(file)["KEYSET"] == "http://localhost:8000"
    assert all(line in printed for line in file.read_text().splitlines())
    assert f"or: . {file}\n" in printed


def test_the_tokens_let_a_student_answer_and_an_instructor_do_everything(
    told: tuple[Service, Path, str],
) -> None:
    service, file, _ = told
    exports = read_exports(file)

    with service.database.read() as session:
        ada = check_token(session, exports["KEYSET_STUDENT"], at=service.clock())
        grace = check_token(session, exports["KEYSET_INSTRUCTOR"], at=service.clock())
    assert ada.person is not None
    assert grace.person is not None
    assert (ada.person.login, ada.scopes) == ("ada", STUDENT_SCOPES)
    assert (grace.person.login, grace.scopes) == ("grace", ALL_SCOPES)


def test_the_links_sign_in_who_they_say(told: tuple[Service, Path, str]) -> None:
    service, _, printed = told

    signed_in = {}
    for line in printed.splitlines():
        if "/sign-in/" in line:
            login, role, link = line.split()
            with service.database.write() as session:
                found = sign_in_by_link(session, link.rpartition("/")[2], at=service.clock())
            signed_in[login, role] = found.person.login
    assert signed_in == {
        ("grace", "instructor"): "grace",
        ("alan", "assistant"): "alan",
        ("ada", "student"): "ada",
    }


def test_a_second_start_adds_nothing_and_makes_new_ways_in(
    told: tuple[Service, Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service, file, _ = told
    before = read_exports(file)
    prepare_demo(service, Settings(data_folder=file.parent), students=0)
    after = read_exports(file)

    assert "Adding" not in capsys.readouterr().out
    assert before["KEYSET_STUDENT"] != after["KEYSET_STUDENT"]
    with service.database.read() as session:
        for exports in (before, after):
            check_token(session, exports["KEYSET_STUDENT"], at=service.clock())


def test_a_folder_that_cannot_be_written_to_is_no_reason_not_to_start(
    told: tuple[Service, Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service, _, _ = told
    (tmp_path / "file").write_text("in the way")
    prepare_demo(service, Settings(data_folder=tmp_path / "file"), students=0)
    printed = capsys.readouterr().out

    assert "export KEYSET_STUDENT=keyset_" in printed
    assert "or: ." not in printed
