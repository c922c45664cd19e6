"""Pages of long lists: opaque cursors, and the Link header to the next page."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

import orjson
from fastapi import Query, Request, Response

from grader.errors import ErrorDetail, MalformedRequest

Limit = Annotated[int, Query(ge=1, le=200, description="Maximum number per page.")]
Cursor = Annotated[
    str | None,
    Query(max_length=2000, description="The start of the page, from the Link of the previous one."),
]


def encode_cursor(*key: str | int) -> str:
    """The sort key of an item, as an opaque text."""
    return base64.urlsafe_b64encode(orjson.dumps(key)).rstrip(b"=").decode()


def decode_cursor(
    cursor: str | None, *kinds: type[str] | type[int]
) -> tuple[str | int, ...] | None:
    """The sort key in a cursor; None without a cursor.

    Raises
    ------
    MalformedRequest
        If `encode_cursor` did not make it from values of these types.
    """
    return decode_one_of(cursor, [kinds])


def decode_one_of(
    cursor: str | None, shapes: Sequence[tuple[type[str] | type[int], ...]]
) -> tuple[str | int, ...] | None:
    """Like `decode_cursor`, for a key of one of several shapes."""
    if cursor is None:
        return None
    try:
        key = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if tuple(map(type, key)) in shapes and all(map(_is_queryable, key)):
            return tuple(key)
    except (ValueError, TypeError):
        pass
    raise MalformedRequest.of(
        ErrorDetail(
            "cursor", "cursor.invalid", "Take the cursor from a Link header.", source="query"
        )
    )


def _is_queryable(value: str | int) -> bool:
    """Whether databases can compare with it, as with all that `encode_cursor` was given."""
    return "\0" not in value if isinstance(value, str) else 0 <= value < 2**31


def add_next_link(request: Request, response: Response, cursor: str) -> None:
    """Add the Link header to the next page."""
    url = request.url.include_query_params(cursor=cursor)
    response.headers["Link"] = f'<{url.path}?{url.query}>; rel="next"'


_Item = TypeVar("_Item")


def take_page(
    request: Request,
    response: Response,
    items: Sequence[_Item],
    limit: int,
    make_key: Callable[[_Item], tuple[str | int, ...]],
) -> Sequence[_Item]:
    """The first `limit` items; if there are more, the response links to the next page."""
    page = items[:limit]
    if len(items) > limit:
        add_next_link(request, response, encode_cursor(*make_key(page[-1])))
    return page
