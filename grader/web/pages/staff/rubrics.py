"""Rubrics for staff: what is in force, what it claims, how its examples come out, what changed."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Membership, get_membership_as
from grader.domain.roles import Role
from grader.errors import NotFound
from grader.grading.context import PublishedAssignment
from grader.grading.publishing.example_runs import (
    SHOWN_VARIANTS,
    find_example_runs,
    run_rubric_examples,
)
from grader.grading.publishing.history import (
    DiffKind,
    PublicationChange,
    PublicationHistory,
    compare_texts,
    get_rubric_text,
    load_history,
)
from grader.grading.publishing.publish import EXAMPLE_VARIANTS
from grader.rubric.catalog import Rubric
from grader.web.pages.rendering import PageRoute, Visitor, VisitorDep, is_htmx_request, render
from grader.web.pages.staff.rubric_text import (
    list_examples,
    list_graded_items,
    list_misconceptions,
    render_yaml_lines,
)
from grader.web.params import AssignmentId, CourseId, QuestionId
from grader.web.service import Service, ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_RUBRICS = "/courses/{course}/assignments/{assignment}/rubrics"
_QUESTION = _RUBRICS + "/{question}"
_Number = Annotated[str, Query(max_length=9)]


def _load_rubrics(
    service: Service, visitor: Visitor, course: str, assignment: str
) -> tuple[Membership, PublishedAssignment, PublicationHistory]:
    """Where the visitor is, what is in force there, and what was published before."""
    with service.database.read() as session:
        membership = get_membership_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        published = service.context.in_force(session, run_id=course, assignment=assignment)
        history = load_history(session, run_id=course, assignment=assignment)
    return membership, published, history


@router.get(_RUBRICS)
def show_rubrics(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    visitor: VisitorDep,
    service: ServiceDep,
) -> Response:
    """All questions with their rubrics, and everything that was published."""
    membership, published, history = _load_rubrics(service, visitor, course, assignment)
    rubrics = published.assignment.rubrics
    return render(
        request,
        "rubrics.html",
        visitor=visitor,
        membership=membership,
        published=published,
        rubrics=rubrics,
        changed={name: history.versions_of(name)[0] for name in rubrics},
        trials={name: find_example_runs(service.context, each) for name, each in rubrics.items()},
        claims={name: len(list_graded_items(each)) for name, each in rubrics.items()},
        history=history,
    )


@router.get(_QUESTION)
def show_rubric(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    question: QuestionId,
    visitor: VisitorDep,
    service: ServiceDep,
) -> Response:
    """A question's file as it is in force, and what it says in words."""
    membership, published, history = _load_rubrics(service, visitor, course, assignment)
    rubric = published.rubric(question)
    trial = find_example_runs(service.context, rubric)
    return render(
        request,
        "rubric.html",
        visitor=visitor,
        membership=membership,
        published=published,
        rubric=rubric,
        lines=render_yaml_lines(rubric.text),
        claims=list_graded_items(rubric),
        signs=list_misconceptions(rubric),
        versions=history.versions_of(question),
        trial=trial,
        examples=list_examples(rubric, trial.tried) if trial else [],
        variants=SHOWN_VARIANTS,
        published_variants=EXAMPLE_VARIANTS,
    )


@router.get(_QUESTION + "/examples")
async def show_examples(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    question: QuestionId,
    visitor: VisitorDep,
    service: ServiceDep,
    short: Annotated[str, Query(max_length=5)] = "",
) -> Response:
    """How the examples of a question come out; a part of a page where only that is asked for."""

    def look() -> tuple[Membership, PublishedAssignment, Rubric]:
        membership, published, _ = _load_rubrics(service, visitor, course, assignment)
        return membership, published, published.rubric(question)

    membership, published, rubric = await run_in_threadpool(look)
    trial = await anyio.to_thread.run_sync(
        run_rubric_examples, service.context, rubric, limiter=_get_limiter(request)
    )
    part = "parts/examples_short.html" if short else "parts/examples.html"
    return render(
        request,
        part if is_htmx_request(request) else "rubric_examples.html",
        visitor=visitor,
        membership=membership,
        published=published,
        rubric=rubric,
        trial=trial,
        examples=list_examples(rubric, trial.tried),
        variants=SHOWN_VARIANTS,
        published_variants=EXAMPLE_VARIANTS,
    )


def _get_limiter(request: Request) -> CapacityLimiter:
    """Examples take a core for seconds: they are tried one after another, beside the readers."""
    state = request.app.state
    if not hasattr(state, "examples_limiter"):
        state.examples_limiter = CapacityLimiter(1)
    limiter: CapacityLimiter = state.examples_limiter
    return limiter


@router.get(_QUESTION + "/versions")
def show_versions(
    request: Request,
    course: CourseId,
    assignment: AssignmentId,
    question: QuestionId,
    visitor: VisitorDep,
    service: ServiceDep,
    before: Annotated[_Number, Query(alias="from")] = "",
    after: Annotated[_Number, Query(alias="to")] = "",
) -> Response:
    """The published versions of a question's file, and the difference of two of them."""
    membership, published, history = _load_rubrics(service, visitor, course, assignment)
    versions = history.versions_of(question)
    if not versions:
        raise NotFound
    newest = _read_number(after) if after else versions[0].line.number
    oldest = _read_number(before) if before else _find_previous_number(versions, newest)
    with service.database.read() as session:
        texts = [
            get_rubric_text(session, history.get(number), question=question)
            for number in (oldest, newest)
        ]
    difference = compare_texts(*texts)
    return render(
        request,
        "rubric_versions.html",
        visitor=visitor,
        membership=membership,
        published=published,
        question=question,
        versions=versions,
        oldest=oldest,
        newest=newest,
        numbers=[each.line.number for each in history.publications if question in each.versions],
        difference=difference,
        added=sum(each.kind is DiffKind.ADDED for each in difference),
        removed=sum(each.kind is DiffKind.REMOVED for each in difference),
    )


def _read_number(text: str) -> int:
    """The number of a publication."""
    if not (text.isascii() and text.isdigit()):
        raise NotFound
    return int(text)


def _find_previous_number(versions: tuple[PublicationChange, ...], newest: int) -> int:
    """Where the version before that of `newest` came from; the same where there is none."""
    brought = [each.line.number for each in versions if each.line.number <= newest]
    return brought[1] if len(brought) > 1 else newest
