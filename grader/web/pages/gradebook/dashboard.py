"""The grade dashboard: everybody's grades as a table, how totals are spread, one student's all."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from grader.accounts.callers import enter_as
from grader.domain.roles import Role
from grader.grading.grades.distribution import load_spread
from grader.grading.grades.gradebook import load_gradebook
from grader.grading.grades.student_summary import load_summary
from grader.store.queries.totals import list_sections
from grader.web.api.courses import Assignment
from grader.web.api.grades import Student
from grader.web.auth import CourseId
from grader.web.gradebook_query import Section, Sort, Text
from grader.web.pages.gradebook.cells import STATES, draw_histogram, make_heads, make_lines
from grader.web.pages.gradebook.links import make_ways, read_asked
from grader.web.pages.rendering import PageRoute, VisitorDep, render
from grader.web.pagination import Cursor
from grader.web.service import ServiceDep

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_ASSIGNMENT = "/courses/{course}/assignments/{assignment}"
#: So many students are on a page.
PAGE = 50


@router.get(_ASSIGNMENT + "/grades")
def show_grades(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    visitor: VisitorDep,
    service: ServiceDep,
    q: Text = "",
    section: Section = "",
    state: str = "",
    sort: Sort = "login",
    cursor: Cursor = None,
) -> Response:
    """Students × questions, a page at a time; every number leads to the attempts behind it."""
    asked = read_asked(q, section, state, sort, cursor)
    with service.database.read() as session:
        place = enter_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        book = load_gradebook(
            session, service.desk, run_id=course, assignment=assignment,
            selection=asked.selection, order=asked.order, spot=asked.spot, limit=PAGE,
        )  # fmt: skip
        spread = load_spread(session, book.published, asked.selection)
        sections = list_sections(session, run_id=course)
    ways = make_ways(book, asked)
    return render(
        request, "grades.html", visitor=visitor, place=place, assignment=assignment,
        title=book.published.form.title,
        heads=make_heads(book, asked, ways, path=request.url.path),
        possible=book.possible, lines=make_lines(book), asked=asked, ways=ways,
        sections=sections, states=STATES, spread=spread, histogram=draw_histogram(spread),
    )  # fmt: skip


@router.get(_ASSIGNMENT + "/students/{student}")
def show_summary(
    request: Request,
    course: CourseId,
    assignment: Assignment,
    student: Student,
    visitor: VisitorDep,
    service: ServiceDep,
) -> Response:
    """All questions of one student, more time that was given, and what staff decided."""
    with service.database.read() as session:
        place = enter_as(session, visitor.caller, Role.ASSISTANT, run_id=course)
        summary = load_summary(
            session, service.desk, run_id=course, assignment=assignment, student=student
        )
    return render(
        request, "student_summary.html", visitor=visitor, place=place, assignment=assignment,
        title=summary.book.published.form.title, summary=summary, row=summary.row,
        questions=summary.book.published.assignment.rubrics, possible=summary.book.possible,
        grade=summary.book.grade_of(summary.row),
    )  # fmt: skip
