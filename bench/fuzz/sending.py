"""One request on a connection, what it cost the server, and what is wrong with the answer."""

from __future__ import annotations

import os
import shlex
import socket
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import orjson

from bench.fuzz.course import Credentials
from bench.fuzz.values import MARKUP
from grader.web.errors.codes import MEANINGS
from grader.web.errors.model import MEDIA_TYPE
from grader.web.errors.pages import is_for_people

Header = tuple[str, str]
#: An answer that takes longer has no end.
_TIMEOUT_SECONDS: Final = 30.0
_THREADS_EVERY: Final = 200


@dataclass(frozen=True, slots=True)
class FuzzRequest:
    """A request; `part` is what it belongs to in the table, and `who` sends it, if anybody."""

    part: str
    who: str
    method: str
    target: str
    headers: tuple[Header, ...] = ()
    body: bytes = b""
    is_broken: bool = False
    """Whether it is no whole HTTP, so that there may be no answer."""

    @classmethod
    def browse(cls, part: str, who: str, target: str, *headers: Header) -> FuzzRequest:
        """A page as a browser asks for it."""
        return cls(part, who, "GET", target, (_cookie(who), *headers))

    @classmethod
    def call(
        cls, part: str, who: str, method: str, target: str, *headers: Header, body: bytes = b""
    ) -> FuzzRequest:
        """A call of the API with a token."""
        token = ("Authorization", f"Bearer {Credentials.of(who).token}")
        return cls(part, who, method, target, (token, *headers), body)

    @classmethod
    def submit(cls, part: str, who: str, target: str, *headers: Header, body: bytes) -> FuzzRequest:
        """A form as a browser sends it."""
        return cls(part, who, "POST", target, (_cookie(who), *headers), body)

    def sent_by(self, who: str) -> FuzzRequest:
        """The same from somebody else of the role."""
        own, other = Credentials.of(self.who), Credentials.of(who)
        names = {own.token: other.token, own.session: other.session}
        headers = []
        for name, value in self.headers:
            for before, after in names.items():
                value = value.replace(before, after)
            headers.append((name, value))
        body = self.body.replace(own.csrf.encode(), other.csrf.encode())
        return replace(self, who=who, headers=tuple(headers), body=body)

    def to_bytes(self) -> bytes:
        """What goes over the connection."""
        lines = [f"{self.method} {self.target} HTTP/1.1", "Host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        names = {name.lower() for name, _ in self.headers}
        has_length = "content-length" in names or "transfer-encoding" in names
        has_body = bool(self.body) or self.method not in ("GET", "HEAD", "OPTIONS")
        if has_body and not has_length:
            lines.append(f"Content-Length: {len(self.body)}")
        head = "\r\n".join(lines) + "\r\n\r\n"
        return head.encode("utf-8", "surrogatepass") + self.body

    def to_curl(self, port: int) -> str:
        """A line for the shell that sends it, with the body in its last argument."""
        words = ["curl", "-i", "-X", self.method, f"http://127.0.0.1:{port}{self.target}"]
        for name, value in self.headers:
            words += ["-H", f"{name}: {value}"]
        line = shlex.join(words)
        if self.body:
            escaped = "".join(
                f"\\x{each:02x}" if each in b"\\'\n\r" or not 32 <= each < 127 else chr(each)
                for each in self.body
            )
            line += f" --data-binary $'{escaped}'"
        return line.encode("utf-8", "replace").decode()


def _cookie(who: str) -> Header:
    return ("Cookie", f"keyset_session={Credentials.of(who).session}")


@dataclass(frozen=True, slots=True)
class FuzzAnswer:
    """What came back; `seconds` is the processor time of the server."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes
    seconds: float
    is_last: bool

    @property
    def content_type(self) -> bytes:
        """The media type with its parameters."""
        return self.headers.get(b"content-type", b"")


class ServerClock:
    """The processor time of a process, of all its threads, to the nanosecond."""

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}/task")
        self._files: dict[str, int] = {}
        #: Of every thread so far, in nanoseconds; one that has ended keeps its last.
        self._used: dict[str, int] = {}
        self._asked = 0

    def read(self) -> float:
        """Seconds so far."""
        if self._asked % _THREADS_EVERY == 0:
            self._find_threads()
        self._asked += 1
        for name, file in list(self._files.items()):
            try:
                self._used[name] = int(os.pread(file, 64, 0).split()[0])
            except OSError:
                self._forget(name)
        return sum(self._used.values()) / 1e9

    def _find_threads(self) -> None:
        for name in os.listdir(self._folder):
            if name not in self._files:
                self._files[name] = os.open(self._folder / name / "schedstat", os.O_RDONLY)

    def _forget(self, name: str) -> None:
        os.close(self._files.pop(name))

    def close(self) -> None:
        """Close the files."""
        for name in tuple(self._files):
            self._forget(name)


class Connection:
    """A connection that is kept alive; requests go one after another."""

    def __init__(self, port: int, clock: ServerClock) -> None:
        self.port = port
        self._clock = clock
        self._socket: socket.socket | None = None
        self._received = b""

    def close(self) -> None:
        """Close it; the next request opens another one."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._received = None, b""

    def send(self, request: FuzzRequest) -> FuzzAnswer | None:
        """Send a request and read its answer; None where there is none.

        Raises
        ------
        TimeoutError
            If the answer does not end.
        """
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self.port), _TIMEOUT_SECONDS)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        before = self._clock.read()
        try:
            self._socket.sendall(request.to_bytes())
            if request.is_broken:
                self._socket.shutdown(socket.SHUT_WR)
            answer = self._read(request, before)
        except (ConnectionError, BrokenPipeError):
            answer = None
        if answer is None or answer.is_last or request.is_broken:
            self.close()
        return answer

    def _read(self, request: FuzzRequest, before: float) -> FuzzAnswer | None:
        while b"\r\n\r\n" not in self._received:
            if not self._receive():
                return None
        head, _, self._received = self._received.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(b":")
            headers[name.strip().lower()] = value.strip()
        status = int(first.split()[1])
        body = b"" if request.method == "HEAD" or status in (204, 304) else self._read_body(headers)
        is_last = headers.get(b"connection", b"").lower() == b"close"
        return FuzzAnswer(status, headers, body, self._clock.read() - before, is_last)

    def _read_body(self, headers: dict[bytes, bytes]) -> bytes:
        if b"content-length" in headers:
            return self._take(int(headers[b"content-length"]))
        body = b""
        if b"chunked" in headers.get(b"transfer-encoding", b""):
            while True:
                while b"\r\n" not in self._received and self._receive():
                    pass
                size, _, self._received = self._received.partition(b"\r\n")
                chunk = self._take(int(size, 16) + 2)[:-2]
                if not chunk:
                    return body
                body += chunk
        while self._receive():
            pass
        body, self._received = self._received, b""
        return body

    def _take(self, count: int) -> bytes:
        while len(self._received) < count:
            if not self._receive():
                raise ConnectionError("the answer was cut")
        taken, self._received = self._received[:count], self._received[count:]
        return taken

    def _receive(self) -> bool:
        assert self._socket is not None, "it is open"
        data = self._socket.recv(1 << 18)
        self._received += data
        return bool(data)


def find_fault(request: FuzzRequest, answer: FuzzAnswer | None) -> str:
    """Which promise an answer breaks; empty if none."""
    if answer is None:
        return "" if request.is_broken else "no answer"
    path, kind = request.target.partition("?")[0], answer.content_type
    if answer.status >= 500 and not (answer.status == 503 and b"retry-after" in answer.headers):
        return f"status {answer.status}"
    if b"text/html" in kind and MARKUP.encode() in answer.body:
        return "markup is not escaped"
    if answer.status < 400 or request.method == "HEAD" or request.is_broken:
        return ""
    if is_for_people(path):
        return "" if kind.startswith(b"text/html") else f"an error of a page is {kind.decode()}"
    return _find_problem_fault(answer)


def _find_problem_fault(answer: FuzzAnswer) -> str:
    if answer.content_type != MEDIA_TYPE.encode():
        return f"an error of the API is {answer.content_type.decode()}"
    problem = orjson.loads(answer.body)
    code = problem.get("code")
    if problem.get("status") != answer.status:
        return "the problem has another status"
    # A code without a line of its own is explained by that of its group.
    group = f"{str(code).partition('.')[0]}.invalid"
    return "" if code in MEANINGS or group in MEANINGS else f"unknown code {code}"
