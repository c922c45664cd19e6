"""The routers of all calls of the API."""

from __future__ import annotations

from fastapi import APIRouter

from grader.web.api import (
    attempts,
    audit,
    courses,
    gradebook,
    grades,
    publications,
    regrades,
    reviews,
    roster,
    session,
    tokens,
)


def build_api() -> APIRouter:
    """All calls, in the order of the manual."""
    api = APIRouter(prefix="/api/v1")
    for router in (
        courses.router,
        courses.question_router,
        attempts.check_router,
        attempts.router,
        gradebook.router,
        grades.router,
        reviews.router,
        publications.router,
        regrades.router,
        attempts.judging_router,
        roster.router,
        tokens.router,
        audit.router,
        session.router,
    ):
        api.include_router(router)
    return api
