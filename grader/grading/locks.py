"""Who waits for whom: changes to a student's grades for each other, publishing for all of them.

Locks are taken in one order everywhere, so that two transactions never wait for each other: the
assignment, then students and keys, then the audit chain. The exception is a key that comes with two
kinds of requests at once; then PostgreSQL ends one of them, and its sender is told to try again.
"""

from __future__ import annotations

from collections.abc import Iterable

from grader.grading.idempotency import IdempotencyKey
from grader.store.database import Session, lock, lock_shared


def lock_students(
    session: Session,
    pairs: Iterable[tuple[str, str]],
    *,
    run_ids: Iterable[str],
    keys: Iterable[IdempotencyKey] = (),
) -> None:
    """Lock students' grades in assignments, and idempotency keys, until the end of the transaction.

    `pairs` are enrolments with assignments. Nothing is published there meanwhile.
    """
    owners = set(pairs)
    runs = set(run_ids)
    lock_shared(session, [_assignment_lock(run, each) for run in runs for _, each in owners])
    names = [f"attempts {enrolment_id} {assignment}" for enrolment_id, assignment in owners]
    lock(session, names + [key.lock_name for key in keys])


def lock_uploads(session: Session, *, enrolment_id: str) -> None:
    """Lock a student's files, so that two uploads at once never exceed a cap together."""
    lock(session, [f"uploads {enrolment_id}"])


def lock_assignment(session: Session, *, run_id: str, assignment: str) -> None:
    """Wait until no grade of an assignment is being changed, and keep it so until the end."""
    lock(session, [_assignment_lock(run_id, assignment)])


def _assignment_lock(run_id: str, assignment: str) -> str:
    return f"publish {run_id} {assignment}"
