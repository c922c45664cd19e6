"""Judgements and variants as plain data, for the store, and back."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import Any

import numpy as np

from grader.domain.verdicts import Evidence, Interval, Outcome, Reason, Verdict
from grader.engine.judge.judge import Judgement
from grader.engine.judge.misconceptions import Recognised
from grader.engine.random.variants import Variant
from grader.store.queries.attempts import JudgementLine

_NOTHING = Evidence()


def verdicts_to_data(judgement: Judgement) -> list[dict[str, Any]]:
    """The verdicts of a judgement; what evidence leaves open is left out."""
    return [
        {
            "criterion": each.criterion,
            "outcome": each.outcome.value,
            "reason": each.reason.value,
            "credit": str(each.credit),
            "possible": str(each.possible),
            "evidence": _evidence_to_data(each.evidence),
        }
        for each in judgement.verdicts
    ]


def _evidence_to_data(evidence: Evidence) -> dict[str, Any]:
    data = {}
    for field in fields(Evidence):
        value = getattr(evidence, field.name)
        if value != getattr(_NOTHING, field.name):
            data[field.name] = [value.low, value.high] if isinstance(value, Interval) else value
    return data


def misconceptions_to_data(judgement: Judgement) -> list[dict[str, Any]]:
    """The misconceptions of a judgement, as the student was told."""
    return [
        {"id": each.id, "say": each.say, "factor": each.factor} for each in judgement.misconceptions
    ]


def judgement_from(line: JudgementLine) -> Judgement:
    """A judgement as it was stored."""
    return Judgement(
        tuple(_verdict(each) for each in line.verdicts),
        tuple(Recognised(**each) for each in line.misconceptions),
    )


def _verdict(data: dict[str, Any]) -> Verdict:
    evidence = dict(data["evidence"])
    for name in ("interval", "expected"):
        if name in evidence:
            evidence[name] = Interval(*evidence[name])
    return Verdict(
        criterion=data["criterion"],
        outcome=Outcome(data["outcome"]),
        reason=Reason(data["reason"]),
        credit=Decimal(data["credit"]),
        possible=Decimal(data["possible"]),
        evidence=Evidence(**evidence),
    )


def variant_to_data(variant: Variant) -> dict[str, Any]:
    """All draws of a variant in full precision."""
    return {
        "values": {name: value.tolist() for name, value in variant.values.items()},
        "indices": dict(variant.indices),
    }


def variant_from(name: str, data: dict[str, Any]) -> Variant:
    """A variant as it was stored."""
    values = {key: np.asarray(value, dtype=np.float64) for key, value in data["values"].items()}
    return Variant(name, values, data["indices"])
