"""Compiling a rubric file into a question: expressions are read, shapes and names checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from grader.domain.placeholders import list_placeholders
from grader.domain.shapes import CONDITION, NUMBER, Kind, Shape, make_shape
from grader.engine import question as q
from grader.engine.random.keysets import GaussianKeys, InSpan, KeySets, Stretch
from grader.errors import FieldPath
from grader.formula.eval.functions import CORE_FUNCTIONS
from grader.formula.typed.scope import Family, FormulaScope
from grader.formula.typed.tree import Node, collect_names
from grader.reading import fields as f
from grader.rubric import forms as m
from grader.rubric.compile_draws import (
    CompiledQuestion,
    check_given,
    compile_draws,
    compile_families,
    compile_uses,
)
from grader.rubric.document import RubricDocument
from grader.rubric.expressions import ExpressionReader
from grader.rubric.withheld import withhold_names


def compile_question(
    form: m.QuestionFile,
    document: RubricDocument,
    *,
    assignment: str,
    earlier: Mapping[str, CompiledQuestion],
) -> CompiledQuestion:
    """Compile a question.

    Parameters
    ----------
    earlier
        The assignment's questions before this one, by id; `uses` may name one of them.

    Raises
    ------
    RubricErrors
        With every error found before compiling had to stop.
    """
    reader = ExpressionReader(document)
    uses = compile_uses(reader, form.uses, earlier)
    draws = (*(uses.question.draws if uses else ()), *compile_draws(reader, form.draw))
    reader.stop_on_errors()
    compile_families(reader, form.families)
    check_given(reader, form.given)
    fields = tuple(_compile_fields(reader, form))
    reader.stop_on_errors()
    key_sets = _compile_key_sets(reader, form.key_sets)
    reader.stop_on_errors()
    compute = _compile_steps(reader, form.compute)
    reader.stop_on_errors()
    fields = withhold_names(form, fields, uses=uses, compute=compute, sampled=reader.sampled)
    question = q.Question(
        id=f"{assignment}/{form.id}",
        revision=form.revision,
        draws=draws,
        given=form.given,
        fields=fields,
        criteria=tuple(_compile_criteria(reader, form)),
        compute=compute,
        key_sets=key_sets,
        misconceptions=tuple(_compile_misconceptions(reader, form)),
        uses=uses,
        plots=tuple(_compile_plots(reader, form.plots)),
        fresh_variants=form.fresh_variants,
    )
    # A criterion with an error is not in the list, so its points would seem to be missing.
    reader.stop_on_errors()
    _check_points(reader, form, question)
    _check_references(reader, form, question)
    reader.stop_on_errors()
    return CompiledQuestion(question, reader.scope)


#: The numbers of key sets to draw while a level is undecided.
_KEY_SET_COUNTS = (2000, 8000, 32_000)


def _compile_fields(reader: ExpressionReader, form: m.QuestionFile) -> list[f.Field]:
    """Compile the fields of an answer and declare their names."""
    given = set(form.given)
    fields: list[f.Field] = []
    shapes: dict[str, Shape] = {}
    for name, answer in form.answer.items():
        path: FieldPath = ("answer", name)
        match answer:
            case m.ArrayForm():
                shapes[name] = make_shape(reader.axes(answer.shape, (*path, "shape")))
                scope = _make_student_scope(reader, answer.symbols, given, path)
                fields.append(f.ArrayField(name, shapes[name], scope))
            case m.NumberForm():
                scope = _make_student_scope(reader, answer.symbols, given, path)
                fields.append(f.NumberField(name, scope, answer.at_least, answer.at_most))
                shapes[name] = NUMBER
            case m.ChoiceForm():
                fields.append(f.ChoiceField(name, answer.choice, answer.several))
            case m.TextForm():
                fields.append(f.TextField(name))
            case m.FileForm():
                fields.append(f.FileField(name))
            case m.ExternalForm():
                fields.append(f.ExternalField(name, answer.external))
    for name in form.answer:
        if name in shapes:
            reader.add_shapes({name: shapes[name]}, ("answer", name))
        else:
            reader.check_name(name, ("answer", name))
    return fields


def _make_student_scope(
    reader: ExpressionReader, symbols: tuple[str, ...], given: set[str], path: FieldPath
) -> FormulaScope:
    """The scope of a student's formula: the sizes and the listed symbols, nothing else."""
    drawn = reader.scope
    for place, name in enumerate(symbols):
        if name not in drawn.shapes and name not in drawn.families:
            reader.error((*path, "symbols", place), f"{name} is not drawn")
    return FormulaScope(
        shapes={name: drawn.shapes[name] for name in symbols if name in drawn.shapes},
        constants=drawn.constants,
        families={
            name: _keep_known_labels(drawn.families[name], given)
            for name in symbols
            if name in drawn.families
        },
        indices={index: size for index, size in drawn.indices.items() if index in given},
        functions=CORE_FUNCTIONS,
    )


