"""Importing a roster file: a preview of its changes, then exactly those changes."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from grader.accounts.roster_files import decode_roster, read_roster
from grader.accounts.roster_plans import RosterChangeKind, RosterPlan, plan_roster
from grader.accounts.rosters import apply_confirmed_roster
from grader.domain.roles import Role
from grader.errors import KeysetError, MalformedRequest, RequestRefused
from grader.store.database import Session
from grader.web.pages.context import COURSE_PATH, CoursePage
from grader.web.pages.form_state import FormState
from grader.web.pages.rendering import PageRoute
from grader.web.pages.student.answer_form import SubmittedForm, SubmittedFormDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_IMPORT_PATH = COURSE_PATH + "/roster/import"
#: Maximum students who may leave without confirmation, as in the API.
_MAX_UNCONFIRMED_LEAVING = 5
#: What happens to one person, and to several.
_KIND_TEXTS = {
    RosterChangeKind.NEW: ("new", "new"),
    RosterChangeKind.ENROLLED: ("enrolled", "enrolled"),
    RosterChangeKind.RETURNING: ("returns", "return"),
    RosterChangeKind.CHANGED: ("changed", "changed"),
    RosterChangeKind.UNCHANGED: ("unchanged", "unchanged"),
    RosterChangeKind.LEAVING: ("leaves", "leave"),
}


@router.get(_IMPORT_PATH)
def show_import_form(page: CoursePage) -> Response:
    """A form for a roster, as a file or as text."""
    return _render_import_form(page, FormState())


@router.post(_IMPORT_PATH)
async def import_roster(page: CoursePage, sent: SubmittedFormDep) -> Response:
    """Show what a roster would change; apply it once the preview was confirmed."""
    fields = sent.fields
    if fields.get("action") == "edit":
        return await run_in_threadpool(_render_import_form, page, FormState(fields))
    if fields.get("action") != "apply":
        return await run_in_threadpool(_render_preview, page, sent)

    def apply(session: Session) -> None:
        plan = apply_confirmed_roster(
            session,
            page.membership(session, Role.INSTRUCTOR),
            read_roster(fields.get("csv", "")),
            is_complete="is_complete" in fields,
            digest=fields.get("seen", ""),
            at=page.at,
            by=page.caller.id,
        )
        _refuse_many_leaving(plan, is_confirmed="leaving" in fields)

    try:
        await page.write(apply)
    except (MalformedRequest, RequestRefused) as error:
        return await run_in_threadpool(_render_preview, page, sent, error)
    return page.redirect(f"/courses/{page.course}/roster?done=applied")


def _refuse_many_leaving(plan: RosterPlan, *, is_confirmed: bool) -> None:
    """Refuse to end many enrolments without confirmation: the file may be incomplete."""
    leaving = len(plan.of(RosterChangeKind.LEAVING))
    if leaving > _MAX_UNCONFIRMED_LEAVING and not is_confirmed:
        raise RequestRefused(
            f"{leaving} students would leave. Tick the box to confirm this.",
            code="roster.leaving",
        )


def _render_preview(
    page: CoursePage, sent: SubmittedForm, error: KeysetError | None = None
) -> Response:
    """What a roster would change, or what is wrong with it."""
    fields = dict(sent.fields)
    with page.read() as session:
        membership = page.membership(session, Role.INSTRUCTOR)
        try:
            if "file" in sent.files:
                fields["csv"] = decode_roster(sent.files["file"][1])
            is_complete = "is_complete" in fields
            roster = read_roster(fields.get("csv", ""))
            plan = plan_roster(session, membership, roster, is_complete=is_complete)
        except MalformedRequest as refused:
            return _render_import_form(page, FormState.refused(fields, refused))
    form = FormState.refused(fields, error) if error else FormState(fields)
    return page.render(
        "staff/roster/plan.html",
        status=form.status,
        membership=membership,
        form=form,
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


def _render_import_form(page: CoursePage, form: FormState) -> Response:
    with page.read() as session:
        membership = page.membership(session, Role.INSTRUCTOR)
    return page.render(
        "staff/roster/import.html", status=form.status, membership=membership, form=form
    )
