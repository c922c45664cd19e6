"""Rubric file → question: every expression read, every shape checked, every name known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from grader.domain.shapes import CONDITION, NUMBER, Kind, Shape, of_axes
from grader.engine import draws as d
from grader.engine import question as q
from grader.engine.functions import AUTHOR
from grader.engine.keysets import GaussianKeys, InSpan, KeySets, Stretch
from grader.errors import FormulaError, RubricError, RubricErrors
from grader.formula.evaluate import Environment, evaluate_finite
from grader.formula.functions import CORE
from grader.formula.read import read_tree
from grader.formula.scope import Family, Scope
from grader.formula.tree import Node, names_in
from grader.reading import fields as f
from grader.rubric import model as m
from grader.rubric.document import Document, FieldPath, error_at

#: Up to how many key sets are drawn while a level is undecided.
COUNTS = (2000, 8000, 32_000)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A question with the scope its expressions were read in."""

    question: q.Question
    scope: Scope


def compile_question(
    form: m.QuestionFile, document: Document, *, assignment: str, earlier: Mapping[str, Compiled]
) -> Compiled:
    """Compile a question.

    Parameters
    ----------
    earlier
        The assignment's questions before this one, by id; `uses` may name one of them.

    Raises
    ------
    RubricErrors
        With the places of what cannot be used.
    """
    return _Compiler(form, document, assignment, earlier).compile()


