"""What grading keeps in memory beside the database: compiled rubrics, judges, variants, secrets.

A publication never changes, and neither does a variant once it was shown, so nothing kept here can
be out of date. Which publication is in force is asked of the database every time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

from cachetools import LRUCache, cachedmethod

from grader.domain.policies import CountedAttempt, Feedback, Policy, Window
from grader.domain.roles import Role
from grader.engine.judge.judge import Judge
from grader.engine.random.noise import NoiseBank
from grader.engine.random.streams import RunSecret
from grader.engine.random.variants import Variant
from grader.errors import NotFound
from grader.grading.caches import StatisticsCache
from grader.grading.serialize import decode_variant, encode_variant
from grader.grading.signing import SigningKey
from grader.rubric.assignment import AssignmentFile
from grader.rubric.catalog import CompiledAssignment, Rubric, read_assignment
from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine, ShownVariant, add_variants, find_variants
from grader.store.queries.courses import EnrolmentLine, get_secret
from grader.store.queries.publications import (
    ExtensionLine,
    PublicationLine,
    find_in_force,
    get_texts,
)

if TYPE_CHECKING:
    from grader.grading.publishing.example_runs import ExampleRuns

_LOCK = attrgetter("lock")


@dataclass(frozen=True, slots=True)
class PublishedAssignment:
    """An assignment as it is in force in a course run, compiled."""

    line: PublicationLine
    assignment: CompiledAssignment
    form: AssignmentFile = field(init=False)
    _policies: dict[str, Policy] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "form", self.assignment.form)

    def rubric(self, question: str) -> Rubric:
        """A question's rubric."""
        rubric = self.assignment.rubrics.get(question)
        if rubric is None:
            raise NotFound
        return rubric

    def policy(self, question: str, extension: ExtensionLine | None = None) -> Policy:
        """The policy of a question, for a student with this extension."""
        policy = self._policies.get(question)
        if policy is None:
            policy = self._policies[question] = self._make_policy(question)
        if extension is None:
            return policy
        due_at = policy.window.due_at
        if due_at is not None and extension.due_at is not None:
            # An extension never leaves less time than everybody has.
            due_at = max(due_at, extension.due_at)
        return replace(
            policy,
            window=replace(policy.window, due_at=due_at),
            most_attempts=policy.most_attempts + extension.extra_attempts,
        )

    def _make_policy(self, question: str) -> Policy:
        attempts, late = self.form.attempts_at(question), self.form.late
        return Policy(
            window=Window(
                opens_at=self.line.opens_at,
                due_at=self.line.due_at,
                grace_seconds=late.grace_seconds,
                per_day=late.per_day,
                most_late_days=late.days,
            ),
            most_attempts=attempts.most,
            counted=CountedAttempt(attempts.counted),
            feedback=Feedback(attempts.feedback),
            builds_on=self._list_earlier_feedback(question),
        )

    def _list_earlier_feedback(self, question: str) -> tuple[Feedback, ...]:
        """How much is told about the questions that this one builds on."""
        rubric = self.assignment.rubrics.get(question)
        found = []
        while rubric is not None and rubric.earlier is not None:
            rubric = rubric.earlier
            found.append(Feedback(self.form.attempts_at(rubric.form.id).feedback))
        return tuple(found)


@lru_cache(maxsize=64)
def _compile(name: str, form: str, rubrics: tuple[tuple[str, str], ...]) -> CompiledAssignment:
    """An assignment from its texts; course runs that publish the same share it."""
    return read_assignment(name, form, dict(rubrics))


