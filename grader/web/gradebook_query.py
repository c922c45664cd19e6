"""The gradebook in URLs: query parameters for selection and order, and page cursors."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query

from grader.grading.grades.gradebook import write_order
from grader.store.queries.gradebook import BY_LOGIN, PageCursor, Selection, SortColumn, SortOrder
from grader.web.pagination import decode_one_of, encode_cursor

SortQuery = Annotated[
    str,
    Query(
        max_length=100,
        description="login, total or question:ID; a leading minus reverses the order.",
        examples=["-total"],
    ),
]
TextQuery = Annotated[
    str, Query(max_length=200, description="Only students whose name or login contains this text.")
]
SectionQuery = Annotated[str, Query(max_length=200, description="Only students in this section.")]

_BACK = "back"


def format_cursor(cursor: PageCursor) -> str:
    """A page cursor as text."""
    return encode_cursor(*cursor.key, *([_BACK] if cursor.is_backwards else []))


def parse_cursor(cursor: str | None, order: SortOrder) -> PageCursor | None:
    """Parse a page cursor: a login, or a number with an enrolment's id.

    Raises
    ------
    MalformedRequest
        If it was not made for this order.
    """
    shapes: list[tuple[type[str] | type[int], ...]] = [(str,), (str, str)]
    if order.column is not SortColumn.LOGIN:
        shapes += [(int, str), (int, str, str)]
    match decode_one_of(cursor, shapes):
        case (str(login), *rest):
            return PageCursor((login,), bool(rest))
        case (int(number), str(enrolment_id), *rest):
            return PageCursor((number, enrolment_id), bool(rest))
        case _:
            return None


def format_query(selection: Selection, order: SortOrder, **more: str) -> str:
    """The query string of a URL for these students in this order, with the question mark."""
    parameters = {
        "q": selection.text,
        "section": selection.section,
        "state": selection.state.value if selection.state else "",
        "sort": write_order(order) if order != BY_LOGIN else "",
        **more,
    }
    return "?" + urlencode({name: value for name, value in parameters.items() if value})
