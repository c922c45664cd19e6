"""The statistics of an assignment: how its students did, question by question.

docs/explanation/what-the-statistics-mean.md says what each figure means and whom it counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from decimal import Decimal

import numpy as np

from grader.domain import statistics as figures
from grader.domain.grades import ZERO
from grader.domain.verdicts import Outcome
from grader.engine.judge.misconceptions import RecognisedMisconception
from grader.engine.question import ChoiceCriterion, MeasuredCriterion, PredictedCriterion, Question
from grader.feedback.sentences import explain_misconception
from grader.grading.analytics.models import (
    AssignmentStatistics,
    CriterionStatistics,
    Discrimination,
    HourCount,
    MisconceptionCount,
    NeedsPerson,
    OutcomeCounts,
    QuestionStatistics,
)
from grader.grading.analytics.tallies import (
    QuestionTally,
    from_microseconds,
    list_most_common,
    to_microseconds,
)
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.grades.extensions import find_latest_extensions
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.insights import list_students, list_views, stream_attempt_outcomes
from grader.store.queries.publications import ExtensionLine

#: How many of the attempts that a person must look at are named; all are counted.
_MAX_EXAMPLES = 12
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class AssignmentData:
    """Everybody's attempts at an assignment; `places` numbers the students from 0."""

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
    """How students did on an assignment; NotFound if the course run has no such assignment."""
    published = context.in_force(session, run_id=run_id, assignment=assignment)
    return compute_statistics(load_assignment_data(session, published))


def compute_statistics(data: AssignmentData) -> AssignmentStatistics:
    """All figures about an assignment."""
    published = data.published
    questions = _questions(data)
    tried = {student for tally in data.tallies.values() for student in tally.student}
    moments = np.concatenate([tally.moments() for tally in data.tallies.values()])
    return AssignmentStatistics(
        assignment=published.line.assignment,
        title=published.form.title,
        due_at=published.line.due_at,
        enrolled=len(data.places) - data.left,
        left=data.left,
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
    """Load everybody's attempts at an assignment."""
    run_id, assignment = published.line.run_id, published.line.assignment
    students = list_students(session, run_id=run_id)
    places = {enrolment_id: place for place, (enrolment_id, _) in enumerate(students)}
    tallies = {question: QuestionTally() for question in published.form.questions}
    for line in stream_attempt_outcomes(session, run_id=run_id, assignment=assignment):
        # Staff may try the questions too, and are not counted.
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
    deadlines = np.full(len(places), _deadline(published, None))
    extensions = find_latest_extensions(
        session, run_id=published.line.run_id, assignment=published.line.assignment
    )
    for enrolment_id, extension in extensions.items():
        if enrolment_id in places:
            deadlines[places[enrolment_id]] = _deadline(published, extension)
    return deadlines


def _deadline(published: PublishedAssignment, extension: ExtensionLine | None) -> int:
    window = published.policy(published.form.questions[0], extension).window
    if window.due_at is None:
        return _NEVER
    return to_microseconds(window.due_at + timedelta(seconds=window.grace_seconds))


# Questions


def _questions(data: AssignmentData) -> tuple[QuestionStatistics, ...]:
    rubrics = data.published.assignment.rubrics
    names = data.published.form.questions
    tries = {
        name: data.tallies[name].automatic()
        for name in names
        if _max_automatic(rubrics[name].question)
    }
    discriminations = _discriminations(tries, len(data.places))
    return tuple(
        _question(data, rubrics[name], name, tries.get(name), discriminations.get(name))
        for name in names
    )


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


def _question(
    data: AssignmentData,
    rubric: Rubric,
    name: str,
    tries: figures.AttemptArrays | None,
    discrimination: Discrimination | None,
) -> QuestionStatistics:
    """A question's statistics; without `tries` there are no figures about points."""
    tally = data.tallies[name]
    return QuestionStatistics(
        question=name,
        title=rubric.form.title,
        max_score=rubric.form.points,
        max_automatic=_max_automatic(rubric.question),
        students=len(set(tally.student)),
        attempts=len(tally.student),
        late_attempts=data.count_late(tally),
        difficulty=figures.compute_difficulty(tries) if tries else None,
        success_rate=figures.compute_success_rate(tries) if tries else None,
        discrimination=discrimination,
        attempts_to_solve=figures.estimate_survival(tries) if tries else None,
        time_to_correct=(
            figures.compute_time_to_correct(tries, data.seen_at[name]) if tries else None
        ),
        misconceptions=_misconceptions(tally),
        criteria=_criteria(rubric.question, tally),
        needs_person=_needs_person(tally),
    )


def _misconceptions(tally: QuestionTally) -> tuple[MisconceptionCount, ...]:
    return tuple(
        MisconceptionCount(
            id=name,
            text=explain_misconception(RecognisedMisconception(**shown.data)),
            students=len(shown.students),
            attempts=shown.attempts,
            example=shown.attempt_id,
        )
        for name, shown in list_most_common(tally.misconceptions)
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
    needed = sorted(
        (at, attempt_id, student)
        for at, attempt_id, student, needs in zip(
            tally.at, tally.ids, tally.student, tally.needs_person, strict=True
        )
        if needs
    )
    return NeedsPerson(
        students=len({student for _, _, student in needed}),
        attempts=len(needed),
        examples=tuple(attempt_id for _, attempt_id, _ in needed[:_MAX_EXAMPLES]),
    )
