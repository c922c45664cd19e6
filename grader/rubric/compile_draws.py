"""Compiling draws, families and what a question takes from an earlier one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from grader.domain.shapes import NUMBER, Kind
from grader.engine import question as q
from grader.engine.random import draws as d
from grader.errors import FieldPath
from grader.formula.typed.scope import Family, FormulaScope
from grader.reading import fields as f
from grader.rubric import forms as m
from grader.rubric.expressions import ExpressionReader


@dataclass(frozen=True, slots=True)
class CompiledQuestion:
    """A question with the scope of its expressions."""

    question: q.Question
    scope: FormulaScope


def compile_uses(
    reader: ExpressionReader, form: m.UsesForm | None, earlier: Mapping[str, CompiledQuestion]
) -> q.UsedQuestion | None:
    """Take over the draws of an earlier question, and declare the arrays of its answer."""
    if form is None:
        return None
    if form.question not in earlier:
        known = ", ".join(earlier) or "none"
        reader.error(
            ("uses", "question"), f"this is not an earlier question of the assignment ({known})"
        )
        reader.stop_on_errors()
    before = earlier[form.question]
    arrays = [each for each in before.question.fields if isinstance(each, f.ArrayField)]
    drawn = {name for draw in before.question.draws for name in draw.names}
    reader.scope = replace(
        before.scope,
        shapes={name: shape for name, shape in before.scope.shapes.items() if name in drawn},
        families={
            name: family for name, family in before.scope.families.items() if family.source in drawn
        },
    )
    reference = {}
    for field in arrays:
        path = ("uses", "else", field.name)
        if field.name not in form.reference:
            reader.error(("uses", "else"), f"{field.name} is missing")
            continue
        node = reader.read(form.reference[field.name], path, field.shape)
        if node is not None:
            reference[field.name] = node
    ids = [each.id for each in before.question.criteria if isinstance(each, q.MeasuredCriterion)]
    if form.criterion not in ids:
        reader.error(("uses", "if"), f"{form.question} has no such criterion ({', '.join(ids)})")
    reader.add_shapes({field.name: field.shape for field in arrays}, ("uses",))
    reader.stop_on_errors()
    return q.UsedQuestion(
        before.question, form.criterion, reference, longest=form.longest, called=form.called
    )


def compile_draws(reader: ExpressionReader, forms: Mapping[str, m.DrawForm]) -> list[d.Draw]:
    """Compile the draws in order, each with the names before it in scope."""
    result = []
    for key, form in forms.items():
        names = tuple(key.split(", "))
        path: FieldPath = ("draw", key)
        if isinstance(form, int | float):
            reader.add_constant(names[0], float(form), path)
            continue
        rule = _compile_rule(reader, form, names, path)
        if rule is None:
            continue
        result.append(d.Draw(names, rule))
        if isinstance(rule, d.DistinctIndices):
            _add_indices(reader, names, rule.below, path)
        elif len(rule.shapes) != len(names):
            reader.error(path, f"this gives {len(rule.shapes)} values for {len(names)} names")
        else:
            reader.add_shapes(dict(zip(names, rule.shapes, strict=True)), path)
            if isinstance(form, m.OrthogonalForm) and form.labels:
                labels = {label: row for row, label in enumerate(form.labels)}
                reader.add_family(names[0], replace(reader.scope.families[names[0]], labels=labels))
    return result


def _add_indices(
    reader: ExpressionReader, names: tuple[str, ...], below: int, path: FieldPath
) -> None:
    """Declare indices; they are subscripts of the families that have as many members."""
    for name in names:
        reader.check_name(name, path)
    families = {
        name: replace(family, labels={**family.labels, **{i: i for i in names}})
        if family.count == below
        else family
        for name, family in reader.scope.families.items()
    }
    indices = {**reader.scope.indices, **dict.fromkeys(names, below)}
    reader.scope = replace(reader.scope, indices=indices, families=families)


def _compile_rule(
    reader: ExpressionReader, form: m.DrawForm, names: tuple[str, ...], path: FieldPath
) -> d.DrawRule | None:
    match form:
        case m.DistinctIndicesForm():
            below = reader.size(form.distinct_indices, (*path, "distinct_indices"))
            if below < len(names):
                reader.error(path, f"{len(names)} different indices do not fit below {below}")
            return d.DistinctIndices(len(names), below)
        case m.OrthonormalForm():
            return d.Orthonormal(*_read_row_sizes(reader, form.orthonormal, (*path, "orthonormal")))
        case m.OrthogonalForm():
            rows, columns = _read_row_sizes(reader, form.orthogonal, (*path, "orthogonal"))
            norm = reader.read(form.norm, (*path, "norm"), NUMBER)
            return None if norm is None else d.Orthogonal(rows, columns, norm)
        case m.BasesForm():
            rows = reader.size(form.orthonormal_bases[0], (*path, "orthonormal_bases", 0))
            counts = reader.axes(form.orthonormal_bases[1], (*path, "orthonormal_bases", 1))
            if sum(counts) > rows:
                reader.error(
                    path, f"{sum(counts)} orthogonal vectors do not fit in {rows} dimensions"
                )
            return d.OrthonormalBases(rows, counts)
        case m.GaussianForm():
            return d.Gaussian(reader.axes(form.gaussian, (*path, "gaussian")))
        case m.UnitRowsForm():
            rows, columns = reader.axes(form.unit_rows, (*path, "unit_rows"))
            return d.UnitRows(rows, columns, form.most_cosine)
        case m.UniformForm():
            low, high = form.uniform
            if low > high:
                reader.error(path, "the first bound is above the second")
            return d.Uniform(low, high)
        case _:
            node = reader.read(form, path)
            return None if node is None else d.Computed(node)


def _read_row_sizes(
    reader: ExpressionReader, sizes: tuple[m.Size, ...], path: FieldPath
) -> tuple[int, int]:
    rows, columns = reader.axes(sizes, path)
    if rows > columns:
        reader.error(path, f"{rows} orthogonal rows do not fit in {columns} dimensions")
    return rows, columns


def compile_families(reader: ExpressionReader, forms: Mapping[str, m.FamilyForm]) -> None:
    """Declare the families that the file lists."""
    for name, form in forms.items():
        reader.check_name(name, ("families", name))
        source = form.columns_of or form.rows_of or ""
        shape = reader.scope.shapes.get(source)
        if shape is None or shape.kind is not Kind.MATRIX:
            reader.error(("families", name), f"{source} is not a drawn matrix")
            continue
        by_columns = form.columns_of is not None
        old = reader.scope.families.get(source)
        count = shape.columns if by_columns else shape.rows
        family = Family(
            source,
            count,
            shape.rows if by_columns else shape.columns,
            by_columns=by_columns,
            labels=old.labels
            if old and old.by_columns == by_columns
            else reader.scope.find_labels(count),
            numbered=True,
        )
        reader.add_family(name, family)


def check_given(reader: ExpressionReader, given: tuple[str, ...]) -> None:
    """Check that everything given to the student is drawn."""
    members = set(reader.scope.members())
    for place, name in enumerate(given):
        if not reader.scope.knows(name) and name not in members:
            reader.error(("given", place), f"{name} is not drawn")
