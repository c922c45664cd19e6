"""Sums over an index, typed: how far they go and which terms are left out."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from grader.domain.shapes import Kind
from grader.errors import FormulaError
from grader.formula.errors import make_error
from grader.formula.syntax.sum_header import SumHeader
from grader.formula.typed import tree as t
from grader.formula.typed.calls import MAX_SIZE
from grader.formula.typed.scope import Family, FormulaScope


def read_position(label: str, family: Family, bound: Set[str], span: t.Span) -> t.Position:
    """The position that a subscript names.

    Parameters
    ----------
    bound
        The indices of the sums around the place.
    """
    if label in bound:
        return t.BoundIndex(label)
    if label in family.labels:
        return family.labels[label]
    if not label.isdecimal():
        raise make_error(
            f"The index {label} is used outside its sum.", span, code="formula.subscript"
        )
    if not family.numbered:
        raise make_error(f"There is no member {label[:20]} here.", span, code="formula.subscript")
    if not 1 <= int(label) <= family.count:
        raise make_error(
            f"There is no member {label[:20]}: they are numbered from 1 to {family.count}.",
            span,
            code="formula.subscript",
        )
    return int(label) - 1


def build_series(
    header: SumHeader, sign: t.Span, body: t.Node, *, scope: FormulaScope, outer: Set[str]
) -> t.Node:
    """The sum of `body` over the index of `header`; `outer` are the indices of sums around it."""
    return _SeriesBuilder(header, sign, scope, outer).make(body)


@dataclass(frozen=True, slots=True)
class _SeriesBuilder:
    header: SumHeader
    sign: t.Span
    scope: FormulaScope
    outer: Set[str]

    def make(self, body: t.Node) -> t.Node:
        header = self.header
        families = [
            each.family
            for each in t.list_nodes(body)
            if isinstance(each, t.FamilyMember) and each.position == t.BoundIndex(header.bound)
        ]
        first, last = self._range({family.count for family in families})
        excluded = self._places(header.excluded, families)
        included = self._places(header.included or (), families)
        return t.Series(
            shape=body.shape,
            span=t.join_spans(self.sign, body.span),
            bound=header.bound,
            first=first - 1,
            last=last - 1,
            excluded=excluded,
            included=None if header.included is None else included,
            labels=(*header.excluded, *(header.included or ())),
            body=body,
        )

    def _range(self, counts: set[int]) -> tuple[int, int]:
        header = self.header
        if not header.last and len(counts) != 1:
            raise self._fault(
                f"Nothing in this sum tells how far {header.bound} goes.",
                rf"Write \sum_{{{header.bound}=1}}^n.",
            )
        first = self._bound_value(header.first) if header.first else 1
        last = self._bound_value(header.last) if header.last else next(iter(counts))
        if not 1 <= first <= last <= min(counts, default=MAX_SIZE):
            raise self._fault(f"This sum goes from {first} to {last}, which is not possible here.")
        return first, last

    def _bound_value(self, text: str) -> int:
        name = text.strip("{} ")
        shape = self.scope.shapes.get(name)
        if shape is not None and shape.kind is Kind.MATRIX:
            # Papers call a basis S and the number of its vectors S, too.
            return shape.columns
        value = self.scope.constants.get(name)
        if name.isascii() and name.isdigit() and len(name) < 10:
            value = float(name)
        if value is None or value != int(value):
            raise self._fault(f"{text[:20]!r} is no bound known here.")
        return int(value)

    def _places(self, labels: tuple[str, ...], families: list[Family]) -> tuple[t.Position, ...]:
        if labels and not families:
            raise self._fault("Nothing in this sum has the index as its subscript.")
        return tuple(self._place(label, families) for label in labels)

    def _place(self, label: str, families: list[Family]) -> t.Position:
        if not (label.isdecimal() or label in self.outer or label in families[0].labels):
            raise self._fault(f"{label[:20]} is no index here.")
        places = {read_position(label, family, self.outer, self.sign) for family in families}
        if len(places) > 1:
            raise self._fault(f"{label[:20]} is not the same index for all members of this sum.")
        return places.pop()

    def _fault(self, message: str, hint: str = "") -> FormulaError:
        return make_error(message, self.sign, code="formula.sum", hint=hint)
