"""The client's one exception, whose text reads well at the end of a traceback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.client.layout import wrap_text
from grader.errors import AnswerRefused, KeysetError

UNREADABLE = "reply.unreadable"

_NO_ATTEMPT_USED = "No attempt was used."
_OUTCOME_UNKNOWN = (
    "It is not known whether the attempt counts. Call resume(), or submit the same answer again: "
    "it counts only once."
)


@dataclass(frozen=True, slots=True)
class ProblemPlace:
    """One part of the request that must change, as a JSON pointer, and what belongs there."""

    pointer: str
    detail: str
    code: str = ""
    expected: str = ""
    got: str = ""
    hint: str = ""
    column: int | None = None


class ClientError(KeysetError):
    """The service refused, did not answer, or the answer cannot be sent.

    Parameters
    ----------
    detail
        The reason as a sentence.
    code
        The stable name of the error; the service explains its codes at ``/docs/errors``.
    status
        The HTTP status; None if there was no response.
    request_id
        The id to give to the operator.

    Attributes
    ----------
    is_unknown
        Whether it is unknown if the attempt counts. Sending the same answer again is safe.
    """

    def __init__(
        self,
        detail: str,
        *,
        code: str,
        status: int | None = None,
        places: Sequence[ProblemPlace] = (),
        hint: str = "",
        request_id: str = "",
    ) -> None:
        self.detail = detail
        self.status = status
        self.places = tuple(places)
        self.is_unknown = False
        self.request_id = request_id
        super().__init__(detail, hint=hint)
        self.code = code

    def __str__(self) -> str:
        """The reason, then each place on its own lines."""
        only = self.places[0] if len(self.places) == 1 else None
        hint = "" if only and only.hint == self.hint else self.hint
        lines = [wrap_text(" ".join(filter(None, [self.detail, hint])))]
        for place in self.places:
            lines.append("")
            lines += _format_place(place, has_detail=not self.detail.startswith(place.detail))
        request = f", request {self.request_id}" if self.request_id else ""
        return "\n".join([*lines, "", f"({self.code}{request})"])


def _format_place(place: ProblemPlace, *, has_detail: bool) -> list[str]:
    column = f", column {place.column}" if place.column is not None else ""
    facts = {"expected": place.expected, "got": place.got, "hint": place.hint}
    lines = [f"  {place.pointer}{column}"]
    if has_detail:
        lines.append(wrap_text(place.detail, indent=4))
    lines += [
        wrap_text(text, indent=14, first=f"    {name:<10}") for name, text in facts.items() if text
    ]
    return lines


def make_answer_error(refused: AnswerRefused) -> ClientError:
    """The error for an answer that was refused before it was sent."""
    places = [
        ProblemPlace(
            each.pointer, each.message, each.code, each.expected, each.got, each.hint, each.column
        )
        for each in refused.errors
    ]
    detail = places[0].detail
    if len(places) > 1:
        detail = f"{len(places)} parts of the answer must change."
    return ClientError(f"{detail} Nothing was sent.", code=refused.code, places=places)


def make_problem_error(problem: Mapping[str, Any], *, status: int, is_free: bool) -> ClientError:
    """The error for a problem document of the service; `is_free` adds that no attempt was used."""
    code = str(problem.get("code", ""))
    detail = str(problem.get("detail") or problem.get("title") or f"The service answered {status}.")
    if status == 401:
        detail = f"The token was not accepted: {detail}"
    elif status == 404 and problem.get("instance"):
        detail = f"{detail} ({problem['instance']})"
    is_free = is_free and not problem.get("attempt_used")
    if is_free and "no attempt was used" not in detail.lower():
        detail = f"{detail} {_NO_ATTEMPT_USED}"
    listed = problem.get("errors")
    places = listed if isinstance(listed, list) else []
    return ClientError(
        detail,
        code=code,
        status=status,
        places=[_from_problem(each) for each in places if isinstance(each, Mapping)],
        hint=str(problem.get("hint") or ""),
        request_id=str(problem.get("request_id") or ""),
    )


def _from_problem(data: Mapping[str, Any]) -> ProblemPlace:
    column = data.get("column")
    words = {
        name: str(data.get(name) or "")
        for name in ("pointer", "detail", "code", "expected", "got", "hint")
    }
    return ProblemPlace(**words, column=column if isinstance(column, int) else None)


def set_outcome_unknown(error: ClientError) -> ClientError:
    """Mark an error: it is not known whether the attempt counts."""
    error.is_unknown = True
    error.hint = f"{error.hint} {_OUTCOME_UNKNOWN}".strip()
    return error


def make_unreadable_error(status: int | None = None) -> ClientError:
    """The error for a response that is not Keyset's, or of an incompatible version."""
    return ClientError(
        "The response cannot be read; it may not come from Keyset.",
        code=UNREADABLE,
        status=status,
        hint="Check the address of the service.",
    )
