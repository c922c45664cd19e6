"""Assignments, questions and grades as the API and the pages show them.

Lines and other results become API models by `ApiModel.of`. These need more: they respect what is
withheld from students.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import TypeVar, assert_never
from zoneinfo import ZoneInfo

from grader.domain.grades import ZERO
from grader.domain.roles import Role
from grader.feedback.examples import list_symbols, make_example
from grader.feedback.given import build_given_values
from grader.grading.attempts.open_questions import AssignmentState, OpenedQuestion, QuestionState
from grader.grading.grades.overrides import format_grade_version
from grader.reading.fields import (
    ArrayField,
    ChoiceField,
    ExternalField,
    Field,
    FileField,
    NumberField,
    TextField,
    describe_field,
)
from grader.store.queries.courses import RunLine
from grader.store.queries.decisions import ExternalScoreLine, OverrideLine
from grader.store.queries.gradebook import CellLine
from grader.store.queries.grades import GradeLine
from grader.store.queries.regrades.preview import StudentRegrade
from grader.web.api import models as m
from grader.web.totals import compute_assignment_total, get_pending_points


def to_course_read(run: RunLine, role: Role) -> m.CourseRead:
    """A course run with the caller's role."""
    return m.CourseRead.of(run, course=run.course_id, role=role)


def to_assignment_summary(state: AssignmentState, *, at: datetime) -> m.AssignmentSummary:
    """An assignment without its questions."""
    return m.AssignmentSummary.of(to_assignment_read(state, at=at))


def to_assignment_read(state: AssignmentState, *, at: datetime) -> m.AssignmentRead:
    """An assignment with its questions."""
    form, window = state.published.form, state.policy.window
    questions = [_to_question_summary(each) for each in state.questions.values()]
    total = compute_assignment_total(state)
    due_local = None
    if window.due_at is not None:
        due_local = window.due_at.astimezone(ZoneInfo(state.time_zone)).isoformat()
    return m.AssignmentRead.of(
        window,
        id=form.id,
        title=form.title,
        description=form.description,
        due_local=due_local,
        time_zone=state.time_zone,
        phase=window.phase(at),
        points=total.points,
        max_points=total.possible,
        pending=total.pending,
        grade=total.grade,
        questions=questions,
    )


def _to_question_summary(state: QuestionState) -> m.QuestionSummary:
    form = state.rubric.form
    visible = state.grade if state.shows_result else None
    return m.QuestionSummary.of(
        state,
        id=form.id,
        title=form.title,
        max_points=state.possible,
        pending=get_pending_points(state),
        most_attempts=state.policy.most_attempts,
        counted_attempt=visible.counted_attempt_id if visible else None,
        days_late=visible.late_days if visible else 0,
        is_overridden=bool(state.grade and state.grade.is_overridden),
    )


def to_question_read(shown: OpenedQuestion, *, course: str, at: datetime) -> m.QuestionRead:
    """A question with the caller's own numbers."""
    state, rubric = shown.question, shown.question.rubric
    form, window = rubric.form, state.policy.window
    path = f"/api/v1/courses/{course}/assignments/{rubric.assignment}/questions/{form.id}"
    return m.QuestionRead.of(
        form,
        course=course,
        assignment=rubric.assignment,
        max_points=form.points,
        variant=shown.variant.id,
        given=build_given_values(rubric.scope, shown.variant, form.given),
        fields=[_to_field_read(each) for each in rubric.question.fields],
        example=make_example(rubric.question.fields),
        criteria=rubric.question.criteria,
        uses=_find_used_attempt(shown),
        hints=form.hints[: state.attempts],
        hints_in_all=len(form.hints),
        practice=None if rubric.question.key_sets is None else f"{path}/practice",
        feedback=state.policy.feedback,
        standing=_to_question_summary(state),
        changes=_list_changes(
            m.GradeChange, shown.overrides, shown.scores, _list_regrade_changes(shown.regrades)
        ),
        due_at=window.due_at,
        closes_at=window.closes_at,
        phase=window.phase(at),
    )


def _find_used_attempt(shown: OpenedQuestion) -> m.UsesRead | None:
    earlier = shown.question.rubric.earlier
    if earlier is None:
        return None
    before = _to_question_summary(shown.assignment.questions[earlier.form.id])
    return m.UsesRead(question=earlier.form.id, attempt=before.counted_attempt)


def _to_field_read(field: Field) -> m.FieldRead:
    return m.FieldRead(
        name=field.name,
        kind=_get_kind(field),
        takes=describe_field(field),
        shape=list(field.shape.axes) if isinstance(field, ArrayField) else None,
        symbols=list_symbols(field),
        options=list(field.options) if isinstance(field, ChoiceField) else [],
        is_optional=isinstance(field, TextField | FileField),
    )


def _get_kind(field: Field) -> str:
    match field:
        case ArrayField():
            return "array"
        case NumberField():
            return "number"
        case ChoiceField():
            return "several" if field.several else "choice"
        case TextField():
            return "text"
        case FileField():
            return "file"
        case ExternalField():
            return "external"
        case _:
            assert_never(field)


def to_grade_cell(grade: GradeLine | CellLine) -> m.GradeCell:
    """A student's grade for a question."""
    return m.GradeCell.of(
        grade,
        max_points=grade.possible,
        days_late=grade.late_days,
        counted_attempt=grade.counted_attempt_id,
    )


def _make_empty_cell(possible: Decimal) -> m.GradeCell:
    """The grade for a question worth `possible` points before anything was sent."""
    return m.GradeCell(
        points=None,
        max_points=possible,
        pending=ZERO,
        attempts=0,
        days_late=0,
        is_overridden=False,
        needs_person=False,
        counted_attempt=None,
    )


def to_grade_read(
    student: str,
    question: str,
    possible: Decimal,
    grade: GradeLine | None,
    overrides: list[OverrideLine],
    scores: list[ExternalScoreLine],
) -> m.GradeRead:
    """A student's grade for one question, with staff decisions."""
    return m.GradeRead.of(
        to_grade_cell(grade) if grade else _make_empty_cell(possible),
        student=student,
        question=question,
        version=format_grade_version(grade),
        changed_at=grade.changed_at if grade else None,
        history=_list_changes(m.GradeEvent, overrides, scores),
    )


def _list_regrade_changes(regrades: Iterable[StudentRegrade]) -> Iterator[m.GradeChange]:
    """What regrades made of a score, and what was left of it after they were undone."""
    for each in regrades:
        yield m.GradeChange(at=each.at, kind="regrade", points=each.after, reason=each.reason)
        if each.undone_at is not None:
            yield m.GradeChange(
                at=each.undone_at, kind="regrade_undone", points=each.before,
                reason=each.undo_reason,
            )  # fmt: skip


_Change = TypeVar("_Change", bound=m.GradeChange)


def _list_changes(
    model: type[_Change],
    overrides: Iterable[OverrideLine],
    scores: Iterable[ExternalScoreLine],
    others: Iterable[_Change] = (),
) -> list[_Change]:
    changes = [*others]
    changes += [model.of(each, kind="override") for each in overrides]
    changes += [model.of(each, kind="external_score", reason=each.source) for each in scores]
    return sorted(changes, key=lambda each: each.at)
