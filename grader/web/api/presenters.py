"""Use cases' results → what the API answers with."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, assert_never
from zoneinfo import ZoneInfo

from grader.domain.grades import ZERO, total
from grader.domain.roles import Role
from grader.feedback.examples import list_symbols, make_example
from grader.feedback.given import given_values
from grader.grading.attempts.open_questions import AssignmentState, QuestionState, Shown
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
from grader.store.queries.courses import EnrolmentLine, RunLine
from grader.store.queries.tokens import TokenLine
from grader.web.api import models as m


def course_read(run: RunLine, role: Role) -> m.CourseRead:
    """A course run."""
    return m.CourseRead(
        id=run.id, course=run.course_id, title=run.title, time_zone=run.time_zone, role=role
    )


def enrolled_course(enrolment: EnrolmentLine, run: RunLine) -> m.CourseRead:
    """A course run in which somebody takes part."""
    return course_read(run, enrolment.role)


def assignment_summary(state: AssignmentState, *, at: datetime) -> m.AssignmentSummary:
    """An assignment without its questions."""
    return m.AssignmentSummary(**_assignment(state, at=at))


def assignment_read(state: AssignmentState, *, at: datetime) -> m.AssignmentRead:
    """An assignment with its questions."""
    questions = [question_summary(each) for each in state.questions.values()]
    return m.AssignmentRead(**_assignment(state, at=at), questions=questions)


def _assignment(state: AssignmentState, *, at: datetime) -> dict[str, Any]:
    form, window = state.published.form, state.policy.window
    questions = state.questions.values()
    # While all is withheld there is no total, not one of nothing.
    has_points = any(each.points is not None for each in questions)
    shows_all = all(each.shows_points for each in questions)
    points = total(each.points for each in questions)
    due_local = None
    if window.due_at is not None:
        due_local = window.due_at.astimezone(ZoneInfo(state.time_zone)).isoformat()
    return {
        "id": form.id,
        "title": form.title,
        "description": form.description,
        "opens_at": window.opens_at,
        "due_at": window.due_at,
        "closes_at": window.closes_at,
        "due_local": due_local,
        "time_zone": state.time_zone,
        "phase": window.phase(at),
        "points": points if has_points else None,
        "max_points": sum((each.rubric.form.points for each in questions), ZERO),
        "pending": total(_pending(each) for each in questions),
        "grade": form.grade_for(points) or None if has_points and shows_all else None,
    }


def question_summary(state: QuestionState) -> m.QuestionSummary:
    """A question in a list."""
    grade = state.grade
    return m.QuestionSummary(
        id=state.rubric.form.id,
        title=state.rubric.form.title,
        max_points=state.rubric.form.points,
        points=state.points,
        pending=_pending(state),
        attempts=state.attempts,
        attempts_left=state.attempts_left,
        most_attempts=state.policy.most_attempts,
        counted_attempt=grade.counted_attempt_id if grade and state.shows_result else None,
        days_late=grade.late_days if grade and state.shows_result else 0,
        is_overridden=bool(grade and grade.is_overridden),
        state=state.state,
    )


def _pending(state: QuestionState) -> Decimal:
    """What waits for a person; where results are withheld it would tell which attempt counts."""
    return state.grade.pending if state.grade and state.shows_result else ZERO


def question_read(shown: Shown, *, course: str, at: datetime) -> m.QuestionRead:
    """A question with the caller's own numbers."""
    state, rubric = shown.question, shown.question.rubric
    form, window = rubric.form, state.policy.window
    return m.QuestionRead(
        course=course,
        assignment=rubric.assignment,
        id=form.id,
        title=form.title,
        prompt=form.prompt,
        max_points=form.points,
        variant=shown.variant.id,
        given=given_values(rubric.scope, shown.variant, form.given),
        fields=[field_read(each) for each in rubric.question.fields],
        example=make_example(rubric.question.fields),
        criteria=[
            m.CriterionRead(id=each.id, title=each.title, points=each.points)
            for each in rubric.question.criteria
        ],
        uses=_uses(shown),
        hints=list(form.hints[: state.attempts]),
        hints_in_all=len(form.hints),
        practice=_practice(course, shown),
        feedback=state.policy.feedback,
        standing=question_summary(state),
        changes=_changes(shown),
        due_at=window.due_at,
        closes_at=window.closes_at,
        phase=window.phase(at),
    )


def _changes(shown: Shown) -> list[m.GradeChange]:
    changes = [
        m.GradeChange(at=each.at, kind="override", points=each.points, reason=each.reason)
        for each in shown.overrides
    ] + [
        m.GradeChange(at=each.at, kind="external_score", points=each.points, reason=each.source)
        for each in shown.scores
    ]
    return sorted(changes, key=lambda each: each.at)


def _uses(shown: Shown) -> m.UsesRead | None:
    earlier = shown.question.rubric.earlier
    if earlier is None:
        return None
    before = shown.assignment.questions[earlier.form.id]
    attempt = before.grade.counted_attempt_id if before.grade and before.shows_result else None
    return m.UsesRead(question=earlier.form.id, attempt=attempt)


def _practice(course: str, shown: Shown) -> str | None:
    rubric = shown.question.rubric
    if rubric.question.key_sets is None:
        return None
    return (
        f"/api/v1/courses/{course}/assignments/{rubric.assignment}"
        f"/questions/{rubric.form.id}/practice"
    )


def field_read(field: Field) -> m.FieldRead:
    """A field of an answer."""
    return m.FieldRead(
        name=field.name,
        kind=_kind(field),
        takes=describe_field(field),
        shape=list(field.shape.axes) if isinstance(field, ArrayField) else None,
        symbols=list_symbols(field) if isinstance(field, ArrayField) else [],
        options=list(field.options) if isinstance(field, ChoiceField) else [],
        is_optional=isinstance(field, TextField | FileField),
    )


def _kind(field: Field) -> str:
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


def token_read(line: TokenLine) -> m.TokenRead:
    """A token, without what only its owner knows."""
    return m.TokenRead(**_token(line))


def token_made(line: TokenLine, secret: str) -> m.TokenMade:
    """A token, told this once."""
    return m.TokenMade(**_token(line), token=secret)


def _token(line: TokenLine) -> dict[str, Any]:
    return {
        "id": line.id,
        "label": line.label,
        "hint": line.hint,
        "scopes": list(line.scopes),
        "made_at": line.made_at,
        "expires_at": line.expires_at,
        "revoked_at": line.revoked_at,
        "used_at": line.used_at,
    }
