"""Where answers are judged, and how many of them at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grader.engine.question import Question
from grader.engine.random.keysets import GRADING, Source
from grader.engine.random.noise import NoiseBank
from grader.formula.eval.evaluate import Environment

#: Bounds are kept with this relative slack, so that the last bits of a matrix product, which
#: differ between machines and batch sizes, never decide.
SLACK = 1e-9

# So many numbers are worked on at a time: more would leave the cache, fewer would waste calls.
_NUMBERS_AT_ONCE = 1 << 19


@dataclass(frozen=True, slots=True)
class Ground:
    """Where answers are judged: the question's key and the noise."""

    key: bytes
    bank: NoiseBank
    purpose: str = GRADING

    def source(self, first: int, last: int) -> Source:
        """A stretch of key sets."""
        return Source(self.bank, self.key, self.purpose, first, last)


def count_answers(environment: Environment) -> int:
    """How many answers an environment holds."""
    lengths = [len(value) for value in environment.values.values() if isinstance(value, np.ndarray)]
    return max(lengths, default=1)


def cut_into_parts(question: Question, *, answers: int, key_sets: int) -> list[slice]:
    """Cut answers into parts whose arrays stay within the cache."""
    at_once = max(1, _NUMBERS_AT_ONCE // (key_sets * _width(question)))
    return [slice(start, start + at_once) for start in range(0, answers, at_once)]


def _width(question: Question) -> int:
    """How many numbers a key set holds for one answer, at the most."""
    return max((node.shape.size for node in question.compute.values()), default=1)


def figure(value: float) -> float:
    """A number to nine digits: as many as are the same on every machine.

    What is left of a zero after rounding errors is not: it counts as zero.
    """
    return float(f"{value:.9g}") if abs(value) >= 1e-12 else 0.0
