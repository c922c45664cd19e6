"""Authentication and authorisation, before a route does anything.

The order is the same everywhere: not signed in (401), too often (429), nothing there or not yours
(404), not in the scope of the token (403), not in your role (403).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from starlette.datastructures import MutableHeaders

from grader.accounts.callers import (
    Caller,
    Credential,
    Membership,
    check_credential,
    get_membership,
    has_use_to_record,
)
from grader.accounts.sign_in import is_csrf_token
from grader.domain.roles import Role, Scope
from grader.errors import ForgedRequest, MissingRole, NotSignedIn
from grader.store.database import Session
from grader.store.queries.credentials import record_token_uses
from grader.web.http.throttle import INVALID_CREDENTIAL_COST, get_address
from grader.web.params import CourseId
from grader.web.service import Service, get_received_at, get_service

SESSION_COOKIE = "keyset_session"
CSRF_HEADER = "X-CSRF-Token"
#: What costs many times as much as a usual call: the work of a whole course, or the pictures of an
#: attempt and everything else that is computed anew for it.
COURSEWORK_COST = 10.0
RECOMPUTED_COST = 4.0
#: Those of a response, or those that one will have.
ResponseHeaders = MutableHeaders | dict[str, str]
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


def identify_sender(request: Request) -> str:
    """The id of who sends a request, whether or not they may; NotSignedIn if nobody is.

    Nothing may be done for them yet: whether another site made a browser send it was not asked.
    """
    with get_service(request).database.read() as session:
        return _check_credential(request, session, find_credential(request)).id


def _authenticate(request: Request, session: Session) -> Caller:
    """The caller, by token or by the browser's session.

    Raises
    ------
    NotSignedIn
        Where there is neither, or it is no longer valid.
    ForgedRequest
        Where another site made the browser send it.
    """
    service, at = get_service(request), get_received_at(request)
    caller = _check_credential(request, session, read_credential(request))
    token_id = caller.token_id
    if token_id is not None and has_use_to_record(caller, at=at):
        service.writer.note(lambda session: record_token_uses(session, token_ids=[token_id], at=at))
    request.state.caller = caller.id
    return caller


def _check_credential(request: Request, session: Session, credential: Credential) -> Caller:
    with counting_invalid_credentials(request):
        return check_credential(session, credential, at=get_received_at(request))


@contextmanager
def counting_invalid_credentials(request: Request) -> Iterator[None]:
    """Count a credential that turns out to be invalid, by the address that it comes from.

    Raises
    ------
    TooManyRequests
        Where that address has sent too many.
    """
    try:
        yield
    except NotSignedIn:
        address = get_address(request.scope)
        get_service(request).budgets.spend("anonymous", address, cost=INVALID_CREDENTIAL_COST)
        raise


def read_credential(request: Request) -> Credential:
    """What a request brings to show who sends it; whether it is valid is not known yet.

    Raises
    ------
    NotSignedIn
        Where it brings nothing.
    ForgedRequest
        Where another site made the browser send it.
    """
    credential = find_credential(request)
    secret = find_session_secret(request)
    if not credential.is_token and secret is not None and request.method not in _SAFE_METHODS:
        refuse_forged(request, secret, request.headers.get(CSRF_HEADER, ""))
    return credential


def find_credential(request: Request) -> Credential:
    """The same, also where another site may have made a browser send it."""
    header = request.headers.get("authorization")
    if header is not None:
        kind, _, token = header.partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            raise NotSignedIn("The Authorization header must be: Bearer, a space, the token.")
        return Credential.of_token(token.strip())
    secret = find_session_secret(request)
    if secret is None:
        raise NotSignedIn
    return Credential.of_session(secret)


def find_session_secret(request: Request) -> str | None:
    """What the browser holds of its session."""
    return request.cookies.get(get_cookie_name(get_service(request)))


def get_cookie_name(service: Service) -> str:
    """The cookie's name; over https it is bound to this very host."""
    return f"__Host-{SESSION_COOKIE}" if service.is_https else SESSION_COOKIE


def refuse_forged(request: Request, secret: str, token: str) -> None:
    """Refuse a change that was not sent by a page of ours."""
    refuse_foreign_origin(request)
    if not is_csrf_token(secret, token):
        raise ForgedRequest(
            f"A change from a browser needs the header {CSRF_HEADER}; GET /api/v1/session has it."
        )


