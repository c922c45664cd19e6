"""What may be sent, and what is refused before anything is sent, in the service's own words."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from grader.client import Client, ClientError
from grader.client.answers import build_reading, prepare_answer
from grader.client.questions import FieldInfo
from grader.client.transport import ApiRequest
from tests.support.live_service import Running
from tests.support.proxies import run_proxy


def field(name: str, kind: str, shape: tuple[int, ...] | None = None, *options: str) -> FieldInfo:
    is_optional = kind in ("text", "file")
    return FieldInfo(name, kind, kind, shape, (), options, is_optional)


VECTOR = field("q", "array", (3,))
MATRIX = field("K", "array", (2, 3))
NUMBER = field("variance", "number")


class Tensor:
    """Like a tensor on a graphics card: a list can be had of it, but no array."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def tolist(self) -> Any:
        return self._values

    def __array__(self, *rest: Any, **more: Any) -> Any:
        raise TypeError("can't convert cuda device type tensor to numpy")


class Frame:
    """Like a data frame: an array can be had of it, but no list."""

    def __init__(self, values: Any) -> None:
        self._values = np.array(values)

    def __array__(self, *rest: Any, **more: Any) -> Any:
        return self._values


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(np.array([1.0, 2.0, 3.0]), id="float64"),
        pytest.param(np.array([1, 2, 3], dtype=np.float32), id="float32"),
        pytest.param(np.array([1, 2, 3], dtype=np.int8), id="integers"),
        pytest.param(np.array([9, 1, 9, 2, 9, 3], dtype=float)[1::2], id="a view with steps"),
        pytest.param([1, 2.0, np.float32(3)], id="a list"),
        pytest.param((1, 2, 3), id="a tuple"),
        pytest.param([np.array(1.0), Tensor(2.0), 3], id="a list of arrays and tensors"),
        pytest.param(Tensor([1.0, 2.0, 3.0]), id="a tensor"),
        pytest.param(Frame([1, 2, 3]), id="what becomes an array"),
        pytest.param(np.ma.masked_array([1.0, 2.0, 3.0]), id="masked, but nothing is"),
    ],
)
def test_whatever_holds_the_numbers_they_are_sent_alike(sent: object) -> None:
    assert prepare_answer({"q": sent}, [VECTOR]).body() == b'{"answer": {"q": [1.0, 2.0, 3.0]}}'


@pytest.mark.parametrize("sent", [np.array([[1.0], [2.0], [3.0]]), [[1, 2, 3]]])
def test_a_matrix_of_one_column_is_sent_as_a_flat_list_with_a_note(sent: object) -> None:
    """Issue 10, item 16."""
    prepared = prepare_answer({"q": sent}, [VECTOR])

    assert prepared.answer == {"q": [1.0, 2.0, 3.0]}
    assert "Read as a flat column of 3 numbers." in repr(build_reading(prepared, [VECTOR]))


@pytest.mark.parametrize("sent", [0.25, np.float64(0.25), np.array(0.25), Tensor(0.25)])
def test_a_number_is_sent_as_a_number(sent: object) -> None:
    assert prepare_answer({"variance": sent}, [NUMBER]).answer == {"variance": 0.25}


