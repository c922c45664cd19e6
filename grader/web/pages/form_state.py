"""The state of a form: the submitted fields, and the errors of each field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.errors import ErrorDetail, KeysetError, MalformedRequest
from grader.web.errors.model import Problem
from grader.web.errors.problems import to_problem


@dataclass(frozen=True, slots=True)
class FormState:
    """A form; before it is submitted it has no fields and no problem."""

    fields: Mapping[str, str] = field(default_factory=dict)
    problem: Problem | None = None
    details: tuple[ErrorDetail, ...] = ()

    @classmethod
    def refused(cls, fields: Mapping[str, str], error: KeysetError) -> FormState:
        """A form that was refused."""
        details = error.faults if isinstance(error, MalformedRequest) else ()
        return cls(fields, to_problem(error), details)

    @property
    def status(self) -> int:
        """The HTTP status of the page that shows the form."""
        return self.problem.status if self.problem else 200

    def get(self, name: str, usual: str = "") -> str:
        """The value of a field; `usual` where it was not submitted."""
        return self.fields.get(name, usual)

    def has(self, name: str) -> bool:
        """Whether a box is ticked."""
        return name in self.fields

    def errors_of(self, name: str) -> list[str]:
        """The error messages of a field."""
        return [each.detail for each in self.details if _is_about(each, name)]

    def other_errors(self, *names: str) -> list[str]:
        """The error messages that belong to none of these fields."""
        if self.problem is None:
            return []
        if not self.details:
            return [self.problem.detail]
        return [
            each.detail for each in self.details if not any(_is_about(each, name) for name in names)
        ]


def _is_about(detail: ErrorDetail, name: str) -> bool:
    """Whether an error is about a field of the form, or about something inside it."""
    return bool(detail.path) and name in (detail.path[0], detail.path[-1])
