"""Judgements: every attempt has one, its points add up, and its receipt matches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError

from grader.domain.verdicts import Verdict, combine
from grader.feedback.receipt import Receipt, hash_verdicts, list_verdicts
from grader.grading.audit.findings import AuditCheck
from grader.grading.serialize import EncodedJudgement, decode_judgement, hash_record
from grader.grading.signing import SigningKey, verify_signature
from grader.store.database import Session
from grader.store.queries.attempts import JudgementLine
from grader.store.queries.audit import list_signing_keys
from grader.store.queries.verification import JudgedLine, stream_judgements, stream_orphans
from grader.store.rows import UnreadableRow

#: Errors of reading verdicts that were changed in the store.
_ILL_FORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(slots=True)
class PublicKeys:
    """The public keys of all keys that ever signed, loaded on first use."""

    session: Session
    _known: dict[str, str] | None = None

    def have_signed(self, receipt: Receipt) -> bool:
        """Whether the service signed this receipt."""
        if self._known is None:
            self._known = dict(_public_keys(self.session))
        public = self._known.get(receipt.key or "")
        return public is not None and verify_signature(receipt, public)


def _public_keys(session: Session) -> Iterator[tuple[str, str]]:
    # Those that are sealed by another key are reported on their own.
    for private in list_signing_keys(session, skip_sealed=True).values():
        # A damaged key has signed nothing.
        with suppress(TypeError, ValueError):
            key = SigningKey.from_bytes(private)
            yield key.id, key.public


def check_judgements(session: Session, keys: PublicKeys, tally: AuditCheck) -> None:
    """Check every judgement."""
    attempt_id, number = "", 0
    for line in stream_judgements(session):
        tally.count()
        if isinstance(line, UnreadableRow):
            tally.report(line.id, "A judgement of this attempt cannot be read.")
            attempt_id, number = line.id, -1
            continue
        if line.attempt_id != attempt_id:
            attempt_id, number = line.attempt_id, 0
        if line.judgement is None:
            tally.report(line.attempt_id, "This attempt has no judgement.")
            continue
        if number >= 0 and line.judgement.number != number + 1:
            text = f"Its number is {line.judgement.number}, but {number + 1} is next."
            tally.report(line.judgement.id, text)
        number = line.judgement.number
        for text in _faults(line, line.judgement, keys):
            tally.report(line.judgement.id, text)
    for orphan, missing in stream_orphans(session):
        tally.report(orphan, f"Its attempt {missing} does not exist.")


def _faults(line: JudgedLine, judgement: JudgementLine, keys: PublicKeys) -> Iterator[str]:
    if line.judgement_run_id != line.run_id:
        yield "It belongs to another course run than its attempt."
    if judgement.rubric_version != line.published_version:
        by = "in force for the attempt" if judgement.number == 1 else "of its regrade"
        yield f"It was judged by another rubric than the one {by}."
    if (judgement.number == 1) != (judgement.regrade_id is None):
        yield "Only the first judgement of an attempt belongs to no regrade."
    try:
        verdicts = decode_judgement(judgement).verdicts
    except _ILL_FORMED:
        yield "Its verdicts cannot be read."
        return
    yield from _wrong_sums(judgement, verdicts)
    try:
        receipt = Receipt.model_validate(judgement.receipt)
    except ValidationError:
        yield "Its receipt cannot be read."
        return
    if not keys.have_signed(receipt):
        yield "Its receipt has no valid signature of this service."
    wrong = list(_disagreeing(line, judgement, verdicts, receipt))
    if wrong:
        yield f"Its receipt does not agree with what is stored: {', '.join(wrong)}."


def _wrong_sums(judgement: JudgementLine, verdicts: tuple[Verdict, ...]) -> Iterator[str]:
    score = combine(verdicts)
    facts = {
        "awarded": (judgement.awarded, score.awarded),
        "possible": (judgement.possible, score.possible),
        "pending": (judgement.pending, score.pending),
    }
    for name, (stored, summed) in facts.items():
        if stored != summed:
            yield f"{stored:f} points are {name}, but its verdicts add up to {summed:f}."
    if judgement.needs_person != any(each.needs_person for each in verdicts):
        yield "Whether a person must look does not follow from its verdicts."


def _hash_record(line: JudgedLine, judgement: JudgementLine) -> str:
    verdicts, misconceptions = line.documents or ("", "")
    encoded = EncodedJudgement(verdicts.encode(), misconceptions.encode())
    return hash_record(
        encoded,
        line,
        stored_at=line.stored_at,
        judged_at=judgement.judged_at,
        regrade_id=judgement.regrade_id,
    )


def _disagreeing(
    line: JudgedLine, judgement: JudgementLine, verdicts: tuple[Verdict, ...], receipt: Receipt
) -> Iterator[str]:
    """The fields in which a receipt differs from the store."""
    facts = {
        "attempt": line.attempt_id,
        "course": line.run_id,
        "question": f"{line.assignment}/{line.question}",
        "variant": line.enrolment_id,
        "received_at": line.received_at,
        "answer": line.answer_digest,
        "rubric": judgement.rubric_version,
        "used_answer": line.used.answer_digest if line.used else "",
        "verdicts": hash_verdicts(list_verdicts(verdicts)),
        "score": judgement.awarded,
        "max_score": judgement.possible,
    }
    if receipt.judgement is not None:
        facts["judgement"] = _hash_record(line, judgement)
    for name, stored in facts.items():
        if getattr(receipt, name) != stored:
            yield name
    whose = {"": None, "reference": "reference"}.get(receipt.used, "own")
    if whose != judgement.uses:
        yield "used"
