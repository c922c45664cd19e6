"""Pictures of attempts on pages."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from grader.drawing.plot_text import PlotTable, build_tables, describe_picture
from grader.drawing.svg import draw_inline
from grader.grading.attempts.find import VisibleAttempt
from grader.grading.attempts.plots import draw_attempt_plots
from grader.grading.attempts.report import AttemptReport
from grader.store.database import Session
from grader.web.service import Service


@dataclass(frozen=True, slots=True)
class DrawnPlot:
    """A picture with its words and its numbers."""

    title: str
    summary: str
    drawing: Markup
    tables: list[PlotTable]


def draw_plots(
    session: Session, service: Service, found: VisibleAttempt, report: AttemptReport
) -> list[DrawnPlot]:
    """The pictures of an attempt, where the result may be seen."""
    if report.score is None or not report.feedback:
        return []
    pictures = draw_attempt_plots(
        session, service.context, found.published, found.attempt, found.judgement
    )
    return [
        # What is drawn is made of numbers and of escaped text.
        DrawnPlot(
            each.title,
            describe_picture(each),
            Markup(draw_inline(each, name=f"picture-{place}")),
            build_tables(each),
        )
        for place, each in enumerate(pictures)
    ]
