"""Claims as rows: one holder at a time, by the database's own word. And comments said before."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from grader.store.database import Database
from grader.store.queries.decisions import (
    ClaimLine,
    delete_claim,
    delete_expired_claims,
    find_claim,
    list_claims,
    list_comments,
    take_claim,
)
from tests.support.world import EXPLORATION, NOW, World, make_service

SOON, LATER = NOW + timedelta(minutes=5), NOW + timedelta(minutes=10)


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (EXPLORATION,), "two": ()}) as world:
        yield world


def attempt_of(world: World, login: str) -> str:
    answer = {"q": "mu_a", "explanation": "Because."}
    return str(world.submit(login, f"{EXPLORATION}/3c-i", answer)["id"])


def test_a_claim_is_taken_when_it_is_free_ones_own_or_over(world: World) -> None:
    attempt_id = attempt_of(world, "ada")
    mine = ClaimLine(attempt_id, "one", "per_i", SOON)
    others = ClaimLine(attempt_id, "one", "per_you", LATER)
    with world.database.write() as session:
        assert take_claim(session, mine, at=NOW)
        assert not take_claim(session, others, at=NOW)
        assert find_claim(session, attempt_id=attempt_id, at=NOW) == mine
        assert take_claim(session, mine, at=NOW)

        # At its last moment it is over.
        assert find_claim(session, attempt_id=attempt_id, at=SOON) is None
        assert take_claim(session, others, at=SOON)
        assert list_claims(session, run_id="one", at=SOON) == [others]
        assert list_claims(session, run_id="two", at=SOON) == []


def test_only_the_holder_lets_go_and_what_is_over_is_forgotten(world: World) -> None:
    first, second = attempt_of(world, "ada"), attempt_of(world, "bob")
    with world.database.write() as session:
        take_claim(session, ClaimLine(first, "one", "per_i", SOON), at=NOW)
        take_claim(session, ClaimLine(second, "one", "per_i", LATER), at=NOW)
        delete_claim(session, attempt_id=first, by="per_you")
        assert len(list_claims(session, run_id="one", at=NOW)) == 2

        delete_expired_claims(session, run_id="one", at=SOON)
        assert [each.attempt_id for each in list_claims(session, run_id="one", at=NOW)] == [second]
        delete_claim(session, attempt_id=second, by="per_i")
        assert list_claims(session, run_id="one", at=NOW) == []


def test_comments_come_once_the_most_used_first_and_from_this_question_alone(world: World) -> None:
    comments = {"ada": ["Why?", "So so."], "bob": ["So so.", ""], "irene": ["New."]}
    for login, texts in comments.items():
        attempt_id = attempt_of(world, login)
        for text in texts:
            world.clock.turn(minutes=1)
            body = {"criterion": "explanation", "points": 1, "comment": text}
            path = f"/api/v1/courses/one/attempts/{attempt_id}/reviews"
            assert world.post(path, "arthur", body).status_code == 201

    def found(question: str, limit: int = 9) -> list[str]:
        with world.database.read() as session:
            return list_comments(
                session, run_id="one", assignment=EXPLORATION, question=question,
                criterion="explanation", limit=limit,
            )  # fmt: skip

    assert found("3c-i") == ["So so.", "New.", "Why?"]
    assert found("3c-i", limit=1) == ["So so."]
    assert found("3b") == []
