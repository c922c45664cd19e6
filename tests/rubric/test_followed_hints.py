"""Issue 10, item 12: whoever follows a hint on an unknown name earns what is right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from grader.engine.judge.cases import Submission
from grader.errors import AnswerRefused, FieldError
from grader.reading.fields import ArrayField, NumberField
from tests.support.rubrics import awarded, judge_of, rubric_of, shipped

_NAME = r"\\?[A-Za-z]+(?:_\{[^}]*\}|_[A-Za-z0-9]+)?"
#: A name of a model answer: letters and a subscript of letters or digits.
_WRITTEN = re.compile(r"(?<![\\A-Za-z_^])([A-Za-z]+)(?:_([a-z0-9]+))?(?![A-Za-z_])")


def list_parts() -> list[str]:
    """The questions whose model answer has a formula."""
    return [rubric.id for rubric in shipped().rubrics() if find_formulas(rubric.id)]


def find_model(part: str) -> dict[str, Any]:
    examples = [each for each in rubric_of(part).form.examples if each.name == "model"]
    return dict(examples[0].answer) if examples else {}


def find_formulas(part: str) -> dict[str, str]:
    """The fields of the model answer that are formulas with names."""
    fields = {
        field.name
        for field in rubric_of(part).question.fields
        if isinstance(field, ArrayField | NumberField)
    }
    return {
        name: text
        for name, text in find_model(part).items()
        if name in fields and isinstance(text, str) and _WRITTEN.search(text)
    }


def misspell(text: str) -> Iterator[str]:
    """The text with one name written in a way that students write it."""
    for match in _WRITTEN.finditer(text):
        base, label = match[1], match[2] or ""
        tail = f"_{label}" if label else ""
        written = {f"{base.swapcase()}{tail}", f"{base.capitalize()}{tail}", base[0] + base + tail}
        if label:
            written |= {base + label, f"{base}_{label.upper()}", f"{base}_{{{label * 2}}}"}
        if len(base) > 2:
            written |= {base[1] + base[0] + base[2:] + tail, base[:-1] + tail, base + "x" + tail}
            written |= {f"np.{base}{tail}", f"torch.nn.functional.{base}{tail}"}
        for each in sorted(written - {match[0]}):
            yield text[: match.start()] + each + text[match.end() :]


def leave_undeclared(text: str) -> Iterator[str]:
    """The text with a constant that nobody declared in place of the length that it begins with."""
    body = re.sub(r"^[0-9]{2,} ", "", text)
    if body != text:
        for constant in ("C", "t", "C_1", r"\lambda", "10 C", "C^2", "sqrt(t)", "log(C^9)"):
            yield f"{constant} {body}"
        yield f"C{body}"


def follow(text: str, error: FieldError) -> str:
    """The text after doing what a hint says; the same text where it proposes nothing."""
    start = (error.column or 1) - 1
    before, rest = text[:start], text[start:]
    if found := re.search(r"Did you mean (\S+)\?", error.hint):
        return before + found[1] + re.sub(f"^{_NAME}", "", rest)
    if found := re.search(r"Write (\w+)\(…\)\.", error.hint):
        return before + found[1] + re.sub(r"^[A-Za-z.]+", "", rest)
    if found := re.search(r"where (\S+) >> 0", error.hint):
        return f"{text} where {found[1]} >> 0"
    return text


def read_after_hints(part: str, field: str, text: str) -> tuple[Submission | None, list[str]]:
    """The answer as it can be read at last, if it can, and the texts on the way."""
    judge = judge_of(part)
    variant = judge.variant("ada")
    texts = [text]
    while True:
        try:
            sent = {**find_model(part), field: texts[-1]}
            return judge.prepare(variant, sent, strict=True), texts
        except AnswerRefused as refused:
            better = follow(texts[-1], refused.errors[0])
            if better in texts:
                return None, texts
            texts.append(better)


def test_the_corpus_covers_all_parts_with_formulas() -> None:
    assert {part.partition("/")[2] for part in list_parts()} >= {
        *("3a", "3b", "3c-i", "3d-i", "3e-i", "3e-ii"),
        *("a-ii", "a-iii", "b-i", "b-ii", "c-i", "d-i"),
        *("1b", "1c", "1d", "1e"),
    }


@pytest.mark.parametrize("part", list_parts())
def test_following_every_hint_earns_what_the_model_answer_earns(part: str) -> None:
    judge = judge_of(part)
    model = judge.prepare(judge.variant("ada"), find_model(part), strict=True)
    followed: dict[str, Submission] = {}
    for field, text in find_formulas(part).items():
        for wrong in (*misspell(text), *leave_undeclared(text)):
            submission, texts = read_after_hints(part, field, wrong)
            if submission is not None and len(texts) > 1:
                followed[" → ".join(texts)] = submission
    expected, *earned = judge.judge([model, *followed.values()])

    # Where all names are single capital letters, no slip can be told from another name.
    assert len(followed) >= (0 if part.endswith(("/b-i", "/1d")) else 4)
    assert {
        way: awarded(each) for way, each in zip(followed, earned, strict=True)
    } == dict.fromkeys(followed, awarded(expected))


@pytest.mark.parametrize(
    "part",
    [
        part
        for part in list_parts()
        if any(re.match("[0-9]{2,} ", text) for text in find_formulas(part).values())
    ],
)
def test_a_logarithm_of_an_undeclared_constant_can_be_declared_as_large(part: str) -> None:
    judge = judge_of(part)
    model = judge.prepare(judge.variant("ada"), find_model(part), strict=True)
    field = next(iter(find_formulas(part)))
    text = re.sub("^[0-9]{2,}", "log(t)", find_formulas(part)[field])
    submission, texts = read_after_hints(part, field, text)
    assert submission is not None
    expected, earned = judge.judge([model, submission])

    assert texts == [text, f"{text} where t >> 0"]
    assert awarded(earned) == awarded(expected)
