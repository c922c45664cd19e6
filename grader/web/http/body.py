"""Request bodies: size, type and deadline are checked, then the JSON is read strictly, once.

The order: compression and size by the headers, the type, the bytes under a limit and a deadline,
JSON without NaN, overflow, repeated keys or depth, and only then the model of the route. What fails
is a `MalformedRequest`, never a defect.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, cast
from urllib.parse import parse_qsl

import jiter
import orjson
from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, core_schema
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from grader.errors import ErrorDetail, FieldPath, MalformedRequest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

JSON = "application/json"
#: In the extensions of a scope: the body has arrived whole, so that nobody has to wait for it.
WHOLE_BODY = "keyset.whole_body"

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_Parsed = TypeVar("_Parsed")


class Admission(Protocol):
    """Who may send a large body, and when it is parsed."""

    async def admit(self, request: Request, size: int) -> None:
        """Admit a body of this size before it is read, or raise."""

    def take_turn(self, request: Request) -> AbstractAsyncContextManager[None]:
        """What a request waits for before its body is parsed."""


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """How large a JSON body may be and how long any body may take to arrive.

    With an `admission`, a large body is read only where that admits it.
    """

    most_body_bytes: int = 1 << 20
    body_seconds: float = 15.0
    admission: Admission | None = None


def install_body_limits(app: FastAPI, caps: BodyLimits | None = None) -> None:
    """Set the caps, and let routes that are declared on the app itself be strict.

    A router takes part by ``APIRouter(route_class=StrictRoute)``.
    """
    app.state.caps = caps or BodyLimits()
    app.router.route_class = StrictRoute


class RequestBody(BaseModel):
    """Base of all JSON bodies: no unknown members, no conversions, finite numbers.

    Strict as JSON is strict: a time or a decimal may be text and a list may become a tuple, but
    neither ``true`` nor ``"1"`` is a number.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    has_text_values: ClassVar[bool] = True
    """Whether a time, a decimal or a tuple may stand as text or list, which only JSON may do."""

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Validate what came by HTTP from its text, since strict Python would refuse times."""
        schema = handler(source)
        if schema["type"] != "model":
            # It was wrapped before, for another model that holds this one.
            return schema

        def validate(data: Any, inner: core_schema.ValidatorFunctionWrapHandler) -> Any:
            if not isinstance(data, JsonObject):
                return inner(data)
            if len(data) > _MOST_OWN_MEMBERS:
                raise _make_count_error(len(data))
            try:
                return cls.model_validate_json(data.text) if cls.has_text_values else inner(data)
            except ValidationError as error:
                if error.error_count() > _MOST_ERRORS:
                    raise _make_count_error(error.error_count()) from None
                raise

        # The whole takes over the name of the model, by which OpenAPI refers to it.
        nameless = cast(CoreSchema, {key: schema[key] for key in schema if key != "ref"})
        return core_schema.json_or_python_schema(
            json_schema=nameless,
            python_schema=core_schema.no_info_wrap_validator_function(validate, nameless),
            ref=schema.get("ref"),
        )


# No call takes as many members. To describe an error takes ten times as long as to find it.
_MOST_OWN_MEMBERS = 200
_MOST_ERRORS = 5000


def _make_count_error(count: int) -> MalformedRequest:
    return MalformedRequest(
        f"{count} places need a change, too many to list; nothing was done.",
        code="request.invalid",
        hint="Compare the names and types with those that the call takes.",
    )


class StrictRoute(APIRoute):
    """A route whose JSON body is read strictly before FastAPI sees it."""

    def get_route_handler(self) -> _Handler:
        """Return FastAPI's handler behind the strict intake."""
        handle = super().get_route_handler()
        field = self.body_field
        if field is None:
            return handle
        is_needed = bool(field.field_info.is_required())

        async def handle_strictly(request: Request) -> Response:
            limit = get_body_limits(request).most_body_bytes
            body = await read_body(request, types=(JSON,), most_bytes=limit)
            if is_needed and not body:
                raise MalformedRequest(
                    "This call needs a body of JSON, and none was sent.", code="body.empty"
                )
            parsed = await parse_body(request, body, read_json) if body else None
            return await handle(ParsedRequest(request.scope, request.receive, body, parsed))

        return handle_strictly


