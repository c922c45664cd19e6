"""Issue 10, items 1 and 2: large constants are independent, and large means eventually."""

from __future__ import annotations

import numpy as np
import pytest

from grader.domain.verdicts import Outcome, Reason
from grader.reading.large import MAX_RESOLVED, RUNGS, choose_rungs, list_sizes
from tests.support.rubrics import awarded, judged, shown, submit

#: The parts that ask for the average of two values: their two keys.
AVERAGES = {
    "attention-exploration/3b": ("k_a", "k_b"),
    "self-attention-and-transformers/b-ii": ("k_a", "k_b"),
    "single-head-attention/1c": ("k_i", "k_j"),
    "attention-exploration/3c-i": ("mu_a", "mu_b"),
    "self-attention-and-transformers/c-i": ("mu_a", "mu_b"),
    "single-head-attention/1e": ("mu_i", "mu_j"),
}
#: The parts that ask for one key.
COPIES = {
    "attention-exploration/3a": ("k_j", {}),
    "self-attention-and-transformers/a-ii": ("k_j", {"gap": "log(99 (n - 1))"}),
    "single-head-attention/1b": ("k_i", {"gap": "log(99 (n - 1))"}),
}
averages = pytest.mark.parametrize(("question", "keys"), AVERAGES.items(), ids=AVERAGES)
copies = pytest.mark.parametrize(("question", "key", "rest"), [(q, *r) for q, r in COPIES.items()])


@averages
@pytest.mark.parametrize(
    "text",
    [
        "C_1 {} + C_2 {}, C_1 >> 0, C_2 >> 0",
        r"C_1 {} + C_2 {} \text{{ where }} C_1 \gg 0, C_2 \gg 0",
        "log(C) {} + log(D) {} where C >> 0, D >> 0",
        "exp(C) {} + exp(D) {} where C >> 0, D >> 0",
        "(C + D) {} + 2 C {} where C >> 0, D >> 0",
        "A {} + B {} where A -> inf, B -> inf",
    ],
)
def test_item_1_independent_constants_are_wrong(
    question: str, keys: tuple[str, str], text: str
) -> None:
    verdict = judged(question, {"q": text.format(*keys)}).verdict("weights")

    assert verdict.credit == 0
    assert verdict.reason is Reason.NOT_FOR_EVERY_SIZE
    assert verdict.evidence.sizes is not None
    assert len(set(verdict.evidence.sizes.values())) == 2


@averages
@pytest.mark.parametrize(
    "text",
    [
        "C {} + D {} where C >> 0, D = C",
        "C {} + D {} where D = C, C >> 0",
        "(C + D) ({} + {}) where C >> 0, D >> 0",
        "C D ({} + {}) where C >> 0, D >> 0",
        "C ({} + {}) where C >> 0",
        "C^2 ({} + {}) where C >> 0",
        "exp(C) ({} + {}) where C >> 0",
        "sqrt(log(C)) ({} + {}) where C >> 0",
        "C / 1000 ({} + {}) where C >> 0",
    ],
)
def test_item_1_what_holds_for_every_combination_is_right(
    question: str, keys: tuple[str, str], text: str
) -> None:
    judgement = judged(question, {"q": text.format(*keys)})

    assert judgement.is_solved


@averages
def test_item_1_twice_another_constant_is_read_and_judged(
    question: str, keys: tuple[str, str]
) -> None:
    one, other = keys
    judgement = judged(question, {"q": f"C {one} + D {other} where C >> 0, D = 2 C"})

    assert awarded(judgement) == 0
    assert shown(judgement) == {"one-key-only"}


@averages
def test_item_2_a_small_preference_is_not_lost_beside_a_large_constant(
    question: str, keys: tuple[str, str]
) -> None:
    one, other = keys
    judgement = judged(question, {"q": f"C ({one} + {other}) + log(3) {one} where C >> 0"})

    assert awarded(judgement) == 0
    assert shown(judgement) == {"uneven"}


@copies
@pytest.mark.parametrize(
    "text",
    [
        r"\log(t) {}, t \gg n",
        "log(t) {} where t >> 0",
        "C {}, C >= 100",
        "C {}, C -> inf",
        r"C {}, C \to \infty",
        "C {} for sufficiently large C",
        "C {} where C is large",
    ],
)
def test_item_2_a_constant_declared_large_earns_full_marks_if_it_works_from_some_size_on(
    question: str, key: str, rest: dict[str, str], text: str
) -> None:
    for student in ("ada", "grace", "emmy", "noor"):
        judgement = judged(question, {"q": text.format(key), **rest}, student=student)

        assert judgement.is_solved


@copies
def test_item_2_a_failing_size_is_not_called_not_general(
    question: str, key: str, rest: dict[str, str]
) -> None:
    # Too slow to become large: wrong at every size that a double can hold.
    verdict = judged(question, {"q": f"log(log(t)) {key} where t >> 0", **rest}).verdict("weights")

    assert verdict.outcome is not Outcome.MET
    assert verdict.reason is not Reason.NOT_GENERAL


def test_item_2_sizes_are_the_largest_that_doubles_resolve() -> None:
    submission = submit("attention-exploration/3b", {"q": "C (k_a + k_b) where C >> 0"})
    rungs = choose_rungs([submission.formulas["q"]], submission.variant.environment)

    assert rungs == (1e8, 1e10, 1e12)
    assert rungs[-1] <= MAX_RESOLVED


def test_item_2_sizes_are_far_enough_apart_for_logarithms() -> None:
    submission = submit("attention-exploration/3b", {"q": "log(C) (k_a + k_b) where C >> 0"})
    rungs = choose_rungs([submission.formulas["q"]], submission.variant.environment)

    assert rungs == RUNGS[-3:]
    assert np.diff(np.log(rungs)).min() > 200


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_item_1_every_constant_is_tried_small_beside_large_and_large_beside_small(
    count: int,
) -> None:
    names = [f"C_{number}" for number in range(1, count + 1)]
    declared = ", ".join(f"{name} >> 0" for name in names)
    text = f"({' + '.join(names)}) (k_a + k_b) where {declared}"
    submission = submit("attention-exploration/3b", {"q": text})
    sizes = list_sizes(submission.formulas.values(), submission.variant.environment)

    top = max(value for each in sizes for value in each.values.values())
    for name in names:
        others = [n for n in names if n != name]
        alone = [
            each
            for each in sizes
            if each.values[name] < top == min((each.values[n] for n in others), default=top)
        ]
        assert alone


def test_item_1_a_constant_has_one_size_in_all_fields_of_an_answer() -> None:
    heads = "attention-exploration/3d-i"
    judgement = judged(heads, {"q1": "C mu_a where C >> 0", "q2": "C mu_b where C >> 0"})
    apart = judged(heads, {"q1": "C mu_a where C >> 0", "q2": "D mu_b where D >> 0"})

    assert judgement.is_solved
    assert apart.is_solved
    submission = submit(heads, {"q1": "C mu_a where C >> 0", "q2": "D mu_b where D >> 0"})
    sizes = list_sizes(submission.formulas.values(), submission.variant.environment)
    assert any(each.values["C"] != each.values["D"] for each in sizes)
