"""The JSON of an error: RFC 9457 with a code, locations and hints."""

from __future__ import annotations

from typing import Annotated

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MEDIA_TYPE = "application/problem+json"


def _clean(text: object) -> object:
    # Half of a surrogate pair cannot be encoded, and an error about it must not cause another one.
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


SafeText = Annotated[str, BeforeValidator(_clean)]


class ProblemItem(BaseModel):
    """One location in the request that needs a change."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pointer: SafeText = Field(description="JSON pointer, counted from zero, such as #/answer/q/3.")
    code: str = Field(description="Stable name of the error; see /docs/errors.")
    detail: SafeText = Field(description="The error as a sentence.")
    expected: SafeText | None = Field(default=None, description="What belongs there.")
    got: SafeText | None = Field(default=None, description="What was sent.")
    hint: SafeText | None = Field(default=None, description="What may help.")
    column: int | None = Field(default=None, description="The column in a text, counted from one.")


class Problem(BaseModel):
    """An error as in RFC 9457, with details for programs and people."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str = Field(description="Where the code is explained.")
    title: str = Field(description="What the code means; the same for every occurrence.")
    status: int
    code: str = Field(description="Stable name of the error; see /docs/errors.")
    detail: SafeText = Field(description="What is wrong this time.")
    instance: SafeText | None = Field(default=None, description="The path that was called.")
    attempt_used: bool = Field(default=False, description="Whether an attempt was used.")
    errors: tuple[ProblemItem, ...] = Field(
        default=(), description="Every location, at most fifty."
    )
    hint: SafeText | None = Field(default=None, description="What may help.")
    request_id: str | None = Field(
        default=None, description="Quote it when you contact the operator."
    )


def render_problem(problem: Problem) -> bytes:
    """A problem as JSON; fields without a value are left out."""
    return orjson.dumps(problem.model_dump(exclude_none=True))
