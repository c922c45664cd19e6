"""What the reader of rubric files accepts, what it refuses, and how it says so."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import FileLocation, RubricError, RubricErrors
from grader.rubric.document import MAX_BYTES, MAX_DEPTH, make_error, read_document
from tests.support.growth import is_proportional


def read(text: str) -> Any:
    return read_document(text, file="q.yaml").data


def errors_of(act: Callable[[], Any]) -> list[RubricError]:
    """Return the mistakes an action is refused for, none if it is done."""
    try:
        act()
    except RubricErrors as refused:
        return refused.errors
    return []


def refusals(act: Callable[[], Any]) -> list[str]:
    """Return the messages an action is refused with, one per mistake."""
    return [str(error) for error in errors_of(act)]


def read_refusals(text: str) -> list[str]:
    return refusals(lambda: read(text))


# ---- Scalars ------------------------------------------------------------------------------------

SCALARS = [
    pytest.param("true", True, id="true"),
    pytest.param("false", False, id="false"),
    pytest.param("null", None, id="null"),
    pytest.param("~", None, id="a tilde"),
    pytest.param("", None, id="nothing"),
    pytest.param("0", 0, id="zero"),
    pytest.param("-12", -12, id="a negative integer"),
    pytest.param("9" * 18, 10**18 - 1, id="the longest integer"),
    pytest.param("0.02", 0.02, id="a decimal"),
    pytest.param("2.", 2.0, id="a decimal without digits after the point"),
    pytest.param(".5", 0.5, id="a decimal without digits before the point"),
    pytest.param("-.5", -0.5, id="a negative decimal without digits before the point"),
    pytest.param("1e-3", 1e-3, id="an exponent"),
    pytest.param("1e6", 1e6, id="an exponent makes a float"),
    pytest.param("-2.5E+3", -2500.0, id="a signed exponent"),
    pytest.param("0e9", 0.0, id="zero with an exponent"),
    pytest.param("n", "n", id="n is a name"),
    pytest.param("Y", "Y", id="y is a name"),
    pytest.param("softmax(k q)", "softmax(k q)", id="a formula"),
    pytest.param("40 (mu_a + mu_b)", "40 (mu_a + mu_b)", id="a formula that begins with a number"),
    pytest.param("1/2", "1/2", id="a fraction"),
    pytest.param("-x", "-x", id="a formula that begins with a minus"),
    pytest.param("v_1", "v_1", id="an index"),
    pytest.param("nan", "nan", id="the word nan"),
    pytest.param("2025-10-20", "2025-10-20", id="a date"),
    pytest.param("2025-10-20 23:59", "2025-10-20 23:59", id="a date and time"),
    pytest.param("2025-10-20T23:59:00Z", "2025-10-20T23:59:00Z", id="an ISO date and time"),
    pytest.param("1.2.3", "1.2.3", id="a version"),
    pytest.param("'no'", "no", id="a quoted trap"),
    pytest.param('"0x1F"', "0x1F", id="a quoted hexadecimal number"),
    pytest.param('"3"', "3", id="a quoted number"),
    pytest.param("''", "", id="a quoted nothing"),
    pytest.param("|-\n  1e-3", "1e-3", id="a literal block"),
    pytest.param(">-\n  yes", "yes", id="a folded block"),
    pytest.param("\N{GREEK SMALL LETTER MU} \U0001f600", "\u03bc \U0001f600", id="beyond ASCII"),
]


@pytest.mark.parametrize(("written", "meant"), SCALARS)
def test_a_scalar_means_what_it_says(written: str, meant: Any) -> None:
    value = read(f"x: {written}\n")["x"]

    assert value == meant
    assert type(value) is type(meant)


TRAPS = [
    *(pytest.param(word, "true or false", id=word) for word in ("yes", "No", "ON", "off", "True")),
    pytest.param("NULL", "read it as empty", id="NULL"),
    pytest.param("1:30", "seconds", id="a sexagesimal"),
    pytest.param("12:30:45.5", "seconds", id="a long sexagesimal"),
    pytest.param("010", "extra zeros", id="a leading zero"),
    pytest.param("-007.5", "extra zeros", id="leading zeros of a decimal"),
    pytest.param("0x1F", "decimal digits", id="hexadecimal"),
    pytest.param("0o7", "decimal digits", id="octal"),
    pytest.param("0b1", "decimal digits", id="binary"),
    pytest.param("1_000", "no + or _", id="an underscore"),
    pytest.param("1_0.5", "no + or _", id="an underscore in a decimal"),
    pytest.param("+5", "no + or _", id="a plus sign"),
    pytest.param("+.5", "no + or _", id="a plus sign before a decimal"),
    pytest.param(".nan", "finite", id="not a number"),
    pytest.param("-.INF", "finite", id="infinity"),
    pytest.param("1e999", "too large", id="a number that becomes infinite"),
    pytest.param("1e-999", "too small", id="a number that becomes zero"),
    pytest.param("1" + "0" * 18, "at most 18 digits", id="an integer too long for a machine"),
    pytest.param("9" * 5000, "at most 18 digits", id="an integer too long for Python"),
]


@pytest.mark.parametrize(("written", "reason"), TRAPS)
def test_a_scalar_that_readers_disagree_about_is_refused(written: str, reason: str) -> None:
    (message,) = read_refusals(f"a:\n- x: {written}\n")

    assert message.startswith("q.yaml:2:6: a.1.x: ")
    assert reason in message


@pytest.mark.parametrize(("written", "reason"), TRAPS)
def test_a_trap_is_refused_as_a_key_and_inside_brackets(written: str, reason: str) -> None:
    (as_key,) = read_refusals(f"? {written}\n: 1\n")
    (inside,) = read_refusals(f"x: [{written}]\n")

    assert reason in as_key
    assert reason in inside


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_is_read_as_python_writes_it(value: float) -> None:
    read_value = read(f"x: {value!r}")["x"]

    assert read_value == value
    assert math.copysign(1, read_value) == math.copysign(1, value)


# ---- Documents ----------------------------------------------------------------------------------

REFUSED = [
    pytest.param("", "q.yaml:1:1: the file is empty", id="empty"),
    pytest.param("# only a comment\n", "q.yaml:2:1: the file is empty", id="only a comment"),
    pytest.param("---\n", "q.yaml:2:1: the file must be a mapping, but it is empty", id="null"),
    pytest.param("- a\n", "q.yaml:1:1: the file must be a mapping, but it is a list", id="list"),
    pytest.param(
        "just text\n", "q.yaml:1:1: the file must be a mapping, but it is text", id="text"
    ),
    pytest.param("a: 1\n---\nb: 2\n", "q.yaml:2:1: a file must have only one document", id="two"),
    pytest.param(
        "a: 1\nb: {c: 1, c: 2}\n",
        "q.yaml:2:11: b.c: this key is already in line 2",
        id="a duplicate key",
    ),
    pytest.param(
        '30: a\n"30": b\n',
        "q.yaml:2:1: 30: this key is already in line 1",
        id="a number and a text as the same key",
    ),
    pytest.param("a: &x 1\n", "q.yaml:1:4: a: anchors (&) are not allowed", id="an anchor"),
    pytest.param(
        "a: *x\n", "q.yaml:1:4: a: aliases (*) are not allowed; write it out", id="an alias"
    ),
    pytest.param("? *x\n: 1\n", "q.yaml:1:3: a key must be text", id="an alias as a key"),
    *(
        pytest.param(
            f"a: {tagged}\n",
            "q.yaml:1:4: a: tags (!) are not allowed; text is put in quotes",
            id=tagged,
        )
        for tagged in ("!!python/object/apply:os.system [ls]", "!foo {}", "!!str 3", "! 3", "!!set")
    ),
    pytest.param(
        "!foo a: 1\n",
        "q.yaml:1:1: a: tags (!) are not allowed; text is put in quotes",
        id="a tagged key",
    ),
    pytest.param(
        "a: {<<: {b: 1}}\n",
        "q.yaml:1:5: a.<<: merge keys are not allowed; write it out",
        id="a merge key",
    ),
    pytest.param("true: 1\n", "q.yaml:1:1: true: a key must be text; put it in quotes", id="true"),
    pytest.param("~: 1\n", "q.yaml:1:1: ~: a key must be text; put it in quotes", id="null key"),
    pytest.param("? [a]\n: 1\n", "q.yaml:1:3: a key must be text", id="a list as a key"),
    pytest.param("x: {{n}: 1}\n", "q.yaml:1:5: x: a key must be text", id="a mapping as a key"),
    pytest.param(
        "a:\n\tb: 1\n", "q.yaml:2:1: a tab is not allowed here; indent with spaces", id="a tab"
    ),
    pytest.param(
        "\u03bc: \u03bc\na: @x\n",
        "q.yaml:2:4: a value cannot begin with this character; put the text in quotes",
        id="a reserved character",
    ),
    pytest.param(
        "title: Part one: keys\n",
        "q.yaml:1:16: a ':' is not allowed here; if it is part of a text, put the text in quotes",
        id="a colon in a text",
    ),
    pytest.param(
        'a: "b\nc: d\n',
        "q.yaml:3:1: found unexpected end of stream, "
        "while scanning a quoted scalar that begins in line 1",
        id="a quote left open",
    ),
    pytest.param("a: 1\nb: x\0y\n", "q.yaml:2:5: the character U+0000 is not allowed", id="NUL"),
    pytest.param("a: \x1b[0m\n", "q.yaml:1:4: the character U+001B is not allowed", id="escape"),
    pytest.param("a: \ud800\n", "q.yaml:1:4: the character U+D800 is not allowed", id="surrogate"),
    pytest.param("a: \u2028b\n", "q.yaml:1:4: the character U+2028 is not allowed", id="line end"),
    pytest.param(
        'a: "x\\0"\n', "q.yaml:1:4: a: the character U+0000 is not allowed", id="an escaped NUL"
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_text_outside_the_strict_subset_is_refused(text: str, message: str) -> None:
    assert read_refusals(text) == [message]


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = "a: &x yes\nb: {c: 010, c: 1}\nd: !t 1\ne: [1\n"

    assert [message.split(": ")[0] for message in read_refusals(text)] == [
        "q.yaml:1:4",
        "q.yaml:1:4",
        "q.yaml:2:8",
        "q.yaml:2:13",
        "q.yaml:3:4",
        "q.yaml:5:1",
    ]


def test_keys_are_text_however_they_look() -> None:
    assert read('30: "3"\n50.5: "4"\nn: 1\na, b: 2\n"<<": 3\n"no": 4\n') == {
        "30": "3",
        "50.5": "4",
        "n": 1,
        "a, b": 2,
        "<<": 3,
        "no": 4,
    }


def test_a_byte_order_mark_in_front_is_ignored() -> None:
    document = read_document("\ufeffa: 1\n", file="q.yaml")

    assert document.data == {"a": 1}
    assert document.keys["a",] == FileLocation("q.yaml", 1, 1)


def test_a_document_knows_the_places_of_its_values_and_keys() -> None:
    document = read_document("id: x\nlevels:\n  - within: 1\n    credit:\n  - 2\n", file="q.yaml")

    assert document.data == {"id": "x", "levels": [{"within": 1, "credit": None}, 2]}
    assert {path: (place.line, place.column) for path, place in document.places.items()} == {
        (): (1, 1),
        ("id",): (1, 5),
        ("levels",): (3, 3),
        ("levels", 0): (3, 5),
        ("levels", 0, "within"): (3, 13),
        ("levels", 0, "credit"): (4, 12),
        ("levels", 1): (5, 5),
    }
    assert document.keys["levels", 0, "within"] == FileLocation("q.yaml", 3, 5)


def test_nesting_is_read_up_to_its_limit() -> None:
    inner = MAX_DEPTH - 1

    assert read(f"x: {'[' * inner}{']' * inner}")["x"] is not None
    assert "nested deeper" in read_refusals(f"x: {'[' * (inner + 1)}{']' * (inner + 1)}")[0]


def test_a_text_is_read_up_to_its_limit_in_bytes() -> None:
    assert read("a: " + "x" * (MAX_BYTES - 3))
    assert "larger than 256 KiB" in read_refusals("a: " + "x" * (MAX_BYTES - 2))[0]
    assert "larger than 256 KiB" in read_refusals("a: " + "\u03bc" * (MAX_BYTES // 2))[0]


def laugh(size: int) -> str:
    """Lists of lists, each nine times as long as the one before when it is written out."""
    lines = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, size // 8_700)]
    return "".join(["a0: &a0 [x, x]\n", *lines])


#: How a text of some bytes is made.
BOMBS = [
    pytest.param(laugh, id="a billion laughs"),
    pytest.param(lambda size: "[" * size, id="nothing but opening brackets"),
    pytest.param(lambda size: "{a: " * (size // 4), id="nothing but opening braces"),
    pytest.param(lambda size: "- " * (size // 2), id="nothing but dashes"),
    pytest.param(lambda size: "? " * (size // 2), id="nothing but question marks"),
    pytest.param(lambda size: "a: " + "1" * (size - 3), id="an endless integer"),
    pytest.param(lambda size: "a: " + "1_" * (size // 2 - 2), id="an endless trap"),
    pytest.param(lambda size: "a: " + "1:1" * (size // 3 - 1), id="an endless near-trap"),
    pytest.param(lambda size: "a: 0." + "0" * (size - 5), id="an endless fraction"),
    pytest.param(lambda size: "a: [" + "&a x, " * (size // 6 - 1) + "]", id="very many mistakes"),
]


@pytest.mark.parametrize("make_text", BOMBS)
def test_a_hostile_text_is_dealt_with_fast(make_text: Callable[[int], str]) -> None:
    def read_or_refuse(text: str) -> None:
        with suppress(RubricErrors):
            read(text)

    assert is_proportional(read_or_refuse, make_text, MAX_BYTES)


MARKS = [*"abn01e.~#,[]{}'\"\\\n\t\r :", ": ", "- ", "? ", "\n  ", "|\n", ">\n", "---\n", "...\n"]
TRICKS = ["&x ", "*x", "!t ", "!!str ", "<<", "%YAML 1.1\n", "\\0", "\\UFFFFFFFF", "1e999", "yes"]
YAML_PIECES = st.sampled_from([*MARKS, *TRICKS])
ANY_TEXT = st.one_of(
    st.text(),
    st.text(st.characters(exclude_categories=[])),
    st.lists(YAML_PIECES, max_size=30).map("".join),
    st.lists(YAML_PIECES, max_size=30).map(lambda pieces: "a: " + "".join(pieces)),
)


def is_plain(value: Any) -> bool:
    match value:
        case dict():
            return all(type(key) is str and is_plain(inner) for key, inner in value.items())
        case list():
            return all(map(is_plain, value))
        case float():
            return math.isfinite(value)
        case _:
            return value is None or type(value) in (str, int, bool)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    match value:
        case dict():
            return {path}.union(*(paths(value[key], (*path, key)) for key in value))
        case list():
            return {path}.union(*(paths(inner, (*path, i)) for i, inner in enumerate(value)))
        case _:
            return {path}


@given(ANY_TEXT)
def test_any_text_is_read_or_refused_with_places(text: str) -> None:
    for error in errors_of(lambda: read(text)):
        assert error.place.line >= 1
        assert error.place.column >= 1


@given(ANY_TEXT)
def test_what_is_read_is_plain_data_with_all_its_places(text: str) -> None:
    with suppress(RubricErrors):
        document = read_document(text, file="q.yaml")
        assert isinstance(document.data, dict)
        assert is_plain(document.data)
        assert set(document.places) == paths(document.data)


@pytest.mark.parametrize(
    ("path", "at_key", "told"),
    [
        pytest.param(("a", 1, "b"), False, "q.yaml:3:8: a.2.b: wrong", id="a value"),
        pytest.param(("a", 1, "b"), True, "q.yaml:3:5: a.2.b: wrong", id="a key"),
        pytest.param(("a", 1), True, "q.yaml:3:5: a.2: wrong", id="a list entry has no key"),
        pytest.param(("a", 1, "c", 0), False, "q.yaml:3:5: a.2.c.1: wrong", id="not there"),
        pytest.param((), False, "q.yaml:1:1: wrong", id="the whole file"),
    ],
)
def test_an_error_points_at_the_closest_known_place(
    path: tuple[str | int, ...], at_key: bool, told: str
) -> None:
    document = read_document("a:\n  - x\n  - b: 1\n", file="q.yaml")

    assert str(make_error(document, path, "wrong", at_key=at_key)) == told
