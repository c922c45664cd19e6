"""`grader course`: course runs and their members."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from grader.accounts.courses import make_run
from grader.accounts.people import get_by_login
from grader.accounts.roster_files import MAX_BYTES, decode_roster, read_roster
from grader.accounts.roster_plans import RosterChange, RosterChangeKind, RosterPlan, plan_roster
from grader.accounts.rosters import apply_roster, end_enrolment, enrol
from grader.cli.console import (
    Command,
    JsonOption,
    YesOption,
    check_line,
    format_time,
    make_typer,
    print_json,
    print_line,
    print_table,
    select_fields,
)
from grader.cli.database import (
    OPERATOR,
    LoginArgument,
    RunArgument,
    get_run,
    open_to_read,
    open_to_write,
    read_clock,
)
from grader.cli.files import load_bytes
from grader.domain.roles import Role
from grader.errors import OperatorError
from grader.store.queries.courses import MemberLine, RunLine, find_member, list_members, list_runs
from grader.store.queries.publications import PublicationLine, list_in_force
from grader.store.queries.rosters import count_members

EXAMPLES = """\
[bold]Examples[/]
  grader course add attention-2026 --course attention --title "Attention 2026" \\
      --time-zone Europe/Warsaw
  grader course roster attention-2026 students.csv --dry-run
  grader course roster attention-2026 students.csv --complete
  grader course enrol attention-2026 grace --role instructor

A roster is CSV with the columns login and name, and optionally email, role and section.
"""

app = make_typer(no_args_is_help=True)

#: By course run and role.
_MemberCounts = dict[tuple[str, Role], int]

RoleOption = Annotated[
    Role, typer.Option(metavar="ROLE", help=f"The role in the course run: {', '.join(Role)}.")
]
SectionOption = Annotated[
    str | None, typer.Option(metavar="SECTION", help="The section or group, if the course has any.")
]


@app.command("add", cls=Command)
def add(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The id of the course run, such as attention-2026.")
    ],
    course: Annotated[
        str,
        typer.Option(
            metavar="COURSE",
            help="The id of the course, which is the same every year, such as attention.",
        ),
    ],
    title: Annotated[
        str, typer.Option(metavar="TITLE", help="The title that people see.", callback=check_line)
    ],
    time_zone: Annotated[
        str, typer.Option(metavar="ZONE", help="The time zone of dates, such as Europe/Warsaw.")
    ] = "UTC",
    as_json: JsonOption = False,
) -> None:
    """Add a course run, with its own secret seed for all random numbers."""
    with open_to_write() as database, database.write() as session:
        line = make_run(
            session,
            course_id=course,
            run_id=run,
            title=title,
            time_zone=time_zone,
            at=read_clock(),
            by=OPERATOR,
        )
    if as_json:
        print_json(_run_as_data(line, {}))
    else:
        print_line(f"Added {line.id}. Next: grader publish {line.id} FOLDER")


@app.command("list", cls=Command)
def list_all(as_json: JsonOption = False) -> None:
    """List all course runs, newest first."""
    with open_to_read() as database, database.read() as session:
        runs, counts = list_runs(session), count_members(session)
    if as_json:
        print_json([_run_as_data(each, counts) for each in runs])
    elif runs:
        rows = [
            [each.id, each.title, each.time_zone, *_format_counts(each, counts)] for each in runs
        ]
        print_table(["run", "title", "time zone", "students", "staff"], rows)
    else:
        print_line("There are no course runs yet. Add one with `grader course add`.")


@app.command("show", cls=Command)
def show(run: RunArgument, as_json: JsonOption = False) -> None:
    """Show the assignments and members of a course run."""
    with open_to_read() as database, database.read() as session:
        line = get_run(session, run)
        members = list_members(session, run_id=run)
        in_force = list_in_force(session, run_id=run)
        counts = count_members(session)
    if as_json:
        publications = [_publication_as_data(each) for each in in_force]
        people = [_member_as_data(each) for each in members]
        print_json({**_run_as_data(line, counts), "assignments": publications, "members": people})
        return
    print_line(f"{line.title} ({line.id}, {line.time_zone})")
    if in_force:
        print_line()
        rows = [[each.assignment, f"{each.number}", format_time(each.due_at)] for each in in_force]
        print_table(["assignment", "publication", "due (UTC)"], rows)
    if members:
        print_line()
        shown = [_member_as_data(each) for each in members]
        print_table(list(shown[0]), [list(each.values()) for each in shown])


@app.command("roster", cls=Command)
def import_roster(
    run: RunArgument,
    file: Annotated[
        Path, typer.Argument(metavar="FILE.csv", help="The roster; - reads standard input.")
    ],
    complete: Annotated[
        bool,
        typer.Option("--complete", metavar="", help="Remove students who are not on the roster."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", metavar="", help="Show the changes without making them.")
    ] = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Update the members of a course run from a roster, after showing the changes."""
    if str(file) == "-" and not (yes or dry_run):
        raise OperatorError("A roster on standard input needs --yes or --dry-run.")
    roster = read_roster(decode_roster(load_bytes(file, max_bytes=MAX_BYTES)))
    with open_to_write() as database:
        with database.read() as session:
            line = get_run(session, run)
            plan = plan_roster(session, line, roster, is_complete=complete)
        if not as_json:
            _print_plan(plan)
        is_applied = (
            not dry_run
            and not plan.is_idle
            and (yes or typer.confirm("Make these changes?", err=True))
        )
        if is_applied:
            with database.write() as session:
                apply_roster(session, line, plan, at=read_clock(), by=OPERATOR)
    if as_json:
        print_json({**_plan_as_data(plan), "applied": is_applied})
    elif is_applied:
        print_line("Done.")
    elif not plan.is_idle:
        print_line("Nothing was changed.")


