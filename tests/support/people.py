"""A course run with people in it, for tests."""

from __future__ import annotations

from datetime import UTC, datetime

from grader.accounts.callers import Caller, Membership, get_membership
from grader.accounts.courses import make_run
from grader.accounts.people import get_by_login, make_person
from grader.accounts.roster_files import read_roster
from grader.accounts.roster_plans import RosterPlan, plan_roster
from grader.accounts.rosters import apply_roster, enrol
from grader.domain.roles import ALL_SCOPES, Role
from grader.store.database import Database, Session
from grader.store.queries.courses import MemberLine, RunLine, get_run, list_members
from grader.store.queries.people import PersonLine

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
LATER = datetime(2026, 11, 17, 12, 0, tzinfo=UTC)
RUN = "attention-2026"
OTHER = "vision-2026"


def add_run(session: Session, run_id: str = RUN) -> RunLine:
    return make_run(
        session, course_id="attention", run_id=run_id, title="Attention",
        time_zone="Europe/Warsaw", at=NOW, by="operator",
    )  # fmt: skip


def add(session: Session, login: str, *, is_operator: bool = False) -> PersonLine:
    return make_person(
        session, login=login, name=login.title(), email=None, is_operator=is_operator, at=NOW,
        by="operator",
    )  # fmt: skip


def add_member(session: Session, login: str, role: Role, run_id: str = RUN) -> Membership:
    """Somebody's place in a course run, as the web gives it."""
    person = add(session, login)
    run = get_run(session, run_id=run_id)
    enrol(session, run, person, role=role, at=NOW, by="operator")
    return place_of(session, login, run_id)


def place_of(session: Session, login: str, run_id: str = RUN) -> Membership:
    person = get_by_login(session, login=login)
    return get_membership(session, Caller(person.id, ALL_SCOPES, person), run_id=run_id)


def plan(
    database: Database, where: Membership | RunLine, text: str, *, is_complete: bool = False
) -> RosterPlan:
    with database.read() as session:
        return plan_roster(session, where, read_roster(text), is_complete=is_complete)


def bring(
    database: Database,
    where: Membership | RunLine,
    text: str,
    *,
    is_complete: bool = False,
    at: datetime = NOW,
) -> RosterPlan:
    """Plan a roster and apply it."""
    planned = plan(database, where, text, is_complete=is_complete)
    with database.write() as session:
        apply_roster(session, where, planned, at=at, by="operator")
    return planned


def members(database: Database, run_id: str = RUN) -> dict[str, MemberLine]:
    """Everybody who ever took part, by login."""
    with database.read() as session:
        found = list_members(session, run_id=run_id, with_left=True)
    return {each.login: each for each in found}
