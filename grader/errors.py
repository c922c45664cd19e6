"""Every error that Keyset raises on purpose, sorted by who must act.

::

    KeysetError
    ├── AuthorError               a rubric or assignment file must be corrected
    │   ├── RubricError           … one mistake, with its file, line, column and field
    │   └── RubricErrors          … all mistakes of a file
    ├── StudentError              the answer must be sent again; nothing was judged, no attempt used
    │   ├── FieldError            … one place in the answer, with what was expected there
    │   └── AnswerRefused         … all places in the answer
    │       └── EarlierAnswerRefused    … in the earlier answer that a question builds on
    ├── FormulaError              a formula cannot be read or computed; with the column
    ├── RequestError              the caller must change the request
    │   ├── MalformedRequest      … body or parameters are not what the call takes
    │   ├── NotSignedIn           … no valid token and no session
    │   ├── ForgedRequest         … another site made a browser send it
    │   ├── MissingScope          … the token lacks a scope
    │   ├── MissingRole           … the person lacks a role in this course
    │   ├── NotFound              … it does not exist, or belongs to somebody else
    │   ├── RequestRefused        … valid, but impossible now: no attempts left, not open
    │   ├── ReusedIdempotencyKey  … the Idempotency-Key was used for another request
    │   ├── OutdatedVersion       … somebody else changed it since (If-Match)
    │   ├── MissingVersion        … it must name the version it changes (If-Match)
    │   └── TooManyRequests       … try again later
    ├── Unavailable               the service cannot do it now: the database is away, for example
    └── OperatorError             a command was called wrongly, or a file is missing

Authors and students both write formulas, so a ``FormulaError`` belongs to neither: the rubric
loader turns it into a ``RubricError``, the reader of answers into a ``FieldError``.

Only `grader.web.errors.problems` knows the HTTP status of each error.

A wrong answer is never an error. Any other exception is a defect of Keyset itself.
"""

from __future__ import annotations

from dataclasses import dataclass

#: An error lists at most this many places.
MAX_PLACES = 50


class KeysetError(Exception):
    """Base of all errors that are meant to be read by a person.

    ``message`` says what is wrong and ``hint`` what to do about it; the hint may be empty.
    """

    code = "keyset.error"

    def __init__(self, message: str, *, code: str = "", hint: str = "") -> None:
        self.message = message
        self.hint = hint
        if code:
            self.code = code
        super().__init__(message)


class OperatorError(KeysetError):
    """A command was called wrongly, or something it needs is missing."""

    code = "operator.error"


class AuthorError(KeysetError):
    """A rubric cannot be used in its present form."""

    code = "rubric.invalid"


@dataclass(frozen=True, slots=True)
class FileLocation:
    """A position in a text file; lines and columns count from one."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class RubricError(AuthorError):
    """One mistake in a rubric file, with its place and its field."""

    def __init__(self, message: str, *, place: FileLocation, field: str = "") -> None:
        self.place = place
        self.field = field
        super().__init__(message)

    def __str__(self) -> str:
        return ": ".join(filter(None, [str(self.place), self.field, self.message]))


class RubricErrors(AuthorError):
    """All mistakes in one rubric file."""

    def __init__(self, errors: list[RubricError]) -> None:
        self.errors = errors
        super().__init__("\n".join(map(str, errors)))


class FormulaError(KeysetError):
    """A formula that cannot be read or computed; ``column`` counts from one."""

    code = "formula.invalid"

    def __init__(self, message: str, *, column: int = 1, hint: str = "", code: str = "") -> None:
        self.column = column
        super().__init__(message, code=code, hint=hint)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class StudentError(KeysetError):
    """An answer that cannot be read. It is refused and uses no attempt."""

    code = "answer.invalid"


class FieldError(StudentError):
    """One place in an answer that cannot be read.

    Parameters
    ----------
    field
        The name of the answer's field; empty for the whole answer.
    path
        The place inside the field, as indices from zero: ``(1, 0)`` is row 2, entry 1.
    expected, got
        What the question asks for and what was sent, in words.
    column
        For text, the position of the mistake, counted from one.
    """

    def __init__(
        self,
        message: str,
        *,
        field: str,
        code: str,
        path: tuple[int, ...] = (),
        expected: str = "",
        got: str = "",
        hint: str = "",
        column: int | None = None,
    ) -> None:
        self.field = field
        self.path = path
        self.expected = expected
        self.got = got
        self.column = column
        super().__init__(message, code=code, hint=hint)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    @property
    def pointer(self) -> str:
        """The place as a JSON pointer into the request; an empty field is the whole answer."""
        return to_pointer(self._place)

    @property
    def detail(self) -> ErrorDetail:
        """The same place in the shape that all requests share."""
        return ErrorDetail(
            self._place, self.code, self.message, self.expected, self.got, self.hint, self.column
        )

    @property
    def _place(self) -> FieldPath:
        return ("answer", *filter(None, [self.field]), *self.path)


#: A field's place in a request: names and positions from the outside in.
FieldPath = tuple[str | int, ...]


def to_pointer(path: FieldPath, *, source: str = "body") -> str:
    """A field's place as a JSON pointer: ``#/scores/3/points``, or ``#query/limit``."""
    names = [str(each).replace("~", "~0").replace("/", "~1") for each in path]
    return "/".join(["#" if source == "body" else f"#{source}", *names])


