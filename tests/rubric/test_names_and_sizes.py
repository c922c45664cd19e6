"""Issue 10, items 10 and 14: an author's names and indices are checked when the file is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.engine.functions import RUBRIC_FUNCTIONS
from grader.engine.judge.judge import Judge
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.errors import AnswerRefused, RubricErrors
from grader.feedback.plots import WeightBars, make_pictures
from grader.formula.typed.scope import IDENTITY, MATH_CONSTANTS
from grader.rubric.catalog import Rubric, read_rubric

#: A is 3 × 7 and B is 5 × 7; `i` counts the rows of A, `j` the rows of B and the columns of C.
TEXT = """
id: sizes
title: Two sizes
points: 1
prompt: "Send $q$."
draw:
  i: {distinct_indices: 3}
  j: {distinct_indices: 5}
  A: {gaussian: [3, 7]}
  B: {gaussian: [5, 7]}
  C: {gaussian: [7, 5]}
families:
  c: {columns_of: C}
given: [i, j, A, B, C]
answer:
  q: {shape: [7], symbols: [A, B, c]}
compute:
  y: A_i + B_j + c_j
criteria:
  - id: close
    title: Close
    points: 1
    measure: distance(q, y)
    in_words: "the distance is {measured}; {needed} is allowed"
    levels: [{within: 0.1, credit: 1}]
"""


def load(old: str = "", new: str = "") -> Rubric:
    assert old in TEXT
    return read_rubric(
        TEXT.replace(old, new), path=Path("a/sizes.yaml"), assignment="a", earlier={}
    )


def find_errors(old: str, new: str) -> list[str]:
    with pytest.raises(RubricErrors) as refused:
        load(old, new)
    return [str(error) for error in refused.value.errors]


def test_each_index_is_a_subscript_where_it_counts_the_members() -> None:
    assert load().question.compute["y"].shape.rows == 7


@pytest.mark.parametrize(
    ("old", "new", "place", "says"),
    [
        pytest.param(
            "y: A_i + B_j", "y: A_j + B_j", "a/sizes.yaml:18:6: compute.y",
            "A_j is not known here: j is one of 5, not of 3", id="too large for its family",
        ),
        pytest.param(
            "y: A_i + B_j", "y: A_i + B_i", "a/sizes.yaml:18:6: compute.y",
            "B_i is not known here: i is one of 3, not of 5", id="too small for its family",
        ),
        pytest.param(
            "+ c_j", "+ c_i", "a/sizes.yaml:18:6: compute.y",
            "c_i is not known here: i is one of 3, not of 5", id="columns",
        ),
        pytest.param(
            "y: A_i", r"y: \\sum_{l \\neq j} A_l", "a/sizes.yaml:18:6: compute.y",
            "j is not an index here: it is one of 5, but this sum is over 3", id="left out",
        ),
        pytest.param(
            "y: A_i", "y: A^T unit(j)", "a/sizes.yaml:18:6: compute.y",
            "Cannot multiply a 7 × 3 matrix by a column vector of 5 numbers", id="unit vector",
        ),
        pytest.param(
            "y: A_i", "y: A^T unit(i, 5)", "a/sizes.yaml:18:6: compute.y",
            "i is one of 3, so unit(i) has 3 entries, not 5", id="length of a unit vector",
        ),
        pytest.param(
            "families:", "  D: 2 I\nfamilies:", "a/sizes.yaml:12:6: draw.D",
            "The size of I does not follow from its place", id="identity",
        ),
    ],
)  # fmt: skip
def test_an_index_of_another_size_is_refused_with_both_sizes(
    old: str, new: str, place: str, says: str
) -> None:
    (error,) = find_errors(old, new.replace("\\\\", "\\"))

    assert error.startswith(place)
    assert says in error


def test_a_stretched_key_needs_an_index_of_the_rows_of_the_mean() -> None:
    keys = """key_sets:
  draw:
    k: {gaussian: {mean: B, variance: 1, stretched: {index: i, by: 1/2}}}
