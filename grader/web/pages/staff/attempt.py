"""An attempt for staff: what the engine read, each verdict in numbers, and the history."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, assert_never

import numpy as np
from fastapi import APIRouter, Response

from grader.domain.roles import Role
from grader.domain.verdicts import Verdict
from grader.engine.random.variants import Variant
from grader.errors import NotFound
from grader.formula.formula import Formula
from grader.grading.attempts.find import VisibleAttempt, get_visible_attempt, load_attempt_report
from grader.grading.attempts.inspect import load_attempt_details, replay_attempt
from grader.grading.receipts.replay import Replay
from grader.grading.serialize import decode_judgement
from grader.grading.submissions.uploads import list_files
from grader.reading.answer import Answer, Choice, ExternalScore, Numbers, Text, Value
from grader.store.database import Session
from grader.store.queries.attempts import JudgementLine
from grader.web.auth import RECOMPUTED_COST
from grader.web.pages.context import FormDep, Page
from grader.web.pages.plots import draw_plots
from grader.web.pages.rendering import PageRoute
from grader.web.params import AttemptId

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class _NamedQuantity:
    """A named quantity: rows of numbers, or a single line of text."""

    name: str
    about: str
    rows: tuple[tuple[float, ...], ...] = ()
    text: str = ""


@router.post("/attempts/{attempt_id}/replay")
def show_replay(page: Page, attempt_id: AttemptId, form: FormDep) -> Response:
    """Judge an attempt again and show whether the result is the same; nothing is changed."""
    page.service.budgets.spend("check", page.caller.id)
    with page.read(cost=RECOMPUTED_COST) as session:
        found = get_visible_attempt(session, page.grading, page.caller, attempt_id=attempt_id)
        # Students cannot see the page that has this button, not even for their own attempts.
        if found.is_own:
            raise NotFound
        found.membership.need(Role.ASSISTANT)
        replay = replay_attempt(session, page.grading, found)
        return render_attempt_for_staff(page, session, found, is_replayed=True, replay=replay)


def render_attempt_for_staff(
    page: Page,
    session: Session,
    found: VisibleAttempt,
    *,
    is_replayed: bool = False,
    replay: Replay | None = None,
) -> Response:
    """The page of an attempt for staff of its course run."""
    attempt = found.attempt
    report = load_attempt_report(session, page.grading, found, at=page.at)
    details = load_attempt_details(session, page.grading, found)
    criteria = details.rubric.question.criteria if details.rubric else ()
    return page.render(
        "staff/attempt.html",
        membership=found.membership,
        rubric=found.published.rubric(attempt.question),
        title=found.published.form.title,
        attempt=report,
        pictures=draw_plots(session, page.grading, found, report),
        files=list_files(session, enrolment_id=attempt.enrolment_id, answer=attempt.answer),
        line=attempt,
        examined=details,
        drawn=_list_drawn_values(details.variant) if details.variant else [],
        read=_list_answer_values(details.answer) if details.answer else [],
        judged=[_load_judgement_details(each) for each in reversed(details.judgements)],
        titles={each.id: each.title for each in criteria},
        is_replayed=is_replayed,
        replay=replay,
        may_override=found.membership.role is Role.INSTRUCTOR,
    )


def _list_drawn_values(variant: Variant) -> list[_NamedQuantity]:
    """All draws of a variant: indices and numbers first, then arrays."""
    indices = [
        _NamedQuantity(name, "index, from 0", text=str(index))
        for name, index in variant.indices.items()
    ]
    arrays = [_describe_array(name, value) for name, value in variant.values.items()]
    return [*indices, *sorted(arrays, key=lambda each: bool(each.rows))]


def _list_answer_values(answer: Answer) -> list[_NamedQuantity]:
    """An answer as it was read, field by field."""
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
            return _NamedQuantity(name, "external score", text=f"{value.points:f}")
        case _:
            assert_never(value)


def _describe_array(name: str, value: Any, about: str = "") -> _NamedQuantity:
    array = np.asarray(value, dtype=float)
    size = " × ".join(str(each) for each in array.shape)
    description = ", ".join(each for each in (about, size) if each)
    if array.ndim == 0:
        return _NamedQuantity(name, description or "number", text=f"{float(array):.12g}")
    rows = array.reshape(-1, array.shape[-1]).tolist()
    return _NamedQuantity(name, description, tuple(tuple(row) for row in rows))


@dataclass(frozen=True, slots=True)
class _JudgementDetails:
    """A judgement with its verdicts."""

    line: JudgementLine
    verdicts: tuple[Verdict, ...]

    @property
    def automatic(self) -> Decimal:
        """The points that need no person."""
        return self.line.possible - self.line.pending


def _load_judgement_details(line: JudgementLine) -> _JudgementDetails:
    return _JudgementDetails(line, decode_judgement(line).verdicts)
