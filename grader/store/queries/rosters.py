"""Accounts and places of many people at once, as rosters need them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, or_, select, text, update

from grader.domain.roles import Role
from grader.store.database import Session
from grader.store.queries.courses import EnrolmentLine
from grader.store.queries.people import PERSON_COLUMNS, PersonLine
from grader.store.rows import split_into_batches, to_line
from grader.store.tables import EnrolmentRow, PersonRow


@dataclass(frozen=True, slots=True)
class AccountLine:
    """A login that is taken, with the person's place in one course run."""

    person: PersonLine
    is_ended: bool
    is_elsewhere: bool
    """Whether the person takes part, or took part, in another course run."""
    enrolment: EnrolmentLine | None
    has_left: bool


def find_accounts(
    session: Session, *, run_id: str, logins: Iterable[str]
) -> dict[str, AccountLine]:
    """The accounts of these logins, by login; also those that have ended."""
    wanted = list(logins)
    found: dict[str, AccountLine] = {}
    for some in split_into_batches(wanted):
        found |= _find_account_batch(session, run_id, some)
    return found


def _find_account_batch(
    session: Session, run_id: str, logins: Sequence[str]
) -> dict[str, AccountLine]:
    # Two plain queries by index: a join of both tables is slow where they have just grown.
    people = select(*PERSON_COLUMNS, PersonRow.ended_at).where(PersonRow.login.in_(logins))
    found = [(to_line(PersonLine, row[:-1]), row[-1]) for row in session.execute(people)]
    here, elsewhere = _find_enrolments(session, run_id, [person.id for person, _ in found])
    accounts = {}
    for person, ended_at in found:
        place, has_left = here.get(person.id, (None, False))
        accounts[person.login] = AccountLine(
            person, ended_at is not None, person.id in elsewhere, place, has_left
        )
    return accounts


def _find_enrolments(
    session: Session, run_id: str, person_ids: list[str]
) -> tuple[dict[str, tuple[EnrolmentLine, bool]], set[str]]:
    """Places in this run, each with whether the person left, and who has one in another run."""
    statement = select(
        EnrolmentRow.id,
        EnrolmentRow.run_id,
        EnrolmentRow.person_id,
        EnrolmentRow.role,
        EnrolmentRow.section,
        EnrolmentRow.left_at,
    ).where(EnrolmentRow.person_id.in_(person_ids))
    here, elsewhere = {}, set()
    for enrolment_id, run, person_id, role, section, left_at in session.execute(statement):
        if run == run_id:
            line = EnrolmentLine(enrolment_id, run, person_id, Role(role), section)
            here[person_id] = line, left_at is not None
        else:
            elsewhere.add(person_id)
    return here, elsewhere


def list_logins(session: Session) -> list[str]:
    """All logins that were ever given."""
    return list(session.scalars(select(PersonRow.login)))


def count_members(session: Session) -> dict[tuple[str, Role], int]:
    """How many take part in each course run, by role."""
    statement = (
        select(EnrolmentRow.run_id, EnrolmentRow.role, func.count())
        .where(EnrolmentRow.left_at.is_(None))
        .group_by(EnrolmentRow.run_id, EnrolmentRow.role)
    )
    return {(row[0], Role(row[1])): row[2] for row in session.execute(statement)}


def change_people(session: Session, people: Iterable[PersonLine]) -> None:
    """Give many people the names and addresses of these lines."""
    rows = [{"id": each.id, "name": each.name, "email": each.email} for each in people]
    if rows:
        session.execute(update(PersonRow), rows)


def change_enrolments(
    session: Session, enrolments: Iterable[EnrolmentLine], *, left_at: datetime | None
) -> None:
    """Give many places the roles and sections of these lines, and note who left or came back."""
    rows = [
        {"id": each.id, "role": each.role.value, "section": each.section, "left_at": left_at}
        for each in enrolments
    ]
    if rows:
        session.execute(update(EnrolmentRow), rows)


