"""Random formulas of a wanted shape, written in many ways, with their values by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from grader.domain.shapes import NUMBER, Kind, Shape, column, matrix, row
from grader.formula.scope import Family
from tests.formula.questions import Array, make_given

_normal = np.random.default_rng(7).standard_normal
SIZES = (2, 3, 4)
_MATRICES = {
    (rows, columns): name
    for (rows, columns), name in zip(
        [(rows, columns) for rows in SIZES for columns in SIZES], "ABDEFGHJK", strict=True
    )
}

#: Matrices of all sizes, a family by rows for every size, and numbers.
QUESTION = make_given(
    {
        **{name: _normal(size) for size, name in _MATRICES.items()},
        **{f"{letter}": _normal((5, size)) for letter, size in zip("xyz", SIZES, strict=True)},
        "beta": np.array(1.7),
        "tau": np.array(-0.6),
    },
    families={
        letter: Family(letter, 5, size, labels={"a": "a", "b": "b"}, numbered=True)
        for letter, size in zip("xyz", SIZES, strict=True)
    },
    indices={"a": 3, "b": 0},
    n=5,
    d=3,
)  # fmt: skip
_FAMILIES = dict(zip(SIZES, "xyz", strict=True))


@dataclass(frozen=True, slots=True)
class Sample:
    """A formula and its value; `is_tight` where it needs no brackets anywhere."""

    text: str
    value: Array
    is_tight: bool = False


def formulas(shape: Shape, depth: int = 3) -> st.SearchStrategy[Sample]:
    """Formulas that give a value of this shape."""
    leaves = _leaves(shape)
    if depth == 0:
        return leaves
    return st.one_of(leaves, *(rule(shape, depth - 1) for rule in _RULES[shape.kind]))


def _leaves(shape: Shape) -> st.SearchStrategy[Sample]:
    match shape.kind:
        case Kind.NUMBER:
            literals = st.sampled_from(["2", "0.5", "3.25", "1e-1", ".25", "½", "1_000"])
            named = {"beta": 1.7, r"\tau": -0.6, "n": 5.0, "β": 1.7, "pi": np.pi}
            return literals.map(_literal) | st.sampled_from(
                [Sample(text, np.array(value), True) for text, value in named.items()]
            )
        case Kind.COLUMN:
            return st.sampled_from(_members(shape.rows))
        case Kind.ROW:
            return st.sampled_from(_members(shape.columns)).flatmap(_transposed)
        case _:
            name = _MATRICES[shape.rows, shape.columns]
            plain = Sample(name, QUESTION.values[name], True)
            if shape.rows != shape.columns:
                return st.just(plain)
            identity = Sample(f"I_{shape.rows}", np.eye(shape.rows), True)
            return st.sampled_from([plain, identity])


def _literal(text: str) -> Sample:
    value = 0.5 if text == "½" else float(text.replace("_", ""))
    return Sample(text, np.array(value), True)


def _members(size: int) -> list[Sample]:
    name = _FAMILIES[size]
    rows = QUESTION.values[name]
    written = {
        f"{name}_a": 3, f"{name}_{{b}}": 0, f"{name}_2": 1, rf"\mathbf{{{name}}}_5": 4, f"{name}₃": 2,
    }  # fmt: skip
    return [Sample(text, rows[place], True) for text, place in written.items()]


def _enclosed(sample: Sample) -> st.SearchStrategy[str]:
    """A text that holds together: as it is, where it is tight, or in brackets."""
    ways = ["({})", r"\left({}\right)", "[{}]", "{{{}}}", r"\bigl({}\bigr)"]
    if sample.is_tight:
        ways = ["{}", "{}", "({})"]
    return st.sampled_from(ways).map(lambda way: way.format(sample.text))


def _joined(
    first: st.SearchStrategy[Sample],
    second: st.SearchStrategy[Sample],
    signs: list[str],
    compute: Callable[[Array, Array], Array],
) -> st.SearchStrategy[Sample]:
    @st.composite
    def build(draw: st.DrawFn) -> Sample:
        left, right = draw(first), draw(second)
        sign = draw(st.sampled_from(signs))
        text = draw(_enclosed(left)) + sign + draw(_enclosed(right))
        return Sample(text, np.asarray(compute(left.value, right.value)))

    return build()


def _transposed(sample: Sample) -> st.SearchStrategy[Sample]:
    signs = ["^T", "'", r"^\top", r"^{\top}", "ᵀ", ".T", "^{T}", r"^\mathsf{T}"]
    return st.tuples(_enclosed(sample), st.sampled_from(signs)).map(
        lambda parts: Sample("".join(parts), sample.value.T)
    )


def _sums(shape: Shape, depth: int) -> st.SearchStrategy[Sample]:
    inner = formulas(shape, depth)
    return _joined(inner, inner, [" + ", "+"], np.add) | _joined(
        inner, inner, [" - ", "−"], np.subtract
    )


def _negatives(shape: Shape, depth: int) -> st.SearchStrategy[Sample]:
    @st.composite
    def build(draw: st.DrawFn) -> Sample:
        inner = draw(formulas(shape, depth))
        return Sample("-" + draw(_enclosed(inner)), -inner.value)

    return build()


def _scaled(shape: Shape, depth: int) -> st.SearchStrategy[Sample]:
    numbers, inner = formulas(NUMBER, depth), formulas(shape, depth)
    signs = [" * ", r" \cdot ", "·", r"\times "]
    return (
        _joined(numbers, inner, signs, np.multiply)
        | _joined(inner, numbers, signs, np.multiply)
        | _joined(inner, _leaves(NUMBER), [" / ", "/", "÷"], np.divide)
    )


def _fractions(shape: Shape, depth: int) -> st.SearchStrategy[Sample]:
    @st.composite
    def build(draw: st.DrawFn) -> Sample:
        upper, lower = draw(formulas(shape, depth)), draw(_leaves(NUMBER))
        text = rf"\frac{{{upper.text}}}{{{lower.text}}}"
        return Sample(text, upper.value / lower.value, True)

    return build()


def _matrix_columns(shape: Shape, depth: int) -> st.SearchStrategy[Sample]:
    @st.composite
    def build(draw: st.DrawFn) -> Sample:
        size = draw(st.sampled_from(SIZES))
        left, right = formulas(matrix(shape.rows, size), depth), formulas(column(size), depth)
        return draw(_joined(left, right, [" ", " * ", " @ ", r" \cdot "], np.matmul))

    return build()


def _row_matrices(shape: Shape, depth: int) -> st.SearchStrategy[Sample]:
    @st.composite
    def build(draw: st.DrawFn) -> Sample:
        size = draw(st.sampled_from(SIZES))
        left, right = formulas(row(size), depth), formulas(matrix(size, shape.columns), depth)
        return draw(_joined(left, right, [" ", " * ", " @ "], np.matmul))

    return build()


def _matrix_products(shape: Shape, depth: int) -> st.SearchStrategy[Sample]:
    @st.composite
    def build(draw: st.DrawFn) -> Sample:
        size = draw(st.sampled_from(SIZES))
        left = formulas(matrix(shape.rows, size), depth)
        right = formulas(matrix(size, shape.columns), depth)
        return draw(_joined(left, right, [" ", "", " * ", r"\cdot "], np.matmul))

    return build()


def _outer_products(shape: Shape, depth: int) -> st.SearchStrategy[Sample]:
    left, right = formulas(column(shape.rows), depth), formulas(row(shape.columns), depth)
    return _joined(left, right, [" ", " * "], np.outer) | _joined(
        left, formulas(column(shape.columns), depth), [r" \otimes ", "⊗"], np.outer
    )


def _dot_products(shape: Shape, depth: int) -> st.SearchStrategy[Sample]:
    @st.composite
    def build(draw: st.DrawFn) -> Sample:
        size = draw(st.sampled_from(SIZES))
        left, right = draw(formulas(column(size), depth)), draw(formulas(column(size), depth))
        value = np.asarray(left.value @ right.value)
        way = draw(st.sampled_from(["dot({}, {})", "⟨{}, {}⟩", r"\langle {}, {} \rangle"]))
        return Sample(way.format(left.text, right.text), value, True)

    return build()


def _lengths(shape: Shape, depth: int) -> st.SearchStrategy[Sample]:
    @st.composite
    def build(draw: st.DrawFn) -> Sample:
        inner = draw(formulas(column(draw(st.sampled_from(SIZES))), depth))
        ways = ["norm({})", r"\lVert {} \rVert", r"\|{}\|_2", "‖{}‖", "sqrt(sum(({})·({})))"]
        text = draw(st.sampled_from(ways)).replace("{}", inner.text)
        return Sample(text, np.asarray(np.linalg.norm(inner.value)), True)

    return build()


def _transposes(shape: Shape, depth: int) -> st.SearchStrategy[Sample]:
    return formulas(shape.transposed(), depth).flatmap(_transposed)


def _family_sums(shape: Shape, depth: int) -> st.SearchStrategy[Sample]:
    name = _FAMILIES[shape.rows]
    rows = QUESTION.values[name]
    written = {
        rf"\sum_{{i=1}}^n {name}_i": rows.sum(axis=0),
        rf"\sum_{{i \neq a,b}} {name}_{{i}}": rows[[1, 2, 4]].sum(axis=0),
        f"sum_{{i in {{a, 2}}}} {name}_i": rows[3] + rows[1],
        f"∑_{{j=2}}^4 2 {name}_j": 2 * rows[1:4].sum(axis=0),
    }
    return st.sampled_from([Sample(text, value) for text, value in written.items()])


_COMMON = (_sums, _negatives, _scaled, _fractions)
_RULES: dict[Kind, tuple[Callable[[Shape, int], st.SearchStrategy[Sample]], ...]] = {
    Kind.NUMBER: (*_COMMON, _dot_products, _lengths),
    Kind.COLUMN: (*_COMMON, _matrix_columns, _family_sums, _transposes),
    Kind.ROW: (*_COMMON, _row_matrices, _transposes),
    Kind.MATRIX: (*_COMMON, _matrix_products, _outer_products, _transposes),
}
