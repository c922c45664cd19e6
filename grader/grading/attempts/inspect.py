"""Everything about an attempt, for staff: what the engine saw, what it said, what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grader.engine.random.variants import Variant
from grader.errors import NotFound, StudentError
from grader.feedback.receipt import Receipt, list_verdicts
from grader.grading.attempts.find import VisibleAttempt
from grader.grading.audit.judgements import PublicKeys
from grader.grading.context import GradingContext
from grader.grading.receipts.bundle import EarlierQuestion, compose_bundle
from grader.grading.receipts.replay import Replay, replay_bundle
from grader.grading.serialize import decode_judgement, decode_variant
from grader.grading.signing import SigningKey
from grader.reading.answer import Answer, read_answer
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import JudgementLine, find_judged, find_variants
from grader.store.queries.audit import AuditLine, list_audit_about, list_signing_keys
from grader.store.queries.courses import MemberLine, find_member
from grader.store.queries.decisions import (
    ExternalScoreLine,
    OverrideLine,
    ReviewLine,
    list_external_scores,
    list_overrides,
    list_reviews,
)
from grader.store.queries.grades import GradeLine, find_grades
from grader.store.queries.people import get_person
from grader.store.queries.publications import PublicationLine, get_publication, list_publications
from grader.store.queries.verification import StoredAttempt, find_stored_attempts


@dataclass(frozen=True, slots=True)
class AttemptDetails:
    """An attempt with all that is stored about it.

    `member` is None where the student has left; `answer` where it cannot be read by the rubric that
    judged it, and `rubric` where that one is not there any more. `names` are those of people by id.
    """

    member: MemberLine | None
    rubric: Rubric | None
    publication: PublicationLine
    is_in_force: bool
    variant: Variant | None
    answer: Answer | None
    judgements: tuple[JudgementLine, ...]
    receipt: Receipt
    is_signed: bool
    reviews: tuple[ReviewLine, ...]
    grade: GradeLine | None
    overrides: tuple[OverrideLine, ...]
    external_scores: tuple[ExternalScoreLine, ...]
    audit: tuple[AuditLine, ...]
    names: dict[str, str]


def load_attempt_details(
    session: Session, context: GradingContext, found: VisibleAttempt
) -> AttemptDetails:
    """Look everything up; the caller has seen that whoever asks is staff."""
    attempt, part = found.attempt, found.attempt.part
    rubric = _find_rubric(session, context, found)
    variant = _find_variant(session, found, rubric)
    receipt = Receipt.model_validate(found.judgement.receipt)
    reviews = list_reviews(session, attempt_ids=[attempt.id])
    overrides = list_overrides(session, student_questions=[part])
    external = list_external_scores(session, student_questions=[part])
    audit = _audit(session, found)
    people = {each.by for line in (reviews, overrides, external, audit) for each in line}
    return AttemptDetails(
        member=find_member(session, run_id=attempt.run_id, login=attempt.enrolment_id),
        rubric=rubric,
        publication=get_publication(session, publication_id=attempt.publication_id),
        is_in_force=found.published.line.id == attempt.publication_id,
        variant=variant,
        answer=_read(found, rubric, variant),
        judgements=_judgements(session, found),
        receipt=receipt,
        is_signed=PublicKeys(session).have_signed(receipt),
        reviews=tuple(reviews),
        grade=find_grades(session, parts=[part]).get(part),
        overrides=tuple(overrides),
        external_scores=tuple(external),
        audit=audit,
        names=_names(session, people),
    )


def _find_rubric(session: Session, context: GradingContext, found: VisibleAttempt) -> Rubric | None:
    """The rubric that the newest judgement is by: of the attempt's publication, or a later one."""
    attempt, judgement = found.attempt, found.judgement
    wanted = (judgement.rubric_version, judgement.receipt["used_rubric"])
    lines = list_publications(session, run_id=attempt.run_id, assignment=attempt.assignment)
    for line in sorted(lines, key=lambda each: each.id != attempt.publication_id):
        rubric = context.published(session, line).assignment.rubrics.get(attempt.question)
        if rubric and wanted == rubric.versions:
            return rubric
    return None


