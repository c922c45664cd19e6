"""`grader course`: course runs, and who takes part in them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from grader.accounts.courses import make_run
from grader.accounts.people import get_by_login
from grader.accounts.roster_files import MAX_BYTES, decode_roster, read_roster
from grader.accounts.roster_plans import RosterChange, RosterChangeKind, RosterPlan, plan_roster
from grader.accounts.rosters import apply_roster, end_enrolment, enrol
from grader.cli.console import Command, JsonOption, print_json
from grader.cli.database import (
    OPERATOR,
    LoginArgument,
    RunArgument,
    YesOption,
    check_line,
    format_time,
    get_run,
    open_to_read,
    open_to_write,
    print_line,
    print_table,
    read_clock,
)
from grader.cli.main import make_typer
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

A roster is CSV with the columns login and name; email, role and section if you like.
"""

app = make_typer(
    help="Course runs: add and list them, and say who takes part.",
    no_args_is_help=True,
    epilog=EXAMPLES,
)

RoleOption = Annotated[
    Role, typer.Option(metavar="ROLE", help=f"The role in this course run: {', '.join(Role)}.")
]
SectionOption = Annotated[
    str | None, typer.Option(metavar="SECTION", help="The section or group, if there are any.")
]


@app.command("add", cls=Command)
def add(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Its name, such as attention-2026.")],
    course: Annotated[
        str, typer.Option(metavar="COURSE", help="What is taught year after year: attention.")
    ],
    title: Annotated[
        str, typer.Option(metavar="TITLE", help="What people see.", callback=check_line)
    ],
    time_zone: Annotated[
        str, typer.Option(metavar="ZONE", help="Where dates are, such as Europe/Warsaw.")
    ] = "UTC",
    as_json: JsonOption = False,
) -> None:
    """Add a course run, with a secret of its own that all its numbers are drawn from."""
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
        print_line(f"{line.id} is added. Next: grader publish {line.id} FOLDER")


@app.command("list", cls=Command)
def list_all(as_json: JsonOption = False) -> None:
    """List all course runs, the newest first."""
    with open_to_read() as database, database.read() as session:
        runs, counts = list_runs(session), count_members(session)
    if as_json:
        print_json([_run_as_data(each, _counts_of(each, counts)) for each in runs])
    elif runs:
        rows = [
            [each.id, each.title, each.time_zone, *_format_counts(each, counts)] for each in runs
        ]
        print_table(["run", "title", "time zone", "students", "staff"], rows)
    else:
        print_line("There is no course run yet; `grader course add` adds one.")


@app.command("show", cls=Command)
def show(run: RunArgument, as_json: JsonOption = False) -> None:
    """Show a course run: its assignments, and everybody who takes part."""
    with open_to_read() as database, database.read() as session:
        line = get_run(session, run)
        members = list_members(session, run_id=run)
        in_force = list_in_force(session, run_id=run)
        counts = _counts_of(line, count_members(session))
    if as_json:
        publications = [_publication_as_data(each) for each in in_force]
        people = [_member_as_data(each) for each in members]
        print_json({**_run_as_data(line, counts), "assignments": publications, "members": people})
        return
    print_line(f"{line.title} ({line.id}, {line.time_zone})")
    if in_force:
        print_line("")
        rows = [[each.assignment, f"{each.number}", format_time(each.due_at)] for each in in_force]
        print_table(["assignment", "publication", "due (UTC)"], rows)
    if members:
        print_line("")
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
        typer.Option("--complete", metavar="", help="Students who are not on it leave the course."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", metavar="", help="Only show what would change.")
    ] = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Bring who takes part in line with a roster, after showing what would change."""
    if str(file) == "-" and not (yes or dry_run):
        raise OperatorError("With a roster on standard input nothing can be asked: say --yes.")
    read = read_roster(decode_roster(_load(file)))
    with open_to_write() as database:
        with database.read() as session:
            line = get_run(session, run)
            plan = plan_roster(session, line, read, is_complete=complete)
        if not as_json:
            _print_plan(plan)
        is_applied = not dry_run and not plan.is_idle and (yes or _confirm())
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
    """Enrol one person, or change the person's role or section."""
    with open_to_write() as database, database.write() as session:
        line, person = get_run(session, run), get_by_login(session, login=login)
        change = enrol(
            session, line, person, role=role, section=section, at=read_clock(), by=OPERATOR
        )
    print_line(f"{person.login} is {change.role.value} of {line.id}.")


