"""JSON Schema in words: types, fields, limits and examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]
Schemas = Mapping[str, Schema]

_MAX_LEVELS = 6
_TYPES = {"integer": "whole number", "boolean": "true or false", "string": "text"}
_FORMATS = {
    "date-time": "time",
    "date": "date",
    "uuid": "UUID",
    "uri": "address",
    "email": "e-mail",
}
_EXAMPLES = {
    "date-time": "2026-11-16T23:59:00Z",
    "date": "2026-11-16",
    "uuid": "0f8fad5b-d9cb-469f-a165-70867728950e",
    "uri": "https://example.org/",
}
_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "{} characters or more",
    "maxLength": "{} characters at most",
    "minItems": "{} entries or more",
    "maxItems": "{} entries at most",
    "pattern": "of the form {}",
}


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One member of an object, with its own members."""

    name: str
    type: str
    is_required: bool
    description: str
    limits: str
    fields: tuple[SchemaField, ...]


def describe_type(schema: Schema, schemas: Schemas, level: int = 0) -> str:
    """Return the type of a value in a few words."""
    schema = _resolve(schema, schemas)
    if level > _MAX_LEVELS:
        return "…"
    if "const" in schema:
        return _quoted(schema["const"])
    if "enum" in schema:
        return " or ".join(_quoted(each) for each in schema["enum"])
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            words = [describe_type(each, schemas, level + 1) for each in schema[key]]
            return " or ".join(dict.fromkeys(words))
    kind = schema.get("type")
    if isinstance(kind, list):
        words = [describe_type({**schema, "type": each}, schemas, level + 1) for each in kind]
        return " or ".join(words)
    if kind == "array":
        return _list_type(schema, schemas, level)
    if kind == "string":
        return _FORMATS.get(schema.get("format", ""), "text")
    return _TYPES.get(str(kind), str(kind) if kind else "anything")


def _list_type(schema: Schema, schemas: Schemas, level: int) -> str:
    items = schema.get("items", {})
    if schema.get("prefixItems"):
        parts = (describe_type(each, schemas, level + 1) for each in schema["prefixItems"])
        return f"list of {', '.join(parts)}"
    inner = describe_type(items, schemas, level + 1)
    plural = {"number": "numbers", "object": "objects", "text": "texts", "whole number": "integers"}
    return f"list of {plural.get(inner, inner)}"


def list_fields(
    schema: Schema, schemas: Schemas, seen: tuple[int, ...] = ()
) -> Iterator[SchemaField]:
    """Yield the members of an object, or of the objects in a list or a choice."""
    schema = _resolve(schema, schemas)
    # A recursive schema is shown once.
    if id(schema) in seen or len(seen) > _MAX_LEVELS:
        return
    inside = (*seen, id(schema))
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        whole = _resolve(member, schemas)
        yield SchemaField(
            name=name,
            type=describe_type(member, schemas),
            is_required=name in required,
            description=member.get("description") or whole.get("description", ""),
            limits=describe_limits(whole),
            fields=tuple(list_fields(member, schemas, inside)),
        )
    for key in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(key, ()):
            yield from list_fields(each, schemas, inside)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from list_fields(schema[key], schemas, inside)


def make_example(schema: Schema, schemas: Schemas, level: int = 0) -> Any:
    """Return an example of a value: its own if it has one, else a plausible one."""
    schema = _resolve(schema, schemas)
    for given in ("example", "const", "default"):
        if schema.get(given) is not None:
            return schema[given]
    for listed in ("examples", "enum"):
        if schema.get(listed):
            return schema[listed][0]
    if level > _MAX_LEVELS:
        return None
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return make_example(schema[key][0], schemas, level + 1)
    return _plain_example(schema, schemas, level)


def _plain_example(schema: Schema, schemas: Schemas, level: int) -> Any:
    match schema.get("type"):
        case "object":
            # Optional members are shown only if they have an example of their own.
            needed = schema.get("required", ())
            return {
                name: make_example(member, schemas, level + 1)
                for name, member in schema.get("properties", {}).items()
                if name in needed or "examples" in member or "example" in member
            }
        case "array":
            inner = make_example(schema.get("items", {}), schemas, level + 1)
            return [] if inner is None else [inner]
        case "string":
            return _EXAMPLES.get(schema.get("format", ""), "text")
        case "integer":
            return schema.get("minimum", 1)
        case "number":
            return 0.25
        case "boolean":
            return True
        case _:
            return None


def _resolve(schema: Schema, schemas: Schemas) -> Schema:
    for _ in range(_MAX_LEVELS):
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        if not name:
            break
        schema = schemas.get(name, {})
    return schema


def describe_limits(schema: Schema) -> str:
    """The limits and the default of a value, in words."""
    limits = [form.format(_plain(schema[key])) for key, form in _LIMITS.items() if key in schema]
    if schema.get("default") not in (None, "", [], {}):
        limits.append(f"by default {_quoted(schema['default'])}")
    return ", ".join(limits)


def _plain(limit: object) -> str:
    return f"{limit:g}" if isinstance(limit, float) else str(limit)


def _quoted(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)
