"""API tokens: a person's own, and those of a course's services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Membership
from grader.accounts.people import is_plain
from grader.accounts.tokens import (
    MAX_DAYS,
    NewToken,
    make_own_token,
    make_service_token,
    revoke_own_token,
    revoke_service_token,
)
from grader.domain.roles import ALL_SCOPES, STUDENT_SCOPES, Role, Scope
from grader.errors import ErrorDetail, MalformedRequest
from grader.store.database import Session
from grader.store.queries.courses import list_enrolments
from grader.store.queries.credentials import TokenLine, list_tokens
from grader.web.pages.context import COURSE_PATH, CoursePage, FormDep, Page
from grader.web.pages.form_numbers import read_whole_number
from grader.web.pages.form_state import FormState
from grader.web.pages.rendering import PageRoute
from grader.web.params import TokenId

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_OWN_PATH = "/tokens"
_COURSE_TOKENS_PATH = COURSE_PATH + "/tokens"
_MAX_LABEL_LENGTH = 200

#: What each scope lets a program do.
_SCOPE_DESCRIPTIONS: Mapping[Scope, str] = {
    Scope.READ: "See courses, assignments, questions and your own attempts.",
    Scope.SUBMIT: "Check and submit answers.",
    Scope.GRADES_READ: "See all grades and attempts, and the review queue.",
    Scope.GRADES_WRITE: "Review, override scores, enter scores, give extensions.",
    Scope.ROSTER: "See and change the roster, and make sign-in links.",
    Scope.PUBLISH: "Publish rubrics and dates.",
    Scope.TOKENS: "Make and revoke tokens.",
    Scope.JUDGE: "Judge answers without storing anything.",
    Scope.METRICS: "See the metrics of the service.",
}
#: A service of a course is not a student, who submits answers, and not an operator.
_SERVICE_SCOPES = tuple(scope for scope in Scope if scope not in (Scope.SUBMIT, Scope.METRICS))


@dataclass(frozen=True, slots=True)
class _TokenRequest:
    """The fields of a new token."""

    label: str
    scopes: frozenset[Scope]
    days: int


def _read_token_request(form: Mapping[str, str]) -> _TokenRequest:
    """Read the form of a new token.

    Raises
    ------
    MalformedRequest
        With every invalid field.
    """
    label = form.get("label", "").strip()
    days = read_whole_number(form.get("days", ""), least=1, most=MAX_DAYS)
    scopes = frozenset(scope for scope in Scope if f"scope.{scope.value}" in form)
    faults = []
    if not 1 <= len(label) <= _MAX_LABEL_LENGTH or not is_plain(label):
        message = f"Describe its use in one line of at most {_MAX_LABEL_LENGTH} characters."
        faults.append(ErrorDetail("label", "label.invalid", message))
    if not scopes:
        faults.append(ErrorDetail("scopes", "scopes.empty", "A token needs at least one scope."))
    if days is None:
        message = f"A token lasts from 1 to {MAX_DAYS} days."
        faults.append(ErrorDetail("days", "days.range", message))
    if faults or days is None:
        raise MalformedRequest(faults[0].detail, code="token.invalid", faults=tuple(faults))
    return _TokenRequest(label, scopes, days)


@router.get(_OWN_PATH)
def show_own_tokens(page: Page) -> Response:
    """The visitor's tokens, and a form to make one."""
    return _render_own_tokens(page)


@router.post(_OWN_PATH)
async def create_own_token(page: Page, form: FormDep) -> Response:
    """Make a token for the visitor; only this response shows it."""
    try:
        token = _read_token_request(form)
    except MalformedRequest as error:
        return await run_in_threadpool(_render_own_tokens, page, FormState.refused(form, error))
    made = await page.write(
        lambda session: make_own_token(
            session, page.caller, label=token.label, scopes=token.scopes, days=token.days,
            at=page.at,
        )
    )  # fmt: skip
    return await run_in_threadpool(_render_own_tokens, page, made=made)