@app.command("leave", cls=Command)
def remove_one(run: RunArgument, login: LoginArgument) -> None:
    """Note that one person takes part no longer; what the person did stays."""
    with open_to_write() as database, database.write() as session:
        line = get_run(session, run)
        person = get_by_login(session, login=login)
        member = find_member(session, run_id=run, login=person.login)
        if member is None:
            raise OperatorError(f"{person.login} does not take part in {run}.")
        end_enrolment(session, line, member, at=read_clock(), by=OPERATOR)
    print_line(f"{member.login} has left {line.id}.")


def _confirm() -> bool:
    return typer.confirm("Change this?", err=True)


def _load(path: Path) -> bytes:
    try:
        if str(path) == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise OperatorError(f"{path} cannot be read: {error.strerror}.") from None


def _publication_as_data(line: PublicationLine) -> dict[str, object]:
    return {
        "assignment": line.assignment,
        "number": line.number,
        "opens_at": line.opens_at.isoformat() if line.opens_at else None,
        "due_at": line.due_at.isoformat() if line.due_at else None,
    }


def _member_as_data(member: MemberLine) -> dict[str, str]:
    return {
        "login": member.login,
        "name": member.name,
        "role": member.enrolment.role.value,
        "section": member.enrolment.section,
    }


def _counts_of(run: RunLine, counts: dict[tuple[str, Role], int]) -> dict[Role, int]:
    return {role: counts.get((run.id, role), 0) for role in Role}


def _format_counts(run: RunLine, counts: dict[tuple[str, Role], int]) -> list[str]:
    of_run = _counts_of(run, counts)
    students = of_run.pop(Role.STUDENT)
    return [str(students), str(sum(of_run.values()))]


def _run_as_data(run: RunLine, counts: dict[Role, int]) -> dict[str, object]:
    return {
        "id": run.id,
        "course": run.course_id,
        "title": run.title,
        "time_zone": run.time_zone,
        "counts": {role.value: counts.get(role, 0) for role in Role},
    }


# A table that is longer than this tells nobody anything.
_MAX_SHOWN = 40

_CHANGE_NAMES = {
    RosterChangeKind.NEW: "new",
    RosterChangeKind.ENROLLED: "enrolled",
    RosterChangeKind.RETURNING: "comes back",
    RosterChangeKind.CHANGED: "changed",
    RosterChangeKind.LEAVING: "leaves",
}


def _print_plan(plan: RosterPlan) -> None:
    """Print everybody to whom something happens, then how many stay as they are."""
    changes = plan.of(*_CHANGE_NAMES)
    for heading in plan.roster.unused:
        print_line(f"The column {heading!r} is not used.")
    if changes:
        rows = [_make_change_row(each) for each in changes[:_MAX_SHOWN]]
        print_table(["login", "name", "role", "section", "", ""], rows)
    if len(changes) > _MAX_SHOWN:
        print_line(f"… and {len(changes) - _MAX_SHOWN} more; --json lists all.")
    counts = plan.counts
    told = [f"{counts[kind]} {word}" for kind, word in _CHANGE_NAMES.items() if counts[kind]]
    print_line(", ".join([*told, f"{counts[RosterChangeKind.UNCHANGED]} unchanged"]) + ".")


def _make_change_row(change: RosterChange) -> list[str]:
    notes = [
        f"{each.field} was {each.before}" if each.before else f"{each.field} is new"
        for each in change.differences
    ]
    notes += [f"keeps the {field} of the account" for field in change.kept]
    return [
        change.login, change.name, change.role.value, change.section, _CHANGE_NAMES[change.kind],
        ", ".join(notes),
    ]  # fmt: skip


def _plan_as_data(plan: RosterPlan) -> dict[str, object]:
    """A plan for programs."""
    return {
        "complete": plan.is_complete,
        "unused_columns": list(plan.roster.unused),
        "counts": {kind.value: count for kind, count in plan.counts.items()},
        "changes": [_change_as_data(each) for each in plan.changes],
    }


def _change_as_data(change: RosterChange) -> dict[str, object]:
    return {
        "kind": change.kind.value,
        "line": change.line,
        "login": change.login,
        "name": change.name,
        "email": change.email,
        "role": change.role.value,
        "section": change.section,
        "differences": [
            {"field": each.field, "before": each.before, "after": each.after}
            for each in change.differences
        ],
        "kept": list(change.kept),
    }
