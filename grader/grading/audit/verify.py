"""The store's own audit: whether all that was acknowledged, limited and graded is so.

It only reads, and sees one state of things, so that it can run beside a live service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from grader.grading.audit.acknowledged import check_acknowledged
from grader.grading.audit.attempts import check_attempts
from grader.grading.audit.chain import EMPTY_CHAIN, ChainHead, check_chain, check_stored_responses
from grader.grading.audit.findings import (
    AuditCheck,
    AuditCheckResult,
    Discrepancy,
    ProgressCallback,
)
from grader.grading.audit.grades import check_grades, check_totals
from grader.grading.audit.judgements import PublicKeys, check_judgements
from grader.grading.audit.rejudging import RejudgeSample, check_rejudged
from grader.grading.audit.rules import PublicationRules, check_rubrics
from grader.grading.context import GradingContext
from grader.store.database import Session
from grader.store.queries.verification import (
    count_rows,
    list_self_checks,
    run_self_check,
)
from grader.store.rows import DamagedDatabase, raise_on_damage

__all__ = [
    "AuditCheckResult",
    "ChainHead",
    "Discrepancy",
    "RejudgeSample",
    "Verification",
    "count_steps",
    "verify",
]


@dataclass(frozen=True, slots=True)
class Verification:
    """All checks in order, and the head of the audit chain, to be kept elsewhere."""

    checks: tuple[AuditCheckResult, ...]
    head: ChainHead

    @property
    def is_fine(self) -> bool:
        """Whether no check found anything."""
        return all(each.is_fine for each in self.checks)


def count_steps(session: Session, *, sample: RejudgeSample | None = None) -> int:
    """About how many things are looked at, those of a list of acknowledged attempts aside."""
    sizes = count_rows(session)
    again = 0
    if sample is not None:
        attempts = sizes["attempts"]
        again = attempts if sample.most is None else min(sample.most, attempts)
    return sum(sizes.values()) + again


def verify(
    session: Session,
    context: GradingContext,
    *,
    acknowledged: Iterable[bytes] | None = None,
    head: ChainHead | None = None,
    sample: RejudgeSample | None = None,
    tell: ProgressCallback = lambda _name, _count: None,
) -> Verification:
    """Look at everything that is stored.

    Parameters
    ----------
    acknowledged
        What clients were told, a JSON document in each line, to be compared with what is stored.
    head
        An earlier head of the audit chain, which must still be in it.
    sample
        Which attempts to judge again; None judges none.
    tell
        Hears how far it is.
    """
    work = _Verifier(session, tell)
    work.run("database", work.ask_database)
    rules, keys = PublicationRules(session, context), PublicKeys(session)
    if acknowledged is not None:
        work.run(
            "acknowledged", lambda tally: check_acknowledged(session, acknowledged, keys, tally)
        )
    work.run("rubrics", lambda tally: check_rubrics(session, rules, tally))
    work.run("attempts", lambda tally: check_attempts(session, rules, tally))
    work.run("judgements", lambda tally: check_judgements(session, keys, tally))
    work.run("grades", lambda tally: check_grades(session, rules, tally))
    work.run("totals", lambda tally: check_totals(session, tally))
    work.run("audit chain", lambda tally: work.follow_chain(head, tally))
    work.run("idempotency", lambda tally: check_stored_responses(session, tally))
    if sample is not None:
        work.run("judged again", lambda tally: check_rejudged(session, rules, sample, tally))
    return Verification(tuple(work.done), work.head)


@dataclass(slots=True)
class _Verifier:
    """A verification at work."""

    session: Session
    tell: ProgressCallback
    done: list[AuditCheckResult] = field(default_factory=list)
    head: ChainHead = EMPTY_CHAIN

    def run(self, name: str, check: Callable[[AuditCheck], None]) -> None:
        """Run one check; damage ends it, and the next one is tried all the same."""
        tally = AuditCheck(name, self.tell)
        try:
            with raise_on_damage():
                check(tally)
        except DamagedDatabase as damage:
            tally.differs("database", f"It cannot be read any further: {damage}.")
        self.done.append(tally.checked())

    def ask_database(self, tally: AuditCheck) -> None:
        """What the database itself finds wrong."""
        for each in list_self_checks(self.session):
            tally.look()
            for subject, text in run_self_check(self.session, each):
                tally.differs(subject, text)

    def follow_chain(self, known: ChainHead | None, tally: AuditCheck) -> None:
        """The audit chain, whose head is kept."""
        self.head = check_chain(self.session, known, tally)
