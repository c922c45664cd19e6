"""Starting a regrade, applying it and taking it back, and deciding against one.

A regrade is applied by one transaction, however many attempts it is about: their new judgements are
stored before, and count from then on; the grades that differ are stored before, too, and are copied
over by one statement. What has changed since they were compared is compared again first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from grader.accounts.callers import Membership
from grader.domain.jobs import JobKind, JobState
from grader.domain.regrades import RegradeState, Side
from grader.domain.roles import Role
from grader.errors import ErrorDetail, MalformedRequest, NotFound, RequestRefused
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.grades.overrides import check_reason
from grader.grading.grades.settle import update_grades
from grader.grading.locks import lock_assignment
from grader.grading.regrades.compare import compare_grades
from grader.grading.regrades.outdated import count_outdated, load_rubric_history
from grader.store.database import Session
from grader.store.queries.attempts import StudentQuestion
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.courses import find_role
from grader.store.queries.facts import RecordedTable
from grader.store.queries.jobs import add_job, end_job, find_job_about
from grader.store.queries.publications import list_publications
from grader.store.queries.regrades.changes import (
    add_regraded_grades,
    delete_regraded_grades,
    list_outdated,
    list_regraded_parts,
    list_touched,
    put_regraded_grades,
)
from grader.store.queries.regrades.judging import (
    count_judgements,
    delete_judgements,
    delete_lowering_judgements,
)
from grader.store.queries.regrades.records import (
    RegradeLine,
    add_regrade,
    change_regrade,
    get_regrade,
    list_regrades,
)
from grader.store.rows import make_id

#: What may lie between the time of an event and its commit: the time for which a change waits for
#: the writer, and the difference of two clocks.
_DECISION_MARGIN = timedelta(minutes=2)
#: The same for attempts, whose time is that of the batch that stores them.
_ATTEMPT_MARGIN = timedelta(seconds=15)
#: How many grades are computed again at once.
_BATCH_SIZE = 200


def start_regrade(
    session: Session,
    context: GradingContext,
    *,
    run_id: str,
    assignment: str,
    questions: Sequence[str] = (),
    publication: int | None = None,
    judges_all: bool = False,
    never_lower: bool = False,
    by: str,
    at: datetime,
) -> RegradeLine:
    """Begin to judge attempts again; nothing changes until somebody applies it.

    Parameters
    ----------
    questions
        By default those with attempts that count by an earlier version of their rubric.
    publication
        The number of the publication whose rubrics judge; by default the one in force. Only that
        one can be applied.
    judges_all
        Judge attempts again that these rubrics have judged already.
    never_lower
        Leave an attempt as it is where it would earn less.

    Raises
    ------
    RequestRefused
        Where there is nothing to judge again, or another regrade waits for a decision.
    """
    lock_assignment(session, run_id=run_id, assignment=assignment)
    _refuse_second(session, run_id=run_id, assignment=assignment)
    published = _get_published(session, context, run_id, assignment, publication)
    history = load_rubric_history(session, context, published)
    unknown = sorted(set(questions) - set(history.deciding))
    if unknown:
        detail = f"There is no question {', '.join(unknown)} in this publication."
        raise MalformedRequest.of(ErrorDetail("questions", "value.choice", detail))
    chosen = list(questions) or list(
        history.deciding if judges_all else count_outdated(session, context, published)
    )
    if not chosen:
        raise RequestRefused(
            "All attempts count by this version of their rubrics; there is nothing to judge again.",
            code="regrade.nothing",
        )
    line = RegradeLine(
        id=make_id("reg"),
        run_id=run_id,
        assignment=assignment,
        number=_count_regrades(session, run_id, assignment) + 1,
        publication_id=published.line.id,
        questions={name: history.deciding[name] for name in history.deciding if name in chosen},
        judges_all=judges_all,
        never_lower=never_lower,
        state=RegradeState.JUDGING,
        by=by,
        made_at=at,
    )
    add_regrade(session, line)
    add_job(session, kind=JobKind.REGRADE, run_id=run_id, subject=line.id, by=by, at=at)
    _record(
        session, line, "regrade.started", by=by, at=at,
        details={"publication": published.line.number, "all": judges_all},
    )  # fmt: skip
    return line


def _get_published(
    session: Session,
    context: GradingContext,
    run_id: str,
    assignment: str,
    publication: int | None,
) -> PublishedAssignment:
    if publication is None:
        return context.in_force(session, run_id=run_id, assignment=assignment)
    for line in list_publications(session, run_id=run_id, assignment=assignment):
        if line.number == publication:
            return context.published(session, line)
    raise NotFound


def _refuse_second(session: Session, *, run_id: str, assignment: str) -> None:
    for each in list_regrades(session, run_id=run_id, assignment=assignment):
        if each.state.is_open:
            raise RequestRefused(
                f"Regrade {each.number} of this assignment waits for a decision. Apply or discard "
                "it first.",
                code="regrade.open",
            )


def _count_regrades(session: Session, run_id: str, assignment: str) -> int:
    return len(list_regrades(session, run_id=run_id, assignment=assignment))


def refuse_students(session: Session, membership: Membership) -> None:
    """Refuse callers who are students of the course run: a regrade is about their work, too.

    The same holds for services whose token was made by one.
    """
    own = membership.enrolment.id if membership.enrolment else membership.own_enrolment_id
    if own is not None and find_role(session, enrolment_id=own) is Role.STUDENT:
        membership.refuse_own_work(own)


def finish_judging(session: Session, regrade: RegradeLine, *, at: datetime) -> RegradeLine:
    """Offer a regrade for a decision, after everything was judged and compared."""
    line = replace(regrade, state=RegradeState.READY, ready_at=at)
    change_regrade(session, regrade.id, state=line.state.value, ready_at=at)
    _record(session, line, "regrade.ready", by=regrade.by, at=at)
    return line


def apply_regrade(
    session: Session,
    context: GradingContext,
    *,
    run_id: str,
    regrade_id: str,
    reason: str,
    by: str,
    at: datetime,
) -> RegradeLine:
    """Let the judgements of a regrade count, and change the grades that follow from them.

    Overrides and scores from outside stay. What was submitted, reviewed or overridden since the
    preview is taken into account.

    Raises
    ------
    RequestRefused
        If it is not ready, or the assignment was published again since.
    """
    reason = check_reason(reason)
    regrade = _lock_regrade(session, run_id=run_id, regrade_id=regrade_id)
    _need_state(regrade, RegradeState.READY)
    published = context.in_force(session, run_id=run_id, assignment=regrade.assignment)
    if published.line.id != regrade.publication_id:
        raise RequestRefused(
            "Another publication of this assignment is in force than the one that judged. Discard "
            "this regrade, and start another one.",
            code="regrade.outdated",
        )
    _compare_again(session, context, regrade, at=at)
    if regrade.never_lower:
        delete_lowering_judgements(session, regrade_id=regrade.id)
    put_regraded_grades(session, regrade, side=Side.AFTER, at=at)
    line = replace(regrade, state=RegradeState.APPLIED, reason=reason, decided_by=by, decided_at=at)
    change_regrade(
        session, regrade.id, state=line.state.value, reason=reason, decided_by=by, decided_at=at
    )
    _record(
        session, line, "regrade.applied", by=by, at=at,
        details={
            "reason": reason,
            "attempts": count_judgements(session, regrade_id=regrade.id),
            "never_lower": regrade.never_lower,
        },
    )  # fmt: skip
    return line


def _compare_again(
    session: Session, context: GradingContext, regrade: RegradeLine, *, at: datetime
) -> None:
    """Compare the grades once more that something has happened to since they were compared."""
    job = find_job_about(session, subject=regrade.id)
    # What came before the grades were compared was seen then.
    compared_at = (job.phase_began_at if job else None) or regrade.made_at
    touched = list_touched(
        session,
        run_id=regrade.run_id,
        assignment=regrade.assignment,
        attempts_since=compared_at - _ATTEMPT_MARGIN,
        decisions_since=compared_at - _DECISION_MARGIN,
    )
    parts = {each for each in touched if each[2] in regrade.questions}
    parts |= set(list_outdated(session, regrade, side=Side.AFTER))
    for batch in _split(sorted(parts)):
        found = compare_grades(session, context, regrade, parts=batch, at=at)
        delete_regraded_grades(session, regrade_id=regrade.id, parts=batch)
        add_regraded_grades(session, regrade, found)


def undo_regrade(
    session: Session,
    context: GradingContext,
    *,
    run_id: str,
    regrade_id: str,
    reason: str,
    by: str,
    at: datetime,
) -> RegradeLine:
    """Let the judgements of before count again, and give grades back what they were.

    What has happened since it was applied stays.

    Raises
    ------
    RequestRefused
        If it is not applied, or a later regrade of one of its questions is.
    """
    reason = check_reason(reason)
    regrade = _lock_regrade(session, run_id=run_id, regrade_id=regrade_id)
    _need_state(regrade, RegradeState.APPLIED)
    _refuse_later(session, regrade)
    published = context.in_force(session, run_id=run_id, assignment=regrade.assignment)
    parts = _list_changed_since(session, regrade)
    if published.line.id != regrade.publication_id:
        # Dates or policies may have changed, so that the grades of before are none any more.
        parts |= set(list_regraded_parts(session, regrade))
    put_regraded_grades(session, regrade, side=Side.BEFORE, at=at)
    line = replace(
        regrade, state=RegradeState.UNDONE, undo_reason=reason, undone_by=by, undone_at=at
    )
    change_regrade(
        session, regrade.id, state=line.state.value, undo_reason=reason, undone_by=by, undone_at=at
    )
    for batch in _split(sorted(parts)):
        update_grades(session, context, run_id=run_id, parts=batch, at=at)
    _record(session, line, "regrade.undone", by=by, at=at, details={"reason": reason})
    return line


def _list_changed_since(session: Session, regrade: RegradeLine) -> set[StudentQuestion]:
    """The grades to be computed again, because something has happened since it was applied."""
    assert regrade.decided_at is not None, "an applied regrade was decided about"
    touched = list_touched(
        session,
        run_id=regrade.run_id,
        assignment=regrade.assignment,
        attempts_since=regrade.decided_at - _ATTEMPT_MARGIN,
        decisions_since=regrade.decided_at - _DECISION_MARGIN,
    )
    parts = {each for each in touched if each[2] in regrade.questions}
    return parts | set(list_outdated(session, regrade, side=Side.BEFORE))


def _refuse_later(session: Session, regrade: RegradeLine) -> None:
    for each in list_regrades(session, run_id=regrade.run_id, assignment=regrade.assignment):
        is_later = each.number > regrade.number and each.questions.keys() & regrade.questions.keys()
        if is_later and (each.state is RegradeState.APPLIED or each.state.is_open):
            raise RequestRefused(
                f"Regrade {each.number} came after it and judged some of its questions. Undo or "
                "discard that one first.",
                code="regrade.later",
            )


def discard_regrade(
    session: Session, *, run_id: str, regrade_id: str, by: str, at: datetime
) -> RegradeLine:
    """Give up a regrade that was not applied, with everything that it has judged."""
    regrade = _lock_regrade(session, run_id=run_id, regrade_id=regrade_id)
    _need_state(regrade, RegradeState.JUDGING, RegradeState.READY)
    job = find_job_about(session, subject=regrade.id)
    if job is not None:
        end_job(session, job_id=job.id, state=JobState.CANCELLED, at=at)
    delete_judgements(session, regrade_id=regrade.id)
    line = replace(regrade, state=RegradeState.DISCARDED, decided_by=by, decided_at=at)
    change_regrade(session, regrade.id, state=line.state.value, decided_by=by, decided_at=at)
    _record(session, line, "regrade.discarded", by=by, at=at)
    return line


def decline_regrade(
    session: Session,
    context: GradingContext,
    *,
    run_id: str,
    assignment: str,
    questions: Sequence[str] = (),
    reason: str,
    by: str,
    at: datetime,
) -> RegradeLine:
    """Decide that attempts keep what an earlier version of their rubric gave them.

    `questions` are by default all that have such attempts.
    """
    reason = check_reason(reason)
    lock_assignment(session, run_id=run_id, assignment=assignment)
    _refuse_second(session, run_id=run_id, assignment=assignment)
    published = context.in_force(session, run_id=run_id, assignment=assignment)
    outdated = count_outdated(session, context, published)
    chosen = list(questions) or list(outdated)
    if not chosen or not outdated.keys() >= set(chosen):
        raise RequestRefused(
            "There are no attempts that count by an earlier version of their rubric.",
            code="regrade.nothing",
        )
    history = load_rubric_history(session, context, published)
    line = RegradeLine(
        id=make_id("reg"),
        run_id=run_id,
        assignment=assignment,
        number=_count_regrades(session, run_id, assignment) + 1,
        publication_id=published.line.id,
        questions={name: history.deciding[name] for name in chosen},
        judges_all=False,
        never_lower=False,
        state=RegradeState.DECLINED,
        by=by,
        made_at=at,
        reason=reason,
        decided_by=by,
        decided_at=at,
    )
    add_regrade(session, line)
    _record(
        session, line, "regrade.declined", by=by, at=at,
        details={"reason": reason, "attempts": {name: outdated[name] for name in chosen}},
    )  # fmt: skip
    return line


def _lock_regrade(session: Session, *, run_id: str, regrade_id: str) -> RegradeLine:
    """A regrade, while nobody else decides about it or changes a grade of its assignment."""
    regrade = get_regrade(session, regrade_id=regrade_id, run_id=run_id)
    lock_assignment(session, run_id=run_id, assignment=regrade.assignment)
    # Somebody may have decided while this waited.
    return get_regrade(session, regrade_id=regrade_id, run_id=run_id)


_STATE_WORDS = {
    RegradeState.JUDGING: "is still judging",
    RegradeState.READY: "waits for a decision",
    RegradeState.APPLIED: "is applied",
    RegradeState.UNDONE: "was undone",
    RegradeState.DISCARDED: "was discarded",
    RegradeState.DECLINED: "was declined",
}


def _need_state(regrade: RegradeLine, *states: RegradeState) -> None:
    if regrade.state not in states:
        raise RequestRefused(
            f"Regrade {regrade.number} {_STATE_WORDS[regrade.state]}.", code="regrade.state"
        )


def _split(parts: Sequence[StudentQuestion]) -> list[Sequence[StudentQuestion]]:
    return [parts[start : start + _BATCH_SIZE] for start in range(0, len(parts), _BATCH_SIZE)]


def _record(
    session: Session,
    regrade: RegradeLine,
    action: str,
    *,
    by: str,
    at: datetime,
    details: dict[str, Any] | None = None,
) -> None:
    """Record in the audit chain what became of a regrade."""
    add_audit_entry(
        session,
        at=at,
        by=by,
        run_id=regrade.run_id,
        action=action,
        subject=regrade.id,
        details={
            "assignment": regrade.assignment,
            "number": regrade.number,
            "questions": list(regrade.questions),
            **(details or {}),
        },
        changed={RecordedTable.REGRADES: [regrade.id]},
    )
