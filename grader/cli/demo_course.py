"""The demo course of `grader serve --demo`: add it once, print sign-in links and tokens."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from grader.accounts.sign_in import make_sign_in_link
from grader.accounts.tokens import make_personal_token
from grader.cli.console import console, print_line
from grader.cli.database import OPERATOR
from grader.demo.people import ASSISTANT, INSTRUCTOR, NAMES, RUN_ID, STUDENT
from grader.domain.roles import ALL_SCOPES, STUDENT_SCOPES, Scope
from grader.settings import Settings
from grader.store.database import Session
from grader.store.queries.courses import find_run
from grader.store.queries.people import PersonLine, find_people
from grader.web.service import Service

_TOKEN_DAYS = 30

#: Tokens: the environment variable, the owner and the scopes.
_TOKENS: tuple[tuple[str, str, frozenset[Scope]], ...] = (
    ("KEYSET_STUDENT", STUDENT, STUDENT_SCOPES),
    ("KEYSET_INSTRUCTOR", INSTRUCTOR, ALL_SCOPES),
)


def prepare_demo(service: Service, settings: Settings, *, students: int = len(NAMES)) -> None:
    """Add the demo course if it does not exist, and print new sign-in links and tokens."""
    with service.database.read() as session:
        exists = find_run(session, run_id=RUN_ID) is not None
    if not exists:
        _add_demo(service, students)
    now = service.clock()
    with service.database.write() as session:
        people = find_people(session, logins=[INSTRUCTOR, ASSISTANT, STUDENT])
        links = {
            login: f"{service.base_url}/sign-in/"
            + make_sign_in_link(session, each, at=now, by=OPERATOR)
            for login, each in people.items()
        }
        exports = _make_exports(session, people, service.base_url, now)
    _print_access(links, exports, _write_exports(settings.data_folder / "demo.env", exports))


def _add_demo(service: Service, students: int) -> None:
    """Fill the demo course; show a progress bar on a terminal and a line elsewhere."""
    # Only the first start needs these modules.
    from grader.demo.fill import fill

    columns = (
        TextColumn("Adding the demo course"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("attempts"),
        TimeElapsedColumn(),
    )
    if not console.is_terminal:
        print_line(f"Adding the demo course with {students} students and their attempts …")
    with (
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
        service.database.write() as session,
    ):
        task = bar.add_task("", total=None)

        def show(done: int, of: int) -> None:
            bar.update(task, completed=done, total=of)

        fill(session, service.context, now=service.clock(), students=students, progress=show)


def _make_exports(
    session: Session, people: dict[str, PersonLine], base_url: str, now: datetime
) -> dict[str, str]:
    exports = {"KEYSET": base_url}
    for name, login, scopes in _TOKENS:
        if login in people:
            token = make_personal_token(
                session, people[login], label="demo", scopes=scopes, days=_TOKEN_DAYS, at=now,
                by=OPERATOR,
            )  # fmt: skip
            exports[name] = token.secret
    return exports


def _write_exports(path: Path, exports: dict[str, str]) -> Path | None:
    """Write the exports to a file that only its owner can read; None if that fails."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.writelines(f"{each}\n" for each in _format_exports(exports))
    except OSError:
        return None
    return path


def _format_exports(exports: dict[str, str]) -> list[str]:
    return [f"export {name}={value}" for name, value in exports.items()]


def _print_access(links: dict[str, str], exports: dict[str, str], written: Path | None) -> None:
    print_line("\nDemo: sign in with one of these links, each once (every start makes new ones):")
    for login, role in ((INSTRUCTOR, "instructor"), (ASSISTANT, "assistant"), (STUDENT, "student")):
        if login in links:
            print_line(f"  {login:5}  {role:10}  {links[login]}")
    print_line("\nTo call the API, paste this into another terminal:")
    for line in _format_exports(exports):
        print_line(f"  {line}")
    if written is not None:
        print_line(f"or: . {written}")
    print_line()