@given(arrays(np.float64, (2, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_no_digit_is_lost_on_the_way(matrix: Any) -> None:
    body = prepare_answer({"K": matrix}, [MATRIX]).body()

    assert np.array_equal(np.array(json.loads(body)["answer"]["K"]), matrix)


@given(arrays(np.float32, 3, elements=st.floats(allow_nan=False, allow_infinity=False, width=32)))
def test_shorter_numbers_are_sent_as_what_they_are(vector: Any) -> None:
    body = prepare_answer({"q": vector}, [VECTOR]).body()

    assert np.array_equal(np.array(json.loads(body)["answer"]["q"]), vector.astype(np.float64))


@pytest.mark.parametrize(
    ("sent", "pointer", "code", "says"),
    [
        pytest.param([1, np.nan, 3], "#/answer/q/1", "number.nan", "q, entry 2 is NaN", id="NaN"),
        pytest.param(
            np.array([1, 2, -np.inf]), "#/answer/q/2", "number.infinite", "entry 3", id="infinite"
        ),
        pytest.param(
            np.array([1, 2j, 3]), "#/answer/q", "number.type", "an array of complex128",
            id="complex array",
        ),
        pytest.param([1, 2j, 3], "#/answer/q/1", "number.type", "complex", id="complex number"),
        pytest.param(
            np.array([1, None, 3]), "#/answer/q", "number.type", "an array of object", id="objects"
        ),
        pytest.param(
            np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, False, True]),
            "#/answer/q/2", "number.type", "q, entry 3 is null", id="masked",
        ),
        pytest.param(
            np.array([True, False, True]), "#/answer/q", "number.type", "bool", id="truths"
        ),
        pytest.param([1, True, 3], "#/answer/q/1", "number.type", "is true", id="a truth"),
        pytest.param(
            [[1], [2, 3]], "#/answer/q", "answer.shape", "2 rows of different lengths", id="ragged"
        ),
        pytest.param(np.ones(4), "#/answer/q", "answer.shape", "has 4 numbers; 3", id="too long"),
        pytest.param(np.ones((4, 1)), "#/answer/q", "answer.shape", "4 × 1 matrix", id="a column"),
        pytest.param(1.0, "#/answer/q", "answer.shape", "a single number", id="a number"),
        pytest.param({"x": 1}, "#/answer/q", "number.type", "an object", id="an object"),
        pytest.param(
            [2**53 + 1, 0, 0], "#/answer/q/0", "number.precision", "too large", id="large integer"
        ),
        pytest.param([], "#/answer/q", "answer.empty", "is empty", id="empty"),
        pytest.param(np.ones((2, 2, 2, 2, 2)), "#/answer/q", "answer.shape", "nesting", id="deep"),
        pytest.param(object(), "#/answer/q", "number.type", "of the type object", id="anything"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_at_its_place(
    sent: object, pointer: str, code: str, says: str
) -> None:
    with pytest.raises(ClientError) as refused:
        prepare_answer({"q": sent}, [VECTOR])

    (place,) = refused.value.places
    assert (place.pointer, place.code, refused.value.code) == (pointer, code, code)
    assert says in place.detail
    assert refused.value.detail == f"{place.detail} Nothing was sent."


def test_an_endless_list_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)

    with pytest.raises(ClientError, match="levels of nesting"):
        prepare_answer({"q": endless}, [VECTOR])


def test_all_places_are_told_at_once() -> None:
    with pytest.raises(ClientError) as refused:
        prepare_answer(
            {"K": [[1, np.nan, 3], [4, 5, np.inf]], "x": 1}, [VECTOR, MATRIX, field("t", "text")]
        )

    assert [each.pointer for each in refused.value.places] == [
        "#/answer/x", "#/answer/q", "#/answer/K/0/1", "#/answer/K/1/2",
    ]  # fmt: skip
    assert str(refused.value) == (
        "4 parts of the answer must change. Nothing was sent.\n"
        "\n"
        "  #/answer/x\n"
        "    This question has no field x. Its fields: q, K, t.\n"
        "\n"
        "  #/answer/q\n"
        "    q is missing.\n"
        "    expected  a column vector of 3 numbers, as numbers or as a formula\n"
        "\n"
        "  #/answer/K/0/1\n"
        "    K, row 1, entry 2 is NaN, which is not a number; write a plain number such as 0.25.\n"
        "    expected  a finite number\n"
        "    got       NaN\n"
        "\n"
        "  #/answer/K/1/2\n"
        "    K, row 2, entry 3 is infinite or beyond 1.8e308; write a finite number such as 1e6.\n"
        "    expected  a finite number\n"
        "    got       infinity\n"
        "\n"
        "(field.unknown)"
    )


def test_formulas_choices_and_text_are_sent_as_they_are() -> None:
    fields = [
        VECTOR,
        field("which", "choice", None, "one", "two"),
        field("some", "several", None, "one", "two", "three"),
        field("why", "text"),
        field("later", "text"),
    ]
    ready = prepare_answer(
        {"q": "40 mu_a", "which": "one", "some": {"two", "one"}, "why": "Darum.", "later": None},
        fields,
    )

    assert ready.formulas == {"q"}
    assert ready.answer == {
        "q": "40 mu_a", "which": "one", "some": ["one", "two"], "why": "Darum.",
    }  # fmt: skip
    numbers = prepare_answer({**ready.answer, "q": [1, 2, 3]}, fields)
    assert build_reading(numbers, fields).not_sent == ("later",)
    with pytest.raises(ClientError, match="which must be one of: one, two"):
        prepare_answer({"q": [1, 2, 3], "which": "tow", "some": []}, fields)


def test_a_bad_answer_never_leaves_the_notebook(running: Running) -> None:
    with run_proxy(running.port) as proxy, running.client(address=proxy.address) as g:
        with pytest.raises(ClientError, match="7 are needed"):
            g.submit("3b", q=[1, 2, 3])
        with pytest.raises(ClientError, match="entry 1 is NaN"):
            g.check("3b", q=np.full(7, np.nan))

    assert [each.split()[0] for each in proxy.requests] == [b"GET"]


@pytest.mark.parametrize(
    "answer",
    [
        {"q": [1, 2, 3]},
        {"q": [[1], [2, 3]]},
        {"q": 1.5},
        {"q": [1, "x", 3, 4, 5, 6, True], "Q": 1},
        {"explanation": "no query"},
        {"q": [1, 2, 3, 4, 5, 6, 7], "explanation": 5},
        {"q": "40 k_a", "z": 1},
    ],
)
def test_client_and_service_refuse_alike(running: Running, g: Client, answer: Any) -> None:
    with pytest.raises(ClientError) as here:
        g.check("3b", answer)
    question = g.question("3b")
    # A client that knows no field cannot object to anything.
    path = f"{g._path(question.id)}/check"
    with pytest.raises(ClientError) as there:
        g._transport.send(ApiRequest("POST", path, json.dumps({"answer": answer}).encode()))

    assert here.value.places == there.value.places
    assert here.value.code == there.value.code
