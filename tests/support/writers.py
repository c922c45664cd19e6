"""Writers with connections of their own, as several processes have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from grader.store.database import open_database
from grader.store.writer import Writer
from tests.support.world import World


@contextmanager
def start_writers(world: World, count: int) -> Iterator[list[Writer]]:
    """Writers on the database of a service, each with connections of its own."""
    url = world.database.url.render_as_string(hide_password=False)
    databases = [open_database(url) for _ in range(count)]
    started = [Writer(each).start() for each in databases]
    yield started
    for writer in started:
        writer.stop()
    for database in databases:
        database.close()
