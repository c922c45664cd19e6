"""The gradebook for programs: in pages of JSON, or as a whole in a file."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request, Response

from grader.domain.roles import Scope
from grader.grading.grades.export import BYTE_ORDER_MARK, to_csv_lines, to_json_lines
from grader.grading.grades.gradebook import Gradebook, load_gradebook, read_order
from grader.store.queries.gradebook import Selection, SelectionState
from grader.web.api import models as m
from grader.web.api import presenters as views
from grader.web.api.idempotency import COURSE_ERRORS
from grader.web.auth import GradesReader, describe_access
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
        SelectionState | None, Query(description="Only students of whom this is so.")
    ] = None,
    sort: SortQuery = "login",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> m.GradebookRead | Response:
    """Students × questions, totals, and the grade by the assignment's scale.

    JSON comes in pages with a `Link` to the next one, CSV and JSON Lines as a whole.
    """
    order = read_order(sort)
    spot = parse_cursor(cursor, order)
    form = format or _FORMATS.get(accept.partition(";")[0].strip(), "json")
    with service.database.read() as session:
        book = load_gradebook(
            session,
            service.context,
            run_id=membership.run.id,
            assignment=assignment,
            selection=Selection(q.strip(), section, state),
            order=order,
            cursor=spot,
            limit=limit if form == "json" else None,
        )
    if form != "json":
        return _as_file(book, form, has_mark=bom)
    if book.after is not None:
        add_next_link(request, response, format_cursor(book.after))
    return views.to_gradebook_read(book)


def _as_file(book: Gradebook, form: str, *, has_mark: bool) -> Response:
    line = book.published.line
    # At once: a stream would wait for a free reader before each line.
    mark = BYTE_ORDER_MARK if has_mark and form == "csv" else ""
    return Response(
        mark + "".join(to_csv_lines(book) if form == "csv" else to_json_lines(book)),
        media_type="text/csv; charset=utf-8" if form == "csv" else _JSON_LINES,
        headers={
            "Content-Disposition": f'attachment; filename="{line.run_id}-{line.assignment}.{form}"'
        },
    )
