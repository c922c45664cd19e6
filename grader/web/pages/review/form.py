"""The form of a review: what stands in it, and what was sent with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from grader.errors import ErrorDetail, MalformedRequest
from grader.feedback.report import CriterionReport
from grader.grading.reviews.review import ReviewTask, format_review_version
from grader.grading.reviews.save import ReviewDecision
from grader.web.pages.format import format_points

#: The keys of items in their order; c, n, p and s do something else.
_ITEM_KEYS = "123456789abdefghijklmoqrtuvwxyz"


@dataclass(frozen=True, slots=True)
class _FormItem:
    """An item of the rubric, with the key that toggles it where there is one left."""

    name: str
    key: str
    text: str
    points: Decimal
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class CriterionReviewForm:
    """The form of one criterion, with what was stored or what somebody has just typed."""

    part: ReviewTask
    items: tuple[_FormItem, ...]
    is_none: bool
    points: str
    comment: str
    version: str
    comments: tuple[str, ...]
    judged: CriterionReport | None
    """How it came out by itself, where the engine was not sure."""
    is_contested: bool
    """Whether somebody else's review stands where something else was typed."""

    @property
    def name(self) -> str:
        """What its fields begin with."""
        return self.part.criterion

    @property
    def worth(self) -> Decimal | None:
        """What is chosen comes to; None while nothing is."""
        if self.points.strip():
            try:
                return _read_points(self.points)
            except MalformedRequest:
                return None
        chosen = [each.points for each in self.items if each.is_chosen]
        return sum(chosen, Decimal(0)) if chosen or self.is_none else None


def build_review_forms(
    parts: Sequence[ReviewTask],
    *,
    comments: Mapping[str, Iterable[str]],
    judged: Mapping[str, CriterionReport],
    sent: Mapping[str, str] | None = None,
) -> list[CriterionReviewForm]:
    """The forms of all criteria: as they are stored, or as they were sent and not saved."""
    keys = iter(_ITEM_KEYS)
    forms = []
    for part in parts:
        values = _stored_fields(part) if sent is None else sent
        said = values.get(f"{part.criterion}.version", "r0")
        forms.append(
            CriterionReviewForm(
                part=part,
                items=tuple(
                    _FormItem(
                        name=(name := f"{part.criterion}.item.{place}"),
                        key=next(keys, ""),
                        text=item.text,
                        points=item.points,
                        is_chosen=name in values,
                    )
                    for place, item in enumerate(part.items)
                ),
                is_none=f"{part.criterion}.none" in values,
                points=values.get(f"{part.criterion}.points", ""),
                comment=values.get(f"{part.criterion}.comment", ""),
                # Whoever has seen somebody else's review may put another in its place.
                version=format_review_version(part.review),
                comments=tuple(comments.get(part.criterion, ())),
                judged=judged.get(part.criterion),
                is_contested=sent is not None and said != format_review_version(part.review),
            )
        )
    return forms


def _stored_fields(part: ReviewTask) -> dict[str, str]:
    """The fields as they would have been sent for the review that holds."""
    name, review = part.criterion, part.review
    values = {f"{name}.version": format_review_version(review)}
    if review is None:
        return values
    chosen = [each for each in review.items if each < len(part.items)]
    values |= {f"{name}.item.{each}": "on" for each in chosen}
    values[f"{name}.comment"] = review.comment
    if review.points != sum((part.items[each].points for each in chosen), Decimal(0)):
        values[f"{name}.points"] = format_points(review.points)
    elif not chosen and part.items:
        values[f"{name}.none"] = "on"
    elif not part.items:
        values[f"{name}.points"] = format_points(review.points)
    return values


def read_decisions(form: Mapping[str, str], parts: Sequence[ReviewTask]) -> list[ReviewDecision]:
    """What was decided; a criterion of which nothing is said is left for later.

    Raises
    ------
    MalformedRequest
        Where points are no number, or a comment comes without any points.
    """
    found = (_read_decision(form, each) for each in parts)
    return [each for each in found if each is not None]


def _read_decision(form: Mapping[str, str], part: ReviewTask) -> ReviewDecision | None:
    name = part.criterion
    items = tuple(place for place in range(len(part.items)) if f"{name}.item.{place}" in form)
    text = form.get(f"{name}.points", "")
    # Browsers send the ends of lines as two characters.
    comment = form.get(f"{name}.comment", "").replace("\r\n", "\n").strip()
    points = _read_points(text) if text.strip() else None
    is_decided = bool(items) or points is not None or f"{name}.none" in form
    if not is_decided:
        if not comment:
            return None
        says = f"{part.title}: say which items are met, or give points."
        raise MalformedRequest.of(ErrorDetail("items", "review.empty", says))
    return ReviewDecision(name, items, points, comment, form.get(f"{name}.version", ""))


def _read_points(text: str) -> Decimal:
    try:
        points = Decimal(text.strip().replace(",", "."))
        if points.is_finite() and points == points.quantize(Decimal("0.01")):
            return points
    except InvalidOperation:
        pass
    says = "Points are a number with two decimals at most, such as 7.5."
    raise MalformedRequest.of(ErrorDetail("points", "points.range", says))
