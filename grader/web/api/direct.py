"""Calls that are answered past FastAPI: those that are made often, with one read session each.

A route takes what is plainly in order, in one thread; FastAPI looks at all else, and says what is
wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fastapi import Request, Response
from pydantic import BaseModel

from grader.web.http.body import JSON
from grader.web.params import MAX_NAME_LENGTH


class QuestionNames(NamedTuple):
    """What the address of a question names."""

    course: str
    assignment: str
    question: str


def read_question_names(request: Request) -> QuestionNames | None:
    """The names in an address; None where one is too long."""
    names = QuestionNames(**request.path_params)
    return names if max(map(len, names)) <= MAX_NAME_LENGTH else None


def make_json_response(model: BaseModel, headers: Mapping[str, str]) -> Response:
    """A model as FastAPI would send it."""
    content = model.__pydantic_serializer__.to_json(model, by_alias=True)
    return Response(content, media_type=JSON, headers=headers)
