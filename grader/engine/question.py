"""A question as the engine sees it: what is drawn, what is computed, what is claimed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum

from grader.engine.random.draws import Draw
from grader.engine.random.keysets import KeySets
from grader.formula.typed.tree import Node
from grader.reading.fields import Field


@dataclass(frozen=True, slots=True)
class Level:
    """A tolerance with its credit.

    Exactly one of `within` and `at_least` is set. `share` is the share of key sets that must
    keep the bound; None where there is nothing to sample.
    """

    credit: Decimal
    within: float | None = None
    at_least: float | None = None
    share: float | None = None

    @property
    def bound(self) -> float:
        """The number that the measure is compared with."""
        bound = self.within if self.within is not None else self.at_least
        assert bound is not None, "a level has one of the two bounds"
        return bound


@dataclass(frozen=True, slots=True)
class MeasuredCriterion:
    """A claim about what the answer does: a measure with levels, the best credit first."""

    id: str
    title: str
    points: Decimal
    measure: Node
    levels: tuple[Level, ...]
    needs: str | None = None


@dataclass(frozen=True, slots=True)
class PredictedCriterion:
    """A number that must agree with what is measured.

    The earlier answer that is used is tried at each of the `scales`; an answer within the interval
    that the measured values span, give or take the tolerance, is right.
    """

    id: str
    title: str
    points: Decimal
    expected: Node
    tolerance: float
    scales: tuple[float, ...] = (1.0,)
    needs: str | None = None


@dataclass(frozen=True, slots=True)
class ChoiceCriterion:
    """A choice that must be the right one."""

    id: str
    title: str
    points: Decimal
    correct: frozenset[str]
    needs: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewedCriterion:
    """Text or a file that a person grades."""

    id: str
    title: str
    points: Decimal
    needs: str | None = None


@dataclass(frozen=True, slots=True)
class ExternalCriterion:
    """A score that comes from elsewhere."""

    id: str
    title: str
    points: Decimal
    needs: str | None = None


Criterion = (
    MeasuredCriterion | PredictedCriterion | ChoiceCriterion | ReviewedCriterion | ExternalCriterion
)


@dataclass(frozen=True, slots=True)
class Misconception:
    """A known wrong idea, recognised by what the answer does.

    Parameters
    ----------
    say
        What the student is told; `{t}` is replaced by the first factor of `tries` that passes.
    when
        A condition that holds on nearly all key sets, or None.
    passes
        A changed answer that would earn full credit, by field; empty where `when` decides.
    tries
        The values of `t` that the changed answer is tried with.
    about
        The criteria that must have been missed for it to matter; empty for any.
    """

    id: str
    say: str
    when: Node | None = None
    passes: Mapping[str, Node] = field(default_factory=dict)
    tries: tuple[float, ...] = ()
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UsedQuestion:
    """An earlier question whose answer is used here.

    `fields` are the names of the earlier answer's arrays. The student's own answer is used
    if it earned `criterion` in full, else the reference.
    """

    question: Question
    criterion: str
    reference: Mapping[str, Node]


class PlotKind(Enum):
    """The kinds of pictures."""

    WEIGHTS = "weights"
    PLANE = "plane"
    COMPARE = "compare"


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture of what the answer does: its kind and the values it shows.

    One that `reveals` what is asked for is shown only when all is right.
    """

    kind: PlotKind
    title: str
    values: tuple[Node, ...]
    labels: tuple[str, ...] = ()
    reveals: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question, compiled; a part that builds on an earlier one shares that one's draws.

    `given` names what the student is shown of them.
    """

    id: str
    revision: int
    draws: tuple[Draw, ...]
    given: tuple[str, ...]
    fields: tuple[Field, ...]
    criteria: tuple[Criterion, ...]
    compute: Mapping[str, Node] = field(default_factory=dict)
    key_sets: KeySets | None = None
    misconceptions: tuple[Misconception, ...] = ()
    uses: UsedQuestion | None = None
    plots: tuple[Plot, ...] = ()
    fresh_variants: int = 8
    known: dict[object, object] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What follows from the question and is worth keeping, such as plans."""

    @property
    def source(self) -> Question:
        """The question whose draws this one has: the earlier one that it builds on, or itself."""
        return self.uses.question if self.uses else self

    def criterion(self, wanted: str) -> Criterion:
        """The criterion of this id; KeyError where there is none."""
        for criterion in self.criteria:
            if criterion.id == wanted:
                return criterion
        raise KeyError(wanted)
