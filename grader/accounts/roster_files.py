"""Roster files: CSV with the columns login, name, email, role and section, read strictly."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from grader.accounts.people import (
    describe_email_problem,
    describe_login_problem,
    describe_name_problem,
    is_plain,
    normalize_text,
)
from grader.domain.roles import Role
from grader.errors import ErrorDetail, MalformedRequest

MAX_LINES = 20_000
MAX_BYTES = 4 * 2**20
MAX_SECTION_LENGTH = 100

COLUMNS = ("login", "name", "email", "role", "section")
REQUIRED_COLUMNS = ("login", "name")
_SEPARATORS = (",", ";", "\t")


@dataclass(frozen=True, slots=True)
class RosterLine:
    """One person of a roster; what the file does not say is None."""

    line: int
    """Where it stands in the file; the headings are in line 1."""
    login: str
    name: str
    email: str | None = None
    role: Role | None = None
    section: str | None = None


@dataclass(frozen=True, slots=True)
class Roster:
    """A roster that can be read: nobody stands in it twice."""

    lines: tuple[RosterLine, ...]
    unused: tuple[str, ...] = ()
    """Headings of columns that mean nothing here."""


def decode_roster(sent: bytes) -> str:
    """The text of a roster file.

    Raises
    ------
    MalformedRequest
        Where it is too large or no UTF-8, with the line.
    """
    if len(sent) > MAX_BYTES:
        raise _make_size_error()
    try:
        return sent.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = sent.count(b"\n", 0, error.start) + 1
        fault = ErrorDetail(
            f"#/csv/{line}",
            "roster.encoding",
            f"Line {line} is not UTF-8 text.",
            hint="Save the file again as “CSV UTF-8”.",
        )
        raise make_roster_error([fault]) from None


def read_roster(text: str) -> Roster:
    """Read a roster from its text.

    Columns stand in any order, separated by commas, semicolons or tabs. A cell of role or email
    that is empty says nothing; an empty section says that there is none.

    Raises
    ------
    MalformedRequest
        With the line and column of every fault.
    """
    # A character takes at least one byte, so that long texts need not be encoded.
    if len(text) > MAX_BYTES or len(text.encode(errors="replace")) > MAX_BYTES:
        raise _make_size_error()
    text = text.removeprefix("\ufeff")
    _refuse_broken_text(text)
    records = _records(text)
    headings = _headings(records)
    reader = _RosterReader(headings)
    for line, cells in records:
        if len(reader.lines) == MAX_LINES:
            fault = ErrorDetail(f"#/csv/{line}", "roster.length", f"At most {MAX_LINES} people.")
            raise make_roster_error([fault])
        reader.add(line, cells)
    if not reader.lines and not reader.faults:
        reader.faults.append(
            ErrorDetail("#/csv", "roster.empty", "There is nobody on this roster.")
        )
    if reader.faults:
        raise make_roster_error(reader.faults)
    return Roster(tuple(reader.lines), tuple(each for each in headings if each not in COLUMNS))


def make_roster_error(faults: list[ErrorDetail]) -> MalformedRequest:
    """The refusal of a roster with all its faults."""
    what = f": {faults[0].detail}" if len(faults) == 1 else f"; it has {len(faults)} faults."
    return MalformedRequest(
        f"The roster cannot be used{what}", code="roster.invalid", faults=tuple(faults)
    )


def make_cell_error(line: int, column: str, code: str, problem: str) -> ErrorDetail:
    """A fault of one cell."""
    return ErrorDetail(f"#/csv/{line}/{column}", code, f"Line {line}: {problem}")


def _make_size_error() -> MalformedRequest:
    detail = f"A roster has at most {MAX_BYTES // 2**20} MiB."
    return make_roster_error([ErrorDetail("#/csv", "roster.size", detail)])


def _refuse_broken_text(text: str) -> None:
    broken = [
        number
        for number, line in enumerate(io.StringIO(text, newline=""), 1)
        if "\0" in line or any("\ud800" <= c <= "\udfff" for c in line)
    ]
    if broken:
        raise make_roster_error(
            [
                ErrorDetail(
                    f"#/csv/{line}", "roster.text", f"Line {line} has characters that are none."
                )
                for line in broken
            ]
        )


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    """Every line that is not empty with its number; quoted cells may run over several."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text), strict=True)
    begin = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield begin, [normalize_text(cell) for cell in cells]
            begin = reader.line_num + 1
    except csv.Error as error:
        detail = f"The quotes from line {begin} on do not match ({error})."
        raise make_roster_error([ErrorDetail(f"#/csv/{begin}", "roster.quotes", detail)]) from None


