"""`grader grade`: judge an answer offline, without a database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from grader.cli.answers import DecodedAnswer, UnreadableAnswer, decode_answer, load_answer
from grader.cli.console import (
    DEFAULT_STUDENT,
    JsonOption,
    QuestionArgument,
    RubricsOption,
    StudentOption,
    console,
    describe_points,
    format_points,
    print_json,
)
from grader.cli.render.tex import render_tex
from grader.cli.render.text_plots import draw_text
from grader.cli.rubrics import get_rubric
from grader.domain.verdicts import Outcome, Reason
from grader.drawing.svg import draw_svg
from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge, Judgement
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.errors import AnswerRefused, EarlierAnswerRefused, OperatorError
from grader.feedback.plots import make_pictures
from grader.feedback.receipt import Receipt, compose_receipt, list_verdicts
from grader.feedback.report import Report, build_report
from grader.feedback.sentences import describe_outcome
from grader.grading.receipts.bundle import EarlierQuestion, compose_bundle, write_bundle
from grader.reading.answer import list_notes
from grader.rubric.catalog import Rubric

EXAMPLES = """\
[bold]Examples[/]
  grader grade single-head-attention/1c answer.json
  grader grade single-head-attention/1c --answer '{"q": "2 k_i - k_j"}'
  grader grade single-head-attention/1f answer.json --uses answer-to-1e.json
  grader grade single-head-attention/1e answer.json --plot picture.svg
  grader grade single-head-attention/1c answer.json --bundle bundle.json
  cat answer.json | grader grade single-head-attention/1c - --json

`grader show ASSIGNMENT/QUESTION` says how an answer is written.
Exit code 0: judged, whatever it earned. 3: the answer cannot be read.
"""

_MARKS = {"met": "[green]✓[/]", "partly_met": "[yellow]◐[/]", "not_met": "[red]✗[/]"}
_UNDECIDED = "[yellow]?[/]"
_MAX_PLOT_WIDTH = 88


AnswerArgument = Annotated[
    Path | None,
    typer.Argument(metavar="ANSWER.json", help="The answer by field; - reads standard input."),
]
InlineOption = Annotated[
    str | None,
    typer.Option("--answer", metavar="JSON", help="The answer itself instead of a file."),
]
UsesOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Your answer to the part that this one builds on."),
]
BundleOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE.json", help="Write all that the grade rests on, for grader replay."),
]
PlotOption = Annotated[
    Path | None, typer.Option(metavar="FILE.svg", help="Write the pictures to a file.")
]


def grade(
    question: QuestionArgument,
    answer: AnswerArgument = None,
    inline: InlineOption = None,
    student: StudentOption = DEFAULT_STUDENT,
    uses: UsesOption = None,
    plot: PlotOption = None,
    bundle: BundleOption = None,
    rubrics: RubricsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge an answer offline and say what is right, what is off, and by how much."""
    rubric = get_rubric(question, rubrics)
    _check_call(rubric, answer, inline, uses, plot)
    judge = Judge(rubric.question, DEVELOPMENT_KEYS)
    sent = _decode_answer(answer, inline)
    earlier = load_answer(uses, is_earlier=True) if uses is not None else None
    submission = _prepare(judge, student, sent, earlier)
    (judgement,) = judge.judge([submission])
    receipt = compose_receipt(judge, submission, judgement, versions=rubric.versions)
    report = build_report(rubric.question, judgement, receipt, used=submission.used)
    if bundle is not None:
        _write(bundle, _make_bundle(rubric, submission, judgement, receipt))
    pictures = make_pictures(judge, submission, revealing=judgement.is_solved)
    withheld = len(rubric.question.plots) - len(pictures)
    if plot is not None:
        _write(plot, draw_svg(pictures, title=f"{rubric.form.title} ({rubric.id})"))
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    _print_report(rubric, submission, report, has_earlier=uses is not None)
    for picture in pictures:
        console.print()
        console.print(draw_text(picture, width=min(console.width, _MAX_PLOT_WIDTH)))
    if withheld and not judgement.is_solved:
        console.print("\nThe pictures that would show what is asked for come when all is right.")
    if plot is not None:
        console.print(f"\nThe pictures are in {plot}.", markup=False)


