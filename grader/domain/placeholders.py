"""Placeholders in the sentences that authors write, such as {t}; braces in TeX are none."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: TeX between dollar signs, or a name in braces.
_PIECES = re.compile(r"\$[^$]*\$|\{(?P<name>[^{}]*)\}")


def list_placeholders(text: str) -> list[str]:
    """The names in braces outside TeX, in their order."""
    names = (each["name"] for each in _PIECES.finditer(text))
    return [name for name in names if name is not None]


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """The text with its placeholders replaced; unknown ones stay as they are.

    A value at the beginning of a sentence begins with a capital letter.
    """

    def replace(piece: re.Match[str]) -> str:
        value = values.get(piece["name"] or "")
        if value is None:
            return piece[0]
        before = text[: piece.start()].rstrip()
        is_first = not before or before.endswith((".", "?", "!"))
        return value[:1].upper() + value[1:] if is_first else value

    return _PIECES.sub(replace, text)
