"""The audit chain as tests read it."""

from __future__ import annotations

from grader.store.database import Session
from grader.store.queries.audit import AuditLine
from grader.store.queries.verification import stream_audit_chain


def list_audit_entries(session: Session) -> list[AuditLine]:
    """All entries in order, every one of them readable."""
    lines = []
    for line in stream_audit_chain(session):
        assert isinstance(line, AuditLine)
        lines.append(line)
    return lines
