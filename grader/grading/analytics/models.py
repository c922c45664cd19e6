"""What the statistics of an assignment are made of; every figure comes with its n."""

from __future__ import annotations

from datetime import datetime

from grader.feedback.base import Points, ReportModel


class StudentMean(ReportModel):
    """A mean over n students; None where there are none."""

    n: int
    value: float | None


class Discrimination(ReportModel):
    """The correlation of a question with all others, over n students, and its 95 % interval.

    `value` and `interval` are None with fewer than 20 students, and where all have the same points.
    """

    n: int
    value: float | None
    interval: tuple[float, float] | None
    is_dubious: bool


class SolvingStep(ReportModel):
    """The k-th attempt: unsolved students who made it, those who solved it then, and S(k)."""

    attempt: int
    tried: int
    solved: int
    unsolved: float


class AttemptsToSolve(ReportModel):
    """How many attempts it takes; `censored` of the n students stopped without a solution."""

    n: int
    censored: int
    steps: tuple[SolvingStep, ...]


class TimeToCorrect(ReportModel):
    """The time from first view to first correct attempt, of the n students who have both.

    `censored` students began and have not solved it; of `untimed` ones, who have, nothing is known
    about how long they worked.
    """

    n: int
    censored: int
    untimed: int
    lower_quartile_seconds: float | None
    median_seconds: float | None
    upper_quartile_seconds: float | None


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
    """Attempts that could not be decided or judged; `examples` names the earliest of them."""

    students: int
    attempts: int
    examples: tuple[str, ...]


class HourCount(ReportModel):
    """How many attempts arrived in the hour that begins then."""

    hour: datetime
    attempts: int


class QuestionStatistics(ReportModel):
    """How students did on one question; `students` tried it.

    The five figures about points are None for a question that earns none without a person.
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
