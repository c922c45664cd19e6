"""Judging an attempt again from its bundle alone, and telling what agrees.

A bundle comes from anywhere. Its texts go through the same strict readers as any other file, and
nothing that it names is ever opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from grader import __version__
from grader.engine.judge.judge import Judge
from grader.engine.question import MeasuredCriterion, PredictedCriterion, Question
from grader.engine.random.draws import DistinctIndices, DrawFailed
from grader.engine.random.keysets import GaussianKeys
from grader.engine.random.variants import Variant
from grader.errors import KeysetError, OperatorError
from grader.feedback.base import hash_bytes
from grader.feedback.given import build_given_values
from grader.feedback.receipt import (
    Receipt,
    VerdictLine,
    compose_receipt,
    hash_streams,
    list_sources,
    list_verdicts,
)
from grader.formula.typed.tree import Node, list_nodes
from grader.grading.receipts.bundle import Bundle, PublishedMaterial, to_shown_question, to_tuples
from grader.grading.receipts.checks import (
    CheckState,
    ReplayCheck,
    check_contents,
    check_signature,
    make_check,
)
from grader.reading.large import MAX_RUNGS
from grader.rubric.catalog import Rubric, read_rubric

# What judging can come to where a rubric was never checked; in a bundle it may be anybody's.
_JUDGING_ERRORS = (KeysetError, DrawFailed, ArithmeticError, LookupError, ValueError, MemoryError)


@dataclass(frozen=True, slots=True)
class Replay:
    """All checks of a bundle, in order."""

    checks: tuple[ReplayCheck, ...]

    @property
    def agrees(self) -> bool:
        """Whether nothing differs; what is open does not count."""
        return all(check.state is not CheckState.DIFFERS for check in self.checks)

    @property
    def was_judged(self) -> bool:
        """Whether the answer was judged again and came out as the receipt says."""
        return any(
            check.name == "judged again" and check.state is CheckState.AGREES
            for check in self.checks
        )


def replay_bundle(bundle: Bundle, *, key: str | None = None) -> Replay:
    """Compare all that a bundle holds, and judge its answer again where that can be done yet.

    Parameters
    ----------
    key
        The public key that the service publishes, to compare with; None where it is not at hand.
    """
    checks = [*check_signature(bundle, key), *check_contents(bundle)]
    if bundle.published is None:
        checks.append(ReplayCheck("judged again", CheckState.OPEN, _describe_wait(bundle)))
    else:
        checks.extend(_check_published(bundle, bundle.published))
    return Replay(tuple(checks))


def _describe_wait(bundle: Bundle) -> str:
    when = "after the last extension"
    if bundle.publishes_at is not None:
        when = f"from {bundle.publishes_at:%Y-%m-%d %H:%M} UTC on"
    return (
        f"Rubric and keys are published {when}. "
        "Get the bundle again then; until then the receipt binds the service to them."
    )


def _check_published(bundle: Bundle, published: PublishedMaterial) -> Iterator[ReplayCheck]:
    yield (texts := _check_rubrics(bundle, published))
    if texts.state is CheckState.DIFFERS:
        return
    try:
        rubric = _load(bundle, published)
        _refuse_too_large(rubric.question)
        yield _check_question(bundle, rubric)
        yield (keys := _check_keys(bundle, published, rubric))
        if keys.state is CheckState.AGREES:
            yield from _judge_again(bundle, published, rubric)
    except _JUDGING_ERRORS as error:
        (reason, *_) = str(error).splitlines() or [type(error).__name__]
        text = f"The answer cannot be judged by what the bundle holds: {reason[:300]}"
        yield ReplayCheck("judged again", CheckState.DIFFERS, text)


def _check_rubrics(bundle: Bundle, published: PublishedMaterial) -> ReplayCheck:
    """Compare the texts with the hashes that the receipt had from the beginning."""
    receipt = bundle.receipt
    hashes = {name: hash_bytes(text.encode()) for name, text in published.rubrics.items()}
    own = hashes.pop(receipt.question, None)
    expected = [receipt.used_rubric] if receipt.used_rubric else []
    return make_check(
        "rubric",
        own == receipt.rubric and list(hashes.values()) == expected,
        "The rubric is the one that the receipt is for.",
        "The rubric is not the one that the receipt is for, so nothing was judged by it.",
    )


def _load(bundle: Bundle, published: PublishedMaterial) -> Rubric:
    """Compile the texts; the path serves to tell where a mistake is."""
    loaded: dict[str, Rubric] = {}
    for id_, text in published.rubrics.items():
        name = id_.partition("/")[2]
        loaded[name] = read_rubric(
            text,
            path=Path(published.assignment, f"{name}.yaml"),
            assignment=published.assignment,
            earlier=loaded,
        )
    for rubric in loaded.values():
        if rubric.id == bundle.receipt.question:
            return rubric
    raise OperatorError(f"{published.assignment} is not the assignment of this question.")


def _check_question(bundle: Bundle, rubric: Rubric) -> ReplayCheck:
    return make_check(
        "question",
        to_shown_question(rubric) == bundle.question,
        "Prompt, fields and points are those of the rubric.",
        "Prompt, fields or points are not those of the rubric.",
    )


def _check_keys(bundle: Bundle, published: PublishedMaterial, rubric: Rubric) -> ReplayCheck:
    try:
        judge = Judge(rubric.question, published.open_keys())
        agrees = hash_streams(judge) == bundle.receipt.streams
    except (ValueError, LookupError):
        agrees = False
    return make_check(
        "keys",
        agrees,
        "The keys are those that the receipt is bound to.",
        "The keys are not those that the receipt is bound to, so nothing was drawn from them.",
    )


def _judge_again(
    bundle: Bundle, published: PublishedMaterial, rubric: Rubric
) -> Iterator[ReplayCheck]:
    judge = Judge(rubric.question, published.open_keys())
    redrawn = judge.variant(bundle.receipt.variant)
    variant = _stored_variant(published, redrawn)
    yield make_check(
        "variant",
        variant is not None and _are_close(variant, redrawn),
        "The stored variant is the one that the keys give, to nine digits.",
        "The stored variant is not the one that the keys give.",
    )
    variant = variant or redrawn
    given = build_given_values(rubric.scope, variant, rubric.form.given)
    yield make_check(
        "given",
        {name: to_tuples(value) for name, value in given.items()} == bundle.given,
        "What the student was given is that variant.",
        "What the student was given is not that variant.",
    )
    again, verdicts, is_own = _recompute(bundle, judge, rubric, variant)
    if bundle.receipt.verdicts is None:
        text = f"It earns {_format_points(again)}; the receipt withholds what it earned."
        yield ReplayCheck("judged again", CheckState.OPEN, text)
        return
    yield from _check_inputs(bundle, again, is_own)
    yield _check_verdicts(bundle, again, verdicts)


def _stored_variant(published: PublishedMaterial, redrawn: Variant) -> Variant | None:
    """The variant as it was stored, if it has the form of one; else None."""
    try:
        stored = published.variant.as_variant(redrawn.id)
    except ValueError:
        return None
    shapes = {name: value.shape for name, value in stored.values.items()}
    expected = {name: value.shape for name, value in redrawn.values.items()}
    return stored if (shapes, stored.indices) == (expected, redrawn.indices) else None


def _are_close(stored: Variant, redrawn: Variant) -> bool:
    return all(
        np.allclose(value, redrawn.values[name], rtol=1e-9, atol=1e-12)
        for name, value in stored.values.items()
    )


def _recompute(
    bundle: Bundle, judge: Judge, rubric: Rubric, variant: Variant
) -> tuple[Receipt, tuple[VerdictLine, ...], bool | None]:
    """Judge the answer on the stored variant; whose earlier answer was used, too."""
    sent = bundle.uses.answer if bundle.uses is not None else None
    submission = judge.prepare(variant, bundle.answer, earlier=sent)
    (judgement,) = judge.judge([submission], recognising=False)
    receipt = compose_receipt(judge, submission, judgement, versions=rubric.versions)
    used = submission.used
    return receipt, list_verdicts(judgement.verdicts), used.is_own if used else None


def _check_inputs(bundle: Bundle, again: Receipt, is_own: bool | None) -> Iterator[ReplayCheck]:
    """Compare what the answer was judged on."""
    receipt = bundle.receipt
    if again.noise or receipt.noise:
        yield make_check(
            "noise",
            (again.noise, again.key_sets) == (receipt.noise, receipt.key_sets),
            f"The same {again.key_sets:,} key sets came out of the keys.",
            "The key sets that come out of the keys are not those that the receipt is for.",
        )
    if is_own is not None or bundle.uses is not None:
        whose = "the student's own earlier answer" if is_own else "the reference"
        told = bundle.uses.is_own if bundle.uses is not None else None
        yield make_check(
            "used",
            again.used == receipt.used and told == is_own,
            f"It was tried with {whose}, as the receipt says.",
            f"Judged again it is tried with {whose}, and the receipt is for something else.",
        )


def _check_verdicts(bundle: Bundle, again: Receipt, lines: tuple[VerdictLine, ...]) -> ReplayCheck:
    receipt, reported = bundle.receipt, {each.criterion: each for each in bundle.verdicts or ()}
    different = [each.criterion for each in lines if reported.get(each.criterion) != each]
    earned = _format_points(again)
    agrees = (again.verdicts, again.score, again.max_score) == (
        receipt.verdicts,
        receipt.score,
        receipt.max_score,
    )
    about = f" Different: {', '.join(different)}." if different else ""
    other = "" if receipt.engine == __version__ else f" It was judged by Keyset {receipt.engine}."
    return make_check(
        "judged again",
        agrees and lines == bundle.verdicts,
        f"The same verdicts and points come out: {earned}.",
        f"It comes out differently: {earned}, not {_format_points(receipt)}.{about}{other}",
    )


def _format_points(receipt: Receipt) -> str:
    """Points of points, as people write them."""
    earned = "none" if receipt.score is None else f"{receipt.score.normalize():f}"
    return f"{earned} of {receipt.max_score.normalize():f}"


#: Maximum numbers of one value over all key sets: 16 keys of 64 numbers, 32 000 times.
_MAX_NUMBERS = 1 << 25


def _refuse_too_large(question: Question) -> None:
    """Refuse a question that would take all memory; raises `OperatorError`."""
    for each in list_sources(question):
        if max(_sampled_numbers(each), _drawn_numbers(each)) > _MAX_NUMBERS:
            raise OperatorError(f"{each.id} asks for more numbers than any question needs.")


def _sampled_numbers(question: Question) -> int:
    """How many numbers the largest value has over all key sets."""
    key_sets = question.key_sets.counts[-1] if question.key_sets else 1
    nodes = (node for root in _formulas(question) for node in list_nodes(root))
    return key_sets * max((node.shape.size for node in nodes), default=1)


def _drawn_numbers(question: Question) -> int:
    """How many numbers the variants hold that a formula is tried on."""
    shapes = (
        shape
        for draw in question.draws
        if not isinstance(draw.rule, DistinctIndices)
        for shape in draw.rule.shapes
    )
    return (1 + question.fresh_variants) * MAX_RUNGS * sum(shape.size for shape in shapes)


def _formulas(question: Question) -> Iterator[Node]:
    yield from question.compute.values()
    for criterion in question.criteria:
        match criterion:
            case MeasuredCriterion():
                yield criterion.measure
            case PredictedCriterion():
                yield criterion.expected
    for rule in question.key_sets.rules.values() if question.key_sets else ():
        yield rule.mean if isinstance(rule, GaussianKeys) else rule.basis
