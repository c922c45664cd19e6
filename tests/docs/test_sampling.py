"""docs/explanation/how-sampling-decides.md: its numbers, measured again."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest

from grader.domain.verdicts import Verdict
from grader.engine.confidence import compute_wilson_interval
from grader.engine.judge.cases import Submission
from grader.engine.judge.judge import Judge
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.engine.random.variants import Variant, stack_variants
from grader.formula.eval.evaluate import evaluate_finite
from grader.reading.answer import read_answer
from grader.rubric.catalog import Catalog, Rubric, get_shipped_folder, load_catalog, read_rubric
from tests.docs.pages import ROOT, Table, code, read_tables

PAGE = ROOT / "docs" / "explanation" / "how-sampling-decides.md"
TABLES = list(read_tables(PAGE.read_text(encoding="utf-8")))
VANISHING = "min(1e-12, (1e-3 / max(norm(q), 1))^2)"
VARIANTS = 1500

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
    cleared = next(n for n in range(tried + 1) if compute_wilson_interval(n, tried).low >= 0.99)
    missed = next(n for n in range(tried, -1, -1) if compute_wilson_interval(n, tried).high < 0.99)

    assert row["cleared from"] == f"{grouped(cleared)} ({percent(cleared / tried, 2)})"
    assert row["missed up to"] == f"{grouped(missed)} ({percent(missed / tried, 2)})"


@pytest.mark.parametrize("row", table("M").rows, ids=lambda row: row["M"])
def test_an_answer_near_the_threshold_is_decided_as_the_page_says(row: dict[str, str]) -> None:
    rubric = catalog().get_rubric("self-attention-and-transformers/b-i")
    verdict = judge_formula(rubric, "M", code(row["M"]))
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
