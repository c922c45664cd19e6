"""Why a pasted text is refused, in words that point at the place in it."""

from __future__ import annotations

import re

from grader.errors import AnswerRefused
from grader.reading.cells import Cell
from grader.reading.locations import Spot, excerpt

COMMA_INSIDE = re.compile(r"(?<![0-9.])[0-9]++,[0-9]++(?!\.)")


def refused_at(spot: Spot, cell: Cell, why: str) -> AnswerRefused:
    """The refusal of a text because of something in it; ``why`` goes on after its words."""
    got = f'"{excerpt(cell.text)}"'
    says = f"cannot be read: {got} {why}."
    column = cell.start + 1
    return AnswerRefused([spot.fault(says, code="paste.unreadable", got=got, column=column)])


def unreadable(spot: Spot, cell: Cell) -> AnswerRefused:
    """The refusal of a cell that is no number."""
    got = f'"{excerpt(cell.text)}"' if cell.text else "empty"
    fault = spot.fault(
        f"is {got}; write a plain number such as 0.25.",
        code="paste.unreadable",
        expected="a plain number",
        got=got,
        column=cell.start + 1,
    )
    return AnswerRefused([fault])


def truncated(spot: Spot, start: int) -> AnswerRefused:
    """The refusal of a text whose numbers were left out by what printed it."""
    fault = spot.fault(
        'has "..." in place of numbers that were left out.',
        code="paste.truncated",
        got='"..."',
        hint="Call np.set_printoptions(threshold=np.inf, precision=17) and print it again.",
        column=start + 1,
    )
    return AnswerRefused([fault])


def decimal_comma(text: str, spot: Spot) -> AnswerRefused:
    """The refusal of a text with a comma that can be read in two ways."""
    found = COMMA_INSIDE.search(text)
    pair = found.group() if found else ""
    whole, _, rest = excerpt(pair).partition(",")
    fault = spot.fault(
        f'has the comma of "{excerpt(pair)}", which can be read in two ways: as the one number '
        f"{whole}.{rest} or as the two numbers {whole} and {rest}.",
        code="paste.decimal_comma",
        expected="numbers with decimal points",
        got=f'"{excerpt(pair)}"',
        hint="Write decimal points, or a space after each comma that separates two numbers.",
        column=found.start() + 1 if found else None,
    )
    return AnswerRefused([fault])
