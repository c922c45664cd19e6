"""Course runs: made by operators, each with its own secret."""

from __future__ import annotations

import re
import secrets
from datetime import datetime

from grader.domain.time_zones import is_time_zone
from grader.errors import ErrorDetail, MalformedRequest, RequestRefused
from grader.store.database import Session
from grader.store.queries.audit import add_audit_entry
from grader.store.queries.courses import RunLine, add_course, add_run, find_run, has_course
from grader.store.queries.facts import RecordedTable

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def make_run(
    session: Session,
    *,
    course_id: str,
    run_id: str,
    title: str,
    time_zone: str,
    at: datetime,
    by: str,
) -> RunLine:
    """Make a course run, and its course if it is new.

    Raises
    ------
    MalformedRequest
        If a name or the time zone cannot be used.
    RequestRefused
        If the run exists already.
    """
    _check(course_id, run_id, time_zone)
    if find_run(session, run_id=run_id) is not None:
        raise RequestRefused(f"There is a course run {run_id} already.", code="course.exists")
    changed = {RecordedTable.RUNS: [run_id]}
    if not has_course(session, course_id=course_id):
        add_course(session, course_id=course_id, title=title, at=at)
        changed[RecordedTable.COURSES] = [course_id]
    line = RunLine(run_id, course_id, title, time_zone)
    add_run(session, line, secret=secrets.token_bytes(32), at=at)
    add_audit_entry(
        session, at=at, by=by, run_id=run_id, action="course.made", subject=run_id, changed=changed
    )
    return line


def _check(course_id: str, run_id: str, time_zone: str) -> None:
    faults = [
        ErrorDetail(
            name,
            "name.invalid",
            f"{name} consists of lower-case letters, digits and hyphens, such as attention-2026.",
        )
        for name, value in (("course", course_id), ("id", run_id))
        if not _SLUG.fullmatch(value)
    ]
    if not is_time_zone(time_zone):
        detail = "This is not a time zone; write one such as Europe/Warsaw."
        faults.append(ErrorDetail("time_zone", "time_zone.unknown", detail))
    if faults:
        raise MalformedRequest.of(*faults)
