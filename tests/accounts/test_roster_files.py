"""Reading rosters: what people export from anywhere, and what nobody should send."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.accounts.roster_files import Roster, RosterLine, decode_roster, read_roster
from grader.domain.roles import Role
from grader.errors import MalformedRequest


def refusal_of(text: str) -> MalformedRequest:
    with pytest.raises(MalformedRequest) as caught:
        read_roster(text)
    return caught.value


def pointers_of(text: str) -> list[str]:
    return [each.pointer for each in refusal_of(text).faults]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("login,name,role\nada,Ada Lovelace,assistant\n", id="commas"),
        pytest.param("login;name;role\nada;Ada Lovelace;assistant\n", id="semicolons"),
        pytest.param("login\tname\trole\nada\tAda Lovelace\tassistant\n", id="tabs"),
        pytest.param("\ufefflogin,name,role\r\nada,Ada Lovelace,assistant\r\n", id="from a sheet"),
        pytest.param("login,name,role\rada,Ada Lovelace,assistant", id="old line ends"),
        pytest.param("Role, NAME ,Login\nAssistant, Ada Lovelace ,ada\n", id="other order"),
        pytest.param('"login","name","role"\n"ada","Ada Lovelace","assistant"', id="quotes"),
        pytest.param("login,name,role\n\n,,\nada,Ada Lovelace,assistant\n\n", id="empty lines"),
    ],
)
def test_a_roster_is_read_however_it_was_saved(text: str) -> None:
    (line,) = read_roster(text).lines

    assert (line.login, line.name, line.role) == ("ada", "Ada Lovelace", Role.ASSISTANT)
    assert (line.email, line.section) == (None, None)


def test_what_a_file_does_not_say_is_left_open() -> None:
    roster = read_roster("login,name,email,role,section\nada,Ada,,,\nbob,Bob\n")

    assert roster.lines == (
        RosterLine(2, "ada", "Ada", None, None, ""),
        RosterLine(3, "bob", "Bob", None, None, ""),
    )


def test_columns_that_mean_nothing_are_told() -> None:
    assert read_roster("login,name,Shoe size\nada,Ada,38\n").unused == ("shoe size",)


def test_letters_of_two_spellings_are_one_login() -> None:
    assert pointers_of("login,name\nre\u0301ne,René\nr\u00e9ne,René\n") == ["#/csv/3/login"]


@pytest.mark.parametrize("name", ["=1+1", "@SUM(A1)", "+1", "-1", "=cmd|' /C calc'!A0"])
def test_a_name_that_looks_like_a_formula_stays_text(name: str) -> None:
    assert read_roster(f'login,name\nada,"{name}"\n').lines[0].name == name


@pytest.mark.parametrize(
    "name", ["می‌خواهم", "O’Brien", "Łukasz", "Nguyễn Thị Minh", "李 雷", "X Æ A-12"]
)
def test_names_of_many_scripts_are_taken(name: str) -> None:
    assert read_roster(f"login,name\nada,{name}\n").lines[0].name == name


HOSTILE = [
    pytest.param("", ["#/csv/1", "#/csv/1"], id="nothing"),
    pytest.param("\n\n", ["#/csv/1", "#/csv/1"], id="empty lines only"),
    pytest.param("login,name\n", ["#/csv"], id="nobody"),
    pytest.param("ada,Ada Lovelace\n", ["#/csv/1", "#/csv/1"], id="no headings"),
    pytest.param("login,email\nada,ada@x.edu\n", ["#/csv/1"], id="no names"),
    pytest.param("login,name,Login\nada,Ada,bob\n", ["#/csv/1"], id="a column twice"),
    pytest.param("login,name\nada,Ada\nada,Eve\n", ["#/csv/3/login"], id="a login twice"),
    pytest.param("login,name\nada,Ada\nADA,Eve\n", ["#/csv/3/login"], id="twice but for capitals"),
    pytest.param("login,name\nada,Lovelace, Ada\n", ["#/csv/2"], id="a comma without quotes"),
    pytest.param('login,name\nada,"Ada\nbob,Bob\n', ["#/csv/2"], id="a quote never closed"),
    pytest.param('login,name\nada,"Ada" Lovelace\n', ["#/csv/2"], id="text behind a quote"),
    pytest.param("login,name\nada,A\x00da\n", ["#/csv/2"], id="NUL"),
    pytest.param("login,name\nada,A\ud800da\n", ["#/csv/2"], id="half a surrogate pair"),
    pytest.param('login,name\nada,"Ada\nLovelace"\n', ["#/csv/2/name"], id="a line break quoted"),
    pytest.param("login,name\nada,Ada\x1b[2J\n", ["#/csv/2/name"], id="terminal codes"),
    pytest.param("login,name\nada,\u202eadA\n", ["#/csv/2/name"], id="text turned around"),
    pytest.param("login,name\na da,Ada\n", ["#/csv/2/login"], id="a space in a login"),
    pytest.param("login,name\na/da,Ada\n", ["#/csv/2/login"], id="a slash in a login"),
    pytest.param("login,name\n..,Ada\n", ["#/csv/2/login"], id="a login that is a path"),
    pytest.param("login,name\na\u200bda,Ada\n", ["#/csv/2/login"], id="an invisible space"),
    pytest.param(f"login,name\nenr_{'0' * 26},Ada\n", ["#/csv/2/login"], id="an identifier"),
    pytest.param(f"login,name\n{'a' * 101},Ada\n", ["#/csv/2/login"], id="a long login"),
    pytest.param(f"login,name\nada,{'A' * 201}\n", ["#/csv/2/name"], id="a long name"),
    pytest.param(f"login,name\nada,{'A' * 200_000}\n", ["#/csv/2"], id="a huge cell"),
    pytest.param("login,name\nada,\n", ["#/csv/2/name"], id="an empty name"),
    pytest.param("login,name\n,Ada\n", ["#/csv/2/login"], id="an empty login"),
    pytest.param("login,name,role\nada,Ada,operator\n", ["#/csv/2/role"], id="no such role"),
    pytest.param("login,name,email\nada,Ada,nowhere\n", ["#/csv/2/email"], id="no address"),
    pytest.param("login,name,section\nada,Ada,a\x07b\n", ["#/csv/2/section"], id="a bell"),
    pytest.param("x" * (4 * 2**20 + 1), ["#/csv"], id="over four MiB"),
    pytest.param("é" * (2 * 2**20 + 1), ["#/csv"], id="over four MiB in bytes"),
]


@pytest.mark.parametrize(("text", "pointers"), HOSTILE)
def test_a_roster_that_cannot_be_used_is_refused_at_its_place(
    text: str, pointers: list[str]
) -> None:
    refused = refusal_of(text)

    assert [each.pointer for each in refused.faults] == pointers
    assert refused.code == "roster.invalid"
    assert all(each.detail.isprintable() and each.detail.endswith(".") for each in refused.faults)


def test_all_faults_are_told_at_once() -> None:
    text = 'login,name,role\n,Ada,\nbob,"Bob\nthe second",\neve,Eve,boss\nada,Ada,student\n'

    assert pointers_of(text) == ["#/csv/2/login", "#/csv/3/name", "#/csv/5/role"]
    assert str(refusal_of(text)) == "The roster cannot be used; it has 3 errors."


def test_twenty_thousand_people_fit_and_one_more_does_not() -> None:
    lines = ["login,name", *(f"s{number},Student {number}" for number in range(20_001))]

    assert len(read_roster("\n".join(lines[:-1])).lines) == 20_000
    assert pointers_of("\n".join(lines)) == ["#/csv/20002"]


@pytest.mark.parametrize(
    ("sent", "line"),
    [
        pytest.param("login,name\nrené,René\n".encode("latin-1"), 2, id="Latin-1"),
        pytest.param("login,name\nada,Ada\n".encode("utf-16"), 1, id="UTF-16"),
    ],
)
def test_bytes_that_are_no_utf_8_are_refused_with_their_line(sent: bytes, line: int) -> None:
    with pytest.raises(MalformedRequest) as caught:
        decode_roster(sent)

    assert [each.pointer for each in caught.value.faults] == [f"#/csv/{line}"]


def test_too_many_bytes_are_refused_before_they_are_read() -> None:
    with pytest.raises(MalformedRequest, match="at most 4 MiB"):
        decode_roster(b"\xff" * (4 * 2**20 + 1))


def test_the_mark_of_a_sheet_is_no_part_of_a_column() -> None:
    assert read_roster(decode_roster(b"\xef\xbb\xbflogin,name\nada,Ada\n")).lines[0].login == "ada"


CELLS = st.text(st.sampled_from('ab,;\t"\n\r \x00é\ud800\u202e'), max_size=6)


@given(st.lists(st.lists(CELLS, max_size=4), max_size=4), st.sampled_from(",;\t"))
def test_no_text_raises_anything_but_a_refusal(rows: list[list[str]], separator: str) -> None:
    text = f"login{separator}name\n" + "\n".join(separator.join(row) for row in rows)
    roster = Roster(())
    with contextlib.suppress(MalformedRequest):
        roster = read_roster(text)

    assert len({line.login.casefold() for line in roster.lines}) == len(roster.lines)
