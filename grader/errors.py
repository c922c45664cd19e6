"""Every error Keyset raises on purpose, sorted by who must act.

::

    KeysetError
    ├── AuthorError            a rubric or assignment file must be corrected
    │   └── RubricError        … with file, line, column and field
    ├── StudentError           the answer must be sent again; nothing was judged, no attempt used
    │   ├── FieldError         one place of the answer, with what was expected
    │   └── AnswerRefused      all the places at once
    ├── FormulaError           a formula cannot be read; with its place in the text
    ├── RequestError           whoever calls the service must call it otherwise
    │   ├── MalformedRequest   … the body is no JSON, too large, of another type or not as described
    │   ├── NotSignedIn        … there is no valid token and no session
    │   ├── ForgedRequest      … another site made a browser send it
    │   ├── MissingScope       … the token may not do this
    │   ├── MissingRole        … the person may not do this in this course
    │   ├── NotFound           … there is no such thing, or it is not the caller's
    │   ├── Refused            … it is well said but cannot be done now: no attempts left, not open
    │   ├── ReusedKey          … an Idempotency-Key came with another request before
    │   ├── Outdated           … somebody else has changed it since (If-Match)
    │   ├── Unconditional      … it must say which version it changes (If-Match)
    │   └── TooManyRequests    … later
    ├── Unavailable            the service cannot do it now, but will: the database is away, say
    └── OperatorError          the command was called wrongly or a file is missing

A formula is written by authors and by students alike, so a ``FormulaError`` belongs to neither: the
rubric loader turns it into a ``RubricError``, the reader of answers into a ``FieldError``.

Which HTTP status goes with each stands in `grader.web.errors.problems` alone.

A wrong answer is never an error. Anything else that is raised is a defect of Keyset itself.
"""

from __future__ import annotations

from dataclasses import dataclass


class KeysetError(Exception):
    """Base of all errors that are meant to be read by a person."""

    code = "keyset.error"


class OperatorError(KeysetError):
    """A command was called wrongly, or something it needs is not there."""

    code = "operator.error"


class AuthorError(KeysetError):
    """A rubric cannot be used as it stands."""

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
    """One mistake in a rubric file, with its place and the field it is in."""

    def __init__(self, message: str, *, place: FileLocation, field: str = "") -> None:
        self.message = message
        self.place = place
        self.field = field
        super().__init__(f"{place}: {field}: {message}" if field else f"{place}: {message}")


class RubricErrors(AuthorError):
    """Several mistakes in one rubric file, told at once."""

    def __init__(self, errors: list[RubricError]) -> None:
        self.errors = errors
        super().__init__("\n".join(str(error) for error in errors))


class FormulaError(KeysetError):
    """A formula that cannot be read or computed, with the place in its text.

    ``column`` counts from one; ``length`` is how many characters the fault covers.
    """

    code = "formula.invalid"

    def __init__(
        self, message: str, *, column: int = 1, length: int = 1, hint: str = "", code: str = ""
    ) -> None:
        self.message = message
        self.column = column
        self.length = max(length, 1)
        self.hint = hint
        if code:
            self.code = code
        super().__init__(f"{message} {hint}".strip())


class StudentError(KeysetError):
    """An answer that cannot be read: it is refused, and costs no attempt."""

    code = "answer.invalid"


class FieldError(StudentError):
    """One place of an answer that cannot be read.

    Parameters
    ----------
    field
        The name of the answer's field.
    path
        Where inside the field, as indices counted from zero: ``(1, 0)`` is row 2, entry 1.
    expected, got
        What the question asks for and what was sent, in words.
    column
        For text, the place of the fault, counted from one.
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
        self.message = message
        self.field = field
        self.code = code
        self.path = path
        self.expected = expected
        self.got = got
        self.hint = hint
        self.column = column
        super().__init__(f"{message} {hint}".strip())

    @property
    def pointer(self) -> str:
        """The place as a JSON pointer into the request; an empty field is the whole answer."""
        field = (self.field,) if self.field else ()
        return to_pointer(("answer", *field, *self.path))


#: A field's place in a request: names and positions from the outside in.
FieldPath = tuple[str | int, ...]


def to_pointer(path: FieldPath, *, source: str = "body") -> str:
    """A field's place as a JSON pointer: ``#/scores/3/points``, or ``#query/limit``."""
    names = [str(each).replace("~", "~0").replace("/", "~1") for each in path]
    return "/".join(["#" if source == "body" else f"#{source}", *names])


class AnswerRefused(StudentError):
    """The answer cannot be read; all faults that were found, at most fifty."""

    MOST = 50

    def __init__(self, errors: list[FieldError]) -> None:
        self.errors = errors[: self.MOST]
        self.code = self.errors[0].code
        super().__init__("\n".join(str(error) for error in self.errors))


class RequestError(KeysetError):
    """A request that cannot be carried out; whoever sent it must send another one."""

    code = "request.invalid"

    def __init__(self, message: str, *, code: str = "", hint: str = "") -> None:
        self.hint = hint
        if code:
            self.code = code
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """One field of a request that cannot be accepted, with what would be right.

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
    """The body or a parameter is not what the call takes; with every place, at most fifty."""

    MOST = 50

    def __init__(
        self, message: str, *, code: str, faults: tuple[ErrorDetail, ...] = (), hint: str = ""
    ) -> None:
        self.faults = faults[: self.MOST]
        super().__init__(message, code=code, hint=hint)

    @classmethod
    def of(cls, *faults: ErrorDetail, code: str = "") -> MalformedRequest:
        """The error of some fields: its message, and its code unless given, are the first one's."""
        return cls(faults[0].detail, code=code or faults[0].code, faults=faults)


class NotSignedIn(RequestError):
    """There is no valid token and no session."""

    code = "caller.unknown"

    def __init__(self, message: str = "Sign in, or send a token: Authorization: Bearer …") -> None:
        super().__init__(message)


class ForgedRequest(RequestError):
    """A change with a browser's session that did not come from a page of ours."""

    code = "request.forged"


class MissingScope(RequestError):
    """The token may not do this, although its owner may."""

    code = "scope.missing"

    def __init__(self, scope: str) -> None:
        self.scope = scope
        super().__init__(f"This token has not the scope {scope}.", hint="Make one that has it.")


class MissingRole(RequestError):
    """The caller has no role in this course that may do this."""

    code = "role.missing"


class NotFound(RequestError):
    """There is no such thing; what belongs to others is answered alike."""

    code = "not_found"

    def __init__(self, what: str = "There is nothing here, or it is not yours.") -> None:
        super().__init__(what)


class RequestRefused(RequestError):
    """A request that is well said and cannot be done as things stand; nothing was changed."""

    code = "refused"


class ReusedIdempotencyKey(RequestError):
    """The Idempotency-Key was sent before, with another request."""

    code = "idempotency_key.reused"


class OutdatedVersion(RequestError):
    """What is to be changed was changed by somebody else in the meantime."""

    code = "version.outdated"

    def __init__(self, message: str, *, current: str) -> None:
        self.current = current
        super().__init__(message)


class MissingVersion(RequestError):
    """A change that must name the version it changes."""

    code = "version.missing"


class TooManyRequests(RequestError):
    """The caller has used up a budget; it fills up again."""

    code = "rate.exceeded"

    def __init__(self, message: str, *, retry_after_seconds: int) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(message)


class Unavailable(KeysetError):
    """The service cannot do this now; nothing was changed, and trying again is safe."""

    code = "service.unavailable"

    def __init__(self, message: str, *, retry_after_seconds: int = 2) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(message)
