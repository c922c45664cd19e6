"""The gradebook for programs: in pages of JSON, or as a whole in a file."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request, Response

from grader.domain.roles import Scope
from grader.grading.grades.export import BYTE_ORDER_MARK, json_lines, to_csv
from grader.grading.grades.gradebook import Gradebook, load_gradebook, read_order
from grader.store.queries.selections import Selection, State
from grader.web.api import staff_models as m
from grader.web.api import staff_presenters as views
from grader.web.api.courses import Assignment
from grader.web.api.idempotency import IN_COURSE
from grader.web.auth import Overseer, allows
from grader.web.gradebook_query import Section, Sort, Text, read_spot, write_spot
from grader.web.http.body import StrictRoute
from grader.web.pagination import Cursor, Limit, link_next
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
    responses={**IN_COURSE, 200: {"description": "The gradebook.", "content": _FILES}},
    openapi_extra=allows(Scope.GRADES_READ, "assistants and instructors"),
)
def get_grades(
    request: Request,
    assignment: Assignment,
    place: Overseer,
    service: ServiceDep,
    response: Response,
    format: Annotated[
        Literal["json", "csv", "jsonl"] | None, Query(description="Instead of the Accept header.")
    ] = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
    bom: Annotated[bool, Query(description="Begin CSV with a byte order mark.")] = False,
    q: Text = "",
    section: Section = "",
    state: Annotated[State | None, Query(description="Only students of whom this is so.")] = None,
    sort: Sort = "login",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> m.GradebookRead | Response:
    """Students × questions, totals, and the grade by the assignment's scale.

    JSON comes in pages with a `Link` to the next one, CSV and JSON Lines as a whole.
    """
    order = read_order(sort)
    spot = read_spot(cursor, order)
    form = format or _FORMATS.get(accept.partition(";")[0].strip(), "json")
    with service.database.read() as session:
        book = load_gradebook(
            session,
            service.desk,
            run_id=place.run.id,
            assignment=assignment,
            selection=Selection(q.strip(), section, state),
            order=order,
            spot=spot,
            limit=limit if form == "json" else None,
        )
    if form != "json":
        return _as_file(book, form, has_mark=bom)
    if book.after is not None:
        link_next(request, response, write_spot(book.after))
    return views.gradebook_read(book)


def _as_file(book: Gradebook, form: str, *, has_mark: bool) -> Response:
    line = book.published.line
    # At once: a stream would wait for a free reader before each line.
    mark = BYTE_ORDER_MARK if has_mark and form == "csv" else ""
    return Response(
        mark + to_csv(book) if form == "csv" else "".join(json_lines(book)),
        media_type="text/csv; charset=utf-8" if form == "csv" else _JSON_LINES,
        headers={
            "Content-Disposition": f'attachment; filename="{line.run_id}-{line.assignment}.{form}"'
        },
    )
