"""One student in one assignment, as staff see it: every grade, more time, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.grading.context import Desk
from grader.grading.grades.gradebook import Gradebook, Row
from grader.store.database import Session
from grader.store.queries.courses import get_member
from grader.store.queries.decisions import OverrideLine, list_overrides
from grader.store.queries.gradebook import list_cells
from grader.store.queries.people import find_names
from grader.store.queries.publications import ExtensionLine, find_extensions


@dataclass(frozen=True, slots=True)
class Summary:
    """A student's row of the gradebook with what lies behind it, the newest decision first.

    `names` has those of the people who decided; whoever is not in it was a program.
    """

    book: Gradebook
    row: Row
    extension: ExtensionLine | None
    overrides: tuple[OverrideLine, ...]
    names: Mapping[str, str]


def load_summary(
    session: Session, desk: Desk, *, run_id: str, assignment: str, student: str
) -> Summary:
    """All about a student's grades for an assignment.

    Raises
    ------
    NotFound
        Where there is no such assignment or no such student in the course run.
    """
    published = desk.in_force(session, run_id=run_id, assignment=assignment)
    member = get_member(session, run_id=run_id, login=student)
    owner = member.enrolment.id
    cells = list_cells(session, assignment=assignment, enrolment_ids=[owner])
    row = Row(member, {each.question: each for each in cells})
    parts = [(owner, assignment, question) for question in {*published.form.questions, *row.grades}]
    overrides = sorted(list_overrides(session, parts=parts), key=lambda each: each.at, reverse=True)
    extension = find_extensions(session, pairs=[(owner, assignment)]).get((owner, assignment))
    deciders = {each.by for each in overrides} | ({extension.by} if extension else set())
    return Summary(
        Gradebook(published, (row,)),
        row,
        extension,
        tuple(overrides),
        find_names(session, person_ids=deciders),
    )