def _find_variant(session: Session, found: VisibleAttempt, rubric: Rubric | None) -> Variant | None:
    if rubric is None:
        return None
    source = rubric.question.source
    key = (found.attempt.enrolment_id, source.id, source.revision)
    shown = find_variants(session, wanted=[key]).get(key)
    return decode_variant(found.attempt.enrolment_id, shown.drawn) if shown else None


def _read(found: VisibleAttempt, rubric: Rubric | None, variant: Variant | None) -> Answer | None:
    if rubric is None or variant is None:
        return None
    try:
        fields = rubric.question.fields
        return read_answer(found.attempt.answer, fields, variant.environment)
    except StudentError:
        return None


def _judgements(session: Session, found: VisibleAttempt) -> tuple[JudgementLine, ...]:
    stored = find_stored_attempts(session, ids=[found.attempt.id]).get(found.attempt.id)
    return tuple(stored.judgements) if isinstance(stored, StoredAttempt) else (found.judgement,)


def _audit(session: Session, found: VisibleAttempt) -> tuple[AuditLine, ...]:
    """What was done about the attempt, or about the student in this question or assignment."""
    attempt = found.attempt
    lines = list_audit_about(
        session, run_id=attempt.run_id, subjects=[attempt.id, attempt.enrolment_id]
    )
    return tuple(each for each in lines if _is_about(each, found))


def _is_about(line: AuditLine, found: VisibleAttempt) -> bool:
    attempt = found.attempt
    if line.subject == attempt.id:
        return True
    about = line.details if isinstance(line.details, dict) else {}
    return (
        about.get("question") == f"{attempt.assignment}/{attempt.question}"
        or about.get("assignment") == attempt.assignment
    )


def _names(session: Session, ids: Iterable[str]) -> dict[str, str]:
    names = {}
    for each in ids:
        try:
            names[each] = get_person(session, person_id=each).name
        except NotFound:
            # A service token, or the operator at the machine.
            names[each] = each
    return names


def replay_attempt(
    session: Session, context: GradingContext, found: VisibleAttempt
) -> Replay | None:
    """Judge an attempt again by what is stored, and compare; nothing is changed.

    None where the rubric or the variant that it was judged by is not there any more.
    """
    attempt, judgement = found.attempt, found.judgement
    rubric = _find_rubric(session, context, found)
    variant = _find_variant(session, found, rubric)
    if rubric is None or variant is None:
        return None
    receipt = Receipt.model_validate(judgement.receipt)
    public = _public_key(session, receipt.key)
    bundle = compose_bundle(
        rubric=rubric,
        receipt=receipt,
        public_key=public,
        answer=attempt.answer,
        variant=variant,
        verdicts=list_verdicts(decode_judgement(judgement).verdicts),
        uses=_earlier(session, found, rubric),
        keys=context.keys(session, run_id=attempt.run_id),
    )
    checks = replay_bundle(bundle, key=public).checks
    # Whose key it is says the signature here: only keys of this service were looked for.
    return Replay(tuple(each for each in checks if each.name != "signer"))


def _public_key(session: Session, key_id: str | None) -> str | None:
    private = list_signing_keys(session).get(key_id or "")
    return SigningKey.from_bytes(private).public if private else None


def _earlier(session: Session, found: VisibleAttempt, rubric: Rubric) -> EarlierQuestion | None:
    if rubric.earlier is None or found.attempt.uses_attempt_id is None:
        return None
    used = find_judged(session, attempt_id=found.attempt.uses_attempt_id)
    return EarlierQuestion(
        question=rubric.earlier.id,
        answer=used[0].answer if used else None,
        is_own=found.judgement.uses == "own",
    )
