"""A service put together from its settings; only entry points do this."""

from __future__ import annotations

import sys
import time

from fastapi import FastAPI

from grader.cli.database import base_url, now
from grader.grading.context import Desk
from grader.grading.signing import SigningKey
from grader.settings import Settings, load_settings
from grader.store.database import Database, lock, open_database
from grader.store.migrations import upgrade
from grader.store.queries.signing_keys import add_signing_key, find_signing_key
from grader.store.writer import Writer
from grader.web.app import make_app
from grader.web.http.body import Caps
from grader.web.http.rate_limits import Budgets, Rule
from grader.web.ops.logs import Logs, capture_libraries, open_logs
from grader.web.ops.metrics import open_metrics
from grader.web.service import Service


def open_up_to_date(settings: Settings) -> Database:
    """The database of the settings, with its tables brought up to date."""
    database = open_database(settings.address_of_database)
    upgrade(settings.address_of_database)
    return database


def open_desk(database: Database) -> Desk:
    """A desk with the key that signs receipts; the first one ever asked for is made."""
    with database.read() as session:
        private = find_signing_key(session)
    if private is None:
        with database.write() as session:
            # Several processes may start at once; all of them must sign with one key.
            lock(session, ["signing key"])
            private = find_signing_key(session)
            if private is None:
                key = SigningKey.generate()
                private = key.to_bytes()
                add_signing_key(session, key_id=key.id, private=private, at=now())
    return Desk(SigningKey.from_bytes(private))


def open_service(settings: Settings) -> Service:
    """A service, ready to be served."""
    database = open_up_to_date(settings)
    metrics = open_metrics()
    return Service(
        database=database,
        writer=Writer(database, observe_group=metrics.writer_group_size.observe),
        desk=open_desk(database),
        clock=now,
        budgets=_open_budgets(settings),
        logs=_open_logs(settings),
        metrics=metrics,
        base_url=base_url(settings),
    )


def _open_budgets(settings: Settings) -> Budgets:
    rates = {
        "read": settings.reads_per_minute,
        "submit": settings.submits_per_minute,
        "sign_in": settings.sign_ins_per_minute,
    }
    rules = {name: Rule(per_minute=rate, burst=rate) for name, rate in rates.items()}
    return Budgets(rules, time.monotonic)


def _open_logs(settings: Settings) -> Logs:
    pretty = {"auto": None, "json": False, "text": True}[settings.log_format]
    return open_logs(sys.stderr, pretty=pretty, level=settings.log_level)


def make_service_app() -> FastAPI:
    """The app of one of several processes, which read the settings from the environment."""
    settings = load_settings()
    service = open_service(settings)
    capture_libraries(service.logs)
    return make_app(service, caps_of(settings))


def caps_of(settings: Settings) -> Caps:
    """How large and how slow a body may be."""
    return Caps(most_body_bytes=settings.body_bytes, body_seconds=settings.body_seconds)
