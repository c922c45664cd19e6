"""No text from outside becomes a number that is not finite, in whatever layer it is read."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from grader.errors import KeysetError, MalformedRequest
from grader.formula.eval.evaluate import Environment
from grader.grading.dates import read_local_time
from grader.grading.grades.overrides import check_points
from grader.reading.answer import read_answer
from grader.reading.fields import ExternalField
from grader.rubric.assignment import AssignmentFile
from grader.rubric.forms import RangeForm
from grader.settings import Settings
from grader.web.api.grades import ExternalScoresCreate, OverrideUpdate
from grader.web.api.reviews import ReviewCreate
from grader.web.http.body import read_json
from grader.web.pages.form_numbers import read_form_points, read_whole_number
from grader.web.pagination import decode_cursor, encode_cursor

NOT_FINITE = ["NaN", "-NaN", "sNaN", "nan", "Infinity", "-Infinity", "inf", "-inf", "1e9999999999"]


def refuse_none(value: object) -> None:
    if value is None:
        raise MalformedRequest("refused", code="refused")


def refuse_faults(faults: list[Any]) -> None:
    if faults:
        raise MalformedRequest.of(*faults)


READERS: dict[str, Callable[[str], object]] = {
    "points in a form": read_form_points,
    "a whole number in a form": lambda text: refuse_none(read_whole_number(text, most=10**9)),
    "a date in a form": lambda text: read_local_time(text, time_zone="UTC", field="due_at"),
    "points for a use case": lambda text: refuse_faults(check_points(Decimal(text), Decimal(3))),
    "a body of JSON": lambda text: read_json(text.encode()),
    "points of an override": lambda text: OverrideUpdate.model_validate_json(
        f'{{"points": "{text}", "reason": "x"}}'
    ),
    "points of a review": lambda text: ReviewCreate.model_validate_json(
        f'{{"criterion": "x", "points": "{text}"}}'
    ),
    "an external score": lambda text: ExternalScoresCreate.model_validate_json(
        f'{{"source": "x", "scores": [{{"student": "x", "points": "{text}"}}]}}'
    ),
    "a number in a cursor": lambda text: decode_cursor(encode_cursor(text), int),
    "a score in an answer": lambda text: read_answer(
        {"x": text}, [ExternalField("x", Decimal(3))], Environment.empty()
    ),
    "a number in an answer": lambda text: read_answer(
        {"x": float(text.removeprefix("s"))}, [ExternalField("x", Decimal(3))], Environment.empty()
    ),
    "points in a rubric": lambda text: RangeForm.model_validate({"at_least": text}),
    "a late policy": lambda text: AssignmentFile.model_validate(
        {"id": "a", "title": "A", "questions": ("q",), "late": {"per_day": text}}
    ),
    "a threshold": lambda text: AssignmentFile.model_validate(
        {"id": "a", "title": "A", "questions": ("q",), "grades": {text: "3"}}
    ),
    "a setting": lambda text: Settings.model_validate({"body_seconds": text}),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", NOT_FINITE)
def test_what_is_not_finite_is_refused_in_words(reader: str, text: str) -> None:
    with pytest.raises((KeysetError, ValidationError)):
        READERS[reader](text)
