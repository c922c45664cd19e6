"""Statistics of an assignment, put together: how its students did, question by question.

What each figure means, and whom it counts, is told in docs/explanation/what-the-statistics-mean.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from decimal import Decimal

import numpy as np

from grader.domain import statistics as figures
from grader.domain.grades import ZERO
from grader.domain.statistics import compute_time_to_correct
from grader.domain.verdicts import Outcome
from grader.engine.judge.misconceptions import RecognisedMisconception
from grader.engine.question import ChoiceCriterion, MeasuredCriterion, PredictedCriterion, Question
from grader.feedback.base import ReportModel
from grader.grading.analytics.models import (
    AssignmentStatistics,
    AttemptsToSolve,
    CriterionStatistics,
    Discrimination,
    HourCount,
    MisconceptionCount,
    NeedsPerson,
    OutcomeCounts,
    QuestionStatistics,
    StudentMean,
    TimeToCorrect,
)
from grader.grading.analytics.tallies import (
    OccurrenceCount,
    QuestionTally,
    from_microseconds,
    to_microseconds,
)
from grader.grading.context import GradingContext, PublishedAssignment
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.insights import list_students, list_views, stream_attempt_outcomes
from grader.store.queries.publications import ExtensionLine, list_extensions

__all__ = [
    "AssignmentData",
    "AssignmentStatistics",
    "QuestionStatistics",
    "compute_statistics",
    "load_assignment_data",
    "load_assignment_statistics",
]

# So many attempts that a person must look at are named; all are counted.
_MAX_EXAMPLES = 12
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class AssignmentData:
    """Everything about the students of a run and one assignment; students are places from 0."""

    published: PublishedAssignment
    places: Mapping[str, int]
    left: int
    deadlines: figures.IntArray
    tallies: Mapping[str, QuestionTally]
    seen_at: Mapping[str, figures.IntArray]

    def count_late(self, tally: QuestionTally) -> int:
        """How many attempts came after their student's own due date."""
        return int(np.count_nonzero(tally.moments() > self.deadlines[tally.students()]))


def load_assignment_statistics(
    session: Session, context: GradingContext, *, run_id: str, assignment: str
) -> AssignmentStatistics:
    """How the students of a course run did on an assignment as it is in force.

    Raises
    ------
    NotFound
        Where the course run has no such assignment.
    """
    published = context.in_force(session, run_id=run_id, assignment=assignment)
    return compute_statistics(load_assignment_data(session, published))


def compute_statistics(of: AssignmentData) -> AssignmentStatistics:
    """All figures about an assignment."""
    published = of.published
    questions = _questions(of)
    tried = {student for tally in of.tallies.values() for student in tally.student}
    moments = np.concatenate([tally.moments() for tally in of.tallies.values()])
    return AssignmentStatistics(
        assignment=published.line.assignment,
        title=published.form.title,
        due_at=published.line.due_at,
        enrolled=len(of.places) - of.left,
        left=of.left,
        students=len(tried),
        attempts=len(moments),
        late_attempts=sum(each.late_attempts for each in questions),
        hours=tuple(
            HourCount(hour=from_microseconds(hour), attempts=count)
            for hour, count in figures.count_per_hour(moments)
        ),
        questions=questions,
    )


# Loading


def load_assignment_data(session: Session, published: PublishedAssignment) -> AssignmentData:
    """Everybody's attempts at an assignment, gathered by question."""
    run_id, assignment = published.line.run_id, published.line.assignment
    students = list_students(session, run_id=run_id)
    places = {enrolment_id: place for place, (enrolment_id, _) in enumerate(students)}
    tallies = {question: QuestionTally() for question in published.form.questions}
    for line in stream_attempt_outcomes(session, run_id=run_id, assignment=assignment):
        # Staff may try their own questions; that says nothing about students.
        student = places.get(line.enrolment_id)
        if student is not None and line.question in tallies:
            tallies[line.question].add(student, line)
    seen_at = {question: np.full(len(places), -1) for question in tallies}
    for view in list_views(session, run_id=run_id, assignment=assignment):
        student = places.get(view.enrolment_id)
        if student is not None and view.question in seen_at:
            seen_at[view.question][student] = to_microseconds(view.first_at)
    return AssignmentData(
        published=published,
        places=places,
        left=sum(has_left for _, has_left in students),
        deadlines=_deadlines(session, published, places),
        tallies=tallies,
        seen_at=seen_at,
    )


def _deadlines(
    session: Session, published: PublishedAssignment, places: dict[str, int]
) -> figures.IntArray:
    """(S,) the last moment at which each student's answer is in time, extensions included."""
    run_id, assignment = published.line.run_id, published.line.assignment
    deadlines = np.full(len(places), _deadline(published, None))
    extensions = list_extensions(session, run_id=run_id, assignment=assignment)
    # The newest one holds, and is written last.
    for each in sorted(extensions, key=lambda each: each.number):
        if each.enrolment_id in places:
            deadlines[places[each.enrolment_id]] = _deadline(published, each)
    return deadlines


