"""What there is to choose from: assignments, and the questions of one."""

from __future__ import annotations

from decimal import Decimal

from rich.markdown import Markdown
from rich.table import Table

from grader.cli.options import console, print_json, show_points
from grader.cli.render.tex import soften, soften_markdown
from grader.rubric.catalog import Assignment, Catalog


def list_assignments(catalog: Catalog, *, as_json: bool) -> None:
    """Print every assignment in a line."""
    if as_json:
        print_json([_as_data(each) for each in catalog.assignments.values()])
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("assignment", no_wrap=True)
    table.add_column("questions", justify="right")
    table.add_column("points", justify="right")
    table.add_column("title")
    for name, assignment in catalog.assignments.items():
        count = str(len(assignment.rubrics))
        table.add_row(name, count, show_points(_total(assignment)), assignment.form.title)
    console.print(table)
    console.print(f"\nNext: grader show {next(iter(catalog.assignments))}", markup=False)


def list_questions(assignment: Assignment, *, as_json: bool) -> None:
    """Print an assignment and each of its questions in a line."""
    form = assignment.form
    if as_json:
        print_json(_as_data(assignment))
        return
    console.print(f"[bold]{form.title}[/] · {show_points(_total(assignment))} points")
    if form.description:
        console.print(Markdown(soften_markdown(form.description)))
    for line in _policies(assignment):
        console.print(line, markup=False)
    console.print()
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("question", no_wrap=True)
    table.add_column("points", justify="right")
    table.add_column("title")
    for rubric in assignment.rubrics.values():
        table.add_row(rubric.id, show_points(rubric.form.points), soften(rubric.form.title))
    console.print(table)
    console.print(f"\nNext: grader show {next(iter(assignment.rubrics.values())).id}", markup=False)


def _policies(assignment: Assignment) -> list[str]:
    form = assignment.form
    lines = []
    if form.due:
        lines.append(f"Due {form.due} ({form.time_zone}).")
    counted = {"best": "the best", "last": "the last", "first": "the first"}
    lines.append(
        f"{form.attempts.most} attempts for each question; "
        f"{counted[form.attempts.counted]} one counts."
    )
    if form.grades:
        scale = ", ".join(f"{grade} from {points}" for points, grade in form.grades.items())
        below = f", {form.lowest_grade} below" if form.lowest_grade else ""
        lines.append(f"Grades by points: {scale}{below}.")
    return lines


def _total(assignment: Assignment) -> Decimal:
    return sum((rubric.form.points for rubric in assignment.rubrics.values()), Decimal(0))


def _as_data(assignment: Assignment) -> dict[str, object]:
    form = assignment.form
    due = form.due_at()
    return {
        "assignment": form.id,
        "title": form.title,
        "description": form.description,
        "points": float(_total(assignment)),
        "due_at": due.isoformat() if due else None,
        "attempts": form.attempts.most,
        "questions": [
            {
                "question": rubric.id,
                "title": rubric.form.title,
                "points": float(rubric.form.points),
                "fields": [field.name for field in rubric.question.fields],
                "uses": rubric.question.uses.question.id if rubric.question.uses else None,
            }
            for rubric in assignment.rubrics.values()
        ],
    }
