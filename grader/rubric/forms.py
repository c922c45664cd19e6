"""The rubric file's form: every key an author may write, and what it means.

The descriptions are the reference: the editor's schema and docs/reference/rubric.md come from them.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from grader.domain.placeholders import list_placeholders

Identifier = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
Names = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*(, [A-Za-z][A-Za-z0-9_]*)*$")]
Expression = Annotated[str, Field(min_length=1, max_length=2000)]
#: A number may be written as a number or as a formula.
Quantity = int | float | Expression
#: A size is a whole number, or a formula of sizes.
Size = Annotated[int, Field(ge=1, le=1024)] | Expression
Points = Annotated[Decimal, Field(ge=0, le=1000, decimal_places=2)]
Credit = Annotated[Decimal, Field(gt=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
#: A few words in the middle of a sentence.
Noun = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z -]{0,39}$")]


def _check_sentence(text: str) -> str:
    """Refuse a sentence that does not say first what was measured, then what is needed."""
    if list_placeholders(text) != ["measured", "needed"] or not (
        text.count("{") == text.count("}") == 2
    ):
        raise ValueError("write {measured}, then {needed}, each once, and no other braces")
    return text


#: A sentence about a measure.
Sentence = Annotated[str, AfterValidator(_check_sentence)]

# Fields that several forms have.
_NEEDS = Field(default=None, description="No credit unless that criterion earned some.")
_SYMBOLS = Field(default=(), description="What a formula may use, besides the sizes and I.")
_TITLE = Field(
    default="", description="What is asked, in a few words; by default the field's name."
)


class Form(BaseModel):
    """Base of all forms: frozen and strict, with no unknown keys."""

    # Built when the first rubric is read, so that programs that read none start faster.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


def _by_key(*keys: str, otherwise: str = "") -> Discriminator:
    """Tell the forms of a union apart by the first of these keys that a value has.

    A mapping without any of them is taken for the first form, anything else for `otherwise`.
    """

    def choose_tag(value: Any) -> str:
        if isinstance(value, dict):
            return next((key for key in value if key in keys), keys[0])
        return next((key for key in keys if hasattr(value, key)), otherwise or keys[0])

    return Discriminator(choose_tag)


class DistinctIndicesForm(Form):
    """Indices that differ from each other; one for each name."""

    distinct_indices: Size = Field(
        description="The indices are at least 0 and below this. They are subscripts of matrices "
        "with as many rows, and of families with as many members."
    )


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


DrawForm = Annotated[
    Annotated[DistinctIndicesForm, Tag("distinct_indices")]
    | Annotated[OrthonormalForm, Tag("orthonormal")]
    | Annotated[OrthogonalForm, Tag("orthogonal")]
    | Annotated[BasesForm, Tag("orthonormal_bases")]
    | Annotated[GaussianForm, Tag("gaussian")]
    | Annotated[UnitRowsForm, Tag("unit_rows")]
    | Annotated[UniformForm, Tag("uniform")]
    | Annotated[Quantity, Tag("quantity")],
    _by_key(
        "distinct_indices",
        "orthonormal",
        "orthogonal",
        "orthonormal_bases",
        "gaussian",
        "unit_rows",
        "uniform",
        otherwise="quantity",
    ),
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

    index: Name = Field(description="The index of the key; it counts the rows of the mean.")
    by: Quantity = Field(description="The covariance gets `by * mu mu^T` more.")


class GaussianKeysForm(Form):
    """Keys drawn around their means."""

    mean: Expression = Field(description="A matrix whose rows are the means.")
    variance: Quantity = Field(description="The covariance is this number times the identity.")
    stretched: StretchForm | None = Field(
        default=None, description="One key that also varies along its own mean."
    )


class GaussianSampleForm(Form):
    """Random keys."""

    gaussian: GaussianKeysForm = Field(description="Where the keys lie and how they spread.")


class SpanSampleForm(Form):
    """A random vector in a subspace."""

    in_span: Expression = Field(description="A matrix whose columns span the subspace.")


SampleForm = Annotated[
    Annotated[GaussianSampleForm, Tag("gaussian")] | Annotated[SpanSampleForm, Tag("in_span")],
    _by_key("gaussian", "in_span"),
]


class KeySetsForm(Form):
    """What the answer is tested on, many times, hidden from the student."""

    count: Annotated[int, Field(ge=100, le=32_000)] = Field(
        default=2000, description="How many key sets are drawn at first."
    )
    let: dict[Name, Quantity] = Field(
        default_factory=dict,
        description="Numbers that the draws need; they may depend on the answer.",
    )
    draw: dict[Name, SampleForm] = Field(description="What is drawn for each key set.")
    called: Noun = Field(
        default="key sets",
        description="What students read for them: key sets, pairs, samples, inputs.",
    )
    keep: Expression | None = Field(
        default=None,
        description="Key sets where this does not hold are left out; `left_out` is their share.",
    )


class UsesForm(Form):
    """An earlier question whose answer this one builds on."""

    question: Identifier = Field(description="The earlier question, of the same assignment.")
    criterion: Identifier = Field(
        alias="if", description="The student's own answer is used if it met this criterion in full."
    )
    reference: dict[Name, Expression] = Field(
        alias="else", description="The answer used otherwise, by field."
    )
    longest: Annotated[float, Field(ge=1, le=1000)] = Field(
        default=1.0,
        description="Where the figures of the answer still change with its length, a multiple of "
        "it up to this may stand for it, the same for all predictions.",
    )
    called: Noun = Field(
        default="answer",
        description="What students read for it, as in `your query`: query, matrix.",
    )


class ArrayForm(Form):
    """A vector or matrix, sent as numbers or as a formula."""

    shape: tuple[Size, ...] = Field(
        min_length=1, max_length=2, description="The axes: one for a column, two for a matrix."
    )
    symbols: tuple[Name, ...] = _SYMBOLS


class NumberForm(Form):
    """A number, compared with what is measured or computed."""

    number: Quantity = Field(description="The expected number.")
    tolerance: Positive = Field(description="The largest error that still counts as right.")
    points: Points = Field(description="What the field is worth.")
    title: str = _TITLE
    in_words: str = Field(
        default="",
        description="What the number is, as in: the variance of the output; by default the title.",
    )
    at_least: float | None = Field(
        default=None, description="A number below this is impossible, and refused as unreadable."
    )
    at_most: float | None = Field(
        default=None, description="A number above this is impossible, and refused as unreadable."
    )
    symbols: tuple[Name, ...] = _SYMBOLS
    needs: Identifier | None = _NEEDS


class ChoiceForm(Form):
    """One or several of a list of options."""

    choice: tuple[str, ...] = Field(min_length=2, description="The options.")
    correct: str | tuple[str, ...] = Field(
        description="The right option; where several may be chosen, all the right ones."
    )
    points: Points = Field(description="What the field is worth.")
    title: str = _TITLE
    several: bool = Field(default=False, description="Whether more than one may be chosen.")
    needs: Identifier | None = _NEEDS


class ItemForm(Form):
    """One thing a reviewer looks for."""

    points: Points = Field(description="What it is worth.")
    text: str = Field(alias="for", description="What earns the points.")


class ReviewForm(Form):
    """What a person looks for in a written answer."""

    items: tuple[ItemForm, ...] = Field(
        min_length=1, description="What earns points; together they are the points of the field."
    )
    note: str = Field(default="", description="A note that only reviewers see.")


class TextForm(Form):
    """Written text, graded by a person."""

    text: ReviewForm = Field(description="How the text is reviewed.")


class FileForm(Form):
    """One PDF, graded by a person."""

    file: ReviewForm = Field(description="How the file is reviewed.")


class ExternalForm(Form):
    """A score that comes from outside."""

    external: Annotated[Points, Field(gt=0)] = Field(description="The maximum number of points.")


AnswerForm = Annotated[
    Annotated[ArrayForm, Tag("shape")]
    | Annotated[NumberForm, Tag("number")]
    | Annotated[ChoiceForm, Tag("choice")]
    | Annotated[TextForm, Tag("text")]
    | Annotated[FileForm, Tag("file")]
    | Annotated[ExternalForm, Tag("external")],
    _by_key("shape", "number", "choice", "text", "file", "external"),
]


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
    title: str = Field(description="The claim in a few words; the student sees it.")
    points: Points = Field(description="What it is worth at full credit.")
    measure: Expression = Field(
        description="The number that is judged; where key sets are drawn, one for each of them."
    )
    in_words: Sentence = Field(
        description="What the student is told about the measure, without giving the solution away: "
        "a sentence with {measured} and then {needed}, which becomes `at most 0.02` or the like."
    )
    levels: tuple[LevelForm, ...] = Field(min_length=1, description="The best credit first.")
    needs: Identifier | None = _NEEDS


class MisconceptionForm(Form):
    """A known wrong idea, recognised by what the answer does."""

    id: Identifier = Field(description="What examples and reports call it.")
    say: str = Field(
        description="What the student reads; {t} is the factor that would pass, and {whose} is "
        "`your` or `the reference`, by whose earlier answer is used."
    )
    when: Expression | None = Field(
        default=None, description="A condition that holds on nearly all key sets."
    )
    passes: dict[Name, Expression] = Field(
        default_factory=dict,
        description="A changed answer that would earn full credit by every criterion that depends "
        "on the changed fields, on other variants too if it is a formula; may use t.",
    )
    tries: tuple[Positive, ...] = Field(default=(), description="The values of t to try.")
    about: tuple[Identifier, ...] = Field(
        default=(), description="Only if one of these criteria was missed."
    )
    sent_as: Literal["numbers"] | None = Field(
        default=None, description="Only for answers that were sent as numbers, not as formulas."
    )

    @model_validator(mode="after")
    def _has_a_sign(self) -> MisconceptionForm:
        if self.when is None and not self.passes:
            raise ValueError("write when, or passes, or both")
        return self


class PlotFormBase(Form):
    """What all plots have."""

    reveals: bool = Field(
        default=False,
        description="The plot shows the solution, so it is held back until every criterion is met.",
    )


class WeightsPlot(PlotFormBase):
    """Bars of the weights, with their spread over the key sets."""

    weights: Expression = Field(description="A column of weights, or a matrix with one row each.")
    title: str = Field(default="Weights", description="The title of the plot.")


class PlanePlot(PlotFormBase):
    """Outputs in the plane through two points, with the target halfway."""

    plane: Expression = Field(description="The output, a column.")
    through: tuple[Expression, Expression] = Field(description="The two points, columns.")
    labels: tuple[str, str] = Field(
        default=("first", "second"), description="What the two points are called."
    )
    title: str = Field(default="Outputs", description="The title of the plot.")


class ComparePlot(PlotFormBase):
    """What comes out against what should."""

    compare: Expression = Field(description="What comes out, a column or a matrix.")
    to: Expression = Field(description="What should come out, of the same shape.")
    title: str = Field(
        default="What comes out, and what should", description="The title of the plot."
    )


PlotForm = Annotated[
    Annotated[WeightsPlot, Tag("weights")]
    | Annotated[PlanePlot, Tag("plane")]
    | Annotated[ComparePlot, Tag("compare")],
    _by_key("weights", "plane", "compare"),
]


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
        default=None, description="The number of decimals with which the given arrays were copied."
    )
    of: Literal["own", "another"] = Field(
        default="own", description="Whose variant the numbers are computed on."
    )
    by_chance: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0, description="The share of variants on which it may come out differently."
    )
    uses: dict[str, Any] | None = Field(
        default=None, description="The answer to the earlier question, as a student sends it."
    )
    earns: Points | RangeForm | None = Field(
        default=None,
        description="The points it earns before any review by a person, or their bounds.",
    )
    shows: Identifier | tuple[Identifier, ...] = Field(
        default=(), description="The misconceptions it shows, and no others; or `any`."
    )
    refused: str | None = Field(
        default=None, description="The error code, if the answer cannot be read."
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
    """One question: its prompt, its draws, its criteria and its tests."""

    id: Identifier = Field(description="The name of the file without its extension.")
    title: str = Field(description="What the student sees above the prompt.")
    points: Points = Field(description="What the criteria and the fields add up to.")
    revision: Annotated[int, Field(ge=1)] = Field(
        default=1,
        description="Raise it to draw new variants; no other change does.",
    )
    prompt: str = Field(description="Markdown with TeX between dollar signs.")
    hints: tuple[str, ...] = Field(
        default=(), description="Help for the student, from the first nudge to nearly the answer."
    )
    uses: UsesForm | None = Field(
        default=None,
        description="An earlier question whose answer this one uses; the two share their variant.",
    )
    draw: dict[Names, DrawForm] = Field(
        default_factory=dict,
        description="One variant. A number is a size or a constant, a formula is computed from "
        "the keys above it, anything else is drawn from a random stream of its own. As everywhere "
        "in the file, no name may be that of a function, I, e or pi. T may be a matrix, "
        "but not a number: `x^T` is the transpose.",
    )
    families: dict[Name, FamilyForm] = Field(
        default_factory=dict,
        description="Matrices whose rows or columns have numbers, such as x_1.",
    )
    given: tuple[Name, ...] = Field(default=(), description="What the student is shown.")
    key_sets: KeySetsForm | None = Field(
        default=None,
        description="What the answer is tested on; without it the question is decided exactly.",
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
        default=(), description="The claims about an answer; each is judged by itself."
    )
    misconceptions: tuple[MisconceptionForm, ...] = Field(
        default=(),
        description="Known wrong ideas, the most telling first: "
        "each missed criterion is explained once, by the first that fits.",
    )
    plots: tuple[PlotForm, ...] = Field(
        default=(), description="Plots of what the answer does on practice key sets."
    )
    fresh_variants: Annotated[int, Field(ge=0, le=64)] = Field(
        default=8, description="The number of other variants on which a formula is tested."
    )
    examples: tuple[ExampleForm, ...] = Field(
        default=(), description="The question's own tests, run by `grader check`."
    )
    also_right: tuple[str, ...] = Field(
        default=(),
        description="Attacks of `grader check --attack` that are meant to earn full marks, by the "
        "names it prints; `*` stands for anything.",
    )
