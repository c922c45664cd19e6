"""Use cases' results for staff → what the API answers with."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from grader.domain.grades import ZERO
from grader.grading.grades.gradebook import Gradebook, Row
from grader.grading.grades.overrides import version_of
from grader.grading.reviews.review import Waiting, review_version
from grader.store.queries.audit import AuditLine
from grader.store.queries.decisions import ExternalScoreLine, OverrideLine
from grader.store.queries.gradebook import CellLine
from grader.store.queries.grades import GradeLine
from grader.store.queries.publications import ExtensionLine, PublicationLine
from grader.web.api import staff_models as m


def gradebook_read(book: Gradebook) -> m.GradebookRead:
    """A page of the gradebook."""
    rubrics = book.published.assignment.rubrics
    return m.GradebookRead(
        course=book.published.line.run_id,
        assignment=book.published.line.assignment,
        questions={name: rubric.form.points for name, rubric in rubrics.items()},
        possible=book.possible,
        students=[grade_row(book, row) for row in book.rows],
    )


def grade_row(book: Gradebook, row: Row) -> m.GradeRow:
    """A student's line."""
    return m.GradeRow(
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


def grade_read(
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
        version=version_of(grade),
        changed_at=grade.changed_at if grade else None,
        history=sorted(history, key=lambda each: each.at),
    )


def publication_read(line: PublicationLine, versions: dict[str, str]) -> m.PublicationRead:
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


def extension_read(
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


def waiting_read(waiting: Waiting) -> m.WaitingRead:
    """Something that a person decides."""
    review = waiting.review
    return m.WaitingRead(
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
        version=review_version(review),
    )


def audit_read(line: AuditLine) -> m.AuditRead:
    """An entry of the audit chain."""
    return m.AuditRead(
        number=line.number,
        at=line.at,
        by=line.by,
        action=line.action,
        subject=line.subject,
        details=line.details,
    )
