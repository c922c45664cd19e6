"""Plots of attempts on pages."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from grader.drawing.plot_text import PlotTable, build_tables, describe_picture
from grader.drawing.svg import draw_inline
from grader.grading.attempts.find import VisibleAttempt
from grader.grading.attempts.report import AttemptReport, draw_attempt_plots
from grader.grading.context import GradingContext
from grader.store.database import Session


@dataclass(frozen=True, slots=True)
class DrawnPlot:
    """A plot with its summary and its numbers as tables."""

    title: str
    summary: str
    drawing: Markup
    tables: list[PlotTable]


def draw_plots(
    session: Session, context: GradingContext, found: VisibleAttempt, report: AttemptReport
) -> list[DrawnPlot]:
    """The plots of an attempt; none while its result is withheld."""
    if report.score is None or not report.feedback:
        return []
    plots = draw_attempt_plots(session, context, found.published, found.attempt, found.judgement)
    return [
        # The drawing consists of numbers and escaped text.
        DrawnPlot(
            each.title,
            describe_picture(each),
            Markup(draw_inline(each, name=f"picture-{number}")),
            build_tables(each),
        )
        for number, each in enumerate(plots)
    ]
