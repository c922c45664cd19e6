"""Submitting: answers in, judged and stored attempts out, a batch of them at a time.

The order is: lock the students' assignments, look up what was there, read and judge the answers,
store. What cannot be read or is not allowed is refused and stores nothing; the rest goes on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from grader.domain.policies import CountedAttempt, Phase, Policy
from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge, Judgement
from grader.errors import KeysetError, RequestRefused, StudentError
from grader.feedback.receipt import hash_answer
from grader.grading.attempts.report import (
    AttemptReport,
    build_attempt_fields,
    compose_stored_report,
    write_attempt_report,
)
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.grades.settle import NewAttempt, add_to_grades
from grader.grading.idempotency import (
    IdempotencyKey,
    IdempotentResponse,
    make_idempotency_record,
    refuse_new_keys,
    replay_response,
)
from grader.grading.judgements import make_judgement_line
from grader.grading.locks import lock_students
from grader.grading.submissions.uploads import refuse_missing_files
from grader.reading.answer import Text, read_answer
from grader.reading.fields import ExternalField
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import (
    AttemptLine,
    JudgedAttempt,
    JudgementLine,
    StudentQuestion,
    add_attempts,
    find_attempts,
    find_newest_times,
    list_same_answers,
)
from grader.store.queries.courses import EnrolmentLine
from grader.store.queries.decisions import list_reviews, select_latest_reviews
from grader.store.queries.grades import GradeLine, ProgressLine, find_grades, find_progress
from grader.store.queries.idempotency import (
    AnsweredRequest,
    add_answered_requests,
    find_answered_requests,
)
from grader.store.queries.publications import ExtensionLine, find_extensions
from grader.store.rows import make_id


class SubmitRequest(NamedTuple):
    """An answer as it arrived."""

    enrolment: EnrolmentLine
    assignment: str
    question: str
    answer: Any
    received_at: datetime
    key: IdempotencyKey | None = None

    @property
    def part(self) -> StudentQuestion:
        """Whose answer it is, and to what."""
        return self.enrolment.id, self.assignment, self.question


Result = IdempotentResponse | KeysetError


def submit(
    session: Session, context: GradingContext, requests: Sequence[SubmitRequest], *, at: datetime
) -> list[Result]:
    """Judge answers and store them as attempts; the caller commits.

    Each request gets its response, or the error that says why it was refused. `at` is the time of
    writing; what counts is when each request was received.
    """
    results: dict[int, Result] = {}
    for batch in _split_batches(requests):
        results |= _Batch(session, context, at, batch).submit()
    return [results[number] for number in range(len(requests))]


def refuse_unreadable(session: Session, context: GradingContext, request: SubmitRequest) -> None:
    """Read an answer before it is submitted, without storing anything.

    Raises
    ------
    AnswerRefused
        Where it cannot be read. Whether it may be submitted is not asked: `submit` says that.
    """
    enrolment = request.enrolment
    key = request.key
    if key is not None and key.name in find_answered_requests(session, keys=[key.name]):
        # It gets the response that it got before.
        return
    try:
        published = context.in_force(
            session, run_id=enrolment.run_id, assignment=request.assignment
        )
        rubric = published.rubric(request.question)
    except KeysetError:
        return
    variants = context.variants(session, [(enrolment, rubric)], at=request.received_at, keep=False)
    read_answer(
        request.answer, rubric.question.fields, variants[enrolment.id, rubric.id].environment
    )


def _split_batches(requests: Sequence[SubmitRequest]) -> list[dict[int, SubmitRequest]]:
    """Batches by number, each with at most one request of a student to an assignment, in order.

    A student's second request must see the first: it may use it, repeat it or exceed the limit.
    """
    batches: list[dict[int, SubmitRequest]] = []
    count: dict[tuple[str, str], int] = defaultdict(int)
    for number, request in enumerate(requests):
        owner = (request.enrolment.id, request.assignment)
        if count[owner] == len(batches):
            batches.append({})
        batches[count[owner]][number] = request
        count[owner] += 1
    return batches


class _Pending(NamedTuple):
    """A request that may be judged, with everything that is needed for it.

    `same` are the attempts with the same answer so far. `earlier` is the counted attempt at the
    question that this one builds on, `earlier_sent_at` when the newest attempt there arrived.
    `repeated` is an earlier attempt with the same answer that the changed rubric judges again for
    free.
    """

    number: int
    request: SubmitRequest
    published: PublishedAssignment
    rubric: Rubric
    policy: Policy
    before: ProgressLine | None
    answer_digest: str
    same: list[JudgedAttempt]
    earlier: AttemptLine | None = None
    earlier_sent_at: datetime | None = None
    repeated: AttemptLine | None = None

    @property
    def used(self) -> int:
        """How many attempts of the limit were used before."""
        return self.before.grade.attempts if self.before else 0

    @property
    def last_number(self) -> int:
        """The number of the attempt before."""
        return (self.before.last_number or 0) if self.before else 0


class _Judged(NamedTuple):
    """A new attempt, as it is stored and as the engine knows it."""

    pending: _Pending
    attempt: AttemptLine
    line: JudgementLine
    judgement: Judgement


@dataclass(slots=True)
class _Batch:
    """Requests of different students, or to different assignments, that are handled together."""

    session: Session
    context: GradingContext
    at: datetime
    requests: dict[int, SubmitRequest]
    results: dict[int, Result] = field(default_factory=dict)
    records: list[AnsweredRequest] = field(default_factory=list)
    extensions: Mapping[tuple[str, str], ExtensionLine] = field(default_factory=dict)

    def submit(self) -> dict[int, Result]:
        requests = self.requests.values()
        keys = [each.key for each in requests if each.key]
        lock_students(
            self.session,
            [(each.enrolment.id, each.assignment) for each in requests],
            run_ids=[each.enrolment.run_id for each in requests],
            keys=keys,
        )
        if keys:
            self._replay(keys)
        judged = list(self._judge(self._prepare(self._remove_repeats(self._load()))))
        if judged:
            self._store(judged)
        if self.records:
            add_answered_requests(self.session, self.records)
        return self.results

    def _answer(self, pending: _Pending, status: int, attempt_id: str, report: str) -> None:
        """Answer a request with the JSON of a report, and remember the response under its key."""
        response = IdempotentResponse(status, report, created_id=attempt_id)
        self.results[pending.number] = response
        key = pending.request.key
        if key is not None:
            self.records.append(make_idempotency_record(key, response, at=self.at))

    def _replay(self, keys: Sequence[IdempotencyKey]) -> None:
        """Answer requests that were answered before under their key as they were then."""
        known = find_answered_requests(self.session, keys=[each.name for each in keys])
        for number, request in self.requests.items():
            answered = known.get(request.key.name) if request.key else None
            if answered is None or request.key is None:
                continue
            try:
                created_id = orjson.loads(answered.body)["id"]
                self.results[number] = replay_response(answered, request.key, created_id)
            except KeysetError as error:
                self.results[number] = error

    def _load(self) -> list[_Pending]:
        """Look up everything that is needed; requests that are not allowed are refused."""
        requests = {
            number: each for number, each in self.requests.items() if number not in self.results
        }
        self.extensions = find_extensions(
            self.session, pairs={(each.enrolment.id, each.assignment) for each in requests.values()}
        )
        published: dict[tuple[str, str], PublishedAssignment] = {}
        allowed: dict[int, tuple[PublishedAssignment, Rubric, Policy]] = {}
        for number, request in requests.items():
            run_id, name = request.enrolment.run_id, request.assignment
            try:
                if (run_id, name) not in published:
                    published[run_id, name] = self.context.in_force(
                        self.session, run_id=run_id, assignment=name
                    )
                assignment = published[run_id, name]
                rubric = assignment.rubric(request.question)
                extension = self.extensions.get((request.enrolment.id, name))
                policy = assignment.policy(request.question, extension)
                _refuse_not_allowed(rubric, policy, at=request.received_at)
                allowed[number] = assignment, rubric, policy
            except KeysetError as error:
                self.results[number] = error
        parts = [requests[number].part for number in allowed]
        progress = find_progress(self.session, parts=parts) if parts else {}
        digests = {number: hash_answer(requests[number].answer) for number in allowed}
        same = _find_same_answers(
            self.session,
            [
                (*requests[number].part, digests[number])
                for number in allowed
                if requests[number].part in progress
            ],
        )
        rubrics = {requests[number].part: rubric for number, (_, rubric, _) in allowed.items()}
        earlier = _find_counted_earlier(self.session, rubrics)
        pending = []
        for number, (assignment, rubric, policy) in allowed.items():
            request = requests[number]
            if rubric.earlier is not None and request.part not in earlier:
                self.results[number] = _make_earlier_missing_error(rubric.earlier)
                continue
            pending.append(
                _Pending(
                    number,
                    request,
                    assignment,
                    rubric,
                    policy,
                    progress.get(request.part),
                    digests[number],
                    same.get(request.part, []),
                    *earlier.get(request.part, ()),
                )
            )
        return pending

    def _remove_repeats(self, pending: Sequence[_Pending]) -> Iterator[_Pending]:
        """Answer what was sent before as it was answered then; refuse what is over the limit.

        An answer that was sent before, but judged by another rubric, is no repeat, and is free.
        """
        found = [(each, _find_same_attempt(each)) for each in pending]
        # The policy limits new attempts. Repeats have no limit, so only their keys are counted.
        callers = {each.request.key.caller for each, same in found if same and each.request.key}
        refused = refuse_new_keys(self.session, callers, at=self.at) if callers else {}
        for each, same in found:
            key = each.request.key
            repeated = _find_outdated_attempt(each)
            if same is not None and key is not None and key.caller in refused:
                self.results[each.number] = refused[key.caller]
            elif same is not None:
                report = self._report_again(each, *same)
                self._answer(each, 200, same[0].id, report.model_dump_json())
            elif repeated is not None or each.policy.count_left(each.used):
                yield each if repeated is None else each._replace(repeated=repeated)
            else:
                self.results[each.number] = _make_none_left_error(each.policy)

    def _report_again(
        self, pending: _Pending, attempt: AttemptLine, line: JudgementLine
    ) -> AttemptReport:
        part = pending.request.part
        grade = find_grades(self.session, parts=[part])[part]
        reviews = select_latest_reviews(list_reviews(self.session, attempt_ids=[attempt.id]))
        return compose_stored_report(
            attempt,
            line,
            reviews=reviews.get(attempt.id, {}),
            **self._report_options(pending, attempt, grade),
        )

    def _report_options(
        self, pending: _Pending, attempt: AttemptLine, grade: GradeLine
    ) -> dict[str, Any]:
        """What reports of new and of repeated attempts have in common."""
        return {
            "rubric": pending.rubric,
            "policy": pending.policy,
            "is_counted": grade.counted_attempt_id == attempt.id,
            "attempts_left": pending.policy.count_left(grade.attempts),
            "at": pending.request.received_at,
            "key": self.context.signing_key,
        }

    def _prepare(self, pending: Iterator[_Pending]) -> list[tuple[_Pending, Judge, Submission]]:
        """Read the answers; what cannot be read is refused."""
        waiting = list(pending)
        variants = self.context.variants(
            self.session, [(each.request.enrolment, each.rubric) for each in waiting], at=self.at
        )
        prepared = []
        for each in waiting:
            enrolment, rubric, answer = each.request.enrolment, each.rubric, each.request.answer
            judge = self.context.judge(self.session, run_id=enrolment.run_id, rubric=rubric)
            earlier = each.earlier.answer if each.earlier else None
            try:
                variant = variants[enrolment.id, rubric.id]
                submission = judge.prepare(variant, answer, earlier=earlier)
                if any(isinstance(value, Text) for value in submission.answer.values.values()):
                    refuse_missing_files(self.session, enrolment_id=enrolment.id, answer=answer)
                prepared.append((each, judge, submission))
            except StudentError as error:
                self.results[each.number] = error
        return prepared

    def _judge(self, prepared: Sequence[tuple[_Pending, Judge, Submission]]) -> Iterator[_Judged]:
        """Judge all answers to a question at once."""
        groups: dict[int, list[tuple[_Pending, Judge, Submission]]] = defaultdict(list)
        for each in prepared:
            groups[id(each[1])].append(each)
        for group in groups.values():
            judge = group[0][1]
            judgements = judge.judge([submission for *_, submission in group])
            for (pending, _, submission), judgement in zip(group, judgements, strict=True):
                yield self._make_attempt(pending, judge, submission, judgement)

    def _make_attempt(
        self, pending: _Pending, judge: Judge, submission: Submission, judgement: Judgement
    ) -> _Judged:
        request, rubric = pending.request, pending.rubric
        attempt = AttemptLine(
            id=make_id("att"),
            run_id=request.enrolment.run_id,
            enrolment_id=request.enrolment.id,
            assignment=request.assignment,
            question=request.question,
            number=pending.last_number + 1,
            answer=request.answer,
            answer_digest=pending.answer_digest,
            publication_id=pending.published.line.id,
            uses_attempt_id=pending.earlier.id if pending.earlier else None,
            repeats_attempt_id=pending.repeated.id if pending.repeated else None,
            received_at=request.received_at,
        )
        line = make_judgement_line(
            judge,
            submission,
            judgement,
            attempt,
            rubric=rubric,
            number=1,
            stored_at=self.at,
            judged_at=self.at,
            key=self.context.signing_key,
        )
        return _Judged(pending, attempt, line, judgement)

    def _store(self, judged: Sequence[_Judged]) -> None:
        """Store attempts and grades, one course run after the other, and answer the requests."""
        add_attempts(self.session, [(each.attempt, each.line) for each in judged], at=self.at)
        runs: dict[str, list[_Judged]] = defaultdict(list)
        for each in judged:
            runs[each.attempt.run_id].append(each)
        for run_id, group in runs.items():
            grades = add_to_grades(
                self.session,
                self.context,
                run_id=run_id,
                new=[
                    NewAttempt(
                        each.attempt,
                        each.judgement,
                        each.pending.before,
                        each.pending.policy,
                    )
                    for each in group
                ],
                at=self.at,
            )
            for each in group:
                fields = build_attempt_fields(
                    each.attempt,
                    each.judgement,
                    each.line.receipt,
                    uses=each.line.uses,
                    points=each.line.awarded,
                    reviews={},
                    **self._report_options(each.pending, each.attempt, grades[each.attempt.part]),
                )
                self._answer(each.pending, 201, each.attempt.id, write_attempt_report(fields))


def _refuse_not_allowed(rubric: Rubric, policy: Policy, *, at: datetime) -> None:
    """Refuse an answer that arrives too early or too late, or that is graded elsewhere."""
    if any(isinstance(each, ExternalField) for each in rubric.question.fields):
        raise RequestRefused(
            "This question is graded elsewhere; its score comes from there.",
            code="question.external",
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
    session: Session, rubrics: Mapping[StudentQuestion, Rubric]
) -> dict[StudentQuestion, tuple[AttemptLine, datetime]]:
    """The counted attempts at the questions that these build on, by the question that builds.

    With each comes the time of the newest attempt there.
    """
    sources: dict[StudentQuestion, StudentQuestion] = {
        (enrolment_id, assignment, question): (enrolment_id, assignment, rubric.earlier.form.id)
        for (enrolment_id, assignment, question), rubric in rubrics.items()
        if rubric.earlier is not None
    }
    if not sources:
        return {}
    grades = find_grades(session, parts=sources.values())
    counted = {
        part: grades[source].counted_attempt_id
        for part, source in sources.items()
        if source in grades
    }
    attempts = find_attempts(session, attempt_ids=[each for each in counted.values() if each])
    newest = find_newest_times(session, parts=sources.values())
    return {
        part: (attempts[attempt_id], newest[sources[part]])
        for part, attempt_id in counted.items()
        if attempt_id is not None
    }


def _find_same_answers(
    session: Session, answers: Sequence[tuple[str, str, str, str]]
) -> dict[StudentQuestion, list[JudgedAttempt]]:
    """The attempts with the same answers so far, in order, by the question of the student."""
    found: dict[StudentQuestion, list[JudgedAttempt]] = defaultdict(list)
    if answers:
        for judged in list_same_answers(session, answers=answers):
            found[judged[0].part].append(judged)
    return found


def _make_earlier_missing_error(earlier: Rubric) -> RequestRefused:
    return RequestRefused(
        f"This question is about your own answer to {earlier.form.id}, and there is none yet. "
        f"Submit one to {earlier.form.id} first; no attempt was used.",
        code="earlier.missing",
    )


def _find_same_attempt(pending: _Pending) -> JudgedAttempt | None:
    """The attempt with the same answer, by the same rubric and on the same earlier answer.

    Where the last attempt counts it must be that one: an older answer sent again then counts.
    """
    needs_last = pending.policy.counted is CountedAttempt.LAST
    for attempt, judgement in pending.same:
        if (
            (attempt.number == pending.last_number or not needs_last)
            and judgement.rubric_versions == pending.rubric.versions
            and _uses_same(pending, attempt, judgement)
        ):
            return attempt, judgement
    return None


def _find_outdated_attempt(pending: _Pending) -> AttemptLine | None:
    """The last attempt with the same answer, if the rubric has changed since it was judged."""
    if not pending.same:
        return None
    attempt, judgement = pending.same[-1]
    return attempt if judgement.rubric_versions != pending.rubric.versions else None


def _uses_same(pending: _Pending, attempt: AttemptLine, judgement: JudgementLine) -> bool:
    if pending.earlier is None or pending.earlier_sent_at is None:
        return attempt.uses_attempt_id is None
    if pending.policy.shows_result(pending.request.received_at):
        # A repeated attempt there has another id and the same answer.
        return judgement.used_answer_digest == pending.earlier.answer_digest
    # Whether another attempt counts by now would tell whether a newer one is better.
    return attempt.received_at >= pending.earlier_sent_at


def _make_none_left_error(policy: Policy) -> RequestRefused:
    most = policy.most_attempts
    used = f"All {most} attempts" if most > 1 else "The one attempt"
    verb = "are" if most > 1 else "is"
    return RequestRefused(f"{used} at this question {verb} used.", code="attempts.none_left")
