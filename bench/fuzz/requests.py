"""The request of a number: a pure function of the seed, the number and what the service has."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote, quote_plus, urlencode, urlsplit

from bench.fuzz.course import PEOPLE, RUN, SPARE, Credentials
from bench.fuzz.formulas import make_formula
from bench.fuzz.pages import Form, Site
from bench.fuzz.sending import FuzzRequest, Header
from bench.fuzz.values import MARKUP, NUMBERS, TEXTS, Mutator, write_json
from grader.rubric.catalog import get_shipped_folder, load_catalog
from grader.web.manual.schema_text import make_example

#: How often each part has its turn, of a hundred.
PARTS: Final[Mapping[str, int]] = {
    "api": 30, "answers": 12, "formulas": 14, "queries": 12, "headers": 7, "pages": 8, "forms": 17,
}  # fmt: skip
#: Signing out, and passwords, which are slow on purpose and counted by address.
_LEFT_OUT: Final = {
    ("DELETE", "/api/v1/session"),
    ("POST", "/api/v1/session"),
    ("DELETE", "/api/v1/sessions"),
}
_JSON: Final = ("Content-Type", "application/json")
_FORM: Final = ("Content-Type", "application/x-www-form-urlencoded")
_BOUNDARY: Final = "fuzzed-parts"


@dataclass(frozen=True, slots=True)
class Operation:
    """A call of the API: its parameters, and an example of its body, if it has one."""

    method: str
    path: str
    query: tuple[str, ...]
    body: Any
    body_type: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, with the answers of its examples; there is at least one."""

    assignment: str
    id: str
    answers: tuple[dict[str, Any], ...]

    @property
    def path(self) -> str:
        """Its address below `/courses` and `/api/v1/courses`."""
        return f"/courses/{RUN}/assignments/{self.assignment}/questions/{self.id}"


def list_operations(spec: Mapping[str, Any]) -> list[Operation]:
    """All calls of an OpenAPI document."""
    found = []
    schemas = spec.get("components", {}).get("schemas", {})
    for path, calls in spec["paths"].items():
        for method, call in calls.items():
            if (method.upper(), path) in _LEFT_OUT:
                continue
            content = call.get("requestBody", {}).get("content", {})
            kind = next(iter(content), "")
            schema = content.get(kind, {}).get("schema", {})
            body = make_example(schema, schemas) if kind == _JSON[1] else None
            query = [each["name"] for each in call.get("parameters", ()) if each["in"] == "query"]
            found.append(Operation(method.upper(), path, tuple(query), body, kind))
    return found


def list_questions() -> list[Question]:
    """The shipped questions, each with the answers of its examples."""
    found = []
    for rubric in load_catalog(get_shipped_folder()).rubrics():
        answers = [dict(each.answer) for each in rubric.form.examples] or [{"q": "k_a"}]
        found.append(Question(rubric.assignment, rubric.form.id, tuple(answers)))
    return found


