"""The client: one object for a course's assignment, with a method for each thing to do."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from grader.client.answers import PreparedAnswer, build_reading, prepare_answer
from grader.client.errors import UNREADABLE, ClientError, set_outcome_unknown
from grader.client.progress import (
    Assignment,
    AssignmentStanding,
    Course,
    read_assignment,
    read_assignment_standing,
    read_course,
)
from grader.client.questions import Question, read_question
from grader.client.responses import read_response, to_arrays
from grader.client.results import (
    Reading,
    Result,
    add_reading,
    read_reading,
    read_result,
    read_results,
)
from grader.client.retries import Patience
from grader.client.transport import ApiRequest, Transport

ADDRESS_VARIABLE = "KEYSET"
TOKEN_VARIABLE = "KEYSET_TOKEN"

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class _PendingAttempt:
    """An attempt on its way: whatever happens, it is sent again with the same key."""

    call: ApiRequest
    reading: Reading


class Client:
    """A client of a Keyset service.

    Parameters
    ----------
    address
        Where the service is, such as ``http://localhost:8000``; else the variable ``KEYSET``.
    token
        Whose answers they are; else the variable ``KEYSET_TOKEN``.
    course, assignment
        By their ids. May be left out where the caller has one course, and that has one assignment.
    timeout_seconds
        How long one try may take to connect, to send, and to answer.
    patience
        How often and how long a call is tried again.

    Every method raises `ClientError` where the service refuses, or does not answer.
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
        self._sending: _PendingAttempt | None = None

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

    # Looking

    @property
    def course(self) -> str:
        """The course that is worked on."""
        if self._course is None:
            found = [each.id for each in self.courses()]
            self._course = _choose_only(found, "course", "You take part in no course.")
        return self._course

    @property
    def assignment(self) -> str:
        """The assignment that is worked on."""
        if self._assignment is None:
            found = [each.id for each in self.assignments()]
            self._assignment = _choose_only(
                found, "assignment", "The course has no assignment yet."
            )
        return self._assignment

    def courses(self) -> tuple[Course, ...]:
        """The courses in which the caller takes part."""
        return read_response(_read_each(read_course), self._get("/courses"))

    def assignments(self) -> tuple[Assignment, ...]:
        """The assignments of the course, by due date."""
        data = self._get(f"/courses/{_check_name(self.course)}/assignments")
        return read_response(_read_each(read_assignment), data)

    def standing(self) -> AssignmentStanding:
        """Where the caller stands with the assignment, question by question."""
        return read_response(read_assignment_standing, self._get(self._place()))

    def question(self, question: str) -> Question:
        """A question with the caller's own numbers as arrays; fetched anew each time."""
        fetched = read_response(read_question, self._get(self._place(question)))
        self._questions[question] = fetched
        return fetched

    def practice(self, question: str, *, count: int = 10) -> dict[str, Any]:
        """Practice key sets by name: arrays with `count` members along their first axis.

        No grade ever rests on them. Empty where the question samples nothing.
        """
        data = self._get(f"{self._place(question)}/practice?count={count}")
        return read_response(lambda told: to_arrays(told["key_sets"]), data)

    def attempts(self, question: str) -> tuple[Result, ...]:
        """The caller's attempts at a question, in order."""
        return read_response(read_results, self._get(f"{self._place(question)}/attempts"))

    def attempt(self, attempt_id: str) -> Result:
        """An attempt with its receipt."""
        return read_response(read_result, self._get(f"/attempts/{_check_name(attempt_id)}"))

    def bundle(self, attempt_id: str, path: str | Path) -> Path:
        """Write an attempt's bundle to a file, for `grader replay`; in a folder, by its id."""
        reply = self._transport.call(
            ApiRequest("GET", f"/attempts/{_check_name(attempt_id)}/bundle")
        )
        target = Path(path)
        if target.is_dir():
            target = target / f"{attempt_id}.json"
        target.write_bytes(reply.content)
        return target

    # Answering

    def check(
        self, question: str, answer: Mapping[str, object] | None = None, /, **fields: object
    ) -> Reading:
        """How the service reads an answer; free, and nothing is judged.

        Parameters
        ----------
        answer, fields
            The answer's fields by name: arrays, tensors, lists, numbers, or formulas as text.
        """
        ready = self._ready(question, {**(answer or {}), **fields})
        return self._check(question, ready, print)

    def submit(
        self,
        question: str,
        answer: Mapping[str, object] | None = None,
        /,
        *,
        quiet: bool = False,
        **fields: object,
    ) -> Result:
        """Send an answer as the next attempt; print how it was read, the feedback and the receipt.

        An answer that cannot be read is refused, and uses no attempt. If the connection is lost,
        it is sent again in such a way that it counts once.

        Parameters
        ----------
        answer, fields
            As for `check`.
        quiet
            Print nothing.
        """
        ready = self._ready(question, {**(answer or {}), **fields})
        say = None if quiet else print
        body, path = ready.body(), f"{self._place(question)}/attempts"
        waiting = self._sending
        if waiting is None or (waiting.call.path, waiting.call.body) != (path, body):
            reading = self._read(question, ready, say)
            call = ApiRequest("POST", path, body, key=str(uuid.uuid4()))
            self._sending = _PendingAttempt(call, reading)
        return self.resume(quiet=quiet)

    def resume(self, *, quiet: bool = False) -> Result:
        """Send the answer again of which it is not known whether it counts; it counts once."""
        if self._sending is None:
            raise ClientError(
                "There is nothing to send again: it is known of every answer what became of it.",
                code="resume.nothing",
            )
        sending = self._sending
        try:
            reply = self._transport.call(sending.call, say=None if quiet else print)
            stored = read_response(read_result, reply.json())
        except ClientError as error:
            if error.code == UNREADABLE:
                # Whoever said this, it tells nothing about the attempt.
                set_outcome_unknown(error)
            if not error.is_unknown:
                self._sending = None
            raise
        self._sending = None
        result = add_reading(stored, sending.reading, is_repeated=reply.status == 200)
        if not quiet:
            print(result)
        return result

    def _ready(self, question: str, values: Mapping[str, object]) -> PreparedAnswer:
        return prepare_answer(values, self._known(question).fields)

    def _known(self, question: str) -> Question:
        """The question, fetched where it was not before, so that its shapes are known."""
        return self._questions.get(question) or self.question(question)

    def _read(
        self, question: str, ready: PreparedAnswer, say: Callable[[str], None] | None
    ) -> Reading:
        """How an answer is read; only where there are formulas the service is asked."""
        if ready.formulas:
            return self._check(question, ready, say)
        return build_reading(ready, self._known(question).fields)

    def _check(
        self, question: str, ready: PreparedAnswer, say: Callable[[str], None] | None
    ) -> Reading:
        call = ApiRequest("POST", f"{self._place(question)}/check", ready.body())
        return read_response(read_reading, self._transport.call(call, say=say).json())

    # Calling

    def _get(self, path: str) -> Any:
        return self._transport.call(ApiRequest("GET", path), say=print).json()

    def _place(self, question: str | None = None) -> str:
        place = f"/courses/{_check_name(self.course)}/assignments/{_check_name(self.assignment)}"
        if question is None:
            return place
        # A result names its question together with the assignment; both ways are understood.
        return f"{place}/questions/{_check_name(question.removeprefix(f'{self.assignment}/'))}"


def _read_each(read: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda data: tuple(read(each) for each in data)


def _check_name(name: str) -> str:
    """A name as a part of an address; what would lead to another address is no name."""
    if not _NAME.fullmatch(name):
        raise ClientError(f"Nothing can have the name {name[:40]!r}.", code="not_found")
    return name


def _get_setting(environment: Mapping[str, str], variable: str, what: str) -> str:
    value = environment.get(variable, "")
    if not value:
        raise ClientError(
            f"The {what} is missing: give it to the client, or set {variable}.",
            code="client.incomplete",
        )
    return value


def _choose_only(found: list[str], what: str, none: str) -> str:
    if len(found) == 1:
        return found[0]
    listed = f"Say which {what} you mean, {what}=…: {', '.join(found)}." if found else none
    raise ClientError(listed, code="client.incomplete")
