"""Attempts: numbered without gaps, within limits and dates, and unchanged since they were sent.

An attempt was allowed by its publication and by the extension in force at the time. That extension
is not stored with it, so the most generous one the student ever had counts: withdrawing an
extension must not make old attempts wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from grader.domain.policies import Phase, Window
from grader.feedback.receipt import hash_answer
from grader.grading.audit.findings import AuditCheck
from grader.grading.audit.rules import PublicationRules, QuestionRule
from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine, StudentQuestion
from grader.store.queries.verification import (
    LargestExtension,
    UsedAttempt,
    list_largest_extensions,
    stream_attempts,
)
from grader.store.rows import UnreadableRow

_NO_EXTENSION = LargestExtension(None, 0)


def check_attempts(session: Session, rules: PublicationRules, tally: AuditCheck) -> None:
    """Check every attempt."""
    given = list_largest_extensions(session)
    part: StudentQuestion | None = None
    number: int | None = 0
    for line in stream_attempts(session):
        tally.count()
        if isinstance(line, UnreadableRow):
            tally.report(line.id, "This attempt cannot be read.")
            # Its student and its number are unknown, too.
            part, number = None, None
            continue
        attempt, used = line
        if attempt.part != part:
            part, number = attempt.part, None if number is None else 0
        if number is not None and attempt.number != number + 1:
            tally.report(attempt.id, _misnumbered(attempt.number, number))
        number = attempt.number
        for text in _faults(attempt, used, rules, given):
            tally.report(attempt.id, text)


def _misnumbered(number: int, before: int) -> str:
    if before == 0:
        return f"It is the first attempt at its question, but its number is {number}."
    return f"Its number is {number}, but that of the attempt before is {before}."


def _faults(
    attempt: AttemptLine,
    used: UsedAttempt | None,
    rules: PublicationRules,
    given: Mapping[tuple[str, str], LargestExtension],
) -> Iterator[str]:
    if hash_answer(attempt.answer) != attempt.answer_digest:
        yield "The answer does not match its hash."
    line = rules.lines.get(attempt.publication_id)
    if line is None:
        yield f"Its publication {attempt.publication_id} is missing."
        return
    if (line.run_id, line.assignment) != (attempt.run_id, attempt.assignment):
        yield f"Its publication {line.id} is of another course run or assignment."
        return
    known = rules.of(line.id)
    if known is None:
        # The check of rubrics reports it once for the publication.
        return
    if attempt.question not in known:
        yield f"Its publication {line.id} has no question {attempt.question}."
        return
    rule = known[attempt.question]
    generosity = given.get((attempt.enrolment_id, attempt.assignment), _NO_EXTENSION)
    yield from _exceeded_limits(attempt, rule, generosity)
    yield from _wrong_use(attempt, used, rule)


def _exceeded_limits(
    attempt: AttemptLine, rule: QuestionRule, given: LargestExtension
) -> Iterator[str]:
    """Whether it is one too many, too early or too late."""
    most = rule.policy.most_attempts + given.extra_attempts
    if attempt.number > most:
        yield f"It is attempt {attempt.number}, and {most} are allowed."
    window = _widest_window(rule.policy.window, given)
    match window.phase(attempt.received_at):
        case Phase.NOT_OPEN:
            when = f"before the opening at {_format_time(window.opens_at)}"
            yield f"It was received at {_format_time(attempt.received_at)}, {when}."
        case Phase.CLOSED:
            when = f"after the end at {_format_time(window.closes_at)}"
            yield f"It was received at {_format_time(attempt.received_at)}, {when}."
        case Phase.OPEN | Phase.LATE:
            pass


def _widest_window(window: Window, given: LargestExtension) -> Window:
    if window.due_at is None or given.due_at is None:
        return window
    return replace(window, due_at=max(window.due_at, given.due_at))


def _format_time(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if moment else "no time"


def _wrong_use(attempt: AttemptLine, used: UsedAttempt | None, rule: QuestionRule) -> Iterator[str]:
    """Whether it builds on a wrong attempt."""
    if attempt.uses_attempt_id is None:
        if rule.earlier is not None:
            yield f"It should build on an attempt at {rule.earlier}, but it builds on none."
        return
    about = f"It builds on attempt {attempt.uses_attempt_id}"
    if rule.earlier is None:
        yield f"{about}, but its question builds on nothing."
    elif used is None:
        yield f"{about}, which is missing."
    elif used.enrolment_id != attempt.enrolment_id:
        yield f"{about}, which is another student's."
    elif (used.assignment, used.question) != (attempt.assignment, rule.earlier):
        yield f"{about}, which is not at {rule.earlier}."
