"""Use cases' results → what the API answers with."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, assert_never
from zoneinfo import ZoneInfo

from grader.domain.grades import ZERO
from grader.domain.roles import Role
from grader.feedback.examples import list_symbols, make_example
from grader.feedback.given import build_given_values
from grader.grading.attempts.open_questions import AssignmentState, OpenedQuestion, QuestionState
from grader.grading.grades.gradebook import Gradebook, GradebookRow
from grader.grading.grades.overrides import format_grade_version
from grader.grading.reviews.review import ReviewTask, format_review_version
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
from grader.store.queries.audit import AuditLine
from grader.store.queries.courses import EnrolmentLine, RunLine
from grader.store.queries.credentials import TokenLine
from grader.store.queries.decisions import ExternalScoreLine, OverrideLine
from grader.store.queries.gradebook import CellLine
from grader.store.queries.grades import GradeLine
from grader.store.queries.publications import ExtensionLine, PublicationLine
from grader.web.api import models as m
from grader.web.totals import compute_assignment_total, get_pending_points


def to_course_read(run: RunLine, role: Role) -> m.CourseRead:
    """A course run."""
    return m.CourseRead(
        id=run.id, course=run.course_id, title=run.title, time_zone=run.time_zone, role=role
    )


def to_enrolled_course(enrolment: EnrolmentLine, run: RunLine) -> m.CourseRead:
    """A course run in which somebody takes part."""
    return to_course_read(run, enrolment.role)


def to_assignment_summary(state: AssignmentState, *, at: datetime) -> m.AssignmentSummary:
    """An assignment without its questions."""
    return m.AssignmentSummary(**_assignment(state, at=at))


def to_assignment_read(state: AssignmentState, *, at: datetime) -> m.AssignmentRead:
    """An assignment with its questions."""
    questions = [_to_question_summary(each) for each in state.questions.values()]
    return m.AssignmentRead(**_assignment(state, at=at), questions=questions)


def _assignment(state: AssignmentState, *, at: datetime) -> dict[str, Any]:
    form, window = state.published.form, state.policy.window
    total = compute_assignment_total(state)
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
        "points": total.points,
        "max_points": total.possible,
        "pending": total.pending,
        "grade": total.grade,
    }


def _to_question_summary(state: QuestionState) -> m.QuestionSummary:
    """A question in a list."""
    grade = state.grade
    return m.QuestionSummary(
        id=state.rubric.form.id,
        title=state.rubric.form.title,
        max_points=state.rubric.form.points,
        points=state.points,
        pending=get_pending_points(state),
        attempts=state.attempts,
        attempts_left=state.attempts_left,
        most_attempts=state.policy.most_attempts,
        counted_attempt=grade.counted_attempt_id if grade and state.shows_result else None,
        days_late=grade.late_days if grade and state.shows_result else 0,
        is_overridden=bool(grade and grade.is_overridden),
        state=state.state,
    )


def to_question_read(shown: OpenedQuestion, *, course: str, at: datetime) -> m.QuestionRead:
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
        given=build_given_values(rubric.scope, shown.variant, form.given),
        fields=[_to_field_read(each) for each in rubric.question.fields],
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
        standing=_to_question_summary(state),
        changes=_changes(shown),
        due_at=window.due_at,
        closes_at=window.closes_at,
        phase=window.phase(at),
    )


def _changes(shown: OpenedQuestion) -> list[m.GradeChange]:
    changes = [
        m.GradeChange(at=each.at, kind="override", points=each.points, reason=each.reason)
        for each in shown.overrides
    ] + [
        m.GradeChange(at=each.at, kind="external_score", points=each.points, reason=each.source)
        for each in shown.scores
    ]
    return sorted(changes, key=lambda each: each.at)


def _uses(shown: OpenedQuestion) -> m.UsesRead | None:
    earlier = shown.question.rubric.earlier
    if earlier is None:
        return None
    before = shown.assignment.questions[earlier.form.id]
    attempt = before.grade.counted_attempt_id if before.grade and before.shows_result else None
    return m.UsesRead(question=earlier.form.id, attempt=attempt)


def _practice(course: str, shown: OpenedQuestion) -> str | None:
    rubric = shown.question.rubric
    if rubric.question.key_sets is None:
        return None
    return (
        f"/api/v1/courses/{course}/assignments/{rubric.assignment}"
        f"/questions/{rubric.form.id}/practice"
    )


def _to_field_read(field: Field) -> m.FieldRead:
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


def to_token_read(line: TokenLine) -> m.TokenRead:
    """A token, without what only its owner knows."""
    return m.TokenRead(**_token(line))


def to_token_created(line: TokenLine, secret: str) -> m.TokenCreated:
    """A token, told this once."""
    return m.TokenCreated(**_token(line), token=secret)


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


def to_gradebook_read(book: Gradebook) -> m.GradebookRead:
    """A page of the gradebook."""
    rubrics = book.published.assignment.rubrics
    return m.GradebookRead(
        course=book.published.line.run_id,
        assignment=book.published.line.assignment,
        questions={name: rubric.form.points for name, rubric in rubrics.items()},
        possible=book.possible,
        students=[_to_grade_row(book, row) for row in book.rows],
    )


def _to_grade_row(book: Gradebook, row: GradebookRow) -> m.GradebookRowRead:
    """A student's line."""
    return m.GradebookRowRead(
        student=row.member.login,
        name=row.member.name,
        section=row.member.enrolment.section,
        enrolment=row.member.enrolment.id,
        questions={
            name: m.GradeCell(**_cell(row.grades[name]))
            for name in book.published.form.questions
            if name in row.grades
        },
        total=row.points,
        pending=row.pending,
        grade=book.grade_of(row),
    )


