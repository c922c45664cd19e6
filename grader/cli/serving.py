"""Serving: the port is taken, the database brought up to date, and the service started."""

from __future__ import annotations

import os
import socket

import uvicorn
from uvicorn.supervisors import Multiprocess

from grader.accounts.people import make_person
from grader.accounts.sign_in import make_sign_in_link
from grader.cli.database import base_url, now
from grader.cli.demo_course import tell_demo
from grader.cli.options import console
from grader.cli.server import caps_of, open_service
from grader.errors import OperatorError
from grader.settings import Settings, load_settings
from grader.store.database import Database
from grader.store.queries.people import has_operator
from grader.web.app import make_app
from grader.web.http.server import DeadlineProtocol
from grader.web.ops.logs import capture_libraries

_GRACE_SECONDS = 20


def run(*, host: str | None, port: int | None, workers: int | None, is_demo: bool) -> None:
    """Serve until somebody ends it."""
    settings = _with(load_settings(), host=host, port=port, workers=workers)
    listener = _listen(settings)
    settings = _with(settings, port=listener.getsockname()[1])
    service = open_service(settings)
    capture_libraries(service.logs)
    _tell_place(settings)
    _welcome_operator(service.database, settings)
    if is_demo:
        tell_demo(service, settings)
    console.print(f"Listening on [bold]{base_url(settings)}[/] (Ctrl+C ends it).")
    if settings.workers > 1:
        service.database.close()
        _serve_many(settings, listener)
    else:
        app = make_app(service, caps_of(settings))
        uvicorn.Server(_config(app, settings)).run(sockets=[listener])


def _with(settings: Settings, **chosen: object) -> Settings:
    return settings.model_copy(
        update={name: value for name, value in chosen.items() if value is not None}
    )


def _listen(settings: Settings) -> socket.socket:
    """Take the port before anything else, so that a mistake is told at once."""
    if settings.workers > 1 and settings.address_of_database.startswith("sqlite"):
        raise OperatorError(
            "Several processes need PostgreSQL; SQLite has one writer. "
            "Set GRADER_DATABASE_URL, or leave --workers out."
        )
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        return socket.create_server((settings.host, settings.port), family=family, backlog=1024)
    except OSError as error:
        raise OperatorError(
            f"{settings.host}:{settings.port} cannot be listened on: {error.strerror}. "
            "--port chooses another one."
        ) from None


def _tell_place(settings: Settings) -> None:
    address = settings.address_of_database
    if address.startswith("sqlite"):
        console.print(f"Data: {address.removeprefix('sqlite:///')}", markup=False, soft_wrap=True)
    else:
        console.print("Data: PostgreSQL", markup=False)


def _welcome_operator(database: Database, settings: Settings) -> None:
    """Let the first one in: a new service has nobody who could make an account."""
    with database.read() as session:
        if has_operator(session):
            return
    with database.write() as session:
        person = make_person(
            session,
            login="operator",
            name="Operator",
            email=None,
            is_operator=True,
            at=now(),
            by="operator",
        )
        code = make_sign_in_link(session, person, at=now(), by="operator")
    folder = f"GRADER_DATA_FOLDER={settings.data_folder} " if _is_elsewhere(settings) else ""
    console.print(
        f"Sign in as operator, once (`{folder}grader user link operator` makes another link):",
        markup=False,
        soft_wrap=True,
    )
    console.print(f"  {base_url(settings)}/sign-in/{code}", markup=False, soft_wrap=True)


def _is_elsewhere(settings: Settings) -> bool:
    """Whether another command would look for the data in another place."""
    usual = Settings.model_fields["data_folder"].get_default(call_default_factory=True)
    return not settings.database_url and settings.data_folder != usual


def _config(app: object, settings: Settings, **more: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # an app, or where to import one from
        http=DeadlineProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=True,
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        backlog=1024,
        **more,  # type: ignore[arg-type]  # as uvicorn names them
    )


def _serve_many(settings: Settings, listener: socket.socket) -> None:
    # The processes read their settings from the environment.
    os.environ |= {
        "GRADER_HOST": settings.host,
        "GRADER_PORT": str(settings.port),
        "GRADER_WORKERS": str(settings.workers),
    }
    config = _config(
        "grader.cli.server:make_service_app", settings, factory=True, workers=settings.workers
    )
    Multiprocess(config, sockets=[listener]).run()
