"""What happens when the network or the service fails: an answer counts once, or it is said."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from grader import __version__
from grader.client import Client, ClientError, Patience
from grader.client.transport import read_retry_after
from tests.support.live_service import Running
from tests.support.proxies import CUT, DROP, HANG, PASS, Proxy, answer, body, header, run_proxy

BUSY = answer("503 Service Unavailable", "Retry-After: 7", body=b"busy")
TOO_MANY = answer(
    "429 Too Many Requests",
    "Retry-After: 3",
    body=b'{"code": "rate.exceeded", "detail": "That was too fast."}',
)
RIGHT = "40 (k_a + k_b)"


@dataclass(slots=True)
class Time:
    """A clock that goes on only while somebody sleeps."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def patience(self, **options: Any) -> Patience:
        clock = {"monotonic": lambda: self.now, "sleep": self.sleep, "chance": lambda: 1.0}
        return Patience(**clock | options)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def proxy(running: Running) -> Iterator[Proxy]:
    with run_proxy(running.port) as started:
        yield started


@pytest.fixture
def g(running: Running, proxy: Proxy, time: Time) -> Iterator[Client]:
    client = running.client(address=proxy.address, patience=time.patience(), timeout_seconds=20)
    with client:
        client.question("3b")
        yield client


def at_sending(*steps: str | bytes) -> list[str | bytes]:
    """A plan for a formula, which is checked first."""
    return [PASS, *steps]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(CUT, id="the response is lost"),
        pytest.param(DROP, id="the request is lost"),
        pytest.param(BUSY, id="503"),
        pytest.param(TOO_MANY, id="429"),
        pytest.param(answer("502 Bad Gateway"), id="502"),
    ],
)
def test_an_answer_whose_result_was_lost_is_sent_again_and_counts_once(
    g: Client, proxy: Proxy, fault: str | bytes
) -> None:
    proxy.plan[:] = at_sending(fault, fault)

    result = g.submit("3b", q=RIGHT, quiet=True)

    assert (result.number, result.score, result.is_repeated) == (1, 8, False)
    assert [each.id for each in g.attempts("3b")] == [result.id]
    tries = proxy.posts()
    assert len(tries) == 3
    assert len({header(each, "Idempotency-Key") for each in tries}) == 1
    assert len({body(each) for each in tries}) == 1


def test_a_service_that_does_not_answer_in_time_is_asked_again(
    running: Running, proxy: Proxy, time: Time
) -> None:
    g = running.client(address=proxy.address, patience=time.patience(), timeout_seconds=0.5)
    g.question("3b")
    proxy.plan[:] = at_sending(HANG)

    with g:
        assert g.submit("3b", q=RIGHT, quiet=True).number == 1
        assert len(g.attempts("3b")) == 1


def test_every_answer_has_a_key_of_its_own(g: Client, proxy: Proxy) -> None:
    g.submit("3b", q="1 k_a", quiet=True)
    g.submit("3b", q="2 k_a", quiet=True)

    keys = [header(each, "Idempotency-Key") for each in proxy.posts()]
    assert None not in keys
    assert len(set(keys)) == 2


def test_after_the_last_try_it_is_not_known_whether_the_attempt_counts(
    g: Client, proxy: Proxy
) -> None:
    proxy.plan[:] = at_sending(*[CUT] * 6)

    with pytest.raises(ClientError) as caught:
        g.submit("3b", q=RIGHT, quiet=True)

    assert caught.value.is_unknown
    told = " ".join(str(caught.value).split())
    assert "was lost. Tried 6 times. It is not known whether the attempt counts." in told
    assert "resume()" in told
    assert len(proxy.posts()) == 6


@pytest.mark.parametrize("way", ["resume", "the same again"])
def test_what_is_not_known_is_settled_without_a_second_attempt(
    g: Client, proxy: Proxy, way: str
) -> None:
    proxy.plan[:] = at_sending(*[CUT] * 6)
    with pytest.raises(ClientError):
        g.submit("3b", q=RIGHT, quiet=True)

    result = g.resume(quiet=True) if way == "resume" else g.submit("3b", q=RIGHT, quiet=True)

    assert (result.number, result.attempts_left) == (1, 9)
    assert result.reading is not None
    assert len(g.attempts("3b")) == 1
    assert len({header(each, "Idempotency-Key") for each in proxy.posts()}) == 1


def test_there_is_nothing_to_resume_once_it_is_known(g: Client, proxy: Proxy) -> None:
    g.submit("3b", q=RIGHT, quiet=True)
    with pytest.raises(ClientError, match="nothing to send again"):
        g.resume()

    with pytest.raises(ClientError, match="to 3c-i"):
        g.submit("3c-ii", g.question("3c-ii").example, quiet=True)
    with pytest.raises(ClientError, match="nothing to send again"):
        g.resume()


def test_an_interrupted_answer_can_be_resumed(running: Running, proxy: Proxy, time: Time) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    g = running.client(address=proxy.address, patience=time.patience(sleep=interrupt))
    proxy.plan[:] = [PASS, PASS, CUT]
    with g:
        with pytest.raises(KeyboardInterrupt):
            g.submit("3b", q=RIGHT, quiet=True)

        assert g.resume(quiet=True).number == 1
        assert len(g.attempts("3b")) == 1


def test_what_certainly_did_not_arrive_is_known_not_to_count(g: Client, proxy: Proxy) -> None:
    proxy.plan[:] = at_sending(*[TOO_MANY] * 6)

    with pytest.raises(ClientError) as caught:
        g.submit("3b", q=RIGHT, quiet=True)

    assert "No attempt was used." in caught.value.detail
    assert not caught.value.is_unknown
    assert caught.value.code == "rate.exceeded"