def _cell(grade: GradeLine | CellLine | None) -> dict[str, Any]:
    return {
        "points": grade.points if grade else None,
        "pending": grade.pending if grade else ZERO,
        "attempts": grade.attempts if grade else 0,
        "days_late": grade.late_days if grade else 0,
        "is_overridden": bool(grade and grade.is_overridden),
        "needs_person": bool(grade and grade.needs_person),
        "counted_attempt": grade.counted_attempt_id if grade else None,
    }


def to_grade_read(
    student: str,
    question: str,
    possible: Decimal,
    grade: GradeLine | None,
    overrides: list[OverrideLine],
    scores: list[ExternalScoreLine],
) -> m.GradeRead:
    """A student's grade for one question, with what staff decided."""
    history = [
        m.GradeEvent(
            at=each.at, kind="override", points=each.points, reason=each.reason, by=each.by
        )
        for each in overrides
    ] + [
        m.GradeEvent(
            at=each.at, kind="external_score", points=each.points, reason=each.source, by=each.by
        )
        for each in scores
    ]
    return m.GradeRead(
        **_cell(grade),
        student=student,
        question=question,
        max_points=possible,
        version=format_grade_version(grade),
        changed_at=grade.changed_at if grade else None,
        history=sorted(history, key=lambda each: each.at),
    )


def to_publication_read(line: PublicationLine, versions: dict[str, str]) -> m.PublicationRead:
    """A publication."""
    return m.PublicationRead(
        id=line.id,
        assignment=line.assignment,
        number=line.number,
        opens_at=line.opens_at,
        due_at=line.due_at,
        note=line.note,
        by=line.by,
        published_at=line.published_at,
        versions=versions,
    )


def to_extension_read(
    line: ExtensionLine, student: str, *, is_after_publication: bool = False
) -> m.ExtensionRead:
    """An extension."""
    return m.ExtensionRead(
        id=line.id,
        student=student,
        assignment=line.assignment,
        due_at=line.due_at,
        extra_attempts=line.extra_attempts,
        reason=line.reason,
        by=line.by,
        at=line.at,
        is_after_publication=is_after_publication,
    )


def to_review_task_read(waiting: ReviewTask) -> m.ReviewTaskRead:
    """Something that a person decides."""
    review = waiting.review
    return m.ReviewTaskRead(
        attempt=waiting.attempt.id,
        question=waiting.attempt.question,
        criterion=waiting.criterion,
        title=waiting.title,
        text=waiting.text,
        max_points=waiting.possible,
        items=[m.ReviewItem(text=each.text, points=each.points) for each in waiting.items],
        note=waiting.note,
        points=review.points if review else None,
        chosen=list(review.items) if review else [],
        comment=review.comment if review else "",
        version=format_review_version(review),
    )


def to_audit_read(line: AuditLine) -> m.AuditRead:
    """An entry of the audit chain."""
    return m.AuditRead(
        number=line.number,
        at=line.at,
        by=line.by,
        action=line.action,
        subject=line.subject,
        details=line.details,
    )
