"""An adversary for authors: hostile answers that are derived from a question's own model answer.

Each attack changes the model answer in one way and is judged on many variants. What earns full
marks without being declared right, what loses marks by rounding without being told so, what stays
undecided, and a misconception that promises too much are problems: the author mends the rubric, or
declares the attack to be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from fnmatch import fnmatchcase
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import NUMBER, Kind
from grader.engine.judge.cases import Submission, compute_typical_arrays
from grader.engine.judge.judge import Judge, Judgement
from grader.engine.judge.misconceptions import compute_mended, list_affected
from grader.engine.question import Misconception, PredictedCriterion, Question
from grader.engine.random.noise import NoiseBank
from grader.engine.random.streams import DEVELOPMENT_KEYS, open_stream
from grader.engine.random.variants import Variant
from grader.errors import AnswerRefused
from grader.formula.formula import Formula
from grader.formula.render import to_text
from grader.formula.typed import tree as t
from grader.reading.fields import ArrayField, NumberField
from grader.reading.large import evaluate_formula
from grader.rubric.catalog import Rubric
from grader.rubric.examples import make_submission
from grader.rubric.forms import ExampleForm

Array = NDArray[Any]
Arrays = Mapping[str, Array]

_SIZES = (1e-300, 1e-12, 1e-3, 0.1, 10.0, 1e3, 1e6, 1e12, 1e100, 1e300)
_SMALL, _LARGE = 1e-5, 1e3
# How far the random directions go in which thresholds are looked for, and how many there are.
_FAR, _DIRECTIONS = 10.0, 4
# What works on one variant may work on another by chance, as a query for another key does.
_BY_CHANCE = 0.5
_DECIMALS = (2, 3, 4)
#: The number of variants that attacks are judged on at the most; a hole shows on any of them.
MAX_VARIANTS = 10
# Misconceptions are looked for on a few variants only, because that takes longer than judging.
_RECOGNISED_ON = 4
# Thresholds are approached by halving the way to an answer that fails, this many times, and then
# looked at from both sides, at this distance relative to the way.
_HALVINGS = 14
_NEAR = 0.02


class AttackKind(Enum):
    """What is expected of an attack: only the hostile ones can be declared right."""

    HOSTILE = "must not earn full marks"
    HARMLESS = "must earn full marks"
    ROUNDING = "must earn full marks or be told why it does not"
    THRESHOLD = "must be decided"


class Problem(StrEnum):
    """What is wrong with a rubric, as an attack shows it."""

    EARNS_ALL = "earns full marks"
    LOSES = "loses marks, but it is right"
    LOSES_BY_ROUNDING = "loses marks by rounding, and is not told why"
    UNDECIDED = "stays undecided"
    BROKEN_PROMISE = "is told of a mended answer that does not earn everything"
    UNKNOWN = "is declared right, but there is no such attack"


@dataclass(frozen=True, slots=True)
class AttackResult:
    """What came out of one attack: on how many variants it earned full marks, and so on.

    `unexplained` counts where marks were lost by rounding and no misconception says why;
    `broken_promises` names misconceptions whose mended answer does not earn everything.
    """

    name: str
    kind: AttackKind
    variants: int
    full: int = 0
    undecided: int = 0
    refused: int = 0
    unexplained: int = 0
    broken_promises: tuple[str, ...] = ()

    def list_problems(self) -> Iterator[Problem]:
        """What the author should look at."""
        match self.kind:
            case _ if not self.variants:
                yield Problem.UNKNOWN
            case AttackKind.HOSTILE if self.full > _BY_CHANCE * self.variants:
                yield Problem.EARNS_ALL
            case AttackKind.HARMLESS if self.full < self.variants:
                yield Problem.LOSES
            case AttackKind.ROUNDING if self.unexplained:
                yield Problem.LOSES_BY_ROUNDING
        if self.undecided:
            yield Problem.UNDECIDED
        if self.broken_promises:
            yield Problem.BROKEN_PROMISE


def run_attacks(rubric: Rubric, *, variants: int) -> list[AttackResult]:
    """Attack a question; empty where it has no model answer made of numbers or formulas.

    Attacks are judged on `variants` variants, but on `MAX_VARIANTS` at the most.
    """
    judge = Judge(rubric.question, DEVELOPMENT_KEYS, NoiseBank())
    example = _find_model(rubric, judge)
    if example is None:
        return []
    results = [
        _declare(each, rubric.form.also_right)
        for each in _Attacker(rubric, judge, example, min(variants, MAX_VARIANTS)).run()
    ]
    unknown = [
        AttackResult(pattern, AttackKind.HARMLESS, variants=0)
        for pattern in rubric.form.also_right
        if not any(fnmatchcase(each.name, pattern) for each in results)
    ]
    return results + unknown


def _declare(result: AttackResult, also_right: Sequence[str]) -> AttackResult:
    """What an author declares right must earn full marks."""
    is_right = any(fnmatchcase(result.name, pattern) for pattern in also_right)
    if is_right and result.kind is AttackKind.HOSTILE:
        return replace(result, kind=AttackKind.HARMLESS)
    return result


def _find_model(rubric: Rubric, judge: Judge) -> ExampleForm | None:
    """The first example that earns everything that is graded automatically."""
    variant = judge.variant("example-0")
    for example in rubric.form.examples:
        if example.refused is None and example.of == "own" and example.rounded is None:
            submission = make_submission(rubric, example, judge, variant, variant)
            (judgement,) = judge.judge([submission], recognising=False)
            if judgement.is_solved and _list_numeric_fields(rubric.question):
                return example
    return None


def _list_numeric_fields(question: Question) -> list[ArrayField | NumberField]:
    return [each for each in question.fields if isinstance(each, ArrayField | NumberField)]


# Changes of a model answer


@dataclass(frozen=True, slots=True)
class _Model:
    """The model answer on one variant: as it was read, and its numbers by field.

    `other` is the model answer on another variant.
    """

    submission: Submission
    arrays: Arrays
    other: Arrays

    @property
    def variant(self) -> Variant:
        return self.submission.variant


Change = Callable[[_Model], Arrays]


def _list_changes(question: Question) -> Iterator[tuple[str, Change]]:
    """Every attack that changes the numbers of the model answer, by name."""
    fields = _list_numeric_fields(question)
    names = [each.name for each in fields]
    yield "another variant's numbers", lambda model: model.other
    for verb, factor in (("zero", 0.0), ("sign", -1.0), ("half", 0.5), ("double", 2.0)):
        yield verb, _scale(names, factor)
        if len(names) > 1:
            yield from ((f"{verb}: {name}", _scale([name], factor)) for name in names)
    yield from ((f"times {size:g}", _scale(names, size)) for size in _SIZES)
    shapes = {each.name: each.shape if isinstance(each, ArrayField) else NUMBER for each in fields}
    for name, shape in shapes.items():
        if shape.kind is Kind.MATRIX and shape.rows == shape.columns:
            yield f"transpose: {name}", _transpose(name)
    for one, other in combinations(names, 2):
        if shapes[one] == shapes[other]:
            yield f"swap: {one} and {other}", _assign({one: other, other: one})
    for one, other in permutations(names, 2):
        if shapes[one] == shapes[other]:
            yield f"{one} for {other}, too", _assign({other: one})


def _scale(names: Sequence[str], factor: float) -> Change:
    return lambda model: {**model.arrays, **{name: factor * model.arrays[name] for name in names}}


def _transpose(name: str) -> Change:
    return lambda model: {**model.arrays, name: model.arrays[name].T}


def _assign(sources: Mapping[str, str]) -> Change:
    return lambda model: {
        **model.arrays,
        **{name: model.arrays[source] for name, source in sources.items()},
    }


def _go_astray(direction: int) -> Change:
    """Add a random direction, far longer than each field itself."""

    def change(model: _Model) -> Arrays:
        generator = open_stream(b"attack", model.variant.id, direction)
        changed = {}
        for name, array in model.arrays.items():
            noise = generator.standard_normal(array.shape)
            length = _FAR * (np.linalg.norm(array) or 1.0)
            changed[name] = array + length / np.linalg.norm(noise) * noise
        return changed

    return change


def _list_additions(
    question: Question, variant: Variant, multiple: float
) -> Iterator[tuple[str, Change]]:
    """The model answer plus a multiple of what is given, where the shapes agree."""
    for field in _list_numeric_fields(question):
        if isinstance(field, ArrayField):
            for name, term in _list_given_terms(question, variant, field):
                yield f"{field.name} + {multiple:g} {name}", _add(field.name, term, multiple)


Term = Callable[[Variant], Array]


def _list_given_terms(
    question: Question, variant: Variant, field: ArrayField
) -> Iterator[tuple[str, Term]]:
    """Given arrays of a field's shape: rows of a matrix, their sum, and `X X^T`."""
    for name in question.given:
        value = variant.values.get(name)
        if value is None or value.ndim != 2:
            continue
        rows, columns = value.shape
        if field.shape.axes == (columns,):
            known = [index for index in variant.indices if index in question.given]
            yield from ((f"{name}_{index}", _take_row(name, index)) for index in known)
            yield f"sum of {name}", _sum_rows(name)
        if field.shape.axes == (rows, rows):
            yield f"{name} {name}^T", _square(name)


