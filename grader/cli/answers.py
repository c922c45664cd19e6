"""An answer from a file, from standard input or from the command itself, as it was sent."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.errors import AnswerRefused, FieldError, OperatorError

# What Python's reader of JSON says, in words for those who do not program.
_JSON_MESSAGES = {
    "Expecting value": "a value is missing or cannot be read",
    "Expecting property name": "a name in double quotes is needed; no comma may stand last",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Illegal trailing comma": "a comma is not followed by anything",
    "Extra data": "there is more after the end",
    "Unterminated string": "a text begins that has no closing quote",
    "Invalid control character": "a text holds a line break or another control character",
    "Invalid \\": "a text holds a single backslash; write it twice, as in \\\\mu_a",
}

#: No answer to any question comes near this.
_MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class DecodedAnswer:
    """What was sent, decoded, and where it came from."""

    data: Any
    source: str
    is_earlier: bool = False

    def text_of(self, field: str) -> str | None:
        """What was sent for a field, if that is text."""
        text = self.data.get(field) if isinstance(self.data, dict) else None
        return text if isinstance(text, str) else None


class UnreadableAnswer(AnswerRefused):
    """An answer that cannot be read, with what was sent."""

    def __init__(self, errors: list[FieldError], *, sent: DecodedAnswer) -> None:
        super().__init__(errors)
        self.sent = sent


def load_answer(path: Path, *, is_earlier: bool = False) -> DecodedAnswer:
    """Decode a JSON file; `-` is standard input."""
    source = "standard input" if str(path) == "-" else str(path)
    try:
        if str(path) == "-":
            raw = sys.stdin.buffer.read(_MAX_BYTES + 1)
        else:
            with path.open("rb") as file:
                raw = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise OperatorError(f"{source} cannot be read: {error.strerror}.") from None
    return decode_answer(raw, source=source, is_earlier=is_earlier)


def decode_answer(raw: bytes, *, source: str, is_earlier: bool = False) -> DecodedAnswer:
    """Decode JSON; the body of a request, `{"answer": {…}}`, is taken for the answer in it.

    NaN and infinities are let through, so that whoever reads the numbers can say where they stand.

    Raises
    ------
    UnreadableAnswer
        Where it is no JSON, is too large, or has a key twice.
    """
    sent = DecodedAnswer(None, source, is_earlier)
    if len(raw) > _MAX_BYTES:
        raise _make_error(sent, f"is larger than {_MAX_BYTES // 2**20} MiB", "answer.size")
    try:
        text = raw.decode(json.detect_encoding(raw))
        data = json.loads(text, object_pairs_hook=_refuse_repeated_keys, parse_int=_read_integer)
        # Half of a surrogate pair can be written in JSON, but is no text.
        json.dumps(data, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise _make_error(sent, _describe_json_error(error), "json.invalid") from None
    except UnicodeError:
        raise _make_error(sent, "is no text in UTF-8", "json.encoding") from None
    except RecursionError:
        raise _make_error(sent, "is nested too deeply", "json.depth") from None
    except _RepeatedKeyError as error:
        raise _make_error(sent, f"has the key {error.args[0]!r} twice", "json.repeated") from None
    if isinstance(data, dict) and set(data) == {"answer"} and isinstance(data["answer"], dict):
        data = data["answer"]
    return replace(sent, data=data)


class _RepeatedKeyError(Exception):
    """A key that stands twice in one object."""


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise _RepeatedKeyError(name[:24])
        result[name] = value
    return result


def _read_integer(digits: str) -> int:
    # Python refuses to read thousands of digits; so many are too large in any case.
    return int(digits[:400])


def _describe_json_error(error: json.JSONDecodeError) -> str:
    if not error.doc.strip():
        return "is empty"
    known = (plainer for start, plainer in _JSON_MESSAGES.items() if error.msg.startswith(start))
    what = next(known, error.msg)
    return f"is no valid JSON; in line {error.lineno}, column {error.colno} {what}"


def _make_error(sent: DecodedAnswer, message: str, code: str) -> UnreadableAnswer:
    expected = "a JSON object with the fields by name"
    fault = FieldError(f"{sent.source} {message}.", field="", code=code, expected=expected)
    return UnreadableAnswer([fault], sent=sent)
