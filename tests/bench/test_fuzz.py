"""The fuzzer, in small: every part is sent, every promise is looked at, and the same again."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest

from bench.fuzz.course import PEOPLE, Credentials
from bench.fuzz.formulas import make_formula
from bench.fuzz.pages import Form, Site
from bench.fuzz.requests import PARTS, Operation, RequestMaker, list_questions
from bench.fuzz.rubrics import load_mutated
from bench.fuzz.runs import FuzzResult, PartResult, Share, run_rubrics, run_share
from bench.fuzz.sending import FuzzAnswer, FuzzRequest, find_fault
from bench.fuzz.values import JSON_CASES, MARKUP, Mutator
from grader.errors import MalformedRequest
from grader.web.errors.model import MEDIA_TYPE
from grader.web.http.body import read_json

REQUESTS = 1500


def test_a_server_keeps_its_promises_about_some_requests_of_every_part(tmp_path: Path) -> None:
    told: list[int] = []

    result = run_share(tmp_path, Share(seed=3, first=0, step=1, stop=REQUESTS), told.append)

    assert [each for each in result.faults if not each["fault"].endswith("of CPU")] == []
    assert result.is_verified
    assert sum(told) == REQUESTS == sum(part.requests for part in result.parts.values())
    assert set(result.parts) == set(PARTS)
    for name, part in result.parts.items():
        assert part.requests > 40, name
        assert part.statuses["2xx"] > 0, f"no request of {name} is accepted"
        assert part.statuses["4xx"] > 0, f"no request of {name} is refused"
        assert part.cpu_seconds > 0
    assert result.memory[0][0] == 0
    assert result.memory[-1][0] == REQUESTS


def test_the_loader_of_rubrics_raises_nothing_but_an_authors_error() -> None:
    result = run_rubrics(3, 60, lambda count: None)

    assert result.faults == []
    assert sum(result.part("rubric files").statuses.values()) == 60
    assert result.part("rubric files").statuses["refused"] > 10


@pytest.mark.parametrize("name", JSON_CASES)
def test_a_corner_case_of_json_is_read_or_refused_as_its_name_says(name: str) -> None:
    try:
        read_json(JSON_CASES[name])
        is_read = True
    except MalformedRequest:
        is_read = False

    assert name.startswith("i_") or is_read == name.startswith("y_")


def make_maker(seed: int) -> RequestMaker:
    site = Site((("student-0", "/"),), (Form("student-0", "/tokens", {"label": "", "days": "30"}),))
    call = Operation("POST", "/api/v1/tokens", ("limit",), {"label": "x"}, "application/json")
    get = Operation("GET", "/api/v1/courses/{course}/people", ("role",), None, "")
    return RequestMaker(seed, [call, get], list_questions(), site, {}, most_bytes=65_536)


def test_the_request_of_a_number_depends_on_the_seed_alone() -> None:
    first, again, other = make_maker(1), make_maker(1), make_maker(2)

    requests = [first.make(number).to_bytes() for number in range(300)]

    assert [again.make(number).to_bytes() for number in reversed(range(300))] == requests[::-1]
    assert [other.make(number).to_bytes() for number in range(300)] != requests
    assert max(map(len, requests)) < 100_000


def test_a_request_can_be_sent_by_somebody_else() -> None:
    ada, bob = "student-0", "student-1"
    csrf = Credentials.of(ada).csrf.encode()

    sent = FuzzRequest.submit("forms", ada, "/tokens", body=b"csrf=" + csrf).sent_by(bob)

    assert sent == FuzzRequest.submit(
        "forms", bob, "/tokens", body=b"csrf=" + Credentials.of(bob).csrf.encode()
    )
    assert len({Credentials.of(who).token for who in PEOPLE}) == len(PEOPLE)


PAGE = FuzzRequest.browse("pages", "student-0", "/courses/fuzz")
CALL = FuzzRequest.call("api", "student-0", "GET", "/api/v1/courses/fuzz")
PROBLEM = orjson.dumps({"status": 404, "code": "not_found"})
HTML, JSON = "text/html; charset=utf-8", MEDIA_TYPE


@pytest.mark.parametrize(
    ("request_", "status", "kind", "body", "fault"),
    [
        pytest.param(PAGE, 200, HTML, b"<p>", "", id="a page"),
        pytest.param(PAGE, 404, HTML, b"<p>", "", id="an error of a page"),
        pytest.param(PAGE, 404, JSON, PROBLEM, "an error of a page is", id="no page"),
        pytest.param(PAGE, 500, HTML, b"<p>", "status 500", id="a defect"),
        pytest.param(PAGE, 503, HTML, b"<p>", "status 503", id="busy without saying how long"),
        pytest.param(PAGE, 200, HTML, MARKUP.encode(), "markup", id="markup"),
        pytest.param(CALL, 404, JSON, PROBLEM, "", id="a problem"),
        pytest.param(CALL, 404, HTML, b"<p>", "an error of the API is", id="no problem"),
        pytest.param(
            CALL, 409, JSON, PROBLEM, "another status", id="a problem with another status"
        ),
        pytest.param(
            CALL, 404, JSON, b'{"status":404,"code":"new.thing"}', "unknown code", id="a new code"
        ),
    ],
)
def test_a_broken_promise_is_found(
    request_: FuzzRequest, status: int, kind: str, body: bytes, fault: str
) -> None:
    answer = FuzzAnswer(status, {b"content-type": kind.encode()}, body, 0.0, is_last=False)

    found = find_fault(request_, answer)

    assert found.startswith(fault) if fault != "another status" else fault in found
    assert bool(found) == bool(fault)


def test_no_answer_breaks_a_promise_unless_the_request_was_broken() -> None:
    assert find_fault(PAGE, None) == "no answer"
    broken = FuzzRequest("headers", "student-0", "GET", "/", is_broken=True)
    assert find_fault(broken, None) == ""


def test_results_of_several_senders_are_added() -> None:
    first, second = PartResult(), PartResult()
    first.add(1, "2xx", 0.25)
    second.add(2, "2xx", 0.5)
    second.add(3, "4xx", 0.125)
    result = FuzzResult({"api": first})

    result.merge(FuzzResult({"api": second}, [{"fault": "x"}], is_verified=False))

    part = result.part("api")
    assert (part.requests, part.statuses) == (3, {"2xx": 2, "4xx": 1})
    assert (part.slowest_seconds, part.slowest, part.cpu_seconds) == (0.5, 2, 0.875)
    assert (len(result.faults), result.is_verified) == (1, False)


def test_hostile_formulas_and_files_are_the_same_for_the_same_seed() -> None:
    def make(seed: int) -> list[str]:
        return [
            make_formula(Mutator(random.Random(f"{seed} {each}"), most_bytes=4096))
            for each in range(50)
        ]

    assert make(1) == make(1) != make(2)
    mutators = [Mutator(random.Random("one"), most_bytes=4096) for _ in range(2)]
    assert load_mutated(mutators[0])[0] == load_mutated(mutators[1])[0]