class ParsedRequest(Request):
    """A request whose body has been read and decoded, which Starlette then does not repeat."""

    def __init__(self, scope: Scope, receive: Receive, body: bytes, parsed: Any) -> None:
        super().__init__(scope, receive)
        self._body = body
        self._json = parsed


def get_body_limits(request: Request) -> BodyLimits:
    """The limits of the app that a request came to."""
    found = getattr(request.app.state, "caps", None)
    return found if isinstance(found, BodyLimits) else BodyLimits()


async def read_body(request: Request, *, types: tuple[str, ...], most_bytes: int) -> bytes:
    """Return the whole body, or nothing where none was sent.

    Parameters
    ----------
    types
        The media types that are taken, in small letters.
    most_bytes
        The cap; more is refused as soon as it is announced or exceeded.

    Raises
    ------
    MalformedRequest
        For another type, a compressed, too large or slow body.
    KeysetError
        Where the body is large and its sender may not send one.
    """
    if not _are_plain(request, types, most_bytes):
        _check_headers(request.headers, types, most_bytes)
    admission = get_body_limits(request).admission
    if admission is not None:
        # A body in chunks does not say how large it will be.
        announced = request.headers.get("content-length")
        is_chunked = "transfer-encoding" in request.headers
        size = int(announced) if announced else most_bytes if is_chunked else 0
        await admission.admit(request, size)
    if WHOLE_BODY in request.scope.get("extensions", ()):
        body = await _receive_body(request, most_bytes)
    else:
        seconds = get_body_limits(request).body_seconds
        try:
            async with asyncio.timeout(seconds):
                body = await _receive_body(request, most_bytes)
        except TimeoutError:
            raise MalformedRequest(
                f"The body did not arrive within {seconds:g} seconds.", code="body.slow"
            ) from None
    if body and "content-type" not in request.headers:
        raise _make_type_error(types)
    return body


async def parse_body(request: Request, body: bytes, parse: Callable[[bytes], _Parsed]) -> _Parsed:
    """Parse the body of a request, when it is its turn."""
    admission = get_body_limits(request).admission
    if admission is None:
        return parse(body)
    async with admission.take_turn(request):
        return parse(body)


async def _receive_body(request: Request, most_bytes: int) -> bytes:
    body, is_whole = bytearray(), False
    while not is_whole:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > most_bytes:
            raise _make_size_error(most_bytes)
        is_whole = not message.get("more_body", False)
    return bytes(body)


async def read_form(request: Request, *, most_bytes: int = 65_536) -> dict[str, str]:
    """Return the fields of a plain HTML form.

    Raises
    ------
    MalformedRequest
        As for any body; also for a field that is there twice or is no text.
    """
    kind = "application/x-www-form-urlencoded"
    body = await read_body(request, types=(kind,), most_bytes=most_bytes)
    return await parse_body(request, body, _parse_form)


def _parse_form(body: bytes) -> dict[str, str]:
    if body.count(b"%") > _MOST_ESCAPES:
        raise MalformedRequest(
            f"The form has more than {_MOST_ESCAPES} characters that are escaped by %.",
            code="body.too_large",
        )
    try:
        fields = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100
        )
    except ValueError:
        raise MalformedRequest("The form cannot be read.", code="form.invalid") from None
    found = dict(fields)
    if len(found) < len(fields) or any("\0" in part for field in fields for part in field):
        raise MalformedRequest(
            "A field of the form is there twice, or holds the character U+0000.",
            code="form.invalid",
        )
    return found


def _are_plain(request: Request, types: tuple[str, ...], most_bytes: int) -> bool:
    """Whether the headers say what nearly all say, so that there is nothing more to check."""
    about_body = [each for each in request.scope["headers"] if each[0].startswith(b"content-")]
    if len(about_body) != 2:
        return False
    headers = dict(about_body)
    kind, length = headers.get(b"content-type", b""), headers.get(b"content-length", b"")
    is_short = length.isdigit() and len(length) <= 18 and int(length) <= most_bytes
    return is_short and kind.decode("latin-1") in types


