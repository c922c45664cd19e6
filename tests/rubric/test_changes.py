"""What a new version of a rubric changes, as instructors are told before they publish it."""

from __future__ import annotations

import pytest

from grader.rubric.catalog import CompiledAssignment, Rubric, read_assignment
from grader.rubric.changes import RubricChange, compare_rubrics, hash_deciding

FORM = "id: two\ntitle: Two parts\nquestions: [first, second]\n"
FIRST = """
id: first
title: One key
points: 6
prompt: "Send $q$."
hints: ["Look at the largest score."]
draw:
  n: 5
  d: 7
  a: {distinct_indices: n}
  k: {orthonormal: [n, d]}
given: [n, d, a, k]
answer:
  q: {shape: [d], symbols: [k]}
  reason: {text: {items: [{points: 2, for: "the score is far above all others"}]}}
compute: {w: softmax(k q)}
criteria:
  - id: weights
    title: All weight on one key
    points: 4
    measure: tv(w, unit(a))
    in_words: "{measured} of the weight is in the wrong place; {needed} may be"
    levels: [{within: 0.02, credit: 1}]
misconceptions:
  - {id: too-small, say: "Too small.", when: "max(w) < 0.9", passes: {q: 10 q}}
"""
SECOND = """
id: second
title: The weight
points: 3
prompt: "How large is the weight?"
uses: {question: first, if: weights, else: {q: 40 k_a}}
answer:
  weight: {number: "max(w)", tolerance: 0.1, points: 3, in_words: "{measured} for {needed}"}
compute: {w: softmax(k q)}
"""


def read(first: str = FIRST, second: str = SECOND) -> CompiledAssignment:
    return read_assignment("two", FORM, {"first": first, "second": second})


def change(old: str, new: str) -> tuple[Rubric, Rubric]:
    """The first question before and after a replacement in its file."""
    assert old in FIRST
    return read().rubrics["first"], read(FIRST.replace(old, new)).rubrics["first"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("Send $q$.", "Send a query $q$.", {"words"}, id="prompt"),
        pytest.param("All weight on", "The weight on", {"words"}, id="title of a criterion"),
        pytest.param('"Too small."', '"Longer."', {"words"}, id="what is said"),
        pytest.param("far above all", "well above all", {"words"}, id="item of a reviewer"),
        pytest.param("given: [n, d, a, k]", "given: [d, n, a, k]", {"words"}, id="what is shown"),
        pytest.param("title: One key", "title:   One key", {"words"}, id="layout"),
        pytest.param("within: 0.02", "within: 0.05", {"criteria"}, id="tolerance"),
        pytest.param("max(w) < 0.9", "max(w) < 0.8", {"misconceptions"}, id="condition"),
        pytest.param("n: 5", "n: 6", {"draws"}, id="size"),
        pytest.param("points: 6", "points: 6\nrevision: 2", {"draws"}, id="revision"),
        pytest.param("{text: {items", "{file: {items", {"answer"}, id="field"),
    ],
)
def test_a_change_is_named_by_what_it_does(old: str, new: str, expected: set[str]) -> None:
    before, after = change(old, new)

    assert compare_rubrics(before, after) == expected
    assert (hash_deciding(before) == hash_deciding(after)) == (expected == {"words"})


def test_points_are_told_apart_from_what_they_are_given_for() -> None:
    before = read().rubrics["first"]
    worth_more = FIRST.replace("points: 6", "points: 9").replace("points: 4", "points: 7")

    assert compare_rubrics(before, read(worth_more).rubrics["first"]) == {RubricChange.POINTS}
    stricter = worth_more.replace("within: 0.02", "within: 0.01")
    assert compare_rubrics(before, read(stricter).rubrics["first"]) == {
        RubricChange.POINTS,
        RubricChange.CRITERIA,
    }


def test_words_are_told_beside_what_else_has_changed() -> None:
    before, after = change("Send $q$.", "Send a query $q$.")
    after = read(after.text.replace("within: 0.02", "within: 0.05")).rubrics["first"]

    assert compare_rubrics(before, after) == {RubricChange.WORDS, RubricChange.CRITERIA}


def test_a_part_changes_with_the_one_that_it_builds_on() -> None:
    before, words = read(), read(FIRST.replace("Send $q$.", "Send a query $q$."))
    stricter = read(FIRST.replace("within: 0.02", "within: 0.01"))

    changed = compare_rubrics(before.rubrics["second"], stricter.rubrics["second"])
    assert changed == {RubricChange.EARLIER}
    assert hash_deciding(before.rubrics["second"]) != hash_deciding(stricter.rubrics["second"])
    assert compare_rubrics(before.rubrics["second"], words.rubrics["second"]) == {
        RubricChange.WORDS
    }


def test_the_same_files_have_not_changed() -> None:
    assert compare_rubrics(read().rubrics["second"], read().rubrics["second"]) == frozenset()


def test_a_field_may_be_called_like_a_key_that_does_not_count() -> None:
    """Keys are known by their place: a field that is called `title` decides about answers."""
    named = FIRST.replace("reason: {text", "title: {text")
    before = read(named).rubrics["first"]
    after = read(named.replace("{text: {items", "{file: {items")).rubrics["first"]

    assert hash_deciding(before) != hash_deciding(after)
