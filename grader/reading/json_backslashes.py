r"""Backslashes that JSON has eaten: in "\frac" it takes the first two characters for one."""

from __future__ import annotations

import re

from grader.errors import FieldError

# LaTeX commands whose backslash and first letter JSON takes for one special character.
_EATEN = re.compile(
    r"([\b\f])([a-z]+)|(\t)(op|ext|imes|heta|au)\b|(\n)(u|eq?)\b|(\r)(ho|ight|Vert|vert)\b"
)
_LETTERS = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


def with_hint(fault: FieldError, sent: object) -> FieldError:
    r"""The same fault, with a word on backslashes where JSON has eaten one, as in "\frac"."""
    eaten = _EATEN.search(sent) if isinstance(sent, str) else None
    if eaten is None:
        return fault
    special, rest = filter(None, eaten.groups())
    name = _LETTERS[special] + rest
    hint = f"In JSON a backslash is written twice: \\\\{name} instead of \\{name}."
    return FieldError(
        fault.message, field=fault.field, code=fault.code, path=fault.path, column=fault.column,
        expected=fault.expected, got=fault.got, hint=f"{fault.hint} {hint}".strip(),
    )  # fmt: skip
