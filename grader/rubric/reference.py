"""The reference of rubric files, rendered from the models: every key, what it takes, what it means.

`make docs` writes docs/reference/rubric.md with it, and a test holds the file to the models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, get_type_hints

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from grader.rubric import assignment as a
from grader.rubric import forms as m
from grader.rubric.kinds import KINDS, describe_type

_HEAD = """\
# Rubric files

<!-- Written by `make docs` from the descriptions in grader/rubric/forms and assignment.py. -->

An assignment is a folder with one `assignment.yaml` and one file for each question,
`QUESTION.yaml`. The examples on this page are pieces of [a small assignment](sample/) that has
every key; `grader check docs/reference/sample` runs it.

The files are strict YAML: unknown and repeated keys, anchors, tags, and words that programs
disagree on (`no`, `1_000`) are refused, each with `file:line:column` and the field.
`grader schema` prints a JSON Schema for editors.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """One key of a file, with the forms its value may have and the sample that shows it."""

    key: str
    forms: Mapping[str, type[m.Form]]
    samples: tuple[str, ...] = ("first.yaml",)
    note: str = ""


#: In the order of the page; the name of a form is its heading.
SECTIONS = (
    Section(
        "draw",
        {
            "distinct_indices": m.DistinctIndicesForm,
            "orthonormal": m.OrthonormalForm,
            "orthogonal": m.OrthogonalForm,
            "orthonormal_bases": m.BasesForm,
            "gaussian": m.GaussianForm,
            "unit_rows": m.UnitRowsForm,
            "uniform": m.UniformForm,
        },
        note="A key may name several quantities: `a, b`. Indices count from zero.",
    ),
    Section("families", {"family": m.FamilyForm}),
    Section(
        "key_sets",
        {
            "key sets": m.KeySetsForm,
            "random keys": m.GaussianSampleForm,
            "keys around their means": m.GaussianKeysForm,
            "stretch": m.StretchForm,
            "in_span": m.SpanSampleForm,
        },
        note="While a level is undecided, more are drawn: up to 8 000, then up to 32 000; see "
        "[how sampling decides a grade](../explanation/how-sampling-decides.md).",
    ),
    Section(
        "answer",
        {
            "shape": m.ArrayForm,
            "number": m.NumberForm,
            "choice": m.ChoiceForm,
            "text": m.TextForm,
            "file": m.FileForm,
            "external": m.ExternalForm,
            "review": m.ReviewForm,
            "item": m.ItemForm,
        },
        samples=("first.yaml", "second.yaml"),
        note="A field with points is a criterion, too, and bears the field's name. Text and files "
        "may be left out of an answer; all other fields must be there.",
    ),
    Section(
        "criteria",
        {"criterion": m.CriterionForm, "level": m.LevelForm},
        note="Levels go from the best credit down. A level has a `share` where its measure depends "
        "on key sets, and only there.",
    ),
    Section("misconceptions", {"misconception": m.MisconceptionForm}),
    Section("uses", {"used part": m.UsesForm}, samples=("second.yaml",)),
    Section("plots", {"weights": m.WeightsPlot, "plane": m.PlanePlot, "compare": m.ComparePlot}),
    Section("examples", {"example": m.ExampleForm, "range": m.RangeForm}),
)
#: What one of several forms is called, and the section that lists them.
_UNIONS: tuple[tuple[object, str, str], ...] = (
    (m.DrawForm, "draw", "draw"),
    (m.SampleForm, "sample", "key_sets"),
    (m.AnswerForm, "field", "answer"),
    (m.PlotForm, "plot", "plots"),
)
_PLURALS = {"family": "families", "criterion": "criteria"}
_ASSIGNMENT: Mapping[str, type[m.Form]] = {
    "late policy": a.LatePolicy,
    "attempt policy": a.AttemptPolicy,
    "exception": a.AttemptException,
}


def render_reference(sample: Path) -> str:
    """The page; `sample` is the folder of the assignment that shows every key."""
    parts = [_HEAD, "## Kinds of values\n", _kinds()]
    parts += ["## A question\n", _docstring(m.QuestionFile), _table(m.QuestionFile)]
    for section in SECTIONS:
        parts += [f"## `{section.key}`\n", _description(section.key)]
        parts += [f"{section.note}\n"] if section.note else []
        for file in section.samples:
            parts.append(_yaml(cut((sample / file).read_text(encoding="utf-8"), section.key)))
        parts += _forms(section.forms)
    whole = (sample / "assignment.yaml").read_text(encoding="utf-8")
    parts += ["## An assignment\n", _docstring(a.AssignmentFile), _yaml(whole)]
    parts += [_table(a.AssignmentFile), *_forms(_ASSIGNMENT)]
    return "\n".join(parts)


def _forms(forms: Mapping[str, type[m.Form]]) -> list[str]:
    return [
        part
        for name, form in forms.items()
        for part in (f"### {_heading(name, form)}\n", _docstring(form), _table(form))
    ]


def cut(text: str, key: str) -> str:
    """The lines of a YAML file that belong to one of its outermost keys."""
    match = re.search(rf"^{key}:.*\n(?:[ #].*\n)*", text, re.MULTILINE)
    assert match is not None, f"the sample has no {key}"
    return match[0]


def _kinds() -> str:
    rows = [f"| {one} | {meaning} |" for _, one, _, meaning in KINDS]
    return "\n".join(["| kind | means |", "| --- | --- |", *rows, ""])


def _yaml(text: str) -> str:
    return f"```yaml\n{text}```\n"


def _docstring(form: type[m.Form]) -> str:
    return f"{' '.join((form.__doc__ or '').split())}\n"


def _description(key: str) -> str:
    return f"{m.QuestionFile.model_fields[key].description}\n"


def _heading(name: str, form: type[m.Form]) -> str:
    return f"`{name}`" if name in form.model_fields else name.capitalize()


def _anchor(name: str, form: type[m.Form]) -> str:
    return "#" + _heading(name, form).strip("`").lower().replace(" ", "-")


def _table(form: type[m.Form]) -> str:
    hints = get_type_hints(form, include_extras=True)
    rows = [
        f"| `{field.alias or name}` | {describe_type(hints[name], _link)} | {_default(field)} "
        f"| {field.description} |"
        for name, field in form.model_fields.items()
    ]
    return "\n".join(
        ["| key | takes | by default | means |", "| --- | --- | --- | --- |", *rows, ""]
    )


def _default(field: FieldInfo) -> str:
    """What holds where the key is left out."""
    if field.is_required():
        return "**required**"
    value = field.default
    if value is PydanticUndefined or value in (None, (), "") or isinstance(value, m.Form):
        return ""
    return f"`{_written(value)}`"


def _written(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return f"[{', '.join(_written(each) for each in value)}]"
        case float() | Decimal():
            return f"{value:g}"
        case _:
            return str(value)


def _link(hint: Any, many: bool) -> str:
    """A link to the forms that a value may have; empty where it is no form."""
    for union, one, key in _UNIONS:
        if hint is union:
            return f"[{_count(one, many=many)}](#{key})"
    if isinstance(hint, type) and issubclass(hint, m.Form):
        return _form_link(hint, many=many)
    return ""


def _form_link(form: type[m.Form], *, many: bool) -> str:
    named = dict(_ASSIGNMENT)
    for section in SECTIONS:
        named |= section.forms
    name = next(name for name, each in named.items() if each is form)
    return f"[{_count(name, many=many)}]({_anchor(name, form)})"


def _count(name: str, *, many: bool) -> str:
    return _PLURALS.get(name, f"{name}s") if many else name
