"""What a key of a rubric file takes, said in words: from the type of the model's field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from grader.rubric import assignment as a
from grader.rubric import forms as m

#: For a type that has a place of its own on the page, a link to it; empty for all others.
Link = Callable[[Any, bool], str]

#: The kinds of value, each with its plural and its meaning.
KINDS: tuple[tuple[object, str, str, str], ...] = (
    (m.Expression, "formula", "formulas", "text in the [formula language](formulas.md)"),
    (m.Quantity, "quantity", "quantities", "a number, or a formula that gives one"),
    (
        m.Size,
        "size",
        "sizes",
        "a whole number from 1 to 1024, or a formula of sizes that stand above it, such as `m + 1`",
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


def describe_type(hint: Any, link: Link, *, many: bool = False) -> str:
    """What a value of this type must be, in words; `many` asks for the plural."""
    for kind, one, several, _ in KINDS:
        if hint is kind:
            return several if many else one
    return link(hint, many) or _compound(hint, link, many=many)


def _compound(hint: Any, link: Link, *, many: bool) -> str:
    arguments = get_args(hint)
    match get_origin(hint):
        case origin if origin is Union or origin is UnionType:
            branches = [each for each in arguments if each is not NoneType]
            return " or ".join(describe_type(each, link, many=many) for each in branches)
        case origin if origin is Annotated:
            return _annotated(arguments, link, many=many)
        case origin if origin is Literal:
            return " or ".join(f"`{each}`" for each in arguments)
        case origin if origin is tuple:
            return _list(arguments, link)
        case origin if origin is dict:
            values = describe_type(arguments[1], link, many=True)
            return f"mapping to {values}" if arguments[0] is str else f"{values} by name"
        case _:
            one, several = _PLAIN[hint]
            return several if many else one


def _annotated(arguments: tuple[Any, ...], link: Link, *, many: bool) -> str:
    """A kind with further bounds, or a plain value with bounds."""
    base, first, *rest = arguments
    for kind, one, several, _ in KINDS:
        if get_args(kind)[:2] == (base, first):
            return f"{several if many else one}{_bounds(rest)}"
    return f"{describe_type(base, link, many=many)}{_bounds([first, *rest])}"


def _list(arguments: tuple[Any, ...], link: Link) -> str:
    if arguments[-1] is Ellipsis:
        return f"list of {describe_type(arguments[0], link, many=True)}"
    if len(set(map(id, arguments))) == 1:
        return f"list of two {describe_type(arguments[0], link, many=True)}"
    return f"list: {', '.join(describe_type(each, link) for each in arguments)}"


def _bounds(metadata: Sequence[Any]) -> str:
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
