"""The store's own audit: whether acknowledged attempts, limits, grades and the chain are intact.

It only reads, and sees one snapshot, so it can run beside a live service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby, islice
from operator import itemgetter

from grader.errors import KeysetError
from grader.grading.audit.attempts import check_acknowledged, check_attempts
from grader.grading.audit.chain import EMPTY_CHAIN, ChainHead, check_chain, check_stored_responses
from grader.grading.audit.findings import AuditCheck, AuditCheckResult, ProgressCallback
from grader.grading.audit.judgements import PublicKeys, check_judgements
from grader.grading.audit.rejudging import RejudgeSample, check_rejudged
from grader.grading.audit.rules import PublicationRules, check_rubrics
from grader.grading.audit.state import check_state
from grader.grading.audit.uploads import StoredFiles, check_uploads
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.grades.settle import (
    compute_standings,
    lacks_counted_points,
    load_events,
    make_grade_line,
)
from grader.store.database import Session
from grader.store.queries.attempts import StudentQuestion
from grader.store.queries.grades import GradeLine, find_grades
from grader.store.queries.secrets import SecretLine, stream_secrets
from grader.store.queries.verification import (
    StoredTotal,
    count_rows,
    list_self_checks,
    run_self_check,
    stream_login_mismatches,
    stream_other_rows,
    stream_student_questions,
    stream_totals,
)
from grader.store.rows import DamagedDatabase, raise_on_damage, tolerate_bad_text


@dataclass(frozen=True, slots=True)
class Verification:
    """The results of all checks, and the head of the audit chain, to be kept elsewhere.

    `recorded_at` is when the rows of an older store were recorded in the chain; None if every row
    was when it was made.
    """

    checks: tuple[AuditCheckResult, ...]
    head: ChainHead
    recorded_at: datetime | None = None

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
    """Check everything that is stored; a row that cannot be read is reported, and ends nothing.

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
    with tolerate_bad_text(session):
        return _verify(session, context, acknowledged, head, sample, _Verifier(progress))


def _verify(
    session: Session,
    context: GradingContext,
    acknowledged: Iterable[bytes] | None,
    head: ChainHead | None,
    sample: RejudgeSample | None,
    work: _Verifier,
) -> Verification:
    new_head, recorded_at = EMPTY_CHAIN, None
    files: StoredFiles = set()

    def follow_chain(tally: AuditCheck) -> None:
        nonlocal new_head
        new_head = check_chain(session, head, tally)

    def compare_state(tally: AuditCheck) -> None:
        nonlocal recorded_at
        recorded_at = check_state(session, tally)

    work.run("database", lambda tally: _check_database(session, tally))
    rules, keys = PublicationRules(session, context), PublicKeys(session)
    if acknowledged is not None:
        work.run(
            "acknowledged", lambda tally: check_acknowledged(session, acknowledged, keys, tally)
        )
    work.run("rubrics", lambda tally: check_rubrics(session, rules, tally))
    work.run("uploads", lambda tally: check_uploads(session, files, tally))
    work.run("attempts", lambda tally: check_attempts(session, rules, files, tally))
    work.run("judgements", lambda tally: check_judgements(session, keys, tally))
    work.run("grades", lambda tally: check_grades(session, rules, tally))
    work.run("totals", lambda tally: check_totals(session, tally))
    work.run("audit chain", follow_chain)
    work.run("secrets", lambda tally: _check_secrets(session, tally))
    work.run("state", compare_state)
    work.run("other rows", lambda tally: _check_other_rows(session, tally))
    work.run("idempotency", lambda tally: check_stored_responses(session, tally))
    if sample is not None:
        work.run("judged again", lambda tally: check_rejudged(session, rules, sample, tally))
    return Verification(tuple(work.done), new_head, recorded_at)


@dataclass(slots=True)
class _Verifier:
    """Runs checks one after the other and collects their results."""

    progress: ProgressCallback
    done: list[AuditCheckResult] = field(default_factory=list)

    def run(self, name: str, check: Callable[[AuditCheck], None]) -> None:
        """Run one check; what it cannot read at all ends this check, not the next one."""
        tally = AuditCheck(name, self.progress)
        try:
            with raise_on_damage():
                check(tally)
        except DamagedDatabase as damage:
            tally.report("database", f"The rest cannot be read: {damage}.")
        except _ILL_FORMED as error:
            # A row that the check reads without looking: another check names it.
            tally.report(name, f"The rest cannot be checked: {type(error).__name__}: {error}.")
        self.done.append(tally.to_result())


def _check_database(session: Session, tally: AuditCheck) -> None:
    """Report what the database itself finds wrong."""
    for each in list_self_checks(session):
        tally.count()
        for subject, text in run_self_check(session, each):
            tally.report(subject, text)


def _check_secrets(session: Session, tally: AuditCheck) -> None:
    """Report sealed secrets that cannot be opened; another check reports unreadable rows."""
    for line in stream_secrets(session):
        tally.count()
        if isinstance(line, SecretLine) and line.problem:
            tally.report(f"{line.table} {line.row_id}", line.problem)


def _check_other_rows(session: Session, tally: AuditCheck) -> None:
    """Check that the rows can be read that no other check reads whole."""
    for table, row in stream_other_rows(session):
        tally.count()
        if row is not None:
            tally.report(f"{table} {row.id}", "This row cannot be read.")


