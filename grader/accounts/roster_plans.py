"""What a roster would change in a course run, before anything is changed.

What a roster may do, whoever brings it:

- Nobody is removed. Those who are missing on a complete roster leave, students only; their work
  stays, and they come back by standing on a roster again.
- A login that is known is enrolled; nobody is there twice.
- The name and the address of an account are changed only if the person takes part in no other
  course run and does not operate the service. Others keep theirs, and the plan says so.
- Roles are given by instructors, and none above their own. A service enrols students only. Only
  an operator gives a role to an account that operates the service, and nobody gives up the role by
  which they change rosters.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

import orjson

from grader.accounts.callers import Membership
from grader.accounts.people import list_taken_logins
from grader.accounts.roster_files import Roster, RosterLine, make_cell_error, make_roster_error
from grader.domain.roles import Role, Scope
from grader.errors import ErrorDetail
from grader.store.database import Session
from grader.store.queries.courses import MemberLine, RunLine, list_members
from grader.store.queries.rosters import AccountLine, find_accounts


class RosterChangeKind(StrEnum):
    """What happens to one person."""

    NEW = "new"
    """An account is made and enrolled."""
    ENROLLED = "enrolled"
    """An account that is there already is enrolled."""
    RETURNING = "returning"
    """Somebody who had left comes back."""
    CHANGED = "changed"
    """Role, section, name or address change."""
    UNCHANGED = "unchanged"
    """Everything is so already."""
    LEAVING = "leaving"
    """A student who is missing on a complete roster leaves."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that changes about somebody."""

    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RosterChange:
    """What happens to one person, as it will be afterwards."""

    kind: RosterChangeKind
    login: str
    name: str
    email: str | None
    role: Role
    section: str
    differences: tuple[Difference, ...] = ()
    kept: tuple[str, ...] = ()
    """What the roster says otherwise and what stays, because the account is not only of here."""
    person_id: str | None = None
    enrolment_id: str | None = None
    line: int | None = None

    def changes(self, field: str) -> bool:
        """Whether something is otherwise afterwards."""
        return any(each.field == field for each in self.differences)


@dataclass(frozen=True, slots=True)
class RosterPlan:
    """What a roster would change; those who leave come last."""

    roster: Roster
    is_complete: bool
    changes: tuple[RosterChange, ...]

    def of(self, *kinds: RosterChangeKind) -> list[RosterChange]:
        """Those to whom this happens."""
        return [each for each in self.changes if each.kind in kinds]

    @property
    def counts(self) -> dict[RosterChangeKind, int]:
        """To how many each thing happens."""
        return {kind: len(self.of(kind)) for kind in RosterChangeKind}

    @property
    def is_idle(self) -> bool:
        """Whether nothing would change."""
        return len(self.of(RosterChangeKind.UNCHANGED)) == len(self.changes)

    @property
    def digest(self) -> str:
        """The hash of all changes: two plans that differ in anything have different ones."""
        return hashlib.sha256(orjson.dumps(self.changes)).hexdigest()


def plan_roster(
    session: Session, where: Membership | RunLine, roster: Roster, *, is_complete: bool
) -> RosterPlan:
    """What a roster would change in a course run; nothing is changed yet.

    Parameters
    ----------
    where
        A caller's place in the run; the run itself for the operator of the machine.
    is_complete
        Whether students who are not on it leave.

    Raises
    ------
    MissingRole, MissingScope
        Where the caller may not change rosters.
    MalformedRequest
        With every line that cannot be done.
    """
    run = check_roster_access(where)
    logins = [line.login for line in roster.lines]
    accounts = find_accounts(session, run_id=run.id, logins=logins)
    _refuse_lines(where, roster, accounts, _misspelt(session, roster, accounts))
    changes = [_plan_line(line, accounts.get(line.login)) for line in roster.lines]
    if is_complete:
        staying = set(logins)
        members = list_members(session, run_id=run.id, role=Role.STUDENT)
        changes += [_leaving(each) for each in members if each.login not in staying]
    return RosterPlan(roster, is_complete, tuple(changes))


def check_roster_access(where: Membership | RunLine) -> RunLine:
    """The course run, for somebody who may change who takes part."""
    if isinstance(where, RunLine):
        return where
    where.need(Role.INSTRUCTOR)
    where.caller.need(Scope.ROSTER)
    return where.run


# What cannot be done


def _misspelt(session: Session, roster: Roster, accounts: dict[str, AccountLine]) -> dict[str, str]:
    """New logins that differ from a known one only in capital letters, with the known one."""
    new = [line.login for line in roster.lines if line.login not in accounts]
    if not new:
        return {}
    taken = list_taken_logins(session)
    return {login: taken[login.casefold()] for login in new if login.casefold() in taken}


