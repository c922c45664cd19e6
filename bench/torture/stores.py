"""A store that is being tortured: a course, what was acknowledged, and the audit of both."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import orjson
from sqlalchemy import text

from bench.load.databases import LoadDatabase, open_load_database
from bench.load.processes import RunningServer, run_service
from bench.load.students import MOST_ATTEMPTS, Course, Student, open_course
from bench.torture.results import CampaignResult

_VERIFY_SECONDS = 1800
#: No caller of a campaign is ever too fast, and its log holds only what went wrong.
_SETTINGS = {
    "GRADER_SUBMITS_PER_MINUTE": "100000000",
    "GRADER_READS_PER_MINUTE": "100000000",
    "GRADER_MEGABYTES_PER_MINUTE": "100000000",
    "GRADER_LOG_LEVEL": "warning",
}
_DOUBLES = """
    SELECT count(*) FROM (
        SELECT 1 FROM attempts GROUP BY enrolment_id, assignment, question, answer_digest
        HAVING count(*) > 1
    ) AS doubles
"""


#: Alembic keeps what it works on in its modules.
_MIGRATING = threading.Lock()


@dataclass(frozen=True, slots=True)
class TortureStore:
    """A database with a course, and a file of the responses that clients got."""

    kind: str
    database: LoadDatabase
    course: Course
    students: Sequence[Student]
    _file: BinaryIO

    @property
    def _path(self) -> Path:
        return self.database.folder / "acknowledged.jsonl"

    def run_service(
        self,
        *,
        workers: int,
        under: Sequence[str] = (),
        is_awaited: bool = True,
        settings: Mapping[str, str] = _SETTINGS,
    ) -> AbstractContextManager[RunningServer]:
        """Run `grader serve` on it."""
        return run_service(
            self.database.url, workers=workers, folder=self.database.folder, settings=settings,
            under=under, is_awaited=is_awaited,
        )  # fmt: skip

    def note_acknowledged(self, body: bytes) -> None:
        """Note the response to an attempt that was accepted."""
        self._file.write(body + b"\n")

    def sync(self) -> None:
        """See to it that what was acknowledged is known, whatever happens."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def verify(self, result: CampaignResult) -> None:
        """Add what `grader verify`, in a process of its own, finds wrong."""
        self.sync()
        command = [sys.executable, "-m", "grader", "verify", "--json"]
        done = subprocess.run(
            [*command, "--acknowledged", str(self._path)],
            env=os.environ | {"GRADER_DATABASE_URL": self.database.url},
            capture_output=True, text=True, check=False, timeout=_VERIFY_SECONDS,
        )  # fmt: skip
        if done.returncode not in (0, 1):
            result.findings.append(f"grader verify failed: {done.stderr.strip()[-500:]}")
            return
        for check in orjson.loads(done.stdout)["checks"]:
            if check["name"] == "acknowledged":
                result.lost += check["found"]
            result.findings += [
                f"grader verify, {check['name']}: {each['subject']}: {each['text']}"
                for each in check["discrepancies"]
            ]
        doubles = self._count(_DOUBLES)
        if doubles:
            result.findings.append(f"{doubles} answers are stored more than once")
        result.counts["stored"] += self._count("SELECT count(*) FROM attempts")

    def _count(self, statement: str) -> int:
        opened = self.database.open()
        with opened.read() as session:
            found = session.execute(text(statement)).scalar_one()
        opened.close()
        return int(found)


@contextmanager
def open_store(
    kind: str,
    result: CampaignResult,
    *,
    evidence: Path,
    students: int,
    most_attempts: int = MOST_ATTEMPTS,
    secret: bytes | None = None,
    ids: Sequence[str] = (),
) -> Iterator[TortureStore]:
    """Make a store, which is removed at the end, or kept as evidence if a promise was broken."""
    before = len(result.findings)
    with ExitStack() as stack:
        with _MIGRATING:
            database = stack.enter_context(open_load_database(kind))
        opened = database.open()
        course = open_course(opened, most_attempts=most_attempts, secret=secret)
        enrolled = course.enrol(students, ids=ids)
        opened.close()
        file = stack.enter_context((database.folder / "acknowledged.jsonl").open("wb"))
        store = TortureStore(kind, database, course, enrolled, file)
        try:
            yield store
            store.verify(result)
        except Exception as error:
            result.findings.append(f"the campaign itself ended: {error!r}")
        if len(result.findings) > before:
            _keep_evidence(database, evidence / f"{result.campaign}-{kind}-{_format_now()}")


def _keep_evidence(database: LoadDatabase, folder: Path) -> None:
    """Copy the database, the log and what was acknowledged."""
    if database.server is not None:
        database.server.stop()
        shutil.copytree(database.server.home / "data", folder / "postgresql")
        shutil.copyfile(database.server.folder / "log", folder / "postgresql.log")
    shutil.copytree(database.folder, folder, dirs_exist_ok=True)


def _format_now() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
