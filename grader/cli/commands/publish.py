"""`grader publish`: an assignment's files become what is in force in a course run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.console import Console

from grader.cli.check_runs import load_folder, run_checks
from grader.cli.console import ExitCode, JsonOption, print_json
from grader.cli.database import (
    OPERATOR,
    RunArgument,
    get_run,
    open_to_write,
    print_line,
    read_clock,
)
from grader.cli.grading_context import make_grading_context
from grader.errors import OperatorError
from grader.grading.publishing.publish import EXAMPLE_VARIANTS
from grader.grading.publishing.publish import publish as put_in_force
from grader.rubric.assignment import AssignmentFile
from grader.rubric.catalog import CompiledAssignment, get_shipped_folder, load_catalog
from grader.store.queries.courses import RunLine
from grader.store.queries.publications import PublicationLine, find_in_force

EXAMPLES = """\
[bold]Examples[/]
  grader publish attention-2026 my-rubrics/homework-1 --due "2026-12-01 23:59"
  grader publish attention-2026 --shipped single-head-attention
  grader publish attention-2026 my-rubrics/homework-1 --note "1c: tolerance as in class"

Dates are in the time zone of the course run. Without --due and --opens, an
assignment that is in force keeps its dates, and a new one takes those of its file.
`file` takes the date of the file, `none` takes it away.

Attempts keep the verdicts they have until a regrade.
Exit code 1: an example of the rubrics fails; nothing was published.
"""

_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")

DueOption = Annotated[
    str | None, typer.Option(metavar="TIME", help='Until when, such as "2026-12-01 23:59".')
]
OpensOption = Annotated[str | None, typer.Option(metavar="TIME", help="From when on, likewise.")]


def publish(
    run: RunArgument,
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="The assignment's folder; or --shipped."),
    ] = None,
    shipped: Annotated[
        str | None, typer.Option(metavar="NAME", help="An assignment that came with Keyset.")
    ] = None,
    due: DueOption = None,
    opens: OpensOption = None,
    note: Annotated[str, typer.Option(metavar="TEXT", help="What is new, for staff.")] = "",
    skip_examples: Annotated[
        bool,
        typer.Option("--skip-examples", metavar="", help="Do not run the rubrics' examples."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Put an assignment in force in a course run, after its examples came out right."""
    path = _find_folder(folder, shipped)
    (assignment,) = load_folder(path).assignments.values()
    with open_to_write() as database:
        with database.read() as session:
            line = get_run(session, run)
            before = find_in_force(session, run_id=run, assignment=assignment.form.id)
        dates = _choose_dates(assignment.form, line, before, opens=opens, due=due)
        if not skip_examples:
            _check_examples(path, assignment)
        with database.write() as session:
            after = put_in_force(
                session,
                make_grading_context(),
                run=line,
                assignment=assignment,
                opens_at=dates.opens_at,
                due_at=dates.due_at,
                note=note,
                at=read_clock(),
                by=OPERATOR,
            )
    is_new = before is None or after.id != before.id
    if as_json:
        print_json(_as_data(after, is_new))
    else:
        _print_publication(line, after, is_new=is_new)


def _find_folder(folder: Path | None, shipped: str | None) -> Path:
    if (folder is None) == (shipped is None):
        raise OperatorError("Name the assignment's folder, or a shipped one by --shipped.")
    if shipped is not None:
        known = list(load_catalog(get_shipped_folder()).assignments)
        if shipped not in known:
            raise OperatorError(f"Keyset ships {', '.join(known)}, and no {shipped!r}.")
        return get_shipped_folder() / shipped
    assert folder is not None
    if not (folder / "assignment.yaml").is_file():
        raise OperatorError(f"{folder} is no assignment: there is no assignment.yaml in it.")
    return folder.resolve()


def _check_examples(path: Path, assignment: CompiledAssignment) -> None:
    """Refuse rubrics that are not sound; no student should be the first to notice."""
    with Console(stderr=True).status(f"Trying the examples of {assignment.form.id} …"):
        results = run_checks(path, variants=EXAMPLE_VARIANTS)
    failing = [each.question for each in results if not each.is_sound]
    if failing:
        typer.echo(
            f"Not published: the examples of {', '.join(failing)} do not come out as they say. "
            f"`grader check {path}` tells why.",
            err=True,
        )
        raise typer.Exit(ExitCode.NOT_SOUND)


# Dates


@dataclass(frozen=True, slots=True)
class _Dates:
    opens_at: datetime | None
    due_at: datetime | None


def _choose_dates(
    form: AssignmentFile,
    run: RunLine,
    before: PublicationLine | None,
    *,
    opens: str | None,
    due: str | None,
) -> _Dates:
    # A rubric that is mended must not move the dates that students were told.
    usual = _Dates(form.opens_at(), form.due_at())
    if before is not None:
        usual = _Dates(before.opens_at, before.due_at)
    dates = _Dates(
        _read_date(opens, run, usual=usual.opens_at, of_file=form.opens_at(), form=form),
        _read_date(due, run, usual=usual.due_at, of_file=form.due_at(), form=form),
    )
    if dates.opens_at and dates.due_at and dates.opens_at >= dates.due_at:
        raise OperatorError("It would be due before it opens.")
    return dates


def _read_date(
    text: str | None,
    run: RunLine,
    *,
    usual: datetime | None,
    of_file: datetime | None,
    form: AssignmentFile,
) -> datetime | None:
    match text:
        case None:
            return usual
        case "file":
            return of_file
        case "none":
            return None
    try:
        if not _TIME.fullmatch(text):
            raise ValueError
        datetime.fromisoformat(text)
    except ValueError:
        raise OperatorError(f'{text!r} is no time; write "2026-12-01 23:59".') from None
    # The form knows how long 23:59 lasts.
    return form.model_copy(update={"due": text, "time_zone": run.time_zone}).due_at()


# Telling


def _print_publication(run: RunLine, line: PublicationLine, *, is_new: bool) -> None:
    what = f"publication {line.number}" if is_new else "nothing new, it was in force already"
    print_line(f"{line.assignment} is in force in {run.id} ({what}).")
    zone = ZoneInfo(run.time_zone)
    for word, moment in (("Opens", line.opens_at), ("Due", line.due_at)):
        if moment is not None:
            print_line(f"{word} {moment.astimezone(zone):%Y-%m-%d %H:%M} ({run.time_zone}).")
    if line.due_at is None:
        print_line("It has no due date.")
    elif line.due_at < read_clock():
        print_line("That is in the past: what students send now is late. --due sets another date.")


def _as_data(line: PublicationLine, is_new: bool) -> dict[str, object]:
    return {
        "id": line.id,
        "course": line.run_id,
        "assignment": line.assignment,
        "number": line.number,
        "is_new": is_new,
        "opens_at": line.opens_at.isoformat() if line.opens_at else None,
        "due_at": line.due_at.isoformat() if line.due_at else None,
        "note": line.note,
    }
