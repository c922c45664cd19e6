"""Tokens for programs: one's own, and those of services of a course; each is shown once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Membership, get_membership_as
from grader.accounts.people import is_plain
from grader.accounts.tokens import (
    MAX_DAYS,
    NewToken,
    make_own_token,
    make_service_token,
    revoke_own_token,
    revoke_service_token,
)
from grader.domain.roles import STUDENT_SCOPES, Role, Scope
from grader.errors import ErrorDetail, MalformedRequest
from grader.store.database import Session
from grader.store.queries.courses import list_enrolments
from grader.store.queries.credentials import TokenLine, list_tokens
from grader.web.pages.form_state import FormState
from grader.web.pages.rendering import FormDep, PageRoute, Visitor, VisitorDep, render
from grader.web.params import CourseId, TokenId
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_OWN = "/tokens"
_COURSE = "/courses/{course}/tokens"
_MAX_LABEL_LENGTH = 200

#: What each scope lets a program do.
_SCOPE_DESCRIPTIONS: Mapping[Scope, str] = {
    Scope.READ: "See courses, assignments, questions and your own attempts.",
    Scope.SUBMIT: "Check and submit answers.",
    Scope.GRADES_READ: "See everybody's grades and attempts, and what waits for review.",
    Scope.GRADES_WRITE: "Review, override scores, enter scores, give extensions.",
    Scope.ROSTER: "See and change who takes part, and make sign-in links.",
    Scope.PUBLISH: "Put rubrics and dates in force.",
    Scope.TOKENS: "Make and revoke tokens.",
    Scope.JUDGE: "Judge answers without storing anything.",
}
#: A service is no student: it sends no answers of its own.
_SERVICE_SCOPES = tuple(scope for scope in Scope if scope is not Scope.SUBMIT)


@dataclass(frozen=True, slots=True)
class _TokenRequest:
    """The token that somebody asks for."""

    label: str
    scopes: frozenset[Scope]
    days: int


def _read_token_request(form: Mapping[str, str]) -> _TokenRequest:
    """What a form asks for.

    Raises
    ------
    MalformedRequest
        With every field that cannot be used.
    """
    label, days = form.get("label", "").strip(), form.get("days", "").strip()
    scopes = frozenset(scope for scope in Scope if f"scope.{scope.value}" in form)
    faults = []
    if not 1 <= len(label) <= _MAX_LABEL_LENGTH or not is_plain(label):
        says = f"Say in one line, of at most {_MAX_LABEL_LENGTH} characters, what it is for."
        faults.append(ErrorDetail("label", "label.invalid", says))
    if not scopes:
        faults.append(ErrorDetail("scopes", "scopes.empty", "A token needs at least one scope."))
    if not (days.isascii() and days.isdigit() and len(days) < 5 and 1 <= int(days) <= MAX_DAYS):
        says = f"A token lasts from 1 to {MAX_DAYS} days."
        faults.append(ErrorDetail("days", "days.range", says))
    if faults:
        raise MalformedRequest(faults[0].detail, code="token.invalid", faults=tuple(faults))
    return _TokenRequest(label, scopes, int(days))


# One's own


@router.get(_OWN)
def show_own_tokens(
    request: Request, visitor: VisitorDep, service: ServiceDep, at: ReceivedAt
) -> Response:
    """One's own tokens, and a form to make one."""
    return _render_own_tokens(request, visitor, service, at=at)


@router.post(_OWN)
async def create_own_token(
    request: Request, visitor: VisitorDep, form: FormDep, service: ServiceDep, at: ReceivedAt
) -> Response:
    """Make a token for oneself; this page alone shows it."""
    try:
        asked = _read_token_request(form)
    except MalformedRequest as error:
        typed = FormState.refused(form, error)
        return await run_in_threadpool(
            _render_own_tokens, request, visitor, service, at=at, typed=typed
        )
    made = await service.writer.run(
        lambda session: make_own_token(
            session, visitor.caller, label=asked.label, scopes=asked.scopes, days=asked.days, at=at
        )
    )
    return await run_in_threadpool(_render_own_tokens, request, visitor, service, at=at, made=made)


