"""The pages of the service as somebody finds them: by links and forms, from the first page."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urldefrag, urljoin, urlsplit

from bench.fuzz.sending import Connection, FuzzRequest

_MOST_PAGES: Final = 150
#: Of addresses that differ by an id or a name only, this many are looked at.
_MOST_ALIKE: Final = 3
_IDS: Final = re.compile(
    r"[a-z]{3}_[0-9a-z]{26}|student-\d+|spare-\d+|instructor-\d+|assistant-\d+"
)

#: Forms that end the sender's own session or tokens.
_ENDING = {"/sign-out", "/account/password", "/account/sign-out", "/account/revoke-tokens"}


@dataclass(frozen=True, slots=True)
class Form:
    """A form, or what htmx sends for a field; `who` has seen it."""

    who: str
    path: str
    fields: dict[str, str]


@dataclass(frozen=True, slots=True)
class Site:
    """What was found: addresses with who has seen them, and forms."""

    links: tuple[tuple[str, str], ...]
    forms: tuple[Form, ...]


def explore(connection: Connection, people: list[str]) -> Site:
    """Look at the pages of some people, each as far as its links lead."""
    links: list[tuple[str, str]] = []
    forms: dict[tuple[str, str, tuple[str, ...]], Form] = {}
    for who in people:
        waiting, seen, alike = deque(["/"]), {"/"}, dict[str, int]()
        while waiting and len(seen) < _MOST_PAGES:
            path = waiting.popleft()
            answer = connection.send(FuzzRequest.browse("pages", who, path))
            if answer is None or answer.status != 200 or b"text/html" not in answer.content_type:
                continue
            links.append((who, path))
            page = _Page(path)
            page.feed(answer.body.decode())
            for form in page.forms:
                key = (who.partition("-")[0], _IDS.sub("…", form.path), tuple(sorted(form.fields)))
                forms.setdefault(key, Form(who, form.path, form.fields))
            for each in page.links:
                shape = _IDS.sub("…", each)
                alike[shape] = alike.get(shape, 0) + 1
                if each not in seen and alike[shape] <= _MOST_ALIKE:
                    seen.add(each)
                    waiting.append(each)
    return Site(tuple(links), tuple(forms.values()))


@dataclass(slots=True)
class _FoundForm:
    path: str
    fields: dict[str, str] = field(default_factory=dict)


class _Page(HTMLParser):
    """The links and forms of one page."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self.links: list[str] = []
        self.forms: list[_FoundForm] = []
        self._form: _FoundForm | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        for name in ("href", "hx-get"):
            if name in found:
                self._add_link(found[name])
        if "hx-post" in found and tag != "form":
            target = urljoin(self._path, found["hx-post"])
            self.forms.append(_FoundForm(target, {found.get("name", "text"): ""}))
        if tag == "form" and found.get("method", "").lower() == "post":
            target = urljoin(self._path, found.get("action", self._path))
            if target not in _ENDING:
                self._form = _FoundForm(target)
                self.forms.append(self._form)
        elif self._form is not None and "name" in found and found["name"] != "csrf":
            self._form.fields[found["name"]] = found.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None

    def _add_link(self, link: str) -> None:
        parts = urlsplit(urldefrag(urljoin(self._path, link))[0])
        is_ours = not parts.scheme and not parts.netloc
        if is_ours and not parts.path.startswith(("/static/", "/docs", "/api/", "/openapi")):
            self.links.append(parts.path + (f"?{parts.query}" if parts.query else ""))
