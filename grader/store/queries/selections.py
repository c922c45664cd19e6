"""Which students a gradebook shows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import ColumnElement, Integer, exists, or_, type_coerce

from grader.domain.roles import Role
from grader.store.tables import Enrolment, Grade, Person, Total


class State(StrEnum):
    """What students may be chosen by, besides who they are."""

    WAITING = "waiting"
    OVERRIDDEN = "overridden"
    LATE = "late"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which students: by a part of the name or login, by section, by state; by default all."""

    text: str = ""
    section: str = ""
    state: State | None = None

    @property
    def is_all(self) -> bool:
        """Whether nobody is left out."""
        return self == EVERYBODY


EVERYBODY = Selection()

# Plain tables: what is asked for are columns, never objects, and their statements are built faster.
ENROLMENTS, PEOPLE, TOTALS = Enrolment.__table__.c, Person.__table__.c, Total.__table__.c
# The statement around may read the same tables in other rows.
_grade, _total = Grade.__table__.alias().c, Total.__table__.alias().c


def chosen(assignment: str, selection: Selection) -> list[ColumnElement[bool]]:
    """Conditions on enrolments and, where there is a text, on people.

    Who left and who teaches is in no gradebook.
    """
    found = [ENROLMENTS.role == Role.STUDENT.value, ENROLMENTS.left_at.is_(None)]
    if selection.section:
        found.append(ENROLMENTS.section == selection.section)
    if selection.text:
        found.append(
            or_(
                ENROLMENTS.login.icontains(selection.text, autoescape=True),
                PEOPLE.name.icontains(selection.text, autoescape=True),
            )
        )
    if selection.state is not None:
        found.append(_is_in(selection.state, assignment))
    return found


def _is_in(state: State, assignment: str) -> ColumnElement[bool]:
    if state is State.NOTHING:
        return ~exists().where(
            _total.enrolment_id == ENROLMENTS.id, _total.assignment == assignment
        )
    marks: dict[State, ColumnElement[bool]] = {
        State.WAITING: or_(_grade.needs_person, type_coerce(_grade.pending, Integer) > 0),
        State.OVERRIDDEN: _grade.is_overridden.is_(True),
        State.LATE: _grade.late_days > 0,
    }
    return exists().where(
        _grade.enrolment_id == ENROLMENTS.id, _grade.assignment == assignment, marks[state]
    )
