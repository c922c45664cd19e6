"""docs/explanation/how-sampling-decides.md: its numbers, measured again.

Issue 10, item 7: every figure on how often a decision is wrong is calculated again.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import ceil, floor, sqrt

import pytest

from grader.domain.verdicts import Verdict
from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.engine.random.variants import Variant, stack_variants
from grader.engine.sequential import Threshold, compute_threshold
from grader.formula.eval.evaluate import evaluate_finite
from grader.reading.answer import read_answer
from grader.rubric.catalog import Catalog, Rubric, get_shipped_folder, load_catalog, read_rubric
from tests.docs.pages import ROOT, Table, code, read_tables
from tests.support.exact_looks import (
    compute_errors,
    compute_errors_with_left_out,
    compute_outcomes,
)

PAGE = ROOT / "docs" / "explanation" / "how-sampling-decides.md"
TABLES = list(read_tables(PAGE.read_text(encoding="utf-8")))
VANISHING = "min(1e-12, (1e-3 / max(norm(q), 1))^2)"
VARIANTS = 1500
SCHEDULE = (2000, 8000, 32_000)
WITH_KEEP = "needed, with `keep`"

COPIED = {
    "attention-exploration/3a": {"q": "40 k_j"},
    "attention-exploration/3d-i": {"q1": "40 mu_a", "q2": "40 mu_b"},
    "attention-exploration/3c-i": {"q": "40 (mu_a + mu_b)"},
}


def table(heading: str) -> Table:
    (found,) = (each for each in TABLES if each.headings[0] == heading)
    return found


@cache
def catalog() -> Catalog:
    return load_catalog(get_shipped_folder())


def percent(share: float, digits: int) -> str:
    return f"{100 * share:.{digits}f}".rstrip("0").rstrip(".") + " %"


def number(cell: str) -> int:
    return int(cell.replace(" ", ""))


def grouped(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def per_thousand(probability: float) -> str:
    return f"{1000 * probability:.2f} in 1 000"


def read_threshold(row: dict[str, str], heading: str) -> tuple[Threshold, tuple[int, ...]]:
    """The z's that a row states, and its schedule."""
    counts = tuple(number(each) for each in row["looks at"].split(", "))
    z_award, z_refuse = float(row["z to clear"]), float(row["z to miss"])
    return Threshold(float(row[heading]), z_award, z_refuse), counts


@cache
def thresholds() -> dict[tuple[float, tuple[int, ...]], Threshold]:
    """What the page states, by the needed share and the schedule."""
    read = (read_threshold(row, "needed share") for row in table("needed share").rows)
    return {(threshold.share, counts): threshold for threshold, counts in read}


def judge_formula(rubric: Rubric, field: str, formula: str) -> Verdict:
    judge = Judge(rubric.question, DEVELOPMENT_KEYS)
    variant = judge.variant("ada")
    answer = read_answer({field: formula}, rubric.question.fields, stack_variants([variant]))
    (judgement,) = judge.judge([Submission(variant, answer)], recognising=False)
    return judgement.verdicts[0]


@pytest.mark.parametrize("row", table("alpha").rows, ids=lambda row: row["alpha"])
def test_a_fixed_noise_fails_long_queries_as_the_page_says(row: dict[str, str]) -> None:
    path = get_shipped_folder() / "attention-exploration" / "3c-i.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.count(VANISHING) == 1
    changed = text.replace(VANISHING, code(row["alpha"]))
    rubric = read_rubric(changed, path=path, assignment="attention-exploration", earlier={})

    for heading, stated in list(row.items())[1:]:
        scale = number(heading.removeprefix("C = "))
        verdict = judge_formula(rubric, "q", f"{scale} (mu_a + mu_b)")
        assert verdict.evidence.share is not None
        assert percent(verdict.evidence.share, 1) == stated


@pytest.mark.parametrize("row", table("key sets").rows, ids=lambda row: row["key sets"])
def test_a_share_is_decided_as_far_from_the_threshold_as_the_page_says(
    row: dict[str, str],
) -> None:
    tried = number(row["key sets"])
    threshold = thresholds()[0.99, SCHEDULE]
    error = sqrt(tried * 0.99 * 0.01)
    cleared = ceil(0.99 * tried + threshold.z_award * error)
    missed = floor(0.99 * tried - threshold.z_refuse * error)

    assert row["cleared from"] == f"{grouped(cleared)} ({percent(cleared / tried, 2)})"
    assert row["missed up to"] == f"{grouped(missed)} ({percent(missed / tried, 2)})"


