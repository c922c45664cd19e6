"""What must not be seen, and looking for it in everything that was answered."""

from __future__ import annotations

import base64
import html
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from httpx2 import Response
from sqlalchemy import text

from grader.engine.random.keysets import GRADING, GaussianKeys, InSpan, NoiseSource, sample_key_sets
from grader.engine.random.noise import NoiseBank
from grader.engine.random.streams import RunSecret
from grader.engine.random.variants import Variant
from grader.engine.sample.observe import build_environment
from grader.feedback.given import build_given_values
from grader.formula.eval.evaluate import LazyMatrix
from grader.reading.fields import ArrayField
from grader.rubric.catalog import Rubric
from grader.rubric.forms import ChoiceForm, ExampleForm, FileForm, NumberForm, RangeForm, TextForm
from grader.store.queries.courses import get_secret
from tests.support.rubrics import shipped
from tests.support.world import World

_DURATION = re.compile(r"^\w+_seconds(?:_\w+)?(?:\{.*\})? \S+$", re.MULTILINE)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Heard:
    """A response as somebody who searches it would read it."""

    name: str
    raw: bytes
    words: str
    numbers: frozenset[float]

    @classmethod
    def of(cls, name: str, response: Response) -> Heard:
        headers = " ".join(f"{key}: {value}" for key, value in response.headers.items())
        strings = [headers]
        numbers: set[float] = set()
        if "json" in response.headers.get("Content-Type", "") and response.content:
            for each in walk(json.loads(response.content)):
                if isinstance(each, str):
                    strings.append(each)
                else:
                    numbers.add(float(each))
        else:
            # A duration is whatever the clock says, and may have the digits of a measure.
            strings.append(_DURATION.sub("", html.unescape(response.text)))
        for each in strings:
            numbers.update(float(found) for found in _NUMBER.findall(each))
        return cls(name, response.content, "\n".join(strings), frozenset(numbers))


def walk(data: Any) -> Iterator[str | float]:
    """All names, texts and numbers of JSON."""
    match data:
        case dict():
            for name, value in data.items():
                yield name
                yield from walk(value)
        case list():
            for each in data:
                yield from walk(each)
        case bool() | None:
            pass
        case _:
            yield data


@dataclass
class Secrets:
    """What to look for, each with a name to report it by."""

    keys: dict[str, bytes] = field(default_factory=dict)
    formulas: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    numbers: dict[float, str] = field(default_factory=dict)
    near: dict[str, float] = field(default_factory=dict)

    def found_in(self, heard: Iterable[Heard]) -> list[str]:
        """What was found, and where."""
        spelt = {f"{name} as {how}": each for name, key in self.keys.items()
                 for how, each in spellings(key)}  # fmt: skip
        formulas = {name: squeeze(each) for name, each in self.formulas.items()}
        return [
            f"{what} in {each.name}"
            for each in heard
            for what in self._found(each, spelt, formulas)
        ]

    def _found(
        self, heard: Heard, spelt: dict[str, str], formulas: dict[str, str]
    ) -> Iterator[str]:
        for name, key in self.keys.items():
            if key in heard.raw:
                yield name
        for name, each in spelt.items():
            if each in heard.words:
                yield name
        squeezed = squeeze(heard.words)
        for name, each in formulas.items():
            if each in squeezed:
                yield f"{name}: {each}"
        for name, each in self.words.items():
            # Bounded by what is no part of a random identifier, which may hold any short word.
            if each in heard.words and re.search(
                rf"(?<![\w/+-]){re.escape(each)}(?![\w/+-])", heard.words
            ):
                yield f"{name}: {each}"
        for number in heard.numbers & self.numbers.keys():
            yield f"{self.numbers[number]}: {number!r}"
        for name, wanted in self.near.items():
            if any(math.isclose(number, wanted, abs_tol=2e-3) for number in heard.numbers):
                yield f"{name}: about {wanted:g}"


def squeeze(text: str) -> str:
    """Text without spaces, as formulas are the same with and without."""
    return re.sub(r"\s+", "", text)


def spellings(key: bytes) -> Iterator[tuple[str, str]]:
    yield "hex", key.hex()
    yield "base64", base64.b64encode(key).decode().rstrip("=")
    yield "base64url", base64.urlsafe_b64encode(key).decode().rstrip("=")
    yield "numbers", ", ".join(str(each) for each in key[:8])


# What there is to hide


def run_secret(world: World, course: str = "one") -> RunSecret:
    with world.database.read() as session:
        return RunSecret(get_secret(session, run_id=course))


def keys_of(world: World, rubrics: Iterable[Rubric]) -> dict[str, bytes]:
    secret = run_secret(world)
    return {f"the key of {each.id}": secret.of(each.question.id, each.question.revision)
            for each in rubrics}  # fmt: skip


