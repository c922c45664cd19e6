"""Accounts and places of many people at once, as rosters need them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select, text, update

from grader.domain.roles import Role
from grader.store.batches import portions
from grader.store.database import Session
from grader.store.lines import as_line
from grader.store.queries.courses import EnrolmentLine
from grader.store.queries.people import PERSON, PersonLine
from grader.store.tables import Enrolment, Person


@dataclass(frozen=True, slots=True)
class Account:
    """A login that is taken, with the person's place in one course run."""

    person: PersonLine
    is_ended: bool
    is_elsewhere: bool
    """Whether the person takes part, or took part, in another course run."""
    enrolment: EnrolmentLine | None
    has_left: bool


def find_accounts(session: Session, *, run_id: str, logins: Iterable[str]) -> dict[str, Account]:
    """The accounts of these logins, by login; also those that have ended."""
    wanted = list(logins)
    found: dict[str, Account] = {}
    for some in portions(wanted):
        found |= _find_some(session, run_id, some)
    return found


def _find_some(session: Session, run_id: str, logins: Sequence[str]) -> dict[str, Account]:
    # Two plain queries by index: a join of both tables is slow where they have just grown.
    people = select(*PERSON, Person.ended_at).where(Person.login.in_(logins))
    found = [(as_line(PersonLine, row[:-1]), row[-1]) for row in session.execute(people)]
    here, elsewhere = _find_places(session, run_id, [person.id for person, _ in found])
    accounts = {}
    for person, ended_at in found:
        place, has_left = here.get(person.id, (None, False))
        accounts[person.login] = Account(
            person, ended_at is not None, person.id in elsewhere, place, has_left
        )
    return accounts


def _find_places(
    session: Session, run_id: str, person_ids: list[str]
) -> tuple[dict[str, tuple[EnrolmentLine, bool]], set[str]]:
    """Places in this run, each with whether the person left, and who has one in another run."""
    statement = select(
        Enrolment.id, Enrolment.run_id, Enrolment.person_id, Enrolment.role, Enrolment.section,
        Enrolment.left_at,
    ).where(Enrolment.person_id.in_(person_ids))  # fmt: skip
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
    return list(session.scalars(select(Person.login)))


def count_members(session: Session) -> dict[tuple[str, Role], int]:
    """How many take part in each course run, by role."""
    statement = (
        select(Enrolment.run_id, Enrolment.role, func.count())
        .where(Enrolment.left_at.is_(None))
        .group_by(Enrolment.run_id, Enrolment.role)
    )
    return {(row[0], Role(row[1])): row[2] for row in session.execute(statement)}


def change_people(session: Session, people: Iterable[PersonLine]) -> None:
    """Give many people the names and addresses of these lines."""
    rows = [{"id": each.id, "name": each.name, "email": each.email} for each in people]
    if rows:
        session.execute(update(Person), rows)


def change_enrolments(
    session: Session, enrolments: Iterable[EnrolmentLine], *, left_at: datetime | None
) -> None:
    """Give many places the roles and sections of these lines, and note who left or came back."""
    rows = [
        {"id": each.id, "role": each.role.value, "section": each.section, "left_at": left_at}
        for each in enrolments
    ]
    if rows:
        session.execute(update(Enrolment), rows)


def note_growth(session: Session) -> None:
    """Let PostgreSQL count again after many rows came at once.

    Until it does so by itself it takes the tables for small and reads them whole for every query.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("ANALYZE people, enrolments"))