_BATCH_SIZE = 100

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The fields that only record how often and when a grade changed.
_BOOKKEEPING_FIELDS = ("changes", "changed_at")
_ILL_FORMED = (ArithmeticError, AttributeError, KeysetError, LookupError, TypeError, ValueError)


def check_grades(session: Session, rules: PublicationRules, tally: AuditCheck) -> None:
    """Compute every grade again and compare."""
    for run_id, of_run in groupby(stream_student_questions(session), key=itemgetter(0)):
        parts = (part for _, part in of_run)
        while batch := list(islice(parts, _BATCH_SIZE)):
            tally.count(len(batch))
            if run_id is None:
                for part in batch:
                    tally.report(_name(part), "This student is in no course run.")
            else:
                _check(session, rules, run_id, batch, tally)


def _check(
    session: Session,
    rules: PublicationRules,
    run_id: str,
    parts: Sequence[StudentQuestion],
    tally: AuditCheck,
) -> None:
    assignments: dict[str, PublishedAssignment] = {}
    for name in {assignment for _, assignment, _ in parts}:
        published = rules.in_force(run_id, name)
        if published is not None:
            assignments[name] = published
    known = []
    for part in parts:
        if part[1] in assignments:
            known.append(part)
        else:
            tally.report(_name(part), "No publication is in force to compute it by.")
    for part, text in _compare(session, run_id, known, assignments):
        tally.report(_name(part), text)


def _compare(
    session: Session,
    run_id: str,
    parts: Sequence[StudentQuestion],
    assignments: dict[str, PublishedAssignment],
) -> list[tuple[StudentQuestion, str]]:
    """All differences; if something cannot be read, each grade is computed alone."""
    try:
        return list(_differences(session, run_id, parts, assignments))
    except _ILL_FORMED:
        if len(parts) == 1:
            return [(parts[0], "It cannot be computed from what is stored.")]
        return [each for part in parts for each in _compare(session, run_id, [part], assignments)]


def _differences(
    session: Session,
    run_id: str,
    parts: Sequence[StudentQuestion],
    assignments: dict[str, PublishedAssignment],
) -> Iterator[tuple[StudentQuestion, str]]:
    if not parts:
        return
    events = load_events(session, parts=parts)
    happened = {attempt.part for attempt, _ in events.judged}
    happened |= set(events.overrides) | set(events.external)
    stored = find_grades(session, parts=parts)
    for part, standing in sorted(compute_standings(events, assignments, parts).items()):
        before = stored.get(part)
        now = make_grade_line(run_id, part, standing, before, at=_EPOCH)
        if part not in happened:
            yield part, "There is a grade, but no event that it could come from."
        elif before is None:
            yield part, f"There is no grade, but it should be {_points(now)}."
        elif wrong := _wrong(before, now):
            yield part, f"The grade does not follow from its events: {wrong}."


def _wrong(stored: GradeLine, computed: GradeLine) -> str:
    names = [each for each in GradeLine._fields if each not in _BOOKKEEPING_FIELDS]
    if lacks_counted_points(stored):
        # The next attempt will bring them.
        names = [each for each in names if each not in ("counted_points", "counted_pending")]
    return ", ".join(
        f"{name} is {_format_value(stored, name)} and should be {_format_value(computed, name)}"
        for name in names
        if getattr(stored, name) != getattr(computed, name)
    )


def _format_value(line: GradeLine, name: str) -> str:
    value = getattr(line, name)
    return "nothing" if value is None else f"{value}"


def _points(line: GradeLine) -> str:
    return "without points" if line.points is None else f"{line.points:f} points"


def _name(part: StudentQuestion) -> str:
    enrolment_id, assignment, question = part
    return f"{enrolment_id} at {assignment}/{question}"


def check_totals(session: Session, tally: AuditCheck) -> None:
    """Add up every student's grades again and compare, and the logins stored in rosters."""
    for line in stream_totals(session):
        tally.count()
        if wrong := _describe_wrong_total(line):
            tally.report(f"{line.enrolment_id} at {line.assignment}", wrong)
    for enrolment_id, kept, right in stream_login_mismatches(session):
        tally.count()
        tally.report(
            enrolment_id, f"The roster has the login {kept!r}, but the person has {right!r}."
        )


def _describe_wrong_total(line: StoredTotal) -> str:
    if line.run_id is None:
        return f"There is no total, but it should be {_format_hundredths(line.graded_points)}."
    if line.graded_run_id is None:
        return "There is a total, but no grade that it could come from."
    if line.run_id != line.graded_run_id:
        return "The total is of another course run than the grades."
    if (line.points, line.pending) != (line.graded_points, line.graded_pending):
        return (
            f"The total is {_format_hundredths(line.points)} and "
            f"{_format_hundredths(line.pending)} pending; its grades "
            f"come to {_format_hundredths(line.graded_points)} and "
            f"{_format_hundredths(line.graded_pending)} pending."
        )
    return ""


def _format_hundredths(hundredths: object) -> str:
    """Hundredths as points; anything but a number is shown unchanged."""
    if not isinstance(hundredths, int | Decimal):
        return repr(hundredths)
    return f"{(Decimal(hundredths) / 100).normalize():f}"
