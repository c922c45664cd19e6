"""Wrong answers in numbers tried on the variants of other students, and on those of nobody.

Every student has own numbers. An answer that fails there and solves somebody else's variant may
have been copied; how often that happens by accident is found out on variants that belong to nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge
from grader.engine.judge.prefilter import Prefilter
from grader.engine.random.streams import open_stream
from grader.engine.random.variants import Variant, draw_variants, select_variant, stack_variants
from grader.formula.eval.evaluate import Environment
from grader.formula.formula import Formula
from grader.formula.typed.tree import Stack, collect_names, list_nodes
from grader.grading.integrity.coincidence import CoincidenceRate
from grader.reading.answer import Answer, Numbers

#: Called with how many attempts and how many pairs were done since; it may raise to end the work.
SearchCallback = Callable[[int, int], None]

# So many answers are sifted before what is left of them is judged together.
_BATCH_SIZE = 32
_FIRST_BATCH, _LARGEST_BATCH = 512, 8192
# To see that a made-up student's variant is solved, one of these must be.
_MAX_CONTROLS = 8


@dataclass(frozen=True, slots=True)
class Suspect:
    """An attempt that fails its own variant; `owner` is the student's enrolment."""

    attempt_id: str
    owner: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Finding:
    """An attempt with the students whose variants it solves, and how probable that is."""

    suspect: Suspect
    solved: tuple[str, ...]
    chance: CoincidenceRate


@dataclass(slots=True)
class SearchResult:
    """What came out: findings, and how many answers solve a variant of as many made-up students."""

    findings: list[Finding] = field(default_factory=list)
    by_accident: int = 0


def has_numbers(answer: Answer) -> bool:
    """Whether an answer holds numbers of its own, also as a formula of nothing but numbers."""
    return any(_is_numbers(value) for value in answer.values.values())


def _is_numbers(value: object) -> bool:
    if isinstance(value, Formula):
        has_list = any(isinstance(each, Stack) for each in list_nodes(value.tree))
        return has_list and not collect_names(value.tree) - set(value.large)
    return isinstance(value, Numbers)


def has_same_numbers(one: Answer, other: Answer) -> bool:
    """Whether two answers hold the same numbers, to four digits."""
    pairs = [
        (value.array, match.array)
        for name, value in one.values.items()
        if isinstance(value, Numbers) and isinstance(match := other.values.get(name), Numbers)
    ]
    return bool(pairs) and all(
        first.shape == second.shape
        and np.allclose(first, second, rtol=1e-4, atol=1e-6 * float(np.abs(first).max(initial=0)))
        for first, second in pairs
    )


def search_copied_answers(
    judge: Judge,
    suspects: Sequence[Suspect],
    variants: Mapping[str, Variant],
    *,
    report: SearchCallback,
) -> SearchResult:
    """Try every suspect on the variants of all others, which are given by enrolment."""
    result = SearchResult()
    if not suspects or not variants:
        report(len(suspects), 0)
        return result
    tester = _Tester(judge)
    generator = open_stream(tester.key, "chance")
    owners = list(variants)
    shown = tester.sieve.prepare(stack_variants(list(variants.values())))
    made_up = tester.draw(generator, len(owners) - 1)
    solved: list[tuple[Suspect, tuple[str, ...]]] = []
    for start in range(0, len(suspects), _BATCH_SIZE):
        some = suspects[start : start + _BATCH_SIZE]
        solved += tester.try_others(some, shown, owners, variants)
        result.by_accident += tester.count_accidents(some, made_up, len(owners) - 1)
        report(len(some), len(some) * len(owners))
    found = [(suspect, others) for suspect, others in solved if others]
    chances = tester.estimate([each for each, _ in found], owners, generator, report)
    for (suspect, others), chance in zip(found, chances, strict=True):
        result.findings.append(Finding(suspect, others, chance))
    return result