def formulas_of(rubric: Rubric) -> dict[str, str]:
    """Everything in a rubric's file that tells a right answer or how one is judged."""
    form = rubric.form
    told = squeeze(" ".join([form.prompt, form.title, *form.hints]))
    found: dict[str, str] = {}
    for example in form.examples:
        if _earns(example):
            found |= {f"{rubric.id}, {example.name}": each for each in _texts(form, example)}
        if example.uses is not None:
            found |= _named(rubric, "an earlier answer", example.uses.values())
    if form.uses is not None:
        found |= _named(rubric, "the reference", form.uses.reference.values())
    for name, asked in form.answer.items():
        if isinstance(asked, NumberForm):
            found |= _named(rubric, f"what {name} is", [asked.number])
        if isinstance(asked, TextForm | FileForm):
            review = asked.text if isinstance(asked, TextForm) else asked.file
            found |= _named(rubric, "what a reviewer looks for", [review.note])
            found |= _named(rubric, "what a reviewer looks for", [e.text for e in review.items])
    found |= _named(rubric, "a measure", [each.measure for each in form.criteria])
    for wrong in form.misconceptions:
        found |= _named(rubric, f"the sign of {wrong.id}", [wrong.when, *wrong.passes.values()])
    # What stands in the prompt anyway, or is too short to be told from anything else, is none.
    return {
        name: each
        for name, each in found.items()
        if len(squeeze(each)) >= 6 and squeeze(each) not in told
    }


def _named(rubric: Rubric, what: str, values: Iterable[Any]) -> dict[str, str]:
    return {
        f"{rubric.id}, {what} {number}": each
        for number, each in enumerate(values)
        if isinstance(each, str)
    }


def _earns(example: ExampleForm) -> bool:
    earns = example.earns
    least = earns.at_least if isinstance(earns, RangeForm) else earns
    return least is not None and least > Decimal(0)


def _texts(form: Any, example: ExampleForm) -> list[str]:
    answered = [
        each
        for name, each in example.answer.items()
        if isinstance(each, str) and not isinstance(form.answer[name], ChoiceForm)
    ]
    return [*answered, *example.numbers.values()]


def grading_numbers(world: World, rubric: Rubric, variant: Variant) -> dict[float, str]:
    """The first numbers of the grading noise, and of the grading key sets for an answer of zero."""
    noise, sets = key_set_numbers(world, rubric, variant, GRADING)
    return dict.fromkeys(noise, f"grading noise of {rubric.id}") | dict.fromkeys(
        sets, f"grading key sets of {rubric.id}"
    )


def key_set_numbers(
    world: World, rubric: Rubric, variant: Variant, purpose: str
) -> tuple[list[float], list[float]]:
    """The numbers of the first noise and of the first key sets of a purpose."""
    question = rubric.question
    if question.key_sets is None:
        return [], []
    key = run_secret(world).of(question.id, question.revision)
    source = NoiseSource(NoiseBank(), key, purpose, 0, 3)
    fields = [*question.fields, *(question.uses.question.fields if question.uses else ())]
    zeros = {each.name: np.zeros((1, *each.shape.axes)) for each in fields
             if isinstance(each, ArrayField)}  # fmt: skip
    rules = question.key_sets.rules
    with np.errstate(all="ignore"):
        environment = build_environment([variant], zeros)
        sampled = sample_key_sets(question.key_sets, set(rules), environment, source).values
    noise = [source.normals(name, _axes(rule)) for name, rule in rules.items()]
    sets = [sampled[name] for name in rules]
    sets = [each.whole() if isinstance(each, LazyMatrix) else each for each in sets]
    return _telling(noise), _telling(sets)


def _axes(rule: GaussianKeys | InSpan) -> tuple[int, ...]:
    if isinstance(rule, GaussianKeys):
        return rule.mean.shape.axes
    return (rule.basis.shape.columns,)


def _telling(arrays: Iterable[Any]) -> list[float]:
    return [x for array in arrays for x in array.ravel()[:2000].tolist() if is_telling(x)]


def hidden_draws(rubric: Rubric, variant: Variant) -> dict[float, str]:
    """Numbers that were drawn for a student and are not shown."""
    shown = set(walk(build_given_values(rubric.scope, variant, rubric.form.given)))
    drawn = {float(each) for value in variant.values.values() for each in value.ravel()}
    return {each: f"a hidden draw of {rubric.id}" for each in drawn - shown if is_telling(each)}


def is_telling(number: float) -> bool:
    """Whether a number has so many digits that it is no coincidence to meet it."""
    return len(f"{abs(number):.12g}".replace(".", "").strip("0").partition("e")[0]) >= 6


def stored_figures(world: World) -> dict[float, str]:
    """What was measured of the attempts, and what was expected of them."""
    found: dict[float, str] = {}
    for verdicts in column(world, "SELECT verdicts FROM judgements"):
        data = json.loads(verdicts) if isinstance(verdicts, str) else verdicts
        for each in data:
            for name, value in each["evidence"].items():
                found |= {x: f"{name} of {each['criterion']}" for x in walk(value)
                          if isinstance(x, float) and is_telling(x)}  # fmt: skip
    return found


def column(world: World, statement: str) -> list[Any]:
    with world.database.read() as session:
        return list(session.scalars(text(statement)))


def rubrics_of(*assignments: str) -> list[Rubric]:
    return [each for name in assignments for each in shipped().assignments[name].rubrics.values()]