def refuse_foreign_origin(request: Request) -> None:
    """Refuse what another site made a browser send."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    ours = {get_service(request).base_url, f"{request.url.scheme}://{request.url.netloc}"}
    if origin not in {_origin(each) for each in ours}:
        raise ForgedRequest("This request comes from another site.")


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@contextmanager
def _open_call(
    request: Request, headers: ResponseHeaders, budget: str, cost: float = 1
) -> Iterator[tuple[Session, Caller]]:
    """One read session for everything that is asked about a caller.

    A call that is refused later is counted, too, or one could search for what exists without end.
    It is counted by person, who could make any number of tokens.
    """
    service = get_service(request)
    with service.database.read() as session:
        caller = _authenticate(request, session)
        left = service.budgets.spend(budget, caller.id, cost=cost)
        headers.update(left.headers())
        if cost > 1:
            begin_costly(request, caller.id)
        yield session, caller


def begin_costly(request: Request, caller_id: str) -> None:
    """Let a request be one of the few costly ones of its caller, until it has been answered.

    Raises
    ------
    TooManyRequests
        Where the caller has as many under way as anybody may have.
    """
    if caller_id in getattr(request.state, "costly_of", ()):
        return
    costly = get_service(request).costly
    costly.begin(caller_id)
    if not hasattr(request.state, "at_end"):
        # The middleware closes it when the request has ended in whatever way.
        request.state.at_end, request.state.costly_of = ExitStack(), set()
    request.state.at_end.callback(costly.end, caller_id)
    request.state.costly_of.add(caller_id)


def make_caller_dependency(
    scope: Scope | None, *, budget: str = "read", cost: float = 1
) -> Callable[..., Caller]:
    """A dependency: the caller, whose token must have this scope."""

    def get_caller(request: Request, response: Response) -> Caller:
        with _open_call(request, response.headers, budget, cost) as (_, caller):
            if scope is not None:
                caller.need(scope)
            return caller

    return get_caller


def make_operator_dependency(scope: Scope, *, budget: str = "read") -> Callable[..., Caller]:
    """A dependency: the caller, who must operate the service."""

    def get_operator(request: Request, response: Response) -> Caller:
        with _open_call(request, response.headers, budget) as (_, caller):
            caller.need(scope)
            if not caller.is_operator:
                raise MissingRole("Only operators of the service may do this.")
            return caller

    return get_operator


@contextmanager
def open_membership(
    request: Request,
    headers: ResponseHeaders,
    *,
    course: str,
    scope: Scope,
    role: Role = Role.STUDENT,
    budget: str = "read",
    cost: float = 1,
) -> Iterator[tuple[Session, Membership]]:
    """The caller in a course, with this scope and role, in a read session for all that follows.

    `headers` gets those of the response that tell how many calls are left.
    """
    with _open_call(request, headers, budget, cost) as (session, caller):
        membership = get_membership(session, caller, run_id=course)
        caller.need(scope)
        membership.need(role)
        yield session, membership


def make_membership_dependency(
    scope: Scope, role: Role = Role.STUDENT, *, budget: str = "read", cost: float = 1
) -> Callable[..., Membership]:
    """A dependency: the caller in the course of the path, with this scope and role.

    What costs as much as several calls counts as many, and is one of the few costly requests of its
    caller.
    """

    def get_caller_membership(request: Request, response: Response, course: CourseId) -> Membership:
        with open_membership(
            request, response.headers, course=course, scope=scope, role=role, budget=budget,
            cost=cost,
        ) as (_, membership):  # fmt: skip
            return membership

    return get_caller_membership


#: The caller, whatever the token may do.
AnyCaller = Annotated[Caller, Depends(make_caller_dependency(None))]
#: Somebody who manages their own tokens and sessions.
CredentialsOwner = Annotated[Caller, Depends(make_caller_dependency(Scope.TOKENS))]
#: Somebody who may see the course.
CourseReader = Annotated[Membership, Depends(make_membership_dependency(Scope.READ))]
#: Somebody who may check answers.
Checker = Annotated[Membership, Depends(make_membership_dependency(Scope.SUBMIT, budget="check"))]
#: Somebody who may send answers.
Submitter = Annotated[
    Membership, Depends(make_membership_dependency(Scope.SUBMIT, budget="submit"))
]
#: Assistants and instructors who look at everybody's work.
GradesReader = Annotated[
    Membership, Depends(make_membership_dependency(Scope.GRADES_READ, Role.ASSISTANT))
]
#: The same, for what is computed from the work of a whole course.
CourseworkReader = Annotated[
    Membership,
    Depends(make_membership_dependency(Scope.GRADES_READ, Role.ASSISTANT, cost=COURSEWORK_COST)),
]
#: Assistants and instructors who review.
Reviewer = Annotated[
    Membership, Depends(make_membership_dependency(Scope.GRADES_WRITE, Role.ASSISTANT))
]
#: Instructors who decide about grades.
GradesWriter = Annotated[
    Membership, Depends(make_membership_dependency(Scope.GRADES_WRITE, Role.INSTRUCTOR))
]
#: Instructors who say who takes part.
RosterManager = Annotated[
    Membership, Depends(make_membership_dependency(Scope.ROSTER, Role.INSTRUCTOR))
]
#: Instructors who put rubrics in force.
Publisher = Annotated[
    Membership, Depends(make_membership_dependency(Scope.PUBLISH, Role.INSTRUCTOR))
]
#: Instructors who make tokens for services.
TokenManager = Annotated[
    Membership, Depends(make_membership_dependency(Scope.TOKENS, Role.INSTRUCTOR))
]


def describe_access(scope: Scope | None, who: str) -> dict[str, Any]:
    """What OpenAPI says about who may call."""
    return {"x-scopes": [scope.value] if scope else [], "x-roles": [who]}
