"""Plans: what must be sampled and computed before some nodes can be, made once and kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.engine.question import MeasuredCriterion, PredictedCriterion, Question
from grader.engine.random.keysets import GaussianKeys, KeySets
from grader.engine.sample.distances import reduce_distances
from grader.engine.sample.readings import Reading, find_reading
from grader.formula.typed.tree import (
    Add,
    FamilyMember,
    FunctionCall,
    Multiply,
    Name,
    Node,
    Series,
    UnitVector,
    collect_names,
    has_bound_index,
)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The way to some nodes' values.

    `nodes` are those that were asked for, and `results` what is computed in their place, which
    gives the same. `samples` are the key sets' quantities that are needed; `fixed` what depends on
    the variant alone; `steps` are the quantities to compute, in order, and `read_once` those of
    them that are read in one place only. `readings` stand in for the steps of their names. `width`
    is the size of the largest other step: how many numbers a key set holds for one answer.
    """

    nodes: tuple[Node, ...]
    results: tuple[Node, ...]
    samples: frozenset[str]
    steps: tuple[tuple[str, Node], ...]
    fixed: tuple[Node, ...]
    read_once: frozenset[str]
    readings: Mapping[str, Reading]
    width: int


def _make_plan(question: Question, nodes: Sequence[Node]) -> Plan:
    drawn = frozenset(name for draw in question.draws for name in draw.names)
    steps = _list_steps(question, nodes)
    wanted = _collect_all_names([*steps.values(), *nodes])
    once = _find_read_once(steps, nodes, drawn)
    results = list(nodes)
    # On a single key set it would cost more to prepare than it saves.
    if question.key_sets is not None:
        results = [
            reduce_distances(node, steps, once, lambda part: _is_fixed(part, drawn))
            for node in nodes
        ]
        # What was moved to where it is read is no step any more.
        read = _collect_all_names([*steps.values(), *results])
        steps = {name: node for name, node in steps.items() if name in read}
    roots = [*steps.values(), *results]
    key_sets = question.key_sets
    samples: frozenset[str] = frozenset()
    if key_sets is not None:
        if key_sets.keep is not None and wanted & {*key_sets.rules, "left_out"}:
            wanted |= collect_names(key_sets.keep)
        samples = frozenset(wanted & set(key_sets.rules))
    readings = _find_readings(key_sets, steps, results) if key_sets is not None else {}
    fixed = [each for root in roots for each in _fixed_parts(root, drawn)]
    return Plan(
        nodes=tuple(nodes),
        results=tuple(results),
        samples=samples,
        steps=tuple(steps.items()),
        fixed=(*fixed, *(each.effects for each in readings.values())),
        read_once=once,
        readings=readings,
        width=max(
            (node.shape.size for name, node in steps.items() if name not in readings), default=1
        ),
    )


def _list_steps(question: Question, nodes: Sequence[Node]) -> dict[str, Node]:
    """What must be computed before some nodes can be, in order."""
    wanted = _collect_all_names(nodes)
    steps = []
    for name, node in reversed(list(question.compute.items())):
        if name in wanted:
            steps.append((name, node))
            wanted |= collect_names(node)
    return dict(reversed(steps))


def _collect_all_names(nodes: Iterable[Node]) -> set[str]:
    return {name for node in nodes for name in collect_names(node)}


def _find_read_once(
    steps: Mapping[str, Node], nodes: Sequence[Node], drawn: frozenset[str]
) -> frozenset[str]:
    """The steps whose value may be overwritten by the only one that reads it."""
    read = Counter(name for root in (*steps.values(), *nodes) for name in _list_reads(root))
    # Only what is computed anew each time may be overwritten, not what is kept with the variant.
    return frozenset(
        name
        for name, node in steps.items()
        if read[name] == 1 and isinstance(node, Multiply | Add) and not collect_names(node) <= drawn
    )


