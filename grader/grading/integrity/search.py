"""Trying wrong numeric answers on the variants of other students and on random variants.

Every student has their own numbers. An answer that fails its own variant and solves another
student's may have been copied. Random variants that belong to nobody estimate the false-positive
rate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge
from grader.engine.judge.prefilter import Prefilter
from grader.engine.random.streams import open_stream
from grader.engine.random.variants import Variant, draw_variants, select_variant, stack_variants
from grader.formula.eval.evaluate import Environment
from grader.formula.formula import Formula
from grader.formula.typed.tree import Stack
from grader.grading.integrity.coincidence import CoincidenceRate
from grader.reading.answer import Answer, Numbers

#: Called with the attempts and pairs done since the last call; it may raise to end the search.
SearchCallback = Callable[[int, int], None]

# This many answers are filtered, and the remaining candidates judged together.
_BATCH_SIZE = 32
_FIRST_BATCH, _LARGEST_BATCH = 512, 8192
# At most this many candidates of an answer are judged against the control group.
_MAX_CONTROLS = 8


@dataclass(frozen=True, slots=True)
class Suspect:
    """An attempt that fails its own variant; `owner` is the student's enrolment."""

    attempt_id: str
    owner: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class Finding:
    """An attempt with the students whose variants it solves, and the accident rate."""

    suspect: Suspect
    solved: tuple[str, ...]
    chance: CoincidenceRate


@dataclass(slots=True)
class SearchResult:
    """The findings, and the false positives: answers that solve a variant of a control group.

    The control group has as many invented students as there are other students.
    """

    findings: list[Finding] = field(default_factory=list)
    by_accident: int = 0


def has_numbers(answer: Answer) -> bool:
    """Whether an answer has numbers of its own, also as a formula without names."""
    return any(_is_numbers(value) for value in answer.values.values())


def _is_numbers(value: object) -> bool:
    if isinstance(value, Formula):
        return not value.names and any(isinstance(each, Stack) for each in value.nodes())
    return isinstance(value, Numbers)


def has_same_numbers(one: Answer, other: Answer) -> bool:
    """Whether two answers have the same numbers, to four digits."""
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
    """Try every suspect on the variants of all others; `variants` are by enrolment."""
    result = SearchResult()
    if not suspects or not variants:
        report(len(suspects), 0)
        return result
    tester = _Tester(judge)
    generator = open_stream(tester.key, "chance")
    owners = list(variants)
    shown = tester.prefilter.prepare(stack_variants(list(variants.values())))
    control = tester.draw(generator, len(owners) - 1)
    solved: list[tuple[Suspect, tuple[str, ...]]] = []
    for start in range(0, len(suspects), _BATCH_SIZE):
        batch = suspects[start : start + _BATCH_SIZE]
        solved += tester.try_others(batch, shown, owners, variants)
        result.by_accident += tester.count_accidents(batch, control, len(owners) - 1)
        report(len(batch), len(batch) * len(owners))
    found = [(suspect, others) for suspect, others in solved if others]
    chances = tester.estimate([each for each, _ in found], owners, generator, report)
    result.findings = [
        Finding(suspect, others, chance)
        for (suspect, others), chance in zip(found, chances, strict=True)
    ]
    return result


def _count_tries(others: int) -> int:
    """How many random variants are tried: the more students, the smaller rates matter."""
    return max(min(2000 * others, 200_000), 20_000, 100 * others)


@dataclass(slots=True)
class _Tester:
    judge: Judge
    prefilter: Prefilter = field(init=False)

    def __post_init__(self) -> None:
        self.prefilter = Prefilter.of(self.judge)

    @property
    def key(self) -> bytes:
        question = self.judge.question
        return self.judge.keys.of(question.id, question.revision)

    def draw(self, generator: np.random.Generator, count: int) -> Environment:
        """Random variants that belong to nobody."""
        # At least two, or every value would be taken to be the same in all variants.
        variants = draw_variants(self.judge.question.draws, generator, max(count, 2))
        return self.prefilter.prepare(variants)

    def select(self, suspect: Suspect, variants: Environment) -> list[int]:
        """The rows of the variants that a suspect's answer may solve."""
        rows: list[int] = np.flatnonzero(self.prefilter.sift(suspect.answer, variants)).tolist()
        return rows

    def try_others(
        self,
        suspects: Sequence[Suspect],
        shown: Environment,
        owners: Sequence[str],
        variants: Mapping[str, Variant],
    ) -> list[tuple[Suspect, tuple[str, ...]]]:
        """For each suspect the students whose variants it solves."""
        candidates = [
            [owners[row] for row in self.select(each, shown) if owners[row] != each.owner]
            for each in suspects
        ]
        solves = self._judge(
            Submission(variants[other], suspect.answer)
            for suspect, others in zip(suspects, candidates, strict=True)
            for other in others
        )
        return [
            (suspect, tuple(other for other in others if next(solves)))
            for suspect, others in zip(suspects, candidates, strict=True)
        ]

    def count_accidents(
        self, suspects: Sequence[Suspect], control: Environment, others: int
    ) -> int:
        """How many suspects solve a variant of a control group of this size."""
        tried = [
            [
                Submission(select_variant(control, row, name="chance/control"), each.answer)
                for row in self.select(each, control)[:_MAX_CONTROLS]
                if row < others
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
        """The rate at which each suspect solves another's variant by accident."""
        others = len(owners) - 1
        rates = [CoincidenceRate(0, 0, others) for _ in suspects]
        unknown, drawn = list(range(len(suspects))), 0
        while unknown and drawn < _count_tries(others):
            count = min(max(drawn, _FIRST_BATCH), _LARGEST_BATCH)
            variants = self.draw(generator, count)
            for place in unknown:
                rate, hits = rates[place], self._count_hits(suspects[place], variants)
                rates[place] = CoincidenceRate(rate.hits + hits, rate.tried + count, others)
                report(0, 0)
            drawn += count
            unknown = [place for place in unknown if not rates[place].is_known]
        # A student's own variant, if it was shown, is not another's.
        shown = set(owners)
        return [
            replace(rate, others=len(owners) - (suspect.owner in shown))
            for rate, suspect in zip(rates, suspects, strict=True)
        ]

    def _count_hits(self, suspect: Suspect, variants: Environment) -> int:
        return sum(
            self._judge(
                Submission(select_variant(variants, row, name="chance"), suspect.answer)
                for row in self.select(suspect, variants)
            )
        )

    def _judge(self, submissions: Iterator[Submission]) -> Iterator[bool]:
        """Whether each earns everything that needs no person."""
        listed = list(submissions)
        judged = self.judge.judge(listed, recognising=False) if listed else []
        return iter([each.is_solved for each in judged])
