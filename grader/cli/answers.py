"""Answers in JSON: from a file, from standard input or from the command line."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.cli.files import load_bytes
from grader.errors import AnswerRefused, FieldError

# Python's JSON errors by how they begin, in words for people who do not program.
_JSON_MESSAGES = {
    "Expecting value": "a value is missing or cannot be read",
    "Expecting property name": "a name in double quotes is missing, or a comma is too much",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Illegal trailing comma": "there is a comma after the last entry",
    "Extra data": "there is more text after the end",
    "Unterminated string": "a string has no closing quote",
    "Invalid control character": "a string contains a line break or another control character",
    "Invalid \\": "a string contains a single backslash; write it twice, as in \\\\mu_a",
}

#: Far more than any answer needs.
_MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class DecodedAnswer:
    """An answer decoded from JSON, and its source."""

    data: Any
    source: str
    is_earlier: bool = False

    def find_text(self, field: str) -> str | None:
        """Return the value of a field if it is text."""
        text = self.data.get(field) if isinstance(self.data, dict) else None
        return text if isinstance(text, str) else None


class UnreadableAnswer(AnswerRefused):
    """An answer that cannot be read, with what the student sent."""

    def __init__(self, errors: list[FieldError], *, sent: DecodedAnswer) -> None:
        super().__init__(errors)
        self.sent = sent


def load_answer(path: Path, *, is_earlier: bool = False) -> DecodedAnswer:
    """Decode a JSON file; `-` is standard input."""
    source = "standard input" if str(path) == "-" else str(path)
    raw = load_bytes(path, max_bytes=_MAX_BYTES)
    return decode_answer(raw, source=source, is_earlier=is_earlier)


def decode_answer(raw: bytes, *, source: str, is_earlier: bool = False) -> DecodedAnswer:
    """Decode an answer, or a request body `{"answer": {…}}` that contains one.

    NaN and infinities are accepted here, so that reading the fields can say where they are.

    Raises
    ------
    UnreadableAnswer
        If it is not valid JSON, is too large, or has a repeated key.
    """
    sent = DecodedAnswer(None, source, is_earlier)
    if len(raw) > _MAX_BYTES:
        raise _make_error(sent, f"is larger than {_MAX_BYTES // 2**20} MiB", "answer.size")
    try:
        text = raw.decode(json.detect_encoding(raw))
        data = json.loads(text, object_pairs_hook=_refuse_repeated_keys, parse_int=_read_integer)
        # JSON can contain half of a surrogate pair, which is not valid text.
        json.dumps(data, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise _make_error(sent, _describe_json_error(error), "json.invalid") from None
    except UnicodeError:
        raise _make_error(sent, "is not UTF-8 text", "json.encoding") from None
    except RecursionError:
        raise _make_error(sent, "is nested too deeply", "json.depth") from None
    except _RepeatedKeyError as error:
        raise _make_error(
            sent, f"contains the key {error.args[0]!r} twice", "json.repeated"
        ) from None
    if isinstance(data, dict) and set(data) == {"answer"} and isinstance(data["answer"], dict):
        data = data["answer"]
    return replace(sent, data=data)


class _RepeatedKeyError(Exception):
    """A key that occurs twice in one object."""


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise _RepeatedKeyError(name[:24])
        result[name] = value
    return result


def _read_integer(digits: str) -> int:
    # Python refuses to read thousands of digits. Such a number is too large in any case.
    return int(digits[:400])


def _describe_json_error(error: json.JSONDecodeError) -> str:
    if not error.doc.strip():
        return "is empty"
    known = (text for start, text in _JSON_MESSAGES.items() if error.msg.startswith(start))
    what = next(known, error.msg)
    return f"is not valid JSON: at line {error.lineno}, column {error.colno}, {what}"


def _make_error(sent: DecodedAnswer, message: str, code: str) -> UnreadableAnswer:
    expected = "a JSON object with one entry per field"
    error = FieldError(f"{sent.source} {message}.", field="", code=code, expected=expected)
    return UnreadableAnswer([error], sent=sent)
