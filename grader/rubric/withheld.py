"""Names of a question that a student's formula may not use, and why.

Only names that the student has seen are explained: what is given, the fields of the answer, what
the prompt writes, and the names of the papers. Anything else, such as a hidden draw, is as foreign
as any other name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from grader.engine.question import UsedQuestion
from grader.formula.syntax.notation import COMMAND_NAMES
from grader.formula.syntax.suggestions import PAPER_NAMES
from grader.formula.typed.scope import IDENTITY, MATH_CONSTANTS
from grader.formula.typed.tree import Node, collect_names
from grader.reading import fields as f
from grader.rubric.forms import QuestionFile

_MATHS = re.compile(r"\$\$?([^$]+)\$")
_CODE = re.compile(r"`([A-Za-z]\w*)`")
# Words inside formulas are upright; all other letters are names by themselves.
_UPRIGHT = re.compile(r"\\(?:operatorname|text|mathrm)\*?\s*\{[^}]*\}")
_NAME = re.compile(r"(?:\\([A-Za-z]+)|([A-Za-z]))(?:_\{?([A-Za-z0-9]+)\}?)?")


def withhold_names(
    form: QuestionFile,
    fields: Sequence[f.Field],
    *,
    uses: UsedQuestion | None,
    compute: Mapping[str, Node],
    sampled: Set[str],
) -> tuple[f.Field, ...]:
    """The fields, each with the names that its formulas may not use.

    Parameters
    ----------
    sampled
        The names whose values change from key set to key set.
    """
    earlier = {field.name for field in uses.question.fields} if uses else set()
    written = _list_written_names(form.prompt)
    seen = written | PAPER_NAMES
    answer = earlier | {field.name for field in fields}
    parts = {name for name in written if "_" not in name} | (_list_numbers(form) & seen)
    reasons = {
        **_give_reason(parts, "{} is part of the question, but the answer must not depend on it."),
        **_give_reason(
            seen & sampled, "{} is drawn at random, so its values are not known beforehand."
        ),
        **_give_reason(seen & _find_results(compute, answer), "{} follows from your answer."),
        **_give_reason(form.given, "{} is given, but the answer must not depend on it."),
        **_give_reason(earlier, "{} is your answer to an earlier question."),
        **_give_reason((field.name for field in fields), "{} is another field of your answer."),
    }
    return tuple(_withhold(field, reasons) for field in fields)


def _give_reason(names: Iterable[str], reason: str) -> dict[str, str]:
    return {name: reason.format(name) for name in names}


def _list_numbers(form: QuestionFile) -> set[str]:
    """The numbers that the draws of key sets need, such as alpha."""
    return set(form.key_sets.let) if form.key_sets else set()


def _withhold(field: f.Field, reasons: Mapping[str, str]) -> f.Field:
    if not isinstance(field, f.ArrayField | f.NumberField):
        return field
    scope = field.scope
    own = {**reasons, field.name: f"{field.name} is what this field asks for."}
    withheld = {
        name: reason
        for name, reason in own.items()
        if not scope.knows(name) and name not in scope.families
    }
    return replace(field, scope=replace(scope, withheld=withheld))


def _find_results(compute: Mapping[str, Node], answer: Set[str]) -> set[str]:
    """The computed names that depend on the answer."""
    results: set[str] = set()
    for name, node in compute.items():
        if collect_names(node) & (answer | results):
            results.add(name)
    return results


def _list_written_names(prompt: str) -> set[str]:
    """The names in the formulas and the code of a prompt, with and without their subscripts."""
    names = set(_CODE.findall(prompt))
    for formula in _MATHS.findall(prompt):
        for command, letter, label in _NAME.findall(_UPRIGHT.sub(" ", formula)):
            name = letter or COMMAND_NAMES.get(command, "")
            names |= {name, f"{name}_{label}"} if name and label else {name}
    return names - {"", IDENTITY, *MATH_CONSTANTS}
