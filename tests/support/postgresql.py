"""A real PostgreSQL, started by the tests themselves from whatever binaries the machine has.

It listens on a socket in a folder of its own only. Run as a program, this module starts a server
for everybody who shares a folder, and stops it when the last of them is gone, however they went.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg

from tests.support.postgresql_binaries import as_account, find_binaries, server_account

_ROOT = Path(__file__).parents[2]
_SUPERUSER = "keyset"
#: The size of the folder in memory from which on a server is put there; it takes a tenth of it.
_PLENTY = 4 * 1024**3
_SETTINGS = {
    # The server is thrown away, so that nothing of it needs to be on the disk.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # Its workers would hold on to databases that a test wants to copy or to drop.
    "autovacuum": "off",
    "listen_addresses": "",
    # Only the name of a socket in the server's own folder, which no other server can have.
    "port": "5432",
    "max_connections": "300",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
}


#: As PostgreSQL is by default.
_DURABLE = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "autovacuum": "on",
    "shared_buffers": "128MB",
    "max_wal_size": "1GB",
}


@dataclass(slots=True)
class Server:
    """A server in an empty folder, which `close` removes again."""

    folder: Path
    is_durable: bool = False
    """Whether a commit is on the disk when it is acknowledged, as in production."""
    _binaries: Path = field(init=False)
    _process: subprocess.Popen[bytes] | None = field(init=False, default=None)

    def create(self) -> None:
        """Make the files of a new server."""
        account = server_account()
        self.folder.mkdir(exist_ok=True, mode=0o700)
        # What an earlier try left behind.
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(mode=0o700)
        if account is not None:
            # Others than the server's account may pass through, but not look around.
            self.folder.chmod(0o711)
            os.chown(self.home, account.pw_uid, account.pw_gid)
        self._binaries = find_binaries(self.folder)
        self._run(
            "initdb", f"--pgdata={self.home / 'data'}", f"--username={_SUPERUSER}",
            "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync",
        )  # fmt: skip

    @property
    def home(self) -> Path:
        """The folder that belongs to the server's account."""
        return self.folder / "server"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), *arguments]
        done = subprocess.run(command, cwd=self.home, capture_output=True, **as_account())
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{done.stderr.decode()}")

    def start(self) -> None:
        """Start, and wait until it answers."""
        settings = {**_SETTINGS, "unix_socket_directories": str(self.home)}
        if self.is_durable:
            settings |= _DURABLE
        with (self.folder / "log").open("ab") as log:
            process = self._process = subprocess.Popen(
                [str(self._binaries / "postgres"), "-D", str(self.home / "data")]
                + [f"--{name}={value}" for name, value in settings.items()],
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # An interrupt at the terminal is for the tests, which still need the server.
                start_new_session=True,
                **as_account(),
            )
        deadline = time.monotonic() + 60
        while not self._answers():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"postgres failed:\n{(self.folder / 'log').read_text()}")
            time.sleep(0.02)

    @property
    def pid(self) -> int:
        """The id of its first process, while it runs."""
        assert self._process is not None, "it has been started"
        return self._process.pid

    def _answers(self) -> bool:
        try:
            psycopg.connect(address(self.folder, "postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """Stop at once: whoever is connected is cut off."""
        if self._process is not None:
            # The fast way, which does not wait for clients.
            self._process.send_signal(signal.SIGINT)
            self._process.wait(30)
            self._process = None

    def kill(self) -> None:
        """Kill its first process, as a machine out of memory would, and wait for all others.

        They notice it by themselves, and a server that is started again needs them to be gone.
        """
        assert self._process is not None, "it has been started"
        others = psutil.Process(self.pid).children(recursive=True)
        self._process.kill()
        self._process.wait(30)
        self._process = None
        for each in psutil.wait_procs(others, timeout=10)[1]:
            each.kill()
        psutil.wait_procs(others, timeout=10)

    def close(self) -> None:
        """Stop, and leave nothing behind."""
        try:
            self.stop()
        finally:
            if self._process is not None:
                self._process.kill()
                self._process.wait()
            shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def own_server(*, is_durable: bool = False) -> Iterator[Server]:
    """A server for one test alone, running."""
    folder = Path(tempfile.mkdtemp(prefix="keyset-", dir=temporary_base(on_disk=is_durable)))
    server = Server(folder, is_durable=is_durable)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.close()


def address(folder: Path, name: str) -> str:
    """The URL of a database of the server in a folder."""
    return f"postgresql://{_SUPERUSER}@/{name}?host={folder / 'server'}&port={_SETTINGS['port']}"


def temporary_base(*, on_disk: bool = False) -> Path:
    """A folder for temporary ones whose name is short enough for a socket beneath it.

    In memory if there is plenty, since a database is hundreds of files, of which tests make and
    delete hundreds. Another account must be able to reach it, which it is not where the usual one
    is private.
    """
    memory = Path("/dev/shm")
    # The whole size, on which all processes of a run agree at all times.
    if not on_disk and memory.is_dir() and shutil.disk_usage(memory).total > _PLENTY:
        return memory
    usual = Path(tempfile.gettempdir())
    is_open = all(folder.stat().st_mode & 0o001 for folder in [usual, *usual.parents])
    return usual if is_open and len(str(usual)) < 50 else Path("/tmp")


# One server for all processes of a test run.


def share(folder: Path) -> int:
    """Take part in the server of a folder, starting it where need be.

    Returns a file descriptor: the server runs as long as anybody holds one.
    """
    while True:
        ticket = _take_ticket(folder)
        if ticket is not None:
            break
    with locked(folder / "starting"):
        if not (folder / "ready").exists():
            _start_apart(folder)
            (folder / "ready").touch()
    return ticket


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file alone, among all processes."""
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _start_apart(folder: Path) -> None:
    """Start the server in a process that no test can take with it."""
    command = [sys.executable, "-m", __name__, str(folder)]
    done = subprocess.run(
        command, cwd=_ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr)


def _take_ticket(folder: Path) -> int | None:
    """Hold the folder's ticket together with others; None where the folder has just gone."""
    folder.mkdir(exist_ok=True, mode=0o700)
    try:
        ticket = os.open(folder / "ticket", os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(ticket, fcntl.LOCK_SH)
        if os.path.samestat(os.fstat(ticket), (folder / "ticket").stat()):
            return ticket
        os.close(ticket)
    except FileNotFoundError:
        pass
    return None


def _serve(folder: Path) -> str:
    """Start a server in a process of its own, and return what went wrong, or nothing."""
    reading, writing = os.pipe()
    if os.fork():
        os.close(writing)
        with os.fdopen(reading) as report:
            return report.read()
    os.close(reading)
    _stand_apart()
    server = Server(folder)
    with os.fdopen(writing, "w") as report:
        try:
            server.create()
            server.start()
        except Exception as error:
            report.write(str(error))
    _watch_over(server)
    os._exit(0)


def _stand_apart() -> None:
    """Leave the terminal and its signals to the tests."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _watch_over(server: Server) -> None:
    """Wait until nobody holds a ticket any more, then clear up."""
    with (server.folder / "ticket").open("rb") as ticket:
        fcntl.flock(ticket, fcntl.LOCK_EX)
        server.close()


if __name__ == "__main__":
    sys.exit(_serve(Path(sys.argv[1])) or 0)