def _take_row(name: str, index: str) -> Term:
    return lambda variant: variant.values[name][variant.indices[index]]


def _sum_rows(name: str) -> Term:
    return lambda variant: np.asarray(variant.values[name].sum(axis=0))


def _square(name: str) -> Term:
    return lambda variant: np.asarray(variant.values[name] @ variant.values[name].T)


def _add(field: str, term: Term, multiple: float) -> Change:
    """Add a given array, `multiple` times as long as the field itself."""

    def change(model: _Model) -> Arrays:
        array, given = model.arrays[field], term(model.variant)
        length = multiple * (np.linalg.norm(array) or 1.0) / np.linalg.norm(given)
        return {**model.arrays, field: array + length * given}

    return change


def _round(decimals: int) -> Change:
    return lambda model: {name: np.round(array, decimals) for name, array in model.arrays.items()}


def _copy(decimals: int) -> Change:
    """Compute the formulas of the model answer from given arrays with a few decimals only."""

    def change(model: _Model) -> Arrays:
        values = {name: np.round(each, decimals) for name, each in model.variant.values.items()}
        environment = replace(model.variant, values=values).environment
        return {
            **model.arrays,
            **{
                name: evaluate_formula(formula, environment, {})[0]
                for name, formula in model.submission.formulas.items()
                if not formula.large
            },
        }

    return change