answer:"""
    (error,) = find_errors("answer:", keys)

    assert error.startswith("a/sizes.yaml:17:61: key_sets.draw.k.gaussian.stretched.index")
    assert "i is one of 3, but the mean has 5 rows" in error
    assert load("answer:", keys.replace("index: i", "index: j")).question.key_sets


def test_a_student_who_writes_such_a_subscript_is_told_so() -> None:
    judge = Judge(load().question, DEVELOPMENT_KEYS)
    variant = judge.variant("ada")

    for text in ("A_j", "B_i", "c_i", r"\\sum_{l \\neq i} B_l"):
        with pytest.raises(AnswerRefused) as refused:
            judge.prepare(variant, {"q": text.replace("\\\\", "\\")}, strict=True)
        assert refused.value.errors[0].code in ("formula.unknown", "formula.sum")
    assert judge.prepare(variant, {"q": "A_i + B_j + c_j"}, strict=True).variant == variant


def test_a_plot_names_only_the_weights_that_an_index_counts() -> None:
    rubric = load(
        "criteria:", "plots: [{weights: softmax(B q)}, {weights: softmax(A q)}]\ncriteria:"
    )
    judge = Judge(rubric.question, DEVELOPMENT_KEYS)
    variant = judge.variant("ada")
    large, small = make_pictures(judge, judge.prepare(variant, {"q": "A_i"}, strict=True))

    assert isinstance(large, WeightBars)
    assert isinstance(small, WeightBars)
    assert large.named == {variant.indices["j"]: "j"}
    assert small.named == {variant.indices["i"]: "i"}


def test_what_is_compared_in_a_plot_has_one_shape() -> None:
    plot = "plots: [{compare: A A^T, to: 2 I}]\ncriteria:"

    assert load("criteria:", plot).question.plots[0].values[1].shape.rows == 3
    assert "must be a 3 × 3 matrix" in find_errors("criteria:", plot.replace("2 I", "I_5"))[0]


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        pytest.param("  C: {g", "  {}: 4\n  C: {g", "draw.{}", id="a size"),
        pytest.param("  C: {g", "  {}: {uniform: [1, 2]}\n  C: {g", "draw.{}", id="a number"),
        pytest.param("  C: {g", "  {}: {gaussian: [2]}\n  C: {g", "draw.{}", id="an array"),
        pytest.param("  i: {d", "  i, {}: {d", "draw.i, {}", id="an index"),
        pytest.param("  c: {c", "  {}: {rows_of: A}\n  c: {c", "families.{}", id="a family"),
        pytest.param("  q: {s", "  {}: {shape: [2]}\n  q: {s", "answer.{}", id="a field"),
        pytest.param(
            "  q: {s", "  {}: {choice: [up, down], correct: up, points: 0}\n  q: {s", "answer.{}",
            id="a choice",
        ),
        pytest.param("  y: A", "  {}: A_i\n  y: A", "compute.{}", id="computed"),
        pytest.param(
            "answer:", "key_sets: {draw: {{}: {in_span: C}}}\nanswer:", "key_sets.draw.{}",
            id="a key set",
        ),
        pytest.param(
            "answer:", "key_sets: {let: {{}: 1}, draw: {k: {in_span: C}}}\nanswer:",
            "key_sets.let.{}", id="a number of key sets",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["norm", "unit", "I", "e", "pi"])
def test_a_reserved_name_is_refused_wherever_a_name_is_declared(
    name: str, old: str, new: str, field: str
) -> None:
    errors = find_errors(old, new.replace("{}", name))

    assert any(
        field.replace("{}", name) in error and "choose another name" in error for error in errors
    )


@pytest.mark.parametrize("name", [*RUBRIC_FUNCTIONS, IDENTITY, *MATH_CONSTANTS])
def test_every_name_of_the_language_is_reserved(name: str) -> None:
    assert "choose another name" in find_errors("  y: A", f"  {name}: A_i\n  y: A")[0]


def test_t_is_a_matrix_but_not_a_number() -> None:
    matrix = load("  C: {g", "  T: {gaussian: [7, 2]}\n  C: {g")
    errors = find_errors("  C: {g", "  T: {uniform: [1, 2]}\n  C: {g")

    assert matrix.scope.shapes["T"].columns == 2
    assert [error for error in errors if "T cannot be a number" in error]
    assert find_errors("  C: {g", "  T: 3\n  C: {g")
    assert find_errors("  y: A", "  T: norm(A)\n  y: A")
