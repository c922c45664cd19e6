"""Answers on the variants of others: what is found, and how probable an accident is."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge
from grader.engine.judge.prefilter import Prefilter
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.engine.random.variants import Variant, draw_variants, select_variant, stack_variants
from grader.formula.eval.evaluate import evaluate_finite
from grader.grading.integrity.coincidence import CoincidenceRate
from grader.grading.integrity.search import (
    SearchResult,
    Suspect,
    has_numbers,
    has_same_numbers,
    search_copied_answers,
)
from grader.reading.answer import Answer, read_answer
from grader.rubric.catalog import Rubric
from tests.support.rubrics import shipped

STUDENTS = 12


@cache
def rubric_of(name: str) -> Rubric:
    return shipped().get_rubric(name)


@cache
def judge_of(name: str) -> Judge:
    return Judge(rubric_of(name).question, DEVELOPMENT_KEYS)


def class_of(name: str, students: int = STUDENTS) -> dict[str, Variant]:
    judge = judge_of(name)
    return {f"student-{number}": judge.variant(f"student-{number}") for number in range(students)}


def numbers_for(name: str, texts: dict[str, str], variant: Variant) -> Answer:
    """What a formula comes to for a variant, sent as numbers."""
    rubric, drawn = rubric_of(name), stack_variants([variant])
    sent = {
        field: evaluate_finite(rubric.read_field(field, text), drawn)[0, 0].tolist()
        for field, text in texts.items()
    }
    return read_answer(sent, rubric.question.fields, drawn)


def look(name: str, answer: Answer, variants: dict[str, Variant]) -> SearchResult:
    suspect = Suspect("attempt", "student-0", answer)
    return search_copied_answers(
        judge_of(name), [suspect], variants, report=lambda attempts, pairs: None
    )


AVERAGE, COPY, SAMPLED = (
    "attention-exploration/3b",
    "attention-exploration/3a",
    "attention-exploration/3c-i",
)


@pytest.mark.parametrize(
    ("name", "texts"),
    [(AVERAGE, {"q": "40 (k_a + k_b)"}), (SAMPLED, {"q": "60 (mu_a + mu_b)"})],
    ids=["one key set", "thousands of key sets"],
)
def test_a_copied_answer_is_found_with_a_tiny_chance(name: str, texts: dict[str, str]) -> None:
    variants = class_of(name)
    copied = numbers_for(name, texts, variants["student-7"])

    (finding,) = look(name, copied, variants).findings

    assert finding.solved == ("student-7",)
    assert finding.chance.others == STUDENTS - 1
    assert finding.chance.tried >= 20_000
    assert finding.chance.for_any < 0.02
    assert not finding.chance.is_uninformative


def test_an_honest_wrong_answer_is_not_found() -> None:
    variants = class_of(AVERAGE)
    for text in ("k_a + k_b", "40 k_a", "-40 (k_a + k_b)", "40 (k_a + k_other)"):
        wrong = numbers_for(AVERAGE, {"q": text}, variants["student-0"])
        assert look(AVERAGE, wrong, variants).findings == []


def test_the_own_variant_is_never_found() -> None:
    variants = class_of(AVERAGE)
    right = numbers_for(AVERAGE, {"q": "40 (k_a + k_b)"}, variants["student-0"])

    assert look(AVERAGE, right, variants).findings == []


def test_where_there_are_few_possibilities_the_chance_is_the_share_of_all_variants() -> None:
    judge, variants = judge_of(COPY), class_of(COPY, 60)
    foreign = numbers_for(COPY, {"q": "40 k_j"}, judge.variant("somebody"))
    others = [judge.variant(f"brute-{number}") for number in range(2000)]
    judged = judge.judge([Submission(each, foreign) for each in others], recognising=False)
    share = sum(each.is_solved for each in judged) / len(others)

    result = look(COPY, foreign, variants)

    (finding,) = result.findings
    chance = finding.chance
    spread = 4 * (share * (1 - share) * (1 / len(others) + 1 / chance.tried)) ** 0.5
    assert abs(chance.for_one - share) < spread
    assert 0.01 < chance.for_one < 1 / 12 + spread
    assert chance.is_uninformative
    assert result.by_accident == 1
    # The rubric's own example says how often that may happen at most.
    (example,) = (each for each in rubric_of(COPY).form.examples if each.of == "another")
    assert chance.bound_for_one <= example.by_chance


def test_formulas_are_not_numbers_and_lists_in_formulas_are() -> None:
    variant = class_of(AVERAGE)["student-0"]

    def read(text: object) -> Answer:
        return read_answer(
            {"q": text}, rubric_of(AVERAGE).question.fields, stack_variants([variant])
        )

    assert not has_numbers(read("40 (k_a + k_b)"))
    assert has_numbers(read([1, 2, 3, 4, 5, 6, 7]))
    assert has_numbers(read("40 [1, 2, 3, 4, 5, 6, 7]"))


def test_the_same_numbers_are_the_same_to_four_digits() -> None:
    variant = class_of(AVERAGE)["student-0"]

    def read(last: float) -> Answer:
        sent = {"q": [1, 2, 3, 4, 5, 6, last]}
        return read_answer(sent, rubric_of(AVERAGE).question.fields, stack_variants([variant]))

    assert has_same_numbers(read(7), read(7.00001))
    assert not has_same_numbers(read(7), read(7.1))


# The sieve and the crowd


SIEVED = [
    name
    for assignment in shipped().assignments.values()
    for rubric in assignment.rubrics.values()
    if (name := rubric.id) and rubric.question.draws and rubric.question.uses is None
]


@pytest.mark.parametrize("name", SIEVED)
def test_the_sieve_lets_through_all_that_a_judge_would(name: str) -> None:
    judge, rubric = judge_of(name), rubric_of(name)
    crowd = draw_variants(rubric.question.draws, np.random.default_rng(7), 64)
    sieve = Prefilter.of(judge)
    prepared = sieve.prepare(crowd)
    own = [select_variant(crowd, row, name=f"row-{row}") for row in range(64)]
    for example in rubric.form.examples:
        if not example.numbers or example.refused or example.rounded or example.of == "another":
            continue
        for row in (0, 17):
            drawn = stack_variants([own[row]])
            sent = dict(example.answer) | {
                field: evaluate_finite(rubric.read_field(field, text), drawn)[0, 0].tolist()
                for field, text in example.numbers.items()
            }
            answer = read_answer(sent, rubric.question.fields, drawn)
            judged = judge.judge([Submission(each, answer) for each in own], recognising=False)
            solved = np.array([each.is_solved for each in judged])

            assert (sieve.sift(answer, prepared) >= solved).all(), example.name


@pytest.mark.parametrize("name", SIEVED)
def test_a_crowd_is_drawn_like_the_variants_of_students(name: str) -> None:
    draws = rubric_of(name).question.draws
    crowd = draw_variants(draws, np.random.default_rng(3), 600)
    singly = stack_variants([judge_of(name).variant(f"single-{number}") for number in range(600)])

    assert crowd.values.keys() == singly.values.keys()
    for each, value in singly.values.items():
        drawn = np.asarray(crowd.values[each])
        assert isinstance(value, np.ndarray)
        assert drawn.shape == value.shape
        # Means and squares of both agree within five standard deviations.
        for power in (1, 2, 4):
            one, other = drawn**power, value**power
            spread = 5 * np.sqrt((one.var(axis=0) + other.var(axis=0)) / 600) + 1e-9
            assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) <= spread).all()
    for each, index in singly.indices.items():
        low, high = np.bincount(crowd.indices[each]), np.bincount(index)
        assert len(low) == len(high)
        assert (np.abs(low - high) < 5 * np.sqrt(low + high)).all()


# Chances


def test_a_chance_that_was_never_seen_is_told_as_a_bound() -> None:
    never = CoincidenceRate(hits=0, tried=10_000, others=100)

    assert never.is_bound
    assert 0.02 < never.for_any < 0.03
    assert never.for_any == never.bound_for_any


def test_a_chance_for_many_is_that_of_at_least_one() -> None:
    chance = CoincidenceRate(hits=50, tried=1000, others=20)

    assert chance.for_any == pytest.approx(1 - 0.95**20)
    assert chance.bound_for_any > chance.for_any
    assert chance.is_uninformative
    assert not CoincidenceRate(hits=5, tried=100_000, others=20).is_uninformative
