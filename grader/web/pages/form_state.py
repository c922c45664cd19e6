"""What somebody typed into a form, with what is wrong beside the field it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.errors import KeysetError
from grader.web.errors.model import Problem
from grader.web.errors.problems import to_problem


@dataclass(frozen=True, slots=True)
class FormState:
    """A form as it was typed; one that nobody has sent yet is empty and has no problem."""

    fields: Mapping[str, str] = field(default_factory=dict)
    problem: Problem | None = None

    @classmethod
    def refused(cls, fields: Mapping[str, str], error: KeysetError) -> FormState:
        """A form that could not be used."""
        return cls(fields, to_problem(error))

    @property
    def status(self) -> int:
        """The status of the page that shows it."""
        return self.problem.status if self.problem else 200

    def get(self, name: str, usual: str = "") -> str:
        """What stands in a field; the usual where nothing was sent."""
        return self.fields.get(name, usual)

    def has(self, name: str) -> bool:
        """Whether a box is ticked."""
        return name in self.fields

    def faults(self, name: str) -> list[str]:
        """What is wrong with a field, as sentences."""
        places = self.problem.errors if self.problem else ()
        return [each.detail for each in places if _is_about(each.pointer, name)]

    def other_faults(self, *names: str) -> list[str]:
        """What is wrong and belongs to none of the fields of these names."""
        if self.problem is None:
            return []
        if not self.problem.errors:
            return [self.problem.detail]
        return [
            each.detail
            for each in self.problem.errors
            if not any(_is_about(each.pointer, name) for name in names)
        ]


def _is_about(pointer: str, name: str) -> bool:
    """Whether a pointer such as #/due_at, or #/csv/1/login, ends at a field or goes into it."""
    parts = pointer.removeprefix("#/").split("/")
    return name in (parts[0], parts[-1])
