"""A roster file: first what it would change, then exactly that."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import get_membership_as
from grader.accounts.roster_files import decode_roster, read_roster
from grader.accounts.roster_plans import RosterChangeKind, RosterPlan, plan_roster
from grader.accounts.rosters import apply_confirmed_roster
from grader.domain.roles import Role
from grader.errors import KeysetError, MalformedRequest, RequestRefused
from grader.store.database import Session
from grader.web.pages.form_state import FormState
from grader.web.pages.rendering import PageRoute, Visitor, VisitorDep, render
from grader.web.pages.student.answer_form import SubmittedForm, SubmittedFormDep
from grader.web.params import CourseId
from grader.web.service import ReceivedAt, Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_IMPORT = "/courses/{course}/roster/import"
#: So many may leave without saying that it is meant, as in the API.
_MAX_UNCONFIRMED_LEAVING = 5
#: What happens to one, and to many.
_KIND_TEXTS = {
    RosterChangeKind.NEW: ("new", "new"),
    RosterChangeKind.ENROLLED: ("enrolled", "enrolled"),
    RosterChangeKind.RETURNING: ("comes back", "come back"),
    RosterChangeKind.CHANGED: ("changed", "changed"),
    RosterChangeKind.UNCHANGED: ("unchanged", "unchanged"),
    RosterChangeKind.LEAVING: ("leaves", "leave"),
}


@router.get(_IMPORT)
def show_import_form(
    request: Request, course: CourseId, visitor: VisitorDep, service: ServiceDep
) -> Response:
    """A form for a roster: a file, or its text."""
    return _render_import_form(request, visitor, service, course, FormState())


@router.post(_IMPORT)
async def import_roster(
    request: Request,
    course: CourseId,
    visitor: VisitorDep,
    sent: SubmittedFormDep,
    service: ServiceDep,
    at: ReceivedAt,
) -> Response:
    """Show what a roster would change; apply it where that was seen and confirmed."""
    if sent.fields.get("action") == "edit":
        typed = FormState(sent.fields)
        return await run_in_threadpool(
            _render_import_form, request, visitor, service, course, typed
        )
    if sent.fields.get("action") != "apply":
        return await run_in_threadpool(_render_preview, request, visitor, service, course, sent)

    def apply(session: Session) -> None:
        membership = get_membership_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
        plan = apply_confirmed_roster(
            session,
            membership,
            read_roster(sent.fields.get("csv", "")),
            is_complete="is_complete" in sent.fields,
            digest=sent.fields.get("seen", ""),
            at=at,
            by=visitor.caller.id,
        )
        _refuse_many_leaving(plan, is_meant="leaving" in sent.fields)

    try:
        await service.writer.run(apply)
    except (MalformedRequest, RequestRefused) as error:
        return await run_in_threadpool(
            _render_preview, request, visitor, service, course, sent, error=error
        )
    return RedirectResponse(f"/courses/{course}/roster?done=applied", status_code=303)


def _refuse_many_leaving(plan: RosterPlan, *, is_meant: bool) -> None:
    """Refuse to let many leave unless it is meant: a roster may have been cut off."""
    leaving = len(plan.of(RosterChangeKind.LEAVING))
    if leaving > _MAX_UNCONFIRMED_LEAVING and not is_meant:
        raise RequestRefused(
            f"{leaving} students would leave. Tick the box if that is meant.",
            code="roster.leaving",
        )


def _render_preview(
    request: Request,
    visitor: Visitor,
    service: Service,
    course: str,
    sent: SubmittedForm,
    *,
    error: KeysetError | None = None,
) -> Response:
    """What a roster would change, or what is wrong with it."""
    fields = dict(sent.fields)
    with service.database.read() as session:
        membership = get_membership_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
        try:
            if "file" in sent.files:
                fields["csv"] = decode_roster(sent.files["file"][1])
            is_complete = "is_complete" in fields
            roster = read_roster(fields.get("csv", ""))
            plan = plan_roster(session, membership, roster, is_complete=is_complete)
        except MalformedRequest as refused:
            typed = FormState.refused(fields, refused)
            return _render_import_form(request, visitor, service, course, typed)
    typed = FormState.refused(fields, error) if error else FormState(fields)
    return render(
        request,
        "roster_plan.html",
        status=typed.status,
        visitor=visitor,
        membership=membership,
        typed=typed,
        plan=plan,
        changes=[
            each
            for each in plan.changes
            if each.kind is not RosterChangeKind.UNCHANGED or each.kept
        ],
        counts=[(n, _KIND_TEXTS[kind][n != 1]) for kind, n in plan.counts.items() if n],
        kinds={kind.value: words for kind, (words, _) in _KIND_TEXTS.items()},
        leaving=len(plan.of(RosterChangeKind.LEAVING)),
        few=_MAX_UNCONFIRMED_LEAVING,
    )


def _render_import_form(
    request: Request, visitor: Visitor, service: Service, course: str, typed: FormState
) -> Response:
    with service.database.read() as session:
        membership = get_membership_as(session, visitor.caller, Role.INSTRUCTOR, run_id=course)
    return render(
        request,
        "roster_import.html",
        status=typed.status,
        visitor=visitor,
        membership=membership,
        typed=typed,
    )
