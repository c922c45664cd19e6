"""The roster: the members of a course by text, role and section, and a form to add one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Response
from starlette.concurrency import run_in_threadpool

from grader.accounts.rosters import add_member
from grader.domain.roles import Role
from grader.errors import MalformedRequest
from grader.store.queries.rosters import RosterFilter, count_roster, list_roster, list_sections
from grader.web.pages.context import COURSE_PATH, CoursePage, FormDep
from grader.web.pages.form_state import FormState
from grader.web.pages.rendering import PageRoute
from grader.web.pagination import Cursor, decode_cursor, encode_cursor

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_ROSTER_PATH = COURSE_PATH + "/roster"
_PAGE = 50
#: Selects members without a section; no section's name is a space.
_NO_SECTION = " "
_DONE_MESSAGES = {
    "applied": "The roster was applied.",
    "left": "The enrolment has ended. Their work is kept, and a roster can enrol them again.",
}

_Text = Annotated[str, Query(max_length=200)]


def read_role(text: str) -> Role | None:
    """The role of this name; None for anything else."""
    return Role(text) if text in set(Role) else None


@router.get(_ROSTER_PATH)
def show_roster(
    page: CoursePage,
    q: _Text = "",
    role: _Text = "",
    section: _Text = "",
    done: _Text = "",
    cursor: Cursor = None,
) -> Response:
    """The members of the course, by login."""
    after = decode_cursor(cursor, str)
    selection = RosterFilter(q.strip(), read_role(role), section.strip() if section else None)
    with page.read() as session:
        membership = page.membership(session, Role.ASSISTANT)
        entries = list_roster(
            session,
            run_id=page.course,
            filter=selection,
            after=str(after[0]) if after else None,
            limit=_PAGE + 1,
        )
        counts = count_roster(session, run_id=page.course, filter=selection)
        sections = list_sections(session, run_id=page.course)
    query = {"q": q, "role": role, "section": section}
    options = [(each, each) if each else (_NO_SECTION, "No section") for each in sections]
    return page.render(
        "staff/roster/roster.html",
        membership=membership,
        entries=entries[:_PAGE],
        counts=counts,
        is_everybody=selection.is_everybody,
        query=query,
        roles=[("", "All roles"), *((each.value, each.value) for each in Role)],
        sections=[("", "All sections"), *options],
        may_change=membership.role is Role.INSTRUCTOR,
        message=_DONE_MESSAGES.get(done),
        first=_make_query(query) if after else None,
        next=_make_query(query, entries[_PAGE - 1].login) if len(entries) > _PAGE else None,
    )


def _make_query(query: Mapping[str, str], after: str | None = None) -> str:
    values = {key: value for key, value in query.items() if value}
    if after is not None:
        values["cursor"] = encode_cursor(after)
    return "?" + urlencode(values)


@router.get(_ROSTER_PATH + "/add")
def show_add_form(page: CoursePage) -> Response:
    """A form to add one person."""
    return _render_add_form(page, FormState())


@router.post(_ROSTER_PATH + "/add")
async def add_person(page: CoursePage, form: FormDep) -> Response:
    """Add one person, and go on to the person's page."""
    try:
        added = await page.write(
            lambda session: add_member(
                session,
                page.membership(session, Role.INSTRUCTOR),
                login=form.get("login", ""),
                name=form.get("name", ""),
                email=form.get("email", ""),
                role=read_role(form.get("role", "")) or Role.STUDENT,
                section=form.get("section", ""),
                at=page.at,
            )
        )
    except MalformedRequest as error:
        return await run_in_threadpool(_render_add_form, page, FormState.refused(form, error))
    return page.redirect(build_person_path(page.course, added.login, done="added"))


def _render_add_form(page: CoursePage, form: FormState) -> Response:
    with page.read() as session:
        membership = page.membership(session, Role.INSTRUCTOR)
    return page.render(
        "staff/roster/add.html",
        status=form.status,
        membership=membership,
        form=form,
        roles=[(each.value, each.value) for each in Role],
    )


def build_person_path(course: str, login: str, *, done: str = "") -> str:
    """The URL of a person's page."""
    return f"/courses/{course}/people/{quote(login, safe='')}" + (f"?done={done}" if done else "")
