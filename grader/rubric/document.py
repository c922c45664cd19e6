"""Strict YAML to plain data, and plain data to models, with the place of every mistake.

A rubric is read in two steps. ``read_document`` accepts the part of YAML that means the same to
every reader, and remembers where each value stands. ``validate`` makes a pydantic model of the data
and says in plain words what does not fit, and where.

Fields are dotted paths with list positions counted from one: ``criteria.2.levels.1.within``.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from itertools import chain, product
from types import MappingProxyType
from typing import Any, Never, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import ErrorDetails

from grader.errors import Place, RubricError, RubricErrors

FieldPath = tuple[str | int, ...]
Labels = tuple[int, ...]
ModelT = TypeVar("ModelT", bound=BaseModel)

MOST_BYTES = 256 * 1024
MOST_LEVELS = 40
MOST_DIGITS = 18
MOST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Document:
    """A rubric file as plain data, with the place of every value and of every key.

    ``data`` is a mapping; it holds nothing but mappings with text keys, lists, text, finite
    numbers, booleans and ``None``. ``places`` and ``keys`` tell by path where a value and the key
    before it stand; list positions in paths count from zero, as in the data.
    """

    file: str
    data: Any
    places: Mapping[FieldPath, Place]
    keys: Mapping[FieldPath, Place]


def error_at(
    document: Document, path: FieldPath, message: str, *, at_key: bool = False
) -> RubricError:
    """Return an error at the closest known place of a path: the value's, or one that holds it.

    With ``at_key`` the error points at the key before the value, where there is one.
    """
    if at_key and path in document.keys:
        return RubricError(message, place=document.keys[path], field=_dotted(path))
    known = next(path[:end] for end in range(len(path), -1, -1) if path[:end] in document.places)
    return RubricError(message, place=document.places[known], field=_dotted(path))


def _dotted(path: FieldPath) -> str:
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in path)


def _all_of(errors: list[RubricError]) -> RubricErrors:
    return RubricErrors(sorted(errors, key=lambda error: (error.place.line, error.place.column)))


# ---- From text to plain data --------------------------------------------------------------------

# YAML ends lines at U+0085, U+2028 and U+2029 too, but editors do not: lines would be miscounted.
_UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}

# What some readers of YAML take for something else than text. The words y and n are not among them,
# because rubrics need n as the name of a size.
_TRAPS = (
    (r"(?i:yes|no|on|off|true|false)", "some programs read it as true or false"),
    (r"(?i:null)", "some programs read it as empty"),
    (r"[-+]?[0-9][0-9_]*(:[0-9]+)+(\.[0-9_]*)?", "some programs read it as a count of seconds"),
    (r"[-+]?0[xXoObB][0-9a-fA-F_]+", "a number has decimal digits only"),
    (r"[-+]?\.(?i:inf|nan)", "a number must be finite"),
    (r"[-+]?0[0-9_]+(\.[0-9_]*)?([eE][-+]?[0-9]+)?", "a number does not begin with extra zeros"),
    (r"[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?", "a number has no + or _"),
)

_PLAINER = {
    "mapping values are not allowed in this context": (
        "a ':' is not allowed here; if it is part of a text, put the text in quotes"
    ),
    "found character that cannot start any token": (
        "a value cannot begin with this character; put the text in quotes"
    ),
}


def read_document(text: str, *, file: str) -> Document:
    """Read strict YAML as plain data.

    Unquoted ``true``, ``false``, ``null``, ``~``, nothing at all and decimal numbers mean what they
    say. All other scalars are text, and so is every key: ``30: x`` has the key ``"30"``.

    Raises
    ------
    RubricErrors
        With every duplicate or unfit key, anchor, alias, tag, merge key and ambiguous word; what
        cannot be read past (a syntax error, a second document, nesting too deep) ends the list.
    """
    text = text.removeprefix("\ufeff")
    _check_characters(text, file)
    reader = _Reader(file, text)
    data = reader.read()
    if reader.errors:
        raise _all_of(reader.errors)
    return Document(file, data, MappingProxyType(reader.places), MappingProxyType(reader.keys))


def _check_characters(text: str, file: str) -> None:
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        message = f"the file is larger than {MOST_BYTES // 1024} KiB"
        raise RubricErrors([RubricError(message, place=Place(file, 1, 1))])
    if found := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - text.rfind("\n", 0, found.start())
        message = f"the character U+{ord(found[0]):04X} is not allowed"
        raise RubricErrors([RubricError(message, place=Place(file, line, column))])


def _read_plain(text: str) -> bool | int | float | str | None:
    """Return what an unquoted scalar means; raise ``ValueError`` where readers would disagree."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        if len(text.lstrip("-")) > MOST_DIGITS:
            raise ValueError(f"a whole number has at most {MOST_DIGITS} digits")
        return int(text)
    if _FLOAT.fullmatch(text):
        return _read_float(text)
    for pattern, reason in _TRAPS:
        if re.fullmatch(pattern, text):
            raise ValueError(f"{_shown(text)} must be put in quotes or written otherwise: {reason}")
    return text


