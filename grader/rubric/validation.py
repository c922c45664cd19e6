"""Plain data to models, with the place of everything that does not fit."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from itertools import chain, product
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import ErrorDetails

from grader.rubric.document import (
    FieldPath,
    RubricDocument,
    combine_errors,
    describe_kind,
    describe_value,
    make_error,
)

ModelT = TypeVar("ModelT", bound=BaseModel)


def to_model(document: RubricDocument, model: type[ModelT]) -> ModelT:
    """Return the document's data as a model.

    The data go in as JSON, because from Python's lists, numbers and texts a strict model makes no
    tuples, decimals, dates or enums.

    Raises
    ------
    RubricErrors
        With all that does not fit, sorted by place. Where a value fits no branch of a union, only
        the branch that came closest speaks.
    """
    try:
        return model.model_validate_json(json.dumps(document.data))
    except ValidationError as refusal:
        found = [
            _locate_error(document.data, model, error)
            for error in refusal.errors(include_url=False)
        ]
    misfits = {(misfit.path, misfit.message): misfit for misfit in _keep_closest(found)}.values()
    raise combine_errors(
        [
            make_error(document, misfit.path, misfit.message, at_key=misfit.at_key)
            for misfit in misfits
        ]
    )


def _keep_closest(misfits: Sequence[_LocatedError], depth: int = 0) -> list[_LocatedError]:
    """Keep, of each union, the misfits of the branch that came closest."""
    kept = [misfit for misfit in misfits if len(misfit.labels) <= depth]
    unions: dict[FieldPath, dict[str | int, list[_LocatedError]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for misfit in misfits:
        if len(misfit.labels) > depth:
            label = misfit.labels[depth]
            unions[misfit.loc[:label]][misfit.loc[label]].append(misfit)
    for loc, union in unions.items():
        branches = [_keep_closest(branch, depth + 1) for branch in union.values()]
        kept += _choose_branch(branches, level=len(loc) - depth)
    return kept


def _choose_branch(branches: list[list[_LocatedError]], *, level: int) -> list[_LocatedError]:
    """Return the misfits of a union's likeliest branch; its value is that deep in the data."""
    best = max(branches, key=lambda branch: _rank_branch(branch, level))
    if _is_of_kind(best, level):
        return best
    # All branches ask for something else altogether, so they are told in one sentence.
    expected = " or ".join(dict.fromkeys(branch[0].expected for branch in branches))
    return [
        replace(best[0], expected=expected, message=_describe_mismatch(expected, best[0].value))
    ]


def _rank_branch(branch: list[_LocatedError], level: int) -> tuple[bool, int, int, float]:
    """Rank a branch: the right kind of value, failing deep, with few misfits or a near miss."""
    deepest = max(len(misfit.path) for misfit in branch)
    return _is_of_kind(branch, level), deepest, -len(branch), _compute_similarity(branch)


def _is_of_kind(branch: list[_LocatedError], level: int) -> bool:
    return any(len(misfit.path) > level or not misfit.expected for misfit in branch)


def _compute_similarity(branch: list[_LocatedError]) -> float:
    """Return how much an unknown key resembles a missing one, from 0 to 1."""
    unknown = [
        str(misfit.path[-1]) for misfit in branch if misfit.message.startswith("unknown key")
    ]
    missing = [str(misfit.path[-1]) for misfit in branch if misfit.message == "is missing"]
    pairs = product(unknown, missing)
    return max((SequenceMatcher(None, *pair).ratio() for pair in pairs), default=0.0)


# The kinds of value pydantic may have asked for. A misfit of one of these kinds says that a value
# is something else altogether; all other misfits say that it is the right thing with a wrong
# content.
_KINDS = {
    "bool_type": "true or false",
    "date_type": "a date such as 2025-10-20",
    "datetime_type": "a date and time such as 2025-10-20T23:59:00",
    "decimal_parsing": "a number",
    "decimal_type": "a number",
    "dict_type": "a mapping",
    "enum": "",
    "float_type": "a number",
    "frozen_set_type": "a list",
    "int_type": "a whole number",
    "list_type": "a list",
    "literal_error": "",
    "mapping_type": "a mapping",
    "model_attributes_type": "a mapping",
    "model_type": "a mapping",
    "none_required": "empty",
    "set_type": "a list",
    "string_type": "text",
    "tuple_type": "a list",
}


@dataclass(frozen=True, slots=True)
class _LocatedError:
    """One of pydantic's errors, brought back to the data.

    ``path`` is its path in the data, with the key that is missing. ``loc`` is pydantic's own path
    and ``labels`` the positions in it that are no keys but name a branch of a union. ``expected``
    is the kind of value that was asked for, or empty if the kind was right.
    """

    path: FieldPath
    loc: FieldPath
    labels: _Labels
    value: Any
    message: str
    expected: str
    at_key: bool


def _locate_error(data: Any, model: type[BaseModel], error: ErrorDetails) -> _LocatedError:
    """One of pydantic's errors as a misfit of the data."""
    loc = error["loc"]
    is_key = loc[-1:] == ("[key]",)
    is_missing = error["type"] == "missing"
    path, labels = _find_path(data, loc[:-1] if is_key or is_missing else loc, error["input"])
    expected = _expected_kind(error)
    return _LocatedError(
        path=(*path, *(loc[-1:] if is_missing else _find_discriminator(error))),
        loc=loc,
        labels=labels,
        value=error["input"],
        message=_describe_mismatch(expected, error["input"])
        if expected
        else _describe_error(model, error, labels),
        expected=expected,
        at_key=is_key or error["type"] == "extra_forbidden",
    )


