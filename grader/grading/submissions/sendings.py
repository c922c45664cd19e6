"""Sendings: answers as they arrived, with what holds for each of them before it is judged."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from grader.domain.policies import Counted, Phase, Policy
from grader.errors import KeysetError, Refused
from grader.feedback.receipt import hash_answer
from grader.grading.context import Desk, Published
from grader.grading.idempotency import Answered, RequestKey, remember, replay
from grader.grading.locks import lock_students
from grader.reading.fields import ExternalField
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine, JudgementLine, Part, list_judged
from grader.store.queries.courses import EnrolmentLine
from grader.store.queries.grades import find_grades
from grader.store.queries.idempotency import AnsweredRequest, find_answered
from grader.store.queries.publications import find_extensions

Judged = tuple[AttemptLine, JudgementLine]


@dataclass(frozen=True, slots=True)
class Sending:
    """An answer as it arrived."""

    enrolment: EnrolmentLine
    assignment: str
    question: str
    answer: Any
    received_at: datetime
    request: RequestKey | None = None

    @property
    def part(self) -> Part:
        """Whose answer it is, and to what."""
        return self.enrolment.id, self.assignment, self.question


@dataclass(frozen=True, slots=True)
class Case:
    """A sending with what is needed to judge it."""

    place: int
    sending: Sending
    published: Published
    rubric: Rubric
    policy: Policy
    before: list[Judged]
    earlier: AttemptLine | None
    earlier_sent_at: datetime | None
    """When the newest attempt at the earlier part came, which is not always the counted one."""


@dataclass(slots=True)
class Wave:
    """Sendings of different students, or to different assignments, handled together."""

    session: Session
    desk: Desk
    sendings: list[tuple[int, Sending]]
    at: datetime
    results: dict[int, Answered | KeysetError] = field(default_factory=dict)
    remembered: list[AnsweredRequest] = field(default_factory=list)

    published: dict[tuple[str, str], Published] = field(default_factory=dict)

    def in_force(self, sending: Sending) -> Published:
        """The assignment that is answered, looked up once for all."""
        name = (sending.enrolment.run_id, sending.assignment)
        if name not in self.published:
            run_id, assignment = name
            self.published[name] = self.desk.in_force(
                self.session, run_id=run_id, assignment=assignment
            )
        return self.published[name]

    def answer(self, place: int, sending: Sending, answered: Answered) -> None:
        """Answer a sending, and remember the answer under its key."""
        self.results[place] = answered
        if sending.request is not None:
            self.remembered.append(remember(sending.request, answered, at=self.at))


def lock_wave(wave: Wave) -> None:
    """Keep everybody else from these students' assignments, and from these keys, meanwhile."""
    lock_students(
        wave.session,
        [(each.enrolment.id, each.assignment) for _, each in wave.sendings],
        run_ids=[each.enrolment.run_id for _, each in wave.sendings],
        keys=[each.request for _, each in wave.sendings if each.request],
    )


def take_waiting(wave: Wave) -> list[tuple[int, Sending]]:
    """Those that were not answered before under their key."""
    keys = [each.request.name for _, each in wave.sendings if each.request]
    known = find_answered(wave.session, keys=keys)
    waiting = []
    for place, sending in wave.sendings:
        answered = known.get(sending.request.name) if sending.request else None
        if answered is None or sending.request is None:
            waiting.append((place, sending))
            continue
        try:
            wave.results[place] = replay(answered, sending.request)
        except KeysetError as error:
            wave.results[place] = error
    return waiting


