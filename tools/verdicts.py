"""Judge every example of every shipped rubric and print what came out, for a comparison of commits.

Usage: python -m tools.verdicts [VARIANTS] > verdicts.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from grader.engine.judge.judge import Judge
from grader.engine.random.noise import NoiseBank
from grader.engine.random.streams import DEVELOPMENT_KEYS
from grader.errors import AnswerRefused
from grader.rubric.catalog import Rubric, get_shipped_folder, load_catalog
from grader.rubric.examples import make_submission


def judge_examples(rubric: Rubric, variants: int) -> Iterator[dict[str, Any]]:
    """What comes out of each example on each variant."""
    judge = Judge(rubric.question, DEVELOPMENT_KEYS, NoiseBank())
    drawn = [judge.variant(f"example-{number}") for number in range(variants + 1)]
    for example in rubric.form.examples:
        for variant, other in pairwise(drawn):
            source = other if example.of == "another" else variant
            case = {"question": rubric.id, "example": example.name, "variant": variant.id}
            try:
                submission = make_submission(rubric, example, judge, variant, source)
            except AnswerRefused as refused:
                yield case | {"refused": refused.code}
                continue
            (judgement,) = judge.judge([submission])
            yield case | {
                "points": str(judgement.score.awarded),
                "pending": str(judgement.score.pending),
                "verdicts": [
                    [each.criterion, each.outcome, each.reason, str(each.credit)]
                    for each in judgement.verdicts
                ],
                "figures": [each.evidence.measured for each in judgement.verdicts],
                "misconceptions": [[each.id, each.factor] for each in judgement.misconceptions],
            }


def main() -> None:
    """Print one line for each example and variant."""
    variants = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for rubric in load_catalog(get_shipped_folder()).rubrics():
        for line in judge_examples(rubric, variants):
            print(json.dumps(line))


if __name__ == "__main__":
    main()