def _find_path(data: Any, loc: FieldPath, value: Any) -> tuple[FieldPath, _Labels]:
    """Return the path in the data that pydantic's path means, and the positions it leaves out.

    Pydantic names the branches of unions in its path, and a branch may be called like a key. So all
    readings are followed, and the longest one that leads to the value in question is taken.
    """
    readings: dict[FieldPath, tuple[_Labels, Any]] = {(): ((), data)}
    for position, part in enumerate(loc):
        readings = {
            path: ((*labels, position), here) for path, (labels, here) in readings.items()
        } | {
            (*path, part): (labels, here[part])
            for path, (labels, here) in readings.items()
            if _has(here, part)
        }
    path = max(readings, key=lambda path: (readings[path][1] == value, len(path)))
    return path, readings[path][0]


def _has(data: Any, part: str | int) -> bool:
    match data:
        case dict():
            return part in data
        case list():
            return isinstance(part, int) and part < len(data)
        case _:
            return False


def _find_discriminator(error: ErrorDetails) -> tuple[str, ...]:
    """Return the key that tells the branches of a union apart, if the error is about that key."""
    if not error["type"].startswith("union_tag"):
        return ()
    found = re.fullmatch(r"'([^']+)'", error["ctx"]["discriminator"])
    return (found[1],) if found else ()


def _expected_kind(error: ErrorDetails) -> str:
    kind = error["type"]
    if kind not in _KINDS:
        return ""
    return _KINDS[kind] or error["msg"].removeprefix("Input should be ")


def _describe_mismatch(expected: str, value: Any) -> str:
    """The message for a value that is something else altogether."""
    # Where certain words are asked for, it helps to repeat the one that was given.
    got = describe_value(value) if "'" in expected else describe_kind(value)
    return f"must be {expected}, but it is {got}"


def _describe_error(model: type[BaseModel], error: ErrorDetails, labels: _Labels) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return _describe_unknown_key(error, _list_known_keys(model, error["loc"][:-1], labels))
        case "union_tag_invalid":
            wrong = describe_value(context["tag"])
            return f"must be one of {context['expected_tags']}, but it is {wrong}"
        case "union_tag_not_found":
            return "is missing" if _find_discriminator(error) else "is of no known kind"
        case "value_error" | "assertion_error":
            return str(context["error"]) or "is not acceptable"
        case kind if kind.endswith("_parsing"):
            # After the comma it says how the parser failed, which helps nobody.
            return _rephrase(error["msg"].split(",")[0], error["input"])
        case _:
            return _rephrase(error["msg"], error["input"])


def _rephrase(said: str, value: Any) -> str:
    """Return pydantic's own words as a sentence about the field: "must be greater than 0"."""
    words, found = re.subn(r"^[A-Z]\w+ should ", "must ", said.replace(" after validation", ""))
    if found and isinstance(value, int | float | str):
        return f"{words}, but it is {describe_value(value)}"
    return words


def _describe_unknown_key(error: ErrorDetails, known: list[str]) -> str:
    if near := get_close_matches(str(error["loc"][-1]), known, n=1):
        return f"unknown key; did you mean {near[0]!r}?"
    return f"unknown key; known are {', '.join(known)}" if known else "unknown key"


_Labels = tuple[int, ...]


def _list_known_keys(model: type[BaseModel], loc: FieldPath, labels: _Labels) -> list[str]:
    """Return the keys a model knows at pydantic's path, as far as its JSON Schema tells."""
    schema = _schema(model)
    nodes = _branches(schema, schema)
    for position, part in enumerate(loc):
        step = _labelled if position in labels else _below
        nodes = [found for node in step(nodes, part) for found in _branches(schema, node)]
    return list(dict.fromkeys(key for node in nodes for key in node.get("properties", {})))


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    try:
        return model.model_json_schema()
    except PydanticInvalidForJsonSchema:
        return {}


def _branches(schema: dict[str, Any], node: Any) -> list[dict[str, Any]]:
    """Return the node with all alternatives it consists of or refers to."""
    if not isinstance(node, dict):
        return []
    if "$ref" in node:
        return _branches(schema, schema["$defs"][node["$ref"].rsplit("/", 1)[-1]])
    inner = [branch for name in ("anyOf", "oneOf", "allOf") for branch in node.get(name, ())]
    return [node, *(found for branch in inner for found in _branches(schema, branch))]


def _labelled(nodes: list[dict[str, Any]], label: str | int) -> list[Any]:
    """Return the branch of a union by its tag or its model's name, or all where neither tells."""
    tagged = [node.get("discriminator", {}).get("mapping", {}).get(label) for node in nodes]
    named = [node for node in nodes if "properties" in node and node.get("title") == label]
    return [{"$ref": reference} for reference in tagged if reference] or named or nodes


def _below(nodes: list[dict[str, Any]], part: str | int) -> list[Any]:
    """Return the schemas of a list's entry or of a key's value."""
    if isinstance(part, int):
        entries = [node.get("prefixItems", [])[part : part + 1] for node in nodes]
        return [*chain.from_iterable(entries), *(node.get("items") for node in nodes)]
    own = [node["properties"][part] for node in nodes if part in node.get("properties", {})]
    return own or [node.get("additionalProperties") for node in nodes]
