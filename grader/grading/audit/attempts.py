"""Attempts: numbered without gaps, within limits and dates, and as clients were told.

An attempt was allowed by its publication and by the extension in force at the time. That extension
is not stored with it, so the most generous one the student ever had counts: withdrawing an
extension must not make old attempts wrong.

A free attempt is not limited. It must repeat the student's last attempt with the same answer, and
another version of the rubric must have judged that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from grader.domain.grades import count_used
from grader.domain.policies import Phase, Window
from grader.domain.regrades import RegradeState
from grader.feedback.receipt import Receipt, hash_answer
from grader.grading.audit.findings import AuditCheck
from grader.grading.audit.judgements import PublicKeys
from grader.grading.audit.rules import PublicationRules, QuestionRule
from grader.grading.audit.uploads import StoredFiles
from grader.grading.signing import to_withheld_receipt
from grader.grading.submissions.uploads import find_references
from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine, StudentQuestion
from grader.store.queries.regrades.records import RegradeLine, find_regrades
from grader.store.queries.verification import (
    LargestExtension,
    StoredAttempt,
    UsedAttempt,
    find_stored_attempts,
    list_largest_extensions,
    stream_attempts,
)
from grader.store.rows import UnreadableRow

_NO_EXTENSION = LargestExtension(None, 0)


@dataclass(slots=True)
class _History:
    """A student's attempts at a question so far, without their answers.

    It is incomplete after an unreadable row, which may have been one of them.
    """

    part: StudentQuestion | None = None
    is_complete: bool = True
    attempts: list[AttemptLine] = field(default_factory=list)

    def describe_misnumbered(self, attempt: AttemptLine) -> str:
        """What is wrong with the number of the next attempt; empty if nothing is known to be."""
        number = attempt.number
        if not self.attempts:
            is_wrong = self.is_complete and number != 1
            text = f"It is the first attempt at its question, but its number is {number}."
        else:
            before = self.attempts[-1].number
            is_wrong = number != before + 1
            text = f"Its number is {number}, but that of the attempt before is {before}."
        return text if is_wrong else ""


def check_attempts(
    session: Session, rules: PublicationRules, files: StoredFiles, tally: AuditCheck
) -> None:
    """Check every attempt, and that the files are stored that its answer refers to."""
    given = list_largest_extensions(session)
    history = _History()
    for line in stream_attempts(session):
        tally.count()
        if isinstance(line, UnreadableRow):
            tally.report(line.id, "This attempt cannot be read.")
            # Its student and its number are unknown, too.
            history = _History(is_complete=False)
            continue
        attempt, used = line
        if attempt.part != history.part:
            history = _History(attempt.part, history.is_complete or history.part is not None)
        if wrong := history.describe_misnumbered(attempt):
            tally.report(attempt.id, wrong)
        if history.is_complete:
            for text in _wrong_repeat(session, attempt, history.attempts):
                tally.report(attempt.id, text)
        history.attempts.append(attempt._replace(answer=None))
        for text in _faults(attempt, used, rules, given, count_used(history.attempts)):
            tally.report(attempt.id, text)
        for text in _missing_files(attempt, files):
            tally.report(attempt.id, text)


def _faults(
    attempt: AttemptLine,
    used: UsedAttempt | None,
    rules: PublicationRules,
    given: Mapping[tuple[str, str], LargestExtension],
    attempts_used: int,
) -> Iterator[str]:
    """What is wrong with an attempt; `attempts_used` of the limit are used, it included."""
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
    yield from _exceeded_limits(attempt, rule, generosity, attempts_used)
    yield from _wrong_use(attempt, used, rule)


def _missing_files(attempt: AttemptLine, files: StoredFiles) -> Iterator[str]:
    """Which files its answer refers to that the student has not uploaded."""
    references = find_references(attempt.answer) if isinstance(attempt.answer, dict) else {}
    for digest in sorted({each for found in references.values() for each in found}):
        if (attempt.enrolment_id, digest) not in files:
            yield f"Its answer refers to the file {digest}, which is missing."


def _exceeded_limits(
    attempt: AttemptLine, rule: QuestionRule, given: LargestExtension, attempts_used: int
) -> Iterator[str]:
    """Whether it is one too many, too early or too late."""
    most = rule.policy.most_attempts + given.extra_attempts
    if not attempt.is_free and attempts_used > most:
        yield f"With it {attempts_used} attempts are used, and {most} are allowed."
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


def _wrong_repeat(
    session: Session, attempt: AttemptLine, before: Sequence[AttemptLine]
) -> Iterator[str]:
    """Whether it is free without repeating an answer by another version of the rubric."""
    if attempt.repeats_attempt_id is None:
        return
    about = f"It is free as a repeat of attempt {attempt.repeats_attempt_id}"
    same = [each.id for each in before if each.answer_digest == attempt.answer_digest]
    if attempt.repeats_attempt_id not in same:
        yield f"{about}, which is no earlier attempt of the student with the same answer."
    elif attempt.repeats_attempt_id != same[-1]:
        yield f"{about}, but {same[-1]} is the last one with the same answer."
    elif _is_same_rubric(session, attempt.id, attempt.repeats_attempt_id):
        yield f"{about}, which was judged by the same rubric."


def _is_same_rubric(session: Session, attempt_id: str, repeated_id: str) -> bool:
    """Whether the repeated attempt had been judged by the rubric of its repeat.

    False where this cannot be read: the check of judgements reports it.
    """
    stored = find_stored_attempts(session, ids=[attempt_id, repeated_id])
    own, repeated = stored[attempt_id], stored[repeated_id]
    if not (isinstance(own, StoredAttempt) and isinstance(repeated, StoredAttempt)):
        return False
    with suppress(LookupError, TypeError):
        first = own.judgements[0]
        regrades = find_regrades(
            session, regrade_ids={each.regrade_id for each in repeated.judgements}
        )
        # What was decided at the same moment may have come before it or after it.
        return all(
            _find_versions(repeated, regrades, now=now) == first.rubric_versions
            for now in (first.judged_at, first.judged_at + _INSTANT)
        )
    return False


def _find_versions(
    stored: StoredAttempt, regrades: Mapping[str, RegradeLine], *, now: datetime
) -> tuple[str, str] | None:
    """By which versions of its rubrics an attempt counted just before a time."""
    found = None
    for each in stored.judgements:
        regrade = regrades.get(each.regrade_id or "")
        if regrade is None or (
            regrade.state in _EVER_APPLIED
            and regrade.decided_at is not None
            and regrade.decided_at < now
            and (regrade.undone_at is None or regrade.undone_at >= now)
        ):
            found = each.rubric_versions
    return found


_EVER_APPLIED = (RegradeState.APPLIED, RegradeState.UNDONE)
_INSTANT = timedelta(microseconds=1)

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
    repeats_attempt: str | None = None


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
        "repeats_attempt": attempt.repeats_attempt_id,
    }
    got = [(name, getattr(receipt, name)) for name in expected if name in Receipt.model_fields]
    # The short form of a line has the receipt alone.
    named = {"number", "question", "uses_attempt", "repeats_attempt"}
    for name in response.model_fields_set & named:
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
