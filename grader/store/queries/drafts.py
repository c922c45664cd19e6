"""Drafts: what students have written and not yet sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, select

from grader.store.database import Session
from grader.store.queries.attempts import Part
from grader.store.tables import Draft
from grader.store.upserts import insert_or_replace


@dataclass(frozen=True, slots=True)
class DraftLine:
    """What stood in the form when it was saved last, by the names of its fields."""

    fields: dict[str, str]
    saved_at: datetime


def find_draft(session: Session, *, part: Part) -> DraftLine | None:
    """A student's draft of a question."""
    enrolment_id, assignment, question = part
    statement = select(Draft.fields, Draft.saved_at).where(
        Draft.enrolment_id == enrolment_id,
        Draft.assignment == assignment,
        Draft.question == question,
    )
    row = session.execute(statement).one_or_none()
    return DraftLine(row[0], row[1]) if row else None


def put_draft(session: Session, *, run_id: str, part: Part, draft: DraftLine) -> None:
    """Keep a draft instead of the one before."""
    enrolment_id, assignment, question = part
    row = {
        "run_id": run_id,
        "enrolment_id": enrolment_id,
        "assignment": assignment,
        "question": question,
        "fields": draft.fields,
        "saved_at": draft.saved_at,
    }
    insert_or_replace(session, Draft, [row], key=("enrolment_id", "assignment", "question"))


def delete_draft(session: Session, *, part: Part) -> None:
    """Forget a draft; there need not be one."""
    enrolment_id, assignment, question = part
    session.execute(
        delete(Draft).where(
            Draft.enrolment_id == enrolment_id,
            Draft.assignment == assignment,
            Draft.question == question,
        )
    )
