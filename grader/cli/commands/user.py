"""`grader user`: accounts, their passwords and sign-in links."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from grader.accounts.people import change_person, end_account, get_by_login, make_person
from grader.accounts.sign_in import LINK_LIFETIME, hash_password, make_sign_in_link, set_password
from grader.cli.console import (
    Command,
    JsonOption,
    YesOption,
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
    build_base_url,
    open_to_read,
    open_to_write,
    read_clock,
)
from grader.errors import OperatorError
from grader.settings import load_settings
from grader.store.queries.people import PersonLine, list_people

EXAMPLES = """\
[bold]Examples[/]
  grader user add ada --name "Ada Lovelace" --email ada@example.edu
  grader user link ada                    a link with which Ada signs in, once
  grader user add grace --name "Grace Hopper" --operator
  grader user password grace
  grader user list --json
"""

app = make_typer(no_args_is_help=True)

NameOption = Annotated[str, typer.Option(metavar="NAME", help="The name that others see.")]
EmailOption = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="The person's email address.")
]


@app.command("add", cls=Command)
def add(
    login: LoginArgument,
    name: NameOption,
    email: EmailOption = None,
    operator: Annotated[
        bool,
        typer.Option(
            "--operator",
            metavar="",
            help="Make the person an operator, who may do everything in every course.",
        ),
    ] = False,
    password_stdin: Annotated[
        bool,
        typer.Option(
            "--password-stdin", metavar="", help="Read a password from one line of standard input."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Add an account; `grader user link` then prints a sign-in link."""
    with open_to_write() as database:
        # The hash must not hold the database's write lock.
        hashed = hash_password(_read_password()) if password_stdin else None
        with database.write() as session:
            person = make_person(
                session, login=login, name=name, email=email, is_operator=operator,
                at=read_clock(), by=OPERATOR,
            )  # fmt: skip
            if hashed is not None:
                set_password(session, person, hashed, at=read_clock(), by=OPERATOR)
    if as_json:
        print_json(_as_data(person))
    else:
        print_line(f"Added {person.login}.")


@app.command("list", cls=Command)
def list_all(as_json: JsonOption = False) -> None:
    """List all open accounts."""
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
        print_line("There are no accounts yet. Add one with `grader user add`.")


@app.command("change", cls=Command)
def change(
    login: LoginArgument,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="The new name.")] = None,
    email: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The new email address; an empty one removes it."),
    ] = None,
    operator: Annotated[
        bool | None,
        typer.Option("--operator/--no-operator", help="Whether the person is an operator."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Change a person's name or address, or make them an operator."""
    if name is None and email is None and operator is None:
        raise OperatorError("Nothing to change; use --name, --email, --operator or --no-operator.")
    with open_to_write() as database, database.write() as session:
        person = change_person(
            session, get_by_login(session, login=login), name=name, email=email,
            is_operator=operator, at=read_clock(), by=OPERATOR,
        )  # fmt: skip
    if as_json:
        print_json(_as_data(person))
    else:
        print_line(f"Changed {person.login}.")


@app.command("link", cls=Command)
def print_link(
    login: LoginArgument,
    address: Annotated[
        str | None,
        typer.Option(
            "--base-url",
            metavar="URL",
            help="The URL of the service; by default GRADER_BASE_URL.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print a sign-in link, which works once and lasts for a week."""
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
        typer.echo(
            f"The link works once, until {format_time(moment + LINK_LIFETIME)} UTC.", err=True
        )


@app.command("password", cls=Command)
def update_password(
    login: LoginArgument,
    password_stdin: Annotated[
        bool,
        typer.Option(
            "--password-stdin",
            metavar="",
            help="Read the password from one line of standard input.",
        ),
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", metavar="", help="Remove the password.")
    ] = False,
) -> None:
    """Set a person's password and sign them out everywhere; the command prompts for it twice."""
    if remove and password_stdin:
        raise OperatorError("Use either --remove or --password-stdin, not both.")
    with open_to_write() as database:
        with database.read() as session:
            get_by_login(session, login=login)
        # Neither the prompt nor the hash may hold the database's write lock.
        hashed = None
        if not remove:
            hashed = hash_password(_read_password() if password_stdin else _ask_password())
        with database.write() as session:
            person = get_by_login(session, login=login)
            set_password(session, person, hashed, at=read_clock(), by=OPERATOR)
    print_line(f"{'Removed' if remove else 'Set'} the password of {person.login}.")


@app.command("end", cls=Command)
def end(login: LoginArgument, yes: YesOption = False) -> None:
    """Close an account and end its sessions, tokens and links; attempts and grades are kept."""
    with open_to_write() as database:
        with database.read() as session:
            person = get_by_login(session, login=login)
        if not yes:
            question = f"Close the account of {person.name} ({person.login}) permanently?"
            typer.confirm(question, abort=True, err=True)
        with database.write() as session:
            end_account(session, person, at=read_clock(), by=OPERATOR)
    print_line(f"Closed the account {person.login}.")


def _read_password() -> str:
    return sys.stdin.readline().rstrip("\r\n")


def _ask_password() -> str:
    return str(
        typer.prompt(
            "Password", hide_input=True, confirmation_prompt="Repeat the password", err=True
        )
    )


def _as_data(person: PersonLine) -> dict[str, object]:
    return select_fields(person, "id", "login", "name", "email", "is_operator")
