r"""A formula and what is defined beside it: `q = C (mu_a + mu_b) where C = 50`.

A text is split into clauses at top-level commas, at line ends before a definition and at words such
as `where`. One clause is the formula, with or without the name of the quantity; all others define
the writer's own names, or declare a constant as large.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import islice

from grader.errors import FormulaError
from grader.formula.syntax.notation import (
    COMMAND_NAMES,
    DOTS,
    DOTS_HINT,
    GREEK,
    SUBSCRIPT_LETTERS,
)

MAX_DEFINITIONS = 20
DECIMAL_HINT = "Write decimals with a point and thousands without a separator: 0.5, 10000."

# Spaces are matched possessively (`*+`): with backtracking, a text of two thousand spaces would
# take minutes.
_NAME = (
    r"(?P<name>(?:[A-Za-z][A-Za-z0-9]*+|\\[A-Za-z]++|[" + "".join(GREEK) + r"])"
    r"(?:\s*+_\s*+(?:[A-Za-z0-9_]++|\{[A-Za-z0-9_ ]*+\})|[" + "".join(SUBSCRIPT_LETTERS) + "]++)?)"
)
_SIGN = (
    r"(?P<sign>:=|==?|[≈≃≡∝≫≪→≥⩾]|>>|<<|->|>=|>"
    r"|\\(?:approx|simeq|equiv|propto|gg|ll|(?:long)?rightarrow|to|geq|geqslant|ge|gt)(?![A-Za-z]))"
)
# A definition may be introduced as in "for any C >> 0".
_DEFINITION = re.compile(
    rf"\s*+(?:(?:any|all|every|some|constants?|scalars?)\s++)*{_NAME}\s*+{_SIGN}"
)
_LINE_WITH_DEFINITION = re.compile(rf" *+{_NAME}\s*+{_SIGN}")
# The left side of the formula itself may have accents: q^* = …, \hat{q} = …
_LEFT_SIDE = re.compile(
    rf"\s*+(?:\\(?:hat|bar|tilde)\s*+\{{?\s*+)?{_NAME}\s*+\}}?\s*+"
    rf"(?:\^\s*+\{{?\s*+(?:\*|\\ast|\\star)\s*+\}}?|')?\s*+{_SIGN}"
)
_WORD = r"(?<![A-Za-z\\_])(?P<word>[Ww]here|[Ww]ith|[Ff]or|[Ww]hen|[Ll]et|as|and)(?![A-Za-z_])"
_SEPARATOR = re.compile(
    rf"(?P<open>[(\[{{⟨]|\\langle(?![A-Za-z]))|(?P<close>[)\]}}⟩]|\\rangle(?![A-Za-z]))"
    rf"|(?P<comma>[,;])|(?P<line>\n)|{_WORD}"
)
# A definition in brackets at the end: C (mu_a + mu_b) (where C = 50), … (C large).
_BRACKETED = re.compile(r"(?P<open>[(\[])[^()\[\]]*+(?P<close>[)\]])\s*+$")
_START_OF_DEFINITION = re.compile(rf"\s*+(?:{_WORD}\s++)?{_NAME}\s*+{_SIGN}")
_VALUE_SIGNS = frozenset({"=", "==", ":=", "≈", "≃", "≡", r"\approx", r"\simeq", r"\equiv"})
_LARGE_SIGNS = frozenset({">>", "≫", r"\gg"})
_LIMIT_SIGNS = frozenset({"→", "->", r"\to", r"\rightarrow", r"\longrightarrow"})
_BOUND_SIGNS = frozenset({">", ">=", "≥", "⩾", r"\ge", r"\geq", r"\geqslant", r"\gt"})
_INFINITY = re.compile(r"\s*+\+?\s*+(?:\\infty|∞|inf|infinity|oo)\s*", re.IGNORECASE)
_WORDS_FOR_LARGE = re.compile(r"(?<![A-Za-z])(?i:large|big|huge|great|high|sufficiently|enough)")
_DECIMAL_COMMA = re.compile(r"[0-9][,;] ?[0-9]")
_BARE_NAME = re.compile(rf"\s*+{_NAME}\s*+")
_BETWEEN_SPACES = re.compile(r"\S++")

# The words of "C is a sufficiently large positive constant".
_ADJECTIVES = frozenset({"large", "big", "huge", "great", "high"})
_WORDS_BESIDE_ADJECTIVE = frozenset({
    *("a", "an", "the", "any", "all", "every", "some", "is", "are", "be", "being", "to", "of"),
    *("very", "sufficiently", "arbitrarily", "extremely", "enough", "chosen", "taken", "positive"),
    *("real", "fixed", "constant", "constants", "number", "numbers", "scalar", "scalars"),
    *("value", "values"),
})  # fmt: skip
_MAX_WORDS = 12

# A sign or word before a value: ≈ 0.25, q = approx. 40 k_a.
_APPROXIMATELY = re.compile(
    rf"\s*+(?:{_NAME}\s*+{_SIGN}\s*+)?"
    r"(?P<approximately>[≈≃]|\\(?:approx|simeq|sim)(?![A-Za-z])"
    r"|[Aa]pprox\.|(?:[Cc]a|c)\.(?=\s*+[\d.])|(?:[Aa]pprox|[Aa]pproximately|[Aa]bout|[Cc]irca|[Rr]oughly)(?=\s))"
)
_FULL_STOP = re.compile(r"(?<![\s.])\.(?=\s++\S)")
_CAPITALISED_WORD = re.compile(r"\s*+[A-Z][a-z]")
_CUT_NOTE = "Read up to the full stop; put explanations into the field for them."


class DefinitionKind(Enum):
    """What a clause says of one of the writer's own names."""

    VALUE = auto()
    LARGE = auto()
    BOUND = auto()
    """A constant above a bound, `C >= 100`, which declares it as large if the bound is."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One of the writer's own names.

    ``value`` is the text of its value or bound, padded with spaces to its position in the whole
    text; it is empty where the constant is only declared as large. ``start`` is the position of
    the name.
    """

    name: str
    value: str
    start: int
    kind: DefinitionKind = DefinitionKind.VALUE