def _keep_known_labels(family: Family, given: set[str]) -> Family:
    """A family without the subscripts of indices that the student does not know."""
    labels = {
        label: place
        for label, place in family.labels.items()
        if isinstance(place, int) or place in given
    }
    return replace(family, labels=labels)


def _compile_key_sets(reader: ExpressionReader, form: m.KeySetsForm | None) -> KeySets | None:
    """Compile how key sets are drawn, and declare their names."""
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
        rule = _compile_sample(reader, sample, path)
        if rule is None:
            continue
        rules[name] = rule
        shape = (
            rule.mean.shape
            if isinstance(rule, GaussianKeys)
            else make_shape((rule.basis.shape.rows,))
        )
        reader.add_shapes({name: shape}, path)
        reader.sampled.add(name)
    keep = None
    if form.keep is not None:
        keep = reader.read(form.keep, ("key_sets", "keep"), CONDITION)
        reader.add_shapes({"left_out": NUMBER}, ("key_sets", "keep"))
    counts = (form.count, *(count for count in _KEY_SET_COUNTS if count > form.count))
    return KeySets(numbers, rules, counts, keep, form.called)


def _compile_sample(
    reader: ExpressionReader, form: m.SampleForm, path: FieldPath
) -> GaussianKeys | InSpan | None:
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
        _check_stretched(reader, keys.stretched.index, mean, (*inner, "stretched", "index"))
        if by is not None:
            stretch = Stretch(keys.stretched.index, by)
    return GaussianKeys(mean, variance, stretch)


def _check_stretched(reader: ExpressionReader, index: str, mean: Node, path: FieldPath) -> None:
    size = reader.scope.indices.get(index)
    if size is None:
        reader.error(path, "this is not a drawn index")
    elif size != mean.shape.rows:
        reader.error(path, f"{index} is one of {size}, but the mean has {mean.shape.rows} rows")


def _compile_steps(reader: ExpressionReader, forms: Mapping[str, str]) -> dict[str, Node]:
    """Compile the quantities to compute, each with those before it in scope."""
    nodes = {}
    for name, text in forms.items():
        path: FieldPath = ("compute", name)
        node = reader.read(text, path)
        if node is None:
            continue
        nodes[name] = node
        reader.add_shapes({name: node.shape}, path)
        if node.shape.kind is Kind.MATRIX:
            # Outputs may be named by number, as in papers: c_2.
            reader.add_family(name, replace(reader.scope.families[name], numbered=True))
        if collect_names(node) & reader.sampled:
            reader.sampled.add(name)
    return nodes


def _compile_criteria(reader: ExpressionReader, form: m.QuestionFile) -> list[q.Criterion]:
    """Compile the listed criteria, then those of fields with points."""
    criteria: list[q.Criterion] = []
    for place, each in enumerate(form.criteria):
        path: FieldPath = ("criteria", place)
        measure = reader.read(each.measure, (*path, "measure"), NUMBER)
        if measure is None:
            continue
        is_sampled = bool(collect_names(measure) & reader.sampled)
        levels = _compile_levels(reader, each.levels, is_sampled, path)
        criteria.append(
            q.MeasuredCriterion(
                each.id, each.title, each.points, measure, levels,
                in_words=each.in_words, needs=each.needs,
            )
        )  # fmt: skip
    for name, answer in form.answer.items():
        criterion = _compile_field_criterion(reader, name, answer)
        if criterion is not None:
            criteria.append(criterion)
    return criteria


def _compile_levels(
    reader: ExpressionReader, forms: tuple[m.LevelForm, ...], is_sampled: bool, path: FieldPath
) -> tuple[q.Level, ...]:
    for place, form in enumerate(forms):
        level: FieldPath = (*path, "levels", place)
        if is_sampled and form.share is None:
            reader.error(level, "share is missing: this measure has a value for each key set")
        if not is_sampled and form.share is not None:
            reader.error(
                (*level, "share"), "share is not allowed: this measure does not depend on key sets"
            )
        if place and form.credit >= forms[place - 1].credit:
            reader.error((*level, "credit"), "credits must decrease from level to level")
    return tuple(q.Level(form.credit, form.within, form.at_least, form.share) for form in forms)


