"""Submitting: answers in, judged and stored attempts out, a group of them at a time.

The order is: lock the student's assignment, see what was there, read and judge the answers, write.
What cannot be read or is not allowed is refused and stores nothing; everybody else's goes on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from grader.domain.policies import CountedAttempt, Phase, Policy
from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge, Judgement
from grader.engine.random.variants import Variant, stack_variants
from grader.errors import KeysetError, RequestRefused, StudentError
from grader.feedback.receipt import EarlierAnswer, compose_receipt, hash_answer
from grader.grading.attempts.report import compose_attempt_report
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.grades.settle import update_grades
from grader.grading.idempotency import (
    IdempotencyKey,
    IdempotentResponse,
    make_idempotency_record,
    replay_response,
)
from grader.grading.locks import lock_students
from grader.grading.serialize import encode_misconceptions, encode_verdicts
from grader.grading.signing import sign_receipt, to_attempt_receipt
from grader.grading.submissions.uploads import refuse_missing_files
from grader.reading.answer import Answer, read_answer
from grader.reading.fields import ExternalField
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.ids import make_id
from grader.store.queries.attempts import (
    AttemptLine,
    JudgementLine,
    StudentQuestion,
    add_attempts,
    list_judged,
)
from grader.store.queries.courses import EnrolmentLine
from grader.store.queries.decisions import list_reviews, select_latest_reviews
from grader.store.queries.grades import GradeLine, find_grades
from grader.store.queries.idempotency import (
    AnsweredRequest,
    add_answered_requests,
    find_answered_requests,
)
from grader.store.queries.publications import find_extensions

_JudgedAttempt = tuple[AttemptLine, JudgementLine]


@dataclass(frozen=True, slots=True)
class SubmitRequest:
    """An answer as it arrived."""

    enrolment: EnrolmentLine
    assignment: str
    question: str
    answer: Any
    received_at: datetime
    request: IdempotencyKey | None = None

    @property
    def part(self) -> StudentQuestion:
        """Whose answer it is, and to what."""
        return self.enrolment.id, self.assignment, self.question


@dataclass(frozen=True, slots=True)
class Pending:
    """A sending with what is needed to judge it."""

    place: int
    sending: SubmitRequest
    published: PublishedAssignment
    rubric: Rubric
    policy: Policy
    before: list[_JudgedAttempt]
    earlier: AttemptLine | None
    earlier_sent_at: datetime | None
    """When the newest attempt at the earlier part came, which is not always the counted one."""


@dataclass(slots=True)
class Batch:
    """Sendings of different students, or to different assignments, handled together."""

    session: Session
    context: GradingContext
    sendings: list[tuple[int, SubmitRequest]]
    at: datetime
    results: dict[int, IdempotentResponse | KeysetError] = field(default_factory=dict)
    remembered: list[AnsweredRequest] = field(default_factory=list)

    published: dict[tuple[str, str], PublishedAssignment] = field(default_factory=dict)

    def in_force(self, sending: SubmitRequest) -> PublishedAssignment:
        """The assignment that is answered, looked up once for all."""
        name = (sending.enrolment.run_id, sending.assignment)
        if name not in self.published:
            run_id, assignment = name
            self.published[name] = self.context.in_force(
                self.session, run_id=run_id, assignment=assignment
            )
        return self.published[name]

    def answer(self, place: int, sending: SubmitRequest, answered: IdempotentResponse) -> None:
        """Answer a sending, and remember the answer under its key."""
        self.results[place] = answered
        if sending.request is not None:
            self.remembered.append(make_idempotency_record(sending.request, answered, at=self.at))


def _lock_batch(wave: Batch) -> None:
    """Keep everybody else from these students' assignments, and from these keys, meanwhile."""
    lock_students(
        wave.session,
        [(each.enrolment.id, each.assignment) for _, each in wave.sendings],
        run_ids=[each.enrolment.run_id for _, each in wave.sendings],
        keys=[each.request for _, each in wave.sendings if each.request],
    )


def _take_unanswered(wave: Batch) -> list[tuple[int, SubmitRequest]]:
    """Those that were not answered before under their key."""
    keys = [each.request.name for _, each in wave.sendings if each.request]
    known = find_answered_requests(wave.session, keys=keys)
    waiting = []
    for place, sending in wave.sendings:
        answered = known.get(sending.request.name) if sending.request else None
        if answered is None or sending.request is None:
            waiting.append((place, sending))
            continue
        try:
            wave.results[place] = replay_response(answered, sending.request)
        except KeysetError as error:
            wave.results[place] = error
    return waiting


