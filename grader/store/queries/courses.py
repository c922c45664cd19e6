"""Courses, their runs, and who takes part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Select, and_, bindparam, insert, or_, select, update

from grader.domain.roles import Role
from grader.errors import NotFound
from grader.store.compiled import find_row, list_rows
from grader.store.database import Session
from grader.store.keys import get_dialect, list_by_keys, make_key_table, match_keys
from grader.store.rows import split_into_batches, to_line
from grader.store.sealing import get_sealing_keys, name_place
from grader.store.tables.people import CourseRow, EnrolmentRow, PersonRow, RunRow


@dataclass(frozen=True, slots=True)
class RunLine:
    """A course run, without its secret."""

    id: str
    course_id: str
    title: str
    time_zone: str


_RUN = (RunRow.id, RunRow.course_id, RunRow.title, RunRow.time_zone)


def add_course(session: Session, *, course_id: str, title: str, at: datetime) -> None:
    """Add a course."""
    session.execute(insert(CourseRow).values(id=course_id, title=title, made_at=at))


def has_course(session: Session, *, course_id: str) -> bool:
    """Whether there is a course of this name."""
    return session.scalar(select(CourseRow.id).where(CourseRow.id == course_id)) is not None


def add_run(session: Session, run: RunLine, *, secret: bytes, at: datetime) -> None:
    """Add a course run; its secret is sealed if there is a key."""
    sealed = get_sealing_keys(session).seal(secret, place=name_place("runs", run.id, "secret"))
    session.execute(
        insert(RunRow).values(
            id=run.id,
            course_id=run.course_id,
            title=run.title,
            time_zone=run.time_zone,
            secret=sealed,
            made_at=at,
        )
    )


# Asked with nearly every request, so that it is put together once.
_RUN_BY_ID = select(*_RUN).where(RunRow.id == bindparam("run_id"))


def find_run(session: Session, *, run_id: str) -> RunLine | None:
    """The course run of this name."""
    row = find_row(session, _RUN_BY_ID, {"run_id": run_id})
    return to_line(RunLine, row) if row else None


def get_run(session: Session, *, run_id: str) -> RunLine:
    """The course run of this name."""
    run = find_run(session, run_id=run_id)
    if run is None:
        raise NotFound
    return run


def list_runs(session: Session) -> list[RunLine]:
    """All course runs, the newest first."""
    statement = select(*_RUN).order_by(RunRow.made_at.desc(), RunRow.id)
    return [to_line(RunLine, row) for row in session.execute(statement)]


def get_secret(session: Session, *, run_id: str) -> bytes:
    """The secret that all draws of a course run come from."""
    stored = session.scalar(select(RunRow.secret).where(RunRow.id == run_id))
    if stored is None:
        raise NotFound
    return get_sealing_keys(session).open(stored, place=name_place("runs", run_id, "secret"))


class EnrolmentLine(NamedTuple):
    """A person's place in a course run."""

    id: str
    run_id: str
    person_id: str
    role: Role
    section: str


_ENROLMENT: tuple[Any, ...] = (
    EnrolmentRow.id,
    EnrolmentRow.run_id,
    EnrolmentRow.person_id,
    EnrolmentRow.role,
    EnrolmentRow.section,
)


def _to_enrolment(row: tuple[str, str, str, str, str]) -> EnrolmentLine:
    enrolment_id, run_id, person_id, role, section = row
    return EnrolmentLine(enrolment_id, run_id, person_id, Role(role), section)


def find_enrolments(
    session: Session, *, places: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], EnrolmentLine]:
    """The places of people in course runs, by run and person; there is none of who has left."""
    statement = _select_enrolments(get_dialect(session))
    rows = list_by_keys(session, statement, places)
    lines = (_to_enrolment((row[0], row[1], row[2], row[3], row[4])) for row in rows)
    return {(each.run_id, each.person_id): each for each in lines}


@cache
def _select_enrolments(dialect: str) -> Select[Any]:
    keys = make_key_table(dialect, "run_id", "person_id")
    return (
        select(*_ENROLMENT)
        .join(keys, match_keys(keys, EnrolmentRow))
        .where(EnrolmentRow.left_at.is_(None))
    )


_PLACE = (
    select(*_RUN, *_ENROLMENT, EnrolmentRow.left_at.is_not(None))
    .outerjoin(
        EnrolmentRow,
        and_(
            EnrolmentRow.run_id == RunRow.id,
            EnrolmentRow.person_id == bindparam("person_id"),
        ),
    )
    .where(RunRow.id == bindparam("run_id"))
)