def _check_headers(headers: Headers, types: Iterable[str], most_bytes: int) -> None:
    """Refuse a body by what its headers say of compression, length and type."""
    encodings = ",".join(headers.getlist("content-encoding")).split(",")
    if any(each.strip().lower() not in ("", "identity") for each in encodings):
        raise MalformedRequest(
            "A compressed body is not taken; send it without Content-Encoding.",
            code="body.encoding",
        )
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise MalformedRequest("Content-Length must be a number.", code="body.length")
    # Python refuses to read numbers of thousands of digits, and such a number is too large anyway.
    if len(length) > 18 or int(length) > most_bytes:
        raise _make_size_error(most_bytes)
    stated = headers.getlist("content-type")
    if not stated:
        return
    kind, *parameters = stated[0].split(";") if len(stated) == 1 else [""]
    charsets = [
        value.strip(" \t\"'").lower()
        for name, _, value in (parameter.partition("=") for parameter in parameters)
        if name.strip().lower() == "charset"
    ]
    is_utf8 = all(charset in ("utf-8", "utf8") for charset in charsets)
    if kind.strip().lower() not in types or not is_utf8:
        raise _make_type_error(types)


def _make_size_error(most_bytes: int) -> MalformedRequest:
    return MalformedRequest(
        f"The body may have at most {most_bytes} bytes; it has more.", code="body.too_large"
    )


def _make_type_error(types: Iterable[str]) -> MalformedRequest:
    return MalformedRequest(
        f"The body must be {' or '.join(types)} in UTF-8, and its Content-Type must say so.",
        code="body.type",
    )


#: Each takes a third of a microsecond to decode. A text in Chinese has three for a character.
_MOST_ESCAPES = 100_000
#: Shorter texts cannot hold many values, and are looked at in no time.
_SHORT_BYTES = 16 * 1024
#: A list or object takes the parser 0.5 µs and the garbage collector as much again, other values a
#: tenth of it. A roster of 10,000 people and a matrix of 300 × 300 are within these bounds.
_MOST_CONTAINERS = 15_000
_MOST_MEMBERS = 50_000
_MOST_VALUES = 100_000
_POSITION = re.compile(r" at line (\d+) column (\d+)$")
_LARGE_EXPONENT = re.compile(rb"[eE]\+?\d{3}")
_DIGITS_TO_NINES = bytes.maketrans(b"0123456789", b"9" * 10)
_REPEATED = re.compile(r'^Detected duplicate key "(.*)"$', re.DOTALL)


class JsonObject(dict[str, Any]):
    """A decoded object that still has the text it was read from."""

    __slots__ = ("text",)

    def __init__(self, members: dict[str, Any], text: bytes) -> None:
        super().__init__(members)
        self.text = text


def read_json(text: bytes) -> Any:
    """Decode JSON; an object is returned as a `JsonObject`.

    Raises
    ------
    MalformedRequest
        For anything but one JSON value in UTF-8 with finite numbers, no key twice in an object, at
        most two hundred levels, and no more values than any call needs.
    """
    is_short = len(text) <= _SHORT_BYTES
    if not is_short:
        _refuse_many_values(text)
    try:
        # No string that a student sent stays in the parser's cache.
        decoded = jiter.from_json(
            text, allow_inf_nan=False, cache_mode="none", catch_duplicate_keys=True
        )
        # Only the other parser refuses numbers beyond double precision. It reads a long text sooner
        # than one can see whether there are any.
        if not is_short or _has_large_number(text):
            decoded = orjson.loads(text)
    except ValueError as error:
        raise _explain(error, text) from None
    if b"\\u0000" in text:
        _refuse_nul(decoded)
    return JsonObject(decoded, text) if isinstance(decoded, dict) else decoded


def _refuse_many_values(text: bytes) -> None:
    """Refuse JSON whose values would take long to make, which its length does not tell."""
    # The service is ready before NumPy is imported. Others go on while it counts.
    import numpy as np

    if next(_list_excesses(np.frombuffer(text, np.uint8)), None) is None:
        return
    # Signs in a string make no values. Without escaped quotes, every second quote ends a string.
    if b"\\" in text:
        text = text.replace(rb"\\", b"").replace(rb"\"", b"")
    signs = np.frombuffer(text, np.uint8)
    pieces = np.diff(np.flatnonzero(signs == ord('"')), prepend=0, append=signs.size)
    is_outside = np.repeat(np.arange(pieces.size) % 2 == 0, pieces)
    excess = next(_list_excesses(signs * is_outside), None)
    if excess is not None:
        raise MalformedRequest(f"The JSON has more than {excess}.", code="json.size")


