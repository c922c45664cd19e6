"""Why a pasted text is refused, in words that point at the place in it."""

from __future__ import annotations

import re

from grader.errors import AnswerRefused
from grader.reading.cells import Cell
from grader.reading.locations import FieldLocation, format_excerpt

DECIMAL_COMMA = re.compile(r"(?<![0-9.])[0-9]++,[0-9]++(?!\.)")


def make_paste_error(spot: FieldLocation, cell: Cell, why: str) -> AnswerRefused:
    """The refusal of a text because of something in it; ``why`` goes on after its words."""
    got = f'"{format_excerpt(cell.text)}"'
    says = f"cannot be read: {got} {why}."
    column = cell.start + 1
    return AnswerRefused([spot.fault(says, code="paste.unreadable", got=got, column=column)])


def make_cell_error(spot: FieldLocation, cell: Cell) -> AnswerRefused:
    """The refusal of a cell that is no number."""
    got = f'"{format_excerpt(cell.text)}"' if cell.text else "empty"
    fault = spot.fault(
        f"is {got}; write a plain number such as 0.25.",
        code="paste.unreadable",
        expected="a plain number",
        got=got,
        column=cell.start + 1,
    )
    return AnswerRefused([fault])


def make_truncated_error(spot: FieldLocation, start: int) -> AnswerRefused:
    """The refusal of a text whose numbers were left out by what printed it."""
    fault = spot.fault(
        'has "..." in place of numbers that were left out.',
        code="paste.truncated",
        got='"..."',
        hint="Call np.set_printoptions(threshold=np.inf, precision=17) and print it again.",
        column=start + 1,
    )
    return AnswerRefused([fault])


def make_decimal_comma_error(text: str, spot: FieldLocation) -> AnswerRefused:
    """The refusal of a text with a comma that can be read in two ways."""
    found = DECIMAL_COMMA.search(text)
    pair = found.group() if found else ""
    whole, _, rest = format_excerpt(pair).partition(",")
    fault = spot.fault(
        f'has the comma of "{format_excerpt(pair)}", which can be read in two ways: '
        "as the one number "
        f"{whole}.{rest} or as the two numbers {whole} and {rest}.",
        code="paste.decimal_comma",
        expected="numbers with decimal points",
        got=f'"{format_excerpt(pair)}"',
        hint="Write decimal points, or a space after each comma that separates two numbers.",
        column=found.start() + 1 if found else None,
    )
    return AnswerRefused([fault])