@pytest.mark.parametrize("row", table("needed share").rows, ids=lambda row: row["looks at"])
def test_a_share_at_the_threshold_is_decided_as_seldom_as_the_page_says(
    row: dict[str, str],
) -> None:
    """Issue 10, item 7: and smaller z would exceed one case in 2 000."""
    threshold, counts = read_threshold(row, "needed share")
    smaller = replace(
        threshold, z_award=threshold.z_award - 0.01, z_refuse=threshold.z_refuse - 0.01
    )
    awarded, refused = compute_errors(threshold, counts)

    assert per_thousand(awarded) == row["cleared by mistake"]
    assert per_thousand(refused) == row["missed by mistake"]
    assert max(awarded, refused) <= 1 / 2000
    assert min(compute_errors(smaller, counts)) > 1 / 2000


@pytest.mark.parametrize("row", table("needed share").rows, ids=lambda row: row["looks at"])
def test_the_engine_decides_by_the_z_of_the_page(row: dict[str, str]) -> None:
    threshold, counts = read_threshold(row, "needed share")

    assert compute_threshold(threshold.share, counts) == threshold


@pytest.mark.parametrize("row", table("true share").rows, ids=lambda row: row["true share"])
def test_a_share_near_the_threshold_is_decided_as_often_as_the_page_says(
    row: dict[str, str],
) -> None:
    """Issue 10, item 7: the power near the thresholds."""
    true_share = float(row["true share"].removesuffix(" %")) / 100
    exact = compute_outcomes(thresholds()[float(row["needed"]), SCHEDULE], SCHEDULE, true_share)

    assert percent(exact.awarded, 2) == row["cleared"]
    assert percent(exact.refused, 2) == row["missed"]
    assert percent(exact.undecided, 2) == row["undecided"]
    assert grouped(round(exact.key_sets)) == row["key sets on average"]


@pytest.mark.parametrize("row", table(WITH_KEEP).rows, ids=lambda row: row["looks at"])
def test_where_key_sets_are_left_out_a_decision_is_wrong_as_seldom_as_the_page_says(
    row: dict[str, str],
) -> None:
    threshold, counts = read_threshold(row, WITH_KEEP)

    assert compute_threshold(threshold.share, counts, is_filtered=True) == threshold
    for kept in (92, 50):
        awarded, refused = compute_errors_with_left_out(threshold, counts, kept / 100)
        stated = row[f"by mistake, {kept} % kept"]
        assert f"{1000 * awarded:.2f} and {per_thousand(refused)}" == stated


def test_the_z_of_the_full_counts_would_be_wrong_as_often_as_the_page_says() -> None:
    counts = (8000, 32_000)
    errors = compute_errors_with_left_out(thresholds()[0.99, counts], counts, 0.92)
    awarded, refused = (f"{1000 * error:.2f}" for error in errors)

    stated = f"cleared by mistake in {awarded} and missed in {refused} of 1 000 cases"
    assert stated in " ".join(PAGE.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("row", table("q").rows, ids=lambda row: row["q"])
def test_an_answer_near_the_threshold_is_decided_as_the_page_says(row: dict[str, str]) -> None:
    rubric = catalog().get_rubric("self-attention-and-transformers/c-i")
    verdict = judge_formula(rubric, "q", code(row["q"]))
    evidence = verdict.evidence

    assert evidence.share is not None
    assert evidence.key_sets is not None
    assert percent(evidence.share, 2) == row["share"]
    assert grouped(evidence.key_sets) == row["key sets"]
    assert f"`{verdict.outcome}` (`{verdict.reason}`)" == row["outcome"]


@pytest.mark.parametrize("row", table("question").rows, ids=lambda row: row["question"])
def test_copied_numbers_pass_by_chance_as_often_as_the_page_says(row: dict[str, str]) -> None:
    rubric = catalog().get_rubric(code(row["question"]))
    judge = Judge(rubric.question, DEVELOPMENT_KEYS)
    drawn = [judge.variant(f"example-{number}") for number in range(VARIANTS + 1)]
    copied = [_copied(rubric, own, other) for own, other in pairwise(drawn)]
    judged = judge.judge(copied, recognising=False)
    share = sum(each.verdict("weights").credit > 0 for each in judged) / VARIANTS

    assert f"{grouped(VARIANTS)} variants" in " ".join(PAGE.read_text(encoding="utf-8").split())
    assert percent(share, 2 if share < 0.01 else 1) == row["earns credit for the weights"]
    if row["at most"]:
        assert share <= float(row["at most"].removesuffix(" %")) / 100


def _copied(rubric: Rubric, own: Variant, other: Variant) -> Submission:
    """Numbers that another student would have sent, sent for one's own variant."""
    drawn = stack_variants([other])
    sent = {
        name: evaluate_finite(rubric.read_field(name, text), drawn)[0, 0].tolist()
        for name, text in COPIED[rubric.id].items()
    }
    answer = read_answer(sent, rubric.question.fields, stack_variants([own]))
    return Submission(own, answer)