def look_up(wave: Wave, waiting: list[tuple[int, Sending]]) -> list[Case]:
    """Look up what holds for each sending; those that are not allowed are refused."""
    session = wave.session
    extensions = find_extensions(
        session, pairs={(each.enrolment.id, each.assignment) for _, each in waiting}
    )
    allowed: list[tuple[int, Sending, Published, Rubric, Policy]] = []
    for place, sending in waiting:
        try:
            published = wave.in_force(sending)
            rubric = published.rubric(sending.question)
            extension = extensions.get((sending.enrolment.id, sending.assignment))
            policy = published.policy(sending.question, extension)
            check_allowed(rubric, policy, at=sending.received_at)
            allowed.append((place, sending, published, rubric, policy))
        except KeysetError as error:
            wave.results[place] = error
    before: dict[Part, list[Judged]] = defaultdict(list)
    for judged in list_judged(session, parts=[each.part for _, each, *_ in allowed]):
        before[judged[0].part].append(judged)
    earlier = _counted_earlier(session, [(sending, rubric) for _, sending, _, rubric, _ in allowed])
    cases = []
    for place, sending, published, rubric, policy in allowed:
        used, sent_at = earlier.get(sending.part, (None, None))
        if rubric.earlier is not None and used is None:
            wave.results[place] = _nothing_to_use(rubric)
            continue
        known = before[sending.part]
        cases.append(Case(place, sending, published, rubric, policy, known, used, sent_at))
    return cases


def check_allowed(rubric: Rubric, policy: Policy, *, at: datetime) -> None:
    """Refuse an answer that arrives too early or too late, or has no place here at all."""
    if any(isinstance(each, ExternalField) for each in rubric.question.fields):
        raise Refused(
            "This part is graded elsewhere; its score comes from there.", code="question.external"
        )
    window = policy.window
    match window.phase(at):
        case Phase.NOT_OPEN:
            assert window.opens_at is not None, "only then it can be too early"
            raise Refused(
                f"This assignment opens at {window.opens_at.isoformat()}.",
                code="assignment.not_open",
            )
        case Phase.CLOSED:
            assert window.closes_at is not None, "only then it can be too late"
            raise Refused(
                f"This assignment took answers until {window.closes_at.isoformat()}.",
                code="assignment.closed",
            )
        case Phase.OPEN | Phase.LATE:
            pass


def _counted_earlier(
    session: Session, wanted: list[tuple[Sending, Rubric]]
) -> dict[Part, tuple[AttemptLine, datetime]]:
    """The counted attempts at the parts that these build on, by the part that builds.

    With each, when the newest attempt there came.
    """
    sources: dict[Part, Part] = {}
    for sending, rubric in wanted:
        if rubric.earlier is not None:
            enrolment_id, assignment, _ = sending.part
            sources[sending.part] = (enrolment_id, assignment, rubric.earlier.form.id)
    if not sources:
        return {}
    grades = find_grades(session, parts=sources.values())
    attempts: dict[str, AttemptLine] = {}
    newest: dict[Part, datetime] = {}
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


def _nothing_to_use(rubric: Rubric) -> Refused:
    assert rubric.earlier is not None, "only then something is used"
    before = rubric.earlier.form.id
    return Refused(
        f"This part is about your own answer to {before}, and there is none yet. "
        f"Send one to {before} first; no attempt was used.",
        code="earlier.missing",
    )


def find_same(case: Case) -> Judged | None:
    """The attempt with the same answer, and on the same earlier attempt, if there is one.

    Where the last attempt counts, it must be that one: an older answer sent again shall count.
    """
    digest = hash_answer(case.sending.answer)
    candidates = case.before[-1:] if case.policy.counted is Counted.LAST else case.before
    for attempt, judgement in candidates:
        if attempt.answer_digest == digest and _builds_on_the_same(case, attempt):
            return attempt, judgement
    return None


def _builds_on_the_same(case: Case, attempt: AttemptLine) -> bool:
    if case.earlier is None or case.earlier_sent_at is None:
        return attempt.uses_attempt_id is None
    if case.policy.shows_result(case.sending.received_at):
        return attempt.uses_attempt_id == case.earlier.id
    # Whether the counted attempt is another one since would tell whether a newer one is better.
    return attempt.received_at >= case.earlier_sent_at


def none_left(policy: Policy) -> Refused:
    """That all attempts are used."""
    most = policy.most_attempts
    used = f"All {most} attempts" if most > 1 else "The one attempt"
    verb = "are" if most > 1 else "is"
    return Refused(f"{used} at this question {verb} used.", code="attempts.none_left")
