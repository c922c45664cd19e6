"""Settings: what cannot be right is refused before anything starts, with a sentence."""

from __future__ import annotations

import pytest

from grader.errors import OperatorError
from grader.settings import load_settings


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
