"""Bundles: one file with all that a student needs to see that an attempt was graded rightly.

A rubric's file holds model answers, so that a bundle has its hash at first, and its text together
with the keys only when nobody can hand in any more (`docs/decisions/0005`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import jiter
import numpy as np
from pydantic import Field, FiniteFloat, ValidationError

from grader.domain.validation import JSON, locate_errors
from grader.engine.random.streams import KeySource, PublishedKeys
from grader.engine.random.variants import Variant
from grader.errors import OperatorError
from grader.feedback.base import ReportModel
from grader.feedback.given import build_given_values
from grader.feedback.receipt import BoundedPoints, Receipt, UtcTime, VerdictLine, list_sources
from grader.grading.signing import decode_base64url, encode_base64url
from grader.reading.fields import describe_field
from grader.rubric.catalog import Rubric

#: The largest honest bundle, an answer and two rubrics at their limits, is smaller.
MAX_BYTES = 8 * 1024 * 1024

_ID = r"[a-z0-9][a-z0-9_-]{0,63}"
AssignmentId = Annotated[str, Field(pattern=f"^{_ID}$")]
QuestionId = Annotated[str, Field(pattern=f"^{_ID}/{_ID}$")]
#: A number, a vector or a matrix, with all digits.
NestedNumbers = (
    Annotated[int, Field(ge=-(2**53), le=2**53)]
    | FiniteFloat
    | tuple[FiniteFloat, ...]
    | tuple[tuple[FiniteFloat, ...], ...]
)


class ShownField(ReportModel):
    """A field of the answer, as the student sees it."""

    name: str
    takes: str


class ShownCriterion(ReportModel):
    """A criterion, as the student sees it."""

    id: str
    title: str
    points: BoundedPoints


class ShownQuestion(ReportModel):
    """What every student sees of a question, and nothing else of its rubric."""

    title: str
    prompt: str
    fields: tuple[ShownField, ...]
    criteria: tuple[ShownCriterion, ...]


class EarlierQuestion(ReportModel):
    """The earlier part that this one builds on.

    `answer` is what the student had sent there, None where there was nothing; `is_own` tells
    whether this part was tried with it, or with a reference. Both are None while results are
    withheld, since they tell how the earlier answers came out.
    """

    question: QuestionId
    answer: Any
    is_own: bool | None


class PublishedKey(ReportModel):
    """The key that a question's draws and key sets come from, as base64url."""

    question: QuestionId
    revision: Annotated[int, Field(ge=1)]
    key: str


class StoredVariant(ReportModel):
    """All that was drawn for the student, hidden draws included, as it was stored."""

    values: dict[str, NestedNumbers]
    indices: dict[str, int]

    def as_variant(self, name: str) -> Variant:
        """The same for the engine; a matrix with rows of different lengths is a ValueError."""
        values = {each: np.array(value, dtype=float) for each, value in self.values.items()}
        return Variant(name, values, dict(self.indices))


class PublishedMaterial(ReportModel):
    """What may be known when nobody can hand in any more.

    `rubrics` are whole files by question: those of earlier parts first, the question's own last.
    """

    assignment: AssignmentId
    rubrics: dict[QuestionId, str]
    keys: tuple[PublishedKey, ...]
    variant: StoredVariant

    def open_keys(self) -> PublishedKeys:
        """The keys for the engine; ValueError where one is no base64url."""
        return PublishedKeys(
            {(each.question, each.revision): decode_base64url(each.key) for each in self.keys}
        )


class Bundle(ReportModel):
    """A receipt with what it is about.

    `publishes_at` is when the rest is expected, None where that is not known; `verdicts` is None
    while the question's feedback is withheld.
    """

    format: Literal[1]
    receipt: Receipt
    public_key: str | None
    answer: Any
    given: dict[str, NestedNumbers]
    question: ShownQuestion
    uses: EarlierQuestion | None
    verdicts: tuple[VerdictLine, ...] | None
    publishes_at: UtcTime | None
    published: PublishedMaterial | None


def compose_bundle(
    *,
    rubric: Rubric,
    receipt: Receipt,
    public_key: str | None,
    answer: Any,
    variant: Variant,
    verdicts: tuple[VerdictLine, ...] | None,
    uses: EarlierQuestion | None = None,
    publishes_at: UtcTime | None = None,
    keys: KeySource | None = None,
) -> Bundle:
    """Put a bundle together.

    Parameters
    ----------
    answer
        As it was sent, to the last digit: it must give the hash in the receipt.
    variant
        As it was stored when the student first saw the question.
    keys
        The keys of the course run if they may be published now; None keeps rubric, keys and
        hidden draws out.
    """
    return Bundle(
        format=1,
        receipt=receipt,
        public_key=public_key,
        answer=answer,
        given=build_given_values(rubric.scope, variant, rubric.form.given),
        question=to_shown_question(rubric),
        uses=uses,
        verdicts=verdicts,
        publishes_at=publishes_at,
        published=None if keys is None else _make_published(rubric, variant, keys),
    )


def to_shown_question(rubric: Rubric) -> ShownQuestion:
    """The part of a rubric that students see anyway."""
    return ShownQuestion(
        title=rubric.form.title,
        prompt=rubric.form.prompt,
        fields=tuple(
            ShownField(name=each.name, takes=describe_field(each))
            for each in rubric.question.fields
        ),
        criteria=tuple(
            ShownCriterion(id=each.id, title=each.title, points=each.points)
            for each in rubric.question.criteria
        ),
    )


def _make_published(rubric: Rubric, variant: Variant, keys: KeySource) -> PublishedMaterial:
    files = [rubric]
    while (earlier := files[0].earlier) is not None:
        files.insert(0, earlier)
    return PublishedMaterial(
        assignment=rubric.assignment,
        rubrics={each.id: each.text for each in files},
        keys=tuple(
            PublishedKey(
                question=each.id,
                revision=each.revision,
                key=encode_base64url(keys.of(each.id, each.revision)),
            )
            for each in list_sources(rubric.question)
        ),
        variant=StoredVariant(
            values={name: to_tuples(value.tolist()) for name, value in variant.values.items()},
            indices=dict(variant.indices),
        ),
    )


def to_tuples(value: Any) -> Any:
    """Nested lists as nested tuples, which is how bundles hold them."""
    return tuple(to_tuples(each) for each in value) if isinstance(value, list) else value


def write_bundle(bundle: Bundle) -> bytes:
    """The bundle as a JSON file."""
    return bundle.model_dump_json(indent=1).encode()


def read_bundle(raw: bytes) -> Bundle:
    """Read a bundle from anywhere.

    Raises
    ------
    OperatorError
        With the first thing that no bundle has: too many bytes, no JSON, a name that stands twice,
        a key that is unknown or missing, a value of another kind.
    """
    if len(raw) > MAX_BYTES:
        raise OperatorError(f"This is not a bundle: it is larger than {MAX_BYTES // 2**20} MiB.")
    try:
        data = jiter.from_json(raw, allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        raise OperatorError(f"This is not a bundle: it is not valid JSON ({error}).") from None
    if isinstance(data, Mapping) and data.get("format", 1) != 1:
        raise OperatorError(
            "This bundle has a format that this version of Keyset does not know; use a newer one."
        )
    try:
        return Bundle.model_validate_json(raw, strict=True)
    except ValidationError as error:
        first = locate_errors(error.errors(include_url=False)[:1], data, JSON)[0]
    name = ".".join(str(step) for step in first.path)[:200] or "the file"
    raise OperatorError(f"This is not a bundle: {first.to_sentence(name)}")
