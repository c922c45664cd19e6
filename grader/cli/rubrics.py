"""Rubrics by name."""

from __future__ import annotations

import difflib
from pathlib import Path

from grader.errors import OperatorError
from grader.rubric.catalog import Catalog, Rubric, get_shipped_folder, load_assignment, load_catalog


def load_rubrics(rubrics: Path | None) -> Catalog:
    """Load the rubrics in a folder, or the shipped ones."""
    return load_catalog((rubrics or get_shipped_folder()).resolve())


def get_rubric(question_id: str, rubrics: Path | None) -> Rubric:
    """Load the question `ASSIGNMENT/QUESTION`; errors in other assignments do not matter."""
    name, _, question = question_id.partition("/")
    folder = (rubrics or get_shipped_folder()).resolve() / name
    if name and question and (folder / "assignment.yaml").is_file():
        found = load_assignment(folder).rubrics.get(question)
        if found is not None:
            return found
    catalog = load_rubrics(rubrics)
    ids = {rubric.id: rubric for rubric in catalog.rubrics()}
    if question_id in ids:
        return ids[question_id]
    if name in catalog.assignments:
        known = ", ".join(catalog.assignments[name].rubrics)
        raise OperatorError(
            f"{name} has no question {question!r}; it has {known}."
            if question
            else f"{name} is an assignment; add a question, {name}/…: it has {known}."
        )
    raise OperatorError(
        f"There is no question {question_id!r}.{_suggest(question_id, list(ids))} "
        "`grader show` lists all assignments."
    )


def _suggest(question_id: str, ids: list[str]) -> str:
    ending = [each for each in ids if each.endswith(f"/{question_id}")]
    close = ending or difflib.get_close_matches(question_id, ids, n=1)
    return f" Did you mean {close[0]}?" if close else ""
