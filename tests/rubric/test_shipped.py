"""The shipped rubrics: every part of the three assignments, with the names that are promised."""

from __future__ import annotations

from decimal import Decimal

import pytest

from grader.engine.question import MeasuredCriterion, ReviewedCriterion
from grader.reading.fields import ArrayField
from grader.rubric.catalog import Rubric
from grader.rubric.examples import is_noticed, list_mutants, run_examples
from tests.support.rubrics import shipped

QUESTIONS = {
    "attention-exploration": "3a 3b 3c-i 3c-ii 3d-i 3d-ii 3e-i 3e-ii",
    "self-attention-and-transformers": "a-i a-ii a-iii a-iv b-i b-ii c-i c-ii d-i d-ii",
    "single-head-attention": "1a 1b 1c 1d 1e 1f 2a",
}

FIELDS = {
    "3a": "q", "3b": "q", "3c-i": "q", "b-ii": "q", "c-i": "q", "1c": "q", "1e": "q",
    "a-ii": "q gap", "1b": "q gap", "a-iii": "c", "b-i": "M", "1d": "M", "3e-ii": "K Q V",
    "3d-i": "q1 q2", "d-i": "q1 q2",
    "3c-ii": "share_near_average share_nearer_b variance spread_ratio",
    "c-ii": "share_near_average share_nearer_b variance spread_ratio",
    "1f": "share_near_average share_nearer_j variance spread_ratio variance_outside",
    "3d-ii": "share_near_average variance_1 variance_2 left_out_share",
    "d-ii": "share_near_average variance_1 variance_2 left_out_share",
    "3e-i": "c_2 c_2_plus_d c_2_plus_c scores_plus_d scores_plus_c possible",
    "a-i": "", "a-iv": "", "1a": "", "2a": "score",
}  # fmt: skip

NAMES = {
    "3a": "k_j", "3b": "k_a k_b", "3c-i": "mu_a mu_b", "3d-i": "mu_a mu_b",
    "3e-i": "u_a u_b u_c u_d x_1 x_2 x_3 beta", "3e-ii": "u_a u_b u_c u_d x_1 x_2 x_3 beta",
    "a-ii": "k_j", "a-iii": "k_j v_j", "b-i": "A B a_1 a_3 b_4", "b-ii": "k_a k_b",
    "c-i": "mu_a mu_b", "d-i": "mu_a mu_b", "1b": "k_i", "1c": "k_i k_j", "1d": "S T",
    "1e": "mu_i mu_j mu_x",
}  # fmt: skip

ALL = [pytest.param(rubric, id=rubric.id) for rubric in shipped().rubrics()]
CONSTRUCTIONS = [
    pytest.param(rubric, id=rubric.id)
    for rubric in shipped().rubrics()
    if any(isinstance(each, MeasuredCriterion) for each in rubric.question.criteria)
]


def test_every_part_of_the_three_assignments_ships() -> None:
    found = {name: " ".join(a.rubrics) for name, a in shipped().assignments.items()}

    assert found == QUESTIONS
    assert len(ALL) == 25


@pytest.mark.parametrize("rubric", ALL)
def test_the_fields_of_an_answer_have_the_promised_names(rubric: Rubric) -> None:
    names = [field.name for field in rubric.question.fields if field.name != "explanation"]

    assert " ".join(names) == FIELDS[rubric.form.id]


@pytest.mark.parametrize("question", NAMES)
def test_a_formula_may_use_the_promised_names(question: str) -> None:
    (rubric,) = (each for each in shipped().rubrics() if each.form.id == question)
    field = next(each for each in rubric.question.fields if isinstance(each, ArrayField))
    known = {*field.scope.names(), *field.scope.members()}

    assert set(NAMES[rubric.form.id].split()) <= known
    assert "d" in known
    assert not any("other" in name for name in known)
    if rubric.form.id != "a-iii":
        assert not any(name.split("_")[0] == "v" for name in known)


def test_the_third_assignment_has_the_points_and_grades_of_its_paper() -> None:
    assignment = shipped().assignments["single-head-attention"]
    points = {name: int(rubric.form.points) for name, rubric in assignment.rubrics.items()}

    assert points == {"1a": 5, "1b": 5, "1c": 10, "1d": 10, "1e": 10, "1f": 10, "2a": 30}
    grades = {p: assignment.form.grade_for(Decimal(p)) for p in (0, 29, 30, 49, 50, 69, 70, 80)}
    assert grades == {0: "2", 29: "2", 30: "3", 49: "3", 50: "4", 69: "4", 70: "5", 80: "5"}


def test_the_due_dates_are_those_of_the_papers() -> None:
    due = {name: a.form.due_at() for name, a in shipped().assignments.items()}

    second, third = due["self-attention-and-transformers"], due["single-head-attention"]
    assert second is not None
    assert third is not None
    assert second.isoformat().startswith("2025-10-20T23:59:59")
    assert third.isoformat() == "2022-06-30T23:59:59+02:00"


@pytest.mark.parametrize("rubric", CONSTRUCTIONS)
def test_a_construction_has_model_answers_wrong_ones_and_unreadable_ones(rubric: Rubric) -> None:
    automatic = sum(
        (
            each.points
            for each in rubric.question.criteria
            if not isinstance(each, ReviewedCriterion)
        ),
        Decimal(0),
    )
    examples = rubric.form.examples
    models = [e for e in examples if e.earns == automatic]
    wrong = [e for e in examples if e.refused is None and e.earns != automatic]

    assert any(e.numbers for e in models)
    assert any(not e.numbers for e in models)
    assert len(models) >= 2
    assert len(wrong) >= 4
    assert sum(e.refused is not None for e in examples) >= 3


@pytest.mark.parametrize("rubric", ALL)
def test_every_misconception_has_an_example_that_shows_it(rubric: Rubric) -> None:
    shown = {
        name
        for example in rubric.form.examples
        for name in ([example.shows] if isinstance(example.shows, str) else example.shows)
    }

    assert {each.id for each in rubric.form.misconceptions} <= shown


@pytest.mark.parametrize("rubric", ALL)
def test_the_file_says_where_its_points_come_from(rubric: Rubric) -> None:
    assert rubric.text.startswith("# Points: ")


def test_every_point_of_what_makes_grading_hard_has_an_example() -> None:
    named = {e.point for rubric in shipped().rubrics() for e in rubric.form.examples}

    # Point 11 is a property of the files and is tested by name elsewhere.
    assert named >= set(range(1, 16)) - {11}


@pytest.mark.parametrize("rubric", ALL)
def test_every_example_comes_out_as_its_file_says(rubric: Rubric) -> None:
    failures = [failure for outcome in run_examples(rubric, variants=3) for failure in outcome]

    assert failures == []


@pytest.mark.parametrize("rubric", ALL)
def test_no_mutant_goes_unnoticed(rubric: Rubric) -> None:
    # The short form of `grader check --mutate`: every fourth one, on one variant.
    mutants = list(list_mutants(rubric.question))[::4]
    unnoticed = [m.change for m in mutants if not is_noticed(rubric, m, variants=1)]

    assert unnoticed == []