def _find_readings(
    key_sets: KeySets, steps: Mapping[str, Node], results: Sequence[Node]
) -> dict[str, Reading]:
    """By name, the weights of sampled keys that nothing but distances reads."""
    read = Counter(name for root in (*steps.values(), *results) for name in _list_reads(root))
    found = {name: find_reading(name, node, results) for name, node in steps.items()}
    return {
        name: reading
        for name, reading in found.items()
        if reading is not None
        and read[name] == len(reading.nodes)
        and isinstance(rule := key_sets.rules.get(reading.keys), GaussianKeys)
        and rule.stretch is None
    }


def _list_reads(node: Node) -> Iterator[str]:
    """The names that a tree reads, as often as it reads them."""
    match node:
        case Name(name=name):
            yield name
        case FamilyMember(family=family):
            yield family.source
    for child in node.children():
        # The body of a sum is computed for every term.
        for _ in range(2 if isinstance(node, Series) else 1):
            yield from _list_reads(child)


def _names_outside_softmax(node: Node) -> Iterator[str]:
    match node:
        case FunctionCall(name="softmax"):
            return
        case Name(name=name):
            yield name
    for child in node.children():
        yield from _names_outside_softmax(child)


def _is_fixed(node: Node, drawn: frozenset[str]) -> bool:
    """Whether a part of a tree depends on the variant alone."""
    return collect_names(node) <= drawn and not has_bound_index(node)


def _fixed_parts(node: Node, drawn: frozenset[str]) -> Iterator[Node]:
    """The largest parts of a tree that depend on the variant alone and are worth keeping."""
    if _is_fixed(node, drawn):
        if any(True for _ in node.children()) or isinstance(node, UnitVector):
            yield node
        return
    for child in node.children():
        yield from _fixed_parts(child, drawn)


def plan_for(question: Question, nodes: Sequence[Node]) -> Plan:
    """The way to some nodes' values."""
    # A plan keeps its nodes, so that their identities cannot pass to others.
    wanted = tuple(map(id, nodes))
    plan = question.known.get(wanted)
    if not isinstance(plan, Plan):
        plan = question.known[wanted] = _make_plan(question, nodes)
    return plan


def is_sampled(question: Question, node: Node) -> bool:
    """Whether a quantity depends on key sets; otherwise it is a closed form."""
    plan = plan_for(question, [node])
    names = {
        name for root in (*(step for _, step in plan.steps), node) for name in collect_names(root)
    }
    return bool(plan.samples) or "left_out" in names


def list_saturating_fields(question: Question) -> frozenset[str]:
    """The fields whose arrays pass through a softmax only, on the way to all criteria."""
    found = question.known.get("saturating")
    if not isinstance(found, frozenset):
        roots = _roots(question, question.measured)
        outside = {name for root in roots for name in _names_outside_softmax(root)}
        inside = {name for root in roots for name in collect_names(root)}
        found = frozenset(field.name for field in question.fields) & inside - outside
        question.known["saturating"] = found
    return found


def find_inputs(
    question: Question, criterion: MeasuredCriterion | PredictedCriterion
) -> frozenset[str]:
    """What a criterion depends on: fields of the answer, and fields of the earlier answer used."""
    found = question.known.get(("inputs", criterion.id))
    if not isinstance(found, frozenset):
        names = {name for root in _roots(question, [criterion]) for name in collect_names(root)}
        key_sets = question.key_sets
        if key_sets is not None and names & {*key_sets.rules, *key_sets.numbers}:
            names |= {each for node in key_sets.numbers.values() for each in collect_names(node)}
        if isinstance(criterion, PredictedCriterion):
            names.add(criterion.id)
        used = question.uses.reference if question.uses else ()
        found = frozenset(names & {*(field.name for field in question.fields), *used})
        question.known["inputs", criterion.id] = found
    return found


def _roots(
    question: Question, criteria: Sequence[MeasuredCriterion | PredictedCriterion]
) -> list[Node]:
    """Everything that is computed for some criteria."""
    nodes = [
        each.measure if isinstance(each, MeasuredCriterion) else each.expected for each in criteria
    ]
    return [*(node for _, node in plan_for(question, nodes).steps), *nodes]
