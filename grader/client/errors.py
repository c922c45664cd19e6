"""What goes wrong, as one exception that reads well at the end of a traceback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.client.layout import wrap_text
from grader.errors import AnswerRefused, FieldError, KeysetError

UNREADABLE = "reply.unreadable"

_NO_ATTEMPT_USED = "No attempt was used."
_OUTCOME_UNKNOWN = (
    "It is not known whether the attempt counts. Calling resume(), or submitting the same again, "
    "is safe: it counts once at most."
)


@dataclass(frozen=True, slots=True)
class ProblemPlace:
    """One place that needs a change, as a JSON pointer, with what belongs there."""

    pointer: str
    detail: str
    code: str = ""
    expected: str = ""
    got: str = ""
    hint: str = ""
    column: int | None = None


class ClientError(KeysetError):
    """Something that could not be done, with the reason.

    Parameters
    ----------
    detail
        The reason as a sentence.
    code
        Its stable name; the service's own are explained at ``/docs/errors``.
    status
        The HTTP status; None where the service did not answer, or was not asked.
    request_id
        What to tell the operator.

    Attributes
    ----------
    is_unknown
        Whether it is not known if the attempt counts. Then sending the same again is safe.
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
        """The sentence, then each place on lines of its own."""
        only = self.places[0] if len(self.places) == 1 else None
        hint = "" if only and only.hint == self.hint else self.hint
        lines = [wrap_text(" ".join(filter(None, [self.detail, hint])))]
        for place in self.places:
            lines.append("")
            lines += _format_place(place, says_detail=not self.detail.startswith(place.detail))
        told = f"({self.code}, request {self.request_id})" if self.request_id else f"({self.code})"
        return "\n".join([*lines, "", told])


def _format_place(place: ProblemPlace, *, says_detail: bool) -> list[str]:
    column = f", column {place.column}" if place.column is not None else ""
    facts = {
        "expected": place.expected,
        "got": place.got,
        "hint": place.hint,
    }
    lines = [f"  {place.pointer}{column}"]
    if says_detail:
        lines.append(wrap_text(place.detail, indent=4))
    lines += [
        wrap_text(text, indent=14, first=f"    {name:<10}") for name, text in facts.items() if text
    ]
    return lines


def make_answer_error(refused: AnswerRefused) -> ClientError:
    """The error of an answer that was refused before it was sent."""
    places = [_from_field_error(each) for each in refused.errors]
    detail = places[0].detail
    if len(places) > 1:
        detail = f"{len(places)} places of the answer need a change."
    return ClientError(f"{detail} Nothing was sent.", code=refused.code, places=places)


def _from_field_error(error: FieldError) -> ProblemPlace:
    return ProblemPlace(
        pointer=error.pointer,
        detail=error.message,
        code=error.code,
        expected=error.expected,
        got=error.got,
        hint=error.hint,
        column=error.column,
    )


def make_problem_error(problem: Mapping[str, Any], *, status: int, says_free: bool) -> ClientError:
    """The error of a problem that the service answered with.

    `says_free` is for answers that were refused: it is said that no attempt was used.
    """
    code = str(problem.get("code", ""))
    detail = str(problem.get("detail") or problem.get("title") or f"The answer was {status}.")
    if status == 401:
        detail = f"The token is not accepted: {detail}"
    elif status == 404 and problem.get("instance"):
        detail = f"{detail} ({problem['instance']})"
    is_free = says_free and not problem.get("attempt_used")
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


def _from_problem(told: Mapping[str, Any]) -> ProblemPlace:
    column = told.get("column")
    words = {
        name: str(told.get(name) or "")
        for name in ("pointer", "detail", "code", "expected", "got", "hint")
    }
    return ProblemPlace(**words, column=column if isinstance(column, int) else None)


def set_outcome_unknown(error: ClientError) -> ClientError:
    """The error, saying that it is not known whether the attempt counts."""
    error.is_unknown = True
    error.hint = f"{error.hint} {_OUTCOME_UNKNOWN}".strip()
    return error


def make_unreadable_error(status: int | None = None) -> ClientError:
    """The error of an answer that is not Keyset's, or of another version of it."""
    return ClientError(
        "The answer cannot be understood; it may not come from Keyset.",
        code=UNREADABLE,
        status=status,
        hint="Look at the address that the client was made with.",
    )
