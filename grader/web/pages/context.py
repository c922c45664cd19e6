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

from grader.accounts.callers import Caller, Membership, get_membership_as
from grader.domain.roles import Role
from grader.engine.random.variants import Variant
from grader.grading.attempts.find import AttemptSummary, list_own_attempts
from grader.grading.attempts.open_questions import OpenedQuestion, get_open_variant, open_question
from grader.grading.context import GradingContext, PublishedAssignment
from grader.rubric.catalog import Rubric
from grader.store.database import Session
from grader.store.queries.attempts import find_attempts
from grader.store.queries.fills import FillLine, find_fill
from grader.store.queries.submissions import DraftLine, find_seen
from grader.web.auth import begin_costly, refuse_forged
from grader.web.errors.pages import keep_typed
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
    refuse_forged(request, visitor.secret, form.get("csrf", ""))
    keep_typed(request, form)
    del form["csrf"]
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
    def read(self, *, cost: float = 1) -> Iterator[Session]:
        """A session for reading, which begins with the question who visits.

        A page that costs as much as several counts as many, and is one of the few costly requests
        of its visitor.
        """
        with self.service.database.read() as session:
            caller = self.visitor.identify(session)
            if cost > 1:
                self.service.budgets.spend("read", caller.id, cost=cost - 1)
                begin_costly(self.request, caller.id)
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

    def fill(self, session: Session) -> FillLine | None:
        """The progress of filling the course run with made-up work, for `parts/fill.html`."""
        return find_fill(session, run_id=self.course)


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
    attempts: list[AttemptSummary]
    draft: DraftLine | None
    earlier: dict[str, Any] | None = None
    """The visitor's answer to the question that this one builds on."""
    restored: dict[str, Any] | None = None
    """The answer of the attempt that the visitor wants to have in the form again."""


@dataclass(frozen=True, slots=True)
class QuestionContext(AssignmentContext):
    """A page of a question."""

    question: QuestionId

    def own_variant(self, session: Session) -> tuple[Rubric, Variant]:
        """The rubric and the visitor's variant, without recording a view."""
        return get_open_variant(
            session,
            self.grading,
            self.membership(session),
            assignment=self.assignment,
            question=self.question,
            at=self.at,
        )

    async def view(self) -> QuestionView:
        """The question and the attempts so far; the visitor's first view is recorded."""
        return await self.use_view(lambda view: view)

    async def use_view(
        self, use: Callable[[QuestionView], _Result], *, restore: str = ""
    ) -> _Result:
        """The same, and what `use` makes of it in the thread that has read it."""
        found = await self.service.run_in_reader(self._use_view, use, restore)
        if found is None:
            await self.write(lambda session: self._open(session, self.membership(session), True))
            # There may be attempts already: programs can answer without opening the question.
            found = await self.service.run_in_reader(self._use_view, use, restore)
        assert found is not None, "the view was recorded just now"
        return found[0]

    def _use_view(
        self, use: Callable[[QuestionView], _Result], restore: str
    ) -> tuple[_Result] | None:
        with self.read() as session:
            view = self._find_view(session, restore)
        return None if view is None else (use(view),)

    def _find_view(self, session: Session, restore: str) -> QuestionView | None:
        """The question and the attempts; None before the first view."""
        membership = self.membership(session)
        if membership.enrolment is None:
            return QuestionView(self._open(session, membership, False), [], None)
        part = (membership.enrolment.id, self.assignment, self.question)
        seen = find_seen(session, student_question=part)
        if seen is None:
            return None
        opened = self._open(session, membership, False)
        attempts = list_own_attempts(session, opened.question, part=part, at=self.at)
        restored = None
        if any(each.id == restore for each in attempts):
            restored = _find_answer(session, restore)
        earlier = _find_earlier_answer(session, opened)
        return QuestionView(opened, attempts, seen.draft, earlier, restored)

    def _open(self, session: Session, membership: Membership, keep: bool) -> OpenedQuestion:
        """The question with the visitor's variant; `keep` records the first view."""
        return open_question(
            session,
            self.grading,
            membership,
            assignment=self.assignment,
            question=self.question,
            at=self.at,
            keep=keep,
            with_scores=False,
        )


def _find_earlier_answer(session: Session, opened: OpenedQuestion) -> dict[str, Any] | None:
    rubric = opened.question.rubric.earlier
    if rubric is None:
        return None
    before = opened.assignment.questions[rubric.form.id]
    if before.grade is None or not before.shows_result or not before.grade.counted_attempt_id:
        return None
    return _find_answer(session, before.grade.counted_attempt_id)


def _find_answer(session: Session, attempt_id: str) -> dict[str, Any] | None:
    found = find_attempts(session, attempt_ids=[attempt_id]).get(attempt_id)
    return found.answer if found else None


_Context = TypeVar("_Context", bound=PageContext)


def make_page_dependency(kind: type[_Context]) -> Callable[..., Coroutine[Any, Any, _Context]]:
    """A dependency that makes a context; FastAPI would run the class itself in a thread."""

    async def make_page(**fields: Any) -> _Context:
        return kind(**fields)

    # FastAPI reads from it what the address must name.
    make_page.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]  # as documented
    # `PageRoute` may call it without FastAPI: it needs nothing but the names of the path.
    make_page.is_page_context = True  # type: ignore[attr-defined]  # functions take any attribute
    return make_page


Page = Annotated[PageContext, Depends(make_page_dependency(PageContext))]
CoursePage = Annotated[CourseContext, Depends(make_page_dependency(CourseContext))]
AssignmentPage = Annotated[AssignmentContext, Depends(make_page_dependency(AssignmentContext))]
QuestionPage = Annotated[QuestionContext, Depends(make_page_dependency(QuestionContext))]