def _read_float(text: str) -> float:
    value = float(text)
    # A tolerance that silently becomes zero is as bad as one that becomes infinite.
    vanished = value == 0 and re.match(r"[-.0]*[1-9]", text)
    if vanished or not math.isfinite(value):
        raise ValueError("the number is too large or too small to compute with")
    return value


def _explain(text: str, error: yaml.MarkedYAMLError) -> str:
    problem, mark, start = str(error.problem), error.problem_mark, error.context_mark
    if mark is not None and text[mark.index : mark.index + 1] == "\t":
        return "a tab is not allowed here; indent with spaces"
    if mark is not None and start is not None and start.line < mark.line:
        return f"{problem}, {error.context} that begins in line {start.line + 1}"
    return _PLAINER.get(problem, problem)


class _UnreadableError(Exception):
    """The rest of the file cannot be read; the reason is already noted."""


class _Reader:
    """Builds plain data from the parser's events and notes what must be refused.

    Events are used rather than composed nodes, because nodes have forgotten anchors and tags, and
    because composing recurses as deep as the file says before anything can be checked. What is
    refused is read as empty text, so that reading can go on.
    """

    def __init__(self, file: str, text: str) -> None:
        self.places: dict[FieldPath, Place] = {}
        self.keys: dict[FieldPath, Place] = {}
        self.errors: list[RubricError] = []
        self._file = file
        self._text = text
        # One parser on all machines, so that all machines refuse the same files.
        self._events = yaml.parse(text, Loader=yaml.CSafeLoader)

    def read(self) -> Any:
        """Return the data, of use only if no errors are noted."""
        try:
            return self._root()
        except yaml.MarkedYAMLError as error:
            self._note(_explain(self._text, error), error.problem_mark)
        except _UnreadableError:
            pass
        return None

    def _root(self) -> Any:
        next(self._events)
        start = next(self._events)
        if isinstance(start, yaml.StreamEndEvent):
            self._stop("the file is empty", start.start_mark)
        event = next(self._events)
        data = self._value(event, ())
        if not isinstance(data, dict):
            self._note(f"the file must be a mapping, but it is {_kind(data)}", event.start_mark)
        next(self._events)
        end = next(self._events)
        if not isinstance(end, yaml.StreamEndEvent):
            self._stop("a file holds one document only", end.start_mark)
        return data

    def _value(self, event: yaml.Event, path: FieldPath) -> Any:
        self.places[path] = self._place(event.start_mark)
        self._refuse_properties(event, path)
        match event:
            case yaml.ScalarEvent():
                return self._scalar(event, path)
            case yaml.SequenceStartEvent():
                items = enumerate(self._children(event, path))
                return [self._value(item, (*path, index)) for index, item in items]
            case yaml.MappingStartEvent():
                return self._mapping(event, path)
            case _:
                return ""

    def _mapping(self, event: yaml.Event, path: FieldPath) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for item in self._children(event, path):
            key = self._key(item, path)
            data[key] = self._value(next(self._events), (*path, key))
        return data

    def _children(self, event: yaml.Event, path: FieldPath) -> Iterator[yaml.Event]:
        if len(path) >= MOST_LEVELS:
            self._stop(f"values are nested deeper than {MOST_LEVELS} levels", event.start_mark)
        for child in self._events:
            if isinstance(child, yaml.CollectionEndEvent):
                return
            yield child

    def _key(self, event: yaml.Event, path: FieldPath) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            self._stop("a key must be text", event.start_mark, path)
        here = (*path, str(event.value))
        self._refuse_properties(event, here)
        value = self._scalar(event, here)
        if value is None or isinstance(value, bool):
            self._note("a key must be text; put it in quotes", event.start_mark, here)
        if event.value == "<<" and not event.style:
            self._note("merge keys are not allowed; write it out", event.start_mark, here)
        if here in self.keys:
            first = f"this key stands already in line {self.keys[here].line}"
            self._note(first, event.start_mark, here)
        self.keys.setdefault(here, self._place(event.start_mark))
        return str(event.value)

    def _scalar(self, event: yaml.ScalarEvent, path: FieldPath) -> bool | int | float | str | None:
        # Quoted texts may bring forbidden characters as escapes such as "\0".
        if found := _UNPRINTABLE.search(event.value):
            self._note(
                f"the character U+{ord(found[0]):04X} is not allowed", event.start_mark, path
            )
        try:
            return str(event.value) if event.style else _read_plain(event.value)
        except ValueError as error:
            self._note(str(error), event.start_mark, path)
            return ""

    def _refuse_properties(self, event: yaml.Event, path: FieldPath) -> None:
        if isinstance(event, yaml.AliasEvent):
            self._note("aliases (*) are not allowed; write it out", event.start_mark, path)
        elif getattr(event, "anchor", None) is not None:
            self._note("anchors (&) are not allowed", event.start_mark, path)
        if getattr(event, "tag", None) is not None:
            self._note("tags (!) are not allowed; text is put in quotes", event.start_mark, path)

    def _place(self, mark: Any) -> Place:
        return Place(self._file, mark.line + 1, mark.column + 1)

    def _note(self, message: str, mark: Any, path: FieldPath = ()) -> None:
        self.errors.append(RubricError(message, place=self._place(mark), field=_dotted(path)))

    def _stop(self, message: str, mark: Any, path: FieldPath = ()) -> Never:
        self._note(message, mark, path)
        raise _UnreadableError


