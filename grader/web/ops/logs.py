"""One line for each request and each defect: enough to find a fault, nothing about a person.

A line never holds a body, an answer, a name, a token, an address with its values or a query. An
exception is told by its types and its places in the code; its message is left out unless it is
asked for, because messages quote values.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from typing import Any, TextIO, cast

import orjson
import structlog
from structlog.typing import FilteringBoundLogger, Processor

Logger = FilteringBoundLogger

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
#: Libraries whose warnings become lines of ours; uvicorn's access log is left out.
_LIBRARIES = ("uvicorn.error", "sqlalchemy", "alembic", "asyncio")


def open_logs(
    stream: TextIO | None = None,
    *,
    pretty: bool | None = None,
    level: str = "info",
    messages: bool = False,
) -> Logger:
    """Return what writes log lines.

    Parameters
    ----------
    stream
        Where to; standard error, as it is at the moment of writing, if it is not given.
    pretty
        For the eye instead of JSON; by itself on a terminal.
    messages
        Also tell what exceptions say, which may quote what students sent: for developers.
    """
    target = sys.stderr if stream is None else stream
    shows = target.isatty() if pretty is None else pretty
    renderer: Processor = (
        structlog.dev.ConsoleRenderer(colors=target.isatty())
        if shows
        else structlog.processors.JSONRenderer(serializer=_to_json)
    )
    logger = structlog.wrap_logger(
        _LineWriter(stream),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(
                fmt="iso", utc=True, key="timestamp" if shows else "at"
            ),
            _ExceptionFormatter(messages),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        cache_logger_on_first_use=True,
    )
    return cast(Logger, logger)


def _to_json(line: Any, **_: Any) -> str:
    try:
        # What a line holds is plain; anything else is described rather than lost.
        return orjson.dumps(line, default=repr).decode()
    except orjson.JSONEncodeError:
        # Text that is not valid Unicode, such as a path of the file system.
        return json.dumps(line, default=repr)


class _LineWriter:
    """Writes lines; a log that cannot be written must not fail a request."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def msg(self, line: str) -> None:
        # While a progress bar is shown, standard error is a stream that writes above it.
        stream = self._stream or sys.stderr
        try:
            # One call with the line's end in it, so that threads do not write into each other.
            stream.write(line.encode("utf-8", "backslashreplace").decode() + "\n")
            stream.flush()
        except (OSError, ValueError):
            pass

    debug = info = warning = error = critical = msg


class _ExceptionFormatter:
    """Replaces an exception in a line by its description."""

    def __init__(self, messages: bool) -> None:
        self._messages = messages

    def __call__(self, logger: Any, method: str, event: Any) -> Any:
        error = event.pop("error", None)
        if isinstance(error, BaseException):
            event["exception"] = describe_exception(error, messages=self._messages)
        return event


def describe_exception(error: BaseException, *, messages: bool = False) -> list[str]:
    """Return an exception and its causes as lines: types and code locations, without any values."""
    return list(_describe(error, messages, set()))


def _describe(error: BaseException, messages: bool, seen: set[int]) -> Iterator[str]:
    if id(error) in seen:
        return
    seen.add(id(error))
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        yield from _describe(cause, messages, seen)
    for frame in traceback.extract_tb(error.__traceback__)[-30:]:
        yield f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line or ''}".rstrip(": ")
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    said = str(error) if messages else _safe_message(error)
    yield f"{kind}: {said}" if said else kind


def _safe_message(error: BaseException) -> str:
    # What the operating system says, such as "No space left on device", quotes nobody.
    return (error.strerror or "") if isinstance(error, OSError) else ""


def install_library_logging(logs: Logger) -> None:
    """Write the warnings of the libraries below as lines of ours; for entry points only.

    Use it with ``uvicorn.Config(log_config=None, access_log=False)``: uvicorn's own access log
    would tell addresses with their queries.
    """
    handler = _LibraryHandler(logs)
    for name in _LIBRARIES:
        library = logging.getLogger(name)
        library.handlers[:] = [handler]
        library.setLevel(logging.WARNING)
        library.propagate = False


class _LibraryHandler(logging.Handler):
    def __init__(self, logs: Logger) -> None:
        super().__init__()
        self._logs = logs

    def emit(self, record: logging.LogRecord) -> None:
        # The form of the message only: what is put into it may be a value.
        error = record.exc_info[1] if record.exc_info else None
        tell = self._logs.error if record.levelno >= logging.ERROR else self._logs.warning
        tell("library", library=record.name, says=str(record.msg).strip(), error=error)