# Constants declared large


def _make_independent(formula: Formula) -> Formula | None:
    """The formula with a large constant of its own before every term of its sum, if it is one."""
    constants: list[str] = []
    tree = _scale_terms(formula.tree, constants)
    if len(constants) < 2:
        return None
    return replace(formula, text=to_text(tree), tree=tree, large=tuple(constants))


def _scale_terms(node: t.Node, constants: list[str]) -> t.Node:
    match node:
        case t.Add(left=left, right=right) if node.shape != NUMBER:
            return replace(
                node, left=_scale_term(left, constants), right=_scale_term(right, constants)
            )
        case t.Multiply(right=right, product=t.Product.SCALE) if right.shape != NUMBER:
            return replace(node, right=_scale_terms(right, constants))
        case t.Divide(left=left):
            return replace(node, left=_scale_terms(left, constants))
        case t.Negate(operand=operand):
            return replace(node, operand=_scale_terms(operand, constants))
        case _:
            return node


def _scale_term(node: t.Node, constants: list[str]) -> t.Node:
    if isinstance(node, t.Add):
        return _scale_terms(node, constants)
    name = f"C_{len(constants) + 1}"
    constants.append(name)
    constant = t.Name(shape=NUMBER, start=node.start, name=name)
    return t.Multiply(
        shape=node.shape, start=node.start, left=constant, right=node, product=t.Product.SCALE
    )


# Judging