def find_place(
    session: Session, *, run_id: str, person_id: str | None
) -> tuple[RunLine, EnrolmentLine | None, bool] | None:
    """A course run, a person's place there if there is one, and whether the person has left it.

    None for an unknown run.
    """
    parameters = {"run_id": run_id, "person_id": person_id}
    row = find_row(session, _PLACE, parameters)
    if row is None:
        return None
    run, place, has_left = row[: len(_RUN)], row[len(_RUN) : -1], row[-1]
    return RunLine(*run), None if place[0] is None else _to_enrolment(place), bool(has_left)


_OWN_ENROLMENTS = (
    select(*_ENROLMENT, *_RUN)
    .join(RunRow, RunRow.id == EnrolmentRow.run_id)
    .where(EnrolmentRow.person_id == bindparam("person_id"), EnrolmentRow.left_at.is_(None))
    .order_by(RunRow.made_at.desc(), RunRow.id)
)


def list_enrolments(session: Session, *, person_id: str) -> list[tuple[EnrolmentLine, RunLine]]:
    """Where a person takes part."""
    rows = list_rows(session, _OWN_ENROLMENTS, {"person_id": person_id})
    return [
        (_to_enrolment((row[0], row[1], row[2], row[3], row[4])), RunLine(*row[5:])) for row in rows
    ]


def find_role(session: Session, *, enrolment_id: str) -> Role | None:
    """The role of an enrolment, also of somebody who has left; None if there is none."""
    role = session.scalar(select(EnrolmentRow.role).where(EnrolmentRow.id == enrolment_id))
    return Role(role) if role is not None else None


@dataclass(frozen=True, slots=True)
class MemberLine:
    """Somebody who takes part, or did, with the person behind it."""

    enrolment: EnrolmentLine
    login: str
    name: str
    email: str | None
    left_at: datetime | None


_MEMBER = (*_ENROLMENT, PersonRow.login, PersonRow.name, PersonRow.email, EnrolmentRow.left_at)


def list_members(
    session: Session,
    *,
    run_id: str,
    role: Role | None = None,
    after: str | None = None,
    limit: int | None = None,
    with_left: bool = False,
) -> list[MemberLine]:
    """Who takes part, by login; `after` is the login of the last seen."""
    statement = (
        select(*_MEMBER)
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(EnrolmentRow.run_id == run_id)
        .order_by(EnrolmentRow.login)
    )
    if not with_left:
        statement = statement.where(EnrolmentRow.left_at.is_(None))
    if role is not None:
        statement = statement.where(EnrolmentRow.role == role.value)
    if after is not None:
        statement = statement.where(EnrolmentRow.login > after)
    if limit is not None:
        statement = statement.limit(limit)
    return [
        MemberLine(
            _to_enrolment((row[0], row[1], row[2], row[3], row[4])), row[5], row[6], row[7], row[8]
        )
        for row in session.execute(statement)
    ]


def find_member(session: Session, *, run_id: str, login: str) -> MemberLine | None:
    """Somebody who takes part, by login or by the enrolment's id."""
    statement = (
        select(*_MEMBER)
        .join(PersonRow, PersonRow.id == EnrolmentRow.person_id)
        .where(
            EnrolmentRow.run_id == run_id,
            EnrolmentRow.left_at.is_(None),
            or_(EnrolmentRow.login == login, EnrolmentRow.id == login),
        )
    )
    row = session.execute(statement).first()
    if row is None:
        return None
    return MemberLine(
        _to_enrolment((row[0], row[1], row[2], row[3], row[4])), row[5], row[6], row[7], row[8]
    )


def get_member(session: Session, *, run_id: str, login: str) -> MemberLine:
    """Somebody who takes part, by login or by the enrolment's id."""
    member = find_member(session, run_id=run_id, login=login)
    if member is None:
        raise NotFound
    return member


def add_enrolments(session: Session, enrolments: Iterable[EnrolmentLine], *, at: datetime) -> None:
    """Add many people to a course run."""
    lines = list(enrolments)
    logins = _find_logins(session, [each.person_id for each in lines])
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
        session.execute(insert(EnrolmentRow), rows)


def _find_logins(session: Session, person_ids: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for some in split_into_batches(person_ids):
        statement = select(PersonRow.id, PersonRow.login).where(PersonRow.id.in_(some))
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
        update(EnrolmentRow)
        .where(EnrolmentRow.id == enrolment_id)
        .values(role=role.value, section=section, left_at=left_at)
    )
