"""Path parameters that the API and the pages share."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from fastapi import Path, Request

#: The longest name of a course, an assignment or a question.
MAX_NAME_LENGTH = 64

CourseId = Annotated[
    str, Path(min_length=1, max_length=MAX_NAME_LENGTH, examples=["attention-2026"])
]
AssignmentId = Annotated[
    str, Path(min_length=1, max_length=MAX_NAME_LENGTH, examples=["attention-exploration"])
]
QuestionId = Annotated[str, Path(min_length=1, max_length=MAX_NAME_LENGTH, examples=["3b"])]
AttemptId = Annotated[
    str, Path(min_length=1, max_length=40, examples=["att_01m7hf69p8faa3attd7ssr05mg"])
]
StudentLogin = Annotated[str, Path(min_length=1, max_length=200, examples=["ada"])]
TokenId = Annotated[
    str, Path(min_length=1, max_length=40, examples=["tok_01m7hf69p8faa3attd7ssr05mg"])
]
RegradeId = Annotated[
    str, Path(min_length=1, max_length=40, examples=["reg_01m7hf69p8faa3attd7ssr05mg"])
]
UploadId = Annotated[
    str, Path(min_length=1, max_length=40, examples=["upl_01m7hf69p8faa3attd7ssr05mg"])
]


class QuestionNames(NamedTuple):
    """What the address of a question names."""

    course: str
    assignment: str
    question: str


def read_question_names(request: Request) -> QuestionNames | None:
    """The names in the address of a question; None where one is too long."""
    names = QuestionNames(**request.path_params)
    return names if max(map(len, names)) <= MAX_NAME_LENGTH else None
