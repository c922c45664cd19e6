"""An attempt as staff see it: what the engine saw, each verdict in numbers, and its history."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, assert_never

import numpy as np
from fastapi import APIRouter, Request, Response

from grader.domain.roles import Role
from grader.domain.verdicts import Verdict
from grader.engine.random.variants import Variant
from grader.errors import NotFound
from grader.formula.formula import Formula
from grader.grading.attempts.find import VisibleAttempt, get_visible_attempt, load_attempt_report
from grader.grading.attempts.inspect import AttemptDetails, load_attempt_details, replay_attempt
from grader.grading.receipts.replay import Replay
from grader.grading.serialize import decode_judgement
from grader.grading.submissions.uploads import list_files
from grader.reading.answer import Answer, Choice, ExternalScore, Numbers, Text, Value
from grader.store.database import Session
from grader.store.queries.attempts import JudgementLine
from grader.web.pages.plots import draw_plots
from grader.web.pages.rendering import FormDep, PageRoute, Visitor, VisitorDep, render
from grader.web.params import AttemptId
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class _NamedQuantity:
    """A named quantity: rows of numbers, or a single line of text."""

    name: str
    about: str
    rows: tuple[tuple[float, ...], ...] = ()
    text: str = ""


@router.post("/attempts/{attempt_id}/replay")
def show_replay(
    request: Request,
    attempt_id: AttemptId,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Judge an attempt again and show whether the same comes out; nothing is changed."""
    service.budgets.spend("submit", visitor.caller.id)
    with service.database.read() as session:
        found = get_visible_attempt(session, service.context, visitor.caller, attempt_id=attempt_id)
        # To its owner the page with this button does not exist.
        if found.is_own:
            raise NotFound
        found.membership.need(Role.ASSISTANT)
        again = replay_attempt(session, service.context, found)
        return show_attempt_to_staff(
            request, visitor, service, session, found, at=at, replayed=True, replay=again
        )


def show_attempt_to_staff(
    request: Request,
    visitor: Visitor,
    service: Service,
    session: Session,
    found: VisibleAttempt,
    *,
    at: Any,
    replayed: bool = False,
    replay: Replay | None = None,
) -> Response:
    """The page of an attempt for staff of its course run."""
    report = load_attempt_report(session, service.context, found, at=at)
    examined = load_attempt_details(session, service.context, found)
    return render(
        request,
        "attempt_staff.html",
        visitor=visitor,
        membership=found.membership,
        rubric=found.published.rubric(found.attempt.question),
        title=found.published.form.title,
        attempt=report,
        pictures=draw_plots(session, service, found, report),
        files=list_files(
            session, enrolment_id=found.attempt.enrolment_id, answer=found.attempt.answer
        ),
        line=found.attempt,
        examined=examined,
        drawn=_list_drawn_values(examined.variant) if examined.variant else [],
        read=_list_answer_values(examined.answer) if examined.answer else [],
        judged=[_load_judgement_details(each) for each in reversed(examined.judgements)],
        titles=_list_criterion_titles(examined),
        is_replayed=replayed,
        replay=replay,
        may_override=found.membership.role is Role.INSTRUCTOR,
    )


def _list_drawn_values(variant: Variant) -> list[_NamedQuantity]:
    """All that was drawn, numbers and indices first."""
    indices = [
        _NamedQuantity(name, "index, from 0", text=str(index))
        for name, index in variant.indices.items()
    ]
    arrays = [_describe_array(name, value) for name, value in variant.values.items()]
    return [*indices, *sorted(arrays, key=lambda each: bool(each.rows))]


def _list_answer_values(answer: Answer) -> list[_NamedQuantity]:
    """An answer field by field, as it was read."""
    return [_describe_value(name, value) for name, value in answer.values.items()]


def _describe_value(name: str, value: Value) -> _NamedQuantity:
    match value:
        case Numbers():
            return _describe_array(name, value.array, f"numbers, {value.format}")
        case Formula():
            large = f", {', '.join(value.large)} taken as large" if value.large else ""
            return _NamedQuantity(
                name, f"formula for {value.shape.describe()}{large}", text=value.text
            )
        case Choice():
            return _NamedQuantity(name, "choice", text=", ".join(sorted(value.options)))
        case Text():
            return _NamedQuantity(name, f"text, {len(value.text):,} characters", text=value.text)
        case ExternalScore():
            return _NamedQuantity(name, "points from outside", text=f"{value.points:f}")
        case _:
            assert_never(value)


def _describe_array(name: str, value: Any, about: str = "") -> _NamedQuantity:
    array = np.asarray(value, dtype=float)
    size = " × ".join(str(each) for each in array.shape)
    told = ", ".join(each for each in (about, size) if each)
    if array.ndim == 0:
        return _NamedQuantity(name, told or "number", text=f"{float(array):.12g}")
    rows = array.reshape(-1, array.shape[-1]).tolist()
    return _NamedQuantity(name, told, tuple(tuple(row) for row in rows))


@dataclass(frozen=True, slots=True)
class _JudgementDetails:
    """A judgement with its verdicts."""

    line: JudgementLine
    verdicts: tuple[Verdict, ...]

    @property
    def automatic(self) -> Decimal:
        """What could be earned without a person."""
        return self.line.possible - self.line.pending


def _load_judgement_details(line: JudgementLine) -> _JudgementDetails:
    return _JudgementDetails(line, decode_judgement(line).verdicts)


def _list_criterion_titles(examined: AttemptDetails) -> dict[str, str]:
    rubric = examined.rubric
    return {each.id: each.title for each in rubric.question.criteria} if rubric else {}
