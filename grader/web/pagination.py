"""Pages of long lists: an opaque cursor, and a link to the next page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Annotated

import orjson
from fastapi import Query, Request, Response

from grader.errors import ErrorDetail, MalformedRequest

Limit = Annotated[int, Query(ge=1, le=200, description="How many at most.")]
Cursor = Annotated[
    str | None,
    Query(max_length=2000, description="Where to go on, from the Link of the page before."),
]


def encode_cursor(*parts: str | int) -> str:
    """A place in a list, in a form that means nothing to anybody else."""
    return base64.urlsafe_b64encode(orjson.dumps(parts)).rstrip(b"=").decode()


def decode_cursor(
    cursor: str | None, *kinds: type[str] | type[int]
) -> tuple[str | int, ...] | None:
    """The place that a cursor stands for; None where there is no cursor.

    Raises
    ------
    MalformedRequest
        For anything that was not made by `encode_cursor`.
    """
    return decode_one_of(cursor, [kinds])


def decode_one_of(
    cursor: str | None, shapes: Sequence[tuple[type[str] | type[int], ...]]
) -> tuple[str | int, ...] | None:
    """The same, where a place has one of several shapes."""
    if cursor is None:
        return None
    try:
        parts = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if tuple(map(type, parts)) in shapes and all(map(_is_queryable, parts)):
            return tuple(parts)
    except (ValueError, TypeError):
        pass
    raise MalformedRequest.of(
        ErrorDetail(
            "cursor", "cursor.invalid", "Take the cursor from a Link header.", source="query"
        )
    )


def _is_queryable(part: str | int) -> bool:
    """Whether databases can compare with it; what we made ourselves always can be."""
    return "\0" not in part if isinstance(part, str) else 0 <= part < 2**31


def add_next_link(request: Request, response: Response, cursor: str) -> None:
    """Say where the next page is."""
    url = request.url.include_query_params(cursor=cursor)
    response.headers["Link"] = f'<{url.path}?{url.query}>; rel="next"'
