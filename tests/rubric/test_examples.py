"""The check itself can fail: wrong examples and weak rubrics are found."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from grader.rubric.catalog import Rubric, read_rubric
from grader.rubric.examples import is_noticed, list_mutants, run_examples
from tests.support.rubrics import rubric_of

BASE = rubric_of("attention-exploration/3b")


def changed(**update: Any) -> Rubric:
    """The rubric of 3b with a single example, changed."""
    example = BASE.form.examples[0].model_copy(update=update)
    form = BASE.form.model_copy(update={"examples": (example,)})
    return Rubric(BASE.assignment, form, BASE.document, BASE.compiled, BASE.text)


def outcome(rubric: Rubric) -> list[str]:
    return [
        failure.message for failures in run_examples(rubric, variants=2) for failure in failures
    ]


def test_the_unchanged_example_passes() -> None:
    assert outcome(changed()) == []


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"earns": Decimal(3)}, "earns 8, not 3"),
        ({"answer": {"q": "k_a + k_b"}}, "earns 0, not 8"),
        ({"shows": "sign"}, "shows no misconception, not sign"),
        ({"answer": {"q": "-40 (k_a + k_b)"}, "earns": Decimal(0)}, "shows sign, not no misc"),
        ({"answer": {"q": "40 (k_a + w)"}}, "refused (formula.unknown)"),
        ({"refused": "answer.shape", "earns": None}, "read, but answer.shape was expected"),
        ({"answer": {}, "numbers": {"q": "40 k_zz"}}, "the example itself is wrong"),
    ],
)
def test_an_example_that_is_wrong_is_told_so(update: dict[str, Any], message: str) -> None:
    messages = outcome(changed(**update))

    assert messages
    assert message in messages[0]


def test_examples_that_prove_too_little_leave_mutants_unnoticed() -> None:
    weak = changed()
    unnoticed = [m.change for m in list_mutants(weak.question) if not is_noticed(weak, m)]

    assert "weights: level 1, within 0.06" in unnoticed
    assert "scale-too-small removed" in unnoticed
    assert "weights removed" not in unnoticed


def test_mutants_change_each_tolerance_share_criterion_and_misconception() -> None:
    changes = [m.change for m in list_mutants(rubric_of("attention-exploration/3c-i").question)]

    for expected in (
        "weights: level 1, within 0.06",
        "weights: level 1, within 0.00667",
        "weights: level 1, share 1",
        "weights: level 2, share 0.3",
        "output removed",
        "rounding removed",
    ):
        assert expected in changes


def test_an_example_that_may_differ_by_chance_is_bounded() -> None:
    lucky = changed(earns=Decimal(3), by_chance=0.5)

    # It differs on every variant, which no share below one excuses.
    assert outcome(lucky)


def test_a_rubric_may_be_loaded_from_text_alone() -> None:
    rubric = read_rubric(BASE.text, path=Path("3b.yaml"), assignment="x", earlier={})

    assert rubric.version == BASE.version
    assert rubric.id == "x/3b"
