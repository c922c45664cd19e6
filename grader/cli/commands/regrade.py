"""`grader regrade`: attempts judged again after a rubric has changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Annotated

import typer
from rich.progress import Progress, TaskID

from grader.cli.console import (
    Command,
    ExitCode,
    JsonOption,
    YesOption,
    format_points,
    format_time,
    make_progress,
    make_typer,
    print_json,
    print_line,
    print_table,
    select_fields,
)
from grader.cli.database import (
    OPERATOR,
    RunArgument,
    get_run,
    make_grading_context,
    open_to_read,
    open_to_write,
    read_clock,
)
from grader.domain.jobs import JobState
from grader.domain.regrades import RegradeState
from grader.errors import OperatorError
from grader.grading.context import GradingContext
from grader.grading.regrades.decide import (
    apply_regrade,
    decline_regrade,
    discard_regrade,
    start_regrade,
    undo_regrade,
)
from grader.grading.regrades.outdated import count_outdated
from grader.grading.regrades.preview import RegradePreview, load_preview
from grader.store.database import Database, Session
from grader.store.queries.jobs import JobLine, find_job_about, get_job
from grader.store.queries.publications import list_in_force
from grader.store.queries.regrades.records import RegradeLine, get_regrade, list_regrades

EXAMPLES = """\
[bold]Examples[/]
  grader regrade list attention-2026
  grader regrade preview attention-2026 attention-exploration
  grader regrade preview attention-2026 attention-exploration 3b 3c-i --never-lower
  grader regrade apply attention-2026 attention-exploration --reason "3b: the key was wrong"
  grader regrade undo attention-2026 attention-exploration --reason "applied too early"
  grader regrade decline attention-2026 attention-exploration --reason "only new tolerances"

A preview judges stored answers again and changes nothing. It goes on where it stood if it
is interrupted. Apply lets the new judgements count, in one step; undo takes that back.
Exit code 1: the preview has left attempts out, or it has failed.
"""

app = make_typer(no_args_is_help=True)

AssignmentArgument = Annotated[
    str, typer.Argument(metavar="ASSIGNMENT", help="An assignment that is published there.")
]
QuestionsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="QUESTION", help="By default all questions with attempts by an earlier version."
    ),
]
ReasonOption = Annotated[
    str, typer.Option(metavar="TEXT", help="The reason, which students and staff can read.")
]

#: How many changed grades are listed.
_LISTED = 20
_WATCHING_SECONDS = 0.2


@app.command("list", cls=Command)
def list_all(
    run: RunArgument,
    assignment: Annotated[
        str | None, typer.Argument(metavar="ASSIGNMENT", help="By default all assignments.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List regrades, and the questions whose attempts were judged by an earlier version."""
    with open_to_read() as database, database.read() as session:
        get_run(session, run)
        names = [_check_assignment(session, run, assignment)] if assignment else None
        context = make_grading_context()
        outdated = {
            line.assignment: counts
            for line in list_in_force(session, run_id=run)
            if names is None or line.assignment in names
            if (counts := count_outdated(session, context, context.published(session, line)))
        }
        regrades = list_regrades(session, run_id=run, assignment=assignment)
    if as_json:
        print_json(
            {"outdated": outdated, "regrades": [_to_data(each) for each in regrades]},
        )
        return
    for name, counts in outdated.items():
        questions = ", ".join(f"{question} ({count})" for question, count in counts.items())
        print_line(f"{name}: attempts were judged by an earlier version: {questions}.")
    if not outdated:
        print_line("No attempt waits to be judged again.")
    if regrades:
        print_table(
            ["ASSIGNMENT", "NUMBER", "STATE", "QUESTIONS", "MADE", "REASON"],
            [
                [
                    each.assignment, str(each.number), each.state.value,
                    ", ".join(each.questions), format_time(each.made_at), each.reason,
                ]
                for each in regrades
            ],
        )  # fmt: skip


