"""`grader token`: tokens for programs, of a person or of a service in one course run."""

from __future__ import annotations

from typing import Annotated

import typer

from grader.accounts.callers import Caller, Membership
from grader.accounts.people import get_by_login
from grader.accounts.tokens import (
    MAX_DAYS,
    NewToken,
    make_personal_token,
    make_service_token,
    revoke_service_token,
)
from grader.cli.console import Command, JsonOption, print_json
from grader.cli.database import (
    OPERATOR,
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
from grader.domain.roles import ALL_SCOPES, STUDENT_SCOPES, Role, Scope
from grader.errors import OperatorError
from grader.store.database import Session
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.credentials import TokenLine, list_all_tokens, revoke_token

EXAMPLES = """\
[bold]Examples[/]
  grader token add ada --label "my notebook"
  grader token add --course attention-2026 --label dashboard --scope grades:read
  TOKEN=$(grader token add ada --label curl --quiet)
  grader token list
  grader token revoke tok_01k9…

A token is shown once. It never gives more than its owner may.
"""

app = make_typer(
    help="Tokens for programs: add, list and revoke them.", no_args_is_help=True, epilog=EXAMPLES
)


@app.command("add", cls=Command)
def add(
    login: Annotated[
        str | None, typer.Argument(metavar="LOGIN", help="Whose token; or --course.")
    ] = None,
    label: Annotated[
        str, typer.Option(metavar="LABEL", help="What it is for.", callback=check_line)
    ] = "command line",
    course: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="A token of a service in this course run instead."),
    ] = None,
    scope: Annotated[
        list[Scope] | None,
        typer.Option(metavar="SCOPE", help=f"What it may do, again for more: {', '.join(Scope)}."),
    ] = None,
    days: Annotated[
        int, typer.Option(min=1, max=MAX_DAYS, metavar="N", help="How long it lasts.")
    ] = 180,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", metavar="", help="Print the token and nothing else.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Add a token and print it, this once."""
    if (login is None) == (course is None):
        raise OperatorError("Name a person's login, or a course run by --course.")
    with open_to_write() as database, database.write() as session:
        if course is not None:
            token = _add_for_service(session, course, label, scope, days)
        else:
            token = make_personal_token(
                session, get_by_login(session, login=login or ""), label=label,
                scopes=scope or STUDENT_SCOPES, days=days, at=read_clock(), by=OPERATOR,
            )  # fmt: skip
    if as_json:
        print_json({**_as_data(token.line, login or course or ""), "token": token.secret})
        return
    typer.echo(token.secret)
    if not quiet:
        scopes = ", ".join(token.line.scopes)
        until = format_time(token.line.expires_at)
        typer.echo(
            f"{token.line.id} for {scopes}, until {until} UTC. Keep it: ", err=True, nl=False
        )
        typer.echo("it is not shown again.", err=True)


def _add_for_service(
    session: Session, course: str, label: str, scope: list[Scope] | None, days: int
) -> NewToken:
    if not scope:
        raise OperatorError("Say what the service may do, such as --scope grades:read.")
    membership = _get_membership(session, course)
    return make_service_token(
        session, membership, label=label, scopes=scope, days=days, at=read_clock()
    )


@app.command("list", cls=Command)
def list_all(
    everything: Annotated[
        bool, typer.Option("--all", metavar="", help="Also those that hold no longer.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List tokens with their owners; the tokens themselves are not kept."""
    with open_to_read() as database, database.read() as session:
        tokens = [each for each in list_all_tokens(session) if everything or _is_valid(each[0])]
    if as_json:
        print_json([_as_data(token, owner) for token, owner in tokens])
    elif tokens:
        rows = [
            [
                token.id,
                owner,
                token.label,
                f"{token.expires_at:%Y-%m-%d}" if _is_valid(token) else "ended",
                ", ".join(token.scopes),
            ]
            for token, owner in tokens
        ]
        print_table(["id", "of", "label", "until", "scopes"], rows)
    else:
        print_line("There are no tokens.")


@app.command("revoke", cls=Command)
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, tok_…")],
) -> None:
    """Revoke a token at once."""
    with open_to_write() as database, database.write() as session:
        found = {line.id: line for line, _ in list_all_tokens(session)}.get(token_id)
        if found is None:
            raise OperatorError(f"There is no token {token_id!r}; `grader token list` lists them.")
        if found.run_id is not None:
            membership = _get_membership(session, found.run_id)
            revoke_service_token(session, membership, token_id=token_id, at=read_clock())
        else:
            revoke_token(session, token_id=token_id, person_id=found.person_id, at=read_clock())
            add_audit_entry(
                session, at=read_clock(), by=OPERATOR, action="token.revoked", subject=token_id
            )
    print_line(f"{token_id} is revoked.")


def _get_membership(session: Session, run_id: str) -> Membership:
    """The place of whoever has the machine: everything may be done from it."""
    return Membership(Caller(OPERATOR, ALL_SCOPES), get_run(session, run_id), Role.INSTRUCTOR, None)


def _is_valid(token: TokenLine) -> bool:
    return token.revoked_at is None and token.expires_at > read_clock()


def _as_data(token: TokenLine, owner: str) -> dict[str, object]:
    return {
        "id": token.id,
        "owner": owner,
        "course": token.run_id,
        "label": token.label,
        "hint": token.hint,
        "scopes": list(token.scopes),
        "made_at": token.made_at.isoformat(timespec="seconds"),
        "expires_at": token.expires_at.isoformat(timespec="seconds"),
        "revoked_at": token.revoked_at.isoformat(timespec="seconds") if token.revoked_at else None,
        "used_at": token.used_at.isoformat(timespec="seconds") if token.used_at else None,
    }
