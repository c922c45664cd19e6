"""Trying an answer without storing it: how it is read, practice key sets, and judging for staff."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.engine.judge.judge import Judge
from grader.engine.random.keysets import PRACTICE, NoiseSource, sample_key_sets
from grader.engine.random.variants import Variant
from grader.engine.sample.observe import build_environment
from grader.errors import NotFound
from grader.feedback.base import ReportModel
from grader.feedback.receipt import compose_receipt
from grader.feedback.report import Report, build_report
from grader.formula.eval.evaluate import LazyMatrix
from grader.formula.formula import Formula
from grader.grading.context import GradingContext
from grader.grading.serialize import decode_variant
from grader.reading.answer import (
    Choice,
    ExternalScore,
    Numbers,
    Text,
    Value,
    list_notes,
    read_answer,
)
from grader.reading.fields import ArrayField, FileField, TextField
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import find_variants


class AnswerFieldReading(ReportModel):
    """How one field was read."""

    field: str
    read_as: str
    """`numbers`, `formula`, `choice`, `text`, `file` or `score`."""
    shape: tuple[int, ...] | None = None
    format: str | None = None
    """How numbers were written: JSON, NumPy, MATLAB, CSV, LaTeX …"""
    values: Any | None = None
    """The numbers themselves, or the chosen options."""
    text: str | None = None
    """A formula in plain letters."""
    latex: str | None = None
    """A formula in LaTeX."""
    characters: int | None = None
    notes: tuple[str, ...] = ()
    """How it was read, in sentences, where that may surprise."""


class AnswerReading(ReportModel):
    """How an answer was read; no attempt was used."""

    question: str
    fields: tuple[AnswerFieldReading, ...]
    not_sent: tuple[str, ...]
    """Fields that may follow later."""


def check_answer(rubric: Rubric, variant: Variant, sent: Any) -> AnswerReading:
    """Say how an answer is read.

    Raises
    ------
    AnswerRefused
        With every place that cannot be read.
    """
    fields = rubric.question.fields
    answer = read_answer(sent, fields, variant.environment)
    optional = [each.name for each in fields if isinstance(each, TextField | FileField)]
    files = {each.name for each in fields if isinstance(each, FileField)}
    return AnswerReading(
        question=rubric.id,
        fields=tuple(
            _reading(name, value, is_file=name in files) for name, value in answer.values.items()
        ),
        not_sent=tuple(name for name in optional if name not in answer.values),
    )


def check_field(rubric: Rubric, variant: Variant, name: str, sent: Any) -> AnswerFieldReading:
    """Say how one field is read, while it is being written.

    Raises
    ------
    NotFound
        Where the question has no such field.
    AnswerRefused
        With every place that cannot be read.
    """
    fields = [each for each in rubric.question.fields if each.name == name]
    if not fields:
        raise NotFound
    answer = read_answer({name: sent}, fields, variant.environment)
    return _reading(name, answer.values[name], is_file=isinstance(fields[0], FileField))


def _reading(name: str, value: Value, *, is_file: bool) -> AnswerFieldReading:
    match value:
        case Numbers():
            return AnswerFieldReading(
                field=name,
                read_as="numbers",
                shape=value.array.shape,
                format=value.format,
                values=value.array.tolist(),
                notes=list_notes(value),
            )
        case Formula():
            return AnswerFieldReading(
                field=name,
                read_as="formula",
                shape=value.shape.axes,
                text=value.to_text(),
                latex=value.to_latex(),
                notes=list_notes(value),
            )
        case Choice():
            return AnswerFieldReading(field=name, read_as="choice", values=sorted(value.options))
        case Text():
            kind = "file" if is_file else "text"
            return AnswerFieldReading(field=name, read_as=kind, characters=len(value.text))
        case ExternalScore():
            return AnswerFieldReading(field=name, read_as="score", values=float(value.points))


MAX_KEY_SETS = 400


def sample_practice_key_sets(judge: Judge, variant: Variant, *, count: int) -> dict[str, Any]:
    """The first practice key sets of a variant, by name: lists of `count` members.

    Empty where the question samples nothing. Where their noise depends on the answer's length,
    they are those of an answer no longer than one.
    """
    question = judge.question
    if question.key_sets is None:
        return {}
    source = NoiseSource(judge.context.bank, judge.context.key, PRACTICE, 0, count)
    fields = list(question.fields)
    if question.uses is not None:
        fields += question.uses.question.fields
    nothing = {
        each.name: np.zeros((1, *each.shape.axes))
        for each in fields
        if isinstance(each, ArrayField)
    }
    environment = build_environment([variant], nothing)
    names = set(question.key_sets.rules)
    with np.errstate(all="ignore"):
        sampled = sample_key_sets(question.key_sets, names, environment, source)
    return {name: _as_lists(sampled.values[name]) for name in sorted(names)}


def _as_lists(value: Any) -> Any:
    array = value.whole() if isinstance(value, LazyMatrix) else value
    return array[0].tolist()


def judge_without_storing(
    session: Session,
    context: GradingContext,
    *,
    run_id: str,
    assignment: str,
    question: str,
    variant: str,
    sent: Any,
    uses: Any | None = None,
) -> Report:
    """Judge an answer as it would be judged for this variant; nothing is stored.

    Raises
    ------
    NotFound
        Where the course run has no such question.
    AnswerRefused
        Where the answer, or the earlier one, cannot be read.
    """
    rubric = context.in_force(session, run_id=run_id, assignment=assignment).rubric(question)
    judge = context.judge(session, run_id=run_id, rubric=rubric)
    source = rubric.question.source
    key = (variant, source.id, source.revision)
    shown = find_variants(session, wanted=[key]).get(key)
    # A variant of another course run must not show here.
    is_ours = shown is not None and shown.run_id == run_id
    drawn = decode_variant(variant, shown.drawn) if shown and is_ours else judge.variant(variant)
    submission = judge.prepare(drawn, sent, earlier=uses, strict=True)
    (judgement,) = judge.judge([submission])
    receipt = compose_receipt(judge, submission, judgement, versions=rubric.versions)
    return build_report(rubric.question, judgement, receipt, used=submission.used)