def test_a_later_refusal_of_the_token_leaves_open_what_became_of_the_first_try(
    g: Client, proxy: Proxy
) -> None:
    refused = answer("401 Unauthorized", body=b'{"code": "caller.unknown", "detail": "Expired."}')
    proxy.plan[:] = at_sending(CUT, refused)

    with pytest.raises(ClientError, match="The token was not accepted: Expired") as caught:
        g.submit("3b", q=RIGHT, quiet=True)

    assert caught.value.is_unknown
    assert "No attempt was used" not in str(caught.value)


@pytest.mark.parametrize("status", ["200 OK", "201 Created", "500 Oops"])
def test_an_answer_that_is_not_from_keyset_settles_nothing(
    g: Client, proxy: Proxy, status: str
) -> None:
    proxy.plan[:] = at_sending(answer(status, body=b"<html>Log in to the campus network</html>"))

    with pytest.raises(ClientError, match="The response cannot be read") as caught:
        g.submit("3b", q=RIGHT, quiet=True)

    assert caught.value.is_unknown
    assert g.resume(quiet=True).number == 1


def test_a_defect_of_the_service_leaves_open_whether_the_attempt_counts(
    g: Client, proxy: Proxy
) -> None:
    defect = answer("500 Oops", body=b'{"code": "service.defect", "detail": "Our fault."}')
    proxy.plan[:] = at_sending(defect)

    with pytest.raises(ClientError, match=r"^Our fault\. It is not known") as caught:
        g.submit("3b", q=RIGHT, quiet=True)

    assert caught.value.is_unknown
    assert len(proxy.posts()) == 1


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "409 Conflict", "422 No"])
def test_a_refusal_is_never_tried_again(g: Client, proxy: Proxy, time: Time, status: str) -> None:
    refused = answer(status, "Retry-After: 1", body=b'{"code": "refused", "detail": "No."}')
    proxy.plan[:] = at_sending(refused)

    with pytest.raises(ClientError, match=r"^No\."):
        g.submit("3b", q=RIGHT, quiet=True)

    assert len(proxy.posts()) == 1
    assert time.slept == []


def test_waiting_doubles_and_is_never_shorter_than_the_service_asks(
    g: Client, proxy: Proxy, time: Time
) -> None:
    proxy.plan[:] = [DROP, DROP, BUSY, DROP, DROP]

    g.question("3b")

    assert time.slept == [0.5, 1.0, 7.0, 4.0, 8.0]


def test_waiting_varies_by_half(time: Time) -> None:
    waits = [
        time.patience(chance=lambda chance=chance: chance).wait_seconds(tried, None)
        for chance in (0.0, 1.0)
        for tried in (1, 3, 40)
    ]

    assert waits == [0.25, 1.0, 7.5, 0.5, 2.0, 15.0]


def test_waiting_is_bounded_also_where_the_service_asks_for_more(
    g: Client, proxy: Proxy, time: Time
) -> None:
    body = b'{"code": "service.unavailable", "detail": "Back tomorrow."}'
    proxy.plan[:] = [answer("503 Later", "Retry-After: 86400", body=body)]

    with pytest.raises(ClientError, match="asks to wait 86400 seconds") as caught:
        g.question("3b")

    assert caught.value.code == "service.unavailable"
    assert "counts" not in str(caught.value)
    assert time.slept == []


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("7", 7.0),
        (" 0 ", 0.0),
        ("Mon, 16 Nov 2026 12:00:30 GMT", 30.0),
        ("Mon, 16 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("²", None),
        ("9" * 5000, 999_999_999.0),
        (None, None),
    ],
)
def test_retry_after_is_read_in_seconds_or_as_a_time(
    said: str | None, seconds: float | None
) -> None:
    assert read_retry_after(said, date="Mon, 16 Nov 2026 12:00:00 GMT") == seconds


def test_who_waits_is_told_why(g: Client, proxy: Proxy, capsys: pytest.CaptureFixture[str]) -> None:
    proxy.plan[:] = [DROP, BUSY]
    g.question("3b")

    lost, busy = capsys.readouterr().out.splitlines()
    assert lost == f"The connection to {proxy.address} was lost. Trying again in 0.5 seconds."
    assert busy == f"{proxy.address} is busy or unavailable (503). Trying again in 7.0 seconds."


def test_nobody_there_is_told_with_the_address(time: Time, running: Running) -> None:
    g = running.client("keyset_x", address="http://127.0.0.1:1", patience=time.patience(tries=2))

    with g, pytest.raises(ClientError, match=r"http://127\.0\.0\.1:1 cannot be reached\. Tried"):
        g.courses()


def test_the_client_names_itself(g: Client, proxy: Proxy) -> None:
    assert {header(each, "User-Agent") for each in proxy.requests} == {f"keyset/{__version__}"}


def test_two_clients_that_lose_everything_at_once_count_one_attempt_each(
    running: Running, proxy: Proxy, time: Time
) -> None:
    endless = time.patience(tries=30, give_up_seconds=1e9)
    clients = [running.client(address=proxy.address, patience=endless) for _ in range(2)]
    for each in clients:
        each.question("3b")
    proxy.plan[:] = [CUT] * 8

    with ThreadPoolExecutor(2) as pool:
        numbers = pool.map(lambda g: g.submit("3b", q=RIGHT, quiet=True).number, clients)

    assert list(numbers) == [1, 1]
    assert [len(each.attempts("3b")) for each in clients] == [1, 1]
    for each in clients:
        each.close()
