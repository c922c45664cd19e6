"""What only the operator of the machine looks at: the tokens of everybody."""

from __future__ import annotations

from dataclasses import fields, replace

from sqlalchemy import select

from grader.store.database import Session
from grader.store.lines import as_line
from grader.store.queries.tokens import TokenLine
from grader.store.tables import Person, Token


def list_all_tokens(session: Session) -> list[tuple[TokenLine, str]]:
    """All tokens, the newest first, each with its owner: a login, or a course run."""
    columns = [getattr(Token, field.name) for field in fields(TokenLine)]
    statement = (
        select(*columns, Person.login)
        .outerjoin(Person, Person.id == Token.person_id)
        .order_by(Token.made_at.desc(), Token.id.desc())
    )
    found = []
    for row in session.execute(statement):
        *values, login = row
        line = as_line(TokenLine, values)
        found.append((replace(line, scopes=tuple(line.scopes)), login or line.run_id or ""))
    return found
