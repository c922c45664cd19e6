"""The gradebook: pages of JSON, or the whole as CSV or JSON Lines."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request, Response

from grader.domain.roles import Scope
from grader.grading.grades.export import BYTE_ORDER_MARK, to_csv_lines, to_json_lines
from grader.grading.grades.gradebook import Gradebook, GradebookRow, load_gradebook, read_order
from grader.store.queries.gradebook import Selection, SelectionState
from grader.web.api import models as m
from grader.web.api.idempotency import COURSE_ERRORS
from grader.web.api.presenters import to_grade_cell
from grader.web.auth import COURSEWORK_COST, GradesReader, begin_costly, describe_access
from grader.web.gradebook_query import (
    SectionQuery,
    SortQuery,
    TextQuery,
    format_cursor,
    parse_cursor,
)
from grader.web.http.body import StrictRoute
from grader.web.pagination import Cursor, Limit, add_next_link
from grader.web.params import AssignmentId
from grader.web.service import ServiceDep

router = APIRouter(route_class=StrictRoute, tags=["Grades"])

_JSON_LINES = "application/jsonl"
_FORMATS = {"text/csv": "csv", _JSON_LINES: "jsonl"}
_FILES = {
    "text/csv": {"schema": {"type": "string"}, "example": "login,name,section,3a,total\n"},
    _JSON_LINES: {"schema": {"type": "string"}, "example": '{"login": "ada", "total": 7.5}\n'},
}


@router.get(
    "/courses/{course}/assignments/{assignment}/grades",
    summary="The gradebook",
    response_model=m.GradebookRead,
    responses={**COURSE_ERRORS, 200: {"description": "The gradebook.", "content": _FILES}},
    openapi_extra=describe_access(Scope.GRADES_READ, "assistants and instructors"),
)
def get_grades(
    request: Request,
    assignment: AssignmentId,
    membership: GradesReader,
    service: ServiceDep,
    response: Response,
    format: Annotated[
        Literal["json", "csv", "jsonl"] | None, Query(description="Instead of the Accept header.")
    ] = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
    bom: Annotated[bool, Query(description="Begin CSV with a byte order mark.")] = False,
    q: TextQuery = "",
    section: SectionQuery = "",
    state: Annotated[
        SelectionState | None, Query(description="Only students in this state.")
    ] = None,
    sort: SortQuery = "login",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> m.GradebookRead | Response:
    """Students × questions, totals, and the grade by the assignment's scale.

    JSON comes in pages, each with a `Link` to the next; CSV and JSON Lines come whole.
    """
    order = read_order(sort)
    start = parse_cursor(cursor, order)
    chosen = format or _FORMATS.get(accept.partition(";")[0].strip(), "json")
    if chosen != "json":
        # All students at once cost more than a page of them.
        service.budgets.spend("read", membership.caller.id, cost=COURSEWORK_COST - 1)
        begin_costly(request, membership.caller.id)
    with service.database.read() as session:
        book = load_gradebook(
            session,
            service.context,
            run_id=membership.run.id,
            assignment=assignment,
            selection=Selection(q.strip(), section, state),
            order=order,
            cursor=start,
            limit=limit if chosen == "json" else None,
        )
    if chosen != "json":
        return _to_file(book, chosen, has_mark=bom)
    if book.after is not None:
        add_next_link(request, response, format_cursor(book.after))
    return _to_gradebook_read(book)


def _to_gradebook_read(book: Gradebook) -> m.GradebookRead:
    rubrics = book.published.assignment.rubrics
    return m.GradebookRead.of(
        book,
        course=book.published.line.run_id,
        assignment=book.published.line.assignment,
        questions={name: rubric.form.points for name, rubric in rubrics.items()},
        students=[_to_row_read(book, row) for row in book.rows],
    )


def _to_row_read(book: Gradebook, row: GradebookRow) -> m.GradebookRowRead:
    return m.GradebookRowRead.of(
        row.member,
        student=row.member.login,
        section=row.member.enrolment.section,
        enrolment=row.member.enrolment.id,
        questions={
            name: to_grade_cell(row.grades[name])
            for name in book.published.form.questions
            if name in row.grades
        },
        total=row.points,
        pending=row.pending,
        grade=book.grade_of(row),
    )


def _to_file(book: Gradebook, suffix: str, *, has_mark: bool) -> Response:
    line = book.published.line
    name = f"{line.run_id}-{line.assignment}.{suffix}"
    # Not streamed: a stream would wait for a free reader before each line.
    mark = BYTE_ORDER_MARK if has_mark and suffix == "csv" else ""
    return Response(
        mark + "".join(to_csv_lines(book) if suffix == "csv" else to_json_lines(book)),
        media_type="text/csv; charset=utf-8" if suffix == "csv" else _JSON_LINES,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
