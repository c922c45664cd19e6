"""Roster files: CSV with the columns login, name, email, role and section, read strictly."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from grader.accounts.people import check_fields, normalize_text
from grader.domain.roles import Role
from grader.errors import ErrorDetail, MalformedRequest

MAX_LINES = 20_000
MAX_BYTES = 4 * 2**20

COLUMNS = ("login", "name", "email", "role", "section")
REQUIRED_COLUMNS = ("login", "name")
_SEPARATORS = (",", ";", "\t")


@dataclass(frozen=True, slots=True)
class RosterLine:
    """One person of a roster; None for what the file does not say."""

    line: int
    """The line number in the file; the headings are in line 1."""
    login: str
    name: str
    email: str | None = None
    role: Role | None = None
    section: str | None = None


@dataclass(frozen=True, slots=True)
class Roster:
    """A valid roster: nobody is listed twice."""

    lines: tuple[RosterLine, ...]
    unused: tuple[str, ...] = ()
    """Headings of columns that are ignored."""


def decode_roster(sent: bytes) -> str:
    """The text of a roster file; MalformedRequest if it is too large or not UTF-8."""
    if len(sent) > MAX_BYTES:
        raise _make_size_error()
    try:
        return sent.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = sent.count(b"\n", 0, error.start) + 1
        hint = "Save the file again as “CSV UTF-8”."
        detail = f"Line {line} is not UTF-8 text."
        raise make_roster_error(
            [ErrorDetail(("csv", line), "roster.encoding", detail, hint=hint)]
        ) from None


def read_roster(text: str) -> Roster:
    """Read a roster from its text.

    Columns come in any order, separated by commas, semicolons or tabs. An empty role or email
    leaves it as it is; an empty section means that there is none.

    Raises
    ------
    MalformedRequest
        With the line and column of every error.
    """
    # A character takes at least one byte, so long texts need not be encoded.
    if len(text) > MAX_BYTES or len(text.encode(errors="replace")) > MAX_BYTES:
        raise _make_size_error()
    text = text.removeprefix("\ufeff")
    _refuse_broken_text(text)
    records = _records(text)
    headings = _headings(records)
    reader = _RosterReader(headings)
    for line, cells in records:
        if len(reader.lines) == MAX_LINES:
            detail = f"A roster has at most {MAX_LINES} people."
            raise make_roster_error([ErrorDetail(("csv", line), "roster.length", detail)])
        reader.add(line, cells)
    if not reader.lines and not reader.faults:
        reader.faults.append(ErrorDetail("csv", "roster.empty", "The roster lists nobody."))
    if reader.faults:
        raise make_roster_error(reader.faults)
    return Roster(tuple(reader.lines), tuple(each for each in headings if each not in COLUMNS))


def make_roster_error(faults: list[ErrorDetail]) -> MalformedRequest:
    """The error of a roster with everything that is wrong in it."""
    what = f": {faults[0].detail}" if len(faults) == 1 else f"; it has {len(faults)} errors."
    return MalformedRequest(
        f"The roster cannot be used{what}", code="roster.invalid", faults=tuple(faults)
    )


def make_cell_error(line: int, column: str, code: str, problem: str) -> ErrorDetail:
    """The error of one cell."""
    return ErrorDetail(("csv", line, column), code, f"Line {line}: {problem}")


def _make_size_error() -> MalformedRequest:
    detail = f"A roster has at most {MAX_BYTES // 2**20} MiB."
    return make_roster_error([ErrorDetail("csv", "roster.size", detail)])


def _refuse_broken_text(text: str) -> None:
    broken = [
        number
        for number, line in enumerate(io.StringIO(text, newline=""), 1)
        if "\0" in line or any("\ud800" <= c <= "\udfff" for c in line)
    ]
    if broken:
        raise make_roster_error(
            [
                ErrorDetail(("csv", line), "roster.text", f"Line {line} has invalid characters.")
                for line in broken
            ]
        )


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of every line that is not empty, with its number; quoted cells may span lines."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text), strict=True)
    begin = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield begin, [normalize_text(cell) for cell in cells]
            begin = reader.line_num + 1
    except csv.Error as error:
        detail = f"The quotes from line {begin} on do not match ({error})."
        raise make_roster_error([ErrorDetail(("csv", begin), "roster.quotes", detail)]) from None


def _separator(text: str) -> str:
    """The separator that splits the headings into the most columns."""
    heading = next((line for line in io.StringIO(text, newline="") if line.strip()), "")
    return max(_SEPARATORS, key=heading.count)


def _headings(records: Iterator[tuple[int, list[str]]]) -> list[str]:
    line, cells = next(records, (1, []))
    headings = [cell.casefold() for cell in cells]
    faults = [
        ErrorDetail(
            ("csv", line),
            "roster.column_missing",
            f"The column {name} is missing.",
            expected=", ".join(COLUMNS),
            got=", ".join(cells)[:200],
        )
        for name in REQUIRED_COLUMNS
        if name not in headings
    ]
    faults += [
        ErrorDetail(("csv", line), "roster.column_twice", f"There are two columns {name}.")
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
        self._first_lines: dict[str, int] = {}

    def add(self, line: int, cells: list[str]) -> None:
        """Read one line."""
        if any(cells[len(self.headings) :]):
            detail = f"Line {line} has more cells than there are columns."
            hint = 'Put a cell that contains a separator in quotes, such as "Lovelace, Ada".'
            self.faults.append(ErrorDetail(("csv", line), "roster.cells", detail, hint=hint))
            return
        row = dict.fromkeys(self.headings, "") | dict(zip(self.headings, cells, strict=False))
        login, name, section = row["login"], row["name"], row.get("section")
        email = row.get("email") or None
        role = self._read_role(line, row.get("role", ""))
        for each in check_fields(login=login, name=name, email=email, section=section):
            self._add_error(line, str(each.field), each.code, each.detail)
        first = self._first_lines.setdefault(login.casefold(), line)
        if login and first != line:
            problem = f"{login[:100]!r} is already in line {first}."
            self._add_error(line, "login", "login.twice", problem)
        self.lines.append(RosterLine(line, login, name, email, role, section))

    def _read_role(self, line: int, text: str) -> Role | None:
        try:
            return Role(text.casefold()) if text else None
        except ValueError:
            problem = f"{text[:40]!r} is not a role; roles are {', '.join(Role)}."
            self._add_error(line, "role", "role.invalid", problem)
            return None

    def _add_error(self, line: int, column: str, code: str, problem: str) -> None:
        self.faults.append(make_cell_error(line, column, code, problem))
