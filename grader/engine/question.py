"""A compiled question: its draws, computations, criteria, misconceptions and plots."""

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

    Exactly one of `within` and `at_least` is set, and is the `bound`. `share` is the share of key
    sets that must meet the bound; None if the question has no key sets.
    """

    credit: Decimal
    within: float | None = None
    at_least: float | None = None
    share: float | None = None
    bound: float = field(init=False)

    def __post_init__(self) -> None:
        bound = self.within if self.within is not None else self.at_least
        assert bound is not None, "a level has one of the two bounds"
        object.__setattr__(self, "bound", bound)


@dataclass(frozen=True, slots=True)
class _CriterionBase:
    """What all criteria have; `needs` names a criterion without whose credit this one is void."""

    id: str
    title: str
    points: Decimal
    needs: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class MeasuredCriterion(_CriterionBase):
    """A claim about what the answer does: a measure with levels, the best credit first.

    `in_words` is a sentence about the measure, with the placeholders {measured} and {needed}.
    """

    measure: Node
    levels: tuple[Level, ...]
    in_words: str = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class PredictedCriterion(_CriterionBase):
    """A predicted number, compared with what is measured or with a closed form.

    `in_words` names the number, such as "the variance of the output".
    """

    expected: Node
    tolerance: float
    in_words: str = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class ChoiceCriterion(_CriterionBase):
    """A choice among options."""

    correct: frozenset[str]


@dataclass(frozen=True, slots=True)
class ReviewedCriterion(_CriterionBase):
    """Text or a file that a person grades."""


@dataclass(frozen=True, slots=True)
class ExternalCriterion(_CriterionBase):
    """A score from another system."""


#: A criterion that is judged by what the answer does, or says of what an earlier one does.
SampledCriterion = MeasuredCriterion | PredictedCriterion
#: A criterion that is judged by what was sent alone.
DirectCriterion = ChoiceCriterion | ReviewedCriterion | ExternalCriterion

Criterion = SampledCriterion | DirectCriterion


@dataclass(frozen=True, slots=True)
class Misconception:
    """A known wrong idea, recognised by what the answer does.

    Parameters
    ----------
    say
        The message for the student; `{t}` is replaced by the first of `tries` that passes.
    when
        A condition that must hold on nearly all key sets, or None.
    passes
        A changed answer that would earn full credit by every criterion that depends on the changed
        fields, by field; empty if `when` decides.
    tries
        The values of `t` to try in the changed answer.
    numbers_only
        Whether it can be shown by answers that were sent as numbers only, not as formulas.
    about
        The criteria of which one must have been missed; empty for any.
    """

    id: str
    say: str
    when: Node | None = None
    passes: Mapping[str, Node] = field(default_factory=dict)
    tries: tuple[float, ...] = ()
    about: tuple[str, ...] = ()
    numbers_only: bool = False


@dataclass(frozen=True, slots=True)
class UsedQuestion:
    """An earlier question whose answer this one uses.

    The student's own answer is used if it earned full credit for `criterion`, else the reference.
    Where it is not saturated, a multiple of it up to `longest` may stand for it in predictions.
    `called` says what it is: "query" in "your query".
    """

    question: Question
    criterion: str
    reference: Mapping[str, Node]
    longest: float = 1.0
    called: str = "answer"


class PlotKind(Enum):
    """The kinds of pictures."""

    WEIGHTS = "weights"
    PLANE = "plane"
    COMPARE = "compare"


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture of what the answer does: its kind and its values.

    A plot that `reveals` the solution is shown only with full credit.
    """

    kind: PlotKind
    title: str
    values: tuple[Node, ...]
    labels: tuple[str, ...] = ()
    reveals: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A compiled question; one that uses an earlier question has the same draws.

    `given` names the quantities that the student sees.
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
    """A cache of what follows from the question, such as plans."""

    source: Question = field(init=False, repr=False, compare=False)
    """The question whose draws this one has: the earlier one that it builds on, or itself."""

    measured: tuple[MeasuredCriterion, ...] = field(init=False, repr=False, compare=False)
    predicted: tuple[PredictedCriterion, ...] = field(init=False, repr=False, compare=False)
    direct: tuple[DirectCriterion, ...] = field(init=False, repr=False, compare=False)
    """The criteria by how they are judged."""

    needs: Mapping[str, str] = field(init=False, repr=False, compare=False)
    """The criteria that are void without another's credit, each with that other."""

    def __post_init__(self) -> None:
        def choose(*kinds: type[Criterion]) -> tuple[Criterion, ...]:
            return tuple(each for each in self.criteria if isinstance(each, kinds))

        object.__setattr__(self, "source", self.uses.question if self.uses else self)
        needs = {each.id: each.needs for each in self.criteria if each.needs is not None}
        object.__setattr__(self, "needs", needs)
        object.__setattr__(self, "measured", choose(MeasuredCriterion))
        object.__setattr__(self, "predicted", choose(PredictedCriterion))
        object.__setattr__(
            self, "direct", choose(ChoiceCriterion, ReviewedCriterion, ExternalCriterion)
        )

    def criterion(self, criterion_id: str) -> Criterion:
        """The criterion with this id; KeyError if there is none."""
        return {each.id: each for each in self.criteria}[criterion_id]