@app.command("preview", cls=Command)
def preview(
    run: RunArgument,
    assignment: AssignmentArgument,
    questions: QuestionsArgument = None,
    publication: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Judge by the rubrics of this publication; it cannot be applied."
        ),
    ] = None,
    judges_all: Annotated[
        bool,
        typer.Option("--all", metavar="", help="Also attempts that this version has judged."),
    ] = False,
    never_lower: Annotated[
        bool,
        typer.Option(
            "--never-lower", metavar="", help="Leave attempts as they are that would earn less."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Judge stored answers again, and show what would change."""
    with open_to_write() as database:
        # The receipts of what is judged again are signed.
        from grader.cli.server import open_grading_context

        context = open_grading_context(database)
        with database.write() as session:
            get_run(session, run)
            _check_assignment(session, run, assignment)
            regrade = _find_judging(session, run, assignment) or start_regrade(
                session,
                context,
                run_id=run,
                assignment=assignment,
                questions=questions or (),
                publication=publication,
                judges_all=judges_all,
                never_lower=never_lower,
                by=OPERATOR,
                at=read_clock(),
            )
            job = find_job_about(session, subject=regrade.id)
        assert job is not None, "a regrade has a job"
        ended = _work(database, context, job)
        with database.read() as session:
            regrade = get_regrade(session, regrade_id=regrade.id)
            found = load_preview(session, context, regrade, limit=_LISTED)
    if ended.state is not JobState.DONE:
        raise OperatorError(f"The regrade was not prepared: {ended.error or ended.state.value}.")
    if as_json:
        print_json(_preview_to_data(found))
    else:
        _print_preview(found)
    if found.counts.left_out:
        raise typer.Exit(ExitCode.NOT_SOUND)


def _find_judging(session: Session, run: str, assignment: str) -> RegradeLine | None:
    """A regrade whose preview was interrupted, to go on with it."""
    for each in list_regrades(session, run_id=run, assignment=assignment):
        if each.state is RegradeState.JUDGING:
            return each
    return None


def _work(database: Database, context: GradingContext, job: JobLine) -> JobLine:
    """Work on a job until it has ended, beside whoever else does."""
    from grader.jobs.worker import JobWorker

    worker = JobWorker(database, context, read_clock, job_id=job.id)
    with make_progress() as progress:
        bar = progress.add_task("preparing", total=None)
        show = partial(_show_progress, database, progress, bar, job.id)
        while job.state is JobState.OPEN:
            worker.work_off(on_piece=show)
            with database.read() as session:
                job = get_job(session, job_id=job.id)
            if job.state is JobState.OPEN:
                # Another process has the last pieces.
                time.sleep(_WATCHING_SECONDS)
    return job


def _show_progress(database: Database, progress: Progress, bar: TaskID, job_id: str) -> None:
    with database.read() as session:
        job = get_job(session, job_id=job_id)
    progress.update(bar, description=job.phase, total=job.total, completed=job.done)


@app.command("show", cls=Command)
def show(
    run: RunArgument,
    assignment: AssignmentArgument,
    number: Annotated[
        int | None, typer.Option(metavar="N", help="Its number; by default the newest.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a regrade changes, or has changed."""
    with open_to_read() as database, database.read() as session:
        get_run(session, run)
        _check_assignment(session, run, assignment)
        regrade = _choose(session, run, assignment, lambda each: number in (None, each.number))
        found = load_preview(
            session, make_grading_context(), regrade, limit=None if as_json else _LISTED
        )
    if as_json:
        print_json(_preview_to_data(found))
    else:
        _print_preview(found)


@app.command("apply", cls=Command)
def apply(
    run: RunArgument, assignment: AssignmentArgument, reason: ReasonOption, yes: YesOption = False
) -> None:
    """Let the judgements of the preview count, in one step."""
    with open_to_write() as database:
        context = make_grading_context()
        with database.read() as session:
            get_run(session, run)
            _check_assignment(session, run, assignment)
            regrade = _choose(
                session, run, assignment, lambda each: each.state is RegradeState.READY
            )
            found = load_preview(session, context, regrade, limit=0)
        counts = found.counts
        question = f"{counts.up} grades rise, {counts.down} fall. Apply?"
        if not yes and not typer.confirm(question):
            raise typer.Exit(ExitCode.NOT_SOUND)
        with database.write() as session:
            done = apply_regrade(
                session,
                context,
                run_id=run,
                regrade_id=regrade.id,
                reason=reason,
                by=OPERATOR,
                at=read_clock(),
            )
    print_line(
        f"Regrade {done.number} of {assignment} is applied. `grader regrade undo` undoes it."
    )


@app.command("undo", cls=Command)
def undo(run: RunArgument, assignment: AssignmentArgument, reason: ReasonOption) -> None:
    """Give grades back what they were before the newest regrade that is applied."""
    done = _decide(
        run, assignment, RegradeState.APPLIED,
        lambda session, context, regrade, at: undo_regrade(
            session, context, run_id=run, regrade_id=regrade.id, reason=reason, by=OPERATOR, at=at
        ),
    )  # fmt: skip
    print_line(f"Regrade {done.number} of {assignment} is undone.")


@app.command("discard", cls=Command)
def discard(run: RunArgument, assignment: AssignmentArgument) -> None:
    """Give up a preview, with everything that it has judged."""
    done = _decide(
        run, assignment, None,
        lambda session, _, regrade, at: discard_regrade(
            session, run_id=run, regrade_id=regrade.id, by=OPERATOR, at=at
        ),
    )  # fmt: skip
    print_line(f"Regrade {done.number} of {assignment} is discarded.")


@app.command("decline", cls=Command)
def decline(
    run: RunArgument,
    assignment: AssignmentArgument,
    reason: ReasonOption,
    questions: QuestionsArgument = None,
) -> None:
    """Decide that attempts keep what an earlier version gave them."""
    with open_to_write() as database, database.write() as session:
        get_run(session, run)
        _check_assignment(session, run, assignment)
        line = decline_regrade(
            session,
            make_grading_context(),
            run_id=run,
            assignment=assignment,
            questions=questions or (),
            reason=reason,
            by=OPERATOR,
            at=read_clock(),
        )
    print_line(f"Attempts at {', '.join(line.questions)} keep their judgements.")


def _decide(
    run: str,
    assignment: str,
    state: RegradeState | None,
    change: Callable[[Session, GradingContext, RegradeLine, datetime], RegradeLine],
) -> RegradeLine:
    """Change the newest regrade in a state; by default one that waits for a decision."""
    with open_to_write() as database, database.write() as session:
        get_run(session, run)
        _check_assignment(session, run, assignment)
        regrade = _choose(
            session, run, assignment,
            lambda each: each.state is state if state else each.state.is_open,
        )  # fmt: skip
        return change(session, make_grading_context(), regrade, read_clock())


def _choose(
    session: Session, run: str, assignment: str, fits: Callable[[RegradeLine], bool]
) -> RegradeLine:
    """The newest regrade that fits."""
    for each in list_regrades(session, run_id=run, assignment=assignment):
        if each.state is not RegradeState.DECLINED and fits(each):
            return each
    raise OperatorError(
        f"There is no such regrade of {assignment}; `grader regrade list {run}` shows all."
    )


def _check_assignment(session: Session, run: str, assignment: str) -> str:
    known = [each.assignment for each in list_in_force(session, run_id=run)]
    if assignment not in known:
        hint = f"There are {', '.join(known)}." if known else "None is published yet."
        raise OperatorError(f"{run} has no assignment {assignment!r}. {hint}")
    return assignment


def _print_preview(found: RegradePreview) -> None:
    regrade, counts = found.regrade, found.counts
    print_line(
        f"Regrade {regrade.number} of {regrade.assignment} ({', '.join(regrade.questions)}), "
        f"by publication {found.publication}: {regrade.state.value}"
    )
    print_line(
        f"{counts.attempts} attempts were judged again. Of {counts.grades} grades {counts.up} "
        f"rise, {counts.down} fall, {counts.other} change otherwise and {counts.same} stay."
    )
    if counts.left_out:
        print_line(f"{counts.left_out} attempts were left as they are:")
        for attempt in found.left_out[:_LISTED]:
            print_line(f"  {attempt.attempt_id}: {attempt.text}")
    if found.crossings:
        print_line(f"{len(found.crossings)} students get another grade:")
        for crossing in found.crossings[:_LISTED]:
            print_line(f"  {crossing.student.login}: {crossing.before} → {crossing.after}")
    if found.overrides:
        kept = ", ".join(f"{login} {question}" for login, question in found.overrides[:_LISTED])
        print_line(f"{len(found.overrides)} overrides stay: {kept}.")
    if found.changes:
        print_table(
            ["STUDENT", "QUESTION", "BEFORE", "AFTER", "CRITERIA"],
            [
                [
                    each.login,
                    each.question,
                    _describe(each.before, each.before_possible),
                    _describe(each.after, each.after_possible),
                    ", ".join(one["criterion"] for one in each.criteria),
                ]
                for each in found.changes
            ],
        )
    if regrade.state is RegradeState.READY and not found.is_in_force:
        print_line(
            "Another publication is in force, so that this cannot be applied: publish it first."
        )


def _describe(points: Decimal | None, possible: Decimal) -> str:
    return f"{format_points(points) if points is not None else '-'} of {format_points(possible)}"


def _to_data(regrade: RegradeLine) -> dict[str, object]:
    return select_fields(
        regrade, "id", "assignment", "number", "state", "judges_all", "never_lower", "by",
        "made_at", "ready_at", "reason", "decided_at", "undo_reason", "undone_at",
    ) | {"questions": list(regrade.questions)}  # fmt: skip


def _preview_to_data(found: RegradePreview) -> dict[str, object]:
    return _to_data(found.regrade) | {
        "publication": found.publication,
        "is_in_force": found.is_in_force,
        "counts": select_fields(
            found.counts, "attempts", "left_out", "grades", "up", "down", "other", "same"
        ),
        "crossings": [
            {"student": each.student.login, "before": each.before, "after": each.after}
            for each in found.crossings
        ],
        "overrides": [
            {"student": login, "question": question} for login, question in found.overrides
        ],
        "left_out": [each._asdict() for each in found.left_out],
        "changes": [
            {
                "student": each.login,
                "before": None if each.before is None else float(each.before),
                "before_possible": float(each.before_possible),
                "after": None if each.after is None else float(each.after),
                "after_possible": float(each.after_possible),
                "gain": float(each.gain),
            }
            | select_fields(each, "question", "is_overridden", "criteria")
            for each in found.changes
        ],
    }  # fmt: skip
