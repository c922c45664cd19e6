"""Pydantic's errors in the words of YAML and of JSON."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from grader.domain.validation import JSON, YAML, InvalidValue, Notation, locate_errors


class Crate(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    weight: Annotated[float, Field(ge=0)] = 1.0
    price: Annotated[Decimal, Field(decimal_places=2)] = Decimal(1)
    labels: list[str] = Field(default=[], max_length=1)
    side: Literal["left", "right"] = "left"
    lid: dict[str, int] | None = None
    size: int | list[int] = 1

    @field_validator("labels")
    @classmethod
    def _is_not_secret(cls, labels: list[str]) -> list[str]:
        if "secret" in labels:
            raise ValueError("secret labels are not allowed")
        return labels


def locate(data: Any, notation: Notation) -> list[InvalidValue]:
    with pytest.raises(ValidationError) as refused:
        Crate.model_validate(data)
    return locate_errors(refused.value.errors(include_url=False), data, notation)


@pytest.mark.parametrize(
    ("data", "code", "yaml", "json"),
    [
        pytest.param(
            {"weight": "heavy"},
            "value.type",
            "must be a number, but it is text",
            "must be a number, but it is text",
            id="another kind",
        ),
        pytest.param(
            {"weight": -4711},
            "value.range",
            "must be at least 0, but it is -4711",
            "must be at least 0",
            id="out of range",
        ),
        pytest.param(
            {"price": Decimal("1.234")},
            "value.range",
            "must be a number of at most 2 decimals",
            "must be a number of at most 2 decimals",
            id="too many decimals",
        ),
        pytest.param(
            {"labels": ["a", "b"]},
            "value.length",
            "must have at most 1 entry, but it has 2",
            "must have at most 1 entry, but it has 2",
            id="too long",
        ),
        pytest.param(
            {"side": "top"},
            "value.choice",
            "must be 'left' or 'right', but it is 'top'",
            "must be 'left' or 'right'",
            id="no such choice",
        ),
        pytest.param(
            {"lid": 3},
            "value.type",
            "must be a mapping, but it is the number 3",
            "must be an object, but it is a number",
            id="no mapping",
        ),
        pytest.param(
            {"size": None},
            "value.type",
            "must be a whole number or a list, but it is empty",
            "must be a whole number or a list, but it is null",
            id="no branch of a union",
        ),
        pytest.param(
            {"colour": "red"}, "value.unknown", "is not known here", "is not known here", id="key"
        ),
    ],
)
def test_an_error_is_said_in_the_words_of_its_format(
    data: dict[str, Any], code: str, yaml: str, json: str
) -> None:
    for notation, phrase in ((YAML, yaml), (JSON, json)):
        (error,) = locate(data, notation)

        assert (error.path, error.code, error.phrase) == (tuple(data), code, phrase)


def test_a_sentence_about_a_value_names_it() -> None:
    (error,) = locate({"weight": "heavy"}, JSON)
    assert error.to_sentence("weight") == "weight must be a number, but it is text."

    (error,) = locate({"labels": ["secret"]}, JSON)
    assert error.to_sentence("labels") == "labels: secret labels are not allowed."


def test_only_the_closest_branch_of_a_union_is_reported() -> None:
    (error,) = locate({"size": [1, "x"]}, JSON)

    assert (error.path, error.phrase) == (("size", 1), "must be a whole number, but it is text")


def test_a_missing_value_at_the_root_has_an_empty_path() -> None:
    missing = {"type": "missing", "loc": (), "input": None}

    (error,) = locate_errors([missing], None, JSON)

    assert (error.path, error.to_sentence("The body")) == ((), "The body is missing.")
