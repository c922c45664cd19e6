from __future__ import annotations

import json
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from grader.domain.verdicts import Evidence, Interval, Outcome, Reason, Scaling, Verdict
from grader.engine.judge.judge import Judgement
from grader.engine.random.variants import Variant
from grader.grading.serialize import (
    decode_judgement,
    decode_variant,
    encode_variant,
    encode_verdicts,
)


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

    assert decoded([data]).evidence == evidence._replace(scaling=Scaling.SATURATED)


def test_a_variant_is_the_same_to_the_last_bit_after_it_was_stored() -> None:
    values = {"mu": np.random.default_rng(1).normal(size=(3, 5)), "beta": np.array(1 / 3)}
    stored = json.loads(json.dumps(encode_variant(Variant("ada", values, {"a": 2}))))

    again = decode_variant("ada", stored)

    assert dict(again.indices) == {"a": 2}
    assert {name: each.shape for name, each in again.values.items()} == {"mu": (3, 5), "beta": ()}
    assert all((again.values[name] == each).all() for name, each in values.items())


def test_a_variant_that_was_stored_as_lists_is_readable() -> None:
    again = decode_variant("ada", {"values": {"mu": [[1.5, 2], [3, 4]]}, "indices": {}})

    assert again.values["mu"].tolist() == [[1.5, 2], [3, 4]]
