"""Issue 10, item 3: a linear identity on a subspace is decided exactly, without sampling."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from grader.domain.verdicts import Reason
from tests.support.rubrics import judge_of, judged, shown

ONE, OTHER = "self-attention-and-transformers/b-i", "single-head-attention/1d"


def bases(question: str, student: str) -> tuple[NDArray[Any], NDArray[Any]]:
    values = judge_of(question).variant(student).values
    return (values["A"], values["B"]) if question == ONE else (values["S"], values["T"])


def right(question: str, student: str) -> NDArray[Any]:
    first, _ = bases(question, student)
    return np.asarray(first @ first.T * (1 if question == ONE else 2))


def worst_error(question: str, student: str, matrix: NDArray[Any]) -> float:
    """By a search over pairs: the largest error relative to the length of the sum."""
    first, second = bases(question, student)
    frame = np.hstack([first, second])
    acts = matrix if question == ONE else matrix.T / 2
    wanted = np.hstack([first, 0 * second])
    # The worst coefficients are the leading eigenvector of E^T E.
    error = acts @ frame - wanted
    return float(np.sqrt(np.linalg.eigvalsh(error.T @ error)[-1]))


@pytest.mark.parametrize("question", [ONE, OTHER])
def test_item_3_nothing_is_sampled(question: str) -> None:
    verdict = judged(question, {"M": right(question, "ada").tolist()}).verdict("recovers")

    assert judge_of(question).question.key_sets is None
    assert verdict.evidence.share is None
    assert verdict.evidence.key_sets is None


@pytest.mark.parametrize("question", [ONE, OTHER])
def test_item_3_the_measure_is_the_worst_error_over_all_pairs(question: str) -> None:
    generator = np.random.default_rng(3)
    for number in range(40):
        noise = generator.normal(size=(10, 10)) * 10.0 ** generator.uniform(-4, 0)
        matrix = right(question, "ada") + noise
        verdict = judged(question, {"M": matrix.tolist()}).verdict("recovers")
        error = worst_error(question, "ada", matrix)

        assert verdict.evidence.measured == pytest.approx(error, rel=1e-6), number
        expected = 1 if error <= 0.03 else Decimal("0.5") if error <= 0.1 else 0
        assert verdict.credit == expected


@pytest.mark.parametrize("question", [ONE, OTHER])
@pytest.mark.parametrize("decimals", [2, 3, 4])
def test_item_3_a_rounded_matrix_is_decided_for_every_student_and_loses_nothing(
    question: str, decimals: int
) -> None:
    for number in range(60):
        student = f"student-{number}"
        matrix = np.round(right(question, student), decimals)
        verdict = judged(question, {"M": matrix.tolist()}, student=student).verdict("recovers")

        assert verdict.reason is Reason.HOLDS


@pytest.mark.parametrize("question", [ONE, OTHER])
def test_item_3_coarser_numbers_earn_half_and_are_told_why(question: str) -> None:
    generator = np.random.default_rng(5)
    noise = generator.uniform(-1, 1, size=(10, 10)) * (0.012 if question == ONE else 0.024)
    judgement = judged(question, {"M": (right(question, "ada") + noise).tolist()})

    assert judgement.verdict("recovers").credit == Decimal("0.5")
    assert shown(judgement) == {"rounding"}


@pytest.mark.parametrize("question", [ONE, OTHER])
def test_item_3_what_the_matrix_does_beside_the_subspaces_is_free(question: str) -> None:
    first, second = bases(question, "ada")
    beside = np.eye(10) - first @ first.T - second @ second.T
    generator = np.random.default_rng(7)
    free = 100 * generator.normal(size=(10, 10))
    added = free @ beside if question == ONE else beside @ free
    judgement = judged(question, {"M": (right(question, "ada") + added).tolist()})

    assert judgement.is_solved
