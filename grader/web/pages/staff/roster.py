"""The roster: who takes part, found by text, role and section, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import get_membership_as
from grader.accounts.roster_plans import RosterChange
from grader.accounts.rosters import add_member
from grader.domain.roles import Role
from grader.errors import MalformedRequest
from grader.store.database import Session
from grader.store.queries.rosters import RosterFilter, count_roster, list_roster, list_sections
from grader.web.pages.form_state import FormState
from grader.web.pages.rendering import FormDep, PageRoute, Visitor, VisitorDep, render
from grader.web.pagination import Cursor, decode_cursor, encode_cursor
from grader.web.params import CourseId
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_ROSTER = "/courses/{course}/roster"
_PAGE = 50
#: No section begins with a space, so that one alone can stand for having none.
_NO_SECTION = " "
#: What was just done, by what the address says.
_DONE_MESSAGES = {
    "applied": "The roster was applied.",
    "left": "They take part no longer. Their work stays, and a roster brings them back.",
}

_Text = Annotated[str, Query(max_length=200)]


def read_role(text: str) -> Role | None:
    """The role of this name; None for anything else."""
    return Role(text) if text in set(Role) else None


def _read_filter(text: str, role: str, section: str) -> RosterFilter:
    return RosterFilter(text.strip(), read_role(role), section.strip() if section else None)


@router.get(_ROSTER)
def show_roster(
    request: Request,
    course: CourseId,
    visitor: VisitorDep,
    service: ServiceDep,
    q: _Text = "",
    role: _Text = "",
    section: _Text = "",
    done: _Text = "",
    cursor: Cursor = None,
) -> Response:
    """Who takes part, by login."""
    after = decode_cursor(cursor, str)
    wanted = _read_filter(q, role, section)
    with service.database.read() as session:
        membership = get_membership_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        entries = list_roster(
            session,
            run_id=course,
            filter=wanted,
            after=str(after[0]) if after else None,
            limit=_PAGE + 1,
        )
        counts = count_roster(session, run_id=course, filter=wanted)
        sections = list_sections(session, run_id=course)
    asked = {"q": q, "role": role, "section": section}
    return render(
        request,
        "roster.html",
        visitor=visitor,
        membership=membership,
        entries=entries[:_PAGE],
        counts=counts,
        wanted=wanted,
        asked=asked,
        roles=[("", "All roles"), *((each.value, each.value) for each in Role)],
        sections=[("", "All sections"), *_section_options(sections)],
        may_change=membership.role is Role.INSTRUCTOR,
        said=_DONE_MESSAGES.get(done),
        first=_make_query(asked) if after else None,
        next=_make_query(asked, entries[_PAGE - 1].login) if len(entries) > _PAGE else None,
    )


def _section_options(sections: list[str]) -> list[tuple[str, str]]:
    return [(each, each) if each else (_NO_SECTION, "No section") for each in sections]


def _make_query(asked: Mapping[str, str], after: str | None = None) -> str:
    query = {key: value for key, value in asked.items() if value}
    if after is not None:
        query["cursor"] = encode_cursor(after)
    return "?" + urlencode(query)


# One person by hand


@router.get(_ROSTER + "/add")
def show_add_form(
    request: Request, course: CourseId, visitor: VisitorDep, service: ServiceDep
) -> Response:
    """A form to add one person."""
    return _render_add_form(request, visitor, service, course, FormState())


@router.post(_ROSTER + "/add")
async def add_person(
    request: Request,
    course: CourseId,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Add one person; the way goes on to the person's page."""

    def add(session: Session) -> RosterChange:
        return add_member(
            session,
            get_membership_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course),
            login=form.get("login", ""),
            name=form.get("name", ""),
            email=form.get("email", ""),
            role=read_role(form.get("role", "")) or Role.STUDENT,
            section=form.get("section", ""),
            at=at,
        )

    try:
        added = await service.writer.run(add)
    except MalformedRequest as error:
        typed = FormState.refused(form, error)
        return await run_in_threadpool(_render_add_form, request, visitor, service, course, typed)
    return RedirectResponse(build_person_path(course, added.login, done="added"), status_code=303)


def _render_add_form(
    request: Request, visitor: Visitor, service: Service, course: str, typed: FormState
) -> Response:
    with service.database.read() as session:
        membership = get_membership_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
    return render(
        request,
        "roster_add.html",
        status=typed.status,
        visitor=visitor,
        membership=membership,
        typed=typed,
        roles=[(each.value, each.value) for each in Role],
    )


def build_person_path(course: str, login: str, *, done: str = "") -> str:
    """The address of somebody's page."""
    return f"/courses/{course}/people/{quote(login, safe='')}" + (f"?done={done}" if done else "")
