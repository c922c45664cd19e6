"""Judge much more than the tests do: model answers on many variants, numbers against formulas.

Usage: python -m tools.truth [VARIANTS] [QUERIES]
"""

from __future__ import annotations

import sys

import numpy as np

from grader.engine.judge.judge import Judge
from grader.engine.random.noise import NoiseBank
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.rubric.catalog import Rubric, get_shipped_folder, load_catalog
from grader.rubric.examples import make_submission

#: The parts with one query for orthonormal keys, and their family. All variants are alike there,
#: so that a formula and its numbers must earn the same.
QUERIES = {
    "attention-exploration/3b": "k",
    "attention-exploration/3c-i": "mu",
    "self-attention-and-transformers/b-ii": "k",
    "self-attention-and-transformers/c-i": "mu",
    "single-head-attention/1c": "k",
    "single-head-attention/1e": "mu",
}


def count_losses(rubric: Rubric, variants: int) -> tuple[int, int]:
    """How many model answers were judged, and how many of them lost anything."""
    judge = Judge(rubric.question, DEVELOPMENT_KEYS, NoiseBank())
    drawn = [judge.variant(f"truth-{number}") for number in range(variants)]
    judged = lost = 0
    for example in rubric.form.examples:
        if example.refused or example.of == "another" or example.rounded is not None:
            continue
        first = make_submission(rubric, example, judge, drawn[0], drawn[0])
        (judgement,) = judge.judge([first], recognising=False)
        if not judgement.is_solved or not judgement.score.automatic:
            continue
        submissions = [make_submission(rubric, example, judge, each, each) for each in drawn]
        results = judge.judge(submissions, recognising=False)
        judged += len(results)
        lost += sum(not each.is_solved for each in results)
    return judged, lost


def count_flips(rubric: Rubric, family: str, queries: int) -> int:
    """How often a random query earned something else as numbers than as a formula."""
    judge = Judge(rubric.question, DEVELOPMENT_KEYS, NoiseBank())
    generator = np.random.default_rng(1)
    names = [name for name in judge.question.given if name in judge.variant("0").indices]
    flips = 0
    for number in range(queries):
        variant = judge.variant(f"truth-{number}")
        size = 10.0 ** generator.uniform(-1, 6)
        factors = size * (
            1 + generator.choice([0, 1e-4, 1e-2, 0.5]) * generator.normal(size=len(names))
        )
        text = " + ".join(
            f"{float(factor)!r} {family}_{name}"
            for factor, name in zip(factors, names, strict=True)
        )
        rows = variant.values[family]
        query = sum(
            factor * rows[variant.indices[name]]
            for factor, name in zip(factors, names, strict=True)
        )
        formula, numbers = (
            judge.judge([judge.prepare(variant, {"q": q})], recognising=False)[0]
            for q in (text, np.asarray(query).tolist())
        )
        flips += formula.score != numbers.score
    return flips


def main() -> None:
    """Print a line for each part."""
    variants, queries = (int(each) for each in (*sys.argv[1:], "200", "1000")[:2])
    for rubric in load_catalog(get_shipped_folder()).rubrics():
        judged, lost = count_losses(rubric, variants)
        line = f"{rubric.id}: {lost} of {judged} model answers lost anything"
        if rubric.id in QUERIES:
            flips = count_flips(rubric, QUERIES[rubric.id], queries)
            line += f"; {flips} of {queries} queries differ between numbers and formula"
        print(line, flush=True)


if __name__ == "__main__":
    main()
