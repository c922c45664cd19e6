"""Strict YAML to plain data, with the location of every value and of every error.

``read_document`` accepts the part of YAML that all parsers read alike, and records the location of
each value. `grader.rubric.catalog` turns the data into a model.

Fields are dotted paths with list positions counted from one: ``criteria.2.levels.1.within``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Never

import yaml

from grader.domain.validation import YAML, describe_kind, describe_value
from grader.errors import FieldPath, FileLocation, RubricError, RubricErrors

MAX_BYTES = 256 * 1024
MAX_DEPTH = 40

# YAML ends lines at U+0085, U+2028 and U+2029 too, but editors do not: lines would be miscounted.
_UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)

_PLAIN_MESSAGES = {
    "mapping values are not allowed in this context": (
        "a ':' is not allowed here; if it is part of a text, put the text in quotes"
    ),
    "found character that cannot start any token": (
        "a value cannot begin with this character; put the text in quotes"
    ),
}


@dataclass(frozen=True, slots=True)
class RubricDocument:
    """A rubric file as plain data, with the location of every value and of every key.

    ``data`` is a mapping of nothing but mappings with text keys, lists, text, finite numbers,
    booleans and ``None``. ``places`` and ``keys`` are the locations of values and of their keys by
    path; list positions in paths count from zero, as in the data.
    """

    file: str
    data: Any
    places: Mapping[FieldPath, FileLocation]
    keys: Mapping[FieldPath, FileLocation]


def make_error(
    document: RubricDocument, path: FieldPath, message: str, *, at_key: bool = False
) -> RubricError:
    """Return an error at the location of a path, or of the closest value around it.

    With ``at_key`` the error points at the key before the value, if there is one.
    """
    if at_key and path in document.keys:
        return RubricError(message, place=document.keys[path], field=_dotted(path))
    known = next(path[:end] for end in range(len(path), -1, -1) if path[:end] in document.places)
    return RubricError(message, place=document.places[known], field=_dotted(path))


def _dotted(path: FieldPath) -> str:
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in path)


def combine_errors(errors: list[RubricError]) -> RubricErrors:
    """All the errors as one, sorted by line."""
    return RubricErrors(sorted(errors, key=lambda error: (error.place.line, error.place.column)))


def read_document(text: str, *, file: str) -> RubricDocument:
    """Read strict YAML as plain data.

    Unquoted ``true``, ``false``, ``null``, ``~``, empty values and decimal numbers have their usual
    meaning. All other scalars are text, and so is every key: ``30: x`` has the key ``"30"``.

    Raises
    ------
    RubricErrors
        With every duplicate or invalid key, anchor, alias, tag, merge key and ambiguous word.
        Reading stops at a syntax error, a second document or nesting that is too deep.
    """
    text = text.removeprefix("\ufeff")
    _check_characters(text, file)
    reader = _YamlReader(file, text)
    data = reader.read()
    if reader.errors:
        raise combine_errors(reader.errors)
    return RubricDocument(
        file, data, MappingProxyType(reader.places), MappingProxyType(reader.keys)
    )


def _check_characters(text: str, file: str) -> None:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        message = f"the file is larger than {MAX_BYTES // 1024} KiB"
        raise RubricErrors([RubricError(message, place=FileLocation(file, 1, 1))])
    if found := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - text.rfind("\n", 0, found.start())
        message = f"the character U+{ord(found[0]):04X} is not allowed"
        raise RubricErrors([RubricError(message, place=FileLocation(file, line, column))])


def _explain(text: str, error: yaml.MarkedYAMLError) -> str:
    problem, mark, start = str(error.problem), error.problem_mark, error.context_mark
    if mark is not None and text[mark.index : mark.index + 1] == "\t":
        return "a tab is not allowed here; indent with spaces"
    if mark is not None and start is not None and start.line < mark.line:
        return f"{problem}, {error.context} that begins in line {start.line + 1}"
    return _PLAIN_MESSAGES.get(problem, problem)


class _UnreadableError(Exception):
    """The rest of the file cannot be read; the error is already recorded."""


class _YamlReader:
    """Builds plain data from the parser's events and records what is refused.

    Events are used rather than composed nodes, because nodes have lost anchors and tags, and
    because composing recurses as deep as the file is nested before anything can be checked. A
    refused value is read as empty text, so that reading can go on.
    """

    def __init__(self, file: str, text: str) -> None:
        self.places: dict[FieldPath, FileLocation] = {}
        self.keys: dict[FieldPath, FileLocation] = {}
        self.errors: list[RubricError] = []
        self._file = file
        self._text = text
        # One parser on all machines, so that all machines refuse the same files.
        self._events = yaml.parse(text, Loader=yaml.CSafeLoader)

    def read(self) -> Any:
        """Return the data; it is valid only if there are no errors."""
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
            message = f"the file must be a mapping, but it is {describe_kind(data, YAML)}"
            self._note(message, event.start_mark)
        next(self._events)
        end = next(self._events)
        if not isinstance(end, yaml.StreamEndEvent):
            self._stop("a file must have only one document", end.start_mark)
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
        if len(path) >= MAX_DEPTH:
            self._stop(f"values are nested deeper than {MAX_DEPTH} levels", event.start_mark)
        for child in self._events:
            if isinstance(child, yaml.CollectionEndEvent):
                return
            yield child

    def _key(self, event: yaml.Event, path: FieldPath) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            self._stop("a key must be text", event.start_mark, path)
        own = (*path, str(event.value))
        self._refuse_properties(event, own)
        value = self._scalar(event, own)
        if value is None or isinstance(value, bool):
            self._note("a key must be text; put it in quotes", event.start_mark, own)
        if event.value == "<<" and not event.style:
            self._note("merge keys are not allowed; write it out", event.start_mark, own)
        if own in self.keys:
            first = f"this key is already in line {self.keys[own].line}"
            self._note(first, event.start_mark, own)
        self.keys.setdefault(own, self._place(event.start_mark))
        return str(event.value)

    def _scalar(self, event: yaml.ScalarEvent, path: FieldPath) -> bool | int | float | str | None:
        # Quoted texts may bring forbidden characters as escapes such as "\0".
        if found := _UNPRINTABLE.search(event.value):
            self._note(
                f"the character U+{ord(found[0]):04X} is not allowed", event.start_mark, path
            )
        try:
            return str(event.value) if event.style else _read_scalar(event.value)
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

    def _place(self, mark: Any) -> FileLocation:
        return FileLocation(self._file, mark.line + 1, mark.column + 1)

    def _note(self, message: str, mark: Any, path: FieldPath = ()) -> None:
        self.errors.append(RubricError(message, place=self._place(mark), field=_dotted(path)))

    def _stop(self, message: str, mark: Any, path: FieldPath = ()) -> Never:
        self._note(message, mark, path)
        raise _UnreadableError


_MAX_DIGITS = 18

_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}

# What some parsers of YAML do not read as text. The words y and n are not among them, because
# rubrics need n as the name of a size.
_AMBIGUOUS = (
    (r"(?i:yes|no|on|off|true|false)", "some programs read it as true or false"),
    (r"(?i:null)", "some programs read it as empty"),
    (r"[-+]?[0-9][0-9_]*(:[0-9]+)+(\.[0-9_]*)?", "some programs read it as a count of seconds"),
    (r"[-+]?0[xXoObB][0-9a-fA-F_]+", "a number has decimal digits only"),
    (r"[-+]?\.(?i:inf|nan)", "a number must be finite"),
    (r"[-+]?0[0-9_]+(\.[0-9_]*)?([eE][-+]?[0-9]+)?", "a number does not begin with extra zeros"),
    (r"[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?", "a number has no + or _"),
)


def _read_scalar(text: str) -> bool | int | float | str | None:
    """Return the value of an unquoted scalar; ``ValueError`` where parsers disagree."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        if len(text.lstrip("-")) > _MAX_DIGITS:
            raise ValueError(f"a whole number has at most {_MAX_DIGITS} digits")
        return int(text)
    if _FLOAT.fullmatch(text):
        return _read_float(text)
    for pattern, reason in _AMBIGUOUS:
        if re.fullmatch(pattern, text):
            raise ValueError(
                f"{describe_value(text)} must be quoted or written differently: {reason}"
            )
    return text


def _read_float(text: str) -> float:
    value = float(text)
    # A tolerance that silently becomes zero is as bad as one that becomes infinite.
    vanished = value == 0 and re.match(r"[-.0]*[1-9]", text)
    if vanished or not math.isfinite(value):
        raise ValueError("the number is too large or too small to compute with")
    return value
