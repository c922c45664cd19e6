"""People and their passwords."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, insert, select, update

from grader.errors import NotFound
from grader.store.database import Session
from grader.store.ids import make_id
from grader.store.rows import split_into_batches, to_line
from grader.store.tables import PersonRow


@dataclass(frozen=True, slots=True)
class PersonLine:
    """A person."""

    id: str
    login: str
    name: str
    email: str | None
    is_operator: bool


#: The columns of a `PersonLine`.
PERSON_COLUMNS = (
    PersonRow.id,
    PersonRow.login,
    PersonRow.name,
    PersonRow.email,
    PersonRow.is_operator,
)


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
    rows = [
        {
            "id": each.id,
            "login": each.login,
            "name": each.name,
            "email": each.email,
            "is_operator": each.is_operator,
            "made_at": at,
        }
        for each in people
    ]
    if rows:
        session.execute(insert(PersonRow), rows)


def find_person(session: Session, *, login: str) -> PersonLine | None:
    """The person of this login who has not ended."""
    statement = select(*PERSON_COLUMNS).where(
        PersonRow.login == login, PersonRow.ended_at.is_(None)
    )
    row = session.execute(statement).one_or_none()
    return to_line(PersonLine, row) if row else None


def get_person(session: Session, *, person_id: str) -> PersonLine:
    """The person of this id."""
    row = session.execute(select(*PERSON_COLUMNS).where(PersonRow.id == person_id)).one_or_none()
    if row is None:
        raise NotFound
    return to_line(PersonLine, row)


def find_people(session: Session, *, logins: Iterable[str]) -> dict[str, PersonLine]:
    """The people of these logins, by login."""
    wanted = list(logins)
    found: dict[str, PersonLine] = {}
    for some in split_into_batches(wanted):
        statement = select(*PERSON_COLUMNS).where(PersonRow.login.in_(some))
        found |= {row.login: to_line(PersonLine, row) for row in session.execute(statement)}
    return found


def find_names(session: Session, *, person_ids: Iterable[str]) -> dict[str, str]:
    """What people are called, by id; whoever is no person, such as a token, is left out."""
    statement = select(PersonRow.id, PersonRow.name).where(
        PersonRow.id.in_(sorted(set(person_ids)))
    )
    return {row.id: row.name for row in session.execute(statement)}


def list_people(session: Session) -> list[PersonLine]:
    """Everybody, by login."""
    statement = (
        select(*PERSON_COLUMNS).where(PersonRow.ended_at.is_(None)).order_by(PersonRow.login)
    )
    return [to_line(PersonLine, row) for row in session.execute(statement)]


def has_operator(session: Session) -> bool:
    """Whether anybody operates the service."""
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
    """Change what is said; what is None stays."""
    changes = {
        "name": name, "email": email, "is_operator": is_operator, "ended_at": ended_at,
    }  # fmt: skip
    said = {key: value for key, value in changes.items() if value is not None}
    if said:
        session.execute(update(PersonRow).where(PersonRow.id == person_id).values(**said))


# Passwords


def set_password_hash(session: Session, *, person_id: str, password_hash: str | None) -> None:
    """Set or take away a password."""
    session.execute(
        update(PersonRow).where(PersonRow.id == person_id).values(password_hash=password_hash)
    )


def find_password_hash(session: Session, *, login: str) -> tuple[str, str] | None:
    """The id and the password's hash of a person who may sign in by password."""
    statement = select(PersonRow.id, PersonRow.password_hash).where(
        PersonRow.login == login, PersonRow.ended_at.is_(None), PersonRow.password_hash.is_not(None)
    )
    row = session.execute(statement).one_or_none()
    return (row[0], row[1]) if row and row[1] else None
