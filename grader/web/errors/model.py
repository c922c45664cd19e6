"""What an error looks like on the wire: RFC 9457 with a code, places and hints."""

from __future__ import annotations

from typing import Annotated

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MEDIA_TYPE = "application/problem+json"


def _clean(text: object) -> object:
    # Half of a surrogate pair cannot be sent, and an error about it must not become another error.
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


SafeText = Annotated[str, BeforeValidator(_clean)]


class ProblemItem(BaseModel):
    """One place of the request that needs a change."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pointer: SafeText = Field(description="JSON pointer, counted from zero, such as #/answer/q/3.")
    code: str = Field(description="Stable name of the fault; see /docs/errors.")
    detail: SafeText = Field(description="The fault as a sentence.")
    expected: SafeText | None = Field(default=None, description="What belongs there.")
    got: SafeText | None = Field(default=None, description="What was there.")
    hint: SafeText | None = Field(default=None, description="What may help.")
    column: int | None = Field(default=None, description="The place in a text, counted from one.")


class Problem(BaseModel):
    """An error as RFC 9457 describes it, with what a program or a person can act on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str = Field(description="Where the code is explained.")
    title: str = Field(description="What the code means, the same at every occurrence.")
    status: int
    code: str = Field(description="Stable name of the error; see /docs/errors.")
    detail: SafeText = Field(description="What is wrong this time.")
    instance: SafeText | None = Field(default=None, description="The address that was called.")
    attempt_used: bool = Field(default=False, description="Whether it cost an attempt.")
    errors: tuple[ProblemItem, ...] = Field(default=(), description="Every place, fifty at most.")
    hint: SafeText | None = Field(default=None, description="What may help.")
    request_id: str | None = Field(default=None, description="To tell the operator.")


def render_problem(problem: Problem) -> bytes:
    """A problem as JSON; what is not known is left out."""
    return orjson.dumps(problem.model_dump(exclude_none=True))
