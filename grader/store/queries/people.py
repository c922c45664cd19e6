"""People and their passwords."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, insert, select, update

from grader.errors import NotFound
from grader.store.database import Session
from grader.store.rows import list_columns, make_id, split_into_batches, to_line
from grader.store.tables.people import PersonRow


class PersonLine(NamedTuple):
    """A person."""

    id: str
    login: str
    name: str
    email: str | None
    is_operator: bool


#: The columns of a `PersonLine`.
PERSON_COLUMNS = list_columns(PersonRow, PersonLine)


def add_person(
    session: Session,
    *,
    login: str,
    name: str,
    email: str | None,
    at: datetime,
    is_operator: bool = False,
) -> PersonLine:
    """Add a person."""
    line = PersonLine(make_id("per"), login, name, email, is_operator)
    add_people(session, [line], at=at)
    return line


def add_people(session: Session, people: Iterable[PersonLine], *, at: datetime) -> None:
    """Add many people at once."""
    rows = [each._asdict() | {"made_at": at} for each in people]
    if rows:
        session.execute(insert(PersonRow), rows)


def find_person(session: Session, *, login: str) -> PersonLine | None:
    """The active person with this login."""
    statement = select(*PERSON_COLUMNS).where(
        PersonRow.login == login, PersonRow.ended_at.is_(None)
    )
    row = session.execute(statement).one_or_none()
    return to_line(PersonLine, row) if row else None


def get_person(session: Session, *, person_id: str) -> PersonLine:
    """The person with this id."""
    row = session.execute(select(*PERSON_COLUMNS).where(PersonRow.id == person_id)).one_or_none()
    if row is None:
        raise NotFound
    return to_line(PersonLine, row)


def find_people(session: Session, *, logins: Iterable[str]) -> dict[str, PersonLine]:
    """The people with these logins, by login."""
    found: dict[str, PersonLine] = {}
    for batch in split_into_batches(list(logins)):
        statement = select(*PERSON_COLUMNS).where(PersonRow.login.in_(batch))
        found |= {row.login: to_line(PersonLine, row) for row in session.execute(statement)}
    return found


def find_names(session: Session, *, person_ids: Iterable[str]) -> dict[str, str]:
    """The names of people, by id; ids of others, such as tokens, are ignored."""
    statement = select(PersonRow.id, PersonRow.name).where(
        PersonRow.id.in_(sorted(set(person_ids)))
    )
    return {row.id: row.name for row in session.execute(statement)}


def list_people(session: Session) -> list[PersonLine]:
    """All active people, by login."""
    statement = (
        select(*PERSON_COLUMNS).where(PersonRow.ended_at.is_(None)).order_by(PersonRow.login)
    )
    return [to_line(PersonLine, row) for row in session.execute(statement)]


def has_operator(session: Session) -> bool:
    """Whether there is an active operator."""
    statement = select(func.count()).where(PersonRow.is_operator, PersonRow.ended_at.is_(None))
    return bool(session.scalar(statement))


def change_person(
    session: Session,
    *,
    person_id: str,
    name: str | None = None,
    email: str | None = None,
    is_operator: bool | None = None,
    ended_at: datetime | None = None,
) -> None:
    """Change a person; arguments that are None change nothing."""
    values = {"name": name, "email": email, "is_operator": is_operator, "ended_at": ended_at}
    changes = {key: value for key, value in values.items() if value is not None}
    if changes:
        session.execute(update(PersonRow).where(PersonRow.id == person_id).values(**changes))


# Passwords


def set_password_hash(session: Session, *, person_id: str, password_hash: str | None) -> None:
    """Set a password, or remove it with None."""
    session.execute(
        update(PersonRow).where(PersonRow.id == person_id).values(password_hash=password_hash)
    )


def find_password_hash(session: Session, *, login: str) -> tuple[str, str] | None:
    """The id and password hash of an active person who has a password."""
    statement = select(PersonRow.id, PersonRow.password_hash).where(
        PersonRow.login == login, PersonRow.ended_at.is_(None), PersonRow.password_hash.is_not(None)
    )
    row = session.execute(statement).one_or_none()
    return (row[0], row[1]) if row and row[1] else None
