"""Checks of a receipt that need neither the rubric nor the keys: signature, hashes, points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from grader.domain.verdicts import Verdict, combine
from grader.feedback.receipt import hash_answer, hash_verdicts
from grader.grading.receipts.bundle import Bundle
from grader.grading.signing import compute_key_id, verify_signature


class CheckState(StrEnum):
    """How a check came out."""

    AGREES = "agrees"
    DIFFERS = "differs"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class ReplayCheck:
    """The result of one check and a sentence about it; open if it cannot be done yet."""

    name: str
    state: CheckState
    text: str


def make_check(name: str, agrees: bool, fine: str, otherwise: str) -> ReplayCheck:
    """The result of a check that was done."""
    return ReplayCheck(
        name, CheckState.AGREES if agrees else CheckState.DIFFERS, fine if agrees else otherwise
    )


def check_signature(bundle: Bundle, key: str | None) -> Iterator[ReplayCheck]:
    """Check that the receipt is unchanged since it was signed, and by whose key."""
    receipt = bundle.receipt
    public = bundle.public_key if bundle.public_key is not None else key
    if receipt.signature is None and receipt.attempt is None and key is None:
        text = "Nothing was stored or signed: this receipt is not from a service."
        yield ReplayCheck("signature", CheckState.OPEN, text)
        return
    yield make_check(
        "signature",
        public is not None and verify_signature(receipt, public),
        "The receipt is as it was signed.",
        "The receipt has no valid signature: something in it is not as it was signed.",
    )
    if key is None:
        text = (
            f"Compare {_format_key_id(public)} with the key that the service publishes, "
            "or give --key."
        )
        yield ReplayCheck("signer", CheckState.OPEN, text)
    else:
        yield make_check(
            "signer",
            verify_signature(receipt, key),
            "The key that you gave is the one that signed it.",
            "The key that you gave is not the one that signed it.",
        )


def _format_key_id(public: str | None) -> str:
    try:
        return compute_key_id(public or "")
    except ValueError:
        return "the key"


def check_contents(bundle: Bundle) -> Iterator[ReplayCheck]:
    """Check the hashes of what the student has, and that the points add up."""
    receipt = bundle.receipt
    yield make_check(
        "answer",
        hash_answer(bundle.answer) == receipt.answer,
        "The answer is the one that the receipt is for.",
        "The answer is not the one that the receipt is for.",
    )
    sent = bundle.uses.answer if bundle.uses is not None else None
    # The earlier answer is withheld together with the verdicts.
    if receipt.used_answer or (sent is not None and receipt.verdicts is not None):
        yield make_check(
            "earlier answer",
            sent is not None and hash_answer(sent) == receipt.used_answer,
            "The earlier answer is the one that the receipt is for.",
            "The earlier answer is not the one that the receipt is for.",
        )
    if receipt.verdicts is None and receipt.score is None and bundle.verdicts is None:
        text = "Verdicts and points are withheld for now."
        yield ReplayCheck("reported", CheckState.OPEN, text)
        return
    yield make_check(
        "reported",
        bundle.verdicts is not None and hash_verdicts(bundle.verdicts) == receipt.verdicts,
        "The verdicts are the ones that the receipt is for.",
        "The verdicts are not the ones that the receipt is for.",
    )
    yield make_check(
        "score",
        _adds_up(bundle),
        "The points are what the verdicts add up to.",
        "The points are not what the verdicts add up to.",
    )


def _adds_up(bundle: Bundle) -> bool:
    possible = {each.id: each.points for each in bundle.question.criteria}
    lines = bundle.verdicts or ()
    if [line.criterion for line in lines] != list(possible):
        return False
    score = combine(
        Verdict(line.criterion, line.outcome, line.reason, line.credit, possible[line.criterion])
        for line in lines
    )
    receipt = bundle.receipt
    return (score.awarded, score.possible) == (receipt.score, receipt.max_score)
