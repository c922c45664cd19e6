"""Build the service from its settings and run it."""

from __future__ import annotations

import gc
import multiprocessing
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from multiprocessing import forkserver
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
import uvicorn._subprocess
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from grader.accounts.people import make_person
from grader.accounts.sign_in import make_sign_in_link
from grader.cli.beside import working_on_jobs
from grader.cli.console import console, print_line
from grader.cli.database import OPERATOR, build_base_url, open_with_keys, read_clock
from grader.errors import OperatorError
from grader.settings import Settings, load_settings
from grader.store.database import Database, lock
from grader.store.migrations import migrate_up
from grader.store.queries.audit import add_signing_key, find_signing_key
from grader.store.queries.people import has_operator
from grader.store.queries.secrets import check_secrets_open
from grader.store.writer import Writer
from grader.web.app import make_app
from grader.web.http.body import BodyLimits
from grader.web.http.costly import LARGE_BODY_BYTES
from grader.web.http.hosts import make_known_hosts
from grader.web.http.rate_limits import RateLimit, RateLimiter
from grader.web.http.server import DeadlineProtocol
from grader.web.ops.logs import Logger, install_library_logging, open_logs
from grader.web.ops.metrics import forget_process, open_metrics, shared_metrics
from grader.web.service import Service

if TYPE_CHECKING:
    from grader.grading.context import GradingContext


def open_grading_context(database: Database) -> GradingContext:
    """Make a grading context with the key that signs receipts; create the key if there is none."""
    return _make_grading_context(_ensure_signing_key(database))


def _make_grading_context(private: bytes) -> GradingContext:
    # The service listens before it imports the engine.
    from grader.grading.context import GradingContext
    from grader.grading.signing import SigningKey

    return GradingContext(SigningKey.from_bytes(private))


def _ensure_signing_key(database: Database) -> bytes:
    with database.read() as session:
        private = find_signing_key(session)
    if private is None:
        # Only a new service needs to make a key.
        from grader.grading.signing import SigningKey

        with database.write() as session:
            # Several processes may start at once, and all must sign with the same key.
            lock(session, ["signing key"])
            private = find_signing_key(session)
            if private is None:
                key = SigningKey.generate()
                private = key.to_bytes()
                add_signing_key(session, key_id=key.id, private=private, at=read_clock())
    return private


def open_service(settings: Settings) -> Service:
    """Open the database, bring it up to date, and build the service on it."""
    database = open_with_keys(settings)
    migrate_up(settings.address_of_database)
    with database.read() as session:
        check_secrets_open(session)
    metrics = open_metrics()
    return Service(
        database=database,
        writer=Writer(database, observe_group=metrics.writer_group_size.observe),
        make_context=partial(_make_grading_context, _ensure_signing_key(database)),
        clock=read_clock,
        budgets=_make_rate_limits(settings),
        logs=_open_logs(settings),
        metrics=metrics,
        base_url=build_base_url(settings),
        refusal_seconds=settings.refusal_seconds,
        anonymous_per_second=_ANONYMOUS_PER_SECOND,
        failed_sign_ins=settings.failed_sign_ins,
        hosts=make_known_hosts(settings.base_url) if settings.base_url else None,
    )


#: Requests without a credential take less than half a millisecond each.
_ANONYMOUS_PER_SECOND = 100.0
_BODY_PIECES_PER_MEGABYTE = 2**20 // LARGE_BODY_BYTES


def _make_rate_limits(settings: Settings) -> RateLimiter:
    rates = {
        "read": settings.reads_per_minute,
        "check": settings.checks_per_minute,
        "submit": settings.submits_per_minute,
        "body": settings.megabytes_per_minute * _BODY_PIECES_PER_MEGABYTE,
        "sign_in": settings.sign_ins_per_minute,
        "anonymous": settings.anonymous_per_minute,
    }
    rules = {name: RateLimit(per_minute=rate, burst=rate) for name, rate in rates.items()}
    return RateLimiter(rules, time.monotonic)


