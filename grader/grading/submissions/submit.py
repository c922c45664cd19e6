"""Submitting: answers in, judged and stored attempts out, a group of them at a time.

The order is: lock the student's assignment, see what was there, read and judge the answers, write.
What cannot be read or is not allowed is refused and stores nothing; everybody else's goes on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge, Judgement
from grader.engine.random.variants import Variant, stack_variants
from grader.errors import KeysetError, StudentError
from grader.feedback.receipt import Earlier, compose_receipt
from grader.grading.attempts.report import attempt_report
from grader.grading.context import Desk
from grader.grading.grades.settle import update_grades
from grader.grading.idempotency import Answered
from grader.grading.serialize import misconceptions_to_data, verdicts_to_data
from grader.grading.signing import sign, stamp
from grader.grading.submissions.sendings import (
    Case,
    Judged,
    Sending,
    Wave,
    find_same,
    lock_wave,
    look_up,
    none_left,
    take_waiting,
)
from grader.grading.submissions.uploads import refuse_missing
from grader.reading.answer import Answer, read_answer
from grader.store.database import Session
from grader.store.ids import new_id
from grader.store.queries.attempts import AttemptLine, JudgementLine, Part, add_attempts
from grader.store.queries.decisions import list_reviews, newest_reviews
from grader.store.queries.grades import GradeLine, find_grades
from grader.store.queries.idempotency import add_answered

__all__ = ["Sending", "submit"]


@dataclass(frozen=True, slots=True)
class _Read:
    """A case whose answer was read."""

    case: Case
    judge: Judge
    submission: Submission


def submit(
    session: Session, desk: Desk, sendings: Sequence[Sending], *, at: datetime
) -> list[Answered | KeysetError]:
    """Judge answers and store them as attempts; the caller commits.

    Each sending gets its answer, or the error that says why it was refused. `at` is when it is
    written; what counts is when each one was received.
    """
    results: dict[int, Answered | KeysetError] = {}
    for wave in _waves(sendings):
        results |= _submit_wave(Wave(session, desk, wave, at))
    return [results[place] for place in range(len(sendings))]


def _waves(sendings: Sequence[Sending]) -> list[list[tuple[int, Sending]]]:
    """Sendings in waves, each with at most one of a student and an assignment, in their order.

    The second of a student must see the first: it may use it, repeat it or exceed the limit.
    """
    waves: list[list[tuple[int, Sending]]] = []
    seen: dict[tuple[str, str], int] = defaultdict(int)
    for place, sending in enumerate(sendings):
        owner = (sending.enrolment.id, sending.assignment)
        number = seen[owner]
        seen[owner] += 1
        if number == len(waves):
            waves.append([])
        waves[number].append((place, sending))
    return waves


def _submit_wave(wave: Wave) -> dict[int, Answered | KeysetError]:
    lock_wave(wave)
    cases = _without_repeats(wave, look_up(wave, take_waiting(wave)))
    _store(wave, _judge(_read_answers(wave, cases)))
    add_answered(wave.session, wave.remembered)
    return wave.results


def _without_repeats(wave: Wave, cases: list[Case]) -> list[Case]:
    """Answer what was sent before as it was answered then; refuse what is over the limit."""
    fresh = []
    for case in cases:
        same = find_same(case)
        if same is not None:
            wave.answer(case.place, case.sending, Answered(200, _repeated(wave, case, same)))
        elif len(case.before) >= case.policy.most_attempts:
            wave.results[case.place] = none_left(case.policy)
        else:
            fresh.append(case)
    return fresh


def _repeated(wave: Wave, case: Case, same: Judged) -> str:
    part = case.sending.part
    grade = find_grades(wave.session, parts=[part])[part]
    return _body(wave, case, same, grade, count=len(case.before))


def _read_answers(wave: Wave, cases: list[Case]) -> list[_Read]:
    variants = wave.desk.variants(
        wave.session,
        [(case.sending.enrolment, case.rubric) for case in cases],
        at=wave.at,
    )
    read = []
    for case in cases:
        variant = variants[case.sending.enrolment.id, case.rubric.id]
        try:
            read.append(_read(wave, case, variant))
        except StudentError as error:
            wave.results[case.place] = error
    return read


def _read(wave: Wave, case: Case, variant: Variant) -> _Read:
    drawn = stack_variants([variant])
    answer = read_answer(case.sending.answer, case.rubric.question.fields, drawn)
    refuse_missing(wave.session, enrolment_id=case.sending.enrolment.id, answer=case.sending.answer)
    judge = wave.desk.judge(wave.session, run_id=case.sending.enrolment.run_id, rubric=case.rubric)
    earlier = _read_earlier(case, variant)
    return _Read(case, judge, Submission(variant, answer, judge.used(variant, earlier)))


def _read_earlier(case: Case, variant: Variant) -> Answer | None:
    if case.earlier is None or case.rubric.earlier is None:
        return None
    fields = case.rubric.earlier.question.fields
    try:
        return read_answer(case.earlier.answer, fields, stack_variants([variant]))
    except StudentError:
        # The earlier question asks for something else since; then the reference is used.
        return None


def _judge(read: list[_Read]) -> list[tuple[_Read, Judgement]]:
    """Judge all answers to a question at once."""
    groups: dict[int, list[_Read]] = defaultdict(list)
    for each in read:
        groups[id(each.judge)].append(each)
    judged: list[tuple[_Read, Judgement]] = []
    for group in groups.values():
        judgements = group[0].judge.judge([each.submission for each in group])
        judged.extend(zip(group, judgements, strict=True))
    return judged


def _store(wave: Wave, judged: list[tuple[_Read, Judgement]]) -> None:
    if not judged:
        return
    lines = [_lines(wave, each, judgement) for each, judgement in judged]
    add_attempts(wave.session, lines, at=wave.at)
    grades = _update_grades(wave, [each.case for each, _ in judged], lines)
    for (each, _), line in zip(judged, lines, strict=True):
        case = each.case
        body = _body(wave, case, line, grades[case.sending.part], count=len(case.before) + 1)
        wave.answer(case.place, case.sending, Answered(201, body))


def _lines(wave: Wave, read: _Read, judgement: Judgement) -> Judged:
    case, sending = read.case, read.case.sending
    earlier = None
    if case.rubric.earlier is not None:
        sent = case.earlier.answer if case.earlier else None
        earlier = Earlier(case.rubric.earlier.version, sent)
    receipt = compose_receipt(
        read.judge,
        read.submission,
        judgement,
        sent=sending.answer,
        rubric_version=case.rubric.version,
        earlier=earlier,
    )
    attempt = AttemptLine(
        id=new_id("att"),
        run_id=sending.enrolment.run_id,
        enrolment_id=sending.enrolment.id,
        assignment=sending.assignment,
        question=sending.question,
        number=len(case.before) + 1,
        answer=sending.answer,
        answer_digest=receipt.answer,
        publication_id=case.published.line.id,
        uses_attempt_id=case.earlier.id if case.earlier else None,
        received_at=sending.received_at,
    )
    receipt = stamp(
        receipt, attempt=attempt.id, course=attempt.run_id, received_at=attempt.received_at
    )
    used = read.submission.used
    score = judgement.score
    return attempt, JudgementLine(
        id=new_id("jud"),
        attempt_id=attempt.id,
        number=1,
        rubric_version=case.rubric.version,
        verdicts=verdicts_to_data(judgement),
        misconceptions=misconceptions_to_data(judgement),
        uses=None if used is None else "own" if used.is_own else "reference",
        awarded=score.awarded,
        possible=score.possible,
        pending=score.pending,
        needs_person=any(each.needs_person for each in judgement.verdicts),
        receipt=sign(receipt, wave.desk.signing_key).model_dump(mode="json"),
        judged_at=wave.at,
    )


def _update_grades(wave: Wave, cases: list[Case], lines: list[Judged]) -> dict[Part, GradeLine]:
    """Bring the grades up to date, one course run after the other."""
    runs: dict[str, list[tuple[Case, Judged]]] = defaultdict(list)
    for case, line in zip(cases, lines, strict=True):
        runs[case.sending.enrolment.run_id].append((case, line))
    grades: dict[Part, GradeLine] = {}
    for run_id, pairs in runs.items():
        grades |= update_grades(
            wave.session,
            wave.desk,
            run_id=run_id,
            parts=[case.sending.part for case, _ in pairs],
            at=wave.at,
            judged=[each for case, line in pairs for each in (*case.before, line)],
        )
    return grades


def _body(wave: Wave, case: Case, judged: Judged, grade: GradeLine, *, count: int) -> str:
    attempt, judgement = judged
    reviews = {}
    if attempt.id in {before.id for before, _ in case.before}:
        reviews = newest_reviews(list_reviews(wave.session, attempt_ids=[attempt.id]))
    report = attempt_report(
        attempt,
        judgement,
        rubric=case.rubric,
        policy=case.policy,
        reviews=reviews.get(attempt.id, {}),
        is_counted=grade.counted_attempt_id == attempt.id,
        attempts_left=case.policy.most_attempts - count,
        at=case.sending.received_at,
        key=wave.desk.signing_key,
    )
    return report.model_dump_json()
