"""A student's totals for an assignment, as the API and the pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from grader.domain.grades import ZERO, compute_total
from grader.grading.attempts.open_questions import AssignmentState, QuestionState


@dataclass(frozen=True, slots=True)
class AssignmentTotal:
    """The points of an assignment; `points` and `grade` are None while they are withheld."""

    points: Decimal | None
    possible: Decimal
    pending: Decimal
    grade: str | None


def compute_assignment_total(state: AssignmentState) -> AssignmentTotal:
    """Add up what the student may know of the questions."""
    questions = state.questions.values()
    # While every result is withheld, the total is unknown rather than zero.
    has_points = any(each.points is not None for each in questions)
    shows_all = all(each.shows_points for each in questions)
    points = compute_total(each.points for each in questions)
    grade = state.published.form.grade_for(points) or None
    return AssignmentTotal(
        points=points if has_points else None,
        possible=sum((each.possible for each in questions), ZERO),
        pending=compute_total(get_pending_points(each) for each in questions),
        grade=grade if has_points and shows_all else None,
    )


def get_pending_points(state: QuestionState) -> Decimal:
    """Points to be given by a person; zero while results are withheld, or it would reveal them."""
    return state.grade.pending if state.grade and state.shows_result else ZERO
