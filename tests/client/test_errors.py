"""Everything that goes wrong is told in plain words, and never tells a secret."""

from __future__ import annotations

import json
import traceback
from typing import Any

import pytest

from grader.client import Client, ClientError, Patience
from tests.support.live_service import Running
from tests.support.proxies import answer, run_proxy

NO_WAITING = Patience(sleep=lambda seconds: None)


def test_a_token_that_is_not_accepted_is_told_in_plain_words(running: Running) -> None:
    with running.client("keyset_of-nobody") as g, pytest.raises(ClientError) as refused:
        g.question("3b")

    assert str(refused.value).startswith(
        "The token was not accepted: This token is unknown, was revoked, or has expired."
    )
    assert (refused.value.status, refused.value.code) == (401, "caller.unknown")


def test_a_formula_is_refused_with_its_column_and_a_hint(g: Client) -> None:
    with pytest.raises(ClientError) as refused:
        g.submit("3b", q="40 (k_a + C k_b)")

    assert str(refused.value).replace(refused.value.request_id, "ID") == (
        "q, column 11: C is not known here. No attempt was used.\n"
        "\n"
        "  #/answer/q, column 11\n"
        "    expected  a formula that gives a column vector of 7 numbers\n"
        "    hint      If C is your own constant, declare it: … where C >> 0 for any large value,\n"
        "              or give its value. You may use k_a, k_b, k, n, d, I.\n"
        "\n"
        "(formula.unknown, request ID)"
    )
    assert g.attempts("3b") == ()


def test_what_is_not_there_is_told_with_its_address(g: Client) -> None:
    with pytest.raises(ClientError) as refused:
        g.submit("3z", q=1)

    assert "/questions/3z)" in refused.value.detail
    assert refused.value.code == "not_found"


def test_names_cannot_lead_to_another_address(g: Client) -> None:
    for name in ("3b/attempts", "../3b", "..", "3b?x=1", "3b#x", "", "3b%2Fattempts"):
        with pytest.raises(ClientError, match="is not a valid id"):
            g.question(name)
        with pytest.raises(ClientError, match="is not a valid id"):
            g.attempt(name)

    assert g.question("attention-exploration/3b").id == "3b"


def test_a_parameter_out_of_range_is_told_with_its_place(g: Client) -> None:
    with pytest.raises(ClientError, match="at most 400") as refused:
        g.practice("3c-i", count=100_000)

    assert refused.value.places[0].pointer == "#query/count"


@pytest.mark.parametrize(
    "address",
    ["localhost:8000", "ftp://localhost", "", "http://", "http://localhost:99999", "http://[::1"],
)
def test_an_address_that_is_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(
        ClientError, match=r"The address of the service (must look like|is missing)"
    ):
        Client(address, token="keyset_x", environment={})


@pytest.mark.parametrize("token", ["two words", "keyset_ä", "line\nbreak", " "])
def test_a_token_that_cannot_be_one_is_refused_at_once(token: str) -> None:
    with pytest.raises(ClientError, match="This is not a token") as refused:
        Client("http://localhost", token=token)

    assert token.strip() == "" or token not in str(refused.value)


def test_address_and_token_come_from_the_environment_where_they_are_not_given(
    running: Running,
) -> None:
    environment = {"KEYSET": running.address + "/", "KEYSET_TOKEN": running.add_student() + "\n"}
    with Client(environment=environment) as g:
        assert g.courses()

    for missing, says in [("KEYSET", "address of the service"), ("KEYSET_TOKEN", "token")]:
        rest = {name: value for name, value in environment.items() if name != missing}
        with pytest.raises(ClientError, match=f"The {says} is missing: .* set {missing}"):
            Client(environment=rest)


@pytest.mark.parametrize(
    ("names", "says"),
    [(["one", "two"], "Choose with course=…: one, two."), ([], "not enrolled in any course")],
)
def test_which_course_is_meant_must_be_clear(running: Running, names: list[str], says: str) -> None:
    courses = [{"id": name, "title": name, "role": "student"} for name in names]
    with run_proxy(running.port) as proxy, running.client(address=proxy.address, course=None) as g:
        proxy.plan[:] = [answer("200 OK", body=json.dumps(courses).encode())]
        with pytest.raises(ClientError, match=says):
            g.standing()


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(answer("401 No", body=b'{"code": "caller.unknown"}'), id="not accepted"),
        pytest.param(answer("500 Oops", body=b"<html>"), id="a defect"),
        pytest.param(answer("502 Bad Gateway"), id="away"),
        pytest.param(answer("200 OK", body=b"[]"), id="another list"),
        pytest.param(answer("200 OK", body=b'{"id": 1}'), id="another object"),
        pytest.param(answer("200 OK", body=b"\xff\xfe"), id="no text"),
        pytest.param(answer("301 Moved", "Location: https://grader.example.edu/"), id="moved"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n\r\n", id="not HTTP"),
    ],
)
def test_whatever_answers_no_secret_is_told(running: Running, fault: bytes) -> None:
    token = running.add_student()
    with run_proxy(running.port) as proxy:
        g = running.client(token, address=proxy.address, patience=NO_WAITING)
        proxy.plan[:] = [fault] * 20
        with g, pytest.raises(ClientError) as refused:
            g.question("3b")

    told = "".join(traceback.format_exception(refused.value))
    for text in (told, repr(refused.value), repr(g), repr(vars(refused.value))):
        assert token not in text
    assert _secrets(g, token) == []
    assert refused.value.__cause__ is None


def _secrets(thing: Any, token: str) -> list[str]:
    """The attributes of our own objects whose repr tells the token."""
    own = [*vars(thing).values(), *vars(thing._transport).values()]
    return [repr(each) for each in own if token in repr(each)]


def test_an_address_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(ClientError) as refused:
        Client("https://ada:hunter2@example.edu", token="keyset_x")

    assert "hunter2" not in f"{refused.value} {vars(refused.value)}"


def test_a_token_is_not_sent_to_where_a_redirect_leads(running: Running) -> None:
    with run_proxy(running.port) as elsewhere, run_proxy(running.port) as proxy:
        proxy.plan[:] = [answer("302 Found", f"Location: {elsewhere.address}/api/v1/courses")]
        with running.client(address=proxy.address) as g, pytest.raises(ClientError) as refused:
            g.courses()

    assert elsewhere.requests == []
    assert elsewhere.address in refused.value.detail


def test_members_that_are_new_do_no_harm(running: Running) -> None:
    body = b'[{"id": "demo", "title": "Demo", "role": "student", "colour": "blue"}]'
    with run_proxy(running.port) as proxy, running.client(address=proxy.address) as g:
        proxy.plan[:] = [answer("200 OK", body=body)]

        assert [each.id for each in g.courses()] == ["demo"]