def _compile_field_criterion(
    reader: ExpressionReader, name: str, form: m.AnswerForm
) -> q.Criterion | None:
    path: FieldPath = ("answer", name)
    match form:
        case m.NumberForm():
            expected = reader.read(form.number, (*path, "number"), NUMBER)
            if expected is None:
                return None
            return q.PredictedCriterion(
                name, form.title or name, form.points, expected, form.tolerance,
                in_words=form.in_words or form.title[:1].lower() + form.title[1:] or name,
                needs=form.needs,
            )  # fmt: skip
        case m.ChoiceForm():
            correct = (form.correct,) if isinstance(form.correct, str) else form.correct
            for option in correct:
                if option not in form.choice:
                    reader.error((*path, "correct"), f"{option!r} is not among the options")
            return q.ChoiceCriterion(
                name, form.title or name, form.points, frozenset(correct), needs=form.needs
            )
        case m.TextForm() | m.FileForm():
            review = form.text if isinstance(form, m.TextForm) else form.file
            points = sum((item.points for item in review.items), Decimal(0))
            return q.ReviewedCriterion(name, "Written part", points)
        case m.ExternalForm():
            return q.ExternalCriterion(name, "Score from outside", form.external)
        case m.ArrayForm():
            return None


def _compile_misconceptions(
    reader: ExpressionReader, form: m.QuestionFile
) -> list[q.Misconception]:
    result = []
    shapes = reader.scope.shapes
    with_t = reader.scope.with_shapes({"t": NUMBER})
    for place, each in enumerate(form.misconceptions):
        path: FieldPath = ("misconceptions", place)
        when = None
        if each.when is not None:
            when = reader.read(each.when, (*path, "when"), CONDITION)
        passes = {}
        for name, text in each.passes.items():
            if name not in form.answer:
                reader.error((*path, "passes", name), "this is not a field of the answer")
                continue
            node = reader.read(text, (*path, "passes", name), shapes[name], with_t)
            if node is not None and collect_names(node) & reader.sampled:
                reader.error((*path, "passes", name), "a changed answer cannot depend on key sets")
            elif node is not None:
                passes[name] = node
        _check_placeholders(reader, each.say, (*path, "say"), has_earlier=form.uses is not None)
        result.append(
            q.Misconception(
                each.id,
                each.say,
                when,
                passes,
                each.tries,
                each.about,
                numbers_only=each.sent_as == "numbers",
            )
        )
    return result


def _check_placeholders(
    reader: ExpressionReader, say: str, path: FieldPath, *, has_earlier: bool
) -> None:
    """Check that what a student is told has no placeholder that nothing stands for."""
    known = ("t", "whose") if has_earlier else ("t",)
    for name in list_placeholders(say):
        if name not in known:
            message = "there are {t} and, where an earlier answer is used, {whose}"
            reader.error(path, f"{{{name}}} is not known here; {message}")


def _compile_plots(reader: ExpressionReader, forms: tuple[m.PlotForm, ...]) -> list[q.Plot]:
    result = []
    for place, form in enumerate(forms):
        kind, texts, labels = _split_plot(form)
        nodes = [reader.read(texts[0], ("plots", place))]
        shape = nodes[0].shape if nodes[0] is not None and kind is q.PlotKind.COMPARE else None
        nodes += [reader.read(text, ("plots", place), shape) for text in texts[1:]]
        if all(node is not None for node in nodes):
            values = tuple(node for node in nodes if node is not None)
            result.append(q.Plot(kind, form.title, values, labels, form.reveals))
    return result


def _split_plot(form: m.PlotForm) -> tuple[q.PlotKind, tuple[str, ...], tuple[str, ...]]:
    match form:
        case m.WeightsPlot():
            return q.PlotKind.WEIGHTS, (form.weights,), ()
        case m.PlanePlot():
            return q.PlotKind.PLANE, (form.plane, *form.through), form.labels
        case m.ComparePlot():
            return q.PlotKind.COMPARE, (form.compare, form.to), ()


def _check_points(reader: ExpressionReader, form: m.QuestionFile, question: q.Question) -> None:
    """Check that the points add up and that ids are unique."""
    total = sum((each.points for each in question.criteria), Decimal(0))
    if total != form.points:
        reader.error(("points",), f"the criteria and fields have {total} points, not {form.points}")
    ids = [each.id for each in question.criteria]
    for each in {each for each in ids if ids.count(each) > 1}:
        reader.error(("criteria",), f"the id {each} is used twice")


def _check_references(reader: ExpressionReader, form: m.QuestionFile, question: q.Question) -> None:
    """Check that criteria and misconceptions refer to existing criteria."""
    ids = {criterion.id for criterion in question.criteria}
    for place, criterion in enumerate(form.criteria):
        if criterion.needs is not None and criterion.needs not in ids:
            reader.error(("criteria", place, "needs"), "there is no such criterion")
    for place, misconception in enumerate(form.misconceptions):
        for each in misconception.about:
            if each not in ids:
                reader.error(("misconceptions", place, "about"), f"no criterion is called {each}")