@router.post(_OWN_PATH + "/{token_id}/revoke")
async def revoke_token(page: Page, token_id: TokenId, form: FormDep) -> Response:
    """Revoke one of the visitor's tokens."""
    await page.write(
        lambda session: revoke_own_token(session, page.caller, token_id=token_id, at=page.at)
    )
    return page.redirect(_OWN_PATH)


def _render_own_tokens(
    page: Page, form: FormState | None = None, *, made: NewToken | None = None
) -> Response:
    with page.read() as session:
        person = page.caller.need_person()
        tokens = list_tokens(session, person_id=person.id)
        roles = {enrolment.role for enrolment, _ in list_enrolments(session, person_id=person.id)}
    # A token never allows more than its owner may do, so nobody is offered the rest.
    allowed = ALL_SCOPES - {Scope.METRICS}
    if person.is_operator:
        allowed = ALL_SCOPES
    elif roles <= {Role.STUDENT}:
        allowed = STUDENT_SCOPES
    offered = [scope for scope in Scope if scope in allowed]
    return _render_tokens(page, tokens, offered, form, made, membership=None)


@router.get(_COURSE_TOKENS_PATH)
def show_course_tokens(page: CoursePage) -> Response:
    """The service tokens of a course, and a form to make one."""
    return _render_course_tokens(page)


@router.post(_COURSE_TOKENS_PATH)
async def create_course_token(page: CoursePage, form: FormDep) -> Response:
    """Make a service token for a course; only this response shows it."""

    def make(session: Session) -> NewToken:
        membership = page.membership(session, Role.INSTRUCTOR)
        token = _read_token_request(form)
        return make_service_token(
            session, membership, label=token.label, scopes=token.scopes, days=token.days, at=page.at
        )

    try:
        made = await page.write(make)
    except MalformedRequest as error:
        return await run_in_threadpool(_render_course_tokens, page, FormState.refused(form, error))
    return await run_in_threadpool(_render_course_tokens, page, made=made)


@router.post(_COURSE_TOKENS_PATH + "/{token_id}/revoke")
async def revoke_course_token(page: CoursePage, token_id: TokenId, form: FormDep) -> Response:
    """Revoke a service token of a course."""
    await page.write(
        lambda session: revoke_service_token(
            session, page.membership(session, Role.INSTRUCTOR), token_id=token_id, at=page.at
        )
    )
    return page.redirect(_COURSE_TOKENS_PATH.format(course=page.course))


def _render_course_tokens(
    page: CoursePage, form: FormState | None = None, *, made: NewToken | None = None
) -> Response:
    with page.read() as session:
        membership = page.membership(session, Role.INSTRUCTOR)
        tokens = list_tokens(session, run_id=page.course)
    return _render_tokens(page, tokens, _SERVICE_SCOPES, form, made, membership=membership)


def _render_tokens(
    page: Page,
    tokens: list[TokenLine],
    offered: Sequence[Scope],
    form: FormState | None,
    made: NewToken | None,
    *,
    membership: Membership | None,
) -> Response:
    form = form or FormState()
    in_force = [each for each in tokens if each.revoked_at is None and each.expires_at > page.at]
    return page.render(
        "tokens.html",
        status=form.status,
        membership=membership,
        tokens_path=_COURSE_TOKENS_PATH.format(course=membership.run.id)
        if membership
        else _OWN_PATH,
        time_zone=membership.run.time_zone if membership else "UTC",
        tokens=in_force,
        past=[each for each in tokens if each not in in_force],
        offered=[(scope.value, _SCOPE_DESCRIPTIONS[scope]) for scope in offered],
        usual={f"scope.{scope.value}" for scope in STUDENT_SCOPES} if not membership else set(),
        words={scope.value: words for scope, words in _SCOPE_DESCRIPTIONS.items()},
        max_days=MAX_DAYS,
        form=form,
        made=made,
        base_url=page.service.base_url,
    )
