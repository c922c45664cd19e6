"""Drafts of answers: saved while they are written, offered again until they are submitted."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from grader.accounts.callers import Membership
from grader.errors import MalformedRequest
from grader.grading.context import GradingContext
from grader.store.database import Session
from grader.store.queries.attempts import StudentQuestion
from grader.store.queries.submissions import DraftLine, delete_draft, put_draft

MAX_CHARACTERS = 500_000


def save_draft(
    session: Session,
    context: GradingContext,
    membership: Membership,
    *,
    assignment: str,
    question: str,
    fields: Mapping[str, str],
    at: datetime,
) -> None:
    """Save the content of a form, whatever it is; an empty form deletes the draft.

    Raises
    ------
    MalformedRequest
        If it is longer than any answer could be.
    """
    enrolment = membership.need_enrolment()
    context.in_force(session, run_id=membership.run.id, assignment=assignment).rubric(question)
    if sum(map(len, fields.values())) > MAX_CHARACTERS:
        raise MalformedRequest(
            f"A draft may have {MAX_CHARACTERS} characters; it has more.", code="draft.too_long"
        )
    part: StudentQuestion = (enrolment.id, assignment, question)
    written = {name: text for name, text in fields.items() if text.strip()}
    if not written:
        delete_draft(session, student_question=part)
        return
    put_draft(
        session, run_id=membership.run.id, student_question=part, draft=DraftLine(written, at)
    )
