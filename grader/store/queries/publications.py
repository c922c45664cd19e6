"""Publications of assignments, and extensions for single students."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, func, insert, select

from grader.errors import NotFound
from grader.store.compiled import find_row
from grader.store.database import Session
from grader.store.keys import get_dialect, list_by_keys, make_key_table, match_keys
from grader.store.rows import get_table, list_columns, make_id, to_line
from grader.store.tables.publications import (
    ExtensionRow,
    PublicationPartRow,
    PublicationRow,
    RubricTextRow,
)
from grader.store.upserts import insert_missing


@dataclass(frozen=True, slots=True)
class PublicationLine:
    """A publication of an assignment; the newest one is in force."""

    id: str
    run_id: str
    assignment: str
    number: int
    opens_at: datetime | None
    due_at: datetime | None
    note: str
    by: str
    published_at: datetime


_PUBLICATION = list_columns(PublicationRow, PublicationLine)


# Nearly every request runs this statement, so it is built once.
_IN_FORCE = (
    select(*_PUBLICATION)
    .where(
        PublicationRow.run_id == bindparam("run_id"),
        PublicationRow.assignment == bindparam("assignment"),
    )
    .order_by(PublicationRow.number.desc())
    .limit(1)
)


def find_in_force(session: Session, *, run_id: str, assignment: str) -> PublicationLine | None:
    """The newest publication of an assignment."""
    parameters = {"run_id": run_id, "assignment": assignment}
    row = find_row(session, _IN_FORCE, parameters)
    return to_line(PublicationLine, row) if row else None


def get_publication(session: Session, *, publication_id: str) -> PublicationLine:
    """A publication by its id."""
    statement = select(*_PUBLICATION).where(PublicationRow.id == publication_id)
    row = session.execute(statement).one_or_none()
    if row is None:
        raise NotFound
    return to_line(PublicationLine, row)


def list_in_force(session: Session, *, run_id: str) -> list[PublicationLine]:
    """The newest publication of every assignment of a course run, by due date."""
    return list_in_force_of_runs(session, run_ids=[run_id]).get(run_id, [])


def list_in_force_of_runs(
    session: Session, *, run_ids: Iterable[str]
) -> dict[str, list[PublicationLine]]:
    """The same for many course runs; a run without publications is missing."""
    statement = _select_in_force(get_dialect(session))
    rows = list_by_keys(session, statement, ((each,) for each in run_ids))
    found: dict[str, list[PublicationLine]] = {}
    for row in rows:
        line = to_line(PublicationLine, row)
        found.setdefault(line.run_id, []).append(line)
    for lines in found.values():
        lines.sort(key=lambda each: (each.due_at is None, each.due_at, each.assignment))
    return found


@cache
def _select_in_force(dialect: str) -> Select[Any]:
    keys = make_key_table(dialect, "run_id")
    other = get_table(PublicationRow).alias("other")
    newest = (
        select(func.max(other.c.number))
        .where(
            other.c.run_id == PublicationRow.run_id,
            other.c.assignment == PublicationRow.assignment,
        )
        .correlate(PublicationRow)
        .scalar_subquery()
    )
    return (
        select(*_PUBLICATION)
        .join(keys, match_keys(keys, PublicationRow))
        .where(PublicationRow.number == newest)
    )


def list_publications(session: Session, *, run_id: str, assignment: str) -> list[PublicationLine]:
    """All publications of an assignment, newest first."""
    statement = (
        select(*_PUBLICATION)
        .where(PublicationRow.run_id == run_id, PublicationRow.assignment == assignment)
        .order_by(PublicationRow.number.desc())
    )
    return [to_line(PublicationLine, row) for row in session.execute(statement)]


@dataclass(frozen=True, slots=True)
class PublicationTexts:
    """The files of a publication: the assignment's, and those of its questions in order."""

    form: str
    rubrics: Mapping[str, str]