def update_planner_statistics(session: Session) -> None:
    """Let PostgreSQL count again after many rows came at once.

    Until it does so by itself it takes the tables for small and reads them whole for every query.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("ANALYZE people, enrolments"))


@dataclass(frozen=True, slots=True)
class RosterEntry:
    """Somebody who takes part."""

    login: str
    name: str
    email: str | None
    role: Role
    section: str
    joined_at: datetime


@dataclass(frozen=True, slots=True)
class RosterFilter:
    """Whom somebody looks for; what is None or empty is not asked for."""

    text: str = ""
    """Part of a login or a name, whatever its capital letters."""
    role: Role | None = None
    section: str | None = None
    """The section itself; the empty one is that of those who have none."""

    @property
    def is_everybody(self) -> bool:
        """Whether nobody is left out."""
        return not self.text and self.role is None and self.section is None


def list_roster(
    session: Session, *, run_id: str, wanted: RosterFilter, after: str | None, limit: int
) -> list[RosterEntry]:
    """Those who take part and are looked for, by login; `after` is the login of the last seen."""
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
        .where(*_build_conditions(run_id, wanted))
        .order_by(EnrolmentRow.login)
        .limit(limit)
    )
    if after is not None:
        statement = statement.where(EnrolmentRow.login > after)
    return [
        RosterEntry(row.login, row.name, row.email, Role(row.role), row.section, row.joined_at)
        for row in session.execute(statement)
    ]


def count_roster(session: Session, *, run_id: str, wanted: RosterFilter) -> dict[Role, int]:
    """How many of those who are looked for take part, by role; roles without anybody included."""
    statement = (
        select(EnrolmentRow.role, func.count())
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(*_build_conditions(run_id, wanted))
        .group_by(EnrolmentRow.role)
    )
    found = {Role(row[0]): row[1] for row in session.execute(statement)}
    return {role: found.get(role, 0) for role in Role}


def list_sections(session: Session, *, run_id: str) -> list[str]:
    """All sections that somebody is in; the empty one where somebody is in none."""
    statement = (
        select(EnrolmentRow.section)
        .where(EnrolmentRow.run_id == run_id, EnrolmentRow.left_at.is_(None))
        .distinct()
        .order_by(EnrolmentRow.section)
    )
    return list(session.scalars(statement))


def find_joined_at(session: Session, *, enrolment_id: str) -> datetime | None:
    """When somebody joined."""
    return session.scalar(select(EnrolmentRow.joined_at).where(EnrolmentRow.id == enrolment_id))


def find_names_by_enrolment(
    session: Session, *, enrolment_ids: Iterable[str]
) -> dict[str, tuple[str, str]]:
    """Login and name of whoever these places belong to, also of those who left."""
    wanted = sorted(set(enrolment_ids))
    found: dict[str, tuple[str, str]] = {}
    for some in split_into_batches(wanted):
        statement = (
            select(EnrolmentRow.id, EnrolmentRow.login, PersonRow.name)
            .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
            .where(EnrolmentRow.id.in_(some))
        )
        found |= {row.id: (row.login, row.name) for row in session.execute(statement)}
    return found


def _build_conditions(run_id: str, wanted: RosterFilter) -> list[ColumnElement[bool]]:
    conditions = [EnrolmentRow.run_id == run_id, EnrolmentRow.left_at.is_(None)]
    if wanted.role is not None:
        conditions.append(EnrolmentRow.role == wanted.role.value)
    if wanted.section is not None:
        conditions.append(EnrolmentRow.section == wanted.section)
    if wanted.text:
        conditions.append(_contains_text(wanted.text))
    return conditions


def _contains_text(text: str) -> ColumnElement[bool]:
    # SQLite knows the small letters of ASCII alone, so that others are looked for in each spelling.
    spellings = sorted({text, text.lower(), text.upper(), text.title()})
    return or_(
        *(
            column.icontains(each, autoescape=True)
            for each in spellings
            for column in (EnrolmentRow.login, PersonRow.name)
        )
    )
