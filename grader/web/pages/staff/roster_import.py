"""A roster file: first what it would change, then exactly that."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import enter_as
from grader.accounts.roster_plans import Kind, RosterPlan, plan_roster
from grader.accounts.rosters import apply_seen, decode_roster, read_roster
from grader.domain.roles import Role
from grader.errors import KeysetError, MalformedRequest, Refused
from grader.store.database import Session
from grader.web.auth import CourseId
from grader.web.pages.form_state import Typed
from grader.web.pages.rendering import PageRoute, Visitor, VisitorDep, render
from grader.web.pages.student.answer_form import Sent, SentDep
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_IMPORT = "/courses/{course}/roster/import"
#: So many may leave without saying that it is meant, as in the API.
_FEW = 5
#: What happens to one, and to many.
_KINDS = {
    Kind.NEW: ("new", "new"),
    Kind.ENROLLED: ("enrolled", "enrolled"),
    Kind.RETURNING: ("comes back", "come back"),
    Kind.CHANGED: ("changed", "changed"),
    Kind.UNCHANGED: ("unchanged", "unchanged"),
    Kind.LEAVING: ("leaves", "leave"),
}


@router.get(_IMPORT)
def show_import(
    request: Request, course: CourseId, visitor: VisitorDep, service: ServiceDep
) -> Response:
    """A form for a roster: a file, or its text."""
    return _form_page(request, visitor, service, course, Typed())


@router.post(_IMPORT)
async def import_roster(
    request: Request,
    course: CourseId,
    visitor: VisitorDep,
    sent: SentDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Show what a roster would change; apply it where that was seen and confirmed."""
    if sent.fields.get("action") == "edit":
        typed = Typed(sent.fields)
        return await run_in_threadpool(_form_page, request, visitor, service, course, typed)
    if sent.fields.get("action") != "apply":
        return await run_in_threadpool(_preview, request, visitor, service, course, sent)

    def apply(session: Session) -> None:
        place = enter_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
        plan = apply_seen(
            session,
            place,
            read_roster(sent.fields.get("csv", "")),
            is_complete="is_complete" in sent.fields,
            seen=sent.fields.get("seen", ""),
            at=at,
            by=visitor.caller.id,
        )
        _refuse_exodus(plan, is_meant="leaving" in sent.fields)

    try:
        await service.writer.run(apply)
    except (MalformedRequest, Refused) as error:
        return await run_in_threadpool(
            _preview, request, visitor, service, course, sent, error=error
        )
    return RedirectResponse(f"/courses/{course}/roster?done=applied", status_code=303)


def _refuse_exodus(plan: RosterPlan, *, is_meant: bool) -> None:
    """Refuse to let many leave unless it is meant: a roster may have been cut off."""
    leaving = len(plan.of(Kind.LEAVING))
    if leaving > _FEW and not is_meant:
        raise Refused(
            f"{leaving} students would leave. Tick the box if that is meant.",
            code="roster.leaving",
        )


def _preview(
    request: Request,
    visitor: Visitor,
    service: Service,
    course: str,
    sent: Sent,
    *,
    error: KeysetError | None = None,
) -> Response:
    """What a roster would change, or what is wrong with it."""
    fields = dict(sent.fields)
    with service.database.read() as session:
        place = enter_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
        try:
            if "file" in sent.files:
                fields["csv"] = decode_roster(sent.files["file"][1])
            is_complete = "is_complete" in fields
            roster = read_roster(fields.get("csv", ""))
            plan = plan_roster(session, place, roster, is_complete=is_complete)
        except MalformedRequest as refused:
            typed = Typed.refused(fields, refused)
            return _form_page(request, visitor, service, course, typed)
    typed = Typed.refused(fields, error) if error else Typed(fields)
    return render(
        request,
        "roster_plan.html",
        status=typed.status,
        visitor=visitor,
        place=place,
        typed=typed,
        plan=plan,
        changes=[each for each in plan.changes if each.kind is not Kind.UNCHANGED or each.kept],
        counts=[(n, _KINDS[kind][n != 1]) for kind, n in plan.counts.items() if n],
        kinds={kind.value: words for kind, (words, _) in _KINDS.items()},
        leaving=len(plan.of(Kind.LEAVING)),
        few=_FEW,
    )


def _form_page(
    request: Request, visitor: Visitor, service: Service, course: str, typed: Typed
) -> Response:
    with service.database.read() as session:
        place = enter_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
    return render(
        request,
        "roster_import.html",
        status=typed.status,
        visitor=visitor,
        place=place,
        typed=typed,
    )