def _separator(text: str) -> str:
    """The separator that cuts the headings into most columns."""
    heading = next((line for line in io.StringIO(text, newline="") if line.strip()), "")
    return max(_SEPARATORS, key=heading.count)


def _headings(records: Iterator[tuple[int, list[str]]]) -> list[str]:
    line, cells = next(records, (1, []))
    headings = [cell.casefold() for cell in cells]
    faults = [
        ErrorDetail(
            f"#/csv/{line}",
            "roster.column_missing",
            f"There is no column {name}.",
            expected=", ".join(COLUMNS),
            got=", ".join(cells)[:200],
        )
        for name in REQUIRED_COLUMNS
        if name not in headings
    ]
    faults += [
        ErrorDetail(f"#/csv/{line}", "roster.column_twice", f"There are two columns {name}.")
        for name in COLUMNS
        if headings.count(name) > 1
    ]
    if faults:
        raise make_roster_error(faults)
    return headings


class _RosterReader:
    """Collects the people of a roster and everything that is wrong with them."""

    def __init__(self, headings: list[str]) -> None:
        self.headings = headings
        self.lines: list[RosterLine] = []
        self.faults: list[ErrorDetail] = []
        self._seen: dict[str, int] = {}

    def add(self, line: int, cells: list[str]) -> None:
        """Read one line."""
        if any(cells[len(self.headings) :]):
            detail = f"Line {line} has more cells than there are columns."
            hint = 'A cell with a separator in it stands in quotes, such as "Lovelace, Ada".'
            self.faults.append(ErrorDetail(f"#/csv/{line}", "roster.cells", detail, hint=hint))
            return
        said = dict.fromkeys(self.headings, "") | dict(zip(self.headings, cells, strict=False))
        role = self._role(line, said.get("role", ""))
        self._check(line, "login", describe_login_problem(said["login"]))
        self._check(line, "name", describe_name_problem(said["name"]))
        email = said.get("email") or None
        self._check(line, "email", describe_email_problem(email) if email else "")
        section = said.get("section")
        self._check(line, "section", describe_section_problem(section or ""))
        self._note_login(line, said["login"])
        self.lines.append(RosterLine(line, said["login"], said["name"], email, role, section))

    def _role(self, line: int, text: str) -> Role | None:
        try:
            return Role(text.casefold()) if text else None
        except ValueError:
            problem = f"{text[:40]!r} is no role; there are {', '.join(Role)}."
            self._check(line, "role", problem)
            return None

    def _check(self, line: int, column: str, problem: str) -> None:
        if problem:
            self.faults.append(make_cell_error(line, column, f"{column}.invalid", problem))

    def _note_login(self, line: int, login: str) -> None:
        first = self._seen.setdefault(login.casefold(), line)
        if login and first != line:
            problem = f"{login[:100]!r} stands in line {first} already."
            self.faults.append(make_cell_error(line, "login", "login.twice", problem))


def describe_section_problem(section: str) -> str:
    """What is wrong with a section, as a sentence; empty where it can be used."""
    if len(section) > MAX_SECTION_LENGTH or not is_plain(section):
        return f"A section is one line of at most {MAX_SECTION_LENGTH} characters."
    return ""
