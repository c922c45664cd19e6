"""Courses, their runs, and who takes part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, insert, or_, select, update

from grader.domain.roles import Role
from grader.errors import NotFound
from grader.store.batches import portions
from grader.store.database import Session
from grader.store.lines import as_line
from grader.store.tables import Course, Enrolment, Person, Run


@dataclass(frozen=True, slots=True)
class RunLine:
    """A course run, without its secret."""

    id: str
    course_id: str
    title: str
    time_zone: str


_RUN = (Run.id, Run.course_id, Run.title, Run.time_zone)


def add_course(session: Session, *, course_id: str, title: str, at: datetime) -> None:
    """Add a course."""
    session.execute(insert(Course).values(id=course_id, title=title, made_at=at))


def has_course(session: Session, *, course_id: str) -> bool:
    """Whether there is a course of this name."""
    return session.scalar(select(Course.id).where(Course.id == course_id)) is not None


def add_run(session: Session, run: RunLine, *, secret: bytes, at: datetime) -> None:
    """Add a course run."""
    session.execute(
        insert(Run).values(
            id=run.id,
            course_id=run.course_id,
            title=run.title,
            time_zone=run.time_zone,
            secret=secret,
            made_at=at,
        )
    )


# Asked with nearly every request, so that it is put together once.
_RUN_BY_ID = select(*_RUN).where(Run.id == bindparam("run_id"))


def find_run(session: Session, *, run_id: str) -> RunLine | None:
    """The course run of this name."""
    row = session.execute(_RUN_BY_ID, {"run_id": run_id}).one_or_none()
    return as_line(RunLine, row) if row else None


def get_run(session: Session, *, run_id: str) -> RunLine:
    """The course run of this name."""
    run = find_run(session, run_id=run_id)
    if run is None:
        raise NotFound
    return run


def list_runs(session: Session) -> list[RunLine]:
    """All course runs, the newest first."""
    statement = select(*_RUN).order_by(Run.made_at.desc(), Run.id)
    return [as_line(RunLine, row) for row in session.execute(statement)]


def get_secret(session: Session, *, run_id: str) -> bytes:
    """The secret that all draws of a course run come from."""
    secret = session.scalar(select(Run.secret).where(Run.id == run_id))
    if secret is None:
        raise NotFound
    return secret


@dataclass(frozen=True, slots=True)
class EnrolmentLine:
    """A person's place in a course run."""

    id: str
    run_id: str
    person_id: str
    role: Role
    section: str


_ENROLMENT = (
    Enrolment.id,
    Enrolment.run_id,
    Enrolment.person_id,
    Enrolment.role,
    Enrolment.section,
)


def _enrolment(row: tuple[str, str, str, str, str]) -> EnrolmentLine:
    enrolment_id, run_id, person_id, role, section = row
    return EnrolmentLine(enrolment_id, run_id, person_id, Role(role), section)


_PLACE = select(*_ENROLMENT).where(
    Enrolment.run_id == bindparam("run_id"),
    Enrolment.person_id == bindparam("person_id"),
    Enrolment.left_at.is_(None),
)


def find_enrolment(session: Session, *, run_id: str, person_id: str) -> EnrolmentLine | None:
    """A person's place in a course run, if the person has not left."""
    row = session.execute(_PLACE, {"run_id": run_id, "person_id": person_id}).one_or_none()
    return _enrolment((row[0], row[1], row[2], row[3], row[4])) if row else None


def list_enrolments(session: Session, *, person_id: str) -> list[tuple[EnrolmentLine, RunLine]]:
    """Where a person takes part."""
    statement = (
        select(*_ENROLMENT, *_RUN)
        .join(Run, Run.id == Enrolment.run_id)
        .where(Enrolment.person_id == person_id, Enrolment.left_at.is_(None))
        .order_by(Run.made_at.desc(), Run.id)
    )
    return [
        (_enrolment((row[0], row[1], row[2], row[3], row[4])), RunLine(*tuple(row)[5:]))
        for row in session.execute(statement)
    ]


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody who takes part, or did, with the person behind it."""

    enrolment: EnrolmentLine
    login: str
    name: str
    email: str | None
    left_at: datetime | None


_MEMBER = (*_ENROLMENT, Person.login, Person.name, Person.email, Enrolment.left_at)


def list_members(
    session: Session,
    *,
    run_id: str,
    role: Role | None = None,
    after: str | None = None,
    limit: int | None = None,
    with_left: bool = False,
) -> list[Member]:
    """Who takes part, by login; `after` is the login of the last seen."""
    statement = (
        select(*_MEMBER)
        .join(Person, Person.id == Enrolment.person_id)
        .where(Enrolment.run_id == run_id)
        .order_by(Enrolment.login)
    )
    if not with_left:
        statement = statement.where(Enrolment.left_at.is_(None))
    if role is not None:
        statement = statement.where(Enrolment.role == role.value)
    if after is not None:
        statement = statement.where(Enrolment.login > after)
    if limit is not None:
        statement = statement.limit(limit)
    return [
        Member(_enrolment((row[0], row[1], row[2], row[3], row[4])), row[5], row[6], row[7], row[8])
        for row in session.execute(statement)
    ]


def find_member(session: Session, *, run_id: str, login: str) -> Member | None:
    """Somebody who takes part, by login or by the enrolment's id."""
    statement = (
        select(*_MEMBER)
        .join(Person, Person.id == Enrolment.person_id)
        .where(
            Enrolment.run_id == run_id,
            Enrolment.left_at.is_(None),
            or_(Enrolment.login == login, Enrolment.id == login),
        )
    )
    row = session.execute(statement).first()
    if row is None:
        return None
    return Member(
        _enrolment((row[0], row[1], row[2], row[3], row[4])), row[5], row[6], row[7], row[8]
    )


def get_member(session: Session, *, run_id: str, login: str) -> Member:
    """Somebody who takes part, by login or by the enrolment's id."""
    member = find_member(session, run_id=run_id, login=login)
    if member is None:
        raise NotFound
    return member


def add_enrolments(session: Session, enrolments: Iterable[EnrolmentLine], *, at: datetime) -> None:
    """Add many people to a course run."""
    lines = list(enrolments)
    logins = _logins(session, [each.person_id for each in lines])
    rows = [
        {
            "id": each.id,
            "run_id": each.run_id,
            "person_id": each.person_id,
            "login": logins[each.person_id],
            "role": each.role.value,
            "section": each.section,
            "joined_at": at,
        }
        for each in lines
    ]
    if rows:
        session.execute(insert(Enrolment), rows)


def _logins(session: Session, person_ids: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for some in portions(person_ids):
        statement = select(Person.id, Person.login).where(Person.id.in_(some))
        found |= {row[0]: row[1] for row in session.execute(statement)}
    return found


def change_enrolment(
    session: Session,
    *,
    enrolment_id: str,
    role: Role,
    section: str,
    left_at: datetime | None,
) -> None:
    """Change somebody's role or section, or note that somebody left or came back."""
    session.execute(
        update(Enrolment)
        .where(Enrolment.id == enrolment_id)
        .values(role=role.value, section=section, left_at=left_at)
    )
