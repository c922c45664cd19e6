"""One line for each request and each defect: enough to find a fault, nothing about a person.

A line never holds a body, an answer, a name, a token, an address with its values or a query. An
exception is told by its types and its places in the code; its message is left out unless it is
asked for, because messages quote values.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Protocol, TextIO, cast

import orjson


class Logger(Protocol):
    """What writes log lines: what happened, and the facts that belong to it."""

    def debug(self, event: str, **facts: Any) -> Any:
        """Write a line that only developers want to see."""

    def info(self, event: str, **facts: Any) -> Any:
        """Write a line about what is as it should be."""

    def warning(self, event: str, **facts: Any) -> Any:
        """Write a line about what may need attention."""

    def error(self, event: str, **facts: Any) -> Any:
        """Write a line about a defect."""


_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


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
    if not shows:
        return _JsonLogger(_LineWriter(stream), _ExceptionFormatter(messages), _LEVELS[level])
    # Only a terminal needs it.
    import structlog

    logger = structlog.wrap_logger(
        _LineWriter(stream),
        processors=[
            _ExceptionFormatter(messages),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(colors=target.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        cache_logger_on_first_use=True,
    )
    return cast(Logger, logger)


class _JsonLogger:
    """Writes lines as JSON.

    There is one for each request, which structlog takes as long to hand on as it takes to write.
    """

    def __init__(self, lines: _LineWriter, formatter: _ExceptionFormatter, least: int) -> None:
        self._lines = lines
        self._format_exception = formatter
        self._least = least

    def debug(self, event: str, **facts: Any) -> None:
        if self._least <= _LEVELS["debug"]:
            self._lines.debug(self._render("debug", event, facts))

    def info(self, event: str, **facts: Any) -> None:
        if self._least <= _LEVELS["info"]:
            self._lines.info(self._render("info", event, facts))

    def warning(self, event: str, **facts: Any) -> None:
        if self._least <= _LEVELS["warning"]:
            self._lines.warning(self._render("warning", event, facts))

    def error(self, event: str, **facts: Any) -> None:
        self._lines.error(self._render("error", event, facts))

    def _render(self, level: str, event: str, facts: dict[str, Any]) -> str:
        if "error" in facts:
            facts = self._format_exception(None, level, facts)
        at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        line = {**facts, "event": event, "level": level, "at": at}
        try:
            # What a line holds is plain; anything else is described rather than lost.
            return orjson.dumps(line, default=repr).decode()
        except orjson.JSONEncodeError:
            # Text that is not valid Unicode, such as a path of the file system.
            return json.dumps(line, default=repr)


class _LineWriter:
    """Writes lines; a log that cannot be written must not fail a request.

    On standard error, the lines of one turn of an event loop are written together: each write
    lets another thread go first, which under load cost more than the line itself.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._waiting: deque[str] = deque()
        self._is_planned = False

    def info(self, line: str) -> None:
        self._waiting.append(line)
        loop = _find_running_loop() if self._stream is None else None
        if loop is None:
            self._write()
        elif not self._is_planned:
            self._is_planned = True
            loop.call_soon(self._write)

    def error(self, line: str) -> None:
        self._waiting.append(line)
        self._write()

    debug = info
    warning = critical = error

    def _write(self) -> None:
        self._is_planned = False
        # While a progress bar is shown, standard error is a stream that writes above it.
        stream = self._stream or sys.stderr
        lines = []
        # Another thread may take some of them meanwhile.
        with suppress(IndexError):
            while True:
                lines.append(self._waiting.popleft() + "\n")
        with suppress(OSError, ValueError):
            # One call, so that threads do not write into each other.
            stream.write("".join(lines).encode("utf-8", "backslashreplace").decode())
            stream.flush()


def _find_running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


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
    """Write as lines of ours what would else go to standard error; for entry points only.

    These are the warnings of libraries and of Python, and exceptions that nobody has caught. Use it
    with ``uvicorn.Config(log_config=None, access_log=False)``: uvicorn's own access log would tell
    addresses with their queries.
    """
    root = logging.getLogger()
    root.handlers[:] = [_LibraryHandler(logs)]
    root.setLevel(logging.WARNING)

    def tell_warning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        # Without its message, which may quote a value.
        logs.warning("warning", category=category.__name__, place=f"{filename}:{lineno}")

    def tell_uncaught(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            return
        logs.error("defect", error=error)

    def tell_uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            thread = args.thread.name if args.thread else ""
            logs.error("defect", thread=thread, error=args.exc_value)

    warnings.showwarning = tell_warning
    sys.excepthook = tell_uncaught
    threading.excepthook = tell_uncaught_in_thread
    # What is raised where nobody can catch it, such as while an object is deleted.
    sys.unraisablehook = lambda args: logs.error("defect", error=args.exc_value)


class _LibraryHandler(logging.Handler):
    def __init__(self, logs: Logger) -> None:
        super().__init__()
        self._logs = logs

    def emit(self, record: logging.LogRecord) -> None:
        # The form of the message only: what is put into it may be a value.
        error = record.exc_info[1] if record.exc_info else None
        tell = self._logs.error if record.levelno >= logging.ERROR else self._logs.warning
        tell("library", library=record.name, says=str(record.msg).strip(), error=error)
