"""The audit chain, and the responses stored for repeated requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from grader.grading.audit.findings import AuditCheck
from grader.store.database import Session
from grader.store.queries.audit import GENESIS_DIGEST, AuditLine, hash_entry
from grader.store.queries.idempotency import hash_body
from grader.store.queries.verification import (
    find_attempt_ids,
    stream_answered_requests,
    stream_audit_chain,
)
from grader.store.rows import UnreadableRow

_BATCH_SIZE = 200


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The end of the audit chain at some time: the number and the digest of its last entry."""

    number: int
    digest: str

    def __str__(self) -> str:
        return f"{self.number}:{self.digest}"


#: The head of a chain without entries.
EMPTY_CHAIN = ChainHead(0, GENESIS_DIGEST)


def check_chain(session: Session, known: ChainHead | None, tally: AuditCheck) -> ChainHead:
    """Compute every entry's digest again; an earlier head must still be in the chain.

    Returns the head of the chain: only a head kept elsewhere shows that the end was cut off.
    """
    head, is_there = EMPTY_CHAIN, known in (None, EMPTY_CHAIN)
    previous: str | None = GENESIS_DIGEST
    for line in stream_audit_chain(session):
        tally.count()
        if isinstance(line, UnreadableRow):
            tally.report(line.id, "This entry cannot be read.")
            previous = None
            continue
        for text in _faults(line, head.number, previous):
            tally.report(str(line.number), text)
        head, previous = ChainHead(line.number, line.digest), line.digest
        is_there |= known == head
    if not is_there and known is not None:
        tally.report(str(known.number), "The given head is no longer in the chain.")
    return head


def _faults(line: AuditLine, number: int, previous: str | None) -> Iterator[str]:
    # After an unreadable entry, the number and digest before are unknown.
    if previous is not None and line.number != number + 1:
        yield f"The entry before has the number {number}; entries are missing between them."
    if previous is not None and line.previous != previous:
        yield "It is not chained to the entry before."
    try:
        digest = hash_entry(line)
    except (TypeError, ValueError):
        digest = ""
    if line.digest != digest:
        yield "Its digest does not match its content."


def check_stored_responses(session: Session, tally: AuditCheck) -> None:
    """Check that the attempts named in stored responses exist."""
    lines = stream_answered_requests(session)
    while batch := list(islice(lines, _BATCH_SIZE)):
        tally.count(len(batch))
        named: list[tuple[str, str]] = []
        for line in batch:
            if isinstance(line, UnreadableRow):
                tally.report(line.id, "The stored response to this key cannot be read.")
                continue
            key, digest, body = line
            if body is None:
                tally.report(key, "The stored response to this key is missing.")
                continue
            if hash_body(body) != digest:
                tally.report(key, "The stored response to this key does not match its digest.")
            try:
                named.extend((key, each) for each in _find_attempt_ids(orjson.loads(body)))
            except ValueError:
                tally.report(key, "The stored response to this key is not JSON.")
        there = find_attempt_ids(session, ids=[attempt for _, attempt in named])
        for key, attempt in dict.fromkeys(named):
            if attempt not in there:
                text = f"The response to this key names attempt {attempt}, which is missing."
                tally.report(key, text)


#: The fields of a response that name attempts.
_ATTEMPT_FIELDS = ("id", "attempt", "counted_attempt", "uses_attempt", "repeats_attempt")


def _find_attempt_ids(data: Any) -> Iterator[str]:
    """The ids of attempts that a response names; the student's own answer is not searched."""
    if isinstance(data, list):
        for each in data:
            yield from _find_attempt_ids(each)
    if not isinstance(data, dict):
        return
    for name, value in data.items():
        if isinstance(value, str) and name in _ATTEMPT_FIELDS:
            if name != "id" or value.startswith("att_"):
                yield value
        elif name != "answer":
            yield from _find_attempt_ids(value)
