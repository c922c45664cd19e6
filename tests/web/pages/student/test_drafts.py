"""Answers while they are written: drafts, previews, files, and what can be taken away."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from grader.grading.submissions.uploads import MAX_BYTES
from grader.store.database import Database
from tests.support.browsers import Browser
from tests.support.page_matrix import AVERAGE
from tests.support.world import EXPLORATION, World, make_service

PDF = b"%PDF-1.7 what was written by hand"


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    published = {"one": (EXPLORATION,), "two": (EXPLORATION,)}
    with make_service(database, published=published) as world:
        yield world


def attach(browser: Browser, content: bytes, **fields: str) -> Any:
    """Submit the form of a question with a file that was chosen in it."""
    return browser.client.post(
        AVERAGE,
        data={"csrf": browser.csrf(), "action": "submit", "answer.q": "k_a", **fields},
        files={"pdf.explanation": ("../My notes.pdf", content, "application/pdf")},
    )


# Drafts


def test_what_was_written_is_there_again_in_another_browser(world: World) -> None:
    written = {"answer.q": "40 (k_a +", "answer.explanation": "Therefore <b>"}
    saved = (
        Browser(world, "ada").call("GET", AVERAGE),
        Browser(world, "ada").call("POST", AVERAGE + "/draft", written),
    )
    assert "draft saved" in saved[1].text

    page = Browser(world, "ada").call("GET", AVERAGE).text

    assert "40 (k_a +</textarea>" in page
    assert "Therefore &lt;b&gt;</textarea>" in page
    assert "draft saved <time" in page
    assert "Therefore" not in Browser(world, "bob").call("GET", AVERAGE).text


def test_a_draft_ends_when_it_is_sent_and_stays_when_it_is_refused(world: World) -> None:
    ada = Browser(world, "ada")
    ada.call("GET", AVERAGE)
    ada.call("POST", AVERAGE + "/draft", {"answer.q": "77 k_zzz"})
    ada.call("POST", AVERAGE, {"action": "submit", "answer.q": "77 k_zzz"})
    assert "77 k_zzz</textarea>" in ada.call("GET", AVERAGE).text

    ada.call("POST", AVERAGE, {"action": "submit", "answer.q": "77 k_a"})

    assert "</textarea>" in ada.call("GET", AVERAGE).text
    assert "77 k_zzz" not in ada.call("GET", AVERAGE).text


def test_an_emptied_form_is_no_draft_and_a_huge_one_is_refused(world: World) -> None:
    ada = Browser(world, "ada")
    ada.call("GET", AVERAGE)
    ada.call("POST", AVERAGE + "/draft", {"answer.q": "5 k_a"})
    ada.call("POST", AVERAGE + "/draft", {"answer.q": "  "})
    assert "draft saved <time" not in ada.call("GET", AVERAGE).text

    assert ada.call("POST", AVERAGE + "/draft", {"answer.q": "x" * 600_000}).status_code == 422


# Reading along


@pytest.mark.parametrize("cells", [["1", "2", "nan", "4", "5", "6", "7"], ["1", "nan"]])
def test_numbers_are_shown_as_they_were_read_with_the_first_bad_cell_outlined(
    world: World, cells: list[str]
) -> None:
    ada = Browser(world, "ada")

    part = ada.call("POST", AVERAGE + "/reading/q", {"answer.q": f"[{', '.join(cells)}]"}).text

    assert re.search(r'<td class="bad"[^>]*>nan</td>', part)
    assert part.count("<td") == len(cells)
    assert f"entry {cells.index('nan') + 1} is NaN" in part


def test_a_shortened_array_is_refused_with_the_way_to_mend_it(world: World) -> None:
    ada = Browser(world, "ada")

    part = ada.call("POST", AVERAGE + "/reading/q", {"answer.q": "[0.1 0.2 ... 0.9]"}).text

    assert "set_printoptions" in part


def test_written_text_is_previewed_as_text(world: World) -> None:
    ada = Browser(world, "ada")
    text = "**Bold** $q^T k$ <script>alert(1)</script>"

    part = ada.call("POST", AVERAGE + "/reading/explanation", {"answer.explanation": text}).text

    assert "<strong>Bold</strong>" in part
    assert '<span class="math">q^T k</span>' in part
    assert "<script" not in part


# Files


def test_a_pdf_is_kept_with_the_answer_and_served_so_that_it_cannot_run(world: World) -> None:
    ada = Browser(world, "ada")
    page = attach(ada, PDF, **{"answer.explanation": "See the scan."})
    assert "Attempt 1: 0 of 8 points" in page.text
    (attempt,) = world.read(f"/api/v1{AVERAGE}/attempts", "ada")
    text = attempt["answer"]["explanation"]
    assert re.fullmatch(r"See the scan\.\n\n\[My-notes\.pdf\]\(sha256:[0-9a-f]{64}\)", text)

    shown = ada.call("GET", f"/attempts/{attempt['id']}").text
    link = re.search(r'href="(/uploads/upl_\w+)"', shown)
    assert link is not None
    for login, status in {"ada": 200, "irene": 200, "bob": 404, "cora": 404}.items():
        got = Browser(world, login).call("GET", link[1])
        assert got.status_code == status
    served = ada.call("GET", link[1])
    assert served.content == PDF
    assert served.headers["Content-Type"] == "application/pdf"
    assert served.headers["Content-Disposition"] == 'attachment; filename="My-notes.pdf"'
    assert "sandbox" in served.headers["Content-Security-Policy"]
    assert served.headers["X-Content-Type-Options"] == "nosniff"


def test_what_is_no_pdf_or_too_large_is_refused_and_nothing_else_is_lost(world: World) -> None:
    ada = Browser(world, "ada")
    for content in (b"<html>", b"%PDF-1.7" + bytes(MAX_BYTES)):
        page = attach(ada, content, **{"answer.explanation": "Keep this."})
        assert page.status_code == 200
        assert "No attempt was used." in page.text
        assert "Keep this.</textarea>" in page.text
    assert world.read(f"/api/v1{AVERAGE}/attempts", "ada") == []


def test_a_file_of_somebody_else_cannot_be_named(world: World) -> None:
    attach(Browser(world, "ada"), PDF)
    (attempt,) = world.read(f"/api/v1{AVERAGE}/attempts", "ada")
    answer = {"q": "k_a", "explanation": attempt["answer"]["explanation"]}

    refused = world.submit("bob", f"{EXPLORATION}/3b", answer, status=422)

    assert refused["errors"][0]["code"] == "file.absent"


def test_one_file_belongs_to_an_answer(world: World) -> None:
    links = []
    for content in (PDF, PDF + b"2"):
        made = world.post(
            "/api/v1/courses/one/uploads",
            "ada",
            content,
            headers={"Content-Type": "application/pdf"},
        ).json()
        links.append(f"[{made['name']}]({made['digest']})")

    refused = world.submit(
        "ada", f"{EXPLORATION}/3b", {"q": "k_a", "explanation": " ".join(links)}, status=422
    )

    assert refused["errors"][0]["code"] == "file.several"


def test_a_file_that_was_sent_before_is_the_same_one(world: World) -> None:
    assert world.upload("ada", PDF) == world.upload("ada", PDF)
    assert world.upload("ada", PDF) != world.upload("bob", PDF)


def test_a_file_is_named_as_soon_as_it_is_chosen(world: World) -> None:
    ada = Browser(world, "ada")
    part = ada.client.post(
        AVERAGE + "/files/explanation",
        data={"csrf": ada.csrf()},
        files={"pdf.explanation": ("notes.pdf", PDF, "application/pdf")},
        headers={"HX-Request": "true"},
    ).text

    digest = re.search(r'name="file.explanation" value="(sha256:\w+)"', part)
    assert digest is not None
    form = {
        "action": "submit",
        "answer.q": "k_a",
        "file.explanation": digest[1],
        "filename.explanation": "notes.pdf",
    }
    ada.call("POST", AVERAGE, form)
    (attempt,) = world.read(f"/api/v1{AVERAGE}/attempts", "ada")
    assert attempt["answer"]["explanation"] == f"[notes.pdf]({digest[1]})"


# What is given, to be taken away


def test_given_arrays_can_be_taken_away_in_full_precision(world: World) -> None:
    ada = Browser(world, "ada")
    given = world.read(f"/api/v1{AVERAGE}", "ada")["given"]
    k = given["k"]

    assert ada.call("GET", AVERAGE + "/given/k.json").json() == k
    assert ada.call("GET", AVERAGE + "/given/given.json").json() == given
    rows = csv.reader(io.StringIO(ada.call("GET", AVERAGE + "/given/k.csv").text))
    assert [[float(entry) for entry in row] for row in rows] == k
    names: dict[str, Any] = {"np": np}
    exec(ada.call("GET", AVERAGE + "/given/given.txt").text, names)
    assert np.array_equal(names["k"], k)
    assert names["a"] == given["a"]
    for absent in ("zz.csv", "a.csv", "given.csv"):
        assert ada.call("GET", AVERAGE + f"/given/{absent}").status_code == 404


def test_the_snippets_send_what_the_question_takes(world: World) -> None:
    page = Browser(world, "ada").call("GET", AVERAGE).text
    snippet = re.search(r'<pre id="snippet-curl"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert snippet is not None
    body = re.search(r"-d &#39;(.*?)&#39;", snippet[1], re.DOTALL)
    assert body is not None

    sent = json.loads(body[1].replace("&#34;", '"'))

    assert world.post(f"/api/v1{AVERAGE}/attempts", "ada", sent).status_code == 201
    assert f"/api/v1{AVERAGE}/attempts" in snippet[1]
    assert "$KEYSET_TOKEN" in snippet[1]


# Earlier attempts


def test_an_earlier_answer_can_be_put_into_the_form_again(world: World) -> None:
    numbers = [1.5, 0.0, 0.1, 2.0, 3.0, 4.0, 5.0]
    made = world.submit("ada", f"{EXPLORATION}/3b", {"q": numbers, "explanation": "Thus."})
    ada = Browser(world, "ada")

    page = ada.call("GET", f"{AVERAGE}?restore={made['id']}").text

    assert f"{numbers}</textarea>" in page
    assert "Thus.</textarea>" in page
    assert "Thus." not in Browser(world, "bob").call("GET", f"{AVERAGE}?restore={made['id']}").text


def test_two_attempts_are_compared_number_by_number_and_line_by_line(world: World) -> None:
    first = world.submit(
        "ada", f"{EXPLORATION}/3b", {"q": [1, 2, 3, 4, 5, 6, 7], "explanation": "One\nTwo"}
    )
    second = world.submit(
        "ada", f"{EXPLORATION}/3b", {"q": "[1, 2, 3, 4, 5, 6, 9]", "explanation": "One\nThree"}
    )
    formula = world.submit("ada", f"{EXPLORATION}/3b", {"q": "k_a"})
    ada = Browser(world, "ada")

    page = ada.call("GET", f"/attempts/{first['id']}/difference/{second['id']}").text
    other = ada.call("GET", f"/attempts/{first['id']}/difference/{formula['id']}").text

    assert "1 of 7 numbers changed, the largest by 2" in page
    assert "<del>7</del>" in page
    assert "<ins>9</ins>" in page
    assert '<span class="removed">- Two' in page
    assert '<span class="added">+ Three' in page
    assert '<span class="added">+ k_a' in other


def test_attempts_at_two_questions_are_not_compared(world: World) -> None:
    first = world.submit("ada", f"{EXPLORATION}/3b", {"q": "k_a"})
    second = world.submit("ada", f"{EXPLORATION}/3c-i", {"q": "mu_a"})

    page = Browser(world, "ada").call("GET", f"/attempts/{first['id']}/difference/{second['id']}")

    assert page.status_code == 404


def test_a_part_that_runs_an_earlier_answer_shows_it(world: World) -> None:
    made = world.submit("ada", f"{EXPLORATION}/3c-i", {"q": "41 (mu_a + mu_b)"})

    page = Browser(world, "ada").call("GET", AVERAGE.replace("3b", "3c-ii")).text

    assert f'href="/attempts/{made["id"]}"' in page
    assert "41 (mu_a + mu_b)</pre>" in page