@dataclass(frozen=True, slots=True)
class _Attacker:
    """Attacks one question with changes of its model answer."""

    rubric: Rubric
    judge: Judge
    example: ExampleForm
    variants: int

    def run(self) -> Iterator[AttackResult]:
        """Every attack with its result."""
        question = self.judge.question
        models = self._list_models()
        hostile = dict(_list_changes(question))
        hostile |= _list_additions(question, models[0].variant, _LARGE)
        for name, change in hostile.items():
            if any(self._is_changed(model, change(model)) for model in models):
                yield self._attack(name, AttackKind.HOSTILE, change, models)
        for name, change in _list_additions(question, models[0].variant, _SMALL):
            yield self._attack(name, AttackKind.HARMLESS, change, models)
        for decimals in _DECIMALS:
            for what, change in (("answer", _round(decimals)), ("given arrays", _copy(decimals))):
                name = f"{what} rounded to {decimals} decimals"
                yield self._attack(name, AttackKind.ROUNDING, change, models)
        yield from self._declare_large(models)
        for direction in range(1, _DIRECTIONS + 1):
            change = _go_astray(direction)
            sides = [each for model in models for each in self._find_threshold(model, change)]
            name = f"near the threshold in direction {direction}"
            yield self._judge(name, AttackKind.THRESHOLD, sides)

    def _list_models(self) -> list[_Model]:
        names = [each.name for each in _list_numeric_fields(self.judge.question)]
        submissions = []
        for number in range(self.variants + 1):
            variant = self.judge.variant(f"example-{number}")
            submissions.append(
                make_submission(self.rubric, self.example, self.judge, variant, variant)
            )
        arrays = []
        for submission in submissions:
            placed = compute_typical_arrays(submission)
            arrays.append({name: placed[name][0] for name in names})
        return [
            _Model(submission, own, other)
            for submission, (own, other) in zip(submissions, pairwise(arrays), strict=False)
        ]

    def _is_changed(self, model: _Model, arrays: Arrays) -> bool:
        """Whether an answer differs from the model answer by more than a prediction may be off."""
        tolerances = {
            each.id: each.tolerance
            for each in self.judge.question.criteria
            if isinstance(each, PredictedCriterion)
        }
        return any(
            not np.allclose(arrays[name], array, rtol=1e-9, atol=tolerances.get(name, 0.0))
            for name, array in model.arrays.items()
        )

    def _attack(
        self, name: str, kind: AttackKind, change: Change, models: Sequence[_Model]
    ) -> AttackResult:
        submissions = [self._submit(model, change(model)) for model in models]
        return self._judge(name, kind, submissions)

    def _submit(self, model: _Model, arrays: Arrays) -> Submission | None:
        """Send changed numbers as a student would; None where they are refused."""
        sent = {**model.submission.sent, **{name: each.tolist() for name, each in arrays.items()}}
        try:
            return self.judge.prepare(model.variant, sent, earlier=model.submission.earlier)
        except AnswerRefused:
            return None

    def _judge(
        self, name: str, kind: AttackKind, submissions: Sequence[Submission | None]
    ) -> AttackResult:
        accepted = [each for each in submissions if each is not None]
        judgements = self.judge.judge(accepted, recognising=False)
        lost = [
            submission
            for submission, judgement in zip(accepted, judgements, strict=True)
            if not judgement.is_solved and not _is_undecided(judgement)
        ]
        few = lost if kind is AttackKind.ROUNDING else lost[:_RECOGNISED_ON]
        told = list(zip(few, self.judge.judge(few), strict=True))
        return AttackResult(
            name,
            kind,
            variants=len(submissions),
            full=sum(each.is_solved for each in judgements),
            undecided=sum(map(_is_undecided, judgements)),
            refused=len(submissions) - len(accepted),
            unexplained=sum(not judgement.misconceptions for _, judgement in told),
            broken_promises=tuple(
                sorted({each for one in told for each in self._list_broken_promises(*one)})
            ),
        )

    def _list_broken_promises(self, submission: Submission, judgement: Judgement) -> Iterator[str]:
        """The misconceptions that were told, and whose mended answer does not earn everything."""
        known = {each.id: each for each in self.judge.question.misconceptions}
        for told in judgement.misconceptions:
            misconception = known[told.id]
            if misconception.passes and not self._is_kept(submission, misconception, told.factor):
                yield told.id

    def _is_kept(self, submission: Submission, misconception: Misconception, factor: float) -> bool:
        question = self.judge.question
        mended = compute_mended(
            question, misconception, self.judge.environment(submission), [factor]
        )
        sent = {**submission.sent, **{name: each[0].tolist() for name, each in mended.items()}}
        try:
            again = self.judge.prepare(submission.variant, sent, earlier=submission.earlier)
        except AnswerRefused:
            return False
        (judgement,) = self.judge.judge([again], recognising=False)
        affected = list_affected(question, misconception)
        return all(judgement.verdict(each.id).credit == 1 for each in affected)

    def _declare_large(self, models: Sequence[_Model]) -> Iterator[AttackResult]:
        """Give every term of a formula a large constant of its own."""
        for field, formula in models[0].submission.formulas.items():
            if (changed := _make_independent(formula)) is None:
                continue
            submissions = []
            for model in models:
                values = {**model.submission.answer.values, field: changed}
                answer = replace(model.submission.answer, values=values)
                submissions.append(replace(model.submission, answer=answer))
            yield self._judge(f"independent constants: {field}", AttackKind.HOSTILE, submissions)

    def _find_threshold(self, model: _Model, change: Change) -> list[Submission | None]:
        """Find the last full marks on the way to a changed answer; answers on both sides of it."""
        target = change(model)

        def go(way: float) -> Submission | None:
            arrays = {
                field: (1 - way) * array + way * target[field]
                for field, array in model.arrays.items()
            }
            return self._submit(model, arrays)

        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            submission = go(middle)
            judged = self.judge.judge([submission], recognising=False) if submission else []
            if any(each.is_solved for each in judged):
                low = middle
            else:
                high = middle
        return [go(low * (1 - _NEAR)), go(high * (1 + _NEAR))]


def _is_undecided(judgement: Judgement) -> bool:
    return any(each.needs_person for each in judgement.verdicts)
