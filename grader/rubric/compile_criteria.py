"""Criteria, misconceptions and pictures, and whether the whole fits together."""

from __future__ import annotations

from decimal import Decimal

from grader.domain.shapes import CONDITION, NUMBER
from grader.engine import question as q
from grader.formula.typed.tree import names_in
from grader.rubric import forms as m
from grader.rubric.document import FieldPath
from grader.rubric.reader import Reader


def compile_criteria(reader: Reader, form: m.QuestionFile) -> list[q.Criterion]:
    """The criteria of the list, then those that fields bring along."""
    criteria: list[q.Criterion] = []
    for place, each in enumerate(form.criteria):
        path: FieldPath = ("criteria", place)
        measure = reader.read(each.measure, (*path, "measure"), NUMBER)
        if measure is None:
            continue
        is_sampled = bool(names_in(measure) & reader.sampled)
        levels = _levels(reader, each.levels, is_sampled, path)
        criteria.append(q.Measured(each.id, each.title, each.points, measure, levels, each.needs))
    for name, answer in form.answer.items():
        criterion = _field_criterion(reader, name, answer)
        if criterion is not None:
            criteria.append(criterion)
    return criteria


def _levels(
    reader: Reader, forms: tuple[m.LevelForm, ...], is_sampled: bool, path: FieldPath
) -> tuple[q.Level, ...]:
    for place, form in enumerate(forms):
        here: FieldPath = (*path, "levels", place)
        if is_sampled and form.share is None:
            reader.error(here, "share is missing: this measure is taken on many key sets")
        if not is_sampled and form.share is not None:
            reader.error((*here, "share"), "there is nothing to take a share of: no key sets")
        if place and form.credit >= forms[place - 1].credit:
            reader.error((*here, "credit"), "levels go from the best credit down")
    return tuple(q.Level(form.credit, form.within, form.at_least, form.share) for form in forms)


def _field_criterion(reader: Reader, name: str, form: m.AnswerForm) -> q.Criterion | None:
    path: FieldPath = ("answer", name)
    match form:
        case m.NumberForm():
            expected = reader.read(form.number, (*path, "number"), NUMBER)
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
                    reader.error((*path, "correct"), f"{option!r} is not among the options")
            return q.Chosen(name, form.title or name, form.points, frozenset(correct), form.needs)
        case m.TextForm() | m.FileForm():
            review = form.text if isinstance(form, m.TextForm) else form.file
            points = sum((item.points for item in review.items), Decimal(0))
            return q.Reviewed(name, "Written part", points)
        case m.ExternalForm():
            return q.Outside(name, "Score from outside", form.external)
        case m.ArrayForm():
            return None


def compile_misconceptions(reader: Reader, form: m.QuestionFile) -> list[q.Misconception]:
    """The misconceptions, in order."""
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
                reader.error((*path, "passes", name), "this is no field of the answer")
                continue
            node = reader.read(text, (*path, "passes", name), shapes[name], with_t)
            if node is not None:
                passes[name] = node
        result.append(q.Misconception(each.id, each.say, when, passes, each.tries, each.about))
    return result


def compile_plots(reader: Reader, forms: tuple[m.PlotForm, ...]) -> list[q.Plot]:
    """The pictures, in order."""
    result = []
    for place, form in enumerate(forms):
        kind, texts, labels = _plot_parts(form)
        nodes = [reader.read(text, ("plots", place)) for text in texts]
        if all(node is not None for node in nodes):
            values = tuple(node for node in nodes if node is not None)
            result.append(q.Plot(kind, form.title, values, labels, form.reveals))
    return result


def _plot_parts(form: m.PlotForm) -> tuple[q.PlotKind, tuple[str, ...], tuple[str, ...]]:
    match form:
        case m.WeightsPlot():
            return q.PlotKind.WEIGHTS, (form.weights,), ()
        case m.PlanePlot():
            return q.PlotKind.PLANE, (form.plane, *form.through), form.labels
        case m.ComparePlot():
            return q.PlotKind.COMPARE, (form.compare, form.to), ()


def check_points(reader: Reader, form: m.QuestionFile, question: q.Question) -> None:
    """The points of criteria and fields must add up, and ids must be different."""
    total = sum((each.points for each in question.criteria), Decimal(0))
    if total != form.points:
        reader.error(("points",), f"the criteria and fields have {total} points, not {form.points}")
    ids = [each.id for each in question.criteria]
    for each in {each for each in ids if ids.count(each) > 1}:
        reader.error(("criteria",), f"the id {each} is used twice")


def check_needs(reader: Reader, form: m.QuestionFile, question: q.Question) -> None:
    """What criteria and misconceptions refer to must exist."""
    ids = {criterion.id for criterion in question.criteria}
    for place, criterion in enumerate(form.criteria):
        if criterion.needs is not None and criterion.needs not in ids:
            reader.error(("criteria", place, "needs"), "there is no such criterion")
    for place, misconception in enumerate(form.misconceptions):
        for each in misconception.about:
            if each not in ids:
                reader.error(("misconceptions", place, "about"), f"no criterion is called {each}")
