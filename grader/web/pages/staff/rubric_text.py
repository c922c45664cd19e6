"""A rubric in words: graded items, misconceptions, example runs, and its highlighted file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from markupsafe import Markup, escape
from pygments.lexers.data import YamlLexer
from pygments.token import Token

from grader.grading.publishing.example_runs import ExampleRun
from grader.rubric.catalog import Rubric
from grader.rubric.forms import (
    AnswerForm,
    ArrayForm,
    ChoiceForm,
    CriterionForm,
    ExampleForm,
    ExternalForm,
    FileForm,
    LevelForm,
    MisconceptionForm,
    NumberForm,
    RangeForm,
    TextForm,
)
from grader.web.pages.format import format_points

# An example may send a whole matrix; the file shows it in full.
_MAX_SHOWN_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class GradedItem:
    """Something that earns points."""

    title: str
    points: Decimal
    by: str
    """Who or what decides."""
    code: str
    """The expression that is judged; empty where there is none."""
    levels: tuple[str, ...]
    needs: str | None = None


def _format_point_count(points: Decimal | None) -> str:
    return f"{format_points(points)} point{'' if points == 1 else 's'}"


def list_graded_items(rubric: Rubric) -> list[GradedItem]:
    """Everything that earns points: criteria, then fields."""
    has_samples = rubric.question.key_sets is not None
    items = [_describe_criterion(each, has_samples=has_samples) for each in rubric.form.criteria]
    for name, form in rubric.form.answer.items():
        item = _describe_field(name, form)
        if item is not None:
            items.append(item)
    return items


def _describe_criterion(form: CriterionForm, *, has_samples: bool) -> GradedItem:
    by = "measured on every key set" if has_samples else "measured"
    levels = tuple(_describe_level(each, form.points) for each in form.levels)
    return GradedItem(form.title, form.points, by, form.measure, levels, form.needs)


def _describe_level(level: LevelForm, points: Decimal) -> str:
    if level.within is not None:
        bound = f"at most {level.within:g}"
    else:
        bound = f"at least {level.at_least:g}"
    share = f" on at least {level.share:.4g} of the key sets" if level.share is not None else ""
    credit = "" if level.credit == 1 else f" ({format_points(level.credit * 100)} % of them)"
    return f"{_format_point_count(points * level.credit)}{credit} where it is {bound}{share}"


def _describe_field(name: str, form: AnswerForm) -> GradedItem | None:
    match form:
        case ArrayForm():
            return None
        case NumberForm():
            level = f"all points within {form.tolerance:g} of it"
            return GradedItem(
                form.title or name, form.points, "a number, compared", str(form.number), (level,),
                form.needs,
            )  # fmt: skip
        case ChoiceForm():
            correct = [form.correct] if isinstance(form.correct, str) else list(form.correct)
            right = f"right: {', '.join(correct)}"
            return GradedItem(form.title or name, form.points, "a choice", "", (right,), form.needs)
        case TextForm() | FileForm():
            review = form.text if isinstance(form, TextForm) else form.file
            items = tuple(
                f"{_format_point_count(each.points)} for {each.text}" for each in review.items
            )
            points = sum((each.points for each in review.items), Decimal(0))
            return GradedItem(name, points, "a person", "", items)
        case ExternalForm():
            return GradedItem(name, form.external, "an external score", "", ())


@dataclass(frozen=True, slots=True)
class MisconceptionText:
    """How a misconception is recognised."""

    id: str
    say: str
    signs: tuple[tuple[str, str], ...]
    """A description, and its expression."""
    about: tuple[str, ...]


def list_misconceptions(rubric: Rubric) -> list[MisconceptionText]:
    """The misconceptions of a rubric, in its order."""
    return [_describe_misconception(each) for each in rubric.form.misconceptions]


def _describe_misconception(form: MisconceptionForm) -> MisconceptionText:
    signs = [("true on nearly all key sets:", form.when)] if form.when else []
    tries = ", ".join(f"{each:g}" for each in form.tries)
    with_t = f" for a t of {tries}" if tries else ""
    signs += [
        (f"would earn full credit{with_t}:", f"{name} = {code}")
        for name, code in form.passes.items()
    ]
    return MisconceptionText(form.id, form.say, tuple(signs), form.about)


@dataclass(frozen=True, slots=True)
class ExampleText:
    """An example: its answer, the stated result, and the actual result."""

    name: str
    line: int | None
    sent: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]
    expected: str
    outcome: str
    is_as_stated: bool
    fault: str


def list_examples(rubric: Rubric, tried: tuple[ExampleRun, ...]) -> list[ExampleText]:
    """The examples of a rubric with their results, in its order."""
    return [_describe_example(rubric, place, each) for place, each in enumerate(tried)]


def _describe_example(rubric: Rubric, place: int, tried: ExampleRun) -> ExampleText:
    example = tried.example
    found = rubric.document.places.get(("examples", place))
    return ExampleText(
        name=example.name,
        line=found.line if found else None,
        sent=tuple(_list_sent_values(example)),
        remarks=tuple(_list_remarks(example)),
        expected=_describe_expected(example),
        outcome=_describe_outcomes(tried),
        is_as_stated=tried.is_as_stated,
        fault=tried.faults[0] if tried.faults and not tried.is_as_stated else "",
    )


def _list_sent_values(example: ExampleForm) -> list[tuple[str, str]]:
    written = {**example.answer, **example.numbers}
    return [(name, _shorten(value)) for name, value in written.items()]


def _shorten(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else text[:_MAX_SHOWN_CHARACTERS] + " …"


def _list_remarks(example: ExampleForm) -> list[str]:
    remarks = []
    if example.numbers:
        whose = "another student's variant" if example.of == "another" else "the variant"
        remarks.append(f"sent as numbers, computed on {whose}")
    if example.rounded is not None:
        remarks.append(f"copied with {example.rounded} decimals")
    if example.uses is not None:
        fields = ", ".join(f"{name}: {_shorten(each)}" for name, each in example.uses.items())
        remarks.append(f"with the earlier answer {fields}")
    if example.by_chance:
        share = f"{example.by_chance * 100:.4g} %"
        remarks.append(f"may differ on {share} of the variants")
    return remarks


def _describe_expected(example: ExampleForm) -> str:
    if example.refused:
        return f"refused: {example.refused}"
    earns = example.earns
    if isinstance(earns, RangeForm):
        points = f"{format_points(earns.at_least)} to {format_points(earns.at_most)} points"
    else:
        points = _format_point_count(earns)
    if example.shows == "any":
        return f"{points}; any misconception"
    shown = [example.shows] if isinstance(example.shows, str) else list(example.shows)
    return f"{points}; {', '.join(shown)}" if shown else points


def _describe_outcomes(tried: ExampleRun) -> str:
    """The results on all variants, each distinct one once."""
    counted = Counter(
        _describe_outcome(each.earned, each.refused, each.shown) for each in tried.outcomes
    )
    if len(counted) == 1:
        return next(iter(counted))
    return "; ".join(f"{count} × {words}" for words, count in counted.most_common())


def _describe_outcome(earned: Decimal | None, refused: str, shown: tuple[str, ...]) -> str:
    if refused:
        return f"refused: {refused}"
    if earned is None:
        return "read"
    points = _format_point_count(earned)
    return f"{points}; {', '.join(shown)}" if shown else points


def render_yaml_lines(text: str) -> list[Markup]:
    """The lines of a YAML file as HTML: keys in <b>, comments in <i>."""
    lines = [Markup()]
    for kind, value in YamlLexer(stripnl=False, ensurenl=False).get_tokens(text):
        tag = "b" if kind is Token.Name.Tag else "i" if kind[:1] == ("Comment",) else ""
        for number, piece in enumerate(value.split("\n")):
            if number:
                lines.append(Markup())
            if piece:
                lines[-1] += Markup(f"<{tag}>{{}}</{tag}>").format(piece) if tag else escape(piece)
    return lines if lines[-1] else lines[:-1]
