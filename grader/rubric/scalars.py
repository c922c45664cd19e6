"""What an unquoted scalar in a rubric file means, or why readers would disagree about it."""

from __future__ import annotations

import math
import re

from grader.rubric.words import shown

MOST_DIGITS = 18

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


def read_plain(text: str) -> bool | int | float | str | None:
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
            raise ValueError(f"{shown(text)} must be put in quotes or written otherwise: {reason}")
    return text


def _read_float(text: str) -> float:
    value = float(text)
    # A tolerance that silently becomes zero is as bad as one that becomes infinite.
    vanished = value == 0 and re.match(r"[-.0]*[1-9]", text)
    if vanished or not math.isfinite(value):
        raise ValueError("the number is too large or too small to compute with")
    return value
