"""`grader publish`: publish an assignment in a course run."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from rich.console import Console

from grader.cli.check_runs import load_folder, run_checks
from grader.cli.console import ExitCode, JsonOption, print_json, print_line, select_fields
from grader.cli.database import (
    OPERATOR,
    RunArgument,
    get_run,
    make_grading_context,
    open_to_write,
    read_clock,
)
from grader.errors import OperatorError
from grader.grading.publishing.effect import QuestionEffect, load_publication_effect
from grader.grading.publishing.publish import EXAMPLE_VARIANTS
from grader.grading.publishing.publish import publish as publish_assignment
from grader.rubric.assignment import AssignmentFile
from grader.rubric.catalog import CompiledAssignment, get_shipped_folder, load_catalog
from grader.store.queries.courses import RunLine
from grader.store.queries.publications import PublicationLine, find_in_force

EXAMPLES = """\
[bold]Examples[/]
  grader publish attention-2026 my-rubrics/homework-1 --due "2026-12-01 23:59"
  grader publish attention-2026 my-rubrics/homework-1 --dry-run
  grader publish attention-2026 --shipped single-head-attention
  grader publish attention-2026 my-rubrics/homework-1 --note "1c: tolerance as in class"

Dates are in the time zone of the course run. Without --due or --opens, an assignment
that is already published keeps its date, and a new one takes the date in its file.
The value `file` takes the date in the file, `none` removes the date.

Existing attempts keep their verdicts until a regrade; what one would change is shown.
Exit code 1: an example of the rubrics fails, and nothing was published.
"""

_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")

DueOption = Annotated[
    str | None, typer.Option(metavar="TIME", help='The due date, such as "2026-12-01 23:59".')
]
OpensOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="The date from which students may submit.")
]


def publish(
    run: RunArgument,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER", help="The assignment's folder, unless --shipped is given."
        ),
    ] = None,
    shipped: Annotated[
        str | None, typer.Option(metavar="NAME", help="An assignment that is shipped with Keyset.")
    ] = None,
    due: DueOption = None,
    opens: OpensOption = None,
    note: Annotated[
        str, typer.Option(metavar="TEXT", help="A note for staff about what changed.")
    ] = "",
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", metavar="", help="Show whom it would touch; publish nothing."),
    ] = False,
    skip_examples: Annotated[
        bool,
        typer.Option("--skip-examples", metavar="", help="Do not run the rubrics' examples."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Publish an assignment in a course run, if the examples of its rubrics pass."""
    path = _find_folder(folder, shipped)
    (assignment,) = load_folder(path).assignments.values()
    with open_to_write() as database:
        with database.read() as session:
            line = get_run(session, run)
            before = find_in_force(session, run_id=run, assignment=assignment.form.id)
        opens_at, due_at = _choose_dates(assignment.form, line, before, opens=opens, due=due)
        if not skip_examples:
            _check_examples(path, assignment)
        context = make_grading_context()
        with database.read() as session:
            effect = load_publication_effect(session, context, run_id=run, candidate=assignment)
        if dry_run:
            _tell_dry_run(effect, as_json=as_json)
            return
        with database.write() as session:
            after = publish_assignment(
                session,
                context,
                run=line,
                assignment=assignment,
                opens_at=opens_at,
                due_at=due_at,
                note=note,
                at=read_clock(),
                by=OPERATOR,
            )
    is_new = before is None or after.id != before.id
    if as_json:
        print_json(_as_data(after, is_new) | {"effect": [_effect_to_data(each) for each in effect]})
        return
    _print_publication(line, after, is_new=is_new)
    _print_effect(effect)
    if any(each.is_judged_otherwise and each.attempts for each in effect):
        print_line(
            f"Attempts keep their judgements until `grader regrade preview {run} "
            f"{assignment.form.id}` and `apply`, or `decline`."
        )


def _find_folder(folder: Path | None, shipped: str | None) -> Path:
    if (folder is None) == (shipped is None):
        raise OperatorError("Give either the assignment's folder or --shipped NAME.")
    if shipped is not None:
        known = list(load_catalog(get_shipped_folder()).assignments)
        if shipped not in known:
            raise OperatorError(
                f"There is no shipped assignment {shipped!r}. There are {', '.join(known)}."
            )
        return get_shipped_folder() / shipped
    assert folder is not None
    if not (folder / "assignment.yaml").is_file():
        raise OperatorError(f"{folder} is not an assignment: it contains no assignment.yaml.")
    return folder.resolve()


