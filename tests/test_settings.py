"""Settings: what cannot be right is refused before anything starts, with a sentence."""

from __future__ import annotations

import pytest

from grader.errors import OperatorError
from grader.settings import load_settings


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GRADER_TRUSTED_PROXIES", "GRADER_HOST"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("host", "given", "trusted"),
    [
        pytest.param("127.0.0.1", "", ["127.0.0.1", "::1"], id="loopback"),
        pytest.param("::1", "", ["127.0.0.1", "::1"], id="loopback of IPv6"),
        pytest.param("localhost", "", ["127.0.0.1", "::1"], id="loopback by name"),
        pytest.param("0.0.0.0", "", [], id="everywhere"),  # Nothing listens here.
        pytest.param("::", "", [], id="everywhere with IPv6"),
        pytest.param("grader.example.edu", "", [], id="a name"),
        pytest.param("127.0.0.1", "10.0.0.5", ["10.0.0.5"], id="one, instead of those by default"),
        pytest.param(
            "::", "10.0.0.5, 10.1.0.0/16,fd00::/8,", ["10.0.0.5", "10.1.0.0/16", "fd00::/8"],
            id="several",
        ),
    ],
)  # fmt: skip
def test_proxies_are_trusted_if_they_are_named_or_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, host: str, given: str, trusted: list[str]
) -> None:
    monkeypatch.setenv("GRADER_HOST", host)
    monkeypatch.setenv("GRADER_TRUSTED_PROXIES", given)

    assert load_settings().proxies == trusted


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param("*", "* would trust everybody", id="everybody"),
        pytest.param("0.0.0.0/0", "0.0.0.0/0 is every address", id="every address"),
        pytest.param("10.0.0.5, ::/0", "::/0 is every address", id="every address of IPv6"),
        pytest.param("proxy.example.edu", "not an address or a network", id="a name"),
        pytest.param("10.0.0", "not an address or a network", id="too short"),
        pytest.param("10.0.0.5/8", "the network is 10.0.0.0/8", id="an address in a network"),
        pytest.param("unix:/run/x.sock", "not an address or a network", id="a socket"),
    ],
)
def test_what_cannot_be_a_proxy_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, given: str, said: str
) -> None:
    monkeypatch.setenv("GRADER_TRUSTED_PROXIES", given)

    with pytest.raises(OperatorError) as refused:
        load_settings()

    assert "GRADER_TRUSTED_PROXIES: " in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("grader.example.edu", "https://"),
        ("ftp://grader.example.edu", "https://"),
        ("javascript:alert(1)", "https://"),
        ("https://ada:secret@grader.example.edu", "no user and no password"),
        ("https://grader.example.edu/grader", "no path, query or fragment"),
        ("https://grader.example.edu?a=b", "no path, query or fragment"),
        ("https://grader.example.edu#", "no path, query or fragment"),
        ("https://", "Its host"),
        ("https://grader example.edu", "Its host"),
        ("https://bücher.example", "ASCII"),
        ("https://grader.example.edu:port", "no URL"),
        ("https://grader.example.edu:99999", "no URL"),
        ("https://[::1", "no URL"),
    ],
)
def test_a_url_that_browsers_cannot_use_is_refused(
    monkeypatch: pytest.MonkeyPatch, value: str, said: str
) -> None:
    monkeypatch.setenv("GRADER_BASE_URL", value)

    with pytest.raises(OperatorError, match=r"^GRADER_BASE_URL: It") as refused:
        load_settings()

    assert said in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("https://grader.example.edu/", "https://grader.example.edu"),
        ("HTTPS://Grader.Example.edu:443", "https://grader.example.edu"),
        ("http://grader.example.edu:443", "http://grader.example.edu:443"),
        ("http://[2001:DB8::1]:8000", "http://[2001:db8::1]:8000"),
        ("", ""),
    ],
)
def test_a_url_is_read_as_browsers_write_it(
    monkeypatch: pytest.MonkeyPatch, value: str, read: str
) -> None:
    monkeypatch.setenv("GRADER_BASE_URL", value)

    assert load_settings().base_url == read


@pytest.mark.parametrize(
    "value",
    [
        "keyset.sqlite",
        "sqlite://",
        "sqlite:///",
        "mysql://u:secret@host/db",
        "postgresql:u:secret@host",
        "postgresql://u:secret@host",
        "postgresql://u:secret@host/",
    ],
)
def test_an_address_that_names_no_database_is_refused(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("GRADER_DATABASE_URL", value)

    with pytest.raises(OperatorError, match=r"^GRADER_DATABASE_URL: It must be sqlite") as refused:
        load_settings()

    assert "secret" not in str(refused.value)