def get_texts(session: Session, *, publication_id: str) -> PublicationTexts:
    """The files of a publication."""
    form = session.scalar(select(PublicationRow.form).where(PublicationRow.id == publication_id))
    if form is None:
        raise NotFound
    statement = (
        select(PublicationPartRow.question, RubricTextRow.text)
        .join(RubricTextRow, RubricTextRow.version == PublicationPartRow.version)
        .where(PublicationPartRow.publication_id == publication_id)
        .order_by(PublicationPartRow.position)
    )
    return PublicationTexts(form, {row[0]: row[1] for row in session.execute(statement)})


def list_versions(session: Session, *, publication_ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """The rubric versions of publications: publication → question → version."""
    statement = (
        select(
            PublicationPartRow.publication_id,
            PublicationPartRow.question,
            PublicationPartRow.version,
        )
        .where(PublicationPartRow.publication_id.in_(list(publication_ids)))
        .order_by(PublicationPartRow.position)
    )
    found: dict[str, dict[str, str]] = {}
    for publication_id, question, version in session.execute(statement):
        found.setdefault(publication_id, {})[question] = version
    return found


def add_publication(
    session: Session, line: PublicationLine, *, form: str, rubrics: Mapping[str, tuple[str, str]]
) -> None:
    """Add a publication; `rubrics` gives the version and text of each question, in order."""
    texts = [{"version": version, "text": text} for version, text in rubrics.values()]
    insert_missing(session, RubricTextRow, texts, key=("version",))
    session.execute(insert(PublicationRow).values(**asdict(line), form=form))
    questions = [
        {"publication_id": line.id, "question": question, "position": position, "version": version}
        for position, (question, (version, _)) in enumerate(rubrics.items())
    ]
    session.execute(insert(PublicationPartRow), questions)


# Extensions


@dataclass(frozen=True, slots=True)
class ExtensionLine:
    """More time or more attempts for one student."""

    id: str
    enrolment_id: str
    assignment: str
    number: int
    due_at: datetime | None
    extra_attempts: int
    reason: str
    by: str
    at: datetime


_EXTENSION = list_columns(ExtensionRow, ExtensionLine)


def find_extensions(
    session: Session, *, pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], ExtensionLine]:
    """The newest extensions of (enrolment, assignment) pairs."""
    statement = _select_extensions(get_dialect(session))
    rows = list_by_keys(session, statement, pairs)
    lines = (to_line(ExtensionLine, row) for row in rows)
    # The newest of each pair comes last and replaces the earlier ones.
    return {(each.enrolment_id, each.assignment): each for each in lines}


@cache
def _select_extensions(dialect: str) -> Select[Any]:
    keys = make_key_table(dialect, "enrolment_id", "assignment")
    is_wanted = match_keys(keys, ExtensionRow)
    return select(*_EXTENSION).join(keys, is_wanted).order_by(ExtensionRow.number)


def list_extensions(session: Session, *, run_id: str, assignment: str) -> list[ExtensionLine]:
    """All extensions of an assignment, newest first."""
    statement = (
        select(*_EXTENSION)
        .where(ExtensionRow.run_id == run_id, ExtensionRow.assignment == assignment)
        .order_by(ExtensionRow.at.desc(), ExtensionRow.id.desc())
    )
    return [to_line(ExtensionLine, row) for row in session.execute(statement)]


def find_last_extended_due(session: Session, *, run_id: str, assignment: str) -> datetime | None:
    """The latest due date of all extensions."""
    return session.scalar(
        select(func.max(ExtensionRow.due_at)).where(
            ExtensionRow.run_id == run_id, ExtensionRow.assignment == assignment
        )
    )


def add_extension(
    session: Session,
    *,
    run_id: str,
    enrolment_id: str,
    assignment: str,
    due_at: datetime | None,
    extra_attempts: int,
    reason: str,
    by: str,
    at: datetime,
) -> ExtensionLine:
    """Add an extension, which replaces earlier ones."""
    earlier = session.scalar(
        select(func.max(ExtensionRow.number)).where(
            ExtensionRow.enrolment_id == enrolment_id, ExtensionRow.assignment == assignment
        )
    )
    line = ExtensionLine(
        make_id("ext"), enrolment_id, assignment, (earlier or 0) + 1, due_at, extra_attempts,
        reason, by, at,
    )  # fmt: skip
    session.execute(insert(ExtensionRow).values(**asdict(line), run_id=run_id))
    return line
