"""Extensions of an assignment: more time or attempts for one student, and a form to give them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Response
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Membership
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
from grader.web.pages.context import ASSIGNMENT_PATH, AssignmentPage, FormDep
from grader.web.pages.form_numbers import read_whole_number
from grader.web.pages.form_state import FormState
from grader.web.pages.rendering import PageRoute

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_EXTENSIONS_PATH = ASSIGNMENT_PATH + "/extensions"
_MAX_EXTRA_ATTEMPTS = 1000
#: In larger courses the form suggests no logins.
_MAX_SUGGESTED_STUDENTS = 300
_Login = Annotated[str, Query(max_length=200)]


@router.get(_EXTENSIONS_PATH)
def show_extensions(page: AssignmentPage, student: _Login = "", given: _Login = "") -> Response:
    """All extensions, the newest first, and for instructors a form to give one."""
    return _render_page(page, FormState({"student": student} if student else {}), given=given)


@router.post(_EXTENSIONS_PATH)
async def update_extension(page: AssignmentPage, form: FormDep) -> Response:
    """Give an extension, which replaces an earlier one, or take it back."""

    def give(session: Session) -> str:
        membership = page.membership(session, Role.INSTRUCTOR)
        published = page.published(session)
        member = _get_student(session, page.course, form.get("student", ""))
        due_at, extra = None, 0
        if form.get("action") != "take_back":
            due_at, extra = _read_extension(
                form, membership, everybody_due_at=published.line.due_at
            )
        record_extension(
            session,
            page.grading,
            membership,
            member,
            assignment=page.assignment,
            due_at=due_at,
            extra_attempts=extra,
            reason=form.get("reason", ""),
            at=page.at,
        )
        return member.login

    try:
        login = await page.write(give)
    except (MalformedRequest, RequestRefused) as error:
        return await run_in_threadpool(_render_page, page, FormState.refused(form, error))
    return page.redirect(f"{page.request.url.path}?{urlencode({'given': login})}")


def _get_student(session: Session, course: str, login: str) -> MemberLine:
    login = login.strip()
    member = find_member(session, run_id=course, login=login) if login else None
    if member is None:
        raise _make_error("student", "student.unknown", "There is no such login in this course.")
    return member


def _read_extension(
    form: Mapping[str, str], membership: Membership, *, everybody_due_at: datetime | None
) -> tuple[datetime | None, int]:
    """The due date and the extra attempts of a form; at least one must be given."""
    due_at = read_local_time(
        form.get("due_at", ""), time_zone=membership.run.time_zone, field="due_at"
    )
    text = form.get("extra_attempts", "").strip() or "0"
    extra = read_whole_number(text, most=_MAX_EXTRA_ATTEMPTS)
    if extra is None:
        message = f"Extra attempts must be a whole number from 0 to {_MAX_EXTRA_ATTEMPTS}."
        raise _make_error("extra_attempts", "attempts.range", message)
    is_later = due_at is not None and everybody_due_at is not None and due_at > everybody_due_at
    if due_at is not None and not is_later:
        message = "This is not later than the standard due date."
        raise _make_error("due_at", "extension.empty", message)
    if not is_later and extra == 0:
        raise _make_error("due_at", "extension.empty", "Give a later date or more attempts.")
    return due_at, extra


def _make_error(field: str, code: str, message: str) -> MalformedRequest:
    return MalformedRequest(message, code=code, faults=(ErrorDetail(field, code, message),))


def _render_page(page: AssignmentPage, form: FormState, *, given: str = "") -> Response:
    with page.read() as session:
        membership = page.membership(session, Role.ASSISTANT)
        found = load_extensions(session, page.grading, membership, assignment=page.assignment)
        students = list_members(session, run_id=page.course, limit=_MAX_SUGGESTED_STUDENTS + 1)
    return page.render(
        "staff/extensions.html",
        status=form.status,
        membership=membership,
        assignment_id=page.assignment,
        title=found.published.form.title,
        found=found,
        usual=compute_extension_effect(found.published, None),
        just_given=next((each for each in found.given if each.holds and each.login == given), None),
        students=students if len(students) <= _MAX_SUGGESTED_STUDENTS else [],
        may_give=membership.role is Role.INSTRUCTOR,
        form=form,
        is_taking_back=form.get("action") == "take_back",
        longest_reason=MAX_REASON_LENGTH,
    )
