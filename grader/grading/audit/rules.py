"""The rules of every publication ever, compiled on first use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from grader.domain.policies import Policy
from grader.errors import KeysetError
from grader.feedback.base import hash_bytes
from grader.grading.audit.findings import AuditCheck
from grader.grading.context import GradingContext, PublishedAssignment
from grader.store.database import Session
from grader.store.queries.publications import PublicationLine
from grader.store.queries.verification import list_all_publications, stream_rubric_texts
from grader.store.rows import UnreadableRow


@dataclass(frozen=True, slots=True)
class QuestionRule:
    """A question's policy without extensions, and the question that it builds on."""

    policy: Policy
    earlier: str | None


@dataclass(slots=True)
class PublicationRules:
    """All readable publications, loaded on first use."""

    session: Session
    context: GradingContext
    _lines: dict[str, PublicationLine] | None = None
    _known: dict[str, dict[str, QuestionRule] | None] = field(default_factory=dict)

    @property
    def lines(self) -> dict[str, PublicationLine]:
        """Publications by id, the newest of an assignment last."""
        if self._lines is None:
            lines = list_all_publications(self.session)
            self._lines = {each.id: each for each in lines if isinstance(each, PublicationLine)}
        return self._lines

    def of(self, publication_id: str) -> dict[str, QuestionRule] | None:
        """The rules of a publication's questions; None if its texts cannot be used."""
        if publication_id not in self._known:
            published = self.compiled(self.lines[publication_id])
            self._known[publication_id] = _rules(published) if published else None
        return self._known[publication_id]

    def compiled(self, line: PublicationLine) -> PublishedAssignment | None:
        """A publication, compiled; None if its texts cannot be used."""
        try:
            return self.context.published(self.session, line)
        except KeysetError:
            return None

    def in_force(self, run_id: str, assignment: str) -> PublishedAssignment | None:
        """The assignment in force now; None if there is none or its texts cannot be used."""
        newest = next(self.newest_first(run_id, assignment), None)
        return self.compiled(newest) if newest else None

    def newest_first(self, run_id: str, assignment: str) -> Iterator[PublicationLine]:
        """All publications of an assignment in a course run."""
        for line in reversed(self.lines.values()):
            if (line.run_id, line.assignment) == (run_id, assignment):
                yield line


def _rules(published: PublishedAssignment) -> dict[str, QuestionRule]:
    return {
        name: QuestionRule(
            published.policy(name), rubric.earlier.form.id if rubric.earlier else None
        )
        for name, rubric in published.assignment.rubrics.items()
    }


def check_rubrics(session: Session, rules: PublicationRules, tally: AuditCheck) -> None:
    """Check that rubric texts match their hashes and that publications can be used."""
    for line in stream_rubric_texts(session):
        tally.count()
        if isinstance(line, UnreadableRow):
            tally.report(line.id, "This text cannot be read.")
        elif hash_bytes(line[1].encode()) != line[0]:
            tally.report(line[0], "The text does not match this hash.")
    for publication in list_all_publications(session):
        tally.count()
        if isinstance(publication, UnreadableRow):
            tally.report(publication.id, "This publication cannot be read.")
        elif rules.of(publication.id) is None:
            tally.report(publication.id, "The texts of this publication cannot be used.")
