"""Every page, by the module that has it."""

from __future__ import annotations

from fastapi import FastAPI

from grader.web.pages import (
    analytics,
    answering,
    attempt_view,
    comparing,
    extensions,
    given,
    gradebook,
    grades,
    integrity,
    people,
    reviewing,
    roster,
    roster_import,
    rubrics,
    sign_in,
    today,
    tokens,
    work,
    writing,
)

_ON_THE_WAY_IN = (sign_in.router,)
_FOR_STUDENTS = (
    work.router,
    answering.router,
    writing.router,
    given.router,
    comparing.router,
    tokens.router,
)
_FOR_STAFF = (
    today.router,
    gradebook.router,
    grades.router,
    attempt_view.router,
    reviewing.router,
    analytics.router,
    integrity.router,
    rubrics.router,
    extensions.router,
    roster.router,
    roster_import.router,
    people.router,
)


def install_pages(app: FastAPI) -> None:
    """Let the app answer with pages."""
    for router in (*_ON_THE_WAY_IN, *_FOR_STUDENTS, *_FOR_STAFF):
        app.include_router(router)
