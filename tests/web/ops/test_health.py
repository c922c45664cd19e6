"""Whether a service is ready: its database answers and is up to date, and its writer works."""

from __future__ import annotations

from sqlalchemy import text

from grader.store.database import Database
from tests.support.world import make_service


def test_a_service_whose_tables_are_behind_is_not_ready(database: Database) -> None:
    with make_service(database) as world:
        assert world.get("/readyz").status_code == 200

        with database.write() as session:
            session.execute(text("UPDATE alembic_version SET version_num = '0001'"))
        refused = world.get("/readyz")

        assert refused.status_code == 503
        assert "grader migrate" in refused.json()["detail"]


def test_a_service_whose_writer_has_ended_is_not_ready(sqlite_database: Database) -> None:
    with make_service(sqlite_database) as world:
        world.service.writer.stop()
        refused = world.get("/readyz")

        assert refused.status_code == 503
        assert "writer" in refused.json()["detail"]
