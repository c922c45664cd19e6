"""A store to be fuzzed: a course run with everything published, and somebody of every role."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from grader.accounts.callers import TOKEN_PREFIX, hash_secret
from grader.accounts.courses import make_run
from grader.accounts.people import make_person
from grader.accounts.rosters import enrol
from grader.accounts.sign_in import make_csrf_token
from grader.cli.database import read_clock
from grader.cli.server import open_grading_context
from grader.domain.roles import ALL_SCOPES, Role
from grader.grading.publishing.publish import publish
from grader.rubric.catalog import CompiledAssignment, get_shipped_folder, read_assignment
from grader.store.database import Database, Session
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.courses import get_run
from grader.store.queries.credentials import TokenLine, add_browser_session, add_tokens
from grader.store.queries.facts import RecordedTable
from grader.store.queries.people import PersonLine
from grader.store.rows import make_id

RUN: Final = "fuzz"
#: Each role has a few people, so that nothing becomes too large, and a cost can be measured again.
PEOPLE: Final[Mapping[str, Role | None]] = {
    **{f"student-{number}": Role.STUDENT for number in range(40)},
    **{f"assistant-{number}": Role.ASSISTANT for number in range(4)},
    **{f"instructor-{number}": Role.INSTRUCTOR for number in range(4)},
    "operator-0": None,
}
#: Those who are removed, changed and written to; no request comes from them.
SPARE: Final = tuple(f"spare-{number}" for number in range(20))
_MOST_ATTEMPTS: Final = 1000
_DAYS: Final = 300


@dataclass(frozen=True, slots=True)
class Credentials:
    """What somebody's requests bring; the same in every run, so that requests can be replayed."""

    token: str
    session: str

    @classmethod
    def of(cls, who: str) -> Credentials:
        """Those of a person of `PEOPLE`."""
        digest = hashlib.sha256(f"fuzz {who}".encode()).hexdigest()
        return cls(TOKEN_PREFIX + digest, digest)

    @property
    def csrf(self) -> str:
        """The token of this person's forms."""
        return make_csrf_token(self.session)


def fill_store(database: Database) -> None:
    """Make the course run, its people and their credentials."""
    at, context = read_clock(), open_grading_context(database)
    with database.write() as session:
        run = make_run(
            session, course_id=RUN, run_id=RUN, title="Fuzzed", time_zone="Europe/Warsaw", at=at,
            by="fuzz",
        )  # fmt: skip
        for assignment in _read_assignments():
            publish(
                session, context, run=run, assignment=assignment, opens_at=None,
                due_at=at + timedelta(days=_DAYS), note="", at=at, by="fuzz",
            )  # fmt: skip
        for who, role in {**PEOPLE, **dict.fromkeys(SPARE, Role.STUDENT)}.items():
            person = make_person(
                session, login=who, name=who.title(), email=f"{who}@people.example",
                is_operator=role is None, at=at, by="fuzz",
            )  # fmt: skip
            if role is not None:
                enrol(session, run, person, role=role, section="A", at=at, by="fuzz")
            if who in PEOPLE:
                _add_credentials(session, who, person)


def _add_credentials(session: Session, who: str, person: PersonLine) -> None:
    at, own = read_clock(), Credentials.of(who)
    expires_at = at + timedelta(days=_DAYS)
    token = TokenLine(
        id=make_id("tok"), hint="fuzz", label="fuzz", person_id=person.id, run_id=None,
        scopes=tuple(each.value for each in ALL_SCOPES), made_at=at, expires_at=expires_at,
        revoked_at=None, used_at=None,
    )  # fmt: skip
    add_tokens(session, [(token, hash_secret(own.token))], by="fuzz")
    add_audit_entry(
        session, at=at, by="fuzz", action="token.made", subject=token.id,
        changed={RecordedTable.TOKENS: [token.id]},
    )  # fmt: skip
    add_browser_session(
        session, digest=hash_secret(own.session), person_id=person.id, at=at, expires_at=expires_at
    )


def restore_roles(database: Database, people: Mapping[str, PersonLine]) -> None:
    """Enrol again whom a request has removed, with the role that everybody had."""
    with database.write() as session:
        run = get_run(session, run_id=RUN)
        for who, person in people.items():
            role = PEOPLE[who]
            if role is not None:
                enrol(session, run, person, role=role, at=read_clock(), by="fuzz")


def _read_assignments() -> list[CompiledAssignment]:
    """The shipped assignments without their limits of attempts."""
    found = []
    for folder in sorted(path.parent for path in get_shipped_folder().glob("*/assignment.yaml")):
        form = (folder / "assignment.yaml").read_text(encoding="utf-8")
        form = re.sub(r"(?m)^(exceptions|attempts): .*$", "", form)
        form += f"\nattempts: {{most: {_MOST_ATTEMPTS}, counted: best}}\n"
        files = sorted(path for path in folder.glob("*.yaml") if path.stem != "assignment")
        texts = {path.stem: path.read_text(encoding="utf-8") for path in files}
        found.append(read_assignment(folder.name, form, texts))
    return found
