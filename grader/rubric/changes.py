"""What a new version of a rubric changes: how answers are judged, or only what is said.

A mended word must not make attempts look as if they were judged wrongly, so versions are compared
by what decides about an answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from operator import attrgetter
from threading import Lock
from typing import Any

import orjson
from cachetools import LRUCache, cached
from pydantic import BaseModel

from grader.rubric import forms
from grader.rubric.catalog import Rubric


class RubricChange(StrEnum):
    """What differs between two versions of a rubric."""

    POINTS = "points"
    CRITERIA = "criteria"
    ANSWER = "answer"
    DRAWS = "draws"
    EARLIER = "earlier"
    """The earlier question that this one builds on is judged otherwise."""
    MISCONCEPTIONS = "misconceptions"
    WORDS = "words"


#: What is only said, shown or tried.
_WORDS: Mapping[type[BaseModel], frozenset[str]] = {
    forms.QuestionFile: frozenset(
        {"title", "prompt", "hints", "given", "plots", "examples", "also_right"}
    ),
    forms.CriterionForm: frozenset({"title", "in_words"}),
    forms.NumberForm: frozenset({"title", "in_words"}),
    forms.ChoiceForm: frozenset({"title"}),
    forms.ReviewForm: frozenset({"note"}),
    forms.ItemForm: frozenset({"text"}),
    forms.MisconceptionForm: frozenset({"say"}),
    forms.KeySetsForm: frozenset({"called"}),
    forms.UsesForm: frozenset({"called"}),
}
_POINTS: Mapping[type[BaseModel], frozenset[str]] = {
    forms.QuestionFile: frozenset({"points"}),
    forms.CriterionForm: frozenset({"points"}),
    forms.NumberForm: frozenset({"points"}),
    forms.ChoiceForm: frozenset({"points"}),
    forms.ItemForm: frozenset({"points"}),
    forms.ExternalForm: frozenset({"external"}),
}
_WORDS_AND_POINTS = {
    form: _WORDS.get(form, frozenset()) | _POINTS.get(form, frozenset())
    for form in {*_WORDS, *_POINTS}
}

#: Keys of the file by what their change is called; the others are of the criteria.
_KEYS = {
    "answer": RubricChange.ANSWER,
    "revision": RubricChange.DRAWS,
    "draw": RubricChange.DRAWS,
    "families": RubricChange.DRAWS,
    "key_sets": RubricChange.DRAWS,
    "fresh_variants": RubricChange.DRAWS,
    "misconceptions": RubricChange.MISCONCEPTIONS,
}


def compare_rubrics(before: Rubric, after: Rubric) -> frozenset[RubricChange]:
    """What differs; empty for the same files."""
    if before.versions == after.versions:
        return frozenset()
    changes = set()
    old, new = _to_data(before.form, _WORDS), _to_data(after.form, _WORDS)
    old_shape, new_shape = (_to_data(each.form, _WORDS_AND_POINTS) for each in (before, after))
    for key in old:
        if old_shape.get(key) != new_shape.get(key):
            changes.add(_KEYS.get(key, RubricChange.CRITERIA))
        elif old[key] != new[key]:
            changes.add(RubricChange.POINTS)
    if _hash_earlier(before) != _hash_earlier(after):
        changes.add(RubricChange.EARLIER)
    # A file may differ in its layout alone, which is told as words.
    if not changes or _list_words(before.form) != _list_words(after.form):
        changes.add(RubricChange.WORDS)
    return frozenset(changes)


@cached(LRUCache(2048), key=attrgetter("versions"), lock=Lock())
def hash_deciding(rubric: Rubric) -> str:
    """A digest of all that decides how an answer comes out, but of no words."""
    content = orjson.dumps(
        [_to_data(rubric.form, _WORDS), _hash_earlier(rubric)],
        option=orjson.OPT_SORT_KEYS,
        default=str,
    )
    return hashlib.sha256(content).hexdigest()


def _hash_earlier(rubric: Rubric) -> str:
    return hash_deciding(rubric.earlier) if rubric.earlier is not None else ""


def _list_words(value: Any) -> list[Any]:
    """All that is only said, shown or tried, in the order of the file."""
    match value:
        case BaseModel():
            words = _WORDS.get(type(value), frozenset())
            return [
                (name, _to_data(each, {})) if name in words else _list_words(each)
                for name, each in value
            ]
        case dict():
            return [_list_words(each) for each in value.values()]
        case tuple():
            return [_list_words(each) for each in value]
        case _:
            return []


def _to_data(value: Any, left_out: Mapping[type[BaseModel], frozenset[str]]) -> Any:
    """A form as plain data, without some of its keys."""
    match value:
        case BaseModel():
            names = left_out.get(type(value), frozenset())
            return {name: _to_data(each, left_out) for name, each in value if name not in names}
        case dict():
            return {name: _to_data(each, left_out) for name, each in value.items()}
        case tuple():
            return [_to_data(each, left_out) for each in value]
        case _:
            return value
