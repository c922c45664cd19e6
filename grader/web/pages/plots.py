"""Pictures of attempts on pages."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from grader.drawing.plot_text import summarise
from grader.drawing.svg import draw_inline
from grader.drawing.tables import Table, tabulate
from grader.grading.attempts.find import Found
from grader.grading.attempts.plots import picture_attempt
from grader.grading.attempts.report import AttemptReport
from grader.store.database import Session
from grader.web.service import Service


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture with its words and its numbers."""

    title: str
    summary: str
    drawing: Markup
    tables: list[Table]


def draw_pictures(
    session: Session, service: Service, found: Found, report: AttemptReport
) -> list[Drawn]:
    """The pictures of an attempt, where the result may be seen."""
    if report.score is None or not report.feedback:
        return []
    pictures = picture_attempt(
        session, service.desk, found.published, found.attempt, found.judgement
    )
    return [
        # What is drawn is made of numbers and of escaped text.
        Drawn(
            each.title,
            summarise(each),
            Markup(draw_inline(each, name=f"picture-{place}")),
            tabulate(each),
        )
        for place, each in enumerate(pictures)
    ]
