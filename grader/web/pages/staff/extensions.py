"""Extensions of an assignment: who has more time or more attempts, and a form to give some."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Membership, get_membership_as
from grader.domain.roles import Role
from grader.errors import ErrorDetail, MalformedRequest, RequestRefused
from grader.grading.dates import read_local_time
from grader.grading.grades.extensions import (
    compute_extension_effect,
    load_extensions,
    record_extension,
)
from grader.grading.grades.overrides import MAX_REASON_LENGTH
from grader.store.database import Session
from grader.store.queries.courses import MemberLine, find_member, list_members
from grader.web.pages.form_state import FormState
from grader.web.pages.rendering import FormDep, PageRoute, Visitor, VisitorDep, render
from grader.web.params import AssignmentId, CourseId
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_EXTENSIONS = "/courses/{course}/assignments/{assignment}/extensions"
_MAX_EXTRA_ATTEMPTS = 1000
#: So many logins are offered while one is typed; a longer list would help nobody.
_MAX_SUGGESTED_STUDENTS = 300
_Login = Annotated[str, Query(max_length=200)]


@router.get(_EXTENSIONS)
def show_extensions(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    visitor: VisitorDep,
    service: ServiceDep,
    student: _Login = "",
    given: _Login = "",
) -> Response:
    """All extensions, the newest first, and for instructors a form to give one."""
    typed = FormState({"student": student} if student else {})
    return _render_page(request, visitor, service, course, assignment, typed, given=given)


@router.post(_EXTENSIONS)
async def update_extension(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Give an extension instead of an earlier one, or take one back."""

    def give(session: Session) -> str:
        membership = get_membership_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
        published = service.context.in_force(session, run_id=course, assignment=assignment)
        member = _get_student(session, course, form.get("student", ""))
        due_at, extra = None, 0
        if form.get("action") != "take_back":
            due_at, extra = _read_extension(
                form, membership, everybody_due_at=published.line.due_at
            )
        record_extension(
            session,
            service.context,
            membership,
            member,
            assignment=assignment,
            due_at=due_at,
            extra_attempts=extra,
            reason=form.get("reason", ""),
            at=at,
        )
        return member.login

    try:
        login = await service.writer.run(give)
    except (MalformedRequest, RequestRefused) as error:
        typed = FormState.refused(form, error)
        return await run_in_threadpool(
            _render_page, request, visitor, service, course, assignment, typed
        )
    return RedirectResponse(f"{request.url.path}?{urlencode({'given': login})}", status_code=303)


def _get_student(session: Session, course: str, login: str) -> MemberLine:
    login = login.strip()
    member = find_member(session, run_id=course, login=login) if login else None
    if member is None:
        raise _make_error("student", "student.unknown", "Nobody in this course has this login.")
    return member


def _read_extension(
    form: Mapping[str, str], membership: Membership, *, everybody_due_at: datetime | None
) -> tuple[datetime | None, int]:
    """The due date and the extra attempts of a form, which must give something."""
    due_at = read_local_time(
        form.get("due_at", ""), time_zone=membership.run.time_zone, field="due_at"
    )
    text = form.get("extra_attempts", "").strip() or "0"
    is_number = text.isascii() and text.isdigit() and len(text) < 6
    if not is_number or int(text) > _MAX_EXTRA_ATTEMPTS:
        says = f"Extra attempts are a whole number from 0 to {_MAX_EXTRA_ATTEMPTS}."
        raise _make_error("extra_attempts", "attempts.range", says)
    is_later = due_at is not None and everybody_due_at is not None and due_at > everybody_due_at
    if due_at is not None and not is_later:
        says = "This is no later than for everybody, so that it would give nothing."
        raise _make_error("due_at", "extension.empty", says)
    if not is_later and text.strip("0") == "":
        raise _make_error("due_at", "extension.empty", "Give a later date or more attempts.")
    return due_at, int(text)


def _make_error(field: str, code: str, says: str) -> MalformedRequest:
    return MalformedRequest.of(ErrorDetail(field, code, says))


def _render_page(
    request: Request,
    visitor: Visitor,
    service: Service,
    course: str,
    assignment: str,
    typed: FormState,
    *,
    given: str = "",
) -> Response:
    with service.database.read() as session:
        membership = get_membership_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        found = load_extensions(session, service.context, membership, assignment=assignment)
        students = list_members(session, run_id=course, limit=_MAX_SUGGESTED_STUDENTS + 1)
    return render(
        request,
        "extensions.html",
        status=typed.status,
        visitor=visitor,
        membership=membership,
        assignment_id=assignment,
        title=found.published.form.title,
        found=found,
        usual=compute_extension_effect(found.published, None),
        just_given=next((each for each in found.given if each.holds and each.login == given), None),
        students=students if len(students) <= _MAX_SUGGESTED_STUDENTS else [],
        may_give=membership.role is Role.INSTRUCTOR,
        typed=typed,
        is_taking_back=typed.get("action") == "take_back",
        longest_reason=MAX_REASON_LENGTH,
    )
