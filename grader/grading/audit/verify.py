"""The store's own audit: whether acknowledged attempts, limits, grades and the chain are intact.

It only reads, and sees one snapshot, so it can run beside a live service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from grader.grading.audit.attempts import check_acknowledged, check_attempts
from grader.grading.audit.chain import EMPTY_CHAIN, ChainHead, check_chain, check_stored_responses
from grader.grading.audit.findings import AuditCheck, AuditCheckResult, ProgressCallback
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


@dataclass(frozen=True, slots=True)
class Verification:
    """The results of all checks, and the head of the audit chain, to be kept elsewhere."""

    checks: tuple[AuditCheckResult, ...]
    head: ChainHead

    @property
    def is_fine(self) -> bool:
        """Whether no check found anything."""
        return all(each.is_fine for each in self.checks)


def count_steps(session: Session, *, sample: RejudgeSample | None = None) -> int:
    """About how many things are checked, without a list of acknowledged attempts."""
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
    progress: ProgressCallback = lambda _name, _count: None,
) -> Verification:
    """Check everything that is stored.

    Parameters
    ----------
    acknowledged
        Responses that clients received, one JSON document per line, to compare with the store.
    head
        An earlier head of the audit chain, which must still be in it.
    sample
        Which attempts to judge again; None judges none.
    progress
        Called as things are checked.
    """
    work = _Verifier(progress)
    new_head = EMPTY_CHAIN

    def follow_chain(tally: AuditCheck) -> None:
        nonlocal new_head
        new_head = check_chain(session, head, tally)

    work.run("database", lambda tally: _check_database(session, tally))
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
    work.run("audit chain", follow_chain)
    work.run("idempotency", lambda tally: check_stored_responses(session, tally))
    if sample is not None:
        work.run("judged again", lambda tally: check_rejudged(session, rules, sample, tally))
    return Verification(tuple(work.done), new_head)


@dataclass(slots=True)
class _Verifier:
    """Runs checks one after the other and collects their results."""

    progress: ProgressCallback
    done: list[AuditCheckResult] = field(default_factory=list)

    def run(self, name: str, check: Callable[[AuditCheck], None]) -> None:
        """Run one check; a damaged database ends this check, not the next one."""
        tally = AuditCheck(name, self.progress)
        try:
            with raise_on_damage():
                check(tally)
        except DamagedDatabase as damage:
            tally.report("database", f"The rest cannot be read: {damage}.")
        self.done.append(tally.to_result())


def _check_database(session: Session, tally: AuditCheck) -> None:
    """Report what the database itself finds wrong."""
    for each in list_self_checks(session):
        tally.count()
        for subject, text in run_self_check(session, each):
            tally.report(subject, text)
