"""Formulas as answers: read, checked for their shape and evaluated on the student's variant."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.domain.shapes import Shape
from grader.errors import FieldError, FormulaError
from grader.formula.eval.evaluate import Environment, evaluate, evaluate_finite
from grader.formula.formula import Formula, read_formula
from grader.formula.typed.scope import FormulaScope

#: A constant declared as large (`C >> 0`) is judged at each of these values.
LARGE_VALUES = (1e3, 1e4, 1e5, 1e6)


def read_formula_answer(
    sent: str, *, field: str, shape: Shape, scope: FormulaScope, variant: Environment
) -> Formula:
    """Read a formula that has exactly this shape and is finite on the variant.

    Raises
    ------
    FieldError
        With the code, hint and column of the formula's error; ``answer.shape`` where the formula
        has another shape.
    """
    try:
        formula = read_formula(sent, scope, named=field)
        _check_shape(formula, field, shape)
        evaluate_formula(formula, variant, large=LARGE_VALUES[0], finite=True)
    except FormulaError as error:
        raise FieldError(
            f"{field}, column {error.column}: {error.message}",
            field=field,
            code=error.code,
            hint=error.hint,
            column=error.column,
            expected=f"a formula that gives {shape.describe()}",
        ) from None
    return formula


def evaluate_formula(
    formula: Formula, variants: Environment, *, large: float, finite: bool = False
) -> NDArray[Any]:
    """The value of a formula on variants, of shape (variants, …).

    Constants that the formula declares as large take the value `large`.

    Raises
    ------
    FormulaError
        With `finite`, where a value is not finite.
    """
    if formula.large:
        sizes = {name: np.full((1, 1), large) for name in formula.large}
        variants = Environment({**variants.values, **sizes}, variants.indices)
    compute = evaluate_finite if finite else evaluate
    return compute(formula.tree, variants)[:, 0]


def _check_shape(formula: Formula, name: str, shape: Shape) -> None:
    if formula.shape == shape:
        return
    hint = "Transpose it with ^T." if formula.shape.transposed() == shape else ""
    raise FormulaError(
        f"{name} must be {shape.describe()}, but this formula gives {formula.shape.describe()}.",
        column=formula.tree.start + 1,
        hint=hint,
        code="answer.shape",
    )
