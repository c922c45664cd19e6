r"""A formula and the constants beside it: `q = C (mu_a + mu_b) where C = 50`.

A text is split into clauses at top-level commas, at line ends before a definition and at words such
as `where`. One clause is the formula, with or without the name of the quantity; all others define
the writer's own constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.errors import FormulaError
from grader.formula.syntax.notation import COMMAND_NAMES, GREEK, SUBSCRIPT_LETTERS

MAX_DEFINITIONS = 20
DECIMAL_HINT = "Write decimals with a point and thousands without a separator: 0.5, 10000."

# Spaces are matched possessively (`*+`): with backtracking, a text of two thousand spaces would
# take minutes.
_NAME = (
    r"(?P<name>(?:[A-Za-z][A-Za-z0-9]*+|\\[A-Za-z]++|[" + "".join(GREEK) + r"])"
    r"(?:\s*+_\s*+(?:[A-Za-z0-9_]++|\{[A-Za-z0-9_ ]*+\})|[" + "".join(SUBSCRIPT_LETTERS) + "]++)?)"
)
_SIGN = (
    r"(?P<sign>:=|==?|≈|\\approx(?![A-Za-z])|\\equiv(?![A-Za-z])|≡|∝|\\propto(?![A-Za-z])|>>|≫"
    r"|\\gg(?![A-Za-z])|<<|≪|\\ll(?![A-Za-z])|→|->|\\(?:long)?rightarrow(?![A-Za-z])"
    r"|\\to(?![A-Za-z])|>(?!=))"
)
_DEFINITION = re.compile(rf"\s*+{_NAME}\s*+{_SIGN}")
_LINE_WITH_DEFINITION = re.compile(rf" *+{_NAME}\s*+{_SIGN}")
# The left side of the formula itself may have accents: q^* = …, \hat{q} = …
_LEFT_SIDE = re.compile(
    rf"\s*+(?:\\(?:hat|bar|tilde)\s*+\{{?\s*+)?{_NAME}\s*+\}}?\s*+"
    rf"(?:\^\s*+\{{?\s*+(?:\*|\\ast|\\star)\s*+\}}?|')?\s*+{_SIGN}"
)
_WORD = r"(?<![A-Za-z\\_])(?P<word>where|with|for|when|as|let|and)(?![A-Za-z_])"
_SEPARATOR = re.compile(
    rf"(?P<open>[(\[{{⟨]|\\langle(?![A-Za-z]))|(?P<close>[)\]}}⟩]|\\rangle(?![A-Za-z]))"
    rf"|(?P<comma>[,;])|(?P<line>\n)|{_WORD}"
)
# A definition in brackets at the end: C (mu_a + mu_b) (where C = 50).
_BRACKETED = re.compile(
    rf"(?P<open>[(\[])\s*+(?:{_WORD}\s++)?{_NAME}\s*+{_SIGN}[^()\[\]]*+(?P<close>[)\]])\s*+$"
)
_VALUE_SIGNS = frozenset({"=", "==", ":=", "≈", r"\approx", r"\equiv", "≡"})
_LARGE_SIGNS = frozenset({">>", "≫", r"\gg"})
_LIMIT_SIGNS = frozenset({"→", "->", r"\to", r"\rightarrow", r"\longrightarrow"})
_INFINITY = re.compile(r"\s*+\+?\s*+(?:\\infty|∞|inf|infinity|oo)\s*", re.IGNORECASE)
_SMALL = re.compile(r"[01a-z]?")
_WORDS_FOR_LARGE = re.compile(r"(?<![A-Za-z])(?:large|big|huge|great|high|sufficiently|enough)")
_DECIMAL_COMMA = re.compile(r"[0-9][,;] ?[0-9]")


@dataclass(frozen=True, slots=True)
class Definition:
    """One of the writer's own constants.

    ``value`` is the text of its value, padded with spaces to its position in the whole text; it is
    empty where the constant is only declared as large. ``start`` is the position of the name.
    """

    name: str
    value: str
    start: int


@dataclass(frozen=True, slots=True)
class Clauses:
    """A formula, padded with spaces to its position in the text, and the constants beside it."""

    body: str
    definitions: tuple[Definition, ...]


@dataclass(frozen=True, slots=True)
class _Clause:
    start: int
    end: int
    word: str


def split_clauses(text: str, *, named: str) -> Clauses:
    """Split a normalized text into the formula and its definitions.

    Parameters
    ----------
    named
        The name of the quantity, or empty. `q =` before the formula is dropped, as are `q_1 =`
        for `q1` and `c_2 ≈` for `c_2_plus_d`.
    """
    text = _remove_final_point(text)
    bracketed = _BRACKETED.search(text)
    if bracketed:
        opening, closing = bracketed.start("open"), bracketed.start("close")
        text = f"{text[:opening]},{text[opening + 1 : closing]} {text[closing + 1 :]}"
    bodies: list[tuple[_Clause, str]] = []
    definitions: list[Definition] = []
    for clause in _split(text):
        read = _read_clause(text, clause, named)
        if isinstance(read, Definition):
            definitions.append(read)
        else:
            bodies.append((clause, read))
    if len(bodies) > 1:
        raise _make_second_formula_error(text, bodies[1][0])
    if not bodies:
        raise _make_missing_formula_error(definitions, named)
    if len(definitions) > MAX_DEFINITIONS:
        raise FormulaError(
            f"A formula may define at most {MAX_DEFINITIONS} constants.",
            column=definitions[MAX_DEFINITIONS].start + 1,
            code="formula.limit",
        )
    return Clauses(bodies[0][1], tuple(definitions))


def _read_clause(text: str, clause: _Clause, named: str) -> Definition | str:
    """A definition, or the text of a formula."""
    left = _LEFT_SIDE.match(text, clause.start, clause.end)
    if (
        left
        and named
        and _is_named(_normalize_name(left["name"]), named, is_first=clause.start == 0)
    ):
        return _padded(text, _end_of_left_side(left), clause.end)
    match = _DEFINITION.match(text, clause.start, clause.end)
    if match is None or _is_comparison(match, clause):
        return _padded(text, clause.start, clause.end)
    return _define(text, match, clause.end)


def _is_comparison(match: re.Match[str], clause: _Clause) -> bool:
    """Whether `>` is a comparison; after a formula it is rather a statement about a constant."""
    return match["sign"] == ">" and (clause.start == 0 or match.end() == clause.end)


def _remove_final_point(text: str) -> str:
    written = text.rstrip()
    return written[:-1] + " " if written.endswith(".") else written


def _padded(text: str, start: int, end: int) -> str:
    return " " * start + text[start:end]


def _split(text: str) -> Iterator[_Clause]:
    """The clauses that are not empty; refuses a word such as `where` at the end of the text."""
    start, word = 0, ""
    for match in (*_find_separators(text), None):
        end = match.start() if match else len(text)
        if text[start:end].strip():
            yield _Clause(start, end, word)
        elif word and match is None:
            raise _make_missing_constants_error(word, start - len(word))
        if match:
            start, word = match.end(), match["word"] or ""


def _find_separators(text: str) -> Iterator[re.Match[str]]:
    opened: list[str] = []
    for match in _SEPARATOR.finditer(text):
        match match.lastgroup:
            case "open":
                opened.append(match[0])
            case "close":
                del opened[-1:]
            case "comma" if not opened:
                yield match
            case "line" if not opened and _LINE_WITH_DEFINITION.match(text, match.end()):
                yield match
            case "word" if "{" not in opened:
                # This also holds after an unclosed bracket, which has an error of its own.
                opened.clear()
                yield match


def _normalize_name(name: str) -> str:
    """A name as the formula language knows it: without braces, Greek letters by their names."""
    if name[-1] in SUBSCRIPT_LETTERS:
        base = name.rstrip("".join(SUBSCRIPT_LETTERS))
        name = f"{base}_{''.join(SUBSCRIPT_LETTERS[each] for each in name[len(base) :])}"
    base, _, label = "".join(name.split()).partition("_")
    base = COMMAND_NAMES.get(base.removeprefix("\\"), GREEK.get(base, base)).removeprefix("\\")
    label = label.strip("{}")
    return f"{base}_{label}" if label else base


def _is_named(name: str, named: str, *, is_first: bool) -> bool:
    """Whether a name on the left is that of the quantity, perhaps shortened.

    In the first clause it may also have an additional subscript.
    """
    if name.replace("_", "") == named.replace("_", ""):
        return True
    longer, shorter = (named, name) if len(named) > len(name) else (name, named)
    rest = longer.removeprefix(shorter)
    is_begun = rest != longer and (rest[:1] == "_" or rest[:1].isdigit())
    return is_begun and (longer == named or is_first)


def _end_of_left_side(left: re.Match[str]) -> int:
    if left["sign"] not in _VALUE_SIGNS:
        raise FormulaError(
            f"{left['sign']} does not define {left['name']} exactly.",
            column=left.start("sign") + 1,
            hint=f"Write {left['name']} = …; its length matters too.",
            code="formula.syntax",
        )
    return left.end()


def _define(text: str, match: re.Match[str], end: int) -> Definition:
    name, start = _normalize_name(match["name"]), match.start("name")
    value = _padded(text, match.end(), end)
    if match["sign"] in _VALUE_SIGNS:
        return Definition(name, value, start)
    is_large = match["sign"] in _LARGE_SIGNS and _SMALL.fullmatch(value.strip())
    is_limit = match["sign"] in _LIMIT_SIGNS and _INFINITY.fullmatch(value)
    if is_large or is_limit:
        return Definition(name, "", start)
    raise FormulaError(
        f"This does not say how large {name} is.",
        column=start + 1,
        hint=f"Give it a value, {name} = 50, or declare it as large: {name} >> 0.",
        code="formula.where",
    )


def _make_missing_constants_error(word: str, start: int, hint: str = "") -> FormulaError:
    return FormulaError(
        f"After '{word}', define your own constants.",
        column=start + 1,
        hint=hint or "Write: where C = 50, t = 1e6.",
        code="formula.where",
    )


def _make_second_formula_error(text: str, clause: _Clause) -> FormulaError:
    written = text[clause.start : clause.end]
    hint = ""
    if _WORDS_FOR_LARGE.search(written):
        hint = "Declare a constant as large with C >> 0, or give it a value: C = 50."
    elif _DECIMAL_COMMA.match(text, clause.start - 2):
        hint = DECIMAL_HINT
    if clause.word not in ("", "and"):
        start = clause.end - len(written.lstrip())
        return _make_missing_constants_error(clause.word, start, hint)
    sign = clause.word or text[clause.start - 1]
    return FormulaError(
        "A second formula begins here." if sign == "\n" else f"{sign!r} is not expected here.",
        column=clause.start - len(sign) + 1,
        hint=hint or "Send only one expression.",
        code="formula.syntax",
    )


def _make_missing_formula_error(definitions: list[Definition], named: str) -> FormulaError:
    if not definitions:
        return FormulaError("The formula is missing.", code="formula.empty")
    first = definitions[0]
    return FormulaError(
        f"This defines {first.name}, but "
        + (f"{named} is asked for." if named else "the formula is missing."),
        column=first.start + 1,
        hint="Send only the right-hand side.",
        code="formula.syntax",
    )
