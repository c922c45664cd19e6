"""Unreadable is not wrong: it is refused with its place, and nothing is judged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grader.errors import AnswerRefused
from tests.support.rubrics import submit

VECTOR, MATRIX = "attention-exploration/3b", "self-attention-and-transformers/b-i"
PREDICTION, CHOICE = "attention-exploration/3c-ii", "attention-exploration/3e-i"

FLAT = [0.5] * 7
SQUARE = [[0.5] * 10 for _ in range(10)]


def with_cell(array: list[Any], value: object, *place: int) -> list[Any]:
    copy = json.loads(json.dumps(array))
    target = copy
    for index in place[:-1]:
        target = target[index]
    target[place[-1]] = value
    return list(copy)


@pytest.mark.parametrize(
    ("question", "sent", "code", "pointer"),
    [
        pytest.param(VECTOR, {"q": FLAT[:6]}, "answer.shape", "#/answer/q", id="too short"),
        pytest.param(VECTOR, {"q": [*FLAT, 1.0]}, "answer.shape", "#/answer/q", id="too long"),
        pytest.param(VECTOR, {"q": [[FLAT]]}, "answer.shape", "#/answer/q", id="nested twice"),
        pytest.param(
            VECTOR, {"q": [[x] for x in FLAT[:6]]}, "answer.shape", "#/answer/q", id="a column"
        ),
        pytest.param(
            VECTOR, {"q": [[*FLAT[:6], "x"]]}, "number.type", "#/answer/q/0/6", id="text in a row"
        ),
        pytest.param(VECTOR, {"q": []}, "answer.empty", "#/answer/q", id="empty"),
        pytest.param(VECTOR, {"q": 3}, "answer.shape", "#/answer/q", id="a number"),
        pytest.param(VECTOR, {"q": {"0": 1}}, "number.type", "#/answer/q", id="an object"),
        pytest.param(
            VECTOR, {"q": with_cell(FLAT, True, 3)}, "number.type", "#/answer/q/3", id="true"
        ),
        pytest.param(
            VECTOR, {"q": with_cell(FLAT, "1", 2)}, "number.type", "#/answer/q/2", id="text"
        ),
        pytest.param(
            VECTOR, {"q": with_cell(FLAT, None, 6)}, "number.type", "#/answer/q/6", id="null"
        ),
        pytest.param(
            VECTOR, {"q": [float("nan"), *FLAT[1:]]}, "number.nan", "#/answer/q/0", id="NaN"
        ),
        pytest.param(
            VECTOR, {"q": [float("inf"), *FLAT[1:]]}, "number.infinite", "#/answer/q/0", id="inf"
        ),
        pytest.param(
            VECTOR, {"q": [2**53 + 1, *FLAT[1:]]}, "number.precision", "#/answer/q/0", id="2^53 + 1"
        ),
        pytest.param(
            VECTOR, {"q": [10**400, *FLAT[1:]]}, "number.infinite", "#/answer/q/0", id="10^400"
        ),
        pytest.param(
            VECTOR, {"q": "1, 2, ..., 7"}, "paste.truncated", "#/answer/q", id="truncated"
        ),
        pytest.param(VECTOR, {"q": "40 (k_a + k_c)"}, "formula.unknown", "#/answer/q", id="symbol"),
        pytest.param(
            VECTOR, {"q": "40 (k_a + k_b"}, "formula.brackets", "#/answer/q", id="bracket"
        ),
        pytest.param(VECTOR, {"q": "k_a k_b"}, "formula.shape", "#/answer/q", id="product"),
        pytest.param(VECTOR, {"q": "k_a^T"}, "answer.shape", "#/answer/q", id="transposed formula"),
        pytest.param(VECTOR, {"q": "9^9^9^9 k_a"}, "formula.not_finite", "#/answer/q", id="tower"),
        pytest.param(VECTOR, {"q": "__import__('os')"}, "formula.", "#/answer/q", id="import"),
        pytest.param(VECTOR, {"q": "k_a.T.__class__"}, "formula.", "#/answer/q", id="attribute"),
        pytest.param(VECTOR, {"q": "(" * 10_000}, "formula.limit", "#/answer/q", id="brackets"),
        pytest.param(VECTOR, {"q": "k_a\0"}, "formula.character", "#/answer/q", id="NUL"),
        pytest.param(
            VECTOR, {"q": "k_a \u202e b_k"}, "formula.character", "#/answer/q", id="right to left"
        ),
        pytest.param(VECTOR, {"q": ""}, "formula.empty", "#/answer/q", id="empty text"),
        pytest.param(VECTOR, {}, "field.missing", "#/answer/q", id="missing"),
        pytest.param(VECTOR, {"q": None}, "field.missing", "#/answer/q", id="null for all"),
        pytest.param(VECTOR, {"q": FLAT, "Q": FLAT}, "field.unknown", "#/answer/Q", id="unknown"),
        pytest.param(MATRIX, {"M": SQUARE[:9]}, "answer.shape", "#/answer/M", id="a row less"),
        pytest.param(
            MATRIX,
            {"M": with_cell(SQUARE, [1.0] * 9, 4)},
            "row.length",
            "#/answer/M/4",
            id="ragged",
        ),
        pytest.param(
            MATRIX, {"M": with_cell(SQUARE, True, 4, 7)}, "number.type", "#/answer/M/4/7", id="cell"
        ),
        pytest.param(MATRIX, {"M": "A"}, "answer.shape", "#/answer/M", id="not square"),
        pytest.param(MATRIX, {"M": "A^T A"}, "answer.shape", "#/answer/M", id="the other product"),
        pytest.param(
            PREDICTION,
            {"variance": "a lot"},
            "field.missing",
            "#/answer/share_near_average",
            id="several",
        ),
        pytest.param(CHOICE, {"possible": "perhaps"}, "field.missing", "#/answer/c_2", id="choice"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    question: str, sent: dict[str, Any], code: str, pointer: str
) -> None:
    with pytest.raises(AnswerRefused) as refused:
        submit(question, sent)

    first = refused.value.errors[0]
    assert first.code.startswith(code)
    assert first.pointer == pointer
    assert str(first)


@pytest.mark.parametrize("sent", [None, 3, "q", [1, 2], True])
def test_an_answer_that_is_no_object_is_refused(sent: Any) -> None:
    with pytest.raises(AnswerRefused) as refused:
        submit(VECTOR, sent)

    assert refused.value.code == "answer.type"


def test_all_faults_are_told_at_once_but_at_most_fifty() -> None:
    with pytest.raises(AnswerRefused) as refused:
        submit(MATRIX, {"M": [[None] * 10 for _ in range(10)], "x": 1})

    assert len(refused.value.errors) == 50
    assert {error.code for error in refused.value.errors} == {"field.unknown", "number.type"}


def test_a_formula_error_names_the_column() -> None:
    with pytest.raises(AnswerRefused) as refused:
        submit(VECTOR, {"q": "40 (k_a + zeta)"})

    (fault,) = refused.value.errors
    assert fault.column == 11
    assert "column 11" in str(fault)
