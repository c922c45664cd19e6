"""Bundles: one file with everything a student needs to check how an attempt was graded.

A rubric's file contains model answers. So a bundle has only its hash at first, and its text and the
keys once nobody can submit any more (`docs/decisions/0005`).
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

#: More than the largest valid bundle: an answer and two rubrics at their limits.
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
    """What every student sees of a question, and nothing else from its rubric."""

    title: str
    prompt: str
    fields: tuple[ShownField, ...]
    criteria: tuple[ShownCriterion, ...]


class EarlierQuestion(ReportModel):
    """The earlier question that this one builds on.

    `answer` is the student's answer to it, or None; `is_own` says whether this question was tested
    with that answer or with a reference. Both are None while results are withheld, because they
    reveal how the earlier answer was graded.
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
    """Everything drawn for the student as it was stored, including hidden draws."""

    values: dict[str, NestedNumbers]
    indices: dict[str, int]

    def as_variant(self, name: str) -> Variant:
        """The variant for the engine; ValueError for a matrix with rows of different lengths."""
        values = {each: np.array(value, dtype=float) for each, value in self.values.items()}
        return Variant(name, values, dict(self.indices))


class PublishedMaterial(ReportModel):
    """What is published once nobody can submit any more.

    `rubrics` are whole files by question, those of earlier questions first.
    """

    assignment: AssignmentId
    rubrics: dict[QuestionId, str]
    keys: tuple[PublishedKey, ...]
    variant: StoredVariant

    def open_keys(self) -> PublishedKeys:
        """The keys for the engine; ValueError if one is not base64url."""
        return PublishedKeys(
            {(each.question, each.revision): decode_base64url(each.key) for each in self.keys}
        )


class Bundle(ReportModel):
    """A receipt with everything it refers to.

    `publishes_at` is when the rest is expected, or None if unknown; `verdicts` is None while the
    question's feedback is withheld.
    """

    format: Literal[2]
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
    """Compose a bundle.

    Parameters
    ----------
    answer
        Exactly as it was sent, so that it has the hash in the receipt.
    variant
        As it was stored when the student first saw the question.
    keys
        The keys of the course run if they may be published now; None keeps rubric, keys and
        hidden draws out.
    """
    return Bundle(
        format=2,
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
    """The part of a rubric that students see."""
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
    """Nested lists as nested tuples, as in bundles."""
    return tuple(to_tuples(each) for each in value) if isinstance(value, list) else value


def write_bundle(bundle: Bundle) -> bytes:
    """The bundle as a JSON file."""
    return bundle.model_dump_json(indent=1).encode()


def read_bundle(raw: bytes) -> Bundle:
    """Read a bundle from any source.

    Raises
    ------
    OperatorError
        With the first error: too many bytes, invalid JSON, a duplicate, unknown or missing key, or
        a value that is not valid.
    """
    if len(raw) > MAX_BYTES:
        raise OperatorError(f"This is not a bundle: it is larger than {MAX_BYTES // 2**20} MiB.")
    try:
        data = jiter.from_json(raw, allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        raise OperatorError(f"This is not a bundle: it is not valid JSON ({error}).") from None
    if isinstance(data, Mapping) and data.get("format", 2) != 2:
        raise OperatorError(
            "This bundle has a format that this version of Keyset does not know; use a newer one."
        )
    try:
        return Bundle.model_validate_json(raw, strict=True)
    except ValidationError as error:
        first = locate_errors(error.errors(include_url=False)[:1], data, JSON)[0]
    name = ".".join(str(step) for step in first.path)[:200] or "the file"
    raise OperatorError(f"This is not a bundle: {first.to_sentence(name)}")
