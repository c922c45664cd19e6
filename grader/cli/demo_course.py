"""The demo course of `grader serve --demo`: add it once, print ways in, fill it meanwhile."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from grader.accounts.sign_in import make_sign_in_link
from grader.accounts.tokens import make_personal_token
from grader.cli.console import console, print_line
from grader.cli.database import OPERATOR
from grader.demo.fill import ProgressCallback, fill_demo, open_demo
from grader.demo.people import ASSISTANT, INSTRUCTOR, NAMES, RUN_ID, STUDENT
from grader.domain.roles import ALL_SCOPES, STUDENT_SCOPES, Scope
from grader.settings import Settings
from grader.store.database import Session
from grader.store.queries.courses import find_run
from grader.store.queries.fills import find_fill
from grader.store.queries.people import PersonLine, find_people
from grader.web.service import Service

_TOKEN_DAYS = 30
#: Between two steps of filling. Commands in another terminal write in this time: on SQLite they ask
#: now and then, and would never find the database free without it.
_PAUSE_SECONDS = 0.025

#: Tokens: the environment variable, the owner and the scopes.
_TOKENS: tuple[tuple[str, str, frozenset[Scope]], ...] = (
    ("KEYSET_STUDENT", STUDENT, STUDENT_SCOPES),
    ("KEYSET_INSTRUCTOR", INSTRUCTOR, ALL_SCOPES),
)


def prepare_demo(service: Service, settings: Settings, *, students: int = len(NAMES)) -> None:
    """Add the demo course if it does not exist, and print new sign-in links and tokens.

    What its students and staff did is added by `filling_demo`.
    """
    with service.database.read() as session:
        exists = find_run(session, run_id=RUN_ID) is not None
    now = service.clock()
    if not exists:
        print_line(f"Adding the demo course with {students} students …")
        with service.database.write() as session:
            open_demo(session, service.context, now=now, students=students)
    with service.database.write() as session:
        people = find_people(session, logins=[INSTRUCTOR, ASSISTANT, STUDENT])
        links = {
            login: f"{service.base_url}/sign-in/"
            + make_sign_in_link(session, each, at=now, by=OPERATOR)
            for login, each in people.items()
        }
        exports = _make_exports(session, people, service.base_url, now)
    _print_access(links, exports, _write_exports(settings.data_folder / "demo.env", exports))


@contextmanager
def filling_demo(service: Service) -> Iterator[None]:
    """Add what the students and staff of the demo did, in a thread, as far as it is missing.

    At the end the thread is stopped after the step that it is at; the next start goes on there.
    """
    ending = threading.Event()

    def pause() -> bool:
        return ending.wait(_PAUSE_SECONDS)

    thread = threading.Thread(target=_fill, args=(service, pause), name="demo", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def _fill(service: Service, should_stop: Callable[[], bool]) -> None:
    """Fill the demo course; show a progress bar on a terminal and lines elsewhere."""
    with service.database.read() as session:
        fill = find_fill(session, run_id=RUN_ID)
    if fill is None:
        return
    if not console.is_terminal:
        print_line("Adding the students' answers while the service runs …")
    try:
        with _show_progress() as show:
            is_full = fill_demo(
                service.writer.run_now,
                service.context,
                clock=service.clock,
                should_stop=should_stop,
                progress=show,
            )
    except Exception as error:
        # The service goes on without them, and the pages say that they are missing.
        service.logs.error("demo_not_filled", error=error)
        print_line("The demo course could not be filled. The next start tries again.")
        return
    if is_full:
        print_line("The demo course is complete.")
    else:
        print_line("The demo course is not complete. The next start goes on with it.")


@contextmanager
def _show_progress() -> Iterator[ProgressCallback]:
    is_terminal = console.is_terminal
    bar = Progress(
        TextColumn("Adding the students' answers"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not is_terminal,
        # A log that goes to a file goes on to do so.
        redirect_stderr=is_terminal and sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task("", total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


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