class AnswerRefused(StudentError):
    """An answer that cannot be read, with up to `MAX_PLACES` places that need a change."""

    def __init__(self, errors: list[FieldError]) -> None:
        self.errors = errors[:MAX_PLACES]
        super().__init__("\n".join(map(str, self.errors)), code=self.errors[0].code)


class EarlierAnswerRefused(AnswerRefused):
    """The earlier answer, which a question builds on, cannot be read."""


class RequestError(KeysetError):
    """A request that cannot be carried out; the caller must change it."""

    code = "request.invalid"


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """One field of a request that must change, and what was expected there.

    `field` is its name or its path, such as ``("scores", 3, "points")``. `source` says where it was
    sent: in the ``body``, or in the ``path``, the ``query``, a ``header`` or a ``cookie``.
    """

    field: str | FieldPath
    code: str
    detail: str
    expected: str = ""
    got: str = ""
    hint: str = ""
    column: int | None = None
    source: str = "body"

    @property
    def path(self) -> FieldPath:
        """The field's path; a field of the outermost level has one name."""
        return (self.field,) if isinstance(self.field, str) else self.field

    @property
    def pointer(self) -> str:
        """The field's place as a JSON pointer into the request."""
        return to_pointer(self.path, source=self.source)


class MalformedRequest(RequestError):
    """The body or a parameter is not what the call takes, with up to `MAX_PLACES` places."""

    def __init__(
        self, message: str, *, code: str, faults: tuple[ErrorDetail, ...] = (), hint: str = ""
    ) -> None:
        self.faults = faults[:MAX_PLACES]
        super().__init__(message, code=code, hint=hint)

    @classmethod
    def of(cls, *faults: ErrorDetail, code: str = "") -> MalformedRequest:
        """The error of some fields: its message, and its code unless given, are the first one's."""
        return cls(faults[0].detail, code=code or faults[0].code, faults=faults)


class NotSignedIn(RequestError):
    """The caller sent no valid token and has no session."""

    code = "caller.unknown"

    def __init__(self, message: str = "Sign in, or send a token: Authorization: Bearer …") -> None:
        super().__init__(message)


class ForgedRequest(RequestError):
    """A change under a browser's session that did not come from one of our pages."""

    code = "request.forged"


class MissingScope(RequestError):
    """The token lacks a scope; its owner may well have the right."""

    code = "scope.missing"

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(
            f"This token lacks the scope {scope}.", hint="Create a token with this scope."
        )


class MissingRole(RequestError):
    """The caller's role in this course does not allow this."""

    code = "role.missing"


class NotFound(RequestError):
    """It does not exist, or belongs to somebody else; the caller cannot tell which."""

    code = "not_found"

    def __init__(self, message: str = "This does not exist, or it is not yours.") -> None:
        super().__init__(message)


class RequestRefused(RequestError):
    """A valid request that cannot be carried out now; nothing was changed."""

    code = "refused"


class ReusedIdempotencyKey(RequestError):
    """The Idempotency-Key was used before, for another request."""

    code = "idempotency_key.reused"


class OutdatedVersion(RequestError):
    """Somebody else has changed it in the meantime."""

    code = "version.outdated"

    def __init__(self, message: str, *, current: str) -> None:
        self.current = current
        super().__init__(message)


class MissingVersion(RequestError):
    """A change that must name the version it changes."""

    code = "version.missing"


class TooManyRequests(RequestError):
    """The caller has reached a rate limit and may try again later."""

    code = "rate.exceeded"

    def __init__(self, message: str, *, retry_after_seconds: int) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(message)


class Unavailable(KeysetError):
    """The service cannot do this now; nothing was changed and a retry is safe."""

    code = "service.unavailable"

    def __init__(self, message: str, *, retry_after_seconds: int = 2) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(message)
