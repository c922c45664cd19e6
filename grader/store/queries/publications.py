"""What is in force: publications of assignments, and extensions for single students."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, func, insert, select

from grader.errors import NotFound
from grader.store.database import Session
from grader.store.ids import new_id
from grader.store.lines import as_line
from grader.store.tables import Extension, Publication, PublicationPart, RubricText
from grader.store.upserts import insert_missing


@dataclass(frozen=True, slots=True)
class PublicationLine:
    """An assignment as it is in force from some moment on."""

    id: str
    run_id: str
    assignment: str
    number: int
    opens_at: datetime | None
    due_at: datetime | None
    note: str
    by: str
    published_at: datetime


_PUBLICATION = (
    Publication.id,
    Publication.run_id,
    Publication.assignment,
    Publication.number,
    Publication.opens_at,
    Publication.due_at,
    Publication.note,
    Publication.by,
    Publication.published_at,
)


# Asked with nearly every request, so that it is put together once.
_IN_FORCE = (
    select(*_PUBLICATION)
    .where(
        Publication.run_id == bindparam("run_id"),
        Publication.assignment == bindparam("assignment"),
    )
    .order_by(Publication.number.desc())
    .limit(1)
)


def find_in_force(session: Session, *, run_id: str, assignment: str) -> PublicationLine | None:
    """The newest publication of an assignment."""
    asked = {"run_id": run_id, "assignment": assignment}
    row = session.execute(_IN_FORCE, asked).one_or_none()
    return as_line(PublicationLine, row) if row else None


def get_publication(session: Session, *, publication_id: str) -> PublicationLine:
    """A publication by its id."""
    statement = select(*_PUBLICATION).where(Publication.id == publication_id)
    row = session.execute(statement).one_or_none()
    if row is None:
        raise NotFound
    return as_line(PublicationLine, row)


def list_in_force(session: Session, *, run_id: str) -> list[PublicationLine]:
    """The newest publication of every assignment of a course run, by due date."""
    newest = (
        select(Publication.assignment, func.max(Publication.number).label("number"))
        .where(Publication.run_id == run_id)
        .group_by(Publication.assignment)
        .subquery()
    )
    statement = (
        select(*_PUBLICATION)
        .join(
            newest,
            (newest.c.assignment == Publication.assignment)
            & (newest.c.number == Publication.number),
        )
        .where(Publication.run_id == run_id)
    )
    lines = [as_line(PublicationLine, row) for row in session.execute(statement)]
    return sorted(lines, key=lambda each: (each.due_at is None, each.due_at, each.assignment))


def list_publications(session: Session, *, run_id: str, assignment: str) -> list[PublicationLine]:
    """All publications of an assignment, the newest first."""
    statement = (
        select(*_PUBLICATION)
        .where(Publication.run_id == run_id, Publication.assignment == assignment)
        .order_by(Publication.number.desc())
    )
    return [as_line(PublicationLine, row) for row in session.execute(statement)]


@dataclass(frozen=True, slots=True)
class Texts:
    """The files of a publication: the assignment's own and its questions', in order."""

    form: str
    rubrics: Mapping[str, str]


def get_texts(session: Session, *, publication_id: str) -> Texts:
    """The files of a publication."""
    form = session.scalar(select(Publication.form).where(Publication.id == publication_id))
    if form is None:
        raise NotFound
    statement = (
        select(PublicationPart.question, RubricText.text)
        .join(RubricText, RubricText.version == PublicationPart.version)
        .where(PublicationPart.publication_id == publication_id)
        .order_by(PublicationPart.position)
    )
    return Texts(form, {row[0]: row[1] for row in session.execute(statement)})


def list_versions(session: Session, *, publication_ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """The versions of the rubrics of publications: publication → question → version."""
    statement = (
        select(PublicationPart.publication_id, PublicationPart.question, PublicationPart.version)
        .where(PublicationPart.publication_id.in_(list(publication_ids)))
        .order_by(PublicationPart.position)
    )
    found: dict[str, dict[str, str]] = {}
    for publication_id, question, version in session.execute(statement):
        found.setdefault(publication_id, {})[question] = version
    return found


def add_publication(
    session: Session, line: PublicationLine, *, form: str, rubrics: Mapping[str, tuple[str, str]]
) -> None:
    """Put an assignment in force; `rubrics` gives version and text of each question, in order."""
    texts = [{"version": version, "text": text} for version, text in rubrics.values()]
    insert_missing(session, RubricText, texts, key=("version",))
    session.execute(
        insert(Publication).values(
            id=line.id,
            run_id=line.run_id,
            assignment=line.assignment,
            number=line.number,
            form=form,
            opens_at=line.opens_at,
            due_at=line.due_at,
            note=line.note,
            by=line.by,
            published_at=line.published_at,
        )
    )
    parts = [
        {"publication_id": line.id, "question": question, "position": place, "version": version}
        for place, (question, (version, _)) in enumerate(rubrics.items())
    ]
    session.execute(insert(PublicationPart), parts)


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


_EXTENSION = (
    Extension.id,
    Extension.enrolment_id,
    Extension.assignment,
    Extension.number,
    Extension.due_at,
    Extension.extra_attempts,
    Extension.reason,
    Extension.by,
    Extension.at,
)


def find_extensions(
    session: Session, *, pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], ExtensionLine]:
    """The extensions that hold for (enrolment, assignment) pairs."""
    wanted = set(pairs)
    statement = (
        select(*_EXTENSION)
        .where(
            Extension.enrolment_id.in_({enrolment for enrolment, _ in wanted}),
            Extension.assignment.in_({assignment for _, assignment in wanted}),
        )
        .order_by(Extension.number)
    )
    lines = (as_line(ExtensionLine, row) for row in session.execute(statement))
    # The last one of each pair stays.
    return {(each.enrolment_id, each.assignment): each for each in lines}


def list_extensions(session: Session, *, run_id: str, assignment: str) -> list[ExtensionLine]:
    """All extensions of an assignment, the newest first."""
    statement = (
        select(*_EXTENSION)
        .where(Extension.run_id == run_id, Extension.assignment == assignment)
        .order_by(Extension.at.desc(), Extension.id.desc())
    )
    return [as_line(ExtensionLine, row) for row in session.execute(statement)]


def last_extended_due(session: Session, *, run_id: str, assignment: str) -> datetime | None:
    """The latest due date that any student was given."""
    return session.scalar(
        select(func.max(Extension.due_at)).where(
            Extension.run_id == run_id, Extension.assignment == assignment
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
    """Add an extension, which holds from now on instead of earlier ones."""
    earlier = session.scalar(
        select(func.max(Extension.number)).where(
            Extension.enrolment_id == enrolment_id, Extension.assignment == assignment
        )
    )
    line = ExtensionLine(
        new_id("ext"), enrolment_id, assignment, (earlier or 0) + 1, due_at, extra_attempts,
        reason, by, at,
    )  # fmt: skip
    session.execute(
        insert(Extension).values(
            id=line.id, run_id=run_id, enrolment_id=enrolment_id, assignment=assignment,
            number=line.number, due_at=due_at, extra_attempts=extra_attempts, reason=reason,
            by=by, at=at,
        )
    )  # fmt: skip
    return line
