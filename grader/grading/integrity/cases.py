"""The input of an integrity check: a question's attempts by rubric, and everybody's variants."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.engine.judge.judge import Judge
from grader.engine.question import ChoiceCriterion
from grader.engine.random.variants import Variant, stack_variants
from grader.errors import StudentError
from grader.grading.context import GradingContext
from grader.grading.integrity.search import Finding, Suspect, has_numbers, has_same_numbers
from grader.grading.serialize import decode_judgement, decode_variant
from grader.reading.answer import Answer, Choice, read_answer
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import AttemptLine, JudgementLine, list_judged_of_question
from grader.store.queries.integrity import IntegrityCheckLine, ResemblanceLine, list_shown_variants
from grader.store.queries.publications import get_publication

#: How many pairs are kept as examples of an answer that solves many variants by accident.
_MAX_EXAMPLES = 3


def describe_exclusion(rubric: Rubric) -> str:
    """Why a question is not checked; empty if it is."""
    question = rubric.question
    if question.uses is not None:
        return "it builds on the student's own earlier answer"
    if not question.draws:
        return "everybody has the same numbers"
    return ""


@dataclass(slots=True)
class RubricAttempts:
    """The attempts at a question that were judged by one rubric, and everybody's variants."""

    rubric: Rubric
    judge: Judge
    attempts: list[tuple[AttemptLine, JudgementLine]]
    variants: dict[str, Variant]
    suspects: list[Suspect] = field(default_factory=list)

    def lines(self, finding: Finding, *, check: IntegrityCheckLine) -> list[ResemblanceLine]:
        """The stored lines of a finding: all pairs, or a few examples if it is uninformative."""
        chance = finding.chance
        count = _MAX_EXAMPLES if chance.is_uninformative else len(finding.solved)
        return [
            ResemblanceLine(
                check.id,
                finding.suspect.attempt_id,
                other,
                check.run_id,
                *self._find_counterpart(finding.suspect, other),
                len(finding.solved),
                chance.others,
                chance.hits,
                chance.tried,
            )
            for other in finding.solved[:count]
        ]

    def _find_counterpart(self, suspect: Suspect, other: str) -> tuple[str | None, bool]:
        """The other student's attempt to compare with, and whether it has the same numbers.

        Without one that has, it is the first that is solved; None if there is none.
        """
        theirs = [each for each in self.attempts if each[0].enrolment_id == other]
        for attempt, _ in theirs:
            answer = self.read(attempt)
            if answer is not None and has_same_numbers(suspect.answer, answer):
                return attempt.id, True
        solved = (attempt.id for attempt, line in theirs if decode_judgement(line).is_solved)
        return next(solved, None), False

    def read(self, attempt: AttemptLine) -> Answer | None:
        """An attempt's answer; None if it cannot be read any more."""
        variant = self.variants.get(attempt.enrolment_id)
        if variant is None:
            return None
        try:
            return read_answer(
                attempt.answer, self.rubric.question.fields, stack_variants([variant])
            )
        except StudentError:
            return None

    def find_suspects(self) -> None:
        """Collect the attempts with numbers that fail their own variant and may solve another."""
        for attempt, judgement in self.attempts:
            if decode_judgement(judgement).is_solved:
                continue
            answer = self.read(attempt)
            if answer is not None and has_numbers(answer) and self._has_right_choices(answer):
                self.suspects.append(Suspect(attempt.id, attempt.enrolment_id, answer))

    def _has_right_choices(self, answer: Answer) -> bool:
        """A wrong choice is wrong in every variant, so such an answer solves none."""
        return all(
            isinstance(chosen := answer.values.get(each.id), Choice)
            and chosen.options == each.correct
            for each in self.rubric.question.criteria
            if isinstance(each, ChoiceCriterion)
        )


def load_rubric_attempts(
    session: Session, context: GradingContext, *, run_id: str, assignment: str, question: str
) -> list[RubricAttempts]:
    """Load everybody's attempts at a question, by the rubric in force at the time."""
    cases: dict[str, RubricAttempts] = {}
    rubrics: dict[str, Rubric] = {}
    judged = list_judged_of_question(
        session, run_id=run_id, assignment=assignment, question=question
    )
    for attempt, judgement in judged:
        if attempt.publication_id not in rubrics:
            line = get_publication(session, publication_id=attempt.publication_id)
            rubrics[line.id] = context.published(session, line).rubric(question)
        rubric = rubrics[attempt.publication_id]
        if rubric.version not in cases:
            judge = context.judge(session, run_id=run_id, rubric=rubric)
            cases[rubric.version] = RubricAttempts(
                rubric, judge, [], _variants(session, run_id, rubric)
            )
        cases[rubric.version].attempts.append((attempt, judgement))
    for case in cases.values():
        case.find_suspects()
    return list(cases.values())


def _variants(session: Session, run_id: str, rubric: Rubric) -> dict[str, Variant]:
    """The variants that students were shown, by enrolment; none for an excluded question."""
    if describe_exclusion(rubric):
        return {}
    shown = list_shown_variants(
        session, run_id=run_id, question=rubric.question.id, revision=rubric.question.revision
    )
    return {each.enrolment_id: decode_variant(each.enrolment_id, each.drawn) for each in shown}
