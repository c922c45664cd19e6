"""`grader user`: accounts of people, and how they get in."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from grader.accounts.people import change_person, end_account, get_by_login, make_person
from grader.accounts.sign_in import LINK_LIFETIME, make_sign_in_link, set_password
from grader.cli.console import Command, JsonOption, print_json
from grader.cli.database import (
    OPERATOR,
    LoginArgument,
    YesOption,
    build_base_url,
    format_time,
    open_to_read,
    open_to_write,
    print_line,
    print_table,
    read_clock,
)
from grader.cli.main import make_typer
from grader.errors import OperatorError
from grader.settings import load_settings
from grader.store.queries.people import PersonLine, list_people

EXAMPLES = """\
[bold]Examples[/]
  grader user add ada --name "Ada Lovelace" --email ada@example.edu
  grader user link ada                    a link that signs Ada in, once
  grader user add grace --name "Grace Hopper" --operator
  grader user password grace
  grader user list --json
"""

app = make_typer(
    help="Accounts of people: add, list, change and end them, and let them in.",
    no_args_is_help=True,
    epilog=EXAMPLES,
)

NameOption = Annotated[str, typer.Option(metavar="NAME", help="The name that others see.")]
EmailOption = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Where the person gets mail.")
]


@app.command("add", cls=Command)
def add(
    login: LoginArgument,
    name: NameOption,
    email: EmailOption = None,
    operator: Annotated[
        bool, typer.Option("--operator", metavar="", help="May do everything everywhere.")
    ] = False,
    password_stdin: Annotated[
        bool,
        typer.Option(
            "--password-stdin", metavar="", help="Read a password, one line of standard input."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Add an account; `grader user link` then lets the person in."""
    password = _read_password() if password_stdin else None
    with open_to_write() as database, database.write() as session:
        person = make_person(
            session, login=login, name=name, email=email, is_operator=operator, at=read_clock(),
            by=OPERATOR,
        )  # fmt: skip
        if password is not None:
            set_password(session, person, password, at=read_clock(), by=OPERATOR)
    if as_json:
        print_json(_as_data(person))
    else:
        print_line(f"{person.login} is added.")


@app.command("list", cls=Command)
def list_all(as_json: JsonOption = False) -> None:
    """List all accounts that have not ended."""
    with open_to_read() as database, database.read() as session:
        people = list_people(session)
    if as_json:
        print_json([_as_data(each) for each in people])
    elif people:
        rows = [
            [each.login, each.name, each.email or "", "operator" if each.is_operator else ""]
            for each in people
        ]
        print_table(["login", "name", "email", ""], rows)
    else:
        print_line("There is nobody yet; `grader user add` adds somebody.")


@app.command("change", cls=Command)
def change(
    login: LoginArgument,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Another name.")] = None,
    email: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Another address; empty takes it away.")
    ] = None,
    operator: Annotated[
        bool | None,
        typer.Option("--operator/--no-operator", help="Whether the person may do everything."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Change a name or an address, or who operates the service."""
    if name is None and email is None and operator is None:
        raise OperatorError("Say what changes: --name, --email, --operator or --no-operator.")
    with open_to_write() as database, database.write() as session:
        person = change_person(
            session, get_by_login(session, login=login), name=name, email=email,
            is_operator=operator, at=read_clock(), by=OPERATOR,
        )  # fmt: skip
    if as_json:
        print_json(_as_data(person))
    else:
        print_line(f"{person.login} is changed.")


@app.command("link", cls=Command)
def print_link(
    login: LoginArgument,
    address: Annotated[
        str | None,
        typer.Option(
            "--base-url",
            metavar="URL",
            help="How browsers reach the service; else GRADER_BASE_URL.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print a link that signs a person in once; it lasts for a week."""
    base = address.rstrip("/") if address else build_base_url(load_settings())
    moment = read_clock()
    with open_to_write() as database, database.write() as session:
        person = get_by_login(session, login=login)
        code = make_sign_in_link(session, person, at=moment, by=OPERATOR)
    url = f"{base}/sign-in/{code}"
    if as_json:
        expires_at = (moment + LINK_LIFETIME).isoformat(timespec="seconds")
        print_json({"login": person.login, "url": url, "expires_at": expires_at})
    else:
        typer.echo(url)
        typer.echo(f"It works once, until {format_time(moment + LINK_LIFETIME)} UTC.", err=True)


@app.command("password", cls=Command)
def update_password(
    login: LoginArgument,
    password_stdin: Annotated[
        bool,
        typer.Option("--password-stdin", metavar="", help="Read it from standard input, one line."),
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", metavar="", help="Take the password away.")
    ] = False,
) -> None:
    """Set a person's password; it is asked for twice."""
    if remove and password_stdin:
        raise OperatorError("Either --remove or --password-stdin, not both.")
    with open_to_write() as database:
        with database.read() as session:
            get_by_login(session, login=login)
        # Nobody else should have to wait while the password is typed.
        chosen = None if remove else _read_password() if password_stdin else _ask_password()
        with database.write() as session:
            person = get_by_login(session, login=login)
            set_password(session, person, chosen, at=read_clock(), by=OPERATOR)
    print_line(f"{person.login} has {'no password any more' if remove else 'a new password'}.")


@app.command("end", cls=Command)
def end(login: LoginArgument, yes: YesOption = False) -> None:
    """End an account with all its sessions, tokens and links; what the person did stays."""
    with open_to_write() as database:
        with database.read() as session:
            person = get_by_login(session, login=login)
        if not yes:
            question = f"End the account of {person.name} ({person.login}) for good?"
            typer.confirm(question, abort=True, err=True)
        with database.write() as session:
            end_account(session, person, at=read_clock(), by=OPERATOR)
    print_line(f"{person.login} has ended.")


def _read_password() -> str:
    return sys.stdin.readline().rstrip("\r\n")


def _ask_password() -> str:
    return str(
        typer.prompt("Password", hide_input=True, confirmation_prompt="The same again", err=True)
    )


def _as_data(person: PersonLine) -> dict[str, object]:
    return {
        "id": person.id,
        "login": person.login,
        "name": person.name,
        "email": person.email,
        "is_operator": person.is_operator,
    }
