"""Who may do what: roles of people in a course, and scopes of tokens."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property


class Role(StrEnum):
    """A person's role in a course run, from the least to the most."""

    STUDENT = "student"
    ASSISTANT = "assistant"
    INSTRUCTOR = "instructor"

    @cached_property
    def rank(self) -> int:
        """Roles of a higher rank may do all that lower ones may."""
        return list(Role).index(self)


class Scope(StrEnum):
    """What a token may be used for; it never gives more than its owner may."""

    READ = "course:read"
    """See courses, assignments, questions and one's own attempts."""
    SUBMIT = "attempts:write"
    """Check and send answers."""
    GRADES_READ = "grades:read"
    """See everybody's grades and attempts, statistics, and what waits for review."""
    GRADES_WRITE = "grades:write"
    """Review written parts, override scores, enter scores from outside, give extensions."""
    ROSTER = "roster:write"
    """See and change who takes part, and make sign-in links."""
    PUBLISH = "rubrics:write"
    """Put rubrics in force."""
    TOKENS = "tokens:write"
    """Make and revoke tokens."""
    JUDGE = "judge"
    """Judge answers without storing anything."""
    METRICS = "metrics:read"
    """See the metrics of the service; only operators may."""


#: The scopes of a token that was created without naming any.
STUDENT_SCOPES = frozenset({Scope.READ, Scope.SUBMIT})
ALL_SCOPES = frozenset(Scope)
