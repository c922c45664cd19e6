"""`grader token`: API tokens of a person, or of a service in one course run."""

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
from grader.cli.console import (
    Command,
    JsonOption,
    check_line,
    format_time,
    make_typer,
    print_json,
    print_line,
    print_table,
    select_fields,
)
from grader.cli.database import OPERATOR, get_run, open_to_read, open_to_write, read_clock
from grader.domain.roles import ALL_SCOPES, STUDENT_SCOPES, Role, Scope
from grader.errors import OperatorError
from grader.store.database import Session
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.credentials import TokenLine, list_all_tokens, revoke_token
from grader.store.queries.facts import RecordedTable

EXAMPLES = """\
[bold]Examples[/]
  grader token add ada --label "my notebook"
  grader token add --course attention-2026 --label dashboard --scope grades:read
  TOKEN=$(grader token add ada --label curl --quiet)
  grader token list
  grader token revoke tok_01k9…

A token is shown only once. It never allows more than its owner may do.
"""

app = make_typer(no_args_is_help=True)


@app.command("add", cls=Command)
def add(
    login: Annotated[
        str | None,
        typer.Argument(metavar="LOGIN", help="The owner's login, unless --course is given."),
    ] = None,
    label: Annotated[
        str, typer.Option(metavar="LABEL", help="What the token is for.", callback=check_line)
    ] = "command line",
    course: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Make a service token for this course run instead."),
    ] = None,
    scope: Annotated[
        list[Scope] | None,
        typer.Option(
            metavar="SCOPE", help=f"What the token allows; may be repeated: {', '.join(Scope)}."
        ),
    ] = None,
    days: Annotated[
        int,
        typer.Option(min=1, max=MAX_DAYS, metavar="N", help="The number of days until it expires."),
    ] = 180,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", metavar="", help="Print only the token.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Add a token and print it; it cannot be shown again."""
    if (login is None) == (course is None):
        raise OperatorError("Give either a person's login or --course RUN.")
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
        typer.echo(f"{token.line.id} allows {scopes} until {until} UTC.", err=True)
        typer.echo("Save the token now; it is not shown again.", err=True)


def _add_for_service(
    session: Session, course: str, label: str, scope: list[Scope] | None, days: int
) -> NewToken:
    if not scope:
        raise OperatorError("A service token needs a scope, such as --scope grades:read.")
    membership = _get_membership(session, course)
    return make_service_token(
        session, membership, label=label, scopes=scope, days=days, at=read_clock()
    )


@app.command("list", cls=Command)
def list_all(
    everything: Annotated[
        bool, typer.Option("--all", metavar="", help="Include revoked and expired tokens.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List tokens with their owners; the secrets are not stored."""
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
        print_table(["id", "owner", "label", "expires", "scopes"], rows)
    else:
        print_line("There are no tokens.")


@app.command("revoke", cls=Command)
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, tok_…")],
) -> None:
    """Revoke a token immediately."""
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
                session, at=read_clock(), by=OPERATOR, action="token.revoked", subject=token_id,
                changed={RecordedTable.TOKENS: [token_id]},
            )  # fmt: skip
    print_line(f"Revoked {token_id}.")


def _get_membership(session: Session, run_id: str) -> Membership:
    """Return the membership of the operator, who may do everything in a course run."""
    return Membership(Caller(OPERATOR, ALL_SCOPES), get_run(session, run_id), Role.INSTRUCTOR, None)


def _is_valid(token: TokenLine) -> bool:
    return token.revoked_at is None and token.expires_at > read_clock()


def _as_data(token: TokenLine, owner: str) -> dict[str, object]:
    return {
        "id": token.id,
        "owner": owner,
        "course": token.run_id,
        **select_fields(token, "label", "hint", "scopes"),
        **select_fields(token, "made_at", "expires_at", "revoked_at", "used_at"),
    }
