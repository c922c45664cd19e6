"""One person of a course: role and section, a one-time sign-in link, and leaving the course."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from grader.accounts.rosters import change_member, end_enrolment
from grader.accounts.sign_in import LINK_LIFETIME, make_link_for
from grader.domain.roles import Role
from grader.errors import MalformedRequest, RequestRefused
from grader.store.database import Session
from grader.store.queries.courses import get_member
from grader.store.queries.publications import list_in_force
from grader.store.queries.rosters import find_joined_at
from grader.web.pages.context import COURSE_PATH, CoursePage, FormDep
from grader.web.pages.form_state import FormState
from grader.web.pages.rendering import PageRoute
from grader.web.pages.staff.roster import build_person_path, read_role
from grader.web.params import StudentLogin

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_PERSON_PATH = COURSE_PATH + "/people/{student}"
_DONE_MESSAGES = {
    "added": "Added. Make a sign-in link so that they can sign in for the first time.",
    "changed": "Changed.",
}


@dataclass(frozen=True, slots=True)
class _SignInLink:
    """A one-time sign-in link, which is shown only once."""

    url: str
    expires_at: datetime


@router.get(_PERSON_PATH)
def show_person(page: CoursePage, student: StudentLogin, done: str = "") -> Response:
    """A member of the course, with forms for instructors."""
    return _render_page(page, student, message=_DONE_MESSAGES.get(done))


@router.post(_PERSON_PATH)
async def change_person(page: CoursePage, student: StudentLogin, form: FormDep) -> Response:
    """Change a member's role or section, or end the enrolment."""

    def change(session: Session) -> str:
        membership = page.membership(session, Role.INSTRUCTOR)
        member = get_member(session, run_id=page.course, login=student)
        if form.get("action") == "leave":
            end_enrolment(session, membership, member, at=page.at, by=page.caller.id)
            return f"/courses/{page.course}/roster?done=left"
        role = read_role(form.get("role", "")) or member.enrolment.role
        section = form.get("section", member.enrolment.section)
        change_member(session, membership, member, role=role, section=section, at=page.at)
        return build_person_path(page.course, member.login, done="changed")

    try:
        target = await page.write(change)
    except (MalformedRequest, RequestRefused) as error:
        return await run_in_threadpool(_render_page, page, student, FormState.refused(form, error))
    return page.redirect(target)


@router.post(_PERSON_PATH + "/link")
async def create_sign_in_link(page: CoursePage, student: StudentLogin, form: FormDep) -> Response:
    """Make a one-time sign-in link; only this response shows it."""

    def make(session: Session) -> str:
        membership = page.membership(session, Role.INSTRUCTOR)
        member = get_member(session, run_id=page.course, login=student)
        return make_link_for(session, membership, member, at=page.at)

    try:
        code = await page.write(make)
    except RequestRefused as error:
        return await run_in_threadpool(_render_page, page, student, FormState.refused({}, error))
    link = _SignInLink(f"{page.service.base_url}/sign-in/{code}", page.at + LINK_LIFETIME)
    return await run_in_threadpool(_render_page, page, student, link=link)


def _render_page(
    page: CoursePage,
    student: str,
    form: FormState | None = None,
    *,
    link: _SignInLink | None = None,
    message: str | None = None,
) -> Response:
    form = form or FormState()
    with page.read() as session:
        membership = page.membership(session, Role.ASSISTANT)
        member = get_member(session, run_id=page.course, login=student)
        joined_at = find_joined_at(session, enrolment_id=member.enrolment.id)
        work = [
            (line.assignment, page.grading.published(session, line).form.title)
            for line in list_in_force(session, run_id=page.course)
        ]
    return page.render(
        "staff/roster/person.html",
        status=form.status,
        membership=membership,
        member=member,
        joined_at=joined_at,
        work=work if member.enrolment.role is Role.STUDENT else [],
        person_path=build_person_path(page.course, member.login),
        roles=[(each.value, each.value) for each in Role],
        may_change=membership.role is Role.INSTRUCTOR,
        form=form,
        link=link,
        message=message,
        link_days=LINK_LIFETIME.days,
    )
