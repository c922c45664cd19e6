"""What a roster would change in a course run, before anything is changed.

The rules, for every caller:

- Nobody is deleted. Students who are missing on a complete roster leave; their work stays, and they
  return when a roster lists them again.
- An account with a known login is enrolled; no second account is made.
- The name and the address of an account change only if the person takes part in no other course run
  and does not operate the service. Other accounts keep theirs, and the plan says so.
- Instructors give roles, none above their own. A service enrols students only. Only an operator
  gives a role to an operator's account, and nobody gives up the role by which they change rosters.
- Nobody decides about their own work, also not by a service whose token they made: whether somebody
  who is or was a student leaves or returns, and the student's role and section, others decide.
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
    """An existing account is enrolled."""
    RETURNING = "returning"
    """Somebody who had left returns."""
    CHANGED = "changed"
    """Role, section, name or address change."""
    UNCHANGED = "unchanged"
    """Nothing changes."""
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
    """What happens to one person, with the values afterwards."""

    kind: RosterChangeKind
    login: str
    name: str
    email: str | None
    role: Role
    section: str
    differences: tuple[Difference, ...] = ()
    kept: tuple[str, ...] = ()
    """The fields that stay although the roster differs, because the account is used elsewhere."""
    person_id: str | None = None
    enrolment_id: str | None = None
    line: int | None = None

    def changes(self, field: str) -> bool:
        """Whether a field changes."""
        return any(each.field == field for each in self.differences)


@dataclass(frozen=True, slots=True)
class RosterPlan:
    """What a roster would change; those who leave come last."""

    roster: Roster
    is_complete: bool
    changes: tuple[RosterChange, ...]

    def of(self, *kinds: RosterChangeKind) -> list[RosterChange]:
        """The changes of these kinds."""
        return [each for each in self.changes if each.kind in kinds]

    @property
    def counts(self) -> dict[RosterChangeKind, int]:
        """The number of changes of each kind."""
        return {kind: len(self.of(kind)) for kind in RosterChangeKind}

    @property
    def is_idle(self) -> bool:
        """Whether nothing would change."""
        return len(self.of(RosterChangeKind.UNCHANGED)) == len(self.changes)

    @property
    def digest(self) -> str:
        """The hash of all changes; any difference between two plans gives another digest."""
        return hashlib.sha256(orjson.dumps(self.changes)).hexdigest()


def plan_roster(
    session: Session, where: Membership | RunLine, roster: Roster, *, is_complete: bool
) -> RosterPlan:
    """What a roster would change in a course run; nothing is changed yet.

    Parameters
    ----------
    where
        The caller's membership; the run itself for the operator at the command line.
    is_complete
        Whether students who are not on the roster leave.

    Raises
    ------
    MissingRole, MissingScope
        If the caller may not change rosters.
    MalformedRequest
        With every line that cannot be applied.
    """
    run = check_roster_access(where)
    logins = [line.login for line in roster.lines]
    accounts = find_accounts(session, run_id=run.id, logins=logins)
    _refuse_lines(where, roster, accounts, _misspelt(session, roster, accounts))
    changes = [_plan_line(line, accounts.get(line.login)) for line in roster.lines]
    if is_complete:
        staying = set(logins)
        members = list_members(session, run_id=run.id, role=Role.STUDENT)
        leaving = [each for each in members if each.login not in staying]
        if isinstance(where, Membership):
            for each in leaving:
                where.refuse_own_work(each.enrolment.id)
        changes += [_leaving(each) for each in leaving]
    return RosterPlan(roster, is_complete, tuple(changes))


def check_roster_access(where: Membership | RunLine) -> RunLine:
    """The course run, for a caller who may change who takes part."""
    if isinstance(where, RunLine):
        return where
    where.need(Role.INSTRUCTOR)
    where.caller.need(Scope.ROSTER)
    return where.run


# Lines that cannot be applied


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
            problem = f"{line.login} is unknown; the known login is {misspelt[line.login]}."
            fault = make_cell_error(line.line, "login", "login.spelling", problem)
        if fault is not None:
            faults.append(fault)
    if faults:
        raise make_roster_error(faults)


def _fault_of(
    where: Membership | RunLine, line: RosterLine, account: AccountLine | None
) -> ErrorDetail | None:
    """Why a line cannot be applied; None if it can."""
    if account is not None and account.is_ended:
        problem = f"The account {line.login} has ended; ask an operator."
        return make_cell_error(line.line, "login", "login.ended", problem)
    if isinstance(where, RunLine):
        return None
    if account is not None and _is_own_work(where, account) and _changes_place(line, account):
        problem = "Nobody decides about their own work, so somebody else must change this."
        return make_cell_error(line.line, "login", "own.work", problem)
    # An operator, at the command line or as a caller, may do all the rest.
    if where.caller.is_operator:
        return None
    if account is not None and account.person.is_operator and _changes_membership(line, account):
        problem = f"{line.login} is an operator; only an operator may change this role."
        return make_cell_error(line.line, "login", "login.operator", problem)
    if (
        where.caller.person is None
        and _changes_membership(line, account)
        and _is_about_staff(line, account)
    ):
        problem = "A service enrols students only; a person gives the other roles."
        return make_cell_error(line.line, "role", "role.service", problem)
    is_own = account is not None and account.person.id == where.caller.id
    if is_own and line.role not in (None, where.role):
        problem = "You cannot give up your own role with a roster."
        return make_cell_error(line.line, "role", "role.own", problem)
    return None


def _changes_membership(line: RosterLine, account: AccountLine | None) -> bool:
    """Whether somebody's membership or role would change."""
    if account is None or account.enrolment is None or account.has_left:
        return True
    return line.role not in (None, account.enrolment.role)


