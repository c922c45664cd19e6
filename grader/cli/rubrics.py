"""Rubrics by the names that people call them by."""

from __future__ import annotations

import difflib
from pathlib import Path

from grader.errors import OperatorError
from grader.rubric.catalog import Catalog, Rubric, get_shipped_folder, load_assignment, load_catalog


def load_rubrics(rubrics: Path | None) -> Catalog:
    """The catalog of a folder, by default of the shipped rubrics."""
    return load_catalog((rubrics or get_shipped_folder()).resolve())


def get_rubric(wanted: str, rubrics: Path | None) -> Rubric:
    """The question called `ASSIGNMENT/QUESTION`; only its own assignment need be in order."""
    name, _, question = wanted.partition("/")
    folder = (rubrics or get_shipped_folder()).resolve() / name
    if name and question and (folder / "assignment.yaml").is_file():
        found = load_assignment(folder).rubrics.get(question)
        if found is not None:
            return found
    catalog = load_rubrics(rubrics)
    ids = {rubric.id: rubric for rubric in catalog.rubrics()}
    if wanted in ids:
        return ids[wanted]
    if name in catalog.assignments:
        known = ", ".join(catalog.assignments[name].rubrics)
        raise OperatorError(
            f"{name} has no question {question!r}; it has {known}."
            if question
            else f"{name} is an assignment; name a question of it as well: {name}/… with {known}."
        )
    raise OperatorError(
        f"There is no question {wanted!r}.{_suggest(wanted, list(ids))} "
        "`grader show` lists what there is."
    )


def _suggest(wanted: str, ids: list[str]) -> str:
    ending = [each for each in ids if each.endswith(f"/{wanted}")]
    close = ending or difflib.get_close_matches(wanted, ids, n=1)
    return f" Did you mean {close[0]}?" if close else ""
