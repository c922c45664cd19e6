"""What grading needs besides the database, kept for speed; all of it can be made anew.

A publication never changes, and neither does a variant once it was shown, so that nothing kept
here can be out of date. Which publication is in force is asked of the database every time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar

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

Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class PublishedAssignment:
    """An assignment as it is in force in a course run, compiled."""

    line: PublicationLine
    assignment: CompiledAssignment

    @property
    def form(self) -> AssignmentFile:
        """The assignment's own file."""
        return self.assignment.form

    def rubric(self, question: str) -> Rubric:
        """A question's rubric."""
        rubric = self.assignment.rubrics.get(question)
        if rubric is None:
            raise NotFound
        return rubric

    def policy(self, question: str, extension: ExtensionLine | None = None) -> Policy:
        """What holds for a question, and for a student with this extension."""
        attempts = self.form.attempts_at(question)
        late = self.form.late
        return Policy(
            window=Window(
                opens_at=self.line.opens_at,
                due_at=self._due_at(extension),
                grace_seconds=late.grace_seconds,
                per_day=late.per_day,
                most_late_days=late.days,
            ),
            most_attempts=attempts.most + (extension.extra_attempts if extension else 0),
            counted=CountedAttempt(attempts.counted),
            feedback=Feedback(attempts.feedback),
            builds_on=self._earlier_feedback(question),
        )

    def _due_at(self, extension: ExtensionLine | None) -> datetime | None:
        """When it is due for a student; an extension never leaves less time than all have."""
        due_at = self.line.due_at
        if due_at is None or extension is None or extension.due_at is None:
            return due_at
        return max(due_at, extension.due_at)

    def _earlier_feedback(self, question: str) -> tuple[Feedback, ...]:
        """How much is told about the parts that a question builds on."""
        rubric = self.assignment.rubrics.get(question)
        found = []
        while rubric is not None and rubric.earlier is not None:
            rubric = rubric.earlier
            found.append(Feedback(self.form.attempts_at(rubric.form.id).feedback))
        return tuple(found)


class LruCache:
    """So many things by name; those that were not asked for longest go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: Hashable, make: Callable[[], Kept]) -> Kept:
        """What is kept under a name, made where it is not there."""
        found: Kept | None = self.find(name)
        if found is None:
            # Two threads may make the same at once; either may stay.
            found = make()
            self.put(name, found)
        return found

    def find(self, name: Hashable) -> Any | None:
        """What is kept under a name, or None."""
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
            return self._kept.get(name)

    def put(self, name: Hashable, kept: object) -> None:
        """Keep something."""
        with self._lock:
            self._kept[name] = kept
            self._kept.move_to_end(name)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


@lru_cache(maxsize=64)
def _compile(name: str, form: str, rubrics: tuple[tuple[str, str], ...]) -> CompiledAssignment:
    """An assignment from its texts; course runs that publish the same share it."""
    return read_assignment(name, form, dict(rubrics))


class GradingContext:
    """Compiled rubrics, judges with their noise, and the variants of students."""

    def __init__(self, signing_key: SigningKey) -> None:
        self.signing_key = signing_key
        self._bank = NoiseBank()
        self._publications = LruCache(most=200)
        self._judges = LruCache(most=1000)
        self._variants = LruCache(most=20_000)
        self._secrets = LruCache(most=200)
        #: How the examples of rubrics come out, which never changes for a version.
        self.trials = LruCache(most=500)
        #: Statistics are the one thing here that ages; each says of when it is.
        self.figures = StatisticsCache()

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

    def published(self, session: Session, line: PublicationLine) -> PublishedAssignment:
        """A publication, compiled."""

        def compile_texts() -> PublishedAssignment:
            texts = get_texts(session, publication_id=line.id)
            rubrics = tuple(texts.rubrics.items())
            return PublishedAssignment(line, _compile(line.assignment, texts.form, rubrics))

        return self._publications.get(line.id, compile_texts)

    def judge(self, session: Session, *, run_id: str, rubric: Rubric) -> Judge:
        """The judge of a question in a course run."""
        # A part that builds on another is judged by both files.
        versions = (rubric.version, rubric.earlier.version if rubric.earlier else "")
        name = (run_id, rubric.id, versions)
        return self._judges.get(
            name, lambda: Judge(rubric.question, self.keys(session, run_id=run_id), self._bank)
        )

    def keys(self, session: Session, *, run_id: str) -> RunSecret:
        """The keys of a course run."""
        return self._secrets.get(run_id, lambda: RunSecret(get_secret(session, run_id=run_id)))

    def variants(
        self,
        session: Session,
        wanted: Iterable[tuple[EnrolmentLine, Rubric]],
        *,
        at: datetime,
        keep: bool = True,
    ) -> dict[tuple[str, str], Variant]:
        """The variants of students as they were first shown, by enrolment and question.

        Those that were never shown are drawn and, with `keep`, stored.
        """
        found: dict[tuple[str, str], Variant] = {}
        missing: dict[tuple[str, str, int], list[tuple[EnrolmentLine, Rubric]]] = {}
        for enrolment, rubric in wanted:
            key = _variant_key(enrolment, rubric)
            kept = self._variants.find(key)
            if kept is not None:
                found[enrolment.id, rubric.id] = kept
            else:
                missing.setdefault(key, []).append((enrolment, rubric))
        shown = find_variants(session, wanted=missing)
        new = []
        for key, owners in missing.items():
            enrolment, rubric = owners[0]
            if key in shown:
                variant = decode_variant(enrolment.id, shown[key].drawn)
            else:
                judge = self.judge(session, run_id=enrolment.run_id, rubric=rubric)
                variant = judge.variant(enrolment.id)
                new.append(ShownVariant(enrolment.run_id, *key, drawn=encode_variant(variant)))
            if key in shown:
                self._variants.put(key, variant)
            found |= {(each.id, part.id): variant for each, part in owners}
        if keep and new:
            add_variants(session, new, at=at)
        return found

    def variant_answered(self, session: Session, attempt: AttemptLine, rubric: Rubric) -> Variant:
        """The variant of the student who made an attempt."""
        owner = EnrolmentLine(attempt.enrolment_id, attempt.run_id, "", Role.STUDENT, "")
        found = self.variants(session, [(owner, rubric)], at=attempt.received_at, keep=False)
        return found[owner.id, rubric.id]


def _variant_key(enrolment: EnrolmentLine, rubric: Rubric) -> tuple[str, str, int]:
    """Whose variant, of which question: parts that build on another one share its variant."""
    question = rubric.question
    source = question.uses.question if question.uses else question
    return enrolment.id, source.id, source.revision


def compute_release_time(
    published: PublishedAssignment, last_extended: datetime | None
) -> datetime | None:
    """When keys and rubrics may be published: after everybody's last moment to hand in.

    None where the assignment has no end.
    """
    window = published.policy(published.form.questions[0]).window
    if window.closes_at is None or window.due_at is None:
        return None
    if last_extended is None or last_extended <= window.due_at:
        return window.closes_at
    return window.closes_at + (last_extended - window.due_at) + timedelta(0)
