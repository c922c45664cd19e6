"""Reports: what is written without a model is what the model would write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from grader.domain.policies import CountedAttempt, Feedback, Policy, Window
from grader.grading.attempts.report import (
    AttemptReport,
    build_attempt_fields,
    write_attempt_report,
)
from grader.grading.serialize import decode_judgement
from grader.store.database import open_database
from grader.store.queries.attempts import AttemptLine, JudgementLine, find_judged
from grader.store.queries.decisions import ReviewLine
from tests.support.databases import fresh_url
from tests.support.world import EXPLORATION, NOW, World, make_service, question_path

QUESTION = f"{EXPLORATION}/3b"
ANSWERS: dict[str, dict[str, Any]] = {
    "right": {"q": "1000 (k_a + k_b)", "explanation": "Both scores – “large” ones."},
    "wrong": {"q": "k_a + k_b"},
    "nothing": {"q": "0 k_a"},
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with (
        fresh_url("sqlite", tmp_path_factory.mktemp("reports")) as url,
        closing(open_database(url)) as database,
        make_service(database, published={"one": (EXPLORATION,), "two": ()}) as world,
    ):
        yield world


def submit(world: World, answer: dict[str, Any]) -> tuple[AttemptLine, JudgementLine, str]:
    """A stored attempt, with what its sender was told."""
    answer = {**answer, "q": f"{answer['q']} + 0 * {world.number()} k_a"}
    sent = world.post(question_path(QUESTION) + "/attempts", "ada", {"answer": answer})
    assert sent.status_code == 201, sent.text
    with world.database.read() as session:
        found = find_judged(session, attempt_id=sent.json()["id"])
    assert found is not None
    return *found, sent.text


@pytest.fixture(scope="module")
def wrong(world: World) -> tuple[AttemptLine, JudgementLine, str]:
    return submit(world, ANSWERS["wrong"])


def make_policy(feedback: Feedback, *, due_at: datetime) -> Policy:
    window = Window(None, due_at, grace_seconds=0, per_day=Decimal("0.1"), most_late_days=3)
    return Policy(window, 5, CountedAttempt.BEST, feedback)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_what_a_sender_is_told_is_what_the_model_would_write(
    world: World, answer: dict[str, Any]
) -> None:
    *_, told = submit(world, answer)

    assert AttemptReport.model_validate_json(told).model_dump_json() == told


@pytest.mark.parametrize("for_staff", [False, True])
@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("feedback", list(Feedback))
def test_every_policy_is_written_as_the_model_would_write_it(
    world: World,
    wrong: tuple[AttemptLine, JudgementLine, str],
    feedback: Feedback,
    is_late: bool,
    for_staff: bool,
) -> None:
    attempt, line, _ = wrong
    review = ReviewLine(
        id="rev_1", run_id="one", attempt_id=attempt.id, criterion="explanation", number=1,
        items=[0, 2], points=Decimal("1.25"), comment="Fine – “nearly”.", by="per_1", at=NOW,
    )  # fmt: skip
    context = world.service.context
    with world.database.read() as session:
        published = context.in_force(session, run_id="one", assignment=EXPLORATION)
    fields = build_attempt_fields(
        attempt._replace(received_at=NOW.replace(microsecond=120_000)),
        decode_judgement(line),
        line.receipt,
        rubric=published.rubric("3b"),
        policy=make_policy(feedback, due_at=NOW - timedelta(hours=30 if is_late else -30)),
        uses=None,
        points=Decimal("2.75"),
        reviews={"explanation": review},
        is_counted=True,
        attempts_left=3,
        at=NOW,
        key=context.signing_key,
        for_staff=for_staff,
    )

    assert write_attempt_report(fields) == AttemptReport(**fields).model_dump_json()


def test_what_has_no_place_in_a_report_is_an_error() -> None:
    with pytest.raises(TypeError):
        write_attempt_report({"answer": object()})
