"""What several tests share: the shipped rubrics, and judging an answer in one line."""

from __future__ import annotations

from functools import cache
from typing import Any

from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge, Judgement
from grader.engine.random.noise import NoiseBank
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.engine.random.variants import Variant
from grader.rubric.catalog import Catalog, Rubric, get_shipped_folder, load_catalog

BANK = NoiseBank()


@cache
def shipped() -> Catalog:
    """The shipped rubrics."""
    return load_catalog(get_shipped_folder())


@cache
def judge_of(question: str) -> Judge:
    """A judge of a shipped question, with the development secret."""
    return Judge(shipped().get_rubric(question).question, DEVELOPMENT_KEYS, BANK)


def rubric_of(question: str) -> Rubric:
    """A shipped question's rubric."""
    return shipped().get_rubric(question)


def submit(
    question: str, sent: dict[str, Any], *, student: str = "ada", uses: dict[str, Any] | None = None
) -> Submission:
    """Read an answer for a student's variant, as the command line does."""
    judge = judge_of(question)
    return judge.prepare(judge.variant(student), sent, earlier=uses, strict=True)


def judged(
    question: str, sent: dict[str, Any], *, student: str = "ada", uses: dict[str, Any] | None = None
) -> Judgement:
    """Read and judge an answer."""
    (judgement,) = judge_of(question).judge([submit(question, sent, student=student, uses=uses)])
    return judgement


def shown(judgement: Judgement) -> set[str]:
    """The misconceptions that a judgement names."""
    return {each.id for each in judgement.misconceptions}


def awarded(judgement: Judgement) -> float:
    """The points that a judgement awards."""
    return float(judgement.score.awarded)


def vectors(variant: Variant, family: str, *indices: str) -> list[Any]:
    """Members of a family by the names of their indices."""
    return [variant.values[family][variant.indices[index]] for index in indices]
