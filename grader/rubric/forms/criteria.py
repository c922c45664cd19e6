"""The forms of criteria, misconceptions and pictures."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_validator

from grader.rubric.forms.base import (
    Credit,
    Expression,
    Form,
    Identifier,
    Name,
    Points,
    Positive,
    choose_tag,
)


class LevelForm(Form):
    """A tolerance with its credit."""

    within: Positive | None = Field(default=None, description="The measure is at most this.")
    at_least: Positive | None = Field(default=None, description="The measure is at least this.")
    share: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None,
        description="On at least this share of the key sets; only where some are drawn.",
    )
    credit: Credit = Field(description="The share of the points it earns, up to 1.")

    @model_validator(mode="after")
    def _has_one_bound(self) -> LevelForm:
        if (self.within is None) == (self.at_least is None):
            raise ValueError("write either within or at_least")
        return self


class CriterionForm(Form):
    """One claim about what the answer does."""

    id: Identifier = Field(description="What other keys and reports call it.")
    title: str = Field(description="What is claimed, in a few words; the student sees it.")
    points: Points = Field(description="What it is worth at full credit.")
    measure: Expression = Field(
        description="The number that is judged; where key sets are drawn, one for each of them."
    )
    levels: tuple[LevelForm, ...] = Field(min_length=1, description="The best credit first.")
    needs: Identifier | None = Field(
        default=None, description="No credit unless that criterion earned some."
    )


class MisconceptionForm(Form):
    """A known wrong idea, recognised by what the answer does."""

    id: Identifier = Field(description="What examples and reports call it.")
    say: str = Field(description="What the student is told; {t} is the factor that would pass.")
    when: Expression | None = Field(
        default=None, description="A condition that holds on nearly all key sets."
    )
    passes: dict[Name, Expression] = Field(
        default_factory=dict,
        description="A changed answer that would earn full credit; may use t.",
    )
    tries: tuple[Positive, ...] = Field(default=(), description="The values of t to try.")
    about: tuple[Identifier, ...] = Field(
        default=(), description="Only if one of these criteria was missed."
    )

    @model_validator(mode="after")
    def _has_a_sign(self) -> MisconceptionForm:
        if self.when is None and not self.passes:
            raise ValueError("write when, or passes, or both")
        return self


class PictureForm(Form):
    """What all pictures have."""

    reveals: bool = Field(
        default=False,
        description="It shows what is asked for, so that it waits until all is right.",
    )


class WeightsPlot(PictureForm):
    """Bars of the weights, with their spread over the key sets."""

    weights: Expression = Field(description="A column of weights, or a matrix with one row each.")
    title: str = Field(default="Weights", description="What stands above the picture.")


class PlanePlot(PictureForm):
    """Outputs in the plane through two points, with the target halfway."""

    plane: Expression = Field(description="The output, a column.")
    through: tuple[Expression, Expression] = Field(description="The two points, columns.")
    labels: tuple[str, str] = Field(
        default=("first", "second"), description="What the two points are called."
    )
    title: str = Field(default="Outputs", description="What stands above the picture.")


class ComparePlot(PictureForm):
    """What comes out against what should."""

    compare: Expression = Field(description="What comes out, a column or a matrix.")
    to: Expression = Field(description="What should come out, of the same shape.")
    title: str = Field(
        default="What comes out, and what should", description="What stands above the picture."
    )


def _plot_kind(value: Any) -> str:
    kinds = {"weights": "weights", "plane": "plane", "compare": "compare"}
    return choose_tag(value, kinds, otherwise="weights")


PlotForm = Annotated[
    Annotated[WeightsPlot, Tag("weights")]
    | Annotated[PlanePlot, Tag("plane")]
    | Annotated[ComparePlot, Tag("compare")],
    Discriminator(_plot_kind),
]