# ---- From plain data to a model -----------------------------------------------------------------

# The kinds of value pydantic may have asked for. A fault of one of these kinds says that a value is
# something else altogether; all other faults say that it is the right thing with a wrong content.
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
class _Fault:
    """One of pydantic's errors, brought back to the data.

    ``path`` is its path in the data, with the key that is missing. ``loc`` is pydantic's own path
    and ``labels`` the positions in it that are no keys but name a branch of a union. ``expected``
    is the kind of value that was asked for, or empty if the kind was right.
    """

    path: FieldPath
    loc: FieldPath
    labels: Labels
    value: Any
    message: str
    expected: str
    at_key: bool


def validate(document: Document, model: type[ModelT]) -> ModelT:
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
        found = [_fault(document.data, model, error) for error in refusal.errors(include_url=False)]
    faults = {(fault.path, fault.message): fault for fault in _condense(found)}.values()
    raise _all_of(
        [error_at(document, fault.path, fault.message, at_key=fault.at_key) for fault in faults]
    )


def _fault(data: Any, model: type[BaseModel], error: ErrorDetails) -> _Fault:
    loc = error["loc"]
    is_key = loc[-1:] == ("[key]",)
    is_missing = error["type"] == "missing"
    path, labels = _locate(data, loc[:-1] if is_key or is_missing else loc, error["input"])
    expected = _expected(error)
    return _Fault(
        path=(*path, *(loc[-1:] if is_missing else _discriminator(error))),
        loc=loc,
        labels=labels,
        value=error["input"],
        message=_mismatch(expected, error["input"]) if expected else _message(model, error, labels),
        expected=expected,
        at_key=is_key or error["type"] == "extra_forbidden",
    )


def _locate(data: Any, loc: FieldPath, value: Any) -> tuple[FieldPath, Labels]:
    """Return the path in the data that pydantic's path means, and the positions it leaves out.

    Pydantic names the branches of unions in its path, and a branch may be called like a key. So all
    readings are followed, and the longest one that leads to the value in question is taken.
    """
    readings: dict[FieldPath, tuple[Labels, Any]] = {(): ((), data)}
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