def _is_own_work(where: Membership, account: AccountLine) -> bool:
    """Whether an account has work here as a student, and the caller answers for it."""
    enrolment = account.enrolment
    return enrolment is not None and enrolment.role is Role.STUDENT and where.owns(enrolment.id)


def _changes_place(line: RosterLine, account: AccountLine) -> bool:
    """Whether membership, role or section would change."""
    section = account.enrolment.section if account.enrolment else ""
    return _changes_membership(line, account) or line.section not in (None, section)


def _is_about_staff(line: RosterLine, account: AccountLine | None) -> bool:
    """Whether a role above the student's is given or taken."""
    enrolment = account.enrolment if account else None
    return not {line.role, enrolment.role if enrolment else None} <= {None, Role.STUDENT}


# The changes

_ACCOUNT_FIELDS = ("name", "email")


def _plan_line(line: RosterLine, account: AccountLine | None) -> RosterChange:
    if account is None:
        return RosterChange(
            RosterChangeKind.NEW, line.login, line.name, line.email, line.role or Role.STUDENT,
            line.section or "", line=line.line,
        )  # fmt: skip
    before = _current_values(account)
    after = _new_values(line, account, before)
    kept: tuple[str, ...] = ()
    if not _may_rename(account):
        kept = tuple(field for field in _ACCOUNT_FIELDS if after[field] != before[field])
        after |= {field: before[field] for field in kept}
    enrolment = account.enrolment
    differences = [
        Difference(field, before[field], after[field])
        for field in before
        if enrolment and after[field] != before[field]
    ]
    return RosterChange(
        _kind(account, differences), line.login, after["name"], after["email"] or None,
        Role(after["role"]), after["section"], tuple(differences), kept, account.person.id,
        enrolment.id if enrolment else None, line.line,
    )  # fmt: skip


def _current_values(account: AccountLine) -> dict[str, str]:
    person, enrolment = account.person, account.enrolment
    return {
        "name": person.name,
        "email": person.email or "",
        "role": enrolment.role if enrolment else "",
        "section": enrolment.section if enrolment else "",
    }


def _new_values(line: RosterLine, account: AccountLine, before: dict[str, str]) -> dict[str, str]:
    # Somebody who returns is a student, unless the roster says otherwise.
    is_member = account.enrolment is not None and not account.has_left
    usual = before["role"] if is_member else Role.STUDENT
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
    enrolment = member.enrolment
    return RosterChange(
        RosterChangeKind.LEAVING,
        member.login,
        member.name,
        member.email,
        enrolment.role,
        enrolment.section,
        person_id=enrolment.person_id,
        enrolment_id=enrolment.id,
    )
