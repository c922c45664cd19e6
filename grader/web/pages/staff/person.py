"""One person of a course: role and section, a link to sign in once, and leaving."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import get_membership_as
from grader.accounts.rosters import change_member, end_enrolment
from grader.accounts.sign_in import LINK_LIFETIME, make_link_for
from grader.domain.roles import Role
from grader.errors import MalformedRequest, RequestRefused
from grader.store.database import Session
from grader.store.queries.courses import get_member
from grader.store.queries.publications import list_in_force
from grader.store.queries.rosters import find_joined_at
from grader.web.pages.form_state import FormState
from grader.web.pages.rendering import FormDep, PageRoute, Visitor, VisitorDep, render
from grader.web.pages.staff.roster import build_person_path, read_role
from grader.web.params import CourseId, StudentLogin
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PERSON = "/courses/{course}/people/{student}"
_DONE_MESSAGES = {
    "added": "Added. A sign-in link lets them in for the first time.",
    "changed": "Changed.",
}


@dataclass(frozen=True, slots=True)
class _SignInLink:
    """A link that signs in once, as it is shown once."""

    url: str
    expires_at: datetime


@router.get(_PERSON)
def show_person(
    request: Request,
    course: CourseId,
    student: StudentLogin,
    visitor: VisitorDep,
    service: ServiceDep,
    done: str = "",
) -> Response:
    """Somebody who takes part; instructors may change that."""
    return _render_page(request, visitor, service, course, student, said=_DONE_MESSAGES.get(done))


@router.post(_PERSON)
async def change_person(
    request: Request,
    course: CourseId,
    student: StudentLogin,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Give somebody another role or section, or note that somebody left."""

    def change(session: Session) -> str:
        membership = get_membership_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
        member = get_member(session, run_id=course, login=student)
        if form.get("action") == "leave":
            end_enrolment(session, membership, member, at=at, by=visitor.caller.id)
            return f"/courses/{course}/roster?done=left"
        role = read_role(form.get("role", "")) or member.enrolment.role
        section = form.get("section", member.enrolment.section)
        change_member(session, membership, member, role=role, section=section, at=at)
        return build_person_path(course, member.login, done="changed")

    try:
        target = await service.writer.run(change)
    except (MalformedRequest, RequestRefused) as error:
        typed = FormState.refused(form, error)
        return await run_in_threadpool(
            _render_page, request, visitor, service, course, student, typed=typed
        )
    return RedirectResponse(target, status_code=303)


@router.post(_PERSON + "/link")
async def create_sign_in_link(
    request: Request,
    course: CourseId,
    student: StudentLogin,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Make a link with which somebody signs in once; this page alone shows it."""

    def make(session: Session) -> str:
        membership = get_membership_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
        member = get_member(session, run_id=course, login=student)
        return make_link_for(session, membership, member, at=at)

    try:
        code = await service.writer.run(make)
    except RequestRefused as error:
        typed = FormState.refused({}, error)
        return await run_in_threadpool(
            _render_page, request, visitor, service, course, student, typed=typed
        )
    link = _SignInLink(f"{service.base_url}/sign-in/{code}", at + LINK_LIFETIME)
    return await run_in_threadpool(
        _render_page, request, visitor, service, course, student, link=link
    )


def _render_page(
    request: Request,
    visitor: Visitor,
    service: Service,
    course: str,
    student: str,
    *,
    typed: FormState | None = None,
    link: _SignInLink | None = None,
    said: str | None = None,
) -> Response:
    typed = typed or FormState()
    with service.database.read() as session:
        membership = get_membership_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        member = get_member(session, run_id=course, login=student)
        joined_at = find_joined_at(session, enrolment_id=member.enrolment.id)
        work = [
            (line.assignment, service.context.published(session, line).form.title)
            for line in list_in_force(session, run_id=course)
        ]
    return render(
        request,
        "person.html",
        status=typed.status,
        visitor=visitor,
        membership=membership,
        member=member,
        joined_at=joined_at,
        work=work if member.enrolment.role is Role.STUDENT else [],
        here=build_person_path(course, member.login),
        roles=[(each.value, each.value) for each in Role],
        may_change=membership.role is Role.INSTRUCTOR,
        typed=typed,
        link=link,
        said=said,
        link_days=LINK_LIFETIME.days,
    )