def _check_call(
    rubric: Rubric, answer: Path | None, inline: str | None, uses: Path | None, plot: Path | None
) -> None:
    """Refuse a call that makes no sense before anything is read."""
    if (answer is None) == (inline is None):
        raise OperatorError(
            "Name a file with the answer, or write the answer after --answer"
            f"{'' if answer is None else ', but not both'}; "
            f"`grader show {rubric.id}` says how it is written."
        )
    if uses is not None and rubric.question.uses is None:
        raise OperatorError(f"{rubric.id} builds on no earlier part; --uses has no meaning here.")
    if uses is not None and str(uses) == str(answer) == "-":
        raise OperatorError("Only one of the two answers can come from standard input.")
    if plot is not None and plot.suffix.lower() != ".svg":
        raise OperatorError(f"Pictures are written as SVG; name a file .svg instead of {plot}.")
    if plot is not None and not rubric.question.plots:
        raise OperatorError(f"{rubric.id} has no pictures to write.")


def _decode_answer(answer: Path | None, inline: str | None) -> DecodedAnswer:
    if answer is not None:
        return load_answer(answer)
    raw = (inline or "").encode(errors="surrogateescape")
    return decode_answer(raw, source="the text after --answer")


def _make_bundle(
    rubric: Rubric,
    submission: Submission,
    judgement: Judgement,
    receipt: Receipt,
) -> str:
    """The bundle of this grade; offline the keys are public, so nothing is withheld."""
    uses = None
    if rubric.earlier is not None and submission.used is not None:
        uses = EarlierQuestion(
            question=rubric.earlier.id,
            answer=submission.earlier,
            is_own=submission.used.is_own,
        )
    bundle = compose_bundle(
        rubric=rubric,
        receipt=receipt,
        public_key=None,
        answer=submission.sent,
        variant=submission.variant,
        verdicts=list_verdicts(judgement.verdicts),
        uses=uses,
        keys=DEVELOPMENT_KEYS,
    )
    return write_bundle(bundle).decode()


def _prepare(
    judge: Judge, student: str, sent: DecodedAnswer, earlier: DecodedAnswer | None
) -> Submission:
    """Read both answers; raises `UnreadableAnswer` for the one that cannot be read."""
    before = earlier.data if earlier is not None else None
    try:
        return judge.prepare(judge.variant(student), sent.data, earlier=before, strict=True)
    except AnswerRefused as refused:
        is_earlier = earlier is not None and isinstance(refused, EarlierAnswerRefused)
        unreadable = earlier if earlier is not None and is_earlier else sent
        raise UnreadableAnswer(refused.errors, sent=unreadable) from None


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OperatorError(f"{path} cannot be written: {error.strerror}.") from None


def _print_report(
    rubric: Rubric, submission: Submission, report: Report, *, has_earlier: bool
) -> None:
    console.print(f"{rubric.id} · [bold]{escape(render_tex(rubric.form.title))}[/]\n")
    for name, value in submission.answer.values.items():
        for note in list_notes(value):
            console.print(f"{name}: {note}\n", markup=False)
    if report.uses is not None:
        console.print(
            f"{_describe_used(rubric, report.uses, has_earlier=has_earlier)}\n", markup=False
        )
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for criterion, line in zip(report.criteria, report.feedback, strict=True):
        points = f"{format_points(criterion.points)} / {format_points(criterion.max_points)}"
        is_open = criterion.reason == Reason.UNDECIDED
        word = "not decided" if is_open else describe_outcome(Outcome(criterion.outcome))
        mark = _UNDECIDED if is_open else _MARKS.get(criterion.outcome, "…")
        title, text = escape(render_tex(criterion.title)), escape(render_tex(line.text))
        table.add_row(mark, points, f"[bold]{title}[/] — {word}. {text}")
    console.print(table)
    for misconception in report.misconceptions:
        console.print(f"\n→ {render_tex(misconception.text)}", style="bold", markup=False)
    console.print(f"\n{_describe_total(report)}")


def _describe_total(report: Report) -> str:
    waiting = ""
    if report.pending:
        waiting = f"{describe_points(report.pending)} to be graded by a person."
    if not report.max_automatic:
        return waiting
    of = describe_points(report.max_automatic)
    assert report.score is not None, "offline nothing is withheld"
    return f"[bold]{format_points(report.score)} of {of}.[/] {waiting}".rstrip()


def _describe_used(rubric: Rubric, uses: str, *, has_earlier: bool) -> str:
    assert rubric.question.uses is not None, "only then something is used"
    earlier = rubric.question.uses.question.id
    if uses == "own":
        return f"Tried with your own answer to {earlier}."
    if has_earlier:
        return (
            f"Tried with a reference answer to {earlier}, "
            "because yours does not earn the points there that this part builds on."
        )
    return f"Tried with a reference answer to {earlier}; --uses FILE gives your own."
