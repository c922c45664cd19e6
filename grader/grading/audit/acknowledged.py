"""Acknowledged attempts: the responses that clients received still match the store."""

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

_BATCH_SIZE = 200


class _AcknowledgedAttempt(BaseModel):
    """The response to an attempt; only its id and its receipt are required."""

    # A response has many more fields, which the receipt covers.
    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    receipt: Receipt
    number: int | None = None
    question: str | None = None
    answer: Any = None
    uses_attempt: str | None = None


@dataclass(frozen=True, slots=True)
class _NumberedLine:
    number: int
    response: _AcknowledgedAttempt


def check_acknowledged(
    session: Session, lines: Iterable[bytes], keys: PublicKeys, tally: AuditCheck
) -> None:
    """Compare each line of JSON with the store; empty lines are skipped."""
    read = _read(lines, tally)
    while batch := list(islice(read, _BATCH_SIZE)):
        stored = find_stored_attempts(session, ids=[each.response.id for each in batch])
        for each in batch:
            response = each.response
            for text in _describe_discrepancies(response, stored.get(response.id), keys):
                tally.report(response.id, f"{text} (line {each.number})")


def _read(lines: Iterable[bytes], tally: AuditCheck) -> Iterator[_NumberedLine]:
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        tally.count()
        try:
            yield _NumberedLine(number, _AcknowledgedAttempt.model_validate(orjson.loads(raw)))
        except ValidationError:
            tally.report(f"line {number}", "This is not the response to an attempt.")
        except ValueError:
            tally.report(f"line {number}", "This line is not JSON.")


def _describe_discrepancies(
    response: _AcknowledgedAttempt, stored: StoredAttempt | UnreadableRow | None, keys: PublicKeys
) -> Iterator[str]:
    if not keys.have_signed(response.receipt):
        yield "The receipt has no valid signature of this service."
    if stored is None:
        yield "The attempt is missing."
        return
    if isinstance(stored, UnreadableRow):
        yield "The attempt cannot be read."
        return
    different = {
        *_list_different_fields(response, stored),
        *_list_different_receipt_fields(response.receipt, stored),
    }
    if different:
        yield f"The client's copy differs: {', '.join(sorted(different))}."


def _list_different_fields(response: _AcknowledgedAttempt, stored: StoredAttempt) -> Iterator[str]:
    """The fields in which the stored attempt differs from the response."""
    attempt, receipt = stored.attempt, response.receipt
    expected = {
        "attempt": attempt.id,
        "course": attempt.run_id,
        "question": f"{attempt.assignment}/{attempt.question}",
        "variant": attempt.enrolment_id,
        "received_at": attempt.received_at,
        # The answer is hashed again: the stored hash may have been changed along with it.
        "answer": hash_answer(attempt.answer),
        "number": attempt.number,
        "uses_attempt": attempt.uses_attempt_id,
    }
    got = [(name, getattr(receipt, name)) for name in expected if name in Receipt.model_fields]
    # The short form of a line has the receipt alone.
    for name in response.model_fields_set & {"number", "question", "uses_attempt"}:
        got.append((name, getattr(response, name)))
    if "answer" in response.model_fields_set:
        got.append(("answer", hash_answer(response.answer)))
    return (name for name, value in got if value != expected[name])


def _list_different_receipt_fields(receipt: Receipt, stored: StoredAttempt) -> list[str]:
    """The fields in which the most similar stored receipt differs.

    A regrade adds receipts. A client may have received one without the result, or one signed by a
    newer key.
    """
    differences = []
    for judgement in stored.judgements:
        try:
            kept = Receipt.model_validate(judgement.receipt)
        except ValidationError:
            continue
        whole = _different(receipt, kept)
        differences.append(min(whole, _different(receipt, to_withheld_receipt(kept)), key=len))
    if not differences:
        return ["receipt"]
    return min(differences, key=len)


def _different(one: Receipt, other: Receipt) -> list[str]:
    names = [each for each in Receipt.model_fields if each not in ("key", "signature")]
    return [each for each in names if getattr(one, each) != getattr(other, each)]