def _load_pending(wave: Batch, waiting: list[tuple[int, SubmitRequest]]) -> list[Pending]:
    """Look up what holds for each sending; those that are not allowed are refused."""
    session = wave.session
    extensions = find_extensions(
        session, pairs={(each.enrolment.id, each.assignment) for _, each in waiting}
    )
    allowed: list[tuple[int, SubmitRequest, PublishedAssignment, Rubric, Policy]] = []
    for place, sending in waiting:
        try:
            published = wave.in_force(sending)
            rubric = published.rubric(sending.question)
            extension = extensions.get((sending.enrolment.id, sending.assignment))
            policy = published.policy(sending.question, extension)
            _refuse_not_allowed(rubric, policy, at=sending.received_at)
            allowed.append((place, sending, published, rubric, policy))
        except KeysetError as error:
            wave.results[place] = error
    before: dict[StudentQuestion, list[_JudgedAttempt]] = defaultdict(list)
    for judged in list_judged(session, parts=[each.part for _, each, *_ in allowed]):
        before[judged[0].part].append(judged)
    earlier = _find_counted_earlier(
        session, [(sending, rubric) for _, sending, _, rubric, _ in allowed]
    )
    cases = []
    for place, sending, published, rubric, policy in allowed:
        used, sent_at = earlier.get(sending.part, (None, None))
        if rubric.earlier is not None and used is None:
            wave.results[place] = _make_earlier_missing_error(rubric)
            continue
        known = before[sending.part]
        cases.append(Pending(place, sending, published, rubric, policy, known, used, sent_at))
    return cases


def _refuse_not_allowed(rubric: Rubric, policy: Policy, *, at: datetime) -> None:
    """Refuse an answer that arrives too early or too late, or has no place here at all."""
    if any(isinstance(each, ExternalField) for each in rubric.question.fields):
        raise RequestRefused(
            "This part is graded elsewhere; its score comes from there.", code="question.external"
        )
    window = policy.window
    match window.phase(at):
        case Phase.NOT_OPEN:
            assert window.opens_at is not None, "only then it can be too early"
            raise RequestRefused(
                f"This assignment opens at {window.opens_at.isoformat()}.",
                code="assignment.not_open",
            )
        case Phase.CLOSED:
            assert window.closes_at is not None, "only then it can be too late"
            raise RequestRefused(
                f"This assignment took answers until {window.closes_at.isoformat()}.",
                code="assignment.closed",
            )
        case Phase.OPEN | Phase.LATE:
            pass


def _find_counted_earlier(
    session: Session, wanted: list[tuple[SubmitRequest, Rubric]]
) -> dict[StudentQuestion, tuple[AttemptLine, datetime]]:
    """The counted attempts at the parts that these build on, by the part that builds.

    With each, when the newest attempt there came.
    """
    sources: dict[StudentQuestion, StudentQuestion] = {}
    for sending, rubric in wanted:
        if rubric.earlier is not None:
            enrolment_id, assignment, _ = sending.part
            sources[sending.part] = (enrolment_id, assignment, rubric.earlier.form.id)
    if not sources:
        return {}
    grades = find_grades(session, parts=sources.values())
    attempts: dict[str, AttemptLine] = {}
    newest: dict[StudentQuestion, datetime] = {}
    for attempt, _ in list_judged(session, parts=sources.values()):
        attempts[attempt.id] = attempt
        newest[attempt.part] = max(
            newest.get(attempt.part, attempt.received_at), attempt.received_at
        )
    found = {}
    for part, source in sources.items():
        counted = grades[source].counted_attempt_id if source in grades else None
        if counted is not None:
            found[part] = attempts[counted], newest[source]
    return found


def _make_earlier_missing_error(rubric: Rubric) -> RequestRefused:
    assert rubric.earlier is not None, "only then something is used"
    before = rubric.earlier.form.id
    return RequestRefused(
        f"This part is about your own answer to {before}, and there is none yet. "
        f"Send one to {before} first; no attempt was used.",
        code="earlier.missing",
    )


def _find_same_attempt(case: Pending) -> _JudgedAttempt | None:
    """The attempt with the same answer, and on the same earlier attempt, if there is one.

    Where the last attempt counts, it must be that one: an older answer sent again shall count.
    """
    digest = hash_answer(case.sending.answer)
    candidates = case.before[-1:] if case.policy.counted is CountedAttempt.LAST else case.before
    for attempt, judgement in candidates:
        if attempt.answer_digest == digest and _builds_on_the_same(case, attempt):
            return attempt, judgement
    return None