def _count_tries(others: int) -> int:
    """How many variants of nobody are tried: the more students, the smaller a chance matters."""
    return max(min(2000 * others, 200_000), 20_000, 100 * others)


@dataclass(slots=True)
class _Tester:
    judge: Judge
    sieve: Prefilter = field(init=False)

    def __post_init__(self) -> None:
        self.sieve = Prefilter.of(self.judge)

    @property
    def key(self) -> bytes:
        question = self.judge.question
        return self.judge.keys.of(question.id, question.revision)

    def draw(self, generator: np.random.Generator, count: int) -> Environment:
        """Variants that belong to nobody."""
        # Side by side stand at least two, so that nothing is taken to be the same for all.
        crowd = draw_variants(self.judge.question.draws, generator, max(count, 2))
        return self.sieve.prepare(crowd)

    def try_others(
        self,
        suspects: Sequence[Suspect],
        shown: Environment,
        owners: Sequence[str],
        variants: Mapping[str, Variant],
    ) -> list[tuple[Suspect, tuple[str, ...]]]:
        """For each suspect the students whose variants it solves."""
        maybe = [
            [
                owners[row]
                for row in np.flatnonzero(self.sieve.sift(each.answer, shown)).tolist()
                if owners[row] != each.owner
            ]
            for each in suspects
        ]
        solves = self._judge(
            Submission(variants[other], suspect.answer)
            for suspect, others in zip(suspects, maybe, strict=True)
            for other in others
        )
        return [
            (suspect, tuple(other for other in others if next(solves)))
            for suspect, others in zip(suspects, maybe, strict=True)
        ]

    def count_accidents(
        self, suspects: Sequence[Suspect], made_up: Environment, others: int
    ) -> int:
        """How many suspects solve the variant of at least one of so many students of no course."""
        tried = [
            [
                Submission(select_variant(made_up, row, name="chance/control"), each.answer)
                for row in np.flatnonzero(self.sieve.sift(each.answer, made_up)[:others])[
                    :_MAX_CONTROLS
                ].tolist()
            ]
            for each in suspects
        ]
        solves = self._judge(each for line in tried for each in line)
        return sum(True in list(islice(solves, len(line))) for line in tried)

    def estimate(
        self,
        suspects: Sequence[Suspect],
        owners: Sequence[str],
        generator: np.random.Generator,
        report: SearchCallback,
    ) -> list[CoincidenceRate]:
        """How probable it is for each suspect to solve somebody's variant by accident."""
        hits, tried = [0] * len(suspects), [0] * len(suspects)
        open_places, drawn = list(range(len(suspects))), 0
        most = _count_tries(len(owners) - 1)
        while open_places and drawn < most:
            block = min(max(drawn, _FIRST_BATCH), _LARGEST_BATCH)
            crowd = self.draw(generator, block)
            for place in open_places:
                hits[place] += self._count_hits(suspects[place], crowd)
                tried[place] += block
                report(0, 0)
            drawn += block
            open_places = [
                each
                for each in open_places
                if not CoincidenceRate(hits[each], tried[each], len(owners) - 1).is_known
            ]
        # The student's own variant is no other's, where it is among those that were shown.
        shown = set(owners)
        return [
            CoincidenceRate(hits[place], tried[place], len(owners) - (suspect.owner in shown))
            for place, suspect in enumerate(suspects)
        ]

    def _count_hits(self, suspect: Suspect, crowd: Environment) -> int:
        rows = np.flatnonzero(self.sieve.sift(suspect.answer, crowd)).tolist()
        return sum(
            self._judge(
                Submission(select_variant(crowd, row, name="chance"), suspect.answer)
                for row in rows
            )
        )

    def _judge(self, submissions: Iterator[Submission]) -> Iterator[bool]:
        """Whether each of them earns everything that needs no person."""
        listed = list(submissions)
        judged = self.judge.judge(listed, recognising=False) if listed else []
        return iter([each.is_solved for each in judged])
