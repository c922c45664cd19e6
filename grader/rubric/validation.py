"""Plain data to models: each error with its line, and suggestions for unknown keys."""

from __future__ import annotations

import json
from difflib import get_close_matches
from functools import cache
from itertools import chain
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema

from grader.domain.validation import YAML, InvalidValue, locate_errors
from grader.errors import FieldPath
from grader.rubric.document import RubricDocument, combine_errors, make_error

ModelT = TypeVar("ModelT", bound=BaseModel)


def to_model(document: RubricDocument, model: type[ModelT]) -> ModelT:
    """Return the document's data as a model.

    The data are passed on as JSON, because a strict model makes no tuples, decimals, dates or enums
    of Python's lists, numbers and texts.

    Raises
    ------
    RubricErrors
        With everything that does not fit, sorted by line.
    """
    try:
        return model.model_validate_json(json.dumps(document.data))
    except ValidationError as error:
        found = locate_errors(error.errors(include_url=False), document.data, YAML)
    raise combine_errors(
        [
            make_error(
                document,
                each.path,
                each.phrase + _suggest_keys(model, each),
                at_key=each.code == "value.unknown" or each.loc[-1:] == ("[key]",),
            )
            for each in found
        ]
    )


def _suggest_keys(model: type[BaseModel], error: InvalidValue) -> str:
    """For an unknown key, the known key it resembles or all known keys; else nothing."""
    if error.code != "value.unknown":
        return ""
    known = _list_known_keys(model, error.loc[:-1], error.labels)
    if near := get_close_matches(str(error.loc[-1]), known, n=1):
        return f"; did you mean {near[0]!r}?"
    return f"; known keys: {', '.join(known)}" if known else ""


def _list_known_keys(model: type[BaseModel], loc: FieldPath, labels: tuple[int, ...]) -> list[str]:
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
