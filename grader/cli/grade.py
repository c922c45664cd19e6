"""`grader grade`: judge an answer offline, without a database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from grader.cli.options import (
    DEFAULT_STUDENT,
    JsonOption,
    QuestionArgument,
    RubricsOption,
    StudentOption,
    console,
    load,
    print_json,
    read_json,
)
from grader.cli.svg import draw_svg
from grader.cli.text_pictures import draw_text
from grader.domain.verdicts import Outcome
from grader.engine.judge import Judge, Submission
from grader.engine.streams import DEVELOPMENT_SECRET
from grader.engine.variants import stack_variants
from grader.errors import OperatorError
from grader.feedback.plots import make_pictures
from grader.feedback.report import Report, compose_report
from grader.feedback.sentences import outcome_word
from grader.reading.answer import Answer, read_answer
from grader.rubric.catalog import Rubric

_MARKS = {"met": "[green]✓[/]", "partly_met": "[yellow]◐[/]", "not_met": "[red]✗[/]"}


def grade(
    question: QuestionArgument,
    answer: Annotated[
        Path,
        typer.Argument(metavar="ANSWER.json", help="The answer by field; - reads standard input."),
    ],
    student: StudentOption = DEFAULT_STUDENT,
    uses: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The earlier part's answer, for a part that builds on it."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Write the pictures to a file.")
    ] = None,
    rubrics: RubricsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge an answer offline and say what is right, what is off, and by how much.

    Exit code 0: judged, whatever it earned. 3: the answer cannot be read.
    """
    rubric = load(rubrics).get_rubric(question)
    judge = Judge(rubric.question, DEVELOPMENT_SECRET)
    sent = _unwrap(read_json(answer))
    submission = _read(rubric, judge, student, sent, uses)
    (judgement,) = judge.judge([submission])
    report = compose_report(judge, submission, judgement, sent=sent, rubric_version=rubric.version)
    pictures = [] if as_json and plot is None else make_pictures(judge, submission)
    if plot is not None:
        _write(plot, draw_svg(pictures, title=f"{rubric.form.title} ({rubric.id})"))
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    _print(rubric, report)
    for picture in pictures:
        console.print()
        console.print(draw_text(picture, width=min(console.width, 88)))


def _unwrap(sent: Any) -> Any:
    """Take the body of a request, `{"answer": {…}}`, as well as the answer alone."""
    if isinstance(sent, dict) and set(sent) == {"answer"}:
        return sent["answer"]
    return sent


def _read(rubric: Rubric, judge: Judge, student: str, sent: Any, uses: Path | None) -> Submission:
    if "/" in student or not student:
        raise OperatorError("A student's id is a name without slashes.")
    variant = judge.variant(student)
    drawn = stack_variants([variant])
    read = read_answer(sent, rubric.question.fields, drawn)
    if rubric.question.uses is None:
        if uses is not None:
            raise OperatorError(f"{rubric.id} builds on no earlier part; --uses has no meaning.")
        return Submission(variant, read)
    earlier: Answer | None = None
    if uses is not None:
        earlier = read_answer(_unwrap(read_json(uses)), rubric.question.uses.question.fields, drawn)
    return Submission(variant, read, judge.used(variant, earlier))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OperatorError(f"{path} cannot be written: {error.strerror}.") from None


def _print(rubric: Rubric, report: Report) -> None:
    console.rule(f"{rubric.id} · {rubric.form.title}")
    if report.uses is not None:
        console.print(_used(rubric, report.uses), markup=False)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for criterion, line in zip(report.criteria, report.feedback, strict=True):
        points = f"{criterion.points:f} / {criterion.max_points:f}"
        word = outcome_word(Outcome(criterion.outcome))
        mark = _MARKS.get(criterion.outcome, "…")
        table.add_row(mark, points, f"[bold]{criterion.title}[/] — {word}. {line.text}")
    console.print(table)
    for misconception in report.misconceptions:
        console.print(f"\n→ {misconception.text}", style="bold", markup=False)
    pending = f", {report.pending:f} wait for a person" if report.pending else ""
    console.print(f"\n[bold]{report.score:f} of {report.max_automatic:f} points[/]{pending}")


def _used(rubric: Rubric, uses: str) -> str:
    assert rubric.question.uses is not None, "only then something is used"
    earlier = rubric.question.uses.question.id
    if uses == "own":
        return f"Tried with your own answer to {earlier}."
    return (
        f"Tried with a reference answer to {earlier}: "
        "none of yours that earned its points was given (--uses FILE)."
    )
