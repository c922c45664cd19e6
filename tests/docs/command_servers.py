"""The commands of pages, forked from processes that have imported them.

Pages run dozens of commands, and most take far longer to import than to work. A server has imported
one command and nothing else, as the command itself would have; each call is a new process of its
own, with the caller's files, folder and environment. Run as a program, this module is a server.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from grader.cli.main import COMMANDS, main

_ROOT = Path(__file__).parents[2]
_MOST_BYTES = 100_000
#: What is called instead of `grader`; it imports next to nothing.
_CLIENT = """\
import json, os, socket, sys

with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect(os.path.join(os.path.dirname(__file__), sys.argv[1]))
    call = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)])
    socket.send_fds(server, [call.encode()], [0, 1, 2])
    code = int(server.recv(10))
sys.exit(code)
"""


@dataclass(slots=True)
class CommandServers:
    """The servers that were needed so far, by the command; their sockets are in a folder."""

    folder: Path
    _started: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def client(self) -> Path:
        """The program that calls a server."""
        return self.folder / "client.py"

    def start_for(self, typed: str, environment: dict[str, str]) -> None:
        """Start what is missing for a line that is typed into a shell."""
        for name in re.findall(r"\bgrader (\w+)", typed):
            if name in COMMANDS and name not in self._started:
                self._started[name] = self._start(name, environment)

    def _start(self, name: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        address = self.folder / name
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.docs.command_servers", name, str(address)],
            cwd=_ROOT,
            env=environment,
            # It ends with this pipe, whatever end this process comes to.
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while not address.exists():
            assert process.poll() is None, f"{name} could not be imported"
            assert time.monotonic() < deadline
            time.sleep(0.005)
        return process

    def close(self) -> None:
        """End all servers."""
        for process in self._started.values():
            with process:
                pass


@contextmanager
def run_command_servers() -> Iterator[CommandServers]:
    """Servers that start when they are needed, until the end."""
    # A folder with a short name, because that of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="keyset-") as folder:
        servers = CommandServers(Path(folder))
        servers.client.write_text(_CLIENT, encoding="utf-8")
        try:
            yield servers
        finally:
            servers.close()


def _serve(address: str) -> None:
    """Wait for calls; this returns in the process of each call, and in no other."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        # The name is there when connections are accepted.
        listener.bind(f"{address}.new")
        listener.listen()
        os.rename(f"{address}.new", address)
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            with connection:
                call, files, _, _ = socket.recv_fds(connection, _MOST_BYTES, 3)
                process = os.fork()
                if not process:
                    _become(call, files)
                    return
                for each in files:
                    os.close(each)
                code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
                # A shell tells a signal in this way.
                connection.send(str(code if code >= 0 else 128 - code).encode())
    sys.exit()


def _become(call: bytes, files: list[int]) -> None:
    """Be as if the caller had started this process."""
    arguments, folder, environment = json.loads(call)
    for number, each in enumerate(files):
        os.dup2(each, number)
        os.close(each)
    # Streams keep what they found out about their files when they were opened.
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["grader", *arguments]


if __name__ == "__main__":
    import_module(f"grader.cli.commands.{sys.argv[1]}")
    _serve(sys.argv[2])
    main()
