from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from grader.domain.verdicts import Evidence, Interval, Outcome, Reason, Scaling, Verdict
from grader.engine.judge.judge import Judgement
from grader.grading.serialize import decode_judgement, encode_verdicts


def decoded(verdicts: Any) -> Verdict:
    line: Any = SimpleNamespace(verdicts=json.loads(json.dumps(verdicts)), misconceptions=[])
    (verdict,) = decode_judgement(line).verdicts
    return verdict


@pytest.mark.parametrize(
    "evidence",
    [
        Evidence(),
        Evidence(0.1, 0.02, scaling=Scaling.SATURATED),
        Evidence(0.1, 0.02, scaling=Scaling.OVERFLOW),
        Evidence(0.25, 0.04, expected=Interval(0.2, 0.2), is_exact=True),
        Evidence(0.3, 0.02, True, 0.4, 0.99, Interval(0.3, 0.5), 2000, 2100),
    ],
)
def test_evidence_is_the_same_after_it_was_stored(evidence: Evidence) -> None:
    verdict = Verdict("x", Outcome.NOT_MET, Reason.HOLDS, Decimal(0), Decimal(1), evidence)
    again = decoded(encode_verdicts(Judgement((verdict,))))

    assert again == verdict
    assert isinstance(again.evidence.scaling, Scaling)


def test_evidence_from_before_scalings_were_told_apart_is_readable() -> None:
    evidence = Evidence(0.5, 0.1)
    verdict = Verdict("x", Outcome.NOT_MET, Reason.HOLDS, Decimal(0), Decimal(1), evidence)
    (data,) = encode_verdicts(Judgement((verdict,)))
    data["evidence"]["is_shrunk"] = True

    assert decoded([data]).evidence == replace(evidence, scaling=Scaling.SATURATED)