def _check_examples(path: Path, assignment: CompiledAssignment) -> None:
    """Refuse to publish rubrics that are not sound."""
    with Console(stderr=True).status(f"Running the examples of {assignment.form.id} …"):
        results = run_checks(path, variants=EXAMPLE_VARIANTS)
    failing = [each.question for each in results if not each.is_sound]
    if failing:
        typer.echo(
            f"Not published: examples of {', '.join(failing)} fail. "
            f"`grader check {path}` shows why.",
            err=True,
        )
        raise typer.Exit(ExitCode.NOT_SOUND)


def _choose_dates(
    form: AssignmentFile,
    run: RunLine,
    before: PublicationLine | None,
    *,
    opens: str | None,
    due: str | None,
) -> tuple[datetime | None, datetime | None]:
    """Return when the assignment opens and when it is due."""
    # Publishing a corrected rubric must not change the dates that students know.
    usual = (before.opens_at, before.due_at) if before else (form.opens_at(), form.due_at())
    opens_at = _choose_date(opens, form, run, usual=usual[0], in_file=form.opens_at())
    due_at = _choose_date(due, form, run, usual=usual[1], in_file=form.due_at())
    if opens_at and due_at and opens_at >= due_at:
        raise OperatorError("The assignment would be due before it opens.")
    return opens_at, due_at


def _choose_date(
    text: str | None,
    form: AssignmentFile,
    run: RunLine,
    *,
    usual: datetime | None,
    in_file: datetime | None,
) -> datetime | None:
    match text:
        case None:
            return usual
        case "file":
            return in_file
        case "none":
            return None
    try:
        if not _TIME.fullmatch(text):
            raise ValueError
        datetime.fromisoformat(text)
    except ValueError:
        raise OperatorError(f'{text!r} is not a time; write "2026-12-01 23:59".') from None
    # The form knows that 23:59 includes its last second.
    return form.model_copy(update={"due": text, "time_zone": run.time_zone}).due_at()


def _print_publication(run: RunLine, line: PublicationLine, *, is_new: bool) -> None:
    what = f"publication {line.number}" if is_new else "no change since it was last published"
    print_line(f"{line.assignment} is published in {run.id} ({what}).")
    zone = ZoneInfo(run.time_zone)
    for word, moment in (("Opens", line.opens_at), ("Due", line.due_at)):
        if moment is not None:
            print_line(f"{word} {moment.astimezone(zone):%Y-%m-%d %H:%M} ({run.time_zone}).")
    if line.due_at is None:
        print_line("It has no due date.")
    elif line.due_at < read_clock():
        print_line("The due date has passed, so new answers are late. Change it with --due.")


def _tell_dry_run(effect: list[QuestionEffect], *, as_json: bool) -> None:
    if as_json:
        print_json({"effect": [_effect_to_data(each) for each in effect]})
        return
    _print_effect(effect)
    print_line("Nothing was published.")


def _print_effect(effect: list[QuestionEffect]) -> None:
    for each in effect:
        print_line(f"{each.question}: changed {', '.join(each.changes)}.")
        if each.is_judged_otherwise and each.attempts:
            print_line(
                f"  {each.attempts} attempts of {each.students} students were judged before."
            )
        sample = each.sample
        if sample is not None and sample.judged:
            print_line(
                f"  Of {sample.judged} that count, judged again: {sample.up} rise, {sample.down} "
                f"fall, {sample.same} stay."
            )
        if sample is not None and sample.left_out:
            print_line(f"  {sample.left_out} could not be judged by the new version.")


def _effect_to_data(effect: QuestionEffect) -> dict[str, object]:
    sample = effect.sample
    return select_fields(effect, "question", "attempts", "students") | {
        "changes": [each.value for each in effect.changes],
        "sample": sample and select_fields(sample, "judged", "up", "down", "same", "left_out"),
    }


def _as_data(line: PublicationLine, is_new: bool) -> dict[str, object]:
    return {
        "id": line.id,
        "course": line.run_id,
        **select_fields(line, "assignment", "number"),
        "is_new": is_new,
        **select_fields(line, "opens_at", "due_at", "note"),
    }
