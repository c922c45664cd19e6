"""The members of the demo course; their names are in names.txt."""

from __future__ import annotations

from importlib import resources

from grader.accounts.roster_files import Roster, RosterLine
from grader.domain.roles import Role

RUN_ID = "demo"

#: The logins for which the demo makes sign-in links.
INSTRUCTOR, ASSISTANT, STUDENT = "grace", "alan", "ada"

_NAMED = (
    (INSTRUCTOR, "Grace Hopper", Role.INSTRUCTOR, ""),
    (ASSISTANT, "Alan Turing", Role.ASSISTANT, ""),
    (STUDENT, "Ada Lovelace", Role.STUDENT, "A"),
)

NAMES = tuple(resources.files("grader.demo").joinpath("names.txt").read_text("utf-8").splitlines())


def make_login(number: int) -> str:
    """Return the login of a made-up student; numbers start at zero."""
    return f"s{number + 1:03}"


def make_roster(students: int) -> Roster:
    """Make a roster of the staff, Ada and this number of students, in two sections."""
    lines = [
        RosterLine(number, login, name, f"{login}@example.edu", role, section)
        for number, (login, name, role, section) in enumerate(_NAMED, start=2)
    ]
    for number, name in enumerate(NAMES[:students]):
        login, section = make_login(number), "AB"[number % 2]
        lines.append(
            RosterLine(len(lines) + 2, login, name, f"{login}@example.edu", Role.STUDENT, section)
        )
    return Roster(tuple(lines))
