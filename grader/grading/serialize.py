"""Judgements and variants as plain data, for the store, and back."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from grader.domain.verdicts import Evidence, Interval, Outcome, Reason, Scaling, Verdict
from grader.engine.judge.judge import Judgement
from grader.engine.judge.misconceptions import RecognisedMisconception
from grader.engine.random.variants import Variant
from grader.feedback.base import hash_bytes
from grader.store.queries.attempts import JudgementLine

_LITTLE_ENDIAN = np.dtype("<f8")
_NO_EVIDENCE = tuple(zip(Evidence._fields, Evidence(), strict=True))


def encode_verdicts(judgement: Judgement) -> list[dict[str, Any]]:
    """The verdicts of a judgement; what evidence leaves open is left out."""
    return [
        {
            "criterion": each.criterion,
            "outcome": each.outcome.value,
            "reason": each.reason.value,
            "credit": str(each.credit),
            "possible": str(each.possible),
            "evidence": _encode_evidence(each.evidence),
        }
        for each in judgement.verdicts
    ]


def _encode_evidence(evidence: Evidence) -> dict[str, Any]:
    data = {}
    for value, (name, usual) in zip(evidence, _NO_EVIDENCE, strict=True):
        if value is not usual and value != usual:
            data[name] = [value.low, value.high] if isinstance(value, Interval) else value
    return data


def encode_misconceptions(judgement: Judgement) -> list[dict[str, Any]]:
    """The misconceptions of a judgement, as the student was told."""
    return [
        {"id": each.id, "say": each.say, "factor": each.factor} for each in judgement.misconceptions
    ]


class EncodedJudgement(NamedTuple):
    """The documents of a judgement in the bytes that are stored."""

    verdicts: bytes
    misconceptions: bytes


def encode_judgement(judgement: Judgement) -> EncodedJudgement:
    """A judgement as it is stored."""
    return EncodedJudgement(
        orjson.dumps(encode_verdicts(judgement)), orjson.dumps(encode_misconceptions(judgement))
    )


class _RecordedAttempt(Protocol):
    """What the digest covers of an attempt."""

    @property
    def number(self) -> int: ...
    @property
    def publication_id(self) -> str: ...
    @property
    def uses_attempt_id(self) -> str | None: ...
    @property
    def repeats_attempt_id(self) -> str | None: ...


def hash_record(
    encoded: EncodedJudgement,
    attempt: _RecordedAttempt,
    *,
    stored_at: datetime,
    judged_at: datetime,
    regrade_id: str | None = None,
) -> str:
    """A digest of a judgement as it is stored, and of what its receipt does not say otherwise.

    It is over the bytes that are stored, so that nothing is encoded or sorted a second time.
    """
    about: tuple[object, ...] = (
        attempt.number,
        attempt.publication_id,
        attempt.uses_attempt_id,
        attempt.repeats_attempt_id,
        _format_time(stored_at),
        _format_time(judged_at),
    )
    if regrade_id is not None:
        about = (*about, regrade_id)
    # JSON as it is written here has no line breaks.
    return hash_bytes(b"\n".join((encoded.verdicts, encoded.misconceptions, orjson.dumps(about))))


def _format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def decode_judgement(line: JudgementLine) -> Judgement:
    """A judgement as it was stored."""
    return Judgement(
        tuple(_decode_verdict(each) for each in line.verdicts),
        tuple(RecognisedMisconception(**each) for each in line.misconceptions),
    )


def find_open_points(line: JudgementLine) -> tuple[Decimal, bool]:
    """Points of what was sent and is to be graded by a person, and whether one must look."""
    pending, needs_person = Decimal(0), False
    for each in line.verdicts:
        outcome, reason = each["outcome"], each["reason"]
        if outcome == Outcome.PENDING and reason != Reason.NOT_SENT:
            pending += Decimal(each["possible"])
        needs_person |= reason == Reason.UNDECIDED or outcome == Outcome.UNGRADABLE
    return pending, needs_person


def _decode_verdict(data: dict[str, Any]) -> Verdict:
    evidence = dict(data["evidence"])
    for name in ("interval", "expected"):
        if name in evidence:
            evidence[name] = Interval(*evidence[name])
    # Older evidence does not say why; an overflow was the rare case.
    if evidence.pop("is_shrunk", False):
        evidence["scaling"] = Scaling.SATURATED
    evidence["scaling"] = Scaling(evidence.get("scaling", Scaling.NONE))
    return Verdict(
        criterion=data["criterion"],
        outcome=Outcome(data["outcome"]),
        reason=Reason(data["reason"]),
        credit=Decimal(data["credit"]),
        possible=Decimal(data["possible"]),
        evidence=Evidence(**evidence),
    )


def encode_variant(variant: Variant) -> dict[str, Any]:
    """All draws of a variant in full precision."""
    return {
        "values": {name: _encode_array(value) for name, value in variant.values.items()},
        "indices": dict(variant.indices),
    }


def _encode_array(array: NDArray[np.float64]) -> dict[str, Any]:
    """The shape, and the bytes of the numbers: half of their digits, and read much faster."""
    content = np.ascontiguousarray(array, dtype=_LITTLE_ENDIAN).tobytes()
    return {"shape": list(array.shape), "base64": base64.b64encode(content).decode()}


def _decode_array(data: Any) -> NDArray[np.float64]:
    if isinstance(data, dict):
        content = base64.b64decode(data["base64"], validate=True)
        array = np.frombuffer(content, dtype=_LITTLE_ENDIAN).reshape(data["shape"])
        return array.astype(np.float64, copy=False)
    # Variants that were stored earlier have their numbers as lists.
    return np.asarray(data, dtype=np.float64)


def decode_variant(name: str, data: dict[str, Any]) -> Variant:
    """A variant as it was stored."""
    values = {key: _decode_array(value) for key, value in data["values"].items()}
    return Variant(name, values, data["indices"])
