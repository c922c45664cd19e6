"""Answer fields, key sets and computed quantities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from grader.domain.shapes import CONDITION, NUMBER, Kind, Shape, of_axes
from grader.engine.random.keysets import GaussianKeys, InSpan, KeySets, Stretch
from grader.formula.eval.functions import CORE
from grader.formula.typed.scope import Family, Scope
from grader.formula.typed.tree import Node, names_in
from grader.reading import fields as f
from grader.rubric import forms as m
from grader.rubric.document import FieldPath
from grader.rubric.reader import Reader

#: Up to how many key sets are drawn while a level is undecided.
COUNTS = (2000, 8000, 32_000)


def compile_fields(reader: Reader, form: m.QuestionFile) -> list[f.Field]:
    """The fields of an answer; their names are declared."""
    given = set(form.given)
    fields: list[f.Field] = []
    shapes: dict[str, Shape] = {}
    for name, answer in form.answer.items():
        path: FieldPath = ("answer", name)
        match answer:
            case m.ArrayForm():
                shape = of_axes(reader.axes(answer.shape, (*path, "shape")))
                scope = _student_scope(reader, answer.symbols, given, (*path, "symbols"))
                fields.append(f.ArrayField(name, shape, scope))
                shapes[name] = shape
            case m.NumberForm():
                scope = _student_scope(reader, answer.symbols, given, (*path, "symbols"))
                fields.append(f.NumberField(name, scope))
                shapes[name] = NUMBER
            case m.ChoiceForm():
                fields.append(f.ChoiceField(name, answer.choice, answer.several))
            case m.TextForm():
                fields.append(f.TextField(name))
            case m.FileForm():
                fields.append(f.FileField(name))
            case m.ExternalForm():
                fields.append(f.ExternalField(name, answer.external))
    reader.add_shapes(shapes, ("answer",))
    return fields


def _student_scope(
    reader: Reader, symbols: tuple[str, ...], given: set[str], path: FieldPath
) -> Scope:
    """What a student's formula may use: the sizes and what is listed, nothing else."""
    drawn = reader.scope
    for place, name in enumerate(symbols):
        if name not in drawn.shapes and name not in drawn.families:
            reader.error((*path, place), f"{name} was not drawn")
    return Scope(
        shapes={name: drawn.shapes[name] for name in symbols if name in drawn.shapes},
        constants=drawn.constants,
        families={
            name: _with_labels_among(drawn.families[name], given)
            for name in symbols
            if name in drawn.families
        },
        indices=drawn.indices & given,
        functions=CORE,
    )


def _with_labels_among(family: Family, given: set[str]) -> Family:
    """A family without the subscripts of indices that the student does not know."""
    labels = {
        label: place
        for label, place in family.labels.items()
        if isinstance(place, int) or place in given
    }
    return replace(family, labels=labels)


def compile_key_sets(reader: Reader, form: m.KeySetsForm | None) -> KeySets | None:
    """How key sets are drawn; their names are declared."""
    if form is None:
        return None
    numbers = {}
    for name, text in form.let.items():
        path: FieldPath = ("key_sets", "let", name)
        node = reader.read(text, path, NUMBER)
        if node is not None:
            numbers[name] = node
            reader.add_shapes({name: NUMBER}, path)
    rules: dict[str, GaussianKeys | InSpan] = {}
    for name, sample in form.draw.items():
        path = ("key_sets", "draw", name)
        rule = _sample(reader, sample, path)
        if rule is None:
            continue
        rules[name] = rule
        shape = (
            rule.mean.shape if isinstance(rule, GaussianKeys) else of_axes((rule.basis.shape.rows,))
        )
        reader.add_shapes({name: shape}, path)
        reader.sampled.add(name)
    keep = None
    if form.keep is not None:
        keep = reader.read(form.keep, ("key_sets", "keep"), CONDITION)
        reader.add_shapes({"left_out": NUMBER}, ("key_sets", "keep"))
    counts = (form.count, *(count for count in COUNTS if count > form.count))
    return KeySets(numbers, rules, counts, keep)


def _sample(reader: Reader, form: m.SampleForm, path: FieldPath) -> GaussianKeys | InSpan | None:
    if isinstance(form, m.SpanSampleForm):
        basis = reader.read(form.in_span, (*path, "in_span"))
        if basis is not None and basis.shape.kind is not Kind.MATRIX:
            reader.error((*path, "in_span"), "this must be a matrix")
        return None if basis is None else InSpan(basis)
    inner = (*path, "gaussian")
    keys = form.gaussian
    mean = reader.read(keys.mean, (*inner, "mean"))
    variance = reader.read(keys.variance, (*inner, "variance"), NUMBER)
    if mean is None or variance is None:
        return None
    if mean.shape.kind is not Kind.MATRIX:
        reader.error((*inner, "mean"), "this must be a matrix whose rows are the means")
        return None
    stretch = None
    if keys.stretched is not None:
        by = reader.read(keys.stretched.by, (*inner, "stretched", "by"), NUMBER)
        if keys.stretched.index not in reader.scope.indices:
            reader.error((*inner, "stretched", "index"), "this is no drawn index")
        if by is not None:
            stretch = Stretch(keys.stretched.index, by)
    return GaussianKeys(mean, variance, stretch)


def compile_steps(reader: Reader, forms: Mapping[str, str]) -> dict[str, Node]:
    """The quantities to compute, each with the ones before it in scope."""
    nodes = {}
    for name, text in forms.items():
        path: FieldPath = ("compute", name)
        node = reader.read(text, path)
        if node is None:
            continue
        nodes[name] = node
        reader.add_shapes({name: node.shape}, path)
        _number_outputs(reader, name, node)
        if names_in(node) & reader.sampled:
            reader.sampled.add(name)
    return nodes


def _number_outputs(reader: Reader, name: str, node: Node) -> None:
    """Computed outputs may be spoken of by number, as papers do: c_2."""
    if node.shape.kind is Kind.MATRIX:
        family = replace(reader.scope.families[name], numbered=True)
        reader.scope = replace(reader.scope, families={**reader.scope.families, name: family})