@dataclass(frozen=True, slots=True)
class Clauses:
    """A formula, padded with spaces to its position in the text, and what is defined beside it.

    ``notes`` tell the writer how the text was split where that may surprise.
    """

    body: str
    definitions: tuple[Definition, ...]
    notes: tuple[str, ...] = ()


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
    whole = _blank_approximation(text)
    text = _cut_explanation(whole, named)
    notes = (_CUT_NOTE,) if len(text) < len(whole) else ()
    text = _remove_brackets(_remove_final_point(text))
    clauses = list(_split(text))
    read = _declare_listed(text, clauses, _read_clauses(text, clauses, named))
    bodies = [number for number, each in enumerate(read) if isinstance(each, str)]
    definitions = [each for each in read if isinstance(each, Definition)]
    if len(bodies) > 1:
        raise _make_second_formula_error(text, clauses[bodies[1]])
    if not bodies:
        raise _make_missing_formula_error(definitions, named)
    if len(definitions) > MAX_DEFINITIONS:
        raise FormulaError(
            f"A formula may define at most {MAX_DEFINITIONS} constants.",
            column=definitions[MAX_DEFINITIONS].start + 1,
            code="formula.limit",
        )
    return Clauses(str(read[bodies[0]]), tuple(definitions), notes)


# What surrounds the clauses


def _blank_approximation(text: str) -> str:
    """The text without a leading sign or word that only says that a value is rounded."""
    match = _APPROXIMATELY.match(text)
    if match is None:
        return text
    start, end = match.span("approximately")
    return text[:start] + " " * (end - start) + text[end:]


def _cut_explanation(text: str, named: str) -> str:
    """The text up to the full stop before an explanation.

    A sentence that gives a value to a name of the formula, such as `Let C = 50.`, belongs to it:
    the full stop before that becomes a comma.
    """
    commas = []
    for stop in _FULL_STOP.finditer(text):
        start = stop.start()
        definition = _START_OF_DEFINITION.match(text, stop.end())
        name = definition["name"] if definition else ""
        if name and (name in text[:start] or _is_same_name(_normalize_name(name), named)):
            commas.append(start)
            continue
        # In `40. k_a` the point belongs to the number.
        if text[start - 1 : start].isdigit() and not _CAPITALISED_WORD.match(text, stop.end()):
            continue
        text = text[:start]
        break
    for comma in commas:
        text = f"{text[:comma]},{text[comma + 1 :]}"
    return text


def _remove_final_point(text: str) -> str:
    written = text.rstrip()
    return written[:-1] + " " if written.endswith(".") else written


def _remove_brackets(text: str) -> str:
    """The text with a comma in place of the brackets around a definition at its end."""
    bracketed = _BRACKETED.search(text)
    if bracketed is None:
        return text
    opening, closing = bracketed.start("open"), bracketed.start("close")
    is_definition = _START_OF_DEFINITION.match(text, opening + 1, closing)
    if not is_definition and not _has_adjective(text[opening:closing]):
        return text
    return f"{text[:opening]},{text[opening + 1 : closing]} {text[closing + 1 :]}"


def _padded(text: str, start: int, end: int) -> str:
    return " " * start + text[start:end]


# Clauses


