"""Acknowledged attempts: what clients were told is still there, word for word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from grader.feedback.receipt import Receipt, hash_answer
from grader.grading.audit.findings import AuditCheck
from grader.grading.audit.judgements import PublicKeys
from grader.grading.signing import to_withheld_receipt
from grader.store.database import Session
from grader.store.queries.verification import StoredAttempt, find_stored_attempts
from grader.store.rows import UnreadableRow

# So many lines are compared at once.
_BATCH_SIZE = 200


class _AcknowledgedAttempt(BaseModel):
    """What a client was told: the body of an attempt, of which id and receipt are needed."""

    # A body has much more, which the receipt vouches for.
    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    receipt: Receipt
    number: int | None = None
    question: str | None = None
    answer: Any = None
    uses_attempt: str | None = None


@dataclass(frozen=True, slots=True)
class _NumberedLine:
    place: int
    told: _AcknowledgedAttempt


def check_acknowledged(
    session: Session, lines: Iterable[bytes], keys: PublicKeys, tally: AuditCheck
) -> None:
    """Compare each line of JSON with what is stored; empty lines are left out."""
    read = _read(lines, tally)
    while some := list(islice(read, _BATCH_SIZE)):
        stored = find_stored_attempts(session, ids=[each.told.id for each in some])
        for each in some:
            for text in _faults(each.told, stored.get(each.told.id), keys):
                tally.differs(each.told.id, f"{text} (line {each.place})")


def _read(lines: Iterable[bytes], tally: AuditCheck) -> Iterator[_NumberedLine]:
    for place, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        tally.look()
        try:
            yield _NumberedLine(place, _AcknowledgedAttempt.model_validate(orjson.loads(raw)))
        except ValidationError:
            tally.differs(f"line {place}", "This is not what a client gets for an attempt.")
        except ValueError:
            tally.differs(f"line {place}", "This line is no JSON.")


def _faults(
    told: _AcknowledgedAttempt, stored: StoredAttempt | UnreadableRow | None, keys: PublicKeys
) -> Iterator[str]:
    if not keys.have_signed(told.receipt):
        yield "The receipt has no valid signature of this service."
    if stored is None:
        yield "The attempt is not there."
        return
    if isinstance(stored, UnreadableRow):
        yield "The attempt cannot be read."
        return
    wrong = [*_disagreeing(told, stored), *_disagreeing_receipt(told.receipt, stored)]
    if wrong:
        yield f"The client was told otherwise: {', '.join(sorted(set(wrong)))}."


def _disagreeing(told: _AcknowledgedAttempt, stored: StoredAttempt) -> Iterator[str]:
    """The names of what the attempt itself says otherwise."""
    attempt, receipt = stored.attempt, told.receipt
    is_so = {
        "attempt": attempt.id,
        "course": attempt.run_id,
        "question": f"{attempt.assignment}/{attempt.question}",
        "variant": attempt.enrolment_id,
        "received_at": attempt.received_at,
        # What was sent is hashed anew: a stored hash may have been changed along with it.
        "answer": hash_answer(attempt.answer),
        "number": attempt.number,
        "uses_attempt": attempt.uses_attempt_id,
    }
    said = [(name, getattr(receipt, name)) for name in is_so if name in Receipt.model_fields]
    # The shorter form of a line has nothing but the receipt.
    for name in told.model_fields_set & {"number", "question", "uses_attempt"}:
        said.append((name, getattr(told, name)))
    if "answer" in told.model_fields_set:
        said.append(("answer", hash_answer(told.answer)))
    return (name for name, value in said if value != is_so[name])


def _disagreeing_receipt(told: Receipt, stored: StoredAttempt) -> list[str]:
    """The names of what is otherwise in the stored receipt that is most like it.

    After a regrade there are several. A client may have got one that withheld the result, and a
    newer key may have signed it.
    """
    differences = []
    for judgement in stored.judgements:
        try:
            kept = Receipt.model_validate(judgement.receipt)
        except ValidationError:
            continue
        whole = _different(told, kept)
        differences.append(min(whole, _different(told, to_withheld_receipt(kept)), key=len))
    if not differences:
        return ["receipt"]
    return min(differences, key=len)


def _different(one: Receipt, other: Receipt) -> list[str]:
    names = [each for each in Receipt.model_fields if each not in ("key", "signature")]
    return [each for each in names if getattr(one, each) != getattr(other, each)]
