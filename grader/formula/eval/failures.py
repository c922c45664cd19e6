"""Why a part of a formula has no finite value, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.formula.typed import tree as t

Array = NDArray[Any]

_OVERFLOW = "overflows: its value is too large for a computer"
_DIVISION_BY_ZERO = "divides by zero"
_NO_INVERSE = "does not exist: this matrix has no inverse"


def describe_failure(node: t.Node, result: Array, evaluate: Callable[[t.Node], Array]) -> str:
    """Say what goes wrong in a node whose parts are finite; the sentence begins with the node.

    Parameters
    ----------
    result
        The value of the node, which is not finite.
    evaluate
        Gives the value of a part of the node.
    """
    match node:
        case t.Divide(right=right):
            if evaluate(right).all():
                return _OVERFLOW
            return "is 0/0, which has no value" if _is_undefined(result) else _DIVISION_BY_ZERO
        case t.Power(base=base):
            return _describe_power(evaluate(base), result)
        case t.MatrixPower(exponent=-1) | t.FunctionCall(name="inv"):
            return _NO_INVERSE if np.isnan(result).any() else _OVERFLOW
        case t.FunctionCall(name="log" | "ln", arguments=(argument,)):
            return f"is the logarithm of {_describe_number(evaluate(argument))}"
        case t.FunctionCall(name="sqrt"):
            return "is the square root of a negative number"
        case _:
            return _OVERFLOW


def _is_undefined(result: Array) -> bool:
    """Whether all that is not finite is undefined, and nothing is infinite."""
    return not np.isinf(result).any()


def _describe_number(values: Array) -> str:
    return "a negative number" if (values < 0).any() else "zero"


def _describe_power(base: Array, result: Array) -> str:
    if np.isnan(result).any():
        return "is a negative number to a power that is not whole"
    bases = np.broadcast_to(base, result.shape)[np.isinf(result)]
    return _DIVISION_BY_ZERO if (bases == 0).any() else _OVERFLOW