def _read_clauses(text: str, clauses: Sequence[_Clause], named: str) -> list[Definition | str]:
    """Each clause as a definition, or as the text of a formula."""
    lefts = [_LEFT_SIDE.match(text, each.start, each.end) for each in clauses]
    names = [_normalize_name(left["name"]) if left else "" for left in lefts]
    # Beside `q1 = 50 q`, `q = mu_a` is a definition and not a shortened name.
    is_exact = any(_is_same_name(name, named) for name in names)
    read: list[Definition | str] = []
    for clause, left, name in zip(clauses, lefts, names, strict=True):
        is_named = (
            _is_same_name(name, named)
            if is_exact
            else _is_short_name(name, named, is_first=clause.start == 0)
        )
        if left and is_named:
            read.append(_padded(text, _end_of_left_side(left), clause.end))
        else:
            read.append(_read_clause(text, clause, is_only=len(clauses) == 1))
    return read


def _read_clause(text: str, clause: _Clause, *, is_only: bool) -> Definition | str:
    match = _DEFINITION.match(text, clause.start, clause.end)
    if match and not _is_comparison(match, clause, is_only=is_only):
        return _define(text, match, clause.end)
    declared = None if is_only else _declare_in_words(text, clause)
    return declared or _padded(text, clause.start, clause.end)


def _is_comparison(match: re.Match[str], clause: _Clause, *, is_only: bool) -> bool:
    """Whether `>` compares two values; beside a formula it rather says something of a constant."""
    return match["sign"] in _BOUND_SIGNS and (is_only or match.end() == clause.end)


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


def _is_same_name(name: str, named: str) -> bool:
    """Whether a name on the left is that of the quantity; `q_1` is the same as `q1`."""
    return bool(named) and name.replace("_", "") == named.replace("_", "")


def _is_short_name(name: str, named: str, *, is_first: bool) -> bool:
    """Whether a name on the left is that of the quantity, perhaps shortened.

    In the first clause it may also have an additional subscript.
    """
    if not (name and named):
        return False
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
    sign = match["sign"]
    if sign in _VALUE_SIGNS:
        return Definition(name, value, start)
    if sign in _LARGE_SIGNS or (sign in _LIMIT_SIGNS and _INFINITY.fullmatch(value)):
        return Definition(name, "", start, DefinitionKind.LARGE)
    if sign in _BOUND_SIGNS:
        return Definition(name, value, start, DefinitionKind.BOUND)
    raise make_size_error(name, start)


def _declare_in_words(text: str, clause: _Clause) -> Definition | None:
    """The constant that a clause declares as large in words; None where it says anything else."""
    if not _has_adjective(text[clause.start : clause.end]):
        return None
    words = list(islice(_BETWEEN_SPACES.finditer(text, clause.start, clause.end), _MAX_WORDS + 1))
    folded = [_fold_word(each[0]) for each in words]
    others = [
        each
        for each, word in zip(words, folded, strict=True)
        if word not in _ADJECTIVES and word not in _WORDS_BESIDE_ADJECTIVE
    ]
    is_declaration = len(words) <= _MAX_WORDS and not _ADJECTIVES.isdisjoint(folded)
    if not is_declaration or len(others) != 1 or not _BARE_NAME.fullmatch(others[0][0]):
        return None
    name = _normalize_name(others[0][0])
    return Definition(name, "", others[0].start(), DefinitionKind.LARGE)


def _has_adjective(text: str) -> bool:
    """Whether the letters of an adjective occur; most formulas have none, and this is quick."""
    lowered = text.lower()
    return any(each in lowered for each in _ADJECTIVES)


def _fold_word(word: str) -> str:
    """A word in small letters; a single letter may be a name and stays as it is."""
    return word.lower() if len(word) > 1 else word


def _declare_listed(
    text: str, clauses: Sequence[_Clause], read: Sequence[Definition | str]
) -> list[Definition | str]:
    """The clauses, with all names declared in `C_1, C_2 >> 0` and in `for large C and D`."""
    found = list(read)
    # One clause must remain as the formula.
    spare = sum(isinstance(each, str) for each in found) - 1
    backwards = [(number, number + 1) for number in reversed(range(len(found) - 1))]
    forwards = [(number, number - 1) for number in range(1, len(found))]
    for number, neighbour in (*backwards, *forwards):
        declared = found[neighbour]
        if (
            spare < 1
            or not isinstance(declared, Definition)
            or declared.kind is DefinitionKind.VALUE
            or clauses[max(number, neighbour)].word not in ("", "and")
        ):
            continue
        # Only in "large C and D" does the list go on behind what declares it.
        if number > neighbour and not _is_bare_name(text, declared.start, clauses[neighbour].end):
            continue
        bare = _BARE_NAME.fullmatch(text, clauses[number].start, clauses[number].end)
        if bare and isinstance(found[number], str):
            name, start = _normalize_name(bare["name"]), bare.start("name")
            found[number] = replace(declared, name=name, start=start)
            spare -= 1
    return found


def _is_bare_name(text: str, start: int, end: int) -> bool:
    return _BARE_NAME.fullmatch(text, start, end) is not None


def make_size_error(name: str, start: int) -> FormulaError:
    """The error of a clause that does not say how large a constant is."""
    return FormulaError(
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
    elif DOTS.search(text):
        hint = DOTS_HINT
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
