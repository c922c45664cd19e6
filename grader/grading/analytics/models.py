"""The statistics of an assignment as they are reported; every figure comes with its n."""

from __future__ import annotations

from datetime import datetime

from grader.domain.statistics import AttemptsToSolve, StudentMean, TimeToCorrect
from grader.feedback.base import Points, ReportModel


class Discrimination(ReportModel):
    """The correlation of a question with all others, over n students, and its 95 % interval.

    `value` and `interval` are None with fewer than 20 students, or if all have the same points.
    """

    n: int
    value: float | None
    interval: tuple[float, float] | None
    is_dubious: bool


class MisconceptionCount(ReportModel):
    """How many students and attempts showed a misconception, with the earliest attempt that did."""

    id: str
    text: str
    students: int
    attempts: int
    example: str


class OutcomeCounts(ReportModel):
    """How a criterion came out in n attempts."""

    n: int
    met: int
    partly_met: int
    not_met: int
    ungradable: int
    pending: int


class CriterionStatistics(ReportModel):
    """How a criterion came out: in all attempts, and in the first attempt of every student."""

    id: str
    title: str
    attempts: OutcomeCounts
    first_attempts: OutcomeCounts


class NeedsPerson(ReportModel):
    """Attempts that a person must look at; `examples` are the earliest of them."""

    students: int
    attempts: int
    examples: tuple[str, ...]


class HourCount(ReportModel):
    """How many attempts arrived in the hour that begins at `hour`."""

    hour: datetime
    attempts: int


class QuestionStatistics(ReportModel):
    """How students did on one question; `students` tried it.

    The five figures about points are None for a question that only people grade.
    """

    question: str
    title: str
    max_score: Points
    max_automatic: Points
    students: int
    attempts: int
    late_attempts: int
    difficulty: StudentMean | None
    success_rate: StudentMean | None
    discrimination: Discrimination | None
    attempts_to_solve: AttemptsToSolve | None
    time_to_correct: TimeToCorrect | None
    misconceptions: tuple[MisconceptionCount, ...]
    criteria: tuple[CriterionStatistics, ...]
    needs_person: NeedsPerson


class AssignmentStatistics(ReportModel):
    """How students did on an assignment.

    `enrolled` students take part and `left` ones did; `students` of both made an attempt.
    """

    assignment: str
    title: str
    due_at: datetime | None
    enrolled: int
    left: int
    students: int
    attempts: int
    late_attempts: int
    hours: tuple[HourCount, ...]
    questions: tuple[QuestionStatistics, ...]
