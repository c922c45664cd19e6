"""Random formulas of a wanted shape, written in many ways, with their values by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from grader.domain.shapes import (
    NUMBER,
    Kind,
    Shape,
    make_column_shape,
    make_matrix_shape,
    make_row_shape,
)
from grader.formula.typed.scope import Family
from tests.support.formulas import Array, make_given

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


@st.composite
def formulas(draw: st.DrawFn, shape: Shape, depth: int = 3) -> Sample:
    """A formula that gives a value of this shape."""
    return _formula(draw, shape, depth)


def _formula(draw: st.DrawFn, shape: Shape, depth: int) -> Sample:
    if depth == 0:
        return _leaf(draw, shape)
    rule = draw(st.sampled_from((_sum, _negative, _scaled, _fraction, *_RULES[shape.kind])))
    return rule(draw, shape, depth - 1)


def _leaf(draw: st.DrawFn, shape: Shape, depth: int = 0) -> Sample:
    match shape.kind:
        case Kind.NUMBER:
            text = draw(st.sampled_from(list(_NUMBERS)))
            return Sample(text, np.array(_NUMBERS[text]), True)
        case Kind.COLUMN:
            return _member(draw, shape.rows)
        case Kind.ROW:
            return _transposed(draw, _member(draw, shape.columns))
        case _:
            if shape.rows == shape.columns and draw(st.booleans()):
                return Sample(f"I_{shape.rows}", np.eye(shape.rows), True)
            name = _MATRICES[shape.rows, shape.columns]
            return Sample(name, QUESTION.values[name], True)


_NUMBERS = {
    "2": 2.0, "0.5": 0.5, "3.25": 3.25, "1e-1": 0.1, ".25": 0.25, "½": 0.5, "1_000": 1000.0,
    "beta": 1.7, "β": 1.7, r"\tau": -0.6, "n": 5.0, "pi": np.pi,
}  # fmt: skip


def _member(draw: st.DrawFn, size: int) -> Sample:
    name = _FAMILIES[size]
    places = {"{}_a": 3, "{}_{{b}}": 0, "{}_2": 1, r"\mathbf{{{}}}_5": 4, "{}₃": 2}
    way = draw(st.sampled_from(list(places)))
    return Sample(way.format(name), QUESTION.values[name][places[way]], True)


def _enclosed(draw: st.DrawFn, sample: Sample) -> str:
    """A text that holds together: as it is, where it is tight, or in brackets."""
    loose = ["({})", r"\left({}\right)", "[{}]", "{{{}}}", r"\bigl({}\bigr)"]
    ways = ["{}", "{}", "({})"] if sample.is_tight else loose
    return draw(st.sampled_from(ways)).format(sample.text)


def _transposed(draw: st.DrawFn, sample: Sample) -> Sample:
    signs = ["^T", "'", r"^\top", r"^{\top}", "ᵀ", ".T", "^{T}", r"^\mathsf{T}"]
    return Sample(_enclosed(draw, sample) + draw(st.sampled_from(signs)), sample.value.T)


def _joined(
    draw: st.DrawFn,
    left: Sample,
    right: Sample,
    signs: list[str],
    compute: Callable[[Array, Array], Array],
) -> Sample:
    sign = draw(st.sampled_from(signs))
    text = _enclosed(draw, left) + sign + _enclosed(draw, right)
    return Sample(text, np.asarray(compute(left.value, right.value)))


def _sum(draw: st.DrawFn, shape: Shape, depth: int) -> Sample:
    left, right = _formula(draw, shape, depth), _formula(draw, shape, depth)
    if draw(st.booleans()):
        return _joined(draw, left, right, [" + ", "+"], np.add)
    return _joined(draw, left, right, [" - ", "−"], np.subtract)


def _negative(draw: st.DrawFn, shape: Shape, depth: int) -> Sample:
    inner = _formula(draw, shape, depth)
    return Sample("-" + _enclosed(draw, inner), -inner.value)


def _scaled(draw: st.DrawFn, shape: Shape, depth: int) -> Sample:
    number, inner = _formula(draw, NUMBER, depth), _formula(draw, shape, depth)
    pair = (number, inner) if draw(st.booleans()) else (inner, number)
    if draw(st.booleans()):
        return _joined(draw, *pair, [" * ", r" \cdot ", "·", r"\times "], np.multiply)
    return _joined(draw, inner, _leaf(draw, NUMBER), [" / ", "/", "÷"], np.divide)


def _fraction(draw: st.DrawFn, shape: Shape, depth: int) -> Sample:
    upper, lower = _formula(draw, shape, depth), _leaf(draw, NUMBER)
    text = rf"\frac{{{upper.text}}}{{{lower.text}}}"
    return Sample(text, upper.value / lower.value, True)


def _product(draw: st.DrawFn, shape: Shape, depth: int) -> Sample:
    """A product with a matrix in it, or of a column and a row."""
    size = draw(st.sampled_from(SIZES))
    left, right = {
        Kind.COLUMN: (make_matrix_shape(shape.rows, size), make_column_shape(size)),
        Kind.ROW: (make_row_shape(size), make_matrix_shape(size, shape.columns)),
        Kind.MATRIX: (make_matrix_shape(shape.rows, size), make_matrix_shape(size, shape.columns)),
    }[shape.kind]
    first, second = _formula(draw, left, depth), _formula(draw, right, depth)
    return _joined(draw, first, second, [" ", " * ", " @ ", r" \cdot "], np.matmul)


def _outer(draw: st.DrawFn, shape: Shape, depth: int) -> Sample:
    first = _formula(draw, make_column_shape(shape.rows), depth)
    if draw(st.booleans()):
        second = _formula(draw, make_row_shape(shape.columns), depth)
        return _joined(draw, first, second, [" ", " * "], np.outer)
    second = _formula(draw, make_column_shape(shape.columns), depth)
    return _joined(draw, first, second, [r" \otimes ", "⊗"], np.outer)


def _dot(draw: st.DrawFn, shape: Shape, depth: int) -> Sample:
    size = draw(st.sampled_from(SIZES))
    left, right = (
        _formula(draw, make_column_shape(size), depth),
        _formula(draw, make_column_shape(size), depth),
    )
    way = draw(st.sampled_from(["dot({}, {})", "⟨{}, {}⟩", r"\langle {}, {} \rangle", "({})·({})"]))
    value = np.asarray(left.value @ right.value)
    return Sample(way.format(left.text, right.text), value, "·" not in way)


def _length(draw: st.DrawFn, shape: Shape, depth: int) -> Sample:
    inner = _formula(draw, make_column_shape(draw(st.sampled_from(SIZES))), depth)
    way = draw(st.sampled_from(["norm({})", r"\lVert {} \rVert", r"\|{}\|_2", "‖{}‖"]))
    text = way.replace("{}", inner.text)
    return Sample(text, np.asarray(np.linalg.norm(inner.value)), True)


def _transpose(draw: st.DrawFn, shape: Shape, depth: int) -> Sample:
    return _transposed(draw, _formula(draw, shape.transposed(), depth))


def _family_sum(draw: st.DrawFn, shape: Shape, depth: int) -> Sample:
    name = _FAMILIES[shape.rows]
    rows = QUESTION.values[name]
    written = {
        rf"\sum_{{i=1}}^n {name}_i": rows.sum(axis=0),
        rf"\sum_{{i \neq a,b}} {name}_{{i}}": rows[[1, 2, 4]].sum(axis=0),
        f"sum_{{i in {{a, 2}}}} {name}_i": rows[3] + rows[1],
        f"∑_{{j=2}}^4 2 {name}_j": 2 * rows[1:4].sum(axis=0),
    }
    text = draw(st.sampled_from(list(written)))
    return Sample(text, written[text])


_RULES: dict[Kind, tuple[Callable[[st.DrawFn, Shape, int], Sample], ...]] = {
    Kind.NUMBER: (_leaf, _dot, _length),
    Kind.COLUMN: (_leaf, _product, _family_sum, _transpose),
    Kind.ROW: (_leaf, _product, _transpose),
    Kind.MATRIX: (_leaf, _product, _outer, _transpose),
}
