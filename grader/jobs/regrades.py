"""The job that prepares a regrade: attempts are judged again, then grades are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.grading.regrades.compare import compare_grades
from grader.grading.regrades.decide import finish_judging
from grader.grading.regrades.judge import JudgedAgain, judge_again
from grader.grading.regrades.pieces import list_comparing_pieces, list_judging_pieces, store_judged
from grader.jobs.phases import JobPlan, Phase, Task
from grader.store.database import Session
from grader.store.queries.regrades.changes import RegradedGrade, add_regraded_grades
from grader.store.queries.regrades.judging import LeftOut, add_left_out
from grader.store.queries.regrades.records import RegradeLine, get_regrade


def _get_regrade(session: Session, task: Task) -> RegradeLine:
    return get_regrade(session, regrade_id=task.job.subject)


def _plan_judging(session: Session, task: Task) -> Sequence[Any]:
    return list_judging_pieces(session, task.context, _get_regrade(session, task))


def _judge(session: Session, task: Task, attempt_ids: list[str]) -> JudgedAgain:
    regrade = _get_regrade(session, task)
    return judge_again(session, task.context, regrade, attempt_ids=attempt_ids, at=task.at)


def _store_judged(session: Session, task: Task, judged: JudgedAgain) -> None:
    store_judged(session, _get_regrade(session, task), judged)


def _leave_out(session: Session, task: Task, attempt_ids: list[str]) -> None:
    text = "Every process that judged it has ended with it."
    left_out = [LeftOut(each, "attempt.ends_process", text) for each in attempt_ids]
    add_left_out(session, regrade_id=task.job.subject, left_out=left_out)


def _plan_comparing(session: Session, task: Task) -> Sequence[Any]:
    return list_comparing_pieces(session, _get_regrade(session, task))


def _compare(session: Session, task: Task, parts: list[list[str]]) -> list[RegradedGrade]:
    wanted = [(enrolment_id, assignment, question) for enrolment_id, assignment, question in parts]
    regrade = _get_regrade(session, task)
    return compare_grades(session, task.context, regrade, parts=wanted, at=task.at)


def _store_compared(session: Session, task: Task, grades: list[RegradedGrade]) -> None:
    add_regraded_grades(session, _get_regrade(session, task), grades)


def _finish(session: Session, task: Task) -> None:
    finish_judging(session, _get_regrade(session, task), at=task.at)


REGRADE = JobPlan(
    phases=(
        Phase("judging", _plan_judging, _judge, _store_judged, len, _leave_out),
        Phase("comparing", _plan_comparing, _compare, _store_compared, len),
    ),
    finish=_finish,
)
