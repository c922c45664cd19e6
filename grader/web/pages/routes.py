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
from grader.web.pages.student import compare, downloads, drafts, question, work

_SIGN_IN_ROUTERS = (sign_in.router,)
_STUDENT_ROUTERS = (
    work.router,
    question.router,
    drafts.router,
    downloads.router,
    compare.router,
    tokens.router,
)
_STAFF_ROUTERS = (
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
    for router in (*_SIGN_IN_ROUTERS, *_STUDENT_ROUTERS, *_STAFF_ROUTERS):
        app.include_router(router)
