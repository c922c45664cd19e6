"""What fits a model, what does not, and how an author is told so."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from grader.errors import RubricError, RubricErrors
from grader.rubric.catalog import to_model
from grader.rubric.document import read_document


def errors_of(act: Callable[[], Any]) -> list[RubricError]:
    """Return the mistakes an action is refused for, none if it is done."""
    try:
        act()
    except RubricErrors as refused:
        return refused.errors
    return []


def refusals(act: Callable[[], Any]) -> list[str]:
    """Return the messages an action is refused with, one per mistake."""
    return [str(error) for error in errors_of(act)]


class Model(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Level(Model):
    within: float = Field(gt=0)
    credit: Decimal = Decimal(1)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class AtMost(Model):
    at_most: float


class AtLeast(Model):
    at_least: float


class Gaussian(Model):
    kind: Literal["gaussian"]
    shape: tuple[str | int, ...] = ()


class Uniform(Model):
    kind: Literal["uniform"]
    low: float
    high: float = 1


class Orthonormal(Model):
    orthonormal: tuple[str, str]


class Given(Model):
    given: float
    gaussian: float = 0


def tag_of(value: Any) -> str | None:
    return next(iter(value), None) if isinstance(value, dict) else None


class Question(Model):
    id: str = Field(pattern=r"^[a-z-]+$")
    points: Decimal = Field(default=Decimal(1), ge=0)
    count: int = 1
    shown: bool = True
    due: date | None = None
    colour: Colour = Colour.RED
    levels: tuple[Level, ...] = Field(default=(), max_length=3)
    scale: dict[Annotated[str, Field(pattern=r"^[0-9]+$")], str] = {}
    draw: dict[str, Annotated[Gaussian | Uniform, Field(discriminator="kind")]] = {}
    short: (
        Annotated[
            Annotated[Orthonormal, Tag("orthonormal")] | Annotated[Given, Tag("given")],
            Discriminator(tag_of),
        ]
        | None
    ) = None
    earns: float | AtMost | AtLeast = 0
    size: int | Literal["n", "d"] = 1
    formula: float | str = 0
    condition: str = Field(default="", alias="if")
    limits: tuple[float, float] = (0, 1)
    nested: list[list[AtMost | AtLeast]] = []

    @field_validator("formula")
    @classmethod
    def formula_can_be_read(cls, value: float | str) -> float | str:
        if value == "a +":
            raise ValueError("the formula ends too early")
        return value

    @model_validator(mode="after")
    def count_is_not_seven(self) -> Question:
        if self.count == 7:
            raise ValueError("seven is not a count")
        return self


def check(text: str) -> Question:
    return to_model(read_document(f"id: q\n{text}", file="q.yaml"), Question)


def check_refusals(text: str) -> list[str]:
    return [message.removeprefix("q.yaml:") for message in refusals(lambda: check(text))]


def test_a_document_that_fits_becomes_a_frozen_model() -> None:
    question = check(
        "points: 0.1\ndue: 2025-10-20\ncolour: blue\nlevels: [{within: 1}, {within: 1e-3}]\n"
        'scale: {30: "3"}\ndraw: {mu: {kind: gaussian, shape: [n, 4]}}\nif: weights\n'
        "short: {orthonormal: [n, d]}\nearns: {at_most: 3}\nsize: n\n"
    )

    assert question.points == Decimal("0.1")
    assert question.due == date(2025, 10, 20)
    assert question.colour is Colour.BLUE
    assert question.levels == (Level(within=1.0), Level(within=1e-3))
    assert question.scale == {"30": "3"}
    assert question.draw == {"mu": Gaussian(kind="gaussian", shape=("n", 4))}
    assert question.short == Orthonormal(orthonormal=("n", "d"))
    assert question.earns == AtMost(at_most=3)


MISFITS = [
    pytest.param(
        "levels:\n- {within: 1}\n- {withn: 2}\n",
        [
            "4:3: levels.2.within: is missing",
            "4:4: levels.2.withn: is not known here; did you mean 'within'?",
        ],
        id="a misspelt key",
    ),
    pytest.param(
        "levels: [{within: 1, weight: 2}]\n",
        ["2:22: levels.1.weight: is not known here; known keys: within, credit"],
        id="a key like no other",
    ),
    pytest.param(
        "iff: x\n", ["2:1: iff: is not known here; did you mean 'if'?"], id="an alias is known"
    ),
    pytest.param("points: abc\n", ["2:9: points: must be a number, but it is 'abc'"], id="d"),
    pytest.param(
        "levels: [{within: x}]\n",
        ["2:19: levels.1.within: must be a number, but it is text"],
        id="text for a number",
    ),
    pytest.param(
        "levels: [{within: '1'}]\n",
        ["2:19: levels.1.within: must be a number, but it is text"],
        id="a quoted number",
    ),
    pytest.param(
        "count: 2.5\n", ["2:8: count: must be a whole number, but it is the number 2.5"], id="int"
    ),
    pytest.param(
        "count: true\n", ["2:8: count: must be a whole number, but it is true"], id="bool"
    ),
    pytest.param("if: 3\n", ["2:5: if: must be text, but it is the number 3"], id="text"),
    pytest.param("if:\n", ["2:4: if: must be text, but it is empty"], id="empty"),
    pytest.param("shown: x\n", ["2:8: shown: must be true or false, but it is text"], id="boolean"),
    pytest.param("levels: 3\n", ["2:9: levels: must be a list, but it is the number 3"], id="list"),
    pytest.param(
        "levels: [3]\n", ["2:10: levels.1: must be a mapping, but it is the number 3"], id="mapping"
    ),
    pytest.param(
        "scale: []\n", ["2:8: scale: must be a mapping, but it is a list"], id="mapping 2"
    ),
    pytest.param(
        "points: -1\n",
        ["2:9: points: must be at least 0, but it is -1"],
        id="out of bounds",
    ),
    pytest.param(
        "colour: green\n", ["2:9: colour: must be 'red' or 'blue', but it is 'green'"], id="enum"
    ),
    pytest.param(
        "levels: [{within: 1}, {within: 1}, {within: 1}, {within: 1}]\n",
        ["2:9: levels: must have at most 3 entries, but it has 4"],
        id="too many",
    ),
    pytest.param(
        'scale: {ab: "3"}\n',
        ["2:9: scale.ab: must be of the form ^[0-9]+$, but it is 'ab'"],
        id="an unfit key of a mapping",
    ),
    pytest.param("limits: [1]\n", ["2:9: limits.2: is missing"], id="a list too short"),
    pytest.param("formula: a +\n", ["2:10: formula: the formula ends too early"], id="own words"),
    pytest.param("count: 7\n", ["1:1: seven is not a count"], id="a fault of the whole"),
    pytest.param(
        "draw: {mu: {kind: gausian}}\n",
        ["2:19: draw.mu.kind: must be one of 'gaussian', 'uniform', but it is 'gausian'"],
        id="an unknown tag",
    ),
    pytest.param("draw: {mu: {low: 1}}\n", ["2:12: draw.mu.kind: is missing"], id="no tag"),
    pytest.param(
        "draw: {mu: x}\n", ["2:12: draw.mu: must be a mapping, but it is text"], id="text"
    ),
    pytest.param(
        "draw: {uniform: {kind: uniform, hihg: 2}}\n",
        [
            "2:17: draw.uniform.low: is missing",
            "2:33: draw.uniform.hihg: is not known here; did you mean 'high'?",
        ],
        id="a key called like its tag",
    ),
    pytest.param(
        "short: {orthonormal: [1, n]}\n",
        ["2:23: short.orthonormal.1: must be text, but it is the number 1"],
        id="a tag that is a key",
    ),
    pytest.param(
        "short: {given: x, gausian: 2}\n",
        [
            "2:16: short.given: must be a number, but it is text",
            "2:19: short.gausian: is not known here; did you mean 'gaussian'?",
        ],
        id="a tag that is a key with other keys",
    ),
    pytest.param(
        "short: {other: 1}\n",
        ["2:8: short: must be one of 'orthonormal', 'given', but it is 'other'"],
        id="unknown tag by function",
    ),
    pytest.param("short: []\n", ["2:8: short: is of no known kind"], id="no tag by function"),
    pytest.param(
        "earns: abc\n",
        ["2:8: earns: must be a number or a mapping, but it is text"],
        id="a union of kinds",
    ),
    pytest.param(
        "earns: {at_mots: 3}\n",
        [
            "2:8: earns.at_most: is missing",
            "2:9: earns.at_mots: is not known here; did you mean 'at_most'?",
        ],
        id="a union of models with a misspelt key",
    ),
    pytest.param(
        "earns: {at_least: x}\n",
        ["2:19: earns.at_least: must be a number, but it is text"],
        id="a union of models with an unfit value",
    ),
    pytest.param(
        "size: m\n",
        ["2:7: size: must be a whole number or 'n' or 'd', but it is 'm'"],
        id="a union of kinds and words",
    ),
    pytest.param(
        "nested:\n- [{at_most: 1}]\n- [{at_most: x}, {at_lest: 1}]\n",
        [
            "4:14: nested.2.1.at_most: must be a number, but it is text",
            "4:18: nested.2.2.at_least: is missing",
            "4:19: nested.2.2.at_lest: is not known here; did you mean 'at_least'?",
        ],
        id="unions in lists of lists",
    ),
    pytest.param(
        "due: soon\n",
        ["2:6: due: must be a date such as 2026-11-16, but it is 'soon'"],
        id="a date",
    ),
]


@pytest.mark.parametrize(("text", "messages"), MISFITS)
def test_what_does_not_fit_is_told_in_plain_words(text: str, messages: list[str]) -> None:
    assert check_refusals(text) == messages


def test_all_misfits_are_told_at_once_in_the_order_of_the_file() -> None:
    places = [
        message.split(": ")[:2]
        for message in check_refusals("shown: 1\ncuont: 2\nlevels: [{}, 3]\npoints: x\n")
    ]

    assert places == [
        ["2:8", "shown"],
        ["3:1", "cuont"],
        ["4:10", "levels.1.within"],
        ["4:14", "levels.2"],
        ["5:9", "points"],
    ]


def test_a_missing_key_of_the_file_is_told_at_its_beginning() -> None:
    document = read_document("\ncount: 2\n", file="q.yaml")

    assert refusals(lambda: to_model(document, Question)) == ["q.yaml:2:1: id: is missing"]


class Rebuilt(Model):
    inner: Level

    @model_validator(mode="before")
    @classmethod
    def wrap(cls, data: Any) -> Any:
        return {"inner": data}


def test_data_that_a_model_rebuilds_are_told_at_the_closest_place() -> None:
    document = read_document("within: x\n", file="q.yaml")

    assert refusals(lambda: to_model(document, Rebuilt)) == [
        "q.yaml:1:9: within: must be a number, but it is text"
    ]


class WithoutSchema(Model):
    act: Callable[[], int] | None = None


def test_a_model_without_a_schema_has_no_suggestions() -> None:
    document = read_document("atc: 1\n", file="q.yaml")

    assert refusals(lambda: to_model(document, WithoutSchema)) == [
        "q.yaml:1:1: atc: is not known here"
    ]


VALUES = st.recursive(
    st.sampled_from(["x", "n", "'1'", "1", "-2", "2.5", "true", "", "2025-10-20", "a +"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(
            st.sampled_from(["kind", "within", "at_most", "gaussian", "int", "30", "AtMost"]),
            inner,
            max_size=3,
        ).map(lambda entries: f"{{{', '.join(f'{key}: {entries[key]}' for key in entries)}}}")
    ),
)
FILES = st.dictionaries(
    st.sampled_from([*(Question.model_fields.keys() - {"id"}), "if", "unknown"]), VALUES, max_size=5
).map(lambda entries: "".join(f"{key}: {value}\n" for key, value in entries.items()))


@given(FILES)
def test_any_document_fits_or_is_refused_in_the_order_of_the_file(text: str) -> None:
    errors = errors_of(lambda: check(text))
    places = [(error.place.line, error.place.column) for error in errors]

    assert places == sorted(places)
    assert not any("pydantic" in error.message for error in errors)
