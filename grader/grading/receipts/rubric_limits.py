"""How much a rubric from anywhere may ask of the machine that judges by it."""

from __future__ import annotations

from collections.abc import Iterator

from grader.engine.question import Measured, Predicted, Question
from grader.engine.random.draws import DistinctIndices
from grader.engine.random.keysets import GaussianKeys
from grader.errors import OperatorError
from grader.feedback.receipt import list_sources
from grader.formula.typed.tree import Node, walk
from grader.reading.formulas import LADDER

#: So many numbers one value may hold over all key sets: 16 keys of 64 numbers, 32 000 times.
MOST_NUMBERS = 1 << 25


def refuse_too_large(question: Question) -> None:
    """Refuse a question that would take all memory; raises `OperatorError`."""
    for each in list_sources(question):
        if max(_sampled_numbers(each), _drawn_numbers(each)) > MOST_NUMBERS:
            raise OperatorError(f"{each.id} asks for more numbers than any question needs.")


def _sampled_numbers(question: Question) -> int:
    """How many numbers the largest value has over all key sets."""
    key_sets = question.key_sets.counts[-1] if question.key_sets else 1
    nodes = (node for root in _formulas(question) for node in walk(root))
    return key_sets * max((node.shape.size for node in nodes), default=1)


def _drawn_numbers(question: Question) -> int:
    """How many numbers the variants hold that a formula is tried on."""
    shapes = (
        shape
        for draw in question.draws
        if not isinstance(draw.rule, DistinctIndices)
        for shape in draw.rule.shapes
    )
    return (1 + question.fresh_variants) * len(LADDER) * sum(shape.size for shape in shapes)


def _formulas(question: Question) -> Iterator[Node]:
    yield from question.compute.values()
    for criterion in question.criteria:
        match criterion:
            case Measured():
                yield criterion.measure
            case Predicted():
                yield criterion.expected
    for rule in question.key_sets.rules.values() if question.key_sets else ():
        yield rule.mean if isinstance(rule, GaussianKeys) else rule.basis
