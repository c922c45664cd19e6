"""What rosters change, and what they cannot, on both databases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.accounts.callers import Caller, Membership
from grader.accounts.people import end_account
from grader.accounts.roster_plans import Difference, RosterChangeKind
from grader.accounts.rosters import apply_roster, end_enrolment, enrol
from grader.domain.roles import Role, Scope
from grader.errors import MalformedRequest, MissingRole, MissingScope, NotFound, RequestRefused
from grader.store.database import Database
from grader.store.queries.courses import RunLine, get_member
from grader.store.queries.people import list_people
from tests.support.audit_entries import list_audit_entries
from tests.support.people import (
    LATER,
    NOW,
    OTHER,
    RUN,
    add,
    add_member,
    add_run,
    bring,
    members,
    place_of,
    plan,
)
from tests.support.statements import record_writing


@pytest.fixture
def run(database: Database) -> RunLine:
    with database.write() as session:
        return add_run(session)


@pytest.fixture
def instructor(database: Database, run: RunLine) -> Membership:
    with database.write() as session:
        return add_member(session, "ines", Role.INSTRUCTOR)


def faults_of(database: Database, where: Membership | RunLine, text: str) -> list[tuple[str, str]]:
    with pytest.raises(MalformedRequest) as caught:
        plan(database, where, text)
    return [(each.pointer, each.code) for each in caught.value.faults]


# What happens


def test_a_plan_tells_everything_and_changes_nothing(database: Database, run: RunLine) -> None:
    bring(database, run, "login,name,section\nada,Ada,A\nbob,Bob,A\neve,Eve,A\nzoe,Zoe,A\n")
    with database.write() as session:
        add(session, "kim")
    before = members(database)

    planned = plan(
        database,
        run,
        "login,name,role,section\nada,Ada,,A\nbob,Bobby,assistant,B\nkim,Kim,,\nnew,New,,C\n",
        is_complete=True,
    )

    assert {each.login: each.kind for each in planned.changes} == {
        "ada": RosterChangeKind.UNCHANGED,
        "bob": RosterChangeKind.CHANGED,
        "kim": RosterChangeKind.ENROLLED,
        "new": RosterChangeKind.NEW,
        "eve": RosterChangeKind.LEAVING,
        "zoe": RosterChangeKind.LEAVING,
    }
    (bob,) = planned.of(RosterChangeKind.CHANGED)
    assert bob.differences == (
        Difference("name", "Bob", "Bobby"),
        Difference("role", "student", "assistant"),
        Difference("section", "A", "B"),
    )
    assert planned.counts[RosterChangeKind.LEAVING] == 2
    assert members(database) == before


def test_a_plan_that_is_applied_leaves_nothing_to_do(database: Database, run: RunLine) -> None:
    text = "login,name,email,role,section\nada,Ada,ada@x.edu,assistant,A\nbob,Bob,,,\n"
    bring(database, run, text)

    assert plan(database, run, text, is_complete=True).is_idle
    found = members(database)
    assert (found["ada"].email, found["ada"].enrolment.role) == ("ada@x.edu", Role.ASSISTANT)
    assert (found["bob"].email, found["bob"].enrolment.role) == (None, Role.STUDENT)


def test_who_leaves_keeps_the_place_and_comes_back_to_it(database: Database, run: RunLine) -> None:
    bring(database, run, "login,name\nada,Ada\nbob,Bob\n")
    before = members(database)["bob"]
    bring(database, run, "login,name\nada,Ada\n", is_complete=True, at=LATER)
    away = members(database)["bob"]
    back = bring(database, run, "login,name\nada,Ada\nbob,Bob\n", is_complete=True, at=LATER)

    assert away == replace(before, left_at=LATER)
    assert [each.login for each in back.of(RosterChangeKind.RETURNING)] == ["bob"]
    assert members(database)["bob"] == before


def test_who_comes_back_from_staff_is_a_student(database: Database, run: RunLine) -> None:
    bring(database, run, "login,name,role\nada,Ada,instructor\n")
    with database.write() as session:
        end_enrolment(
            session, run, get_member(session, run_id=RUN, login="ada"), at=NOW, by="operator"
        )
    bring(database, run, "login,name\nada,Ada\n")

    assert members(database)["ada"].enrolment.role is Role.STUDENT


def test_staff_never_leave_because_a_roster_forgets_them(
    database: Database, instructor: Membership
) -> None:
    bring(database, instructor, "login,name\nada,Ada\n", is_complete=True)

    assert members(database)["ines"].left_at is None


def test_a_file_without_roles_leaves_roles_alone(database: Database, run: RunLine) -> None:
    bring(database, run, "login,name,role,section\nada,Ada,assistant,B\n")

    assert plan(database, run, "login,name\nada,Ada\n").is_idle


def test_a_person_of_another_course_is_enrolled_and_not_there_twice(
    database: Database, run: RunLine
) -> None:
    with database.write() as session:
        add_run(session, OTHER)
        add_member(session, "ada", Role.STUDENT, OTHER)
    bring(database, run, "login,name\nada,Somebody Else\n")

    with database.read() as session:
        assert [each.login for each in list_people(session)] == ["ada"]
    ada = members(database)["ada"]
    assert ada.name == "Ada"
    assert ada.enrolment.person_id == members(database, OTHER)["ada"].enrolment.person_id


def test_one_roster_is_one_entry_in_the_audit_chain(database: Database, run: RunLine) -> None:
    bring(database, run, "login,name,role\nada,Ada,assistant\nbob,Bob,\n")
    bring(database, run, "login,name\nada,Ada\nbob,Bob\n")
    with database.read() as session:
        entries = [each for each in list_audit_entries(session) if each.action == "roster.applied"]

    ada = members(database)["ada"].enrolment.id
    assert [each.run_id for each in entries] == [RUN]
    assert entries[0].details["counts"]["new"] == 2
    assert entries[0].details["roles"] == {ada: "assistant"}


def test_a_plan_that_is_out_of_date_is_refused_whole(database: Database, run: RunLine) -> None:
    planned = plan(database, run, "login,name\nada,Ada\nbob,Bob\n")
    bring(database, run, "login,name\nbob,Bob\n")

    with pytest.raises(RequestRefused, match="has changed since"), database.write() as session:
        apply_roster(session, run, planned, at=NOW, by="operator")
    assert list(members(database)) == ["bob"]


def test_ten_thousand_people_come_in_few_statements(database: Database, run: RunLine) -> None:
    lines = [f"s{number:05},Student {number},,{number % 7}" for number in range(10_000)]
    text = "\n".join(["login,name,role,section", *lines])
    for each in (text, text.replace(",Student", ",The Student")):
        with record_writing(database) as statements:
            bring(database, run, each)
        assert len(statements) < len(lines) / 50

    assert len(members(database)) == 10_000


# What a roster may not do


@pytest.mark.parametrize("role", [Role.STUDENT, Role.ASSISTANT])
def test_only_instructors_change_rosters(database: Database, run: RunLine, role: Role) -> None:
    with database.write() as session:
        place = add_member(session, "tom", role)

    with pytest.raises(MissingRole):
        plan(database, place, "login,name\nada,Ada\n")


def test_a_token_needs_the_scope(database: Database, instructor: Membership) -> None:
    caller = instructor.caller._replace(scopes=frozenset({Scope.READ}))
    limited = instructor._replace(caller=caller)

    with pytest.raises(MissingScope):
        plan(database, limited, "login,name\nada,Ada\n")


def test_an_instructor_makes_instructors(database: Database, instructor: Membership) -> None:
    bring(database, instructor, "login,name,role\nada,Ada,instructor\n")

    assert members(database)["ada"].enrolment.role is Role.INSTRUCTOR


@pytest.mark.parametrize("role", ["student", "assistant", "instructor"])
def test_an_instructors_roster_does_not_reach_an_operator(
    database: Database, instructor: Membership, role: str
) -> None:
    with database.write() as session:
        add(session, "root", is_operator=True)
    text = f"login,name,role\nroot,Mine,{role}\n"

    assert faults_of(database, instructor, text) == [("#/csv/2/login", "login.operator")]


def test_no_roster_renames_an_operator(database: Database, run: RunLine) -> None:
    with database.write() as session:
        root = add(session, "root", is_operator=True)
        enrol(session, run, root, role=Role.INSTRUCTOR, at=NOW, by="operator")

    planned = bring(database, run, "login,name,email\nroot,Mine,me@example.edu\n")

    assert planned.changes[0].kept == ("name", "email")
    assert planned.is_idle
    assert (members(database)["root"].name, members(database)["root"].email) == ("Root", None)


def test_an_account_that_was_in_no_course_keeps_its_name(
    database: Database, instructor: Membership
) -> None:
    with database.write() as session:
        add(session, "kim")
    (change,) = bring(database, instructor, "login,name\nkim,Mine\n").changes

    assert (change.name, change.kept) == ("Kim", ("name",))
    assert members(database)["kim"].name == "Kim"


def test_who_was_in_another_course_once_keeps_the_name(
    database: Database, instructor: Membership
) -> None:
    with database.write() as session:
        other = add_run(session, OTHER)
        add_member(session, "ada", Role.STUDENT, OTHER)
        end_enrolment(
            session, other, get_member(session, run_id=OTHER, login="ada"), at=NOW, by="x"
        )
    bring(database, instructor, "login,name\nada,Ada\n")
    planned = bring(database, instructor, "login,name\nada,Mine\n")

    assert planned.changes[0].kept == ("name",)
    assert members(database)["ada"].name == "Ada"


def test_a_login_of_other_capitals_is_a_mistake(database: Database, instructor: Membership) -> None:
    text = "login,name\nInes,Ines\nada,Ada\n"

    assert faults_of(database, instructor, text) == [("#/csv/2/login", "login.spelling")]


def test_an_account_that_has_ended_is_not_enrolled(database: Database, run: RunLine) -> None:
    with database.write() as session:
        end_account(session, add(session, "ada"), at=NOW, by="operator")

    faults = faults_of(database, run, "login,name\nada,Ada\n")
    assert faults == [("#/csv/2/login", "login.ended")]


def test_nobody_gives_up_the_own_role(database: Database, instructor: Membership) -> None:
    faults = faults_of(database, instructor, "login,name,role\nines,Ines,student\n")
    assert faults == [("#/csv/2/role", "role.own")]

    with database.write() as session:
        member = get_member(session, run_id=RUN, login="ines")
        with pytest.raises(RequestRefused, match="yourself"):
            end_enrolment(session, instructor, member, at=NOW, by=instructor.caller.id)


def test_a_service_enrols_students_and_leaves_staff_alone(
    database: Database, instructor: Membership
) -> None:
    caller = Caller("tok_1", frozenset({Scope.ROSTER}), run_id=RUN)
    service = Membership(caller, instructor.run, Role.INSTRUCTOR, None)
    text = "login,name,role\nada,Ada,instructor\nines,Ines,student\nbob,Bob,\n"

    assert faults_of(database, service, text) == [
        ("#/csv/2/role", "role.service"),
        ("#/csv/3/role", "role.service"),
    ]
    bring(database, service, "login,name\nines,Ines\nbob,Bob\n")
    with database.write() as session:
        member = get_member(session, run_id=RUN, login="ines")
        with pytest.raises(RequestRefused, match="students only"):
            end_enrolment(session, service, member, at=NOW, by=caller.id)
    assert members(database)["bob"].enrolment.role is Role.STUDENT


def test_nobody_is_sent_away_from_another_course(
    database: Database, instructor: Membership
) -> None:
    with database.write() as session:
        add_run(session, OTHER)
        add_member(session, "ada", Role.STUDENT, OTHER)
        member = get_member(session, run_id=OTHER, login="ada")
        with pytest.raises(NotFound):
            end_enrolment(session, instructor, member, at=NOW, by="x")


def test_enrolling_again_changes_the_role(database: Database, run: RunLine) -> None:
    with database.write() as session:
        person = add(session, "ada")
        enrol(session, run, person, role=Role.STUDENT, section="B", at=NOW, by="operator")
        change = enrol(session, run, person, role=Role.ASSISTANT, at=NOW, by="operator")
        place = place_of(session, "ada")

    assert change.kind is RosterChangeKind.CHANGED
    assert place.enrolment is not None
    assert (place.role, place.enrolment.section) == (Role.ASSISTANT, "B")
