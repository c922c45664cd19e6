"""The reference of rubric files, rendered from the models: each key, its values, its meaning.

`make docs` writes docs/reference/rubric.md with it, and a test compares the file with the models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from grader.rubric import assignment as a
from grader.rubric import forms as m

_HEAD = """\
# Rubric files

<!-- Written by `make docs` from the descriptions in grader/rubric/forms.py and assignment.py. -->

An assignment is a folder with one `assignment.yaml` and one file for each question,
`QUESTION.yaml`. The examples on this page are pieces of [a small assignment](sample/) that has
every key; run it with `grader check docs/reference/sample`.

The files are strict YAML: unknown and repeated keys, anchors, tags, and words that programs
disagree on (`no`, `1_000`) are refused, each with `file:line:column` and the field.
`grader schema` prints a JSON Schema for editors.
"""


@dataclass(frozen=True, slots=True)
class _Section:
    """One key of a file, the forms of its value, and the sample files that show it."""

    key: str
    forms: Mapping[str, type[m.Form]]
    samples: tuple[str, ...] = ("first.yaml",)
    note: str = ""


#: In the order of the page; the name of a form is its heading.
_SECTIONS = (
    _Section(
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
    _Section("families", {"family": m.FamilyForm}),
    _Section(
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
    _Section(
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
        note="A field with points is also a criterion with the field's name. Text and files "
        "may be left out of an answer; all other fields are required.",
    ),
    _Section(
        "criteria",
        {"criterion": m.CriterionForm, "level": m.LevelForm},
        note="Credits decrease from level to level. A level has a `share` if, and only if, its "
        "measure depends on key sets.",
    ),
    _Section("misconceptions", {"misconception": m.MisconceptionForm}),
    _Section("uses", {"used question": m.UsesForm}, samples=("second.yaml",)),
    _Section("plots", {"weights": m.WeightsPlot, "plane": m.PlanePlot, "compare": m.ComparePlot}),
    _Section("examples", {"example": m.ExampleForm, "range": m.RangeForm}),
)
#: Unions of forms, each with the name of one form and the section that lists them.
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
    "exception": a.QuestionAttemptPolicy,
}


def render_reference(sample: Path) -> str:
    """The page; `sample` is the folder of the assignment that shows every key."""
    kinds = [f"| {one} | {meaning} |" for _, one, _, meaning in _KINDS]
    parts = [_HEAD, "## Kinds of values\n", "| kind | means |", "| --- | --- |", *kinds, ""]
    parts += ["## A question\n", _docstring(m.QuestionFile), _table(m.QuestionFile)]
    for section in _SECTIONS:
        description = m.QuestionFile.model_fields[section.key].description
        parts += [f"## `{section.key}`\n", f"{description}\n"]
        parts += [f"{section.note}\n"] if section.note else []
        for file in section.samples:
            text = (sample / file).read_text(encoding="utf-8")
            parts.append(_yaml(_cut_section(text, section.key)))
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


def _cut_section(text: str, key: str) -> str:
    """The lines of a YAML file that belong to one of its outermost keys."""
    match = re.search(rf"^{key}:.*\n(?:[ #].*\n)*", text, re.MULTILINE)
    assert match is not None, f"the sample has no {key}"
    return match[0]


def _yaml(text: str) -> str:
    return f"```yaml\n{text}```\n"


def _docstring(form: type[m.Form]) -> str:
    return f"{' '.join((form.__doc__ or '').split())}\n"


def _heading(name: str, form: type[m.Form]) -> str:
    return f"`{name}`" if name in form.model_fields else name.capitalize()


def _table(form: type[m.Form]) -> str:
    hints = get_type_hints(form, include_extras=True)
    rows = [
        f"| `{field.alias or name}` | {_describe_type(hints[name])} | {_default(field)} "
        f"| {field.description} |"
        for name, field in form.model_fields.items()
    ]
    return "\n".join(
        ["| key | takes | by default | means |", "| --- | --- | --- | --- |", *rows, ""]
    )


def _default(field: FieldInfo) -> str:
    """The value if the key is left out."""
    if field.is_required():
        return "**required**"
    value = field.default
    if value is PydanticUndefined or value in (None, (), "") or isinstance(value, m.Form):
        return ""
    return f"`{_format_value(value)}`"


def _format_value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return f"[{', '.join(_format_value(each) for each in value)}]"
        case float() | Decimal():
            return f"{value:g}"
        case _:
            return str(value)


def _link(hint: Any, *, many: bool) -> str:
    """A link to the forms that a value may have; empty if it is not a form."""
    for union, one, key in _UNIONS:
        if hint is union:
            return f"[{_count(one, many=many)}](#{key})"
    for forms in (_ASSIGNMENT, *(section.forms for section in _SECTIONS)):
        for name, form in forms.items():
            if hint is form:
                anchor = _heading(name, form).strip("`").lower().replace(" ", "-")
                return f"[{_count(name, many=many)}](#{anchor})"
    return ""


def _count(name: str, *, many: bool) -> str:
    return _PLURALS.get(name, f"{name}s") if many else name


#: The kinds of value, each with its plural and its meaning.
_KINDS: tuple[tuple[object, str, str, str], ...] = (
    (m.Expression, "formula", "formulas", "text in the [formula language](formulas.md)"),
    (m.Quantity, "quantity", "quantities", "a number, or a formula that gives one"),
    (
        m.Size,
        "size",
        "sizes",
        "a whole number from 1 to 1024, or a formula of sizes from the keys above, such as `m + 1`",
    ),
    (
        m.Identifier,
        "identifier",
        "identifiers",
        "lower-case letters, digits, `-` and `_`, up to 64 of them; it begins with a letter or "
        "digit",
    ),
    (m.Name, "name", "names", "letters, digits and `_`; it begins with a letter"),
    (m.Names, "names", "names", "one name, or several with `, ` between them"),
    (m.Points, "points", "points", "0 to 1000, with at most two decimals"),
    (m.Credit, "credit", "credits", "above 0, up to 1"),
    (m.Positive, "positive number", "positive numbers", "a number above 0"),
    (a.LocalTime, "date and time", "dates and times", '`"2026-03-16 23:59"`, in quotes'),
)

_PLAIN: dict[Any, tuple[str, str]] = {
    str: ("text", "texts"),
    bool: ("`true` or `false`", "`true` or `false`"),
    int: ("whole number", "whole numbers"),
    float: ("number", "numbers"),
    Decimal: ("number", "numbers"),
    Any: ("value", "values"),
}


def _describe_type(hint: Any, *, many: bool = False) -> str:
    """The type of a value in words; `many` selects the plural."""
    for kind, one, several, _ in _KINDS:
        if hint is kind:
            return several if many else one
    return _link(hint, many=many) or _describe_compound(hint, many=many)


def _describe_compound(hint: Any, *, many: bool) -> str:
    arguments = get_args(hint)
    match get_origin(hint):
        case origin if origin is Union or origin is UnionType:
            branches = [each for each in arguments if each is not NoneType]
            return " or ".join(_describe_type(each, many=many) for each in branches)
        case origin if origin is Annotated:
            return _describe_annotated(arguments, many=many)
        case origin if origin is Literal:
            return " or ".join(f"`{each}`" for each in arguments)
        case origin if origin is tuple:
            return _describe_list(arguments)
        case origin if origin is dict:
            values = _describe_type(arguments[1], many=True)
            return f"mapping to {values}" if arguments[0] is str else f"{values} by name"
        case _:
            one, several = _PLAIN[hint]
            return several if many else one


def _describe_annotated(arguments: tuple[Any, ...], *, many: bool) -> str:
    """A kind with further bounds, or a plain value with bounds."""
    base, first, *rest = arguments
    for kind, one, several, _ in _KINDS:
        if get_args(kind)[:2] == (base, first):
            return f"{several if many else one}{_describe_bounds(rest)}"
    return f"{_describe_type(base, many=many)}{_describe_bounds([first, *rest])}"


def _describe_list(arguments: tuple[Any, ...]) -> str:
    if arguments[-1] is Ellipsis:
        return f"list of {_describe_type(arguments[0], many=True)}"
    if len(set(map(id, arguments))) == 1:
        return f"list of two {_describe_type(arguments[0], many=True)}"
    return f"list: {', '.join(_describe_type(each) for each in arguments)}"


def _describe_bounds(metadata: Sequence[Any]) -> str:
    """The bounds of a number, as `, from 1, up to 64`."""
    found = {
        name: getattr(each, name)
        for info in metadata
        for each in getattr(info, "metadata", ())
        for name in ("ge", "gt", "le", "lt")
        if hasattr(each, name)
    }
    words = {"ge": "from", "gt": "above", "le": "up to", "lt": "below"}
    return "".join(f", {words[name]} {bound:g}" for name, bound in found.items())
