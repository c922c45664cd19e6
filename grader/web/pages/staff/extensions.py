"""Extensions of an assignment: who has more time or more attempts, and a form to give some."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Place, enter_as
from grader.domain.roles import Role
from grader.errors import Fault, MalformedRequest, Refused
from grader.grading.dates import read_local
from grader.grading.grades.extensions import effect_of, load_extensions
from grader.grading.grades.overrides import LONGEST_REASON, extend
from grader.store.database import Session
from grader.store.queries.courses import Member, find_member, list_members
from grader.web.api.courses import Assignment
from grader.web.auth import CourseId
from grader.web.pages.form_state import Typed
from grader.web.pages.rendering import FormDep, PageRoute, Visitor, VisitorDep, render
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_EXTENSIONS = "/courses/{course}/assignments/{assignment}/extensions"
_MOST_EXTRA = 1000
#: So many logins are offered while one is typed; a longer list would help nobody.
_FEW_STUDENTS = 300
_Login = Annotated[str, Query(max_length=200)]


@router.get(_EXTENSIONS)
def show_extensions(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    visitor: VisitorDep,
    service: ServiceDep,
    student: _Login = "",
    given: _Login = "",
) -> Response:
    """All extensions, the newest first, and for instructors a form to give one."""
    typed = Typed({"student": student} if student else {})
    return _page(request, visitor, service, course, assignment, typed, given=given)


@router.post(_EXTENSIONS)
async def give_extension(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    visitor: VisitorDep,
    form: FormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Give an extension instead of an earlier one, or take one back."""

    def give(session: Session) -> str:
        place = enter_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
        published = service.desk.in_force(session, run_id=course, assignment=assignment)
        member = _find_student(session, course, form.get("student", ""))
        due_at, extra = None, 0
        if form.get("action") != "take_back":
            due_at, extra = _read_more(form, place, everybody_due_at=published.line.due_at)
        extend(
            session,
            service.desk,
            place,
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
    except (MalformedRequest, Refused) as error:
        typed = Typed.refused(form, error)
        return await run_in_threadpool(_page, request, visitor, service, course, assignment, typed)
    return RedirectResponse(f"{request.url.path}?{urlencode({'given': login})}", status_code=303)


def _find_student(session: Session, course: str, login: str) -> Member:
    login = login.strip()
    member = find_member(session, run_id=course, login=login) if login else None
    if member is None:
        raise _refuse("student", "student.unknown", "Nobody in this course has this login.")
    return member


def _read_more(
    form: Mapping[str, str], place: Place, *, everybody_due_at: datetime | None
) -> tuple[datetime | None, int]:
    """The due date and the extra attempts of a form, which must give something."""
    due_at = read_local(form.get("due_at", ""), time_zone=place.run.time_zone, pointer="#/due_at")
    text = form.get("extra_attempts", "").strip() or "0"
    is_number = text.isascii() and text.isdigit() and len(text) < 6
    if not is_number or int(text) > _MOST_EXTRA:
        says = f"Extra attempts are a whole number from 0 to {_MOST_EXTRA}."
        raise _refuse("extra_attempts", "attempts.range", says)
    is_later = due_at is not None and everybody_due_at is not None and due_at > everybody_due_at
    if due_at is not None and not is_later:
        says = "This is no later than for everybody, so that it would give nothing."
        raise _refuse("due_at", "extension.empty", says)
    if not is_later and text.strip("0") == "":
        raise _refuse("due_at", "extension.empty", "Give a later date or more attempts.")
    return due_at, int(text)


def _refuse(field: str, code: str, says: str) -> MalformedRequest:
    return MalformedRequest(says, code=code, faults=(Fault(f"#/{field}", code, says),))


def _page(
    request: Request,
    visitor: Visitor,
    service: Service,
    course: str,
    assignment: str,
    typed: Typed,
    *,
    given: str = "",
) -> Response:
    with service.database.read() as session:
        place = enter_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        found = load_extensions(session, service.desk, place, assignment=assignment)
        students = list_members(session, run_id=course, limit=_FEW_STUDENTS + 1)
    return render(
        request,
        "extensions.html",
        status=typed.status,
        visitor=visitor,
        place=place,
        assignment_id=assignment,
        title=found.published.form.title,
        found=found,
        usual=effect_of(found.published, None),
        just_given=next((each for each in found.given if each.holds and each.login == given), None),
        students=students if len(students) <= _FEW_STUDENTS else [],
        may_give=place.role is Role.INSTRUCTOR,
        typed=typed,
        is_taking_back=typed.get("action") == "take_back",
        longest_reason=LONGEST_REASON,
    )