class RequestMaker:
    """Makes the request of a number."""

    def __init__(
        self, seed: int, operations: list[Operation], questions: list[Question], site: Site,
        ids: Mapping[str, list[str]], *, most_bytes: int, only: str = "",
    ) -> None:  # fmt: skip
        self._seed = seed
        self._operations = operations
        self._questions = questions
        self._site = site
        self._ids = ids
        self._most_bytes = most_bytes
        self._only = only
        self._makers: dict[str, Callable[[Mutator], FuzzRequest]] = {
            "api": self._make_call,
            "answers": self._make_answer,
            "formulas": self._make_formula,
            "queries": self._make_query,
            "headers": self._make_headers,
            "pages": self._make_page,
            "forms": self._make_form,
        }

    def make(self, number: int) -> FuzzRequest:
        """The request of this number."""
        rng = random.Random(f"{self._seed} {number}")
        part = self._only or rng.choices(list(PARTS), list(PARTS.values()))[0]
        return self._makers[part](Mutator(rng, most_bytes=self._most_bytes))

    # The API

    def _make_call(self, mutator: Mutator) -> FuzzRequest:
        rng, operation = mutator.rng, mutator.rng.choice(self._operations)
        target = self._fill_path(mutator, operation.path)
        if operation.query and mutator.happens(0.3):
            target += "?" + self._make_query_text(mutator, operation.query)
        headers: list[Header] = []
        body = b""
        if operation.body_type == _JSON[1]:
            headers.append(_JSON)
            body = mutator.make_body(operation.body)
        elif operation.body_type:
            headers.append(("Content-Type", operation.body_type))
            body = rng.choice((b"%PDF-1.7 of a fuzzer", mutator.change_bytes(b"%PDF-1.7\n%EOF")))
        if mutator.happens(0.2):
            headers.append(
                ("Idempotency-Key", _make_header_value(mutator, f"key-{rng.randrange(500)}"))
            )
        if operation.method == "PUT" or mutator.happens(0.05):
            headers.append(("If-Match", _make_header_value(mutator, f'"g{rng.randrange(9)}"')))
        who = self._choose_person(mutator)
        return FuzzRequest.call("api", who, operation.method, target, *headers, body=body)

    def _make_answer(self, mutator: Mutator) -> FuzzRequest:
        question = mutator.rng.choice(self._questions)
        body = mutator.make_body({"answer": mutator.rng.choice(question.answers)})
        return self._send_answer(mutator, "answers", question, body)

    def _make_formula(self, mutator: Mutator) -> FuzzRequest:
        rng, question = mutator.rng, mutator.rng.choice(self._questions)
        formula = make_formula(mutator)
        answer = dict.fromkeys(question.answers[0], formula)
        if mutator.happens(0.4):
            fields = {f"answer.{name}": formula for name in answer}
            name = rng.choice(list(answer)) if answer else "q"
            target = question.path + rng.choice(("", f"/reading/{name}", "/draft"))
            return self._submit_form(
                mutator, "formulas", self._choose_person(mutator, "student"), target, fields
            )
        return self._send_answer(mutator, "formulas", question, write_json({"answer": answer}))

    def _send_answer(
        self, mutator: Mutator, part: str, question: Question, body: bytes
    ) -> FuzzRequest:
        who = self._choose_person(mutator, "student")
        call = mutator.rng.choice(("/attempts", "/check", "/check"))
        headers = [_JSON]
        if mutator.happens(0.1):
            headers.append(("Idempotency-Key", f"key-{mutator.rng.randrange(500)}"))
        target = f"/api/v1{question.path}{call}"
        return FuzzRequest.call(part, who, "POST", target, *headers, body=body)

    def _fill_path(self, mutator: Mutator, path: str) -> str:
        """A path whose names are those of something that is there, or nearly so."""
        rng, question = mutator.rng, mutator.rng.choice(self._questions)
        person = rng.choice(SPARE) if mutator.happens(0.5) else "student-0"
        values = {
            "course": RUN, "assignment": question.assignment, "question": question.id,
            "student": person, "login": rng.choice(SPARE), "code": "none",
        } | {name: rng.choice(ids) for name, ids in self._ids.items() if ids}  # fmt: skip
        for name in [each[1:-1] for each in path.split("/") if each.startswith("{")]:
            value = values.get(name, "none")
            if mutator.happens(0.1):
                value = rng.choice((mutator.make_text()[:300], mutator.change_text(value)))
            path = path.replace(f"{{{name}}}", quote(value, safe="", errors="surrogatepass"))
        return path

    # Queries

    def _make_query(self, mutator: Mutator) -> FuzzRequest:
        rng = mutator.rng
        if mutator.happens(0.5):
            asking = [each for each in self._operations if each.query and each.method == "GET"]
            operation = rng.choice(asking)
            target = self._fill_path(mutator, operation.path)
            target += "?" + self._make_query_text(mutator, operation.query)
            return FuzzRequest.call(
                "queries", self._choose_person(mutator, "instructor"), "GET", target
            )
        who, link = rng.choice(self._site.links)
        names = [each.partition("=")[0] for each in urlsplit(link).query.split("&")]
        more = (
            "q",
            "section",
            "state",
            "sort",
            "cursor",
            "from",
            "to",
            "restore",
            "given",
            "limit",
        )
        names = [each for each in names if each] + rng.choices(more, k=2)
        query = self._make_query_text(mutator, names)
        return FuzzRequest.browse("queries", who, f"{urlsplit(link).path}?{query}")

    def _make_query_text(self, mutator: Mutator, names: Any) -> str:
        rng = mutator.rng
        known = (
            *("json", "csv", "jsonl", "true", "1", "200", "login", "-total", "question:3b", "A"),
            *(
                "overridden",
                "pending",
                "student",
                "eyJhIjoxfQ",
                "WyJhIl0",
                "WzEsImEiXQ",
                "W10",
                "3b",
            ),
        )
        pairs = []
        for name in rng.choices(list(names), k=rng.randrange(1, 4)):
            value = rng.choice((rng.choice(known), mutator.make_text()[:2500], rng.choice(NUMBERS)))
            pairs.append((name, value if mutator.happens(0.9) else mutator.change_text(value)))
        if mutator.happens(0.05):
            return quote_plus(mutator.make_text()[:500], errors="surrogatepass", safe="=&%")
        return urlencode(pairs, errors="surrogatepass")

    # Headers

    def _make_headers(self, mutator: Mutator) -> FuzzRequest:
        rng = mutator.rng
        is_page = mutator.happens(0.5)
        who = self._choose_person(mutator)
        target = rng.choice(self._site.links)[1] if is_page else f"/api/v1/courses/{RUN}"
        known = Credentials.of(who)
        headers = {
            "Cookie": f"keyset_session={known.session}", "Authorization": f"Bearer {known.token}",
            "Accept": "application/json", "Content-Type": "application/json", "Origin": "null",
            "If-Match": '"g0"', "Idempotency-Key": "a", "X-Request-ID": "r-1", "Range": "bytes=0-9",
            "HX-Request": "true", "X-Forwarded-For": "::1", "X-Forwarded-Proto": "https",
            "Accept-Language": "pl", "Accept-Encoding": "gzip", "X-CSRF-Token": known.csrf,
            "Content-Encoding": "identity", "Referer": "/", "Host": "127.0.0.1",
            "If-None-Match": "*",
        }  # fmt: skip
        chosen = [
            (name, _make_header_value(mutator, headers[name]))
            for name in rng.sample(list(headers), rng.randrange(1, 7))
        ]
        if mutator.happens(0.05):
            chosen += [(f"X-{each}", "a") for each in range(rng.choice((50, 150)))]
        method = rng.choice(
            ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW")
        )
        body = b"{}" if method in ("POST", "PUT") else b""
        request = FuzzRequest("headers", who, method, target, tuple(chosen), body)
        if method == "BREW":
            # The parser knows its methods, and takes anything else for no HTTP.
            return replace(request, is_broken=True)
        if not mutator.happens(0.1):
            return request
        broken = rng.choice(
            (("Content-Length", rng.choice(NUMBERS)), ("Transfer-Encoding", rng.choice(TEXTS[:6])),
             ("Transfer-Encoding", "chunked"), ("A\0b", "c"), ("Content-Length", "9"))
        )  # fmt: skip
        return replace(request, headers=(*chosen, broken), is_broken=True)

    # Pages

    def _make_page(self, mutator: Mutator) -> FuzzRequest:
        rng = mutator.rng
        who, link = rng.choice(self._site.links)
        steps = link.partition("?")[0].split("/")
        if len(steps) > 1 and mutator.happens(0.6):
            at = rng.randrange(1, len(steps))
            changed = rng.choice((mutator.make_text()[:200], mutator.change_text(steps[at])))
            steps[at] = quote(changed, safe="", errors="surrogatepass")
        target = "/".join(steps) or "/"
        htmx = [("HX-Request", "true")] if mutator.happens(0.2) else []
        return FuzzRequest.browse(
            "pages", who if mutator.happens(0.7) else self._choose_person(mutator), target, *htmx
        )

    def _make_form(self, mutator: Mutator) -> FuzzRequest:
        rng = mutator.rng
        form = rng.choice(self._site.forms)
        fields = {name: _usual_value(mutator, name, text) for name, text in form.fields.items()}
        for name in rng.sample(list(fields), min(len(fields), rng.choice((0, 1, 1, 1, 2, 4)))):
            fields[name] = rng.choice(
                (mutator.make_text(), rng.choice(NUMBERS), mutator.change_text(fields[name]))
            )
        if fields and mutator.happens(0.1):
            del fields[rng.choice(list(fields))]
        if mutator.happens(0.1):
            fields[mutator.make_text()[:80]] = mutator.make_text()
        return self._submit_form(mutator, "forms", form.who, self._guard(mutator, form), fields)

    def _guard(self, mutator: Mutator, form: Form) -> str:
        """The address of a form; what is done to people is done to those that send nothing."""
        head, people, login = form.path.partition("/people/")
        if not people:
            return form.path
        spare = mutator.rng.choice(SPARE)
        return f"{head}/people/{spare}{'/link' if login.endswith('/link') else ''}"

    def _submit_form(
        self, mutator: Mutator, part: str, who: str, target: str, fields: dict[str, str]
    ) -> FuzzRequest:
        token = Credentials.of(who).csrf
        if mutator.happens(0.02):
            token = mutator.change_text(token)
        fields = {"csrf": token, **fields}
        headers = [("HX-Request", "true")] if mutator.happens(0.3) else []
        if mutator.happens(0.15):
            body = _write_parts(mutator, fields)
            kind = ("Content-Type", f"multipart/form-data; boundary={_BOUNDARY}")
            return FuzzRequest.submit(part, who, target, kind, *headers, body=body)
        body = urlencode(fields, errors="surrogatepass").encode()
        if mutator.happens(0.05):
            body = mutator.change_bytes(body)
        kind = (
            _FORM
            if mutator.happens(0.97)
            else ("Content-Type", _make_header_value(mutator, _FORM[1]))
        )
        return FuzzRequest.submit(part, who, target, kind, *headers, body=body[: self._most_bytes])

    def _choose_person(self, mutator: Mutator, role: str = "") -> str:
        """Somebody, mostly of this role."""
        if role and mutator.happens(0.9):
            return mutator.rng.choice([each for each in PEOPLE if each.startswith(role)])
        roles = mutator.rng.choice(("student", "assistant", "instructor", "instructor", "operator"))
        return mutator.rng.choice([each for each in PEOPLE if each.startswith(roles)])


