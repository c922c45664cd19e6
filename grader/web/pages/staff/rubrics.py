"""Rubrics for staff: what is in force, what earns points, example runs, and versions."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Membership
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
from grader.web.pages.context import (
    ASSIGNMENT_PATH,
    AssignmentContext,
    AssignmentPage,
    QuestionPage,
)
from grader.web.pages.form_numbers import read_whole_number
from grader.web.pages.rendering import PageRoute
from grader.web.pages.staff.rubric_text import (
    list_examples,
    list_graded_items,
    list_misconceptions,
    render_yaml_lines,
)

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_RUBRICS_PATH = ASSIGNMENT_PATH + "/rubrics"
_QUESTION_PATH = _RUBRICS_PATH + "/{question}"
_Number = Annotated[str, Query(max_length=9)]


def _load_rubrics(
    page: AssignmentContext,
) -> tuple[Membership, PublishedAssignment, PublicationHistory]:
    """The visitor's membership, the publication in force, and the history."""
    with page.read() as session:
        membership = page.membership(session, Role.ASSISTANT)
        history = load_history(session, run_id=page.course, assignment=page.assignment)
        return membership, page.published(session), history


@router.get(_RUBRICS_PATH)
def show_rubrics(page: AssignmentPage) -> Response:
    """All questions with their rubrics, and all publications."""
    membership, published, history = _load_rubrics(page)
    rubrics = published.assignment.rubrics
    return page.render(
        "staff/rubrics/rubrics.html",
        membership=membership,
        published=published,
        rubrics=rubrics,
        changed={name: history.versions_of(name)[0] for name in rubrics},
        trials={name: find_example_runs(page.grading, each) for name, each in rubrics.items()},
        item_counts={name: len(list_graded_items(each)) for name, each in rubrics.items()},
        history=history,
    )


@router.get(_QUESTION_PATH)
def show_rubric(page: QuestionPage) -> Response:
    """The rubric of a question in force, as a file and in words."""
    membership, published, history = _load_rubrics(page)
    rubric = published.rubric(page.question)
    trial = find_example_runs(page.grading, rubric)
    return page.render(
        "staff/rubrics/rubric.html",
        membership=membership,
        published=published,
        rubric=rubric,
        lines=render_yaml_lines(rubric.text),
        items=list_graded_items(rubric),
        misconceptions=list_misconceptions(rubric),
        versions=history.versions_of(page.question),
        trial=trial,
        examples=list_examples(rubric, trial.tried) if trial else [],
        variants=SHOWN_VARIANTS,
        published_variants=EXAMPLE_VARIANTS,
    )


@router.get(_QUESTION_PATH + "/examples")
async def show_examples(
    page: QuestionPage, short: Annotated[str, Query(max_length=5)] = ""
) -> Response:
    """Run the examples of a question, and show the results."""
    membership, published, _ = await run_in_threadpool(_load_rubrics, page)
    rubric = published.rubric(page.question)
    trial = await anyio.to_thread.run_sync(
        run_rubric_examples, page.grading, rubric, limiter=_get_limiter(page.request)
    )
    part = "examples_short" if short else "examples"
    return page.render(
        f"staff/rubrics/{part if page.is_htmx else 'examples_page'}.html",
        membership=membership,
        published=published,
        rubric=rubric,
        trial=trial,
        examples=list_examples(rubric, trial.tried),
        variants=SHOWN_VARIANTS,
        published_variants=EXAMPLE_VARIANTS,
    )


def _get_limiter(request: Request) -> CapacityLimiter:
    """Allow one run at a time: examples keep a core busy for seconds."""
    state = request.app.state
    if not hasattr(state, "examples_limiter"):
        state.examples_limiter = CapacityLimiter(1)
    limiter: CapacityLimiter = state.examples_limiter
    return limiter


@router.get(_QUESTION_PATH + "/versions")
def show_versions(
    page: QuestionPage,
    before: Annotated[_Number, Query(alias="from")] = "",
    after: Annotated[_Number, Query(alias="to")] = "",
) -> Response:
    """The published versions of a rubric, and the difference between two of them."""
    membership, published, history = _load_rubrics(page)
    versions = history.versions_of(page.question)
    if not versions:
        raise NotFound
    newest = _read_number(after) if after else versions[0].line.number
    oldest = _read_number(before) if before else _find_previous_number(versions, newest)
    with page.read() as session:
        texts = [
            get_rubric_text(session, history.get(number), question=page.question)
            for number in (oldest, newest)
        ]
    difference = compare_texts(*texts)
    return page.render(
        "staff/rubrics/versions.html",
        membership=membership,
        published=published,
        question=page.question,
        versions=versions,
        oldest=oldest,
        newest=newest,
        numbers=[
            each.line.number for each in history.publications if page.question in each.versions
        ],
        difference=difference,
        added=sum(each.kind is DiffKind.ADDED for each in difference),
        removed=sum(each.kind is DiffKind.REMOVED for each in difference),
    )


def _read_number(text: str) -> int:
    """The number of a publication."""
    number = read_whole_number(text, most=10**9)
    if number is None:
        raise NotFound
    return number


def _find_previous_number(versions: tuple[PublicationChange, ...], newest: int) -> int:
    """The publication of the version before `newest`; `newest` itself for the first version."""
    numbers = [each.line.number for each in versions if each.line.number <= newest]
    return numbers[1] if len(numbers) > 1 else newest