def _list_excesses(signs: NDArray[np.uint8]) -> Iterator[str]:
    import numpy as np

    def count(sign: str) -> int:
        return int(np.count_nonzero(signs == ord(sign)))

    if count("[") + count("{") > _MOST_CONTAINERS:
        yield f"{_MOST_CONTAINERS} lists and objects"
    if count(":") > _MOST_MEMBERS:
        yield f"{_MOST_MEMBERS} members of objects"
    if count(",") > _MOST_VALUES:
        yield f"{_MOST_VALUES} values"


def _has_large_number(text: bytes) -> bool:
    """Whether a number may be too large for a double or for 64 bits."""
    # The usual text has neither, which takes a regular expression longer to see.
    if b"9" * 19 in text.translate(_DIGITS_TO_NINES):
        return True
    return (b"e" in text or b"E" in text) and _LARGE_EXPONENT.search(text) is not None


def _explain(error: ValueError, text: bytes) -> MalformedRequest:
    """Why a text was refused, in the words of the parser that explains it better."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as better:
        return _explain_syntax(better, text)
    said = str(error)
    position = _POSITION.search(said)
    at = f" near line {position[1]}, column {position[2]}" if position else ""
    repeated = _REPEATED.match(_POSITION.sub("", said))
    if repeated:
        key = "".join(c if c.isprintable() else "?" for c in repeated[1][:40])
        return MalformedRequest(
            f'The key "{key}" occurs twice in one object{at}.', code="json.repeated"
        )
    if "recursion" in said:
        return _make_depth_error(at)
    return MalformedRequest(f"This is not JSON{at}.", code="json.invalid")


def _refuse_nul(decoded: object) -> None:
    # PostgreSQL cannot keep this one character, so no route should have to think of it.
    found = _find_nul(decoded)
    if found is not None:
        says = "A text holds the character U+0000, which cannot be kept."
        fault = ErrorDetail(field=found, code="text.character", detail=says)
        raise MalformedRequest(says, code="request.invalid", faults=(fault,))


def _find_nul(decoded: object) -> FieldPath | None:
    """The path of a text with this character, or of the object with such a name."""
    waiting: list[tuple[FieldPath, list[Any] | dict[str, Any]]] = [((), [decoded])]
    while waiting:
        path, container = waiting.pop()
        if isinstance(container, dict) and any("\0" in name for name in container):
            return path[1:]
        entries: Iterable[tuple[str | int, Any]] = (
            container.items() if isinstance(container, dict) else enumerate(container)
        )
        for key, value in entries:
            if isinstance(value, str):
                if "\0" in value:
                    return (*path, key)[1:]
            elif isinstance(value, list | dict):
                waiting.append(((*path, key), value))
    return None


def _explain_syntax(fault: orjson.JSONDecodeError, text: bytes) -> MalformedRequest:
    at = f"line {fault.lineno}, column {fault.colno}"
    said = fault.msg
    if "depth" in said or "recursion" in said:
        return _make_depth_error(f" at {at}")
    if "infinity" in said:
        return MalformedRequest(
            f"The number at {at} is beyond double precision (1.8e308).", code="json.number"
        )
    if "BOM" in said:
        return MalformedRequest("The JSON begins with a byte order mark.", code="json.encoding")
    if "surrogate" in said:
        where = f" Look at {at}." if "low surrogate" in said or "high" in said else ""
        return MalformedRequest(f"The JSON is not valid UTF-8.{where}", code="json.encoding")
    if _is_not_finite(fault, text):
        return MalformedRequest(
            f"The value at {at} is NaN or Infinity, which JSON does not have.",
            code="json.number",
            hint="Write a finite number such as 1e6.",
        )
    return MalformedRequest(f"This is not JSON: {said}, {at}.", code="json.invalid")


def _is_not_finite(fault: orjson.JSONDecodeError, text: bytes) -> bool:
    # The place counts characters, the text has bytes.
    rest = text.decode("utf-8", "replace")[max(0, fault.pos - 1) :]
    return re.match(r".?-?(NaN|Infinity|nan\b|inf)", rest, re.DOTALL) is not None


def _make_depth_error(at: str) -> MalformedRequest:
    return MalformedRequest(f"The JSON is nested too deeply{at}.", code="json.depth")
