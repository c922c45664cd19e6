"""Accounts and enrolments of many people at once, for rosters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, or_, select, text, update

from grader.domain.roles import Role
from grader.store.database import Session
from grader.store.queries.courses import EnrolmentLine
from grader.store.queries.people import PERSON_COLUMNS, PersonLine
from grader.store.rows import split_into_batches, to_line
from grader.store.tables.people import EnrolmentRow, PersonRow


@dataclass(frozen=True, slots=True)
class AccountLine:
    """The account of a login, with the person's enrolment in one course run."""

    person: PersonLine
    is_ended: bool
    is_elsewhere: bool
    """Whether the person is or was enrolled in another course run."""
    enrolment: EnrolmentLine | None
    has_left: bool


def find_accounts(
    session: Session, *, run_id: str, logins: Iterable[str]
) -> dict[str, AccountLine]:
    """The accounts of these logins, by login; also those that have ended."""
    accounts: dict[str, AccountLine] = {}
    for batch in split_into_batches(list(logins)):
        # Two queries by index: a join is slow until the planner knows that the tables have grown.
        statement = select(*PERSON_COLUMNS, PersonRow.ended_at).where(PersonRow.login.in_(batch))
        people = [(to_line(PersonLine, row[:-1]), row[-1]) for row in session.execute(statement)]
        enrolments, elsewhere = _find_enrolments(session, run_id, [each.id for each, _ in people])
        for person, ended_at in people:
            enrolment, has_left = enrolments.get(person.id, (None, False))
            accounts[person.login] = AccountLine(
                person, ended_at is not None, person.id in elsewhere, enrolment, has_left
            )
    return accounts


def _find_enrolments(
    session: Session, run_id: str, person_ids: list[str]
) -> tuple[dict[str, tuple[EnrolmentLine, bool]], set[str]]:
    """Enrolments in this run with whether the person has left, and who is in another run."""
    statement = select(
        EnrolmentRow.id,
        EnrolmentRow.run_id,
        EnrolmentRow.person_id,
        EnrolmentRow.role,
        EnrolmentRow.section,
        EnrolmentRow.left_at,
    ).where(EnrolmentRow.person_id.in_(person_ids))
    enrolments, elsewhere = {}, set()
    for enrolment_id, run, person_id, role, section, left_at in session.execute(statement):
        if run == run_id:
            line = EnrolmentLine(enrolment_id, run, person_id, Role(role), section)
            enrolments[person_id] = line, left_at is not None
        else:
            elsewhere.add(person_id)
    return enrolments, elsewhere


def list_logins(session: Session) -> list[str]:
    """All logins, also of ended accounts."""
    return list(session.scalars(select(PersonRow.login)))


def count_members(session: Session) -> dict[tuple[str, Role], int]:
    """Count the members of each course run, by role."""
    statement = (
        select(EnrolmentRow.run_id, EnrolmentRow.role, func.count())
        .where(EnrolmentRow.left_at.is_(None))
        .group_by(EnrolmentRow.run_id, EnrolmentRow.role)
    )
    return {(row[0], Role(row[1])): row[2] for row in session.execute(statement)}


def change_people(session: Session, people: Iterable[PersonLine]) -> None:
    """Set the names and addresses of many people."""
    rows = [{"id": each.id, "name": each.name, "email": each.email} for each in people]
    if rows:
        session.execute(update(PersonRow), rows)


def change_enrolments(
    session: Session, enrolments: Iterable[EnrolmentLine], *, left_at: datetime | None
) -> None:
    """Set roles, sections and `left_at` of many enrolments."""
    rows = [
        {"id": each.id, "role": each.role.value, "section": each.section, "left_at": left_at}
        for each in enrolments
    ]
    if rows:
        session.execute(update(EnrolmentRow), rows)


def update_planner_statistics(session: Session) -> None:
    """Update PostgreSQL's statistics after many rows were added.

    Until then it believes that the tables are small, and scans them for every query.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("ANALYZE people, enrolments"))


@dataclass(frozen=True, slots=True)
class RosterEntry:
    """A member as the roster shows them."""

    login: str
    name: str
    email: str | None
    role: Role
    section: str
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class RosterFilter:
    """Which members to list; None or empty means any."""

    text: str = ""
    """Part of a login or a name, ignoring case."""
    role: Role | None = None
    section: str | None = None
    """The exact section; the empty string is for members without one."""

    @property
    def is_everybody(self) -> bool:
        """Whether all members match."""
        return not self.text and self.role is None and self.section is None


def list_roster(
    session: Session, *, run_id: str, filter: RosterFilter, after: str | None, limit: int
) -> list[RosterEntry]:
    """The matching members, by login, starting after a login if one is given."""
    statement = (
        select(
            EnrolmentRow.login,
            PersonRow.name,
            PersonRow.email,
            EnrolmentRow.role,
            EnrolmentRow.section,
            EnrolmentRow.joined_at,
        )
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(*_build_conditions(run_id, filter))
        .order_by(EnrolmentRow.login)
        .limit(limit)
    )
    if after is not None:
        statement = statement.where(EnrolmentRow.login > after)
    return [
        RosterEntry(row.login, row.name, row.email, Role(row.role), row.section, row.joined_at)
        for row in session.execute(statement)
    ]


def count_roster(session: Session, *, run_id: str, filter: RosterFilter) -> dict[Role, int]:
    """Count the matching members by role, zeros included."""
    statement = (
        select(EnrolmentRow.role, func.count())
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(*_build_conditions(run_id, filter))
        .group_by(EnrolmentRow.role)
    )
    found = {Role(row[0]): row[1] for row in session.execute(statement)}
    return {role: found.get(role, 0) for role in Role}


def list_sections(session: Session, *, run_id: str) -> list[str]:
    """All sections with members; the empty string if a member has none."""
    statement = (
        select(EnrolmentRow.section)
        .where(EnrolmentRow.run_id == run_id, EnrolmentRow.left_at.is_(None))
        .distinct()
        .order_by(EnrolmentRow.section)
    )
    return list(session.scalars(statement))


def find_joined_at(session: Session, *, enrolment_id: str) -> datetime | None:
    """When the person of an enrolment joined."""
    return session.scalar(select(EnrolmentRow.joined_at).where(EnrolmentRow.id == enrolment_id))


def find_names_by_enrolment(
    session: Session, *, enrolment_ids: Iterable[str]
) -> dict[str, tuple[str, str]]:
    """The login and name of the person of each enrolment, also of those who have left."""
    found: dict[str, tuple[str, str]] = {}
    for batch in split_into_batches(sorted(set(enrolment_ids))):
        statement = (
            select(EnrolmentRow.id, EnrolmentRow.login, PersonRow.name)
            .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
            .where(EnrolmentRow.id.in_(batch))
        )
        found |= {row.id: (row.login, row.name) for row in session.execute(statement)}
    return found


def _build_conditions(run_id: str, filter: RosterFilter) -> list[ColumnElement[bool]]:
    conditions = [EnrolmentRow.run_id == run_id, EnrolmentRow.left_at.is_(None)]
    if filter.role is not None:
        conditions.append(EnrolmentRow.role == filter.role.value)
    if filter.section is not None:
        conditions.append(EnrolmentRow.section == filter.section)
    if filter.text:
        # SQLite ignores case only for ASCII, so other letters are searched in each spelling.
        text = filter.text
        spellings = sorted({text, text.lower(), text.upper(), text.title()})
        matches = (
            column.icontains(each, autoescape=True)
            for each in spellings
            for column in (EnrolmentRow.login, PersonRow.name)
        )
        conditions.append(or_(*matches))
    return conditions