def _open_logs(settings: Settings) -> Logger:
    pretty = {"auto": None, "json": False, "text": True}[settings.log_format]
    return open_logs(pretty=pretty, level=settings.log_level)


def make_service_app() -> FastAPI:
    """Make the app of a worker process, which reads its settings from the environment."""
    settings = load_settings()
    service = open_service(settings)
    install_library_logging(service.logs)
    _tune_interpreter()
    return make_app(service, make_body_limits(settings))


def make_body_limits(settings: Settings) -> BodyLimits:
    """Return the limits of a request body: its size and the time it may take."""
    return BodyLimits(most_body_bytes=settings.body_bytes, body_seconds=settings.body_seconds)


_KEEP_ALIVE_SECONDS = 75
_SHUTDOWN_SECONDS = 20
# By default Python looks for garbage after 700 new objects, a few requests' worth. To look at
# 15,000 takes some 5 ms, in which everything stands still.
_COLLECTOR_THRESHOLDS = (15_000, 20, 20)
# A thread that wants Python's lock waits that long before it asks for it. The writer takes the lock
# some 25 times for an answer, and each time would wait 5 ms, Python's default, for a busy loop.
_SWITCH_SECONDS = 0.0002


def run_server(*, host: str | None, port: int | None, workers: int | None, is_demo: bool) -> None:
    """Run the service until it is stopped."""
    settings = _apply_options(load_settings(), host=host, port=port, workers=workers)
    listener = _listen(settings)
    settings = _apply_options(settings, port=listener.getsockname()[1])
    if settings.workers > 1:
        with shared_metrics():
            _prepare_workers(settings)
            _run_service(settings, listener, is_demo=is_demo)
    else:
        _run_service(settings, listener, is_demo=is_demo)


def _run_service(settings: Settings, listener: socket.socket, *, is_demo: bool) -> None:
    service = open_service(settings)
    install_library_logging(service.logs)
    _print_data_location(settings)
    _add_first_operator(service.database, settings)
    filling: AbstractContextManager[None] = nullcontext()
    if is_demo:
        # Only a demo needs these modules.
        from grader.cli.demo_course import filling_demo, prepare_demo

        prepare_demo(service, settings)
        filling = filling_demo(service)
    console.print(f"Listening on [bold]{build_base_url(settings)}[/] (Ctrl+C to stop).")
    if settings.workers > 1:
        service.database.close()
        # This process answers no requests, so it is the one that fills the demo.
        with running_writer(service), filling, working_on_jobs(service.database, settings):
            _serve_with_workers(settings, listener)
    else:
        app = make_app(service, make_body_limits(settings), alongside=filling)
        if is_demo:
            # Somebody opens a page at once, which should not wait for what fills the demo.
            app.state.routes.load()
        _tune_interpreter()
        with working_on_jobs(service.database, settings):
            uvicorn.Server(make_config(app, settings)).run(sockets=[listener])


@contextmanager
def running_writer(service: Service) -> Iterator[None]:
    """Let the writer work without an app around it."""
    service.writer.start()
    try:
        yield
    finally:
        service.writer.stop()
        service.database.close()