def _usual_value(mutator: Mutator, name: str, text: str) -> str:
    """What a person might type into a field."""
    if text:
        return text
    usual = {
        "points": "1", "reason": "Because.", "student": mutator.rng.choice(SPARE), "days": "30",
        "label": "fuzzed", "login": f"new-{mutator.rng.randrange(50)}", "name": f"New {MARKUP}",
        "due_at": "2027-05-30T23:59", "extra_attempts": "1", "section": "B",
        "csv": f"login,name\n{mutator.rng.choice(SPARE)},Spare", "email": "new@people.example",
    }  # fmt: skip
    return usual.get(name.rpartition(".")[2], make_formula(mutator) if "answer" in name else "on")


def _make_header_value(mutator: Mutator, value: str) -> str:
    """A value that is no end of its line; half of all are as they should be."""
    if mutator.happens(0.5):
        return value
    changed = mutator.rng.choice((mutator.make_text()[:4000], mutator.change_text(value)))
    return "".join(each for each in changed if each not in "\r\n\0").strip()


def _write_parts(mutator: Mutator, fields: Mapping[str, str]) -> bytes:
    lines = []
    for name, text in fields.items():
        named = quote(name, errors="surrogatepass")
        file = '; filename="a.pdf"' if mutator.happens(0.15) and name != "csrf" else ""
        head = f'Content-Disposition: form-data; name="{named}"{file}'
        lines.append(f"--{_BOUNDARY}\r\n{head}\r\n\r\n{text}\r\n")
    body = ("".join(lines) + f"--{_BOUNDARY}--\r\n").encode("utf-8", "surrogatepass")
    return mutator.change_bytes(body) if mutator.happens(0.1) else body
