"""A person's own account: the password, the browsers that are signed in, and all tokens at once."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import hash_secret
from grader.accounts.sign_in import (
    MAX_PASSWORD_LENGTH,
    MIN_PASSWORD_LENGTH,
    change_own_password,
    find_password,
    hash_password,
    sign_out_everywhere,
)
from grader.accounts.tokens import revoke_all_own_tokens
from grader.errors import (
    ErrorDetail,
    KeysetError,
    MalformedRequest,
    NotSignedIn,
    TooManyRequests,
    Unavailable,
)
from grader.store.queries.credentials import list_browser_sessions, list_tokens
from grader.web.auth import get_cookie_name
from grader.web.errors.problems import build_error_headers
from grader.web.pages.context import FormDep, Page
from grader.web.pages.form_state import FormState
from grader.web.pages.rendering import PageRoute
from grader.web.sign_in import check_password, set_session_cookie

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PATH = "/account"
#: Maximum sessions that are shown, the newest first.
_MAX_SHOWN = 20
_DONE_MESSAGES = {
    "password": "Your password is changed, and you are signed out in all other browsers.",
    "tokens": "All your tokens are revoked.",
}


@router.get(_PATH)
def show_account(page: Page, done: str = "") -> Response:
    """The visitor's account."""
    return _render_account(page, message=_DONE_MESSAGES.get(done))


@router.post(_PATH + "/password")
async def change_password(page: Page, form: FormDep) -> Response:
    """Change the visitor's password, and sign all other browsers out."""
    try:
        hashed = await _read_new_password(page, form)
    except (MalformedRequest, TooManyRequests, Unavailable) as error:
        return await run_in_threadpool(_render_account, page, error)
    person = page.caller.need_person()
    renewed = await page.write(
        lambda session: change_own_password(session, person, hashed, at=page.at)
    )
    response = page.redirect(f"{_PATH}?done=password")
    set_session_cookie(response, page.service, renewed)
    return response


async def _read_new_password(page: Page, form: Mapping[str, str]) -> str:
    """The hash of the new password, if the old one is right.

    Raises
    ------
    MalformedRequest
        With the fields that are wrong.
    TooManyRequests
        If the old password was wrong too often.
    """
    person = page.caller.need_person()
    new = form.get("password", "")
    if new != form.get("repeated", ""):
        fault = ErrorDetail("repeated", "password.repeated", "This is not the same password.")
        raise MalformedRequest.of(fault)
    if not MIN_PASSWORD_LENGTH <= len(new) <= MAX_PASSWORD_LENGTH:
        # It is refused before the old one is tried.
        hash_password(new)
    if await run_in_threadpool(_has_password, page):
        try:
            await check_password(page.service, person.login, form.get("old", ""), at=page.at)
        except NotSignedIn:
            fault = ErrorDetail("old", "password.wrong", "This is not your password.")
            raise MalformedRequest.of(fault) from None
    return await page.service.hashing.run(hash_password, new)


def _has_password(page: Page) -> bool:
    with page.read() as session:
        return find_password(session, login=page.caller.need_person().login) is not None


@router.post(_PATH + "/sign-out")
async def sign_out_all_browsers(page: Page, form: FormDep) -> Response:
    """End all sessions of the visitor, this one included."""
    person = page.caller.need_person()
    await page.write(lambda session: sign_out_everywhere(session, person, at=page.at))
    response = page.redirect("/sign-in")
    response.delete_cookie(get_cookie_name(page.service), path="/")
    return response


@router.post(_PATH + "/revoke-tokens")
async def revoke_all_tokens(page: Page, form: FormDep) -> Response:
    """Revoke all tokens of the visitor."""
    person = page.caller.need_person()
    await page.write(lambda session: revoke_all_own_tokens(session, person, at=page.at))
    return page.redirect(f"{_PATH}?done=tokens")


def _render_account(
    page: Page, error: KeysetError | None = None, *, message: str | None = None
) -> Response:
    # A browser does not fill passwords in again.
    form = FormState.refused({}, error) if error else FormState()
    with page.read() as session:
        person = page.caller.need_person()
        sessions = list_browser_sessions(
            session, person_id=person.id, at=page.at, limit=_MAX_SHOWN + 1
        )
        tokens = [
            each
            for each in list_tokens(session, person_id=person.id)
            if each.revoked_at is None and each.expires_at > page.at
        ]
        has_password = find_password(session, login=person.login) is not None
    response = page.render(
        "account.html",
        status=form.status,
        person=person,
        sessions=sessions[:_MAX_SHOWN],
        has_more=len(sessions) > _MAX_SHOWN,
        current=hash_secret(page.visitor.secret),
        tokens=tokens,
        has_password=has_password,
        min_length=MIN_PASSWORD_LENGTH,
        max_length=MAX_PASSWORD_LENGTH,
        form=form,
        message=message,
    )
    response.headers.update(build_error_headers(error) if error else {})
    return response
