"""Where answers are judged, and how many of them at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grader.engine.question import Question
from grader.engine.random.keysets import GRADING, NoiseSource
from grader.engine.random.noise import NoiseBank
from grader.formula.eval.evaluate import Environment

#: Bounds are kept with this relative slack, so that the last bits of a matrix product, which
#: differ between machines and batch sizes, never decide.
SLACK = 1e-9

# So many numbers are worked on at a time: more would leave the cache, fewer would waste calls.
_MAX_BATCH_NUMBERS = 1 << 19


@dataclass(frozen=True, slots=True)
class SamplingContext:
    """Where answers are judged: the question's key and the noise."""

    key: bytes
    bank: NoiseBank
    purpose: str = GRADING

    def source(self, first: int, last: int) -> NoiseSource:
        """A stretch of key sets."""
        return NoiseSource(self.bank, self.key, self.purpose, first, last)


def count_answers(environment: Environment) -> int:
    """How many answers an environment holds."""
    lengths = [len(value) for value in environment.values.values() if isinstance(value, np.ndarray)]
    return max(lengths, default=1)


def split_into_batches(question: Question, *, answers: int, key_sets: int) -> list[slice]:
    """Cut answers into parts whose arrays stay within the cache."""
    at_once = max(1, _MAX_BATCH_NUMBERS // (key_sets * _count_numbers(question)))
    return [slice(start, start + at_once) for start in range(0, answers, at_once)]


def _count_numbers(question: Question) -> int:
    """How many numbers a key set holds for one answer, at the most."""
    return max((node.shape.size for node in question.compute.values()), default=1)


def to_nine_digits(value: float) -> float:
    """A number to nine digits: as many as are the same on every machine.

    What is left of a zero after rounding errors is not: it counts as zero.
    """
    return float(f"{value:.9g}") if abs(value) >= 1e-12 else 0.0
