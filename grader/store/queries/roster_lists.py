"""Who takes part, as staff look for them: by text, role and section, a page at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, or_, select

from grader.domain.roles import Role
from grader.store.batches import portions
from grader.store.database import Session
from grader.store.tables import Enrolment, Person


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
class Wanted:
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
    session: Session, *, run_id: str, wanted: Wanted, after: str | None, limit: int
) -> list[RosterEntry]:
    """Those who take part and are looked for, by login; `after` is the login of the last seen."""
    statement = (
        select(
            Enrolment.login, Person.name, Person.email, Enrolment.role, Enrolment.section,
            Enrolment.joined_at,
        )
        .join(Person, Person.id == Enrolment.person_id)
        .where(*_conditions(run_id, wanted))
        .order_by(Enrolment.login)
        .limit(limit)
    )  # fmt: skip
    if after is not None:
        statement = statement.where(Enrolment.login > after)
    return [
        RosterEntry(row.login, row.name, row.email, Role(row.role), row.section, row.joined_at)
        for row in session.execute(statement)
    ]


def count_roster(session: Session, *, run_id: str, wanted: Wanted) -> dict[Role, int]:
    """How many of those who are looked for take part, by role; roles without anybody included."""
    statement = (
        select(Enrolment.role, func.count())
        .join(Person, Person.id == Enrolment.person_id)
        .where(*_conditions(run_id, wanted))
        .group_by(Enrolment.role)
    )
    found = {Role(row[0]): row[1] for row in session.execute(statement)}
    return {role: found.get(role, 0) for role in Role}


def list_sections(session: Session, *, run_id: str) -> list[str]:
    """All sections that somebody is in; the empty one where somebody is in none."""
    statement = (
        select(Enrolment.section)
        .where(Enrolment.run_id == run_id, Enrolment.left_at.is_(None))
        .distinct()
        .order_by(Enrolment.section)
    )
    return list(session.scalars(statement))


def find_joined(session: Session, *, enrolment_id: str) -> datetime | None:
    """When somebody joined."""
    return session.scalar(select(Enrolment.joined_at).where(Enrolment.id == enrolment_id))


def find_called(session: Session, *, enrolment_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Login and name of whoever these places belong to, also of those who left."""
    wanted = sorted(set(enrolment_ids))
    found: dict[str, tuple[str, str]] = {}
    for some in portions(wanted):
        statement = (
            select(Enrolment.id, Enrolment.login, Person.name)
            .join(Person, Person.id == Enrolment.person_id)
            .where(Enrolment.id.in_(some))
        )
        found |= {row.id: (row.login, row.name) for row in session.execute(statement)}
    return found


def _conditions(run_id: str, wanted: Wanted) -> list[ColumnElement[bool]]:
    conditions = [Enrolment.run_id == run_id, Enrolment.left_at.is_(None)]
    if wanted.role is not None:
        conditions.append(Enrolment.role == wanted.role.value)
    if wanted.section is not None:
        conditions.append(Enrolment.section == wanted.section)
    if wanted.text:
        conditions.append(_holds(wanted.text))
    return conditions


def _holds(text: str) -> ColumnElement[bool]:
    # SQLite knows the small letters of ASCII alone, so that others are looked for in each spelling.
    spellings = sorted({text, text.lower(), text.upper(), text.title()})
    return or_(
        *(
            column.icontains(each, autoescape=True)
            for each in spellings
            for column in (Enrolment.login, Person.name)
        )
    )
