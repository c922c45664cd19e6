"""Receipts: what a grade rests on, by hashes, and what came out.

Anyone who holds the hashed material can judge again and compare; anyone else learns nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, Field, PlainSerializer

from grader import __version__
from grader.domain.verdicts import Outcome, Reason, Verdict
from grader.engine.judge.cases import Submission, UsedAnswer
from grader.engine.judge.judge import Judge, Judgement
from grader.engine.question import Question
from grader.engine.random.keysets import GaussianKeys, InSpan
from grader.engine.random.noise import hash_numbers
from grader.engine.sample.context import to_nine_digits
from grader.feedback.base import Points, ReportModel, hash_bytes, to_canonical_json


def _to_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("this is before the first or after the last year") from None


def _format_credit(credit: Decimal) -> str:
    return f"{credit.normalize():f}"


def _is_none(value: object) -> bool:
    return value is None


#: A moment, written as RFC 3339 in UTC wherever it came from.
UtcTime = Annotated[AwareDatetime, AfterValidator(_to_utc)]
#: A share of the points, exact: a third of them has no short JSON number.
Credit = Annotated[
    Decimal,
    Field(ge=0, le=1, max_digits=41, decimal_places=40),
    PlainSerializer(_format_credit, return_type=str, when_used="json"),
]
#: Points that came from outside and were not computed here.
BoundedPoints = Annotated[Points, Field(ge=0, le=1_000_000, decimal_places=2)]


class VerdictLine(ReportModel):
    """A verdict without its figures, whose last bits differ between machines."""

    criterion: str
    outcome: Outcome
    reason: Reason
    credit: Credit


class Receipt(ReportModel):
    """What a grade rests on, by hashes, and what came out of it.

    A hash is empty where there is nothing to hash: nothing was sampled, no earlier part was used.
    `attempt`, `course` and `received_at` are None where nothing is stored, `key` and `signature`
    where nothing is signed, `verdicts` and `score` where they are withheld for now. `judgement` is
    left out where it is None: nothing is stored, it is withheld, or the receipt is older.
    """

    attempt: str | None
    course: str | None
    question: str
    variant: str
    received_at: UtcTime | None
    answer: str
    """Of the answer as it was sent."""
    rubric: str
    """Of the question's file."""
    streams: str
    """Of the keys that all draws and key sets come from."""
    noise: str
    """Of the raw normals of the first `key_sets` key sets."""
    key_sets: int
    used: str
    """Of the own earlier answer's numbers that this part was tried with, or `reference`."""
    used_answer: str
    """Of the student's own earlier answer as it was sent, also where it did not earn its use."""
    used_rubric: str
    """Of the earlier question's file."""
    verdicts: str | None
    score: BoundedPoints | None
    max_score: BoundedPoints
    engine: str
    key: str | None
    signature: str | None
    judgement: str | None = Field(default=None, exclude_if=_is_none)
    """Of the judgement as it is stored, with figures, misconceptions and times."""


#: The fields of a receipt as JSON has them: in this form it is signed, stored and sent.
ReceiptFields = dict[str, Any]


def compose_receipt(
    judge: Judge, submission: Submission, judgement: Judgement, *, versions: tuple[str, str]
) -> Receipt:
    """The receipt of a judgement that is not stored, not signed either."""
    fields = compose_receipt_fields(judge, submission, judgement, versions=versions)
    score = judgement.score
    return Receipt(**fields | {"score": score.awarded, "max_score": score.possible})


def compose_receipt_fields(
    judge: Judge,
    submission: Submission,
    judgement: Judgement,
    *,
    versions: tuple[str, str],
    answer_digest: str | None = None,
    attempt: str | None = None,
    course: str | None = None,
    received_at: datetime | None = None,
    record: str | None = None,
) -> ReceiptFields:
    """The receipt of a judgement, not yet signed.

    A model of it takes longer to make and to dump than everything else here.

    Parameters
    ----------
    versions
        The hashes of the rubric and of the earlier question's, empty where there is none.
    answer_digest
        The digest of the answer, where it is known already.
    attempt, course, received_at
        Where the attempt is stored; the time must be aware.
    record
        The digest of the judgement as it is stored, where it is.
    """
    drawn = _count_drawn(judge.question, judgement)
    rubric, used_rubric = versions
    fields = {
        "attempt": attempt,
        "course": course,
        "question": judge.question.id,
        "variant": submission.variant.id,
        "received_at": _format_time(received_at) if received_at else None,
        "answer": answer_digest or hash_answer(submission.sent),
        "rubric": rubric,
        "streams": hash_streams(judge),
        "noise": _hash_noise(judge, drawn),
        "key_sets": drawn,
        "used": hash_used(submission.used),
        "used_answer": hash_answer(submission.earlier) if submission.earlier is not None else "",
        "used_rubric": used_rubric,
        "verdicts": hash_verdicts(judgement.verdicts),
        "score": float(judgement.score.awarded),
        "max_score": float(judgement.score.possible),
        "engine": __version__,
        "key": None,
        "signature": None,
    }
    return fields if record is None else fields | {"judgement": record}