def _builds_on_the_same(case: Pending, attempt: AttemptLine) -> bool:
    if case.earlier is None or case.earlier_sent_at is None:
        return attempt.uses_attempt_id is None
    if case.policy.shows_result(case.sending.received_at):
        return attempt.uses_attempt_id == case.earlier.id
    # Whether the counted attempt is another one since would tell whether a newer one is better.
    return attempt.received_at >= case.earlier_sent_at


def _make_none_left_error(policy: Policy) -> RequestRefused:
    """That all attempts are used."""
    most = policy.most_attempts
    used = f"All {most} attempts" if most > 1 else "The one attempt"
    verb = "are" if most > 1 else "is"
    return RequestRefused(f"{used} at this question {verb} used.", code="attempts.none_left")


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A case whose answer was read."""

    case: Pending
    judge: Judge
    submission: Submission


def submit(
    session: Session, context: GradingContext, sendings: Sequence[SubmitRequest], *, at: datetime
) -> list[IdempotentResponse | KeysetError]:
    """Judge answers and store them as attempts; the caller commits.

    Each sending gets its answer, or the error that says why it was refused. `at` is when it is
    written; what counts is when each one was received.
    """
    results: dict[int, IdempotentResponse | KeysetError] = {}
    for wave in _split_batches(sendings):
        results |= _submit_batch(Batch(session, context, wave, at))
    return [results[place] for place in range(len(sendings))]


def _split_batches(sendings: Sequence[SubmitRequest]) -> list[list[tuple[int, SubmitRequest]]]:
    """Sendings in waves, each with at most one of a student and an assignment, in their order.

    The second of a student must see the first: it may use it, repeat it or exceed the limit.
    """
    waves: list[list[tuple[int, SubmitRequest]]] = []
    seen: dict[tuple[str, str], int] = defaultdict(int)
    for place, sending in enumerate(sendings):
        owner = (sending.enrolment.id, sending.assignment)
        number = seen[owner]
        seen[owner] += 1
        if number == len(waves):
            waves.append([])
        waves[number].append((place, sending))
    return waves


def _submit_batch(wave: Batch) -> dict[int, IdempotentResponse | KeysetError]:
    _lock_batch(wave)
    cases = _remove_repeats(wave, _load_pending(wave, _take_unanswered(wave)))
    _store(wave, _judge(_prepare_all(wave, cases)))
    add_answered_requests(wave.session, wave.remembered)
    return wave.results


def _remove_repeats(wave: Batch, cases: list[Pending]) -> list[Pending]:
    """Answer what was sent before as it was answered then; refuse what is over the limit."""
    fresh = []
    for case in cases:
        same = _find_same_attempt(case)
        if same is not None:
            wave.answer(
                case.place, case.sending, IdempotentResponse(200, _repeat_body(wave, case, same))
            )
        elif len(case.before) >= case.policy.most_attempts:
            wave.results[case.place] = _make_none_left_error(case.policy)
        else:
            fresh.append(case)
    return fresh


def _repeat_body(wave: Batch, case: Pending, same: _JudgedAttempt) -> str:
    part = case.sending.part
    grade = find_grades(wave.session, parts=[part])[part]
    return _make_body(wave, case, same, grade, count=len(case.before))


def _prepare_all(wave: Batch, cases: list[Pending]) -> list[_Prepared]:
    variants = wave.context.variants(
        wave.session,
        [(case.sending.enrolment, case.rubric) for case in cases],
        at=wave.at,
    )
    read = []
    for case in cases:
        variant = variants[case.sending.enrolment.id, case.rubric.id]
        try:
            read.append(_prepare(wave, case, variant))
        except StudentError as error:
            wave.results[case.place] = error
    return read


def _prepare(wave: Batch, case: Pending, variant: Variant) -> _Prepared:
    drawn = stack_variants([variant])
    answer = read_answer(case.sending.answer, case.rubric.question.fields, drawn)
    refuse_missing_files(
        wave.session, enrolment_id=case.sending.enrolment.id, answer=case.sending.answer
    )
    judge = wave.context.judge(
        wave.session, run_id=case.sending.enrolment.run_id, rubric=case.rubric
    )
    earlier = _read_earlier(case, variant)
    return _Prepared(case, judge, Submission(variant, answer, judge.used(variant, earlier)))


def _read_earlier(case: Pending, variant: Variant) -> Answer | None:
    if case.earlier is None or case.rubric.earlier is None:
        return None
    fields = case.rubric.earlier.question.fields
    try:
        return read_answer(case.earlier.answer, fields, stack_variants([variant]))
    except StudentError:
        # The earlier question asks for something else since; then the reference is used.
        return None


def _judge(read: list[_Prepared]) -> list[tuple[_Prepared, Judgement]]:
    """Judge all answers to a question at once."""
    groups: dict[int, list[_Prepared]] = defaultdict(list)
    for each in read:
        groups[id(each.judge)].append(each)
    judged: list[tuple[_Prepared, Judgement]] = []
    for group in groups.values():
        judgements = group[0].judge.judge([each.submission for each in group])
        judged.extend(zip(group, judgements, strict=True))
    return judged


def _store(wave: Batch, judged: list[tuple[_Prepared, Judgement]]) -> None:
    if not judged:
        return
    lines = [_make_lines(wave, each, judgement) for each, judgement in judged]
    add_attempts(wave.session, lines, at=wave.at)
    grades = _update_grades(wave, [each.case for each, _ in judged], lines)
    for (each, _), line in zip(judged, lines, strict=True):
        case = each.case
        body = _make_body(wave, case, line, grades[case.sending.part], count=len(case.before) + 1)
        wave.answer(case.place, case.sending, IdempotentResponse(201, body))


def _make_lines(wave: Batch, read: _Prepared, judgement: Judgement) -> _JudgedAttempt:
    case, sending = read.case, read.case.sending
    earlier = None
    if case.rubric.earlier is not None:
        sent = case.earlier.answer if case.earlier else None
        earlier = EarlierAnswer(case.rubric.earlier.version, sent)
    receipt = compose_receipt(
        read.judge,
        read.submission,
        judgement,
        sent=sending.answer,
        rubric_version=case.rubric.version,
        earlier=earlier,
    )
    attempt = AttemptLine(
        id=make_id("att"),
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
    receipt = to_attempt_receipt(
        receipt, attempt=attempt.id, course=attempt.run_id, received_at=attempt.received_at
    )
    used = read.submission.used
    score = judgement.score
    return attempt, JudgementLine(
        id=make_id("jud"),
        attempt_id=attempt.id,
        number=1,
        rubric_version=case.rubric.version,
        verdicts=encode_verdicts(judgement),
        misconceptions=encode_misconceptions(judgement),
        uses=None if used is None else "own" if used.is_own else "reference",
        awarded=score.awarded,
        possible=score.possible,
        pending=score.pending,
        needs_person=any(each.needs_person for each in judgement.verdicts),
        receipt=sign_receipt(receipt, wave.context.signing_key).model_dump(mode="json"),
        judged_at=wave.at,
    )


def _update_grades(
    wave: Batch, cases: list[Pending], lines: list[_JudgedAttempt]
) -> dict[StudentQuestion, GradeLine]:
    """Bring the grades up to date, one course run after the other."""
    runs: dict[str, list[tuple[Pending, _JudgedAttempt]]] = defaultdict(list)
    for case, line in zip(cases, lines, strict=True):
        runs[case.sending.enrolment.run_id].append((case, line))
    grades: dict[StudentQuestion, GradeLine] = {}
    for run_id, pairs in runs.items():
        grades |= update_grades(
            wave.session,
            wave.context,
            run_id=run_id,
            parts=[case.sending.part for case, _ in pairs],
            at=wave.at,
            judged=[each for case, line in pairs for each in (*case.before, line)],
        )
    return grades


def _make_body(
    wave: Batch, case: Pending, judged: _JudgedAttempt, grade: GradeLine, *, count: int
) -> str:
    attempt, judgement = judged
    reviews = {}
    if attempt.id in {before.id for before, _ in case.before}:
        reviews = select_latest_reviews(list_reviews(wave.session, attempt_ids=[attempt.id]))
    report = compose_attempt_report(
        attempt,
        judgement,
        rubric=case.rubric,
        policy=case.policy,
        reviews=reviews.get(attempt.id, {}),
        is_counted=grade.counted_attempt_id == attempt.id,
        attempts_left=case.policy.most_attempts - count,
        at=case.sending.received_at,
        key=wave.context.signing_key,
    )
    return report.model_dump_json()