@app.command("enrol", cls=Command)
def enrol_one(
    run: RunArgument,
    login: LoginArgument,
    role: RoleOption = Role.STUDENT,
    section: SectionOption = None,
) -> None:
    """Enrol a person, or change their role or section."""
    with open_to_write() as database, database.write() as session:
        line, person = get_run(session, run), get_by_login(session, login=login)
        change = enrol(
            session, line, person, role=role, section=section, at=read_clock(), by=OPERATOR
        )
    print_line(f"{person.login} is now {change.role.value} in {line.id}.")


@app.command("leave", cls=Command)
def remove_one(run: RunArgument, login: LoginArgument) -> None:
    """Remove a person from a course run; their attempts and grades are kept."""
    with open_to_write() as database, database.write() as session:
        line = get_run(session, run)
        person = get_by_login(session, login=login)
        member = find_member(session, run_id=run, login=person.login)
        if member is None:
            raise OperatorError(f"{person.login} is not a member of {run}.")
        end_enrolment(session, line, member, at=read_clock(), by=OPERATOR)
    print_line(f"{member.login} has left {line.id}.")


def _publication_as_data(line: PublicationLine) -> dict[str, object]:
    return select_fields(line, "assignment", "number", "opens_at", "due_at")


def _member_as_data(member: MemberLine) -> dict[str, str]:
    return {
        "login": member.login,
        "name": member.name,
        "role": member.enrolment.role.value,
        "section": member.enrolment.section,
    }


def _format_counts(run: RunLine, counts: _MemberCounts) -> list[str]:
    students = counts.get((run.id, Role.STUDENT), 0)
    everyone = sum(counts.get((run.id, role), 0) for role in Role)
    return [str(students), str(everyone - students)]


def _run_as_data(run: RunLine, counts: _MemberCounts) -> dict[str, object]:
    return {
        "id": run.id,
        "course": run.course_id,
        "title": run.title,
        "time_zone": run.time_zone,
        "counts": {role.value: counts.get((run.id, role), 0) for role in Role},
    }


#: Longer tables are cut.
_MAX_SHOWN = 40

_CHANGE_NAMES = {
    RosterChangeKind.NEW: "new",
    RosterChangeKind.ENROLLED: "enrolled",
    RosterChangeKind.RETURNING: "returns",
    RosterChangeKind.CHANGED: "changed",
    RosterChangeKind.LEAVING: "leaves",
}


def _print_plan(plan: RosterPlan) -> None:
    """Print each change, then the number of members in each state."""
    changes = plan.of(*_CHANGE_NAMES)
    for heading in plan.roster.unused:
        print_line(f"The column {heading!r} is ignored.")
    if changes:
        rows = [_make_change_row(each) for each in changes[:_MAX_SHOWN]]
        print_table(["login", "name", "role", "section", "", ""], rows)
    if len(changes) > _MAX_SHOWN:
        print_line(f"… and {len(changes) - _MAX_SHOWN} more; --json lists all.")
    counts = plan.counts
    totals = [f"{counts[kind]} {word}" for kind, word in _CHANGE_NAMES.items() if counts[kind]]
    print_line(", ".join([*totals, f"{counts[RosterChangeKind.UNCHANGED]} unchanged"]) + ".")


def _make_change_row(change: RosterChange) -> list[str]:
    notes = [
        f"{each.field} was {each.before}" if each.before else f"{each.field} is new"
        for each in change.differences
    ]
    notes += [f"the account keeps its {field}" for field in change.kept]
    return [
        change.login, change.name, change.role.value, change.section, _CHANGE_NAMES[change.kind],
        ", ".join(notes),
    ]  # fmt: skip


def _plan_as_data(plan: RosterPlan) -> dict[str, object]:
    return {
        "complete": plan.is_complete,
        "unused_columns": plan.roster.unused,
        "counts": plan.counts,
        "changes": [_change_as_data(each) for each in plan.changes],
    }


def _change_as_data(change: RosterChange) -> dict[str, object]:
    return {
        **select_fields(change, "kind", "line", "login", "name", "email", "role", "section"),
        "differences": [asdict(each) for each in change.differences],
        "kept": change.kept,
    }