def _format_time(moment: datetime) -> str:
    """A moment as a model writes it."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def list_verdicts(verdicts: Iterable[Verdict]) -> tuple[VerdictLine, ...]:
    """Verdicts in the form that receipts are about."""
    return tuple(
        VerdictLine(
            criterion=each.criterion, outcome=each.outcome, reason=each.reason, credit=each.credit
        )
        for each in verdicts
    )


def hash_verdicts(verdicts: Iterable[VerdictLine | Verdict]) -> str:
    """A digest of verdicts in the order of the criteria."""
    return _hash_lines(
        tuple(
            (each.criterion, each.outcome.value, each.reason.value, _format_credit(each.credit))
            for each in verdicts
        )
    )


# A question has few possible verdicts, and a class gets the same ones again and again.
@lru_cache(maxsize=4096)
def _hash_lines(lines: tuple[tuple[str, str, str, str], ...]) -> str:
    names = tuple(VerdictLine.model_fields)
    return hash_bytes(to_canonical_json([dict(zip(names, line, strict=True)) for line in lines]))


def hash_answer(sent: Any) -> str:
    """A digest of an answer as it was sent, independent of the order of its fields."""
    return hash_bytes(to_canonical_json(sent))


def _count_drawn(question: Question, judgement: Judgement) -> int:
    """How many key sets were drawn for a judgement; zero where nothing is sampled."""
    if question.key_sets is None:
        return 0
    drawn = [verdict.evidence.drawn or 0 for verdict in judgement.verdicts]
    return max(question.key_sets.counts[0], *drawn)


def list_sources(question: Question) -> list[Question]:
    """The question, and the earlier ones whose keys its draws come from."""
    return [question, *(list_sources(question.uses.question) if question.uses else ())]


def hash_streams(judge: Judge) -> str:
    """A digest of the keys behind a grade: it binds them before they are published."""
    known, name = judge.question.known, ("streams", judge.context.key)
    if name not in known:
        sources = list_sources(judge.question)
        keys = (judge.keys.of(each.id, each.revision) for each in sources)
        known[name] = hash_bytes(b"".join(keys))
    return str(known[name])


def _hash_noise(judge: Judge, key_sets: int) -> str:
    """A digest of the raw normals that a grade rests on; empty where nothing is sampled."""
    if not key_sets:
        return ""
    # All students of a course run share it, and hashing megabytes takes longer than judging.
    known, name = judge.question.known, ("noise", judge.context.key, key_sets)
    if name not in known:
        source = judge.context.source(0, key_sets)
        arrays = [source.normals(each, axes) for each, axes in _list_quantities(judge.question)]
        known[name] = "sha256:" + hash_numbers(arrays)
    return str(known[name])


def hash_used(used: UsedAnswer | None) -> str:
    """A digest of the own earlier answer that a part was tried with; empty where there is none.

    Of nine digits, because a formula's last bits differ between machines. The reference follows
    from the rubric and the variant; its digest would only let students try out what it may be.
    """
    if used is None:
        return ""
    if not used.is_own:
        return "reference"
    numbers = {name: [to_nine_digits(x) for x in array.flat] for name, array in used.arrays.items()}
    return hash_bytes(to_canonical_json(numbers))


def _list_quantities(question: Question) -> list[tuple[str, tuple[int, ...]]]:
    assert question.key_sets is not None, "the caller looked"
    found: list[tuple[str, tuple[int, ...]]] = []
    for name, rule in question.key_sets.rules.items():
        match rule:
            case GaussianKeys():
                found.append((name, rule.mean.shape.axes))
                if rule.stretch is not None:
                    found.append((f"{name}/stretch", ()))
            case InSpan():
                found.append((name, (rule.basis.shape.columns,)))
    return found