@router.post(_OWN + "/{token_id}/revoke")
async def revoke_token(
    token_id: TokenId, visitor: VisitorDep, form: FormDep, service: ServiceDep, at: ReceivedAt
) -> Response:
    """Revoke a token of one's own; from now on it is refused."""
    await service.writer.run(
        lambda session: revoke_own_token(session, visitor.caller, token_id=token_id, at=at)
    )
    return RedirectResponse(_OWN, status_code=303)


def _render_own_tokens(
    request: Request,
    visitor: Visitor,
    service: Service,
    *,
    at: datetime,
    typed: FormState | None = None,
    made: NewToken | None = None,
) -> Response:
    person = visitor.caller.need_person()
    with service.database.read() as session:
        tokens = list_tokens(session, person_id=person.id)
        roles = {enrolment.role for enrolment, _ in list_enrolments(session, person_id=person.id)}
    # A token never gives more than its owner may, so that students need not see the rest.
    is_student = roles <= {Role.STUDENT} and not person.is_operator
    offered = [scope for scope in Scope if scope in STUDENT_SCOPES or not is_student]
    return _render_tokens(
        request, visitor, service, tokens, offered, at=at, typed=typed, made=made, membership=None
    )


# Of a course


@router.get(_COURSE)
def show_course_tokens(
    request: Request, course: CourseId, visitor: VisitorDep, service: ServiceDep, at: ReceivedAt
) -> Response:
    """The tokens of services of a course, and a form to make one."""
    return _render_course_tokens(request, visitor, service, course, at=at)


@router.post(_COURSE)
async def create_course_token(
    request: Request,
    course: CourseId,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Make a token for a service of a course; this page alone shows it."""

    def make(session: Session) -> NewToken:
        membership = get_membership_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
        asked = _read_token_request(form)
        return make_service_token(
            session, membership, label=asked.label, scopes=asked.scopes, days=asked.days, at=at
        )

    try:
        made = await service.writer.run(make)
    except MalformedRequest as error:
        typed = FormState.refused(form, error)
        return await run_in_threadpool(
            _render_course_tokens, request, visitor, service, course, at=at, typed=typed
        )
    return await run_in_threadpool(
        _render_course_tokens, request, visitor, service, course, at=at, made=made
    )


@router.post(_COURSE + "/{token_id}/revoke")
async def revoke_course_token(
    course: CourseId,
    token_id: TokenId,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Revoke a token of a course; from now on it is refused."""
    await service.writer.run(
        lambda session: revoke_service_token(
            session,
            get_membership_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course),
            token_id=token_id,
            at=at,
        )
    )
    return RedirectResponse(_COURSE.format(course=course), status_code=303)


def _render_course_tokens(
    request: Request,
    visitor: Visitor,
    service: Service,
    course: str,
    *,
    at: datetime,
    typed: FormState | None = None,
    made: NewToken | None = None,
) -> Response:
    with service.database.read() as session:
        membership = get_membership_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
        tokens = list_tokens(session, run_id=course)
    return _render_tokens(
        request, visitor, service, tokens, _SERVICE_SCOPES, at=at, typed=typed, made=made,
        membership=membership,
    )  # fmt: skip


def _render_tokens(
    request: Request,
    visitor: Visitor,
    service: Service,
    tokens: list[TokenLine],
    offered: list[Scope] | tuple[Scope, ...],
    *,
    at: datetime,
    typed: FormState | None,
    made: NewToken | None,
    membership: Membership | None,
) -> Response:
    typed = typed or FormState()
    in_force = [each for each in tokens if each.revoked_at is None and each.expires_at > at]
    return render(
        request,
        "tokens.html",
        status=typed.status,
        visitor=visitor,
        membership=membership,
        here=_COURSE.format(course=membership.run.id) if membership else _OWN,
        time_zone=membership.run.time_zone if membership else "UTC",
        tokens=in_force,
        past=[each for each in tokens if each not in in_force],
        offered=[(scope.value, _SCOPE_DESCRIPTIONS[scope]) for scope in offered],
        usual={f"scope.{scope.value}" for scope in STUDENT_SCOPES} if not membership else set(),
        words={scope.value: words for scope, words in _SCOPE_DESCRIPTIONS.items()},
        most_days=MAX_DAYS,
        typed=typed,
        made=made,
        base_url=service.base_url,
    )