def _deadline(published: PublishedAssignment, extension: ExtensionLine | None) -> int:
    window = published.policy(published.form.questions[0], extension).window
    if window.due_at is None:
        return _NEVER
    return to_microseconds(window.due_at + timedelta(seconds=window.grace_seconds))


# Questions


def _questions(of: AssignmentData) -> tuple[QuestionStatistics, ...]:
    published = of.published
    rubrics = published.assignment.rubrics
    tries = {
        name: of.tallies[name].automatic()
        for name in published.form.questions
        if _max_automatic(rubrics[name].question)
    }
    discriminations = _discriminations(tries, len(of.places))
    found = []
    for name in published.form.questions:
        statistics = _without_points(rubrics[name], of, name)
        if name in tries:
            update = _about_points(tries[name], of.seen_at[name])
            update["discrimination"] = discriminations[name]
            statistics = statistics.model_copy(update=update)
        found.append(statistics)
    return tuple(found)


def _max_automatic(question: Question) -> Decimal:
    automatic = (MeasuredCriterion, PredictedCriterion, ChoiceCriterion)
    return sum((each.points for each in question.criteria if isinstance(each, automatic)), ZERO)


def _discriminations(
    tries: Mapping[str, figures.AttemptArrays], students: int
) -> dict[str, Discrimination]:
    if not tries:
        return {}
    scores = np.stack(
        [figures.compute_first_scores(each, students) for each in tries.values()], axis=1
    )
    found = {}
    for item, name in enumerate(tries):
        correlation = figures.compute_discrimination(scores, item)
        found[name] = Discrimination(**asdict(correlation), is_dubious=correlation.is_dubious)
    return found


def _about_points(
    tries: figures.AttemptArrays, seen_at: figures.IntArray
) -> dict[str, ReportModel]:
    timing = compute_time_to_correct(tries, seen_at)
    low, middle, high = timing.quartiles or (None, None, None)
    return {
        "difficulty": StudentMean(**asdict(figures.compute_difficulty(tries))),
        "success_rate": StudentMean(**asdict(figures.compute_success_rate(tries))),
        "attempts_to_solve": AttemptsToSolve(**asdict(figures.estimate_survival(tries))),
        "time_to_correct": TimeToCorrect(
            n=timing.n,
            censored=timing.censored,
            untimed=timing.untimed,
            lower_quartile_seconds=low,
            median_seconds=middle,
            upper_quartile_seconds=high,
        ),
    }


def _without_points(rubric: Rubric, of: AssignmentData, name: str) -> QuestionStatistics:
    """A question's statistics without the figures about points."""
    tally = of.tallies[name]
    return QuestionStatistics(
        question=name,
        title=rubric.form.title,
        max_score=rubric.form.points,
        max_automatic=_max_automatic(rubric.question),
        students=len(set(tally.student)),
        attempts=len(tally.student),
        late_attempts=of.count_late(tally),
        difficulty=None,
        success_rate=None,
        discrimination=None,
        attempts_to_solve=None,
        time_to_correct=None,
        misconceptions=_misconceptions(tally),
        criteria=_criteria(rubric.question, tally),
        needs_person=_needs_person(tally),
    )


def _misconceptions(tally: QuestionTally) -> tuple[MisconceptionCount, ...]:
    """The most common first."""

    def rank(item: tuple[str, OccurrenceCount]) -> tuple[int, int, str]:
        return -len(item[1].students), -item[1].attempts, item[0]

    return tuple(
        MisconceptionCount(
            id=name,
            text=RecognisedMisconception(**shown.data).text,
            students=len(shown.students),
            attempts=shown.attempts,
            example=shown.attempt_id,
        )
        for name, shown in sorted(tally.misconceptions.items(), key=rank)
    )


def _criteria(question: Question, tally: QuestionTally) -> tuple[CriterionStatistics, ...]:
    """The criteria in the rubric's order, then those that only older verdicts name."""
    titles = {each.id: each.title for each in question.criteria}
    titles |= {name: name for name in sorted(tally.outcomes) if name not in titles}
    return tuple(
        CriterionStatistics(
            id=name,
            title=title,
            attempts=_outcomes(tally.outcomes.get(name, {})),
            first_attempts=_outcomes(tally.first_outcomes.get(name, {})),
        )
        for name, title in titles.items()
    )


def _outcomes(counts: Mapping[str, int]) -> OutcomeCounts:
    return OutcomeCounts(
        n=sum(counts.values()), **{each.value: counts.get(each.value, 0) for each in Outcome}
    )


def _needs_person(tally: QuestionTally) -> NeedsPerson:
    waiting = np.array(tally.needs_person, dtype=bool)
    return NeedsPerson(
        students=len(np.unique(tally.students()[waiting])),
        attempts=int(waiting.sum()),
        examples=tuple(tally.earliest_for_person(_MAX_EXAMPLES)),
    )
