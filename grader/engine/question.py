"""A question as the engine sees it: what is drawn, what is computed, what is claimed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from functools import cached_property

from grader.engine.draws import Draw
from grader.engine.keysets import KeySets
from grader.formula.tree import (
    Add,
    Call,
    Member,
    Multiply,
    Name,
    Node,
    Product,
    UnitVector,
    has_bound_index,
    names_in,
    walk,
)
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
class Measured:
    """A claim about what the answer does: a measure with levels, the best credit first."""

    id: str
    title: str
    points: Decimal
    measure: Node
    levels: tuple[Level, ...]
    needs: str | None = None


@dataclass(frozen=True, slots=True)
class Predicted:
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
class Chosen:
    """A choice that must be the right one."""

    id: str
    title: str
    points: Decimal
    correct: frozenset[str]
    needs: str | None = None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Text or a file that a person grades."""

    id: str
    title: str
    points: Decimal
    needs: str | None = None


@dataclass(frozen=True, slots=True)
class Outside:
    """A score that comes from elsewhere."""

    id: str
    title: str
    points: Decimal
    needs: str | None = None


Criterion = Measured | Predicted | Chosen | Reviewed | Outside


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
class Uses:
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


@dataclass(frozen=True)
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
    uses: Uses | None = None
    plots: tuple[Plot, ...] = ()
    fresh_variants: int = 8
    _plans: dict[tuple[int, ...], Plan] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def criterion(self, wanted: str) -> Criterion:
        """The criterion of this id; KeyError where there is none."""
        for criterion in self.criteria:
            if criterion.id == wanted:
                return criterion
        raise KeyError(wanted)

    @cached_property
    def saturating(self) -> frozenset[str]:
        """The fields whose arrays pass through a softmax only, on the way to all criteria."""
        roots = self._roots(*(each for each in self.criteria if isinstance(each, Measured)))
        outside = {name for root in roots for name in _names_outside_softmax(root)}
        inside = {name for root in roots for name in names_in(root)}
        return frozenset(field.name for field in self.fields) & inside - outside

    def fields_read_by(self, criterion: Measured) -> frozenset[str]:
        """The fields that a criterion's measure depends on."""
        names = {name for root in self._roots(criterion) for name in names_in(root)}
        return frozenset(field.name for field in self.fields) & names

    def _roots(self, *criteria: Measured) -> list[Node]:
        """Everything that is computed for some criteria."""
        measures = [criterion.measure for criterion in criteria]
        return [*(node for _, node in self.plan(measures).steps), *measures]

    def plan(self, nodes: Sequence[Node]) -> Plan:
        """What must be sampled and computed before these nodes can be; made once and kept."""
        # A plan keeps its nodes, so that their identities cannot pass to others.
        known = tuple(id(node) for node in nodes)
        if known not in self._plans:
            self._plans[known] = _make_plan(self, nodes)
        return self._plans[known]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The way to some nodes' values.

    `samples` are the key sets' quantities that are needed; `products` those products of keys with
    unsampled vectors that can be taken for many answers at once; `fixed` what depends on the
    variant alone; `steps` are the quantities to compute, in order, and `read_once` those of them
    that are read in one place only.
    """

    nodes: tuple[Node, ...]
    samples: frozenset[str]
    steps: tuple[tuple[str, Node], ...]
    products: tuple[Multiply, ...]
    fixed: tuple[Node, ...]
    read_once: frozenset[str]


def _make_plan(question: Question, nodes: Sequence[Node]) -> Plan:
    wanted = set().union(*(names_in(node) for node in nodes)) if nodes else set()
    steps = []
    for name, node in reversed(list(question.compute.items())):
        if name in wanted:
            steps.append((name, node))
            wanted |= names_in(node)
    roots = [*(node for _, node in steps), *nodes]
    drawn = frozenset(name for draw in question.draws for name in draw.names)
    fixed = tuple(each for root in roots for each in _fixed_parts(root, drawn))
    read = Counter(
        each.name for root in roots for each in walk(root) if isinstance(each, Name)
    ) + Counter(
        each.family.source for root in roots for each in walk(root) if isinstance(each, Member)
    )
    # Only what is computed anew each time may be overwritten, not what is kept with the variant.
    once = frozenset(
        name
        for name, node in steps
        if read[name] == 1 and isinstance(node, Multiply | Add) and not names_in(node) <= drawn
    )
    key_sets = question.key_sets
    if key_sets is None:
        return Plan(tuple(nodes), frozenset(), tuple(steps[::-1]), (), fixed, once)
    if key_sets.keep is not None and wanted & {*key_sets.rules, "left_out"}:
        wanted |= names_in(key_sets.keep)
    products = tuple(
        each
        for root in roots
        for each in walk(root)
        if isinstance(each, Multiply) and _is_early(question, each)
    )
    samples = frozenset(wanted & set(key_sets.rules))
    return Plan(tuple(nodes), samples, tuple(steps[::-1]), products, fixed, once)


def _names_outside_softmax(node: Node) -> Iterator[str]:
    match node:
        case Call(name="softmax"):
            return
        case Name(name=name):
            yield name
    for child in node.children():
        yield from _names_outside_softmax(child)


def _fixed_parts(node: Node, drawn: frozenset[str]) -> Iterator[Node]:
    """The largest parts of a tree that depend on the variant alone and are worth keeping."""
    if names_in(node) <= drawn and not has_bound_index(node):
        if any(True for _ in node.children()) or isinstance(node, UnitVector):
            yield node
        return
    for child in node.children():
        yield from _fixed_parts(child, drawn)


def _is_early(question: Question, node: Multiply) -> bool:
    """Whether a product is one of sampled keys with something that no key set changes."""
    match node:
        case Multiply(left=Name(name=name), product=Product.MATRIX_COLUMN):
            assert question.key_sets is not None, "the caller looked"
            known = {*question.key_sets.rules, *question.compute}
            return name in question.key_sets.rules and not names_in(node.right) & known
        case _:
            return False
