"""The forms of examples and of a whole question's file."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from grader.rubric.forms.answers import AnswerForm
from grader.rubric.forms.base import (
    Expression,
    Form,
    Identifier,
    Name,
    Names,
    Points,
)
from grader.rubric.forms.criteria import CriterionForm, MisconceptionForm, PlotForm
from grader.rubric.forms.draws import DrawForm, FamilyForm, KeySetsForm, UsesForm


class RangeForm(Form):
    """Bounds for what an example earns."""

    at_least: Points = Field(default=Decimal(0), description="It earns no less.")
    at_most: Points = Field(default=Decimal(1000), description="It earns no more.")


class ExampleForm(Form):
    """A right, wrong or unreadable answer: the question's own test."""

    name: str = Field(description="What it shows, in a few words.")
    answer: dict[str, Any] = Field(
        default_factory=dict, description="Fields as a student sends them."
    )
    numbers: dict[Name, Expression] = Field(
        default_factory=dict,
        description="Fields computed on the variant and sent as plain numbers.",
    )
    rounded: Annotated[int, Field(ge=0, le=15)] | None = Field(
        default=None, description="The given arrays were copied with so many decimals."
    )
    of: Literal["own", "another"] = Field(
        default="own", description="Whose variant the numbers are computed on."
    )
    by_chance: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0, description="On this share of the variants it may come out otherwise."
    )
    uses: dict[str, Any] | None = Field(
        default=None, description="The earlier part's answer, as a student sends it."
    )
    earns: Points | RangeForm | None = Field(
        default=None, description="The points it earns without a person, or their bounds."
    )
    shows: Identifier | tuple[Identifier, ...] = Field(
        default=(), description="The misconceptions it shows, and no others; or `any`."
    )
    refused: str | None = Field(
        default=None, description="The code of the error, where it cannot be read."
    )
    point: Annotated[int, Field(ge=1, le=15)] | None = Field(
        default=None, description="The point of 'What makes grading these hard' that it tests."
    )

    @model_validator(mode="after")
    def _expects_something(self) -> ExampleForm:
        if (self.earns is None) == (self.refused is None):
            raise ValueError("write either earns or refused")
        return self


class QuestionFile(Form):
    """One question: what is asked, what is drawn, what is claimed of an answer, and its tests."""

    id: Identifier = Field(description="The name of the file, without its ending.")
    title: str = Field(description="What the student sees above the prompt.")
    points: Points = Field(description="What the criteria and the fields add up to.")
    revision: Annotated[int, Field(ge=1)] = Field(
        default=1,
        description="Raise it to draw everything anew; changing anything else draws the same.",
    )
    prompt: str = Field(description="Markdown with TeX between dollar signs.")
    hints: tuple[str, ...] = Field(
        default=(), description="Help for the student, from the first nudge to nearly the answer."
    )
    uses: UsesForm | None = Field(
        default=None,
        description="An earlier part whose answer this one runs; the two share their variant.",
    )
    draw: dict[Names, DrawForm] = Field(
        default_factory=dict,
        description="One variant. A number is a size or a constant, a formula is computed from "
        "what stands above it, anything else is drawn from a random stream of its own.",
    )
    families: dict[Name, FamilyForm] = Field(
        default_factory=dict, description="Matrices whose members are spoken of by number, as x_1."
    )
    given: tuple[Name, ...] = Field(default=(), description="What the student is shown.")
    key_sets: KeySetsForm | None = Field(
        default=None,
        description="What the answer is tried on; without it the question is decided exactly.",
    )
    answer: dict[Name, AnswerForm] = Field(
        min_length=1, description="The fields of an answer, by name."
    )
    compute: dict[Name, Expression] = Field(
        default_factory=dict,
        description="What follows from the answer and the key set, in order; "
        "criteria, misconceptions and plots may use it.",
    )
    criteria: tuple[CriterionForm, ...] = Field(
        default=(), description="What is claimed of an answer; each is judged by itself."
    )
    misconceptions: tuple[MisconceptionForm, ...] = Field(
        default=(),
        description="Known wrong ideas, the most telling first: "
        "each missed criterion is explained once, by the first that fits.",
    )
    plots: tuple[PlotForm, ...] = Field(
        default=(), description="Pictures of what the answer does on practice key sets."
    )
    fresh_variants: Annotated[int, Field(ge=0, le=64)] = Field(
        default=8, description="On how many other variants a formula is tried."
    )
    examples: tuple[ExampleForm, ...] = Field(
        default=(), description="The question's own tests, run by `grader check`."
    )
