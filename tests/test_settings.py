"""Settings: which proxies are trusted, and what is refused at the start."""

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
