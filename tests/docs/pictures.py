"""Whether two pictures show the same, whatever the last digits of their numbers."""

from __future__ import annotations

import re
from itertools import zip_longest
from xml.etree import ElementTree

# Half a pixel cannot be seen; another processor moves a point by far less.
_PIXELS = 0.5
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def differences(first: str, second: str) -> list[str]:
    """The elements in which two pictures differ; none where they show the same."""
    pairs = zip_longest(_elements(first), _elements(second))
    return [f"{one} is not {other}" for one, other in pairs if not _are_alike(one, other)]


def _elements(picture: str) -> list[tuple[str, ...]]:
    return [
        (each.tag, (each.text or "").strip(), *(f"{k}={v}" for k, v in sorted(each.items())))
        for each in ElementTree.fromstring(picture).iter()
    ]


def _are_alike(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> bool:
    if one is None or other is None or one[:2] != other[:2] or len(one) != len(other):
        return False
    return all(_are_close(*pair) for pair in zip(one[2:], other[2:], strict=True))


def _are_close(one: str, other: str) -> bool:
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(abs(float(x) - float(y)) <= _PIXELS for x, y in pairs)