class _Compiler:
    """Compiles one question; collects errors so that the author sees them all."""

    def __init__(
        self,
        form: m.QuestionFile,
        document: Document,
        assignment: str,
        earlier: Mapping[str, Compiled],
    ) -> None:
        self.form = form
        self.document = document
        self.assignment = assignment
        self.earlier = earlier
        self.errors: list[RubricError] = []
        self.scope = Scope(functions=AUTHOR, allows_conditions=True)
        self.sampled: set[str] = set()

    def compile(self) -> Compiled:
        """The question, or all errors."""
        uses = self._uses()
        draws = (uses.question.draws if uses else ()) + tuple(self._draws())
        self._stop_on_errors()
        self._families()
        self._check_given()
        drawn = self.scope
        fields = tuple(self._fields(drawn))
        self._stop_on_errors()
        key_sets = self._key_sets()
        self._stop_on_errors()
        compute = self._compute()
        self._stop_on_errors()
        criteria = tuple(self._criteria(key_sets is not None))
        question = q.Question(
            id=f"{self.assignment}/{self.form.id}",
            revision=self.form.revision,
            draws=draws,
            fields=fields,
            criteria=criteria,
            compute=compute,
            key_sets=key_sets,
            misconceptions=tuple(self._misconceptions()),
            uses=uses,
            plots=tuple(self._plots()),
            fresh_variants=self.form.fresh_variants,
        )
        self._check_points(question)
        self._check_needs(question)
        self._stop_on_errors()
        return Compiled(question, self.scope)

    # Help

    def _error(self, path: FieldPath, message: str) -> None:
        self.errors.append(error_at(self.document, path, message))

    def _stop_on_errors(self) -> None:
        if self.errors:
            raise RubricErrors(self.errors)

    def _read(
        self,
        text: m.Quantity,
        path: FieldPath,
        shape: Shape | None = None,
        scope: Scope | None = None,
    ) -> Node | None:
        """Read an expression; None, with the error noted, where it cannot be."""
        try:
            node = read_tree(str(text), scope or self.scope)
        except FormulaError as error:
            self._error(path, f"{error} (column {error.column} of the formula)")
            return None
        if shape is not None and node.shape != shape:
            self._error(path, f"this must be {shape.describe()}, but it is {node.shape.describe()}")
            return None
        return node

    def _size(self, size: m.Size, path: FieldPath) -> int:
        if isinstance(size, int):
            return size
        node = self._read(size, path, NUMBER)
        if node is None:
            return 1
        if names_in(node):
            self._error(path, "a size must be known beforehand")
            return 1
        value = float(evaluate_finite(node, Environment.empty())[0, 0])
        if value != int(value) or not 1 <= value <= 1024:
            self._error(path, f"a size is a whole number from 1 to 1024, but this is {value:g}")
            return 1
        return int(value)

    def _add_shapes(self, shapes: Mapping[str, Shape], path: FieldPath) -> None:
        for name in shapes:
            if name in self.scope.shapes or name in self.scope.constants:
                self._error(path, f"{name} already has a meaning")
        self.scope = self.scope.with_shapes(shapes)

    # Draws

    def _uses(self) -> q.Uses | None:
        form = self.form.uses
        if form is None:
            return None
        if form.question not in self.earlier:
            known = ", ".join(self.earlier) or "none"
            self._error(
                ("uses", "question"), f"this is no earlier part of the assignment ({known})"
            )
            self._stop_on_errors()
        before = self.earlier[form.question]
        arrays = [each for each in before.question.fields if isinstance(each, f.ArrayField)]
        drawn = {name for draw in before.question.draws for name in draw.names}
        self.scope = replace(
            before.scope,
            shapes={name: shape for name, shape in before.scope.shapes.items() if name in drawn},
            families={
                name: family
                for name, family in before.scope.families.items()
                if family.source in drawn
            },
        )
        reference = {}
        for field in arrays:
            path = ("uses", "else", field.name)
            if field.name not in form.reference:
                self._error(("uses", "else"), f"{field.name} is missing")
                continue
            node = self._read(form.reference[field.name], path, field.shape)
            if node is not None:
                reference[field.name] = node
        ids = [each.id for each in before.question.criteria if isinstance(each, q.Measured)]
        if form.criterion not in ids:
            self._error(("uses", "if"), f"{form.question} has no such criterion ({', '.join(ids)})")
        self._add_shapes({field.name: field.shape for field in arrays}, ("uses",))
        self._stop_on_errors()
        return q.Uses(before.question, form.criterion, reference)

    def _draws(self) -> list[d.Draw]:
        result = []
        for key, form in self.form.draw.items():
            names = tuple(key.split(", "))
            path: FieldPath = ("draw", key)
            if isinstance(form, int | float):
                self.scope = replace(
                    self.scope, constants={**self.scope.constants, names[0]: float(form)}
                )
                continue
            rule = self._rule(form, names, path)
            if rule is None:
                continue
            result.append(d.Draw(names, rule))
            if isinstance(rule, d.DistinctIndices):
                self._add_indices(names)
            elif len(rule.shapes) != len(names):
                self._error(path, f"this gives {len(rule.shapes)} values, for {len(names)} names")
            else:
                self._add_shapes(dict(zip(names, rule.shapes, strict=True)), path)
                self._add_labels(form, names[0])
        return result

    def _add_indices(self, names: tuple[str, ...]) -> None:
        indices = self.scope.indices | set(names)
        families = {
            name: replace(family, labels={**family.labels, **{i: i for i in names}})
            for name, family in self.scope.families.items()
        }
        self.scope = replace(self.scope, indices=indices, families=families)

    def _add_labels(self, form: m.DrawForm, name: str) -> None:
        if isinstance(form, m.OrthogonalForm) and form.labels:
            family = replace(
                self.scope.families[name],
                labels={label: place for place, label in enumerate(form.labels)},
            )
            self.scope = replace(self.scope, families={**self.scope.families, name: family})

    def _rule(self, form: m.DrawForm, names: tuple[str, ...], path: FieldPath) -> d.Rule | None:
        match form:
            case m.DistinctIndicesForm():
                below = self._size(form.distinct_indices, (*path, "distinct_indices"))
                if below < len(names):
                    self._error(path, f"there are not {len(names)} different indices below {below}")
                return d.DistinctIndices(len(names), below)
            case m.OrthonormalForm():
                return d.Orthonormal(*self._frame(form.orthonormal, (*path, "orthonormal")))
            case m.OrthogonalForm():
                rows, columns = self._frame(form.orthogonal, (*path, "orthogonal"))
                norm = self._read(form.norm, (*path, "norm"), NUMBER)
                return None if norm is None else d.Orthogonal(rows, columns, norm)
            case m.BasesForm():
                rows = self._size(form.orthonormal_bases[0], (*path, "orthonormal_bases", 0))
                counts = tuple(
                    self._size(size, (*path, "orthonormal_bases", 1, place))
                    for place, size in enumerate(form.orthonormal_bases[1])
                )
                if sum(counts) > rows:
                    self._error(
                        path, f"{sum(counts)} orthogonal vectors do not fit in {rows} dimensions"
                    )
                return d.OrthonormalBases(rows, counts)
            case m.GaussianForm():
                return d.Gaussian(self._axes(form.gaussian, (*path, "gaussian")))
            case m.UnitRowsForm():
                rows, columns = self._axes(form.unit_rows, (*path, "unit_rows"))
                return d.UnitRows(rows, columns, form.most_cosine)
            case m.UniformForm():
                low, high = form.uniform
                if low > high:
                    self._error(path, "the first bound is above the second")
                return d.Uniform(low, high)
            case _:
                node = self._read(form, path)
                return None if node is None else d.Computed(node)

    def _axes(self, sizes: tuple[m.Size, ...], path: FieldPath) -> tuple[int, ...]:
        return tuple(self._size(size, (*path, place)) for place, size in enumerate(sizes))

    def _frame(self, sizes: tuple[m.Size, ...], path: FieldPath) -> tuple[int, int]:
        rows, columns = self._axes(sizes, path)
        if rows > columns:
            self._error(path, f"{rows} orthogonal rows do not fit in {columns} dimensions")
        return rows, columns

    def _families(self) -> None:
        for name, form in self.form.families.items():
            source = form.columns_of or form.rows_of or ""
            shape = self.scope.shapes.get(source)
            if shape is None or shape.kind is not Kind.MATRIX:
                self._error(("families", name), f"{source} is no matrix that was drawn")
                continue
            by_columns = form.columns_of is not None
            old = self.scope.families.get(name)
            family = Family(
                source,
                shape.columns if by_columns else shape.rows,
                shape.rows if by_columns else shape.columns,
                by_columns=by_columns,
                labels=old.labels if old and old.source == source else {},
                numbered=True,
            )
            self.scope = replace(self.scope, families={**self.scope.families, name: family})

    def _check_given(self) -> None:
        members = set(self.scope.members())
        for place, name in enumerate(self.form.given):
            if not self.scope.knows(name) and name not in members:
                self._error(("given", place), f"{name} was not drawn")

    # Answers

    def _fields(self, drawn: Scope) -> list[f.Field]:
        fields: list[f.Field] = []
        shapes: dict[str, Shape] = {}
        for name, form in self.form.answer.items():
            path: FieldPath = ("answer", name)
            match form:
                case m.ArrayForm():
                    shape = of_axes(self._axes(form.shape, (*path, "shape")))
                    scope = self._student_scope(form.symbols, drawn, (*path, "symbols"))
                    fields.append(f.ArrayField(name, shape, scope))
                    shapes[name] = shape
                case m.NumberForm():
                    scope = self._student_scope(form.symbols, drawn, (*path, "symbols"))
                    fields.append(f.NumberField(name, scope))
                    shapes[name] = NUMBER
                case m.ChoiceForm():
                    fields.append(f.ChoiceField(name, form.choice, form.several))
                case m.TextForm():
                    fields.append(f.TextField(name))
                case m.FileForm():
                    fields.append(f.FileField(name))
                case m.ExternalForm():
                    fields.append(f.ExternalField(name, form.external))
        self._add_shapes(shapes, ("answer",))
        return fields

    def _student_scope(self, symbols: tuple[str, ...], drawn: Scope, path: FieldPath) -> Scope:
        """What a student's formula may use: the sizes and what is listed, nothing else."""
        for place, name in enumerate(symbols):
            if name not in drawn.shapes and name not in drawn.families:
                self._error((*path, place), f"{name} was not drawn")
        return Scope(
            shapes={name: drawn.shapes[name] for name in symbols if name in drawn.shapes},
            constants=drawn.constants,
            families={name: drawn.families[name] for name in symbols if name in drawn.families},
            indices=drawn.indices,
            functions=CORE,
        )

    # Key sets and what is computed

    def _key_sets(self) -> KeySets | None:
        form = self.form.key_sets
        if form is None:
            return None
        numbers = {}
        for name, text in form.let.items():
            path: FieldPath = ("key_sets", "let", name)
            node = self._read(text, path, NUMBER)
            if node is not None:
                numbers[name] = node
                self._add_shapes({name: NUMBER}, path)
        rules: dict[str, GaussianKeys | InSpan] = {}
        for name, sample in form.draw.items():
            path = ("key_sets", "draw", name)
            rule = self._sample(sample, path)
            if rule is None:
                continue
            rules[name] = rule
            shape = (
                rule.mean.shape
                if isinstance(rule, GaussianKeys)
                else of_axes((rule.basis.shape.rows,))
            )
            self._add_shapes({name: shape}, path)
            self.sampled.add(name)
        keep = None
        if form.keep is not None:
            keep = self._read(form.keep, ("key_sets", "keep"), CONDITION)
            self._add_shapes({"left_out": NUMBER}, ("key_sets", "keep"))
        counts = (form.count, *(count for count in COUNTS if count > form.count))
        return KeySets(numbers, rules, counts, keep)

    def _sample(self, form: m.SampleForm, path: FieldPath) -> GaussianKeys | InSpan | None:
        if isinstance(form, m.SpanSampleForm):
            basis = self._read(form.in_span, (*path, "in_span"))
            if basis is not None and basis.shape.kind is not Kind.MATRIX:
                self._error((*path, "in_span"), "this must be a matrix")
            return None if basis is None else InSpan(basis)
        inner = (*path, "gaussian")
        keys = form.gaussian
        mean = self._read(keys.mean, (*inner, "mean"))
        variance = self._read(keys.variance, (*inner, "variance"), NUMBER)
        if mean is None or variance is None:
            return None
        if mean.shape.kind is not Kind.MATRIX:
            self._error((*inner, "mean"), "this must be a matrix whose rows are the means")
            return None
        stretch = None
        if keys.stretched is not None:
            by = self._read(keys.stretched.by, (*inner, "stretched", "by"), NUMBER)
            if keys.stretched.index not in self.scope.indices:
                self._error((*inner, "stretched", "index"), "this is no drawn index")
            if by is not None:
                stretch = Stretch(keys.stretched.index, by)
        return GaussianKeys(mean, variance, stretch)

    def _compute(self) -> dict[str, Node]:
        nodes = {}
        for name, text in self.form.compute.items():
            path: FieldPath = ("compute", name)
            node = self._read(text, path)
            if node is None:
                continue
            nodes[name] = node
            self._add_shapes({name: node.shape}, path)
            self._number_outputs(name, node)
            if names_in(node) & self.sampled:
                self.sampled.add(name)
        return nodes

    def _number_outputs(self, name: str, node: Node) -> None:
        """Computed outputs may be spoken of by number, as papers do: c_2."""
        if node.shape.kind is Kind.MATRIX:
            family = replace(self.scope.families[name], numbered=True)
            self.scope = replace(self.scope, families={**self.scope.families, name: family})

    # Criteria

    def _criteria(self, has_key_sets: bool) -> list[q.Criterion]:
        criteria: list[q.Criterion] = []
        for place, form in enumerate(self.form.criteria):
            path: FieldPath = ("criteria", place)
            measure = self._read(form.measure, (*path, "measure"), NUMBER)
            if measure is None:
                continue
            is_sampled = bool(names_in(measure) & self.sampled)
            criteria.append(
                q.Measured(
                    form.id,
                    form.title,
                    form.points,
                    measure,
                    self._levels(form.levels, is_sampled, path),
                    form.needs,
                )
            )
        for name, answer in self.form.answer.items():
            criterion = self._field_criterion(name, answer)
            if criterion is not None:
                criteria.append(criterion)
        return criteria

    def _levels(
        self, forms: tuple[m.LevelForm, ...], is_sampled: bool, path: FieldPath
    ) -> tuple[q.Level, ...]:
        for place, form in enumerate(forms):
            here: FieldPath = (*path, "levels", place)
            if is_sampled and form.share is None:
                self._error(here, "share is missing: this measure is taken on many key sets")
            if not is_sampled and form.share is not None:
                self._error((*here, "share"), "there is nothing to take a share of: no key sets")
            if place and form.credit >= forms[place - 1].credit:
                self._error((*here, "credit"), "levels go from the best credit down")
        return tuple(q.Level(form.credit, form.within, form.at_least, form.share) for form in forms)

    def _field_criterion(self, name: str, form: m.AnswerForm) -> q.Criterion | None:
        path: FieldPath = ("answer", name)
        match form:
            case m.NumberForm():
                expected = self._read(form.number, (*path, "number"), NUMBER)
                if expected is None:
                    return None
                return q.Predicted(
                    name, form.title or name, form.points, expected, form.tolerance, form.scales,
                    form.needs,
                )  # fmt: skip
            case m.ChoiceForm():
                correct = (form.correct,) if isinstance(form.correct, str) else form.correct
                for option in correct:
                    if option not in form.choice:
                        self._error((*path, "correct"), f"{option!r} is not among the options")
                return q.Chosen(
                    name, form.title or name, form.points, frozenset(correct), form.needs
                )
            case m.TextForm() | m.FileForm():
                review = form.text if isinstance(form, m.TextForm) else form.file
                points = sum((item.points for item in review.items), Decimal(0))
                return q.Reviewed(name, "Written part", points)
            case m.ExternalForm():
                return q.Outside(name, "Score from outside", form.external)
            case m.ArrayForm():
                return None

    def _misconceptions(self) -> list[q.Misconception]:
        result = []
        shapes = self.scope.shapes
        with_t = self.scope.with_shapes({"t": NUMBER})
        for place, form in enumerate(self.form.misconceptions):
            path: FieldPath = ("misconceptions", place)
            when = None
            if form.when is not None:
                when = self._read(form.when, (*path, "when"), CONDITION)
            passes = {}
            for name, text in form.passes.items():
                if name not in self.form.answer:
                    self._error((*path, "passes", name), "this is no field of the answer")
                    continue
                node = self._read(text, (*path, "passes", name), shapes[name], with_t)
                if node is not None:
                    passes[name] = node
            result.append(q.Misconception(form.id, form.say, when, passes, form.tries, form.about))
        return result

    def _plots(self) -> list[q.Plot]:
        result = []
        for place, form in enumerate(self.form.plots):
            kind, texts, labels = _plot_parts(form)
            nodes = [self._read(text, ("plots", place)) for text in texts]
            if all(node is not None for node in nodes):
                values = tuple(node for node in nodes if node is not None)
                result.append(q.Plot(kind, form.title, values, labels))
        return result

    # What must fit together

    def _check_points(self, question: q.Question) -> None:
        total = sum((each.points for each in question.criteria), Decimal(0))
        if total != self.form.points:
            self._error(
                ("points",), f"the criteria and fields have {total} points, not {self.form.points}"
            )
        ids = [each.id for each in question.criteria]
        for each in {each for each in ids if ids.count(each) > 1}:
            self._error(("criteria",), f"the id {each} is used twice")

    def _check_needs(self, question: q.Question) -> None:
        ids = {criterion.id for criterion in question.criteria}
        for place, form in enumerate(self.form.criteria):
            if form.needs is not None and form.needs not in ids:
                self._error(("criteria", place, "needs"), "there is no such criterion")
        for place, misconception in enumerate(self.form.misconceptions):
            for each in misconception.about:
                if each not in ids:
                    self._error(
                        ("misconceptions", place, "about"), f"no criterion is called {each}"
                    )


def _plot_parts(form: m.PlotForm) -> tuple[q.PlotKind, tuple[str, ...], tuple[str, ...]]:
    match form:
        case m.WeightsPlot():
            return q.PlotKind.WEIGHTS, (form.weights,), ()
        case m.PlanePlot():
            return q.PlotKind.PLANE, (form.plane, *form.through), form.labels
        case m.ComparePlot():
            return q.PlotKind.COMPARE, (form.compare, form.to), ()
