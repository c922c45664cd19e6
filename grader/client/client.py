"""The client of one assignment: fetch questions, check and submit answers, read results."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from grader.client.answers import PreparedAnswer, build_reading, prepare_answer
from grader.client.errors import UNREADABLE, ClientError, set_outcome_unknown
from grader.client.progress import Assignment, AssignmentStanding, Course, read_standing
from grader.client.questions import Question, read_question
from grader.client.responses import from_json, read_response, to_arrays
from grader.client.results import Reading, Result, read_result
from grader.client.transport import ApiRequest, Patience, Transport

ADDRESS_VARIABLE = "KEYSET"
TOKEN_VARIABLE = "KEYSET_TOKEN"

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class _PendingAttempt:
    """An attempt without a known outcome; every retry sends the same request."""

    request: ApiRequest
    reading: Reading


class Client:
    """A client of a Keyset service.

    Parameters
    ----------
    address
        The service, such as ``http://localhost:8000``; default: the variable ``KEYSET``.
    token
        The student's token; default: the variable ``KEYSET_TOKEN``.
    course, assignment
        Their ids. May be left out if the student has one course with one assignment.
    timeout_seconds
        Time limit of one try, for connecting, sending and receiving each.
    patience
        How often and how long to retry.

    Every method raises `ClientError` if the service refuses or does not answer.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        token: str | None = None,
        course: str | None = None,
        assignment: str | None = None,
        timeout_seconds: float = 30.0,
        patience: Patience | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._transport = Transport(
            address or _get_setting(environment, ADDRESS_VARIABLE, "address of the service"),
            token=token or _get_setting(environment, TOKEN_VARIABLE, "token"),
            timeout_seconds=timeout_seconds,
            patience=patience or Patience(),
        )
        self._course = course
        self._assignment = assignment
        self._questions: dict[str, Question] = {}
        self._pending: _PendingAttempt | None = None

    def __repr__(self) -> str:
        where = " / ".join(filter(None, [self._course, self._assignment]))
        return f"<Client of {self._transport.address}{': ' + where if where else ''}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    # Reading

    @property
    def course(self) -> str:
        """The id of the course."""
        if self._course is None:
            found = [each.id for each in self.courses()]
            self._course = _choose_only(found, "course", "You are not enrolled in any course.")
        return self._course

    @property
    def assignment(self) -> str:
        """The id of the assignment."""
        if self._assignment is None:
            found = [each.id for each in self.assignments()]
            none = "The course has no assignment yet."
            self._assignment = _choose_only(found, "assignment", none)
        return self._assignment

    def courses(self) -> tuple[Course, ...]:
        """The caller's courses."""
        return self._get("/courses", partial(from_json, tuple[Course, ...]))

    def assignments(self) -> tuple[Assignment, ...]:
        """The assignments of the course, by due date."""
        path = f"/courses/{_check_name(self.course)}/assignments"
        return self._get(path, partial(from_json, tuple[Assignment, ...]))

    def standing(self) -> AssignmentStanding:
        """The caller's points and attempts left, question by question."""
        return self._get(self._path(), read_standing)

    def question(self, question: str) -> Question:
        """A question with the caller's own numbers as arrays; fetched on every call."""
        fetched = self._get(self._path(question), read_question)
        self._questions[question] = fetched
        return fetched

    def practice(self, question: str, *, count: int = 10) -> dict[str, Any]:
        """Practice key sets by name: arrays with `count` members along their first axis.

        They are never used for grading. Empty if the question has no key sets.
        """
        path = f"{self._path(question)}/practice?count={count}"
        return self._get(path, lambda data: to_arrays(data["key_sets"]))

    def attempts(self, question: str) -> tuple[Result, ...]:
        """The caller's attempts at a question, in order."""
        path = f"{self._path(question)}/attempts"
        return self._get(path, lambda data: tuple(read_result(each) for each in data))

    def attempt(self, attempt_id: str) -> Result:
        """An attempt with its receipt."""
        return self._get(f"/attempts/{_check_name(attempt_id)}", read_result)

    def bundle(self, attempt_id: str, path: str | Path) -> Path:
        """Write an attempt's bundle for `grader replay`; in a folder, named by the attempt's id."""
        request = ApiRequest("GET", f"/attempts/{_check_name(attempt_id)}/bundle")
        response = self._transport.send(request)
        target = Path(path)
        if target.is_dir():
            target = target / f"{attempt_id}.json"
        target.write_bytes(response.content)
        return target

    # Answering

    def check(
        self, question: str, answer: Mapping[str, object] | None = None, /, **fields: object
    ) -> Reading:
        """How the service reads an answer; nothing is judged, and no attempt is used.

        Parameters
        ----------
        answer, fields
            The answer's fields by name: arrays, tensors, lists, numbers, or formulas as text.
        """
        prepared = self._prepare(question, {**(answer or {}), **fields})
        return self._check(question, prepared, print)

    def submit(
        self,
        question: str,
        answer: Mapping[str, object] | None = None,
        /,
        *,
        quiet: bool = False,
        **fields: object,
    ) -> Result:
        """Submit an answer as the next attempt; print how it was read, feedback and receipt.

        An answer that cannot be read is refused and uses no attempt. If the connection is lost,
        the answer is sent again with the same key, so that it counts only once.

        Parameters
        ----------
        answer, fields
            As for `check`.
        quiet
            Print nothing.
        """
        prepared = self._prepare(question, {**(answer or {}), **fields})
        body, path = prepared.body(), f"{self._path(question)}/attempts"
        pending = self._pending
        if pending is None or (pending.request.path, pending.request.body) != (path, body):
            if prepared.formulas:
                reading = self._check(question, prepared, None if quiet else print)
            else:
                reading = build_reading(prepared, self._find_question(question).fields)
            request = ApiRequest("POST", path, body, key=str(uuid.uuid4()))
            self._pending = _PendingAttempt(request, reading)
        return self.resume(quiet=quiet)

    def resume(self, *, quiet: bool = False) -> Result:
        """Send the last answer again if its outcome is unknown; it counts only once."""
        pending = self._pending
        if pending is None:
            raise ClientError(
                "There is nothing to send again: the outcome of every answer is known.",
                code="resume.nothing",
            )
        try:
            response = self._transport.send(pending.request, notify=None if quiet else print)
            stored = read_response(read_result, response.json())
        except ClientError as error:
            if error.code == UNREADABLE:
                # Such a response may come from a proxy, and says nothing about the attempt.
                set_outcome_unknown(error)
            if not error.is_unknown:
                self._pending = None
            raise
        self._pending = None
        result = replace(stored, reading=pending.reading, is_repeated=response.status == 200)
        if not quiet:
            print(result)
        return result

    def _prepare(self, question: str, values: Mapping[str, object]) -> PreparedAnswer:
        return prepare_answer(values, self._find_question(question).fields)

    def _find_question(self, question: str) -> Question:
        """The question as it was last fetched; fetched now if it was not."""
        return self._questions.get(question) or self.question(question)

    def _check(
        self, question: str, prepared: PreparedAnswer, notify: Callable[[str], None] | None
    ) -> Reading:
        request = ApiRequest("POST", f"{self._path(question)}/check", prepared.body())
        data = self._transport.send(request, notify=notify).json()
        return read_response(partial(from_json, Reading), data)

    def _get(self, path: str, read: Callable[[Any], T]) -> T:
        return read_response(
            read, self._transport.send(ApiRequest("GET", path), notify=print).json()
        )

    def _path(self, question: str | None = None) -> str:
        path = f"/courses/{_check_name(self.course)}/assignments/{_check_name(self.assignment)}"
        if question is None:
            return path
        # A result names its question as ASSIGNMENT/QUESTION; both forms are accepted.
        return f"{path}/questions/{_check_name(question.removeprefix(f'{self.assignment}/'))}"


def _check_name(name: str) -> str:
    """Refuse a name that would change the path of the URL."""
    if not _NAME.fullmatch(name):
        raise ClientError(f"{name[:40]!r} is not a valid id.", code="not_found")
    return name


def _get_setting(environment: Mapping[str, str], variable: str, what: str) -> str:
    value = environment.get(variable, "")
    if not value:
        raise ClientError(
            f"The {what} is missing: pass it to Client(), or set {variable}.",
            code="client.incomplete",
        )
    return value


def _choose_only(found: list[str], what: str, none: str) -> str:
    if len(found) == 1:
        return found[0]
    detail = f"Choose with {what}=…: {', '.join(found)}." if found else none
    raise ClientError(detail, code="client.incomplete")
