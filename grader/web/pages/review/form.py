"""The review form: filling it in, and reading decisions from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from grader.errors import ErrorDetail, MalformedRequest
from grader.feedback.report import CriterionReport
from grader.grading.reviews.review import ReviewTask, format_review_version
from grader.grading.reviews.save import ReviewDecision
from grader.web.pages.form_numbers import read_form_points
from grader.web.pages.format import format_points

#: The keyboard shortcuts of items, in order; c, n, p and s have other meanings.
_ITEM_KEYS = "123456789abdefghijklmoqrtuvwxyz"


@dataclass(frozen=True, slots=True)
class _FormItem:
    """An item of the rubric; `key` toggles it, and is empty once the keys have run out."""

    name: str
    key: str
    text: str
    points: Decimal
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class CriterionReviewForm:
    """The form of one criterion, filled in from the store or from a submitted form."""

    task: ReviewTask
    items: tuple[_FormItem, ...]
    is_none: bool
    points: str
    comment: str
    version: str
    comments: tuple[str, ...]
    judged: CriterionReport | None
    """The automatic result, where the engine was not sure."""
    is_contested: bool
    """Whether somebody else saved a review after this form was opened."""

    @property
    def name(self) -> str:
        """The prefix of its fields."""
        return self.task.criterion

    @property
    def worth(self) -> Decimal | None:
        """The points chosen so far; None while nothing is chosen."""
        if self.points.strip():
            try:
                return read_form_points(self.points)
            except MalformedRequest:
                return None
        chosen = [each.points for each in self.items if each.is_chosen]
        return sum(chosen, Decimal(0)) if chosen or self.is_none else None


def build_review_forms(
    tasks: Sequence[ReviewTask],
    *,
    comments: Mapping[str, Iterable[str]],
    judged: Mapping[str, CriterionReport],
    submitted: Mapping[str, str] | None = None,
) -> list[CriterionReviewForm]:
    """The forms of all criteria, filled in from the store or from a form that was not saved."""
    keys = iter(_ITEM_KEYS)
    forms = []
    for task in tasks:
        values = _stored_fields(task) if submitted is None else submitted
        version = values.get(f"{task.criterion}.version", "r0")
        forms.append(
            CriterionReviewForm(
                task=task,
                items=tuple(
                    _FormItem(
                        name=(name := f"{task.criterion}.item.{index}"),
                        key=next(keys, ""),
                        text=item.text,
                        points=item.points,
                        is_chosen=name in values,
                    )
                    for index, item in enumerate(task.items)
                ),
                is_none=f"{task.criterion}.none" in values,
                points=values.get(f"{task.criterion}.points", ""),
                comment=values.get(f"{task.criterion}.comment", ""),
                # The page shows the other review, so the next save may replace it.
                version=format_review_version(task.review),
                comments=tuple(comments.get(task.criterion, ())),
                judged=judged.get(task.criterion),
                is_contested=submitted is not None
                and version != format_review_version(task.review),
            )
        )
    return forms


def _stored_fields(task: ReviewTask) -> dict[str, str]:
    """The form fields of the stored review."""
    name, review = task.criterion, task.review
    values = {f"{name}.version": format_review_version(review)}
    if review is None:
        return values
    chosen = [each for each in review.items if each < len(task.items)]
    values |= {f"{name}.item.{each}": "on" for each in chosen}
    values[f"{name}.comment"] = review.comment
    total = sum((task.items[each].points for each in chosen), Decimal(0))
    if review.points != total or not task.items:
        values[f"{name}.points"] = format_points(review.points)
    elif not chosen:
        values[f"{name}.none"] = "on"
    return values


def read_decisions(form: Mapping[str, str], tasks: Sequence[ReviewTask]) -> list[ReviewDecision]:
    """The decisions in a form; criteria without one are left for later.

    Raises
    ------
    MalformedRequest
        If points are not a number, or a comment has no points.
    """
    found = (_read_decision(form, each) for each in tasks)
    return [each for each in found if each is not None]


def _read_decision(form: Mapping[str, str], task: ReviewTask) -> ReviewDecision | None:
    name = task.criterion
    items = tuple(index for index in range(len(task.items)) if f"{name}.item.{index}" in form)
    text = form.get(f"{name}.points", "")
    # Browsers send line ends as CRLF.
    comment = form.get(f"{name}.comment", "").replace("\r\n", "\n").strip()
    points = read_form_points(text)
    is_decided = bool(items) or points is not None or f"{name}.none" in form
    if not is_decided:
        if not comment:
            return None
        fault = ErrorDetail("items", "review.empty", f"{task.title}: choose items or enter points.")
        raise MalformedRequest.of(fault)
    return ReviewDecision(name, items, points, comment, form.get(f"{name}.version", ""))
