"""A student's whole way, from a notebook, on a real service."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from grader.client import Client, ClientError
from grader.grading.receipts.bundle import read_bundle
from tests.support.live_service import ASSIGNMENT, COURSE, Running
from tests.support.proxies import run_proxy

PREDICTIONS = {"share_near_average": 0.0, "share_nearer_b": 1, "variance": "1/4", "spread_ratio": 0}


def told(error: pytest.ExceptionInfo[ClientError]) -> str:
    """What an error prints, whatever its lines."""
    return " ".join(str(error.value).split())


def test_a_student_finds_the_way_from_a_wrong_answer_to_a_right_one(g: Client) -> None:
    question = g.question("3b")
    k, a, b = (question.given[name] for name in ("k", "a", "b"))
    assert (k.shape, k.dtype, question.attempts_left) == ((5, 7), np.float64, 10)
    assert np.allclose(k @ k.T, np.eye(5))

    assert g.check("3b", q=k[a] + k[b]).fields[0].shape == (7,)
    assert g.attempts("3b") == ()

    wrong = g.submit("3b", q=k[a] + k[b], quiet=True)
    assert (wrong.number, wrong.score, wrong.max_automatic, wrong.pending) == (1, 0, 8, 2)
    assert [each.id for each in wrong.misconceptions] == ["scale-too-small"]
    assert [each.outcome for each in wrong.criteria] == ["not_met", "not_met", "pending"]

    by_numbers = g.submit("3b", q=40 * (k[a] + k[b]), quiet=True)
    assert (by_numbers.number, by_numbers.score, by_numbers.is_counted) == (2, 8, True)

    by_formula = g.submit("3b", q="C(k_a + k_b) where C = 50", explanation="Equal.", quiet=True)
    assert (by_formula.number, by_formula.score, by_formula.attempts_left) == (3, 8, 7)
    assert by_formula.reading is not None
    assert by_formula.reading.fields[0].text == "C (k_a + k_b) where C = 50"
    assert [each.id for each in g.attempts("3b")] == [wrong.id, by_numbers.id, by_formula.id]
    assert g.question("3b").attempts_left == 7


def test_a_part_about_an_earlier_answer_needs_that_answer(g: Client) -> None:
    with pytest.raises(ClientError) as refused:
        g.submit("3c-ii", PREDICTIONS, quiet=True)
    assert told(refused).startswith(
        "This question is about your own answer to 3c-i, and there is none yet. "
        "Submit one to 3c-i first; no attempt was used. (earlier.missing"
    )
    assert refused.value.status == 409

    g.submit("3c-i", q="100 (mu_a + mu_b)", quiet=True)
    result = g.submit("3c-ii", PREDICTIONS, quiet=True)

    assert (result.number, result.uses, result.score) == (1, "own", 8)
    assert "Judged with your own earlier answer." in str(result)


def test_the_limit_is_told_and_costs_nothing_more(g: Client) -> None:
    for number in range(1, 11):
        assert g.submit("3b", q=f"{number} k_a", quiet=True).attempts_left == 10 - number

    with pytest.raises(ClientError) as refused:
        g.submit("3b", q="40 (k_a + k_b)", quiet=True)

    assert told(refused).startswith(
        "All 10 attempts at this question are used. (attempts.none_left"
    )
    assert len(g.attempts("3b")) == 10


def test_the_same_answer_again_is_free(g: Client) -> None:
    first = g.submit("3b", q="40 (k_a + k_b)", quiet=True)
    again = g.submit("3b", q="40 (k_a + k_b)", quiet=True)

    assert (again.id, again.is_repeated, again.attempts_left) == (first.id, True, 9)
    assert "You sent the same answer before" in str(again)


def test_everything_about_an_attempt_is_printed(
    g: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    result = g.submit("3b", q="k_a + k_b")

    printed = capsys.readouterr().out
    assert printed == f"{result}\n"
    shown = re.sub(r"att_\w+", "ATTEMPT", re.sub(r"sha256:\w{64}", "HASH", printed))
    shown = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(UTC.\d\d:\d\d\)", "TIME", shown)
    assert shown == (
        "attention-exploration/3b · attempt 1\n"
        "\n"
        "Read  q  the formula k_a + k_b (7 numbers)\n"
        "Not sent yet: explanation.\n"
        "\n"
        "✗  0 / 6  Half the weight on each of the two keys. 0.356 of the weight is in the wrong\n"
        "          place; at most 0.02 may be for all points, at most 0.1 for half of them.\n"
        "✗  0 / 2  The output is the average of the two values. The output is 0.23 away from the\n"
        "          average, in units of |v_a - v_b|; at most 0.02 is allowed.\n"
        "…  0 / 2  Written part. Nothing was sent yet; you may send it later.\n"
        "\n"
        "→ The direction is right, but the softmax still spreads weight over the other keys.\n"
        "  About 5 times this length would do.\n"
        "\n"
        "0 of 8 points. 2 points to be graded by a person. 9 attempts left.\n"
        "\n"
        "Receipt   ATTEMPT\n"
        "received  TIME\n"
        "answer    HASH\n"
    )
    assert result.receipt.attempt == result.id == result.json["id"]
    assert result.receipt.answer in printed


def test_quiet_prints_nothing(g: Client, capsys: pytest.CaptureFixture[str]) -> None:
    g.submit("3b", q="k_a + k_b", quiet=True)

    assert capsys.readouterr().out == ""


def test_numbers_arrive_to_the_last_bit(g: Client) -> None:
    q = np.array([0.1, 1 / 3, -1e-300, 1e16 + 2, 5e-324, 1.7976931348623157e308, 2**53 - 1.0])

    sent = g.submit("3b", q=q, quiet=True).json["answer"]["q"]

    assert np.array_equal(np.array(sent), q)


def test_an_answer_is_one_call_where_nothing_needs_to_be_asked(running: Running) -> None:
    with run_proxy(running.port) as proxy, running.client(address=proxy.address) as g:
        g.question("3b")
        g.submit("3b", q=np.ones(7), quiet=True)
        g.submit("3b", q="k_a", quiet=True)

    called = [each.split()[1].decode().rpartition("/")[2] for each in proxy.requests]
    assert called == ["3b", "attempts", "check", "attempts"]


def test_how_numbers_are_read_is_told_alike_here_and_by_the_service(g: Client) -> None:
    q = np.arange(7)

    assert g.submit("3b", q=q, quiet=True).reading == g.check("3b", q=q)
    text = g.check("3b", q="[1 2 3 4 5 6 7]", explanation="Because.")
    assert str(text) == "Read  q            7 numbers, written as NumPy\nRead  explanation  text"


def test_a_question_reads_well_in_a_terminal_and_in_a_notebook(g: Client) -> None:
    question = g.question("3c-ii")

    assert "  mu  8 × 16\n" in repr(question)
    assert "5 attempts left. Due 20" in repr(question)
    assert repr(question).endswith("It builds on your answer to 3c-i.")
    markdown = question._repr_markdown_()
    assert markdown.startswith("### 3c-ii · What a stretched key does (10 points)\n\n")
    assert "- `variance`: a number of at least 0, or a formula that gives one" in markdown
    assert question.prompt.rstrip() in markdown


def test_what_is_given_cannot_be_changed_by_mistake(g: Client) -> None:
    with pytest.raises(ValueError, match="read-only"):
        g.question("3b").given["k"][0] = 0


def test_practice_key_sets_are_arrays(g: Client) -> None:
    question = g.question("3c-i")
    practice = g.practice("3c-i", count=4)

    assert practice["k"].shape == (4, 8, 16)
    assert np.allclose(practice["k"], question.given["mu"], atol=1e-3)
    assert g.practice("3b") == {}


def test_an_attempt_and_its_bundle_can_be_had_later(g: Client, tmp_path: Path) -> None:
    sent = g.submit("3b", q="40 (k_a + k_b)", quiet=True)
    found = g.attempt(sent.id)
    assert (found.receipt, found.criteria, found.reading) == (sent.receipt, sent.criteria, None)

    named = g.bundle(sent.id, tmp_path / "mine.json")
    in_folder = g.bundle(sent.id, tmp_path)

    assert in_folder.name == f"{sent.id}.json"
    assert named.read_bytes() == in_folder.read_bytes()
    assert read_bundle(named.read_bytes()).receipt.attempt == sent.id
    assert json.loads(named.read_text())["answer"] == {"q": "40 (k_a + k_b)"}


def test_where_a_student_stands(g: Client) -> None:
    g.submit("3b", q="40 (k_a + k_b)", quiet=True)

    (course,) = g.courses()
    (assignment,) = g.assignments()
    standing = g.standing()

    assert (course.id, course.role) == (COURSE, "student")
    assert (assignment.id, assignment.points, assignment.max_points) == (ASSIGNMENT, 8, 80)
    assert [each.points for each in standing.questions[:3]] == [None, 8, None]
    assert re.search(
        r"\n3b     8 / 10  started +9 left  The average of two values\n", repr(standing)
    )


def test_course_and_assignment_may_be_left_out_where_there_is_one(running: Running) -> None:
    with running.client(course=None, assignment=None) as g:
        assert g.question("3b").id == "3b"
        assert (g.course, g.assignment) == (COURSE, ASSIGNMENT)
