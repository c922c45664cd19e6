"""What a page knows about its request: who visits, when, and what the address names.

A route takes a `Page`, `CoursePage`, `AssignmentPage` or `QuestionPage`. FastAPI builds it from the
request, and refuses visitors who are not signed in and path parameters that are too long.
"""

# FastAPI reads the types of the fields at run time, so this module does not postpone annotations.

import inspect
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from grader.accounts.callers import Caller, Membership, get_membership_as
from grader.domain.roles import Role
from grader.engine.random.variants import Variant
from grader.grading.attempts.find import list_attempts
from grader.grading.attempts.open_questions import (
    OpenedQuestion,
    get_assignment,
    get_own_variant,
    open_question,
    refuse_unopened,
)
from grader.grading.attempts.report import AttemptReport
from grader.grading.context import GradingContext, PublishedAssignment
from grader.grading.submissions.drafts import find_own_draft
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import find_judged, has_view
from grader.store.queries.submissions import DraftLine
from grader.web.auth import refuse_forged
from grader.web.http.body import read_form
from grader.web.pages.rendering import is_htmx_request, render
from grader.web.pages.visitors import VisitorDep
from grader.web.params import AssignmentId, CourseId, QuestionId
from grader.web.service import Service, get_received_at, get_service

COURSE_PATH = "/courses/{course}"
ASSIGNMENT_PATH = COURSE_PATH + "/assignments/{assignment}"
QUESTION_PATH = ASSIGNMENT_PATH + "/questions/{question}"

#: A form with an answer may be as large as a JSON body with one.
MAX_FORM_BYTES = 1 << 20

_Result = TypeVar("_Result")


async def read_page_form(request: Request, visitor: VisitorDep) -> dict[str, str]:
    """The fields of a form, which must come from one of our pages."""
    form = await read_form(request, most_bytes=MAX_FORM_BYTES)
    refuse_forged(request, visitor.secret, form.pop("csrf", ""))
    return form


FormDep = Annotated[dict[str, str], Depends(read_page_form)]


@dataclass(frozen=True, slots=True)
class PageContext:
    """A request for a page by a signed-in visitor."""

    request: Request
    visitor: VisitorDep

    @property
    def service(self) -> Service:
        """The running service."""
        return get_service(self.request)

    @property
    def grading(self) -> GradingContext:
        """What the use cases need to grade."""
        return self.service.context

    @property
    def at(self) -> datetime:
        """When the request arrived."""
        return get_received_at(self.request)

    @property
    def caller(self) -> Caller:
        """The visitor as the use cases know them."""
        return self.visitor.caller

    @property
    def is_htmx(self) -> bool:
        """Whether htmx asks, which replaces only a part of the page."""
        return is_htmx_request(self.request)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session for reading, which begins with the question who visits."""
        with self.service.database.read() as session:
            self.visitor.identify(session)
            yield session

    async def write(self, change: Callable[[Session], _Result]) -> _Result:
        """Run a change in the writer's transaction."""
        return await self.service.writer.run(change)

    def render(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page, or a part of one, for this visitor."""
        return render(self.request, template, status=status, visitor=self.visitor, **values)

    def redirect(self, path: str | None = None) -> Response:
        """Go on to a page with GET; without a path, to this one."""
        return RedirectResponse(path or self.request.url.path, status_code=303)


@dataclass(frozen=True, slots=True)
class CourseContext(PageContext):
    """A page of a course run."""

    course: CourseId

    def membership(self, session: Session, role: Role = Role.STUDENT) -> Membership:
        """The visitor's membership in the course run, with at least this role."""
        return get_membership_as(session, self.caller, role, run_id=self.course)


@dataclass(frozen=True, slots=True)
class AssignmentContext(CourseContext):
    """A page of an assignment."""

    assignment: AssignmentId

    def published(self, session: Session) -> PublishedAssignment:
        """The publication in force."""
        return self.grading.in_force(session, run_id=self.course, assignment=self.assignment)


@dataclass(frozen=True, slots=True)
class QuestionView:
    """A question with the visitor's work on it."""

    opened: OpenedQuestion
    attempts: list[AttemptReport]
    draft: DraftLine | None
    earlier: dict[str, Any] | None = None
    """The visitor's answer to the question that this one builds on."""


@dataclass(frozen=True, slots=True)
class QuestionContext(AssignmentContext):
    """A page of a question."""

    question: QuestionId

    def open(self, session: Session, *, keep: bool) -> OpenedQuestion:
        """The question with the visitor's variant; `keep` records the first view."""
        return open_question(
            session,
            self.grading,
            self.membership(session),
            assignment=self.assignment,
            question=self.question,
            at=self.at,
            keep=keep,
        )

    def own_variant(self, session: Session) -> tuple[Rubric, Variant]:
        """The rubric and the visitor's variant, without recording a view."""
        membership = self.membership(session)
        state = get_assignment(
            session, self.grading, membership, assignment=self.assignment, at=self.at
        )
        rubric = state.published.rubric(self.question)
        refuse_unopened(state, membership, at=self.at)
        variant = get_own_variant(session, self.grading, membership, rubric, at=self.at, keep=False)
        return rubric, variant

    async def view(self) -> QuestionView:
        """The question and the attempts so far; the visitor's first view is recorded."""
        found = await run_in_threadpool(self._find_view)
        if found is None:
            await self.write(lambda session: self.open(session, keep=True))
            # There may be attempts already: programs can answer without opening the question.
            found = await run_in_threadpool(self._find_view)
        assert found is not None, "the view was recorded just now"
        return found

    def _find_view(self) -> QuestionView | None:
        """The question and the attempts; None before the first view."""
        with self.read() as session:
            membership = self.membership(session)
            if membership.enrolment is None:
                return QuestionView(self.open(session, keep=False), [], None)
            if not has_view(
                session, part=(membership.enrolment.id, self.assignment, self.question)
            ):
                return None
            names = {"assignment": self.assignment, "question": self.question}
            attempts = list_attempts(session, self.grading, membership, **names, at=self.at)
            draft = find_own_draft(session, membership, **names)
            opened = self.open(session, keep=False)
            return QuestionView(opened, attempts, draft, _find_earlier_answer(session, opened))


def _find_earlier_answer(session: Session, opened: OpenedQuestion) -> dict[str, Any] | None:
    rubric = opened.question.rubric.earlier
    if rubric is None:
        return None
    before = opened.assignment.questions[rubric.form.id]
    if before.grade is None or not before.shows_result or not before.grade.counted_attempt_id:
        return None
    found = find_judged(session, attempt_id=before.grade.counted_attempt_id)
    return found[0].answer if found else None


_Context = TypeVar("_Context", bound=PageContext)


def make_page_dependency(kind: type[_Context]) -> Callable[..., Coroutine[Any, Any, _Context]]:
    """A dependency that makes a context; FastAPI would run the class itself in a thread."""

    async def make_page(**fields: Any) -> _Context:
        return kind(**fields)

    # FastAPI reads from it what the address must name.
    make_page.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]  # as documented
    return make_page


Page = Annotated[PageContext, Depends(make_page_dependency(PageContext))]
CoursePage = Annotated[CourseContext, Depends(make_page_dependency(CourseContext))]
AssignmentPage = Annotated[AssignmentContext, Depends(make_page_dependency(AssignmentContext))]
QuestionPage = Annotated[QuestionContext, Depends(make_page_dependency(QuestionContext))]
