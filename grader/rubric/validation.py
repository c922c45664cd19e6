"""Plain data to models, with the place of everything that does not fit."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import product
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from grader.rubric.document import Document, FieldPath, all_of, error_at
from grader.rubric.misfits import Misfit, find_misfit, mismatch

ModelT = TypeVar("ModelT", bound=BaseModel)


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
        found = [
            find_misfit(document.data, model, error) for error in refusal.errors(include_url=False)
        ]
    misfits = {(misfit.path, misfit.message): misfit for misfit in _condense(found)}.values()
    raise all_of(
        [
            error_at(document, misfit.path, misfit.message, at_key=misfit.at_key)
            for misfit in misfits
        ]
    )


def _condense(misfits: Sequence[Misfit], depth: int = 0) -> list[Misfit]:
    """Keep, of each union, the misfits of the branch that came closest."""
    kept = [misfit for misfit in misfits if len(misfit.labels) <= depth]
    unions: dict[FieldPath, dict[str | int, list[Misfit]]] = defaultdict(lambda: defaultdict(list))
    for misfit in misfits:
        if len(misfit.labels) > depth:
            label = misfit.labels[depth]
            unions[misfit.loc[:label]][misfit.loc[label]].append(misfit)
    for loc, union in unions.items():
        branches = [_condense(branch, depth + 1) for branch in union.values()]
        kept += _closest(branches, level=len(loc) - depth)
    return kept


def _closest(branches: list[list[Misfit]], *, level: int) -> list[Misfit]:
    """Return the misfits of a union's likeliest branch; its value is that deep in the data."""
    best = max(branches, key=lambda branch: _closeness(branch, level))
    if _is_of_kind(best, level):
        return best
    # All branches ask for something else altogether, so they are told in one sentence.
    expected = " or ".join(dict.fromkeys(branch[0].expected for branch in branches))
    return [replace(best[0], expected=expected, message=mismatch(expected, best[0].value))]


def _closeness(branch: list[Misfit], level: int) -> tuple[bool, int, int, float]:
    """Rank a branch: the right kind of value, failing deep, with few misfits or a near miss."""
    deepest = max(len(misfit.path) for misfit in branch)
    return _is_of_kind(branch, level), deepest, -len(branch), _likeness(branch)


def _is_of_kind(branch: list[Misfit], level: int) -> bool:
    return any(len(misfit.path) > level or not misfit.expected for misfit in branch)


def _likeness(branch: list[Misfit]) -> float:
    """Return how much an unknown key resembles a missing one, from 0 to 1."""
    unknown = [
        str(misfit.path[-1]) for misfit in branch if misfit.message.startswith("unknown key")
    ]
    missing = [str(misfit.path[-1]) for misfit in branch if misfit.message == "is missing"]
    pairs = product(unknown, missing)
    return max((SequenceMatcher(None, *pair).ratio() for pair in pairs), default=0.0)
