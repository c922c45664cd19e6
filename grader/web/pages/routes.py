"""Every page, by the module that has it."""

from __future__ import annotations

from fastapi import FastAPI

from grader.web.pages import sign_in, tokens
from grader.web.pages.gradebook import dashboard, student_question
from grader.web.pages.review import routes
from grader.web.pages.staff import (
    analytics,
    attempt,
    extensions,
    home,
    integrity,
    person,
    roster,
    roster_import,
    rubrics,
)
from grader.web.pages.student import compare, downloads, drafting, question, work

_ON_THE_WAY_IN = (sign_in.router,)
_FOR_STUDENTS = (
    work.router,
    question.router,
    drafting.router,
    downloads.router,
    compare.router,
    tokens.router,
)
_FOR_STAFF = (
    home.router,
    dashboard.router,
    student_question.router,
    attempt.router,
    routes.router,
    analytics.router,
    integrity.router,
    rubrics.router,
    extensions.router,
    roster.router,
    roster_import.router,
    person.router,
)


def install_pages(app: FastAPI) -> None:
    """Let the app answer with pages."""
    for router in (*_ON_THE_WAY_IN, *_FOR_STUDENTS, *_FOR_STAFF):
        app.include_router(router)
