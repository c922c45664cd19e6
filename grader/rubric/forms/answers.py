"""The forms of an answer's fields."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from grader.rubric.forms.base import (
    Form,
    Identifier,
    Name,
    Points,
    Positive,
    Quantity,
    Size,
    choose_tag,
)


class ArrayForm(Form):
    """A vector or matrix, sent as numbers or as a formula."""

    shape: tuple[Size, ...] = Field(
        min_length=1, max_length=2, description="The axes: one for a column, two for a matrix."
    )
    symbols: tuple[Name, ...] = Field(
        default=(), description="What a formula may use, beside the sizes and I."
    )


class NumberForm(Form):
    """A number, compared with what is measured or computed."""

    number: Quantity = Field(description="The expected number.")
    tolerance: Positive = Field(description="How far off is still right.")
    points: Points = Field(description="What the field is worth.")
    title: str = Field(
        default="", description="What is asked, in a few words; without it the field's name."
    )
    scales: tuple[Positive, ...] = Field(
        default=(1.0,),
        description="The used earlier answer is tried times each of these; "
        "anything between the measured values is right.",
    )
    symbols: tuple[Name, ...] = Field(
        default=(), description="What a formula may use, beside the sizes and I."
    )
    needs: Identifier | None = Field(
        default=None, description="No credit unless that criterion earned some."
    )


class ChoiceForm(Form):
    """One or several of some options."""

    choice: tuple[str, ...] = Field(min_length=2, description="The options.")
    correct: str | tuple[str, ...] = Field(
        description="The right option; where several may be chosen, all the right ones."
    )
    points: Points = Field(description="What the field is worth.")
    title: str = Field(
        default="", description="What is asked, in a few words; without it the field's name."
    )
    several: bool = Field(default=False, description="Whether more than one may be chosen.")
    needs: Identifier | None = Field(
        default=None, description="No credit unless that criterion earned some."
    )


class ItemForm(Form):
    """One thing a reviewer looks for."""

    points: Points = Field(description="What it is worth.")
    text: str = Field(alias="for", description="What earns the points.")


class ReviewForm(Form):
    """What a person looks for in a written part."""

    items: tuple[ItemForm, ...] = Field(
        min_length=1, description="What earns points; together they are what the field is worth."
    )
    note: str = Field(default="", description="For the reviewer only.")


class TextForm(Form):
    """Written text, graded by a person."""

    text: ReviewForm = Field(description="How the text is reviewed.")


class FileForm(Form):
    """One PDF, graded by a person."""

    file: ReviewForm = Field(description="How the file is reviewed.")


class ExternalForm(Form):
    """A score that comes from outside."""

    external: Annotated[Points, Field(gt=0)] = Field(description="The most points there are.")


def _answer_kind(value: Any) -> str:
    keys = ("shape", "number", "choice", "text", "file", "external")
    return choose_tag(value, {key: key for key in keys}, otherwise="shape")


AnswerForm = Annotated[
    Annotated[ArrayForm, Tag("shape")]
    | Annotated[NumberForm, Tag("number")]
    | Annotated[ChoiceForm, Tag("choice")]
    | Annotated[TextForm, Tag("text")]
    | Annotated[FileForm, Tag("file")]
    | Annotated[ExternalForm, Tag("external")],
    Discriminator(_answer_kind),
]