class GradingContext:
    """Compiled rubrics, judges with their noise, and the variants of students."""

    def __init__(self, signing_key: SigningKey) -> None:
        self.signing_key = signing_key
        self.lock = threading.Lock()
        #: How the examples of rubrics come out, which never changes for a version.
        self.example_runs: LRUCache[tuple[str, tuple[str, str]], ExampleRuns] = LRUCache(500)
        #: Statistics are the one thing here that ages; each says of when it is.
        self.figures = StatisticsCache()
        #: Attempts by earlier versions of their rubrics; none is added to those of a publication.
        self.outdated: LRUCache[object, dict[str, int]] = LRUCache(200)
        self._bank = NoiseBank()
        self._publications: LRUCache[object, PublishedAssignment] = LRUCache(200)
        self._judges: LRUCache[object, Judge] = LRUCache(1000)
        self._secrets: LRUCache[object, RunSecret] = LRUCache(200)
        self._variants: LRUCache[tuple[str, str, int], Variant] = LRUCache(20_000)

    def in_force(self, session: Session, *, run_id: str, assignment: str) -> PublishedAssignment:
        """The assignment as it is in force now.

        Raises
        ------
        NotFound
            Where the course run has no such assignment.
        """
        line = find_in_force(session, run_id=run_id, assignment=assignment)
        if line is None:
            raise NotFound
        return self.published(session, line)

    # Two threads may make the same value at once; either may stay.

    @cachedmethod(attrgetter("_publications"), key=lambda _, __, line: line.id, lock=_LOCK)
    def published(self, session: Session, line: PublicationLine) -> PublishedAssignment:
        """A publication, compiled."""
        texts = get_texts(session, publication_id=line.id)
        rubrics = tuple(texts.rubrics.items())
        return PublishedAssignment(line, _compile(line.assignment, texts.form, rubrics))

    @cachedmethod(
        attrgetter("_judges"),
        key=lambda _, __, *, run_id, rubric: (run_id, rubric.id, rubric.versions),
        lock=_LOCK,
    )
    def judge(self, session: Session, *, run_id: str, rubric: Rubric) -> Judge:
        """The judge of a question in a course run."""
        return Judge(rubric.question, self.keys(session, run_id=run_id), self._bank)

    @cachedmethod(attrgetter("_secrets"), key=lambda _, __, *, run_id: run_id, lock=_LOCK)
    def keys(self, session: Session, *, run_id: str) -> RunSecret:
        """The keys of a course run."""
        return RunSecret(get_secret(session, run_id=run_id))

    def variants(
        self,
        session: Session,
        owners: Iterable[tuple[EnrolmentLine, Rubric]],
        *,
        at: datetime,
        keep: bool = True,
    ) -> dict[tuple[str, str], Variant]:
        """The variants of students as they were first shown, by enrolment and question.

        Those that were never shown are drawn and, with `keep`, stored.
        """
        found: dict[tuple[str, str], Variant] = {}
        missing: dict[tuple[str, str, int], list[tuple[EnrolmentLine, Rubric]]] = {}
        for enrolment, rubric in owners:
            # Questions that build on another one share its variant.
            source = rubric.question.source
            key = (enrolment.id, source.id, source.revision)
            with self.lock:
                variant = self._variants.get(key)
            if variant is not None:
                found[enrolment.id, rubric.id] = variant
            else:
                missing.setdefault(key, []).append((enrolment, rubric))
        if missing:
            found |= self._load_variants(session, missing, at=at, keep=keep)
        return found

    def _load_variants(
        self,
        session: Session,
        missing: dict[tuple[str, str, int], list[tuple[EnrolmentLine, Rubric]]],
        *,
        at: datetime,
        keep: bool,
    ) -> dict[tuple[str, str], Variant]:
        """Variants from the store, and those that were never shown."""
        shown = find_variants(session, wanted=missing)
        found: dict[tuple[str, str], Variant] = {}
        new = []
        for key, owners in missing.items():
            enrolment, rubric = owners[0]
            if key in shown:
                variant = decode_variant(enrolment.id, shown[key].drawn)
                # Only what is stored for certain is kept: a transaction may be rolled back.
                with self.lock:
                    self._variants[key] = variant
            else:
                judge = self.judge(session, run_id=enrolment.run_id, rubric=rubric)
                variant = judge.variant(enrolment.id)
                new.append(ShownVariant(enrolment.run_id, *key, drawn=encode_variant(variant)))
            found |= {(each.id, other.id): variant for each, other in owners}
        if keep and new:
            add_variants(session, new, at=at)
        return found

    def variant_answered(self, session: Session, attempt: AttemptLine, rubric: Rubric) -> Variant:
        """The variant of the student who made an attempt."""
        return self.variants_answered(session, [attempt], rubric)[attempt.enrolment_id]

    def variants_answered(
        self, session: Session, attempts: Sequence[AttemptLine], rubric: Rubric
    ) -> dict[str, Variant]:
        """The variants of the students who made attempts at a question, by enrolment."""
        owners = [
            (EnrolmentLine(each.enrolment_id, each.run_id, "", Role.STUDENT, ""), rubric)
            for each in attempts
        ]
        if not owners:
            return {}
        found = self.variants(session, owners, at=attempts[0].received_at, keep=False)
        return {enrolment_id: variant for (enrolment_id, _), variant in found.items()}


def compute_release_time(
    published: PublishedAssignment, last_extended: datetime | None
) -> datetime | None:
    """When keys and rubrics may be published: after everybody's last moment to submit.

    None where the assignment has no end.
    """
    window = published.policy(published.form.questions[0]).window
    if window.closes_at is None or window.due_at is None:
        return None
    if last_extended is None or last_extended <= window.due_at:
        return window.closes_at
    return window.closes_at + (last_extended - window.due_at)
