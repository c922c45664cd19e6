"""The store's own audit: whether all that was acknowledged, limited and graded is so.

It only reads, and sees one state of things, so that it can run beside a live service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from grader.grading.audit.acknowledged import check_acknowledged
from grader.grading.audit.attempts import check_attempts
from grader.grading.audit.chain import NO_ENTRY, Head, check_answered, check_chain
from grader.grading.audit.derived import check_derived
from grader.grading.audit.findings import Checked, Discrepancy, Tally, Tell
from grader.grading.audit.grades import check_grades
from grader.grading.audit.judgements import PublicKeys, check_judgements
from grader.grading.audit.rejudging import Sample, check_again
from grader.grading.audit.rules import Rules, check_rubrics
from grader.grading.context import Desk
from grader.store.database import Session
from grader.store.queries.derived import count_totals_kept
from grader.store.queries.raw_rows import Damage, noticing_damage
from grader.store.queries.verification import ask_database, count_rows, list_self_checks

__all__ = ["Checked", "Discrepancy", "Head", "Sample", "Verification", "count_steps", "verify"]


@dataclass(frozen=True, slots=True)
class Verification:
    """All checks in order, and the head of the audit chain, to be kept elsewhere."""

    checks: tuple[Checked, ...]
    head: Head

    @property
    def is_fine(self) -> bool:
        """Whether no check found anything."""
        return all(each.is_fine for each in self.checks)


def count_steps(session: Session, *, sample: Sample | None = None) -> int:
    """About how many things are looked at, those of a list of acknowledged attempts aside."""
    sizes = count_rows(session)
    again = 0
    if sample is not None:
        again = sizes.attempts if sample.most is None else min(sample.most, sizes.attempts)
    return (
        sizes.attempts
        + sizes.judgements
        + sizes.rubric_texts
        + sizes.publications
        + sizes.grades
        + count_totals_kept(session)
        + sizes.audit
        + sizes.answered
        + again
    )


def verify(
    session: Session,
    desk: Desk,
    *,
    acknowledged: Iterable[bytes] | None = None,
    head: Head | None = None,
    sample: Sample | None = None,
    tell: Tell = lambda _name, _count: None,
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
    work = _Work(session, tell)
    work.run("database", work.ask_database)
    rules, keys = Rules(session, desk), PublicKeys(session)
    if acknowledged is not None:
        work.run(
            "acknowledged", lambda tally: check_acknowledged(session, acknowledged, keys, tally)
        )
    work.run("rubrics", lambda tally: check_rubrics(session, rules, tally))
    work.run("attempts", lambda tally: check_attempts(session, rules, tally))
    work.run("judgements", lambda tally: check_judgements(session, keys, tally))
    work.run("grades", lambda tally: check_grades(session, rules, tally))
    work.run("totals", lambda tally: check_derived(session, tally))
    work.run("audit chain", lambda tally: work.follow_chain(head, tally))
    work.run("idempotency", lambda tally: check_answered(session, tally))
    if sample is not None:
        work.run("judged again", lambda tally: check_again(session, rules, sample, tally))
    return Verification(tuple(work.done), work.head)


@dataclass(slots=True)
class _Work:
    """A verification at work."""

    session: Session
    tell: Tell
    done: list[Checked] = field(default_factory=list)
    head: Head = NO_ENTRY

    def run(self, name: str, check: Callable[[Tally], None]) -> None:
        """Run one check; damage ends it, and the next one is tried all the same."""
        tally = Tally(name, self.tell)
        try:
            with noticing_damage():
                check(tally)
        except Damage as damage:
            tally.differs("database", f"It cannot be read any further: {damage}.")
        self.done.append(tally.checked())

    def ask_database(self, tally: Tally) -> None:
        """What the database itself finds wrong."""
        for each in list_self_checks(self.session):
            tally.look()
            for subject, text in ask_database(self.session, each):
                tally.differs(subject, text)

    def follow_chain(self, known: Head | None, tally: Tally) -> None:
        """The audit chain, whose head is kept."""
        self.head = check_chain(self.session, known, tally)