def _tune_interpreter() -> None:
    """Set what Python leaves to be set by programs that answer many at once.

    The garbage collector leaves alone what stays to the end, and looks less often: under load it
    took a fifth of the time of the event loop, and found nothing.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)
    sys.setswitchinterval(_SWITCH_SECONDS)


def _apply_options(settings: Settings, **chosen: object) -> Settings:
    return settings.model_copy(
        update={name: value for name, value in chosen.items() if value is not None}
    )


def _listen(settings: Settings) -> socket.socket:
    """Open the port first, so that an error is reported before anything else is done."""
    if settings.workers > 1 and settings.address_of_database.startswith("sqlite"):
        raise OperatorError(
            "Several workers need PostgreSQL, because SQLite allows only one writer. "
            "Set GRADER_DATABASE_URL, or leave out --workers."
        )
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        return socket.create_server((settings.host, settings.port), family=family, backlog=1024)
    except OSError as error:
        raise OperatorError(
            f"Cannot listen on {settings.host}:{settings.port}: {error.strerror}. "
            "Choose another port with --port."
        ) from None


def _print_data_location(settings: Settings) -> None:
    address = settings.address_of_database
    is_file = address.startswith("sqlite")
    print_line(f"Data: {address.removeprefix('sqlite:///') if is_file else 'PostgreSQL'}")


def _add_first_operator(database: Database, settings: Settings) -> None:
    """Add an operator to a new service, and print a sign-in link for them."""
    with database.read() as session:
        if has_operator(session):
            return
    with database.write() as session:
        person = make_person(
            session, login="operator", name="Operator", email=None, is_operator=True,
            at=read_clock(), by=OPERATOR,
        )  # fmt: skip
        code = make_sign_in_link(session, person, at=read_clock(), by=OPERATOR)
    usual = Settings.model_fields["data_folder"].get_default(call_default_factory=True)
    command = "grader user link operator"
    if not settings.database_url and settings.data_folder != usual:
        command = f"GRADER_DATA_FOLDER={settings.data_folder} {command}"
    print_line(f"Sign in as operator with this link, once (`{command}` makes another one):")
    print_line(f"  {build_base_url(settings)}/sign-in/{code}")


def make_config(app: object, settings: Settings, **more: object) -> uvicorn.Config:
    """How uvicorn serves an app, or the factory of one that is named by its import path."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # An app, or the import path of a factory.
        http=DeadlineProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        # Without a list, uvicorn would take one from a variable of its own.
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=settings.proxies,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        backlog=1024,
        # A connection that is closed just when its client sends the next request loses it. So it
        # may rest longer than most clients let it; where room is short it ends earlier.
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        **more,  # type: ignore[arg-type]  # Named as uvicorn names them.
    )


def _prepare_workers(settings: Settings) -> None:
    """Let a process import what workers need, while this one looks after the database.

    Workers are forked from it, so that none has to import anything, and one that replaces another
    is there at once. This process has threads, and nothing is forked from it.
    """
    # The workers read their settings from the environment.
    os.environ |= {
        "GRADER_HOST": settings.host,
        "GRADER_PORT": str(settings.port),
        "GRADER_WORKERS": str(settings.workers),
    }
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["grader.cli.worker"])
    forkserver.ensure_running()
    # Uvicorn has no option for it; it would start a new interpreter for each worker.
    uvicorn._subprocess.spawn = context  # type: ignore[assignment]  # Another kind of context.


def _serve_with_workers(settings: Settings, listener: socket.socket) -> None:
    config = make_config(
        "grader.cli.server:make_service_app", settings, factory=True, workers=settings.workers
    )
    _Workers(config, sockets=[listener]).run()


class _Workers(Multiprocess):
    """Worker processes, each on a core of its own where there are enough for every core.

    The threads of a process take turns, because of Python's lock. Where the turn passes to another
    core, that core has to be woken, and finds nothing in its cache.
    """

    def init_processes(self) -> None:
        """Start the workers."""
        super().init_processes()
        self._place_all()

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended."""
        before = {each.pid for each in self.processes}
        super().keep_subprocess_alive()
        for pid in before - {each.pid for each in self.processes}:
            if pid is not None:
                forget_process(pid)
        self._place_all()

    def _place_all(self) -> None:
        # Only Linux lets a process choose its cores.
        allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        chosen = choose_cores(allowed, workers=self.processes_num)
        for process, core in zip(self.processes, chosen, strict=False):
            if process.pid is not None:
                _place(process.pid, core)


def choose_cores(allowed: Sequence[int], *, workers: int) -> list[int]:
    """The core of each worker; none where each may run on all of them.

    With fewer workers than cores, a worker might share its core with that of another service while
    other cores are idle.
    """
    if not 1 < len(allowed) <= workers:
        return []
    return [allowed[number % len(allowed)] for number in range(workers)]


def _place(pid: int, core: int) -> None:
    """Keep all threads of a process on a core; what has ended meanwhile is replaced soon."""
    with suppress(ProcessLookupError, FileNotFoundError):
        if os.sched_getaffinity(pid) == {core}:
            return
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {core})
