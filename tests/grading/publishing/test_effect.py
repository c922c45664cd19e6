"""Whom a publication touches is told before it is published."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.grading.publishing.effect import QuestionEffect, load_publication_effect
from grader.rubric.catalog import CompiledAssignment, read_assignment
from grader.rubric.changes import RubricChange
from grader.store.database import Database
from tests.support.histories import LONG, QUESTION, long_assignment
from tests.support.world import World, make_service


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (), "two": ()}) as world:
        world.publish(long_assignment(within=0.2))
        world.submit("ada", QUESTION, {"q": "3 k_a"})
        world.submit("ada", QUESTION, {"q": "k_a"})
        world.submit("bob", QUESTION, {"q": "8 k_a"})
        yield world


def load_effect(world: World, candidate: CompiledAssignment) -> list[QuestionEffect]:
    with world.database.read() as session:
        return load_publication_effect(
            session, world.service.context, run_id="one", candidate=candidate
        )


def test_a_stricter_tolerance_says_who_would_lose(world: World) -> None:
    (effect,) = load_effect(world, long_assignment(within=0.02))

    assert effect.changes == [RubricChange.CRITERIA]
    assert (effect.attempts, effect.students) == (3, 2)
    assert effect.sample is not None
    # Only the attempts that count are judged.
    assert (effect.sample.judged, effect.sample.up, effect.sample.down) == (2, 0, 1)
    assert effect.sample.same == 1


def test_mended_words_touch_nobody(world: World) -> None:
    assignment = long_assignment(within=0.2)
    text = assignment.rubrics["one"].text.replace("and say why", "and explain it")
    (effect,) = load_effect(world, read_assignment(LONG, assignment.text, {"one": text}))

    assert effect.changes == [RubricChange.WORDS]
    assert not effect.is_judged_otherwise
    assert effect.sample is None


def test_the_same_files_change_nothing(world: World) -> None:
    assert load_effect(world, long_assignment(within=0.2)) == []


def test_a_preview_is_told_by_the_api_and_publishes_nothing(world: World) -> None:
    assignment = long_assignment(within=0.02)
    path = f"/api/v1/courses/one/assignments/{LONG}/publications"
    body = {"form": assignment.text, "rubrics": {"one": assignment.rubrics["one"].text}}

    (told,) = world.post(path + "/preview", "irene", body).json()

    assert (told["question"], told["changes"], told["students"]) == ("one", ["criteria"], 2)
    assert told["sample"] == {"judged": 2, "up": 0, "down": 1, "same": 1, "left_out": 0}
    assert len(world.read(path, "irene")) == 1
