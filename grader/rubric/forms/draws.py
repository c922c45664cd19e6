"""The forms of draws, families and key sets, and of what a part takes from an earlier one."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, model_validator

from grader.rubric.forms.base import Expression, Form, Identifier, Name, Quantity, Size, choose_tag


class DistinctIndicesForm(Form):
    """Indices that differ from each other; one for each name."""

    distinct_indices: Size = Field(description="The indices are drawn from 0 up to below this.")


class OrthonormalForm(Form):
    """Orthonormal rows: a slice of a random rotation."""

    orthonormal: tuple[Size, Size] = Field(description="Rows and columns; rows <= columns.")


class OrthogonalForm(Form):
    """Mutually orthogonal rows of one length."""

    orthogonal: tuple[Size, Size] = Field(description="Rows and columns; rows <= columns.")
    norm: Quantity = Field(description="The length of each row.")
    labels: tuple[Name, ...] = Field(
        default=(), description="Subscripts that name the rows in order, such as [a, b, c, d]."
    )


class BasesForm(Form):
    """Orthonormal bases of mutually orthogonal subspaces, the basis vectors as columns."""

    orthonormal_bases: tuple[Size, tuple[Size, ...]] = Field(
        description="The dimension, and the number of basis vectors for each name."
    )


class GaussianForm(Form):
    """Independent standard normals."""

    gaussian: tuple[Size, ...] = Field(
        min_length=1, max_length=2, description="The axes: one for a vector, two for a matrix."
    )


class UnitRowsForm(Form):
    """Unit vectors as rows that are not orthogonal."""

    unit_rows: tuple[Size, Size] = Field(description="Rows and columns.")
    most_cosine: Annotated[float, Field(gt=0, lt=1)] = Field(
        description="No two rows have a cosine above this, in magnitude."
    )


class UniformForm(Form):
    """A number between two bounds."""

    uniform: tuple[float, float] = Field(description="The two bounds.")


def _draw_kind(value: Any) -> str:
    return choose_tag(
        value,
        {
            "distinct_indices": "indices",
            "orthonormal": "orthonormal",
            "orthogonal": "orthogonal",
            "orthonormal_bases": "bases",
            "gaussian": "gaussian",
            "unit_rows": "unit_rows",
            "uniform": "uniform",
        },
        otherwise="quantity",
    )


DrawForm = Annotated[
    Annotated[DistinctIndicesForm, Tag("indices")]
    | Annotated[OrthonormalForm, Tag("orthonormal")]
    | Annotated[OrthogonalForm, Tag("orthogonal")]
    | Annotated[BasesForm, Tag("bases")]
    | Annotated[GaussianForm, Tag("gaussian")]
    | Annotated[UnitRowsForm, Tag("unit_rows")]
    | Annotated[UniformForm, Tag("uniform")]
    | Annotated[Quantity, Tag("quantity")],
    Discriminator(_draw_kind),
]


class FamilyForm(Form):
    """Vectors with one name and different subscripts, counted from one as in papers."""

    columns_of: Name | None = Field(
        default=None, description="The members are the columns of this matrix."
    )
    rows_of: Name | None = Field(
        default=None, description="The members are the rows of this matrix."
    )

    @model_validator(mode="after")
    def _is_one_of_two(self) -> FamilyForm:
        if (self.columns_of is None) == (self.rows_of is None):
            raise ValueError("write either columns_of or rows_of")
        return self


class StretchForm(Form):
    """One key with an extra variance along its own mean."""

    index: Name = Field(description="The index of the key.")
    by: Quantity = Field(description="The covariance gets `by * mu mu^T` more.")


class GaussianKeysForm(Form):
    """Keys drawn around their means."""

    mean: Expression = Field(description="A matrix whose rows are the means.")
    variance: Quantity = Field(description="The covariance is this number times the identity.")
    stretched: StretchForm | None = Field(
        default=None, description="One key that varies along its own mean, too."
    )


class GaussianSampleForm(Form):
    """Random keys."""

    gaussian: GaussianKeysForm = Field(description="Where the keys lie and how they spread.")


class SpanSampleForm(Form):
    """A random vector in a subspace."""

    in_span: Expression = Field(description="A matrix whose columns span the subspace.")


def _sample_kind(value: Any) -> str:
    return choose_tag(value, {"gaussian": "gaussian", "in_span": "span"}, otherwise="gaussian")


SampleForm = Annotated[
    Annotated[GaussianSampleForm, Tag("gaussian")] | Annotated[SpanSampleForm, Tag("span")],
    Discriminator(_sample_kind),
]


class KeySetsForm(Form):
    """What the answer is tried on, many times, hidden from the student."""

    count: Annotated[int, Field(ge=100, le=32_000)] = Field(
        default=2000, description="How many key sets are drawn at first."
    )
    let: dict[Name, Quantity] = Field(
        default_factory=dict,
        description="Numbers that the draws need; they may depend on the answer.",
    )
    draw: dict[Name, SampleForm] = Field(description="What is drawn anew for each key set.")
    keep: Expression | None = Field(
        default=None,
        description="Key sets where this does not hold are left out; `left_out` is their share.",
    )


class UsesForm(Form):
    """An earlier part whose answer this one builds on."""

    question: Identifier = Field(description="The earlier part, of the same assignment.")
    criterion: Identifier = Field(
        alias="if", description="The own answer is used if it earned this criterion in full."
    )
    reference: dict[Name, Expression] = Field(
        alias="else", description="What is used otherwise, by field."
    )
