"""Regrades by the command line, from the mended file to the undone decision."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from grader.cli.server import open_grading_context
from grader.grading.idempotency import IdempotentResponse
from grader.grading.submissions.submit import SubmitRequest, submit
from grader.store.database import open_database
from grader.store.queries.courses import get_member
from tests.support.command_line import run
from tests.support.histories import LONG, long_assignment
from tests.support.service_commands import RUN, succeed, told


def publish(folder: Path, *, within: float) -> None:
    assignment = long_assignment(within=within)
    path = folder / f"within-{within}" / LONG
    path.mkdir(parents=True, exist_ok=True)
    (path / "assignment.yaml").write_text(assignment.text, "utf-8")
    (path / "one.yaml").write_text(assignment.rubrics["one"].text, "utf-8")
    succeed("publish", RUN, path, "--skip-examples")


def answer(folder: Path, *queries: str) -> None:
    """Let Ada send answers, as the service takes them."""
    database = open_database(f"sqlite:///{folder / 'data' / 'keyset.sqlite'}")
    with closing(database):
        context, at = open_grading_context(database), datetime.now(UTC)
        for query in queries:
            with database.write() as session:
                ada = get_member(session, run_id=RUN, login="ada").enrolment
                request = SubmitRequest(ada, LONG, "one", {"q": query}, at)
                (result,) = submit(session, context, [request], at=at)
            assert isinstance(result, IdempotentResponse), result


@pytest.fixture
def mended(course: str, folder: Path) -> str:
    """Ada has 4 points, by a tolerance that was mended since."""
    publish(folder, within=0.2)
    answer(folder, "3 k_a", "k_a")
    publish(folder, within=0.02)
    return course


def points_of_ada(course: str) -> Any:
    lines = succeed("export", course, LONG).stdout.splitlines()
    return lines[1].split(",")[3]


def test_a_regrade_is_previewed_applied_and_undone(mended: str) -> None:
    listed = told("regrade", "list", mended)
    assert listed == {"outdated": {LONG: {"one": 2}}, "regrades": []}

    preview = succeed("regrade", "preview", mended, LONG).stdout
    assert "2 attempts were judged again. Of 1 grades 0 rise, 1 fall" in preview
    assert "4 of 6" in preview
    assert "1.6 of 6" in preview
    assert points_of_ada(mended) == "4"

    succeed("regrade", "apply", mended, LONG, "--reason", "The key was wrong.", "--yes")
    assert points_of_ada(mended) == "1.6"
    succeed("verify", "--judge", "all")

    succeed("regrade", "undo", mended, LONG, "--reason", "Too early.")
    assert points_of_ada(mended) == "4"
    (line,) = told("regrade", "list", mended)["regrades"]
    assert (line["state"], line["undo_reason"]) == ("undone", "Too early.")


def test_nothing_is_applied_without_a_word(mended: str) -> None:
    succeed("regrade", "preview", mended, LONG)

    asked = run("regrade", "apply", mended, LONG, "--reason", "So.", sent="n\n")

    assert asked.exit_code == 1
    assert "0 grades rise, 1 fall" in asked.stdout
    assert points_of_ada(mended) == "4"


def test_a_preview_can_be_given_up(mended: str) -> None:
    succeed("regrade", "preview", mended, LONG)
    second = run("regrade", "preview", mended, LONG)
    assert second.exit_code == 2
    assert "Apply or discard it first" in second.stderr

    succeed("regrade", "discard", mended, LONG)
    assert told("regrade", "preview", mended, LONG, "one")["counts"]["down"] == 1


def test_a_regrade_can_be_declined(mended: str) -> None:
    succeed("regrade", "decline", mended, LONG, "--reason", "Only the tolerance.")

    assert told("regrade", "list", mended)["outdated"] == {}
    nothing = run("regrade", "preview", mended, LONG)
    assert nothing.exit_code == 2
    assert "there is nothing to judge again" in nothing.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("preview", RUN, "other"), "has no assignment 'other'", id="assignment"),
        pytest.param(("preview", RUN, LONG, "two"), "no question two", id="question"),
        pytest.param(("undo", RUN, LONG, "--reason", "So."), "no such regrade", id="no regrade"),
        pytest.param(("list", "other"), "other", id="course run"),
    ],
)
def test_what_is_not_there_is_named(mended: str, arguments: tuple[str, ...], said: str) -> None:
    refused = run("regrade", *arguments)

    assert refused.exit_code == 2
    assert said in refused.stderr


def test_a_worker_prepares_what_others_have_started(mended: str, folder: Path) -> None:
    stopped = succeed("worker", "--until-idle")

    assert "Waiting for jobs" in stopped.stdout
