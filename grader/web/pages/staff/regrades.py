"""Regrades of an assignment: where one is needed, what one changes, and the decision about it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Membership
from grader.domain.regrades import RegradeState
from grader.domain.roles import Role
from grader.errors import MalformedRequest, NotFound, RequestRefused
from grader.grading.grades.overrides import MAX_REASON_LENGTH
from grader.grading.regrades.decide import (
    apply_regrade,
    decline_regrade,
    discard_regrade,
    refuse_students,
    start_regrade,
    undo_regrade,
)
from grader.grading.regrades.outdated import count_outdated
from grader.grading.regrades.preview import load_preview
from grader.store.database import Session
from grader.store.queries.jobs import find_job_about
from grader.store.queries.people import find_names
from grader.store.queries.regrades.records import RegradeLine, list_regrades
from grader.web.pages.context import ASSIGNMENT_PATH, AssignmentPage, FormDep
from grader.web.pages.form_state import FormState
from grader.web.pages.rendering import PageRoute

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_REGRADES_PATH = ASSIGNMENT_PATH + "/regrades"
_REGRADE_PATH = _REGRADES_PATH + "/{number}"
_Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
#: Changed grades on a page.
_PAGE_SIZE = 100
_CHOSEN = "question-"

STATE_WORDS = {
    RegradeState.JUDGING: "being prepared",
    RegradeState.READY: "waits for a decision",
    RegradeState.APPLIED: "applied",
    RegradeState.UNDONE: "undone",
    RegradeState.DISCARDED: "discarded",
    RegradeState.DECLINED: "declined",
}


@router.get(_REGRADES_PATH)
def show_regrades(page: AssignmentPage) -> Response:
    """Where attempts wait to be judged again, and all regrades."""
    return _render_regrades(page, FormState())


@router.post(_REGRADES_PATH)
async def create_regrade(page: AssignmentPage, form: FormDep) -> Response:
    """Begin a regrade of the chosen questions, or decide against one."""
    questions = [name.removeprefix(_CHOSEN) for name in form if name.startswith(_CHOSEN)]

    def change(session: Session) -> RegradeLine:
        membership = page.membership(session, Role.INSTRUCTOR)
        refuse_students(session, membership)
        if form.get("action") == "decline":
            return decline_regrade(
                session,
                page.grading,
                run_id=page.course,
                assignment=page.assignment,
                questions=questions,
                reason=form.get("reason", ""),
                by=membership.caller.id,
                at=page.at,
            )
        return start_regrade(
            session,
            page.grading,
            run_id=page.course,
            assignment=page.assignment,
            questions=questions,
            judges_all="judges_all" in form,
            never_lower="never_lower" in form,
            by=membership.caller.id,
            at=page.at,
        )

    try:
        line = await page.write(change)
    except (MalformedRequest, RequestRefused) as error:
        return await run_in_threadpool(_render_regrades, page, FormState.refused(form, error))
    path = page.request.url.path
    return page.redirect(path if line.state is RegradeState.DECLINED else f"{path}/{line.number}")


def _render_regrades(page: AssignmentPage, form: FormState) -> Response:
    with page.read() as session:
        membership = page.membership(session, Role.ASSISTANT)
        published = page.published(session)
        regrades = list_regrades(session, run_id=page.course, assignment=page.assignment)
        outdated = count_outdated(session, page.grading, published)
        names = find_names(session, person_ids=_list_people(regrades))
    return page.render(
        "staff/regrades.html",
        status=form.status,
        membership=membership,
        assignment_id=page.assignment,
        published=published,
        outdated=outdated,
        regrades=regrades,
        waiting=next((each for each in regrades if each.state.is_open), None),
        names=names,
        state_words=STATE_WORDS,
        may_decide=membership.role is Role.INSTRUCTOR,
        longest_reason=MAX_REASON_LENGTH,
        form=form,
    )


def _list_people(regrades: list[RegradeLine]) -> set[str]:
    return {
        person
        for each in regrades
        for person in (each.by, each.decided_by, each.undone_by)
        if person is not None
    }


@router.get(_REGRADE_PATH)
def show_regrade(
    page: AssignmentPage,
    number: _Number,
    start: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> Response:
    """What a regrade changes, the grades that lose most first, and the decision about it."""
    return _render_regrade(page, number, FormState(), start=start)


@router.get(_REGRADE_PATH + "/progress")
def show_progress(page: AssignmentPage, number: _Number) -> Response:
    """How far the preview is; the whole page is loaded again when it is done."""
    with page.read() as session:
        page.membership(session, Role.ASSISTANT)
        regrade = _get_regrade(session, page, number)
        job = find_job_about(session, subject=regrade.id)
    if not page.is_htmx:
        return page.redirect(page.request.url.path.removesuffix("/progress"))
    response = page.render(
        "staff/regrade_progress.html", regrade=regrade, job=job, here=_get_path(page, number)
    )
    if regrade.state is not RegradeState.JUDGING:
        response.headers["HX-Refresh"] = "true"
    return response


@router.post(_REGRADE_PATH)
async def decide_regrade(page: AssignmentPage, number: _Number, form: FormDep) -> Response:
    """Apply, undo or discard a regrade."""

    def change(session: Session) -> RegradeLine:
        membership = page.membership(session, Role.INSTRUCTOR)
        refuse_students(session, membership)
        regrade = _get_regrade(session, page, number)
        by, reason = membership.caller.id, form.get("reason", "")
        match form.get("action"):
            case "discard":
                return discard_regrade(
                    session, run_id=page.course, regrade_id=regrade.id, by=by, at=page.at
                )
            case "undo":
                return undo_regrade(
                    session, page.grading, run_id=page.course, regrade_id=regrade.id,
                    reason=reason, by=by, at=page.at,
                )  # fmt: skip
            case _:
                return apply_regrade(
                    session, page.grading, run_id=page.course, regrade_id=regrade.id,
                    reason=reason, by=by, at=page.at,
                )  # fmt: skip

    try:
        line = await page.write(change)
    except (MalformedRequest, RequestRefused) as error:
        refused = FormState.refused(form, error)
        return await run_in_threadpool(_render_regrade, page, number, refused)
    path = page.request.url.path
    is_gone = line.state is RegradeState.DISCARDED
    return page.redirect(path.rpartition("/")[0] if is_gone else path)


def _get_regrade(session: Session, page: AssignmentPage, number: int) -> RegradeLine:
    for each in list_regrades(session, run_id=page.course, assignment=page.assignment):
        if each.number == number:
            return each
    raise NotFound


def _get_path(page: AssignmentPage, number: int) -> str:
    return f"/courses/{page.course}/assignments/{page.assignment}/regrades/{number}"


def _render_regrade(
    page: AssignmentPage, number: int, form: FormState, *, start: int = 0
) -> Response:
    with page.read() as session:
        membership: Membership = page.membership(session, Role.ASSISTANT)
        published = page.published(session)
        regrade = _get_regrade(session, page, number)
        preview = load_preview(session, page.grading, regrade, limit=_PAGE_SIZE + 1, offset=start)
        job = find_job_about(session, subject=regrade.id)
        names = find_names(session, person_ids=_list_people([regrade]))
    return page.render(
        "staff/regrade.html",
        status=form.status,
        membership=membership,
        assignment_id=page.assignment,
        published=published,
        here=_get_path(page, number),
        regrade=regrade,
        preview=preview,
        changes=preview.changes[:_PAGE_SIZE],
        before=max(start - _PAGE_SIZE, 0) if start else None,
        after=start + _PAGE_SIZE if len(preview.changes) > _PAGE_SIZE else None,
        job=job,
        names=names,
        state_words=STATE_WORDS,
        may_decide=membership.role is Role.INSTRUCTOR,
        longest_reason=MAX_REASON_LENGTH,
        form=form,
    )
