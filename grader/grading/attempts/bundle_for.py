"""The bundle of a stored attempt: everything in the store that its receipt covers."""

from __future__ import annotations

from datetime import datetime

from grader.domain.policies import Feedback, Policy
from grader.engine.random.variants import Variant
from grader.errors import NotFound
from grader.feedback.receipt import Receipt, list_verdicts
from grader.grading.attempts.find import VisibleAttempt
from grader.grading.context import GradingContext, PublishedAssignment, compute_release_time
from grader.grading.receipts.bundle import Bundle, EarlierQuestion, compose_bundle
from grader.grading.serialize import decode_judgement, decode_variant
from grader.grading.signing import SigningKey, sign_receipt, to_withheld_receipt
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import find_judged, find_variants
from grader.store.queries.audit import list_signing_keys
from grader.store.queries.publications import (
    find_extensions,
    find_last_extended_due,
    get_publication,
)


def compose_attempt_bundle(
    session: Session, context: GradingContext, found: VisibleAttempt, *, at: datetime
) -> Bundle:
    """The bundle of an attempt; it includes rubric and keys once nobody can submit any more."""
    attempt, judgement = found.attempt, found.judgement
    line = get_publication(session, publication_id=attempt.publication_id)
    rubric = context.published(session, line).rubric(attempt.question)
    opens_at = find_release_time(session, found.published)
    is_published = opens_at is not None and at > opens_at
    policy = _policy(session, found)
    shows = not found.is_own or policy.shows_result(at)
    # Where only points are told, reasons are not, until everything is published.
    tells_why = shows and (
        is_published or not found.is_own or policy.feedback is not Feedback.CORRECTNESS
    )
    receipt = Receipt.model_validate(judgement.receipt)
    if not shows:
        receipt = sign_receipt(to_withheld_receipt(receipt), context.signing_key)
    return compose_bundle(
        rubric=rubric,
        receipt=receipt,
        public_key=_public_key(session, context, receipt.key),
        answer=attempt.answer,
        variant=_variant(session, attempt.enrolment_id, rubric),
        verdicts=list_verdicts(decode_judgement(judgement).verdicts) if tells_why else None,
        uses=_earlier(session, found, rubric, shows=shows, is_published=is_published),
        publishes_at=opens_at,
        keys=context.keys(session, run_id=attempt.run_id) if is_published else None,
    )


def find_release_time(session: Session, published: PublishedAssignment) -> datetime | None:
    """When rubrics and keys are released: after the last deadline of any student."""
    line = published.line
    last = find_last_extended_due(session, run_id=line.run_id, assignment=line.assignment)
    return compute_release_time(published, last)


def _policy(session: Session, found: VisibleAttempt) -> Policy:
    attempt = found.attempt
    pair = (attempt.enrolment_id, attempt.assignment)
    extension = find_extensions(session, pairs=[pair]).get(pair)
    return found.published.policy(attempt.question, extension)


def _public_key(session: Session, context: GradingContext, key_id: str | None) -> str | None:
    if key_id == context.signing_key.id:
        return context.signing_key.public
    private = list_signing_keys(session).get(key_id or "")
    return SigningKey.from_bytes(private).public if private else None


def _variant(session: Session, enrolment_id: str, rubric: Rubric) -> Variant:
    question = rubric.question
    source = question.uses.question if question.uses else question
    name = (enrolment_id, source.id, source.revision)
    shown = find_variants(session, wanted=[name]).get(name)
    if shown is None:
        raise NotFound
    return decode_variant(enrolment_id, shown.drawn)


def _earlier(
    session: Session, found: VisibleAttempt, rubric: Rubric, *, shows: bool, is_published: bool
) -> EarlierQuestion | None:
    if rubric.earlier is None or found.attempt.uses_attempt_id is None:
        return None
    used = find_judged(session, attempt_id=found.attempt.uses_attempt_id)
    return EarlierQuestion(
        question=rubric.earlier.id,
        # The answer that counted is the better one; with the keys everybody can see that anyway.
        answer=used[0].answer if used and (shows or is_published) else None,
        is_own=found.judgement.uses == "own" if shows else None,
    )
