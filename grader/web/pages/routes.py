"""The routers of all pages."""

from __future__ import annotations

from fastapi import FastAPI

from grader.web.pages import account, sign_in, tokens
from grader.web.pages.gradebook import dashboard, student_question
from grader.web.pages.review import routes
from grader.web.pages.staff import (
    analytics,
    attempt,
    extensions,
    home,
    integrity,
    person,
    regrades,
    roster,
    roster_import,
    rubrics,
)
from grader.web.pages.student import downloads, drafts, question, work

_ROUTERS = (
    sign_in.router,
    work.router,
    question.router,
    drafts.router,
    downloads.router,
    tokens.router,
    account.router,
    home.router,
    dashboard.router,
    student_question.router,
    attempt.router,
    routes.router,
    analytics.router,
    integrity.router,
    rubrics.router,
    regrades.router,
    extensions.router,
    roster.router,
    roster_import.router,
    person.router,
)


def install_pages(app: FastAPI) -> None:
    """Add all pages to the app."""
    for router in _ROUTERS:
        app.include_router(router)
