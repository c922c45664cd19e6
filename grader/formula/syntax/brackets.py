"""Which brackets, bars and fractions are open while a formula is read from left to right."""

from __future__ import annotations

from lark import Token

from grader.errors import FormulaError

_CLOSING = {"RPAR": "LPAR", "RBRACE": "LBRACE", "RBRACK": "LBRACK", "RANGLE": "LANGLE",
            "BAR_CLOSE": "BAR_OPEN"}  # fmt: skip
_OPENING = frozenset(_CLOSING.values())
# What can be a whole argument of \frac without braces, as in \frac12.
_SINGLE = frozenset({"NUMBER", "NAME", "MEMBER"})


class Brackets:
    """The open brackets, innermost last, and how many arguments a fraction still waits for."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: list[Token] = []
        self._awaited: dict[int, int] = {}

    def see(self, token: Token) -> None:
        """Take note of the next token; refuses one that closes what is not open."""
        if token.type in _OPENING:
            self._open.append(token)
            if len(self._open) > self.most:
                raise _fault("The brackets are nested too deeply.", token, "formula.limit")
        elif token.type in _CLOSING:
            self._close(token)
        elif token.type == "FRACTION":
            self._awaited[len(self._open)] = 2
        if token.type in _SINGLE or token.type == "RBRACE":
            depth = len(self._open)
            self._awaited[depth] = max(self._awaited.get(depth, 0) - 1, 0)

    def _close(self, token: Token) -> None:
        if not self._open:
            raise _fault(f"This {_sign(token)} closes nothing.", token, "formula.brackets")
        opening = self._open[-1]
        if opening.type != _CLOSING[token.type]:
            raise _fault(
                f"This {_sign(token)} does not close the {_sign(opening)} "
                f"of column {(opening.start_pos or 0) + 1}.",
                token,
                "formula.brackets",
            )
        self._open.pop()

    def open_bar(self) -> str | None:
        """The kind of the innermost bracket where it is a bar, None where it is none."""
        return self._open[-1].value if self._open and self._open[-1].type == "BAR_OPEN" else None

    def awaits_argument(self) -> bool:
        """Whether what comes next is an argument of a fraction."""
        return self._awaited.get(len(self._open), 0) > 0

    def check_all_closed(self) -> None:
        """Refuse the innermost bracket that is still open."""
        if self._open:
            opening = self._open[-1]
            raise _fault(f"This {_sign(opening)} is never closed.", opening, "formula.brackets")


def _sign(token: Token) -> str:
    return {"bars": "'|'", "norm": "'‖'"}.get(token.value, repr(str(token)))


def _fault(message: str, token: Token, code: str) -> FormulaError:
    start, end = token.start_pos or 0, token.end_pos or 0
    return FormulaError(message, column=start + 1, length=end - start, code=code)