def _condense(faults: Sequence[_Fault], depth: int = 0) -> list[_Fault]:
    """Keep, of each union, the faults of the branch that came closest."""
    kept = [fault for fault in faults if len(fault.labels) <= depth]
    unions: dict[FieldPath, dict[str | int, list[_Fault]]] = defaultdict(lambda: defaultdict(list))
    for fault in faults:
        if len(fault.labels) > depth:
            label = fault.labels[depth]
            unions[fault.loc[:label]][fault.loc[label]].append(fault)
    for loc, union in unions.items():
        branches = [_condense(branch, depth + 1) for branch in union.values()]
        kept += _closest(branches, level=len(loc) - depth)
    return kept


def _closest(branches: list[list[_Fault]], *, level: int) -> list[_Fault]:
    """Return the faults of the likeliest branch of a union whose value is that deep in the data."""
    best = max(branches, key=lambda branch: _closeness(branch, level))
    if _is_of_kind(best, level):
        return best
    # All branches ask for something else altogether, so they are told in one sentence.
    expected = " or ".join(dict.fromkeys(branch[0].expected for branch in branches))
    return [replace(best[0], expected=expected, message=_mismatch(expected, best[0].value))]


def _closeness(branch: list[_Fault], level: int) -> tuple[bool, int, int, float]:
    """Rank a branch: the right kind of value, failing deep, with few faults or a near miss."""
    deepest = max(len(fault.path) for fault in branch)
    return _is_of_kind(branch, level), deepest, -len(branch), _likeness(branch)


def _is_of_kind(branch: list[_Fault], level: int) -> bool:
    return any(len(fault.path) > level or not fault.expected for fault in branch)


def _likeness(branch: list[_Fault]) -> float:
    """Return how much an unknown key resembles a missing one, from 0 to 1."""
    unknown = [str(fault.path[-1]) for fault in branch if fault.message.startswith("unknown key")]
    missing = [str(fault.path[-1]) for fault in branch if fault.message == "is missing"]
    pairs = product(unknown, missing)
    return max((SequenceMatcher(None, *pair).ratio() for pair in pairs), default=0.0)


# ---- Plain words --------------------------------------------------------------------------------


def _expected(error: ErrorDetails) -> str:
    kind = error["type"]
    if kind not in _KINDS:
        return ""
    return _KINDS[kind] or error["msg"].removeprefix("Input should be ")


def _mismatch(expected: str, value: Any) -> str:
    # Where certain words are asked for, it helps to repeat the one that was given.
    got = _shown(value) if "'" in expected else _kind(value)
    return f"must be {expected}, but it is {got}"


def _message(model: type[BaseModel], error: ErrorDetails, labels: Labels) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return _unknown_key(error, _known_keys(model, error["loc"][:-1], labels))
        case "union_tag_invalid":
            return f"must be one of {context['expected_tags']}, but it is {_shown(context['tag'])}"
        case "union_tag_not_found":
            return "is missing" if _discriminator(error) else "is of no known kind"
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
        return f"{words}, but it is {_shown(value)}"
    return words


def _discriminator(error: ErrorDetails) -> tuple[str, ...]:
    """Return the key that tells the branches of a union apart, if the error is about that key."""
    if not error["type"].startswith("union_tag"):
        return ()
    found = re.fullmatch(r"'([^']+)'", error["ctx"]["discriminator"])
    return (found[1],) if found else ()


def _kind(value: Any) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return repr(value) if len(value) <= MOST_SHOWN else "a longer text"
    return _kind(value).removeprefix("the number ")


def _unknown_key(error: ErrorDetails, known: list[str]) -> str:
    if near := get_close_matches(str(error["loc"][-1]), known, n=1):
        return f"unknown key; did you mean {near[0]!r}?"
    return f"unknown key; known are {', '.join(known)}" if known else "unknown key"


def _known_keys(model: type[BaseModel], loc: FieldPath, labels: Labels) -> list[str]:
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
