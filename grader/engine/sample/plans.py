"""Plans: what must be sampled and computed before some nodes can be, made once and kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.engine.question import MeasuredCriterion, PredictedCriterion, Question
from grader.formula.typed.tree import (
    Add,
    FamilyMember,
    FunctionCall,
    Multiply,
    Name,
    Node,
    Product,
    UnitVector,
    collect_names,
    has_bound_index,
    list_nodes,
)


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
    wanted = set().union(*(collect_names(node) for node in nodes)) if nodes else set()
    steps = []
    for name, node in reversed(list(question.compute.items())):
        if name in wanted:
            steps.append((name, node))
            wanted |= collect_names(node)
    roots = [*(node for _, node in steps), *nodes]
    drawn = frozenset(name for draw in question.draws for name in draw.names)
    fixed = tuple(each for root in roots for each in _fixed_parts(root, drawn))
    read = Counter(
        each.name for root in roots for each in list_nodes(root) if isinstance(each, Name)
    ) + Counter(
        each.family.source
        for root in roots
        for each in list_nodes(root)
        if isinstance(each, FamilyMember)
    )
    # Only what is computed anew each time may be overwritten, not what is kept with the variant.
    once = frozenset(
        name
        for name, node in steps
        if read[name] == 1 and isinstance(node, Multiply | Add) and not collect_names(node) <= drawn
    )
    key_sets = question.key_sets
    if key_sets is None:
        return Plan(tuple(nodes), frozenset(), tuple(steps[::-1]), (), fixed, once)
    if key_sets.keep is not None and wanted & {*key_sets.rules, "left_out"}:
        wanted |= collect_names(key_sets.keep)
    products = tuple(
        each
        for root in roots
        for each in list_nodes(root)
        if isinstance(each, Multiply) and _is_early(question, each)
    )
    samples = frozenset(wanted & set(key_sets.rules))
    return Plan(tuple(nodes), samples, tuple(steps[::-1]), products, fixed, once)


def _names_outside_softmax(node: Node) -> Iterator[str]:
    match node:
        case FunctionCall(name="softmax"):
            return
        case Name(name=name):
            yield name
    for child in node.children():
        yield from _names_outside_softmax(child)


def _fixed_parts(node: Node, drawn: frozenset[str]) -> Iterator[Node]:
    """The largest parts of a tree that depend on the variant alone and are worth keeping."""
    if collect_names(node) <= drawn and not has_bound_index(node):
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
            return name in question.key_sets.rules and not collect_names(node.right) & known
        case _:
            return False


def plan_for(question: Question, nodes: Sequence[Node]) -> Plan:
    """The way to some nodes' values."""
    # A plan keeps its nodes, so that their identities cannot pass to others.
    wanted = tuple(id(node) for node in nodes)
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
        measured = [each for each in question.criteria if isinstance(each, MeasuredCriterion)]
        roots = _roots(question, measured)
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
