"""What a rubric claims and what its examples do, in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from grader.grading.publishing.example_runs import Tried
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
from grader.web.pages.format import say_points

# What an example sends may be a whole matrix; its file has the rest.
_MOST_SENT = 300


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that earns points."""

    title: str
    points: Decimal
    by: str
    """Who or what decides."""
    code: str
    """The expression that is judged; empty where there is none."""
    levels: tuple[str, ...]
    needs: str | None = None


def _count_points(points: Decimal | None) -> str:
    return f"{say_points(points)} point{'' if points == 1 else 's'}"


def list_claims(rubric: Rubric) -> list[Claim]:
    """Everything in a file that earns points, in order: criteria, then fields."""
    has_samples = rubric.question.key_sets is not None
    claims = [_criterion(each, has_samples=has_samples) for each in rubric.form.criteria]
    for name, form in rubric.form.answer.items():
        claim = _field(name, form)
        if claim is not None:
            claims.append(claim)
    return claims


def _criterion(form: CriterionForm, *, has_samples: bool) -> Claim:
    by = "measured on every key set" if has_samples else "measured"
    levels = tuple(_level(each, form.points) for each in form.levels)
    return Claim(form.title, form.points, by, form.measure, levels, form.needs)


def _level(level: LevelForm, points: Decimal) -> str:
    if level.within is not None:
        bound = f"at most {level.within:g}"
    else:
        bound = f"at least {level.at_least:g}"
    share = f" on at least {level.share:.4g} of the key sets" if level.share is not None else ""
    credit = "" if level.credit == 1 else f" ({say_points(level.credit * 100)} % of them)"
    return f"{_count_points(points * level.credit)}{credit} where it is {bound}{share}"


def _field(name: str, form: AnswerForm) -> Claim | None:
    match form:
        case ArrayForm():
            return None
        case NumberForm():
            scales = ", ".join(f"{each:g}" for each in form.scales)
            tried = (f"the earlier answer is tried times {scales}",) if scales != "1" else ()
            level = f"all points within {form.tolerance:g} of it"
            return Claim(
                form.title or name, form.points, "a number, compared", str(form.number),
                (level, *tried), form.needs,
            )  # fmt: skip
        case ChoiceForm():
            correct = [form.correct] if isinstance(form.correct, str) else list(form.correct)
            right = f"right: {', '.join(correct)}"
            return Claim(form.title or name, form.points, "a choice", "", (right,), form.needs)
        case TextForm() | FileForm():
            review = form.text if isinstance(form, TextForm) else form.file
            items = tuple(f"{_count_points(each.points)} for {each.text}" for each in review.items)
            points = sum((each.points for each in review.items), Decimal(0))
            return Claim(name, points, "a person", "", items)
        case ExternalForm():
            return Claim(name, form.external, "a score from outside", "", ())


@dataclass(frozen=True, slots=True)
class Sign:
    """How a misconception is recognised."""

    id: str
    say: str
    signs: tuple[tuple[str, str], ...]
    """Words, and the expression that belongs to them."""
    about: tuple[str, ...]


def list_signs(rubric: Rubric) -> list[Sign]:
    """The misconceptions of a file, the most telling first."""
    return [_sign(each) for each in rubric.form.misconceptions]


def _sign(form: MisconceptionForm) -> Sign:
    signs = [("holds on nearly all key sets:", form.when)] if form.when else []
    tries = ", ".join(f"{each:g}" for each in form.tries)
    with_t = f" for a t of {tries}" if tries else ""
    signs += [
        (f"would earn everything{with_t}:", f"{name} = {code}")
        for name, code in form.passes.items()
    ]
    return Sign(form.id, form.say, tuple(signs), form.about)


# Examples


@dataclass(frozen=True, slots=True)
class ExampleWords:
    """An example: what is sent, what its file says, what came out."""

    name: str
    line: int | None
    sent: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]
    expected: str
    outcome: str
    is_as_stated: bool
    fault: str


def list_examples(rubric: Rubric, tried: tuple[Tried, ...]) -> list[ExampleWords]:
    """The examples of a file with what came out of them, in order."""
    return [_example(rubric, place, each) for place, each in enumerate(tried)]


def _example(rubric: Rubric, place: int, tried: Tried) -> ExampleWords:
    example = tried.example
    found = rubric.document.places.get(("examples", place))
    return ExampleWords(
        name=example.name,
        line=found.line if found else None,
        sent=tuple(_sent(example)),
        remarks=tuple(_remarks(example)),
        expected=_expected(example),
        outcome=_outcome(tried),
        is_as_stated=tried.is_as_stated,
        fault=tried.faults[0] if tried.faults and not tried.is_as_stated else "",
    )


def _sent(example: ExampleForm) -> list[tuple[str, str]]:
    written = {**example.answer, **example.numbers}
    return [(name, _shortened(value)) for name, value in written.items()]


def _shortened(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _MOST_SENT else text[:_MOST_SENT] + " …"


def _remarks(example: ExampleForm) -> list[str]:
    remarks = []
    if example.numbers:
        whose = "another student's variant" if example.of == "another" else "the variant"
        remarks.append(f"sent as numbers, computed on {whose}")
    if example.rounded is not None:
        remarks.append(f"copied with {example.rounded} decimals")
    if example.uses is not None:
        fields = ", ".join(f"{name}: {_shortened(each)}" for name, each in example.uses.items())
        remarks.append(f"with the earlier answer {fields}")
    if example.by_chance:
        share = f"{example.by_chance * 100:.4g} %"
        remarks.append(f"on {share} of the variants it may come out otherwise")
    return remarks


def _expected(example: ExampleForm) -> str:
    if example.refused:
        return f"refused: {example.refused}"
    earns = example.earns
    if isinstance(earns, RangeForm):
        points = f"{say_points(earns.at_least)} to {say_points(earns.at_most)} points"
    else:
        points = _count_points(earns)
    if example.shows == "any":
        return f"{points}; any misconception"
    shown = [example.shows] if isinstance(example.shows, str) else list(example.shows)
    return f"{points}; {', '.join(shown)}" if shown else points


def _outcome(tried: Tried) -> str:
    """What came out on all variants, in as few words as it takes."""
    counted = Counter(_came_out(each.earned, each.refused, each.shown) for each in tried.outcomes)
    if len(counted) == 1:
        return next(iter(counted))
    return "; ".join(f"{count} × {words}" for words, count in counted.most_common())


def _came_out(earned: Decimal | None, refused: str, shown: tuple[str, ...]) -> str:
    if refused:
        return f"refused: {refused}"
    if earned is None:
        return "read"
    points = _count_points(earned)
    return f"{points}; {', '.join(shown)}" if shown else points