def _refuse_lines(
    where: Membership | RunLine,
    roster: Roster,
    accounts: dict[str, AccountLine],
    misspelt: dict[str, str],
) -> None:
    faults = []
    for line in roster.lines:
        fault = _fault_of(where, line, accounts.get(line.login))
        if line.login in misspelt:
            problem = f"{line.login} is not known, but {misspelt[line.login]} is; write it so."
            fault = make_cell_error(line.line, "login", "login.spelling", problem)
        if fault is not None:
            faults.append(fault)
    if faults:
        raise make_roster_error(faults)


def _fault_of(
    where: Membership | RunLine, line: RosterLine, account: AccountLine | None
) -> ErrorDetail | None:
    """Why a line cannot be done, if so."""
    if account is not None and account.is_ended:
        problem = f"The account {line.login} has ended; only an operator can help."
        return make_cell_error(line.line, "login", "login.ended", problem)
    # The operator of the machine, and operators who call, may do all the rest.
    if isinstance(where, RunLine) or where.caller.is_operator:
        return None
    if account is not None and account.person.is_operator and _changes_membership(line, account):
        problem = f"{line.login} operates the service; only an operator changes its role."
        return make_cell_error(line.line, "login", "login.operator", problem)
    if (
        where.caller.person is None
        and _changes_membership(line, account)
        and _is_about_staff(line, account)
    ):
        problem = "A service enrols students only; other roles are given by a person."
        return make_cell_error(line.line, "role", "role.service", problem)
    is_own = account is not None and account.person.id == where.caller.id
    if is_own and line.role not in (None, where.role):
        problem = "You cannot give up your own role by a roster."
        return make_cell_error(line.line, "role", "role.own", problem)
    return None


def _changes_membership(line: RosterLine, account: AccountLine | None) -> bool:
    """Whether somebody's place would be another one afterwards."""
    place = account.enrolment if account else None
    if place is None or (account is not None and account.has_left):
        return True
    return line.role not in (None, place.role)


def _is_about_staff(line: RosterLine, account: AccountLine | None) -> bool:
    """Whether a role above the student's is given or taken."""
    place = account.enrolment if account else None
    roles = {line.role, place.role if place else None}
    return not roles <= {None, Role.STUDENT}


# What happens to each

_ACCOUNT_FIELDS = ("name", "email")


def _plan_line(line: RosterLine, account: AccountLine | None) -> RosterChange:
    if account is None:
        return RosterChange(
            RosterChangeKind.NEW, line.login, line.name, line.email, line.role or Role.STUDENT,
            line.section or "", line=line.line,
        )  # fmt: skip
    before = _current_values(account)
    after = _wanted_values(line, account, before)
    kept: tuple[str, ...] = ()
    if not _may_rename(account):
        kept = tuple(field for field in _ACCOUNT_FIELDS if after[field] != before[field])
        after |= {field: before[field] for field in kept}
    place = account.enrolment
    differences = [
        Difference(field, before[field], after[field])
        for field in before
        if place and after[field] != before[field]
    ]
    return RosterChange(
        _kind(account, differences), line.login, after["name"], after["email"] or None,
        Role(after["role"]), after["section"], tuple(differences), kept, account.person.id,
        place.id if place else None, line.line,
    )  # fmt: skip


def _current_values(account: AccountLine) -> dict[str, str]:
    person, place = account.person, account.enrolment
    return {
        "name": person.name,
        "email": person.email or "",
        "role": place.role if place else "",
        "section": place.section if place else "",
    }


def _wanted_values(
    line: RosterLine, account: AccountLine, before: dict[str, str]
) -> dict[str, str]:
    # Whoever comes back is a student, unless the roster says more.
    is_here = account.enrolment is not None and not account.has_left
    usual = before["role"] if is_here else Role.STUDENT
    return {
        "name": line.name,
        "email": line.email or before["email"],
        "role": line.role or usual,
        "section": before["section"] if line.section is None else line.section,
    }


def _may_rename(account: AccountLine) -> bool:
    is_only_here = account.enrolment is not None and not account.is_elsewhere
    return is_only_here and not account.person.is_operator


def _kind(account: AccountLine, differences: list[Difference]) -> RosterChangeKind:
    if account.enrolment is None:
        return RosterChangeKind.ENROLLED
    if account.has_left:
        return RosterChangeKind.RETURNING
    return RosterChangeKind.CHANGED if differences else RosterChangeKind.UNCHANGED


def _leaving(member: MemberLine) -> RosterChange:
    place = member.enrolment
    return RosterChange(
        RosterChangeKind.LEAVING,
        member.login,
        member.name,
        member.email,
        place.role,
        place.section,
        person_id=place.person_id,
        enrolment_id=place.id,
    )
