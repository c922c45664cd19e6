"""Claims and saving: nobody is given what somebody else has, and no word is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from decimal import Decimal

import pytest

from grader.accounts.callers import Caller, Membership, get_membership
from grader.domain.roles import ALL_SCOPES, Role
from grader.errors import MalformedRequest, NotFound, OutdatedVersion, RequestRefused
from grader.grading.context import GradingContext
from grader.grading.reviews.claims import LEASE, claim_attempt, claim_next, release_claim
from grader.grading.reviews.queue import (
    ReviewQueue,
    load_progress,
    load_queue,
    make_pseudonym,
    may_show_names,
)
from grader.grading.reviews.review import load_review_tasks
from grader.grading.reviews.save import ReviewDecision, save_reviews
from grader.rubric.catalog import read_assignment
from grader.store.database import Database, Session, open_database
from grader.store.queries.decisions import ReviewLine, find_claim, list_claims, list_reviews
from tests.support.rubrics import shipped
from tests.support.world import DUE, EXPLORATION, World, make_service

QUESTION = "3c-i"


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (EXPLORATION,), "two": ()}) as world:
        yield world


def place_of(world: World, session: Session, login: str) -> Membership:
    person = world.people[login]
    return get_membership(session, Caller(person.id, ALL_SCOPES, person), run_id="one")


def write(world: World, who: str, text: str = "Because.") -> str:
    """Send a written answer, and return the attempt's id."""
    answer = {"q": f"{world.number()} mu_a", "explanation": text}
    return str(world.submit(who, f"{EXPLORATION}/{QUESTION}", answer)["id"])


def queue_of(world: World, who: str) -> ReviewQueue:
    with world.database.read() as session:
        return load_queue(
            session, world.service.context, place_of(world, session, who),
            assignment=EXPLORATION, question=QUESTION,
        )  # fmt: skip


def next_for(world: World, who: str, *, after: str | None = None) -> str | None:
    queue = queue_of(world, who)
    with world.database.write() as session:
        place = place_of(world, session, who)
        waiting = queue.waiting_for(place, after=after)
        return claim_next(session, place, waiting, at=world.clock())


def hold(world: World, who: str, attempt_id: str) -> str:
    """Open an attempt, and return who holds it then."""
    with world.database.write() as session:
        place = place_of(world, session, who)
        return claim_attempt(session, place, attempt_id=attempt_id, at=world.clock()).by


def said(
    points: str | None = None,
    *,
    items: tuple[int, ...] = (),
    comment: str = "",
    version: str = "r0",
    criterion: str = "explanation",
) -> ReviewDecision:
    return ReviewDecision(criterion, items, Decimal(points) if points else None, comment, version)


def save(world: World, who: str, attempt_id: str, *decisions: ReviewDecision) -> list[ReviewLine]:
    with world.database.write() as session:
        return save_reviews(
            session, world.service.context, place_of(world, session, who),
            attempt_id=attempt_id, decisions=decisions, at=world.clock(),
        )  # fmt: skip


def stored(world: World, attempt_id: str) -> list[ReviewLine]:
    with world.database.read() as session:
        return list_reviews(session, attempt_ids=[attempt_id])


def test_of_many_who_ask_at_once_no_two_are_given_the_same(world: World) -> None:
    students = [f"student-{number}" for number in range(10)]
    for login in students:
        world.add_member(login, Role.STUDENT)
        write(world, login)
    reviewers = [f"reviewer-{number}" for number in range(12)]
    for login in reviewers:
        world.add_member(login, Role.ASSISTANT)
    queue = queue_of(world, "irene")
    barrier = threading.Barrier(len(reviewers))
    url = world.database.url.render_as_string(hide_password=False)

    def ask(number: int) -> str | None:
        # Each with a connection of its own, as several processes have, and from another place on.
        with closing(open_database(url)) as database:
            with database.read() as session:
                place = place_of(world, session, reviewers[number])
            start = queue.entries[number % len(queue.entries)].attempt.id
            waiting = queue.waiting_for(place, after=start)
            barrier.wait()
            with database.write() as session:
                return claim_next(session, place, waiting, at=world.clock())

    with ThreadPoolExecutor(len(reviewers)) as pool:
        given = list(pool.map(ask, range(len(reviewers))))

    found = [each for each in given if each is not None]
    assert len(found) == len(set(found)) == len(students)
    assert given.count(None) == len(reviewers) - len(students)


def test_of_two_who_open_the_same_one_holds_it_and_both_are_told_who(world: World) -> None:
    attempt_id = write(world, "ada")
    barrier = threading.Barrier(2)
    url = world.database.url.render_as_string(hide_password=False)

    def look(who: str) -> str:
        with closing(open_database(url)) as database:
            with database.read() as session:
                place = place_of(world, session, who)
            barrier.wait()
            with database.write() as session:
                return claim_attempt(session, place, attempt_id=attempt_id, at=world.clock()).by

    with ThreadPoolExecutor(2) as pool:
        holders = set(pool.map(look, ["irene", "arthur"]))

    assert len(holders) == 1


def test_an_attempt_stays_with_whoever_gives_signs_of_life(world: World) -> None:
    attempt_id = write(world, "ada")
    irene, arthur = world.people["irene"].id, world.people["arthur"].id
    assert next_for(world, "irene") == attempt_id
    for _ in range(3):
        world.clock.turn(minutes=4)
        assert hold(world, "irene", attempt_id) == irene
        assert next_for(world, "arthur") is None

    world.clock.now += LEASE + timedelta(seconds=1)

    assert next_for(world, "arthur") == attempt_id
    assert hold(world, "irene", attempt_id) == arthur


def test_whoever_leaves_lets_go_of_their_own_only(world: World) -> None:
    attempt_id = write(world, "ada")
    next_for(world, "irene")
    with world.database.write() as session:
        release_claim(session, place_of(world, session, "arthur"), attempt_id=attempt_id)
    assert next_for(world, "arthur") is None

    with world.database.write() as session:
        release_claim(session, place_of(world, session, "irene"), attempt_id=attempt_id)

    assert next_for(world, "arthur") == attempt_id


def test_the_next_is_neither_done_nor_held_nor_ones_own(world: World) -> None:
    own = write(world, "arthur")
    held, done, free = write(world, "ada"), write(world, "bob"), write(world, "irene")
    hold(world, "irene", held)
    save(world, "irene", done, said("1"))

    assert next_for(world, "arthur") == free
    with pytest.raises(RequestRefused, match="own work"):
        hold(world, "arthur", own)


def test_what_was_reviewed_since_it_was_looked_up_is_not_given(world: World) -> None:
    write(world, "ada")
    queue = queue_of(world, "arthur")
    save(world, "irene", queue.entries[0].attempt.id, said("1"))

    with world.database.write() as session:
        place = place_of(world, session, "arthur")
        assert claim_next(session, place, queue.waiting_for(place), at=world.clock()) is None


def test_the_next_comes_after_the_last_and_the_order_goes_round(world: World) -> None:
    for login in ("ada", "bob", "irene"):
        write(world, login)
    order = [each.attempt.id for each in queue_of(world, "arthur").entries]

    assert next_for(world, "arthur", after=order[0]) == order[1]
    assert next_for(world, "arthur", after=order[2]) == order[0]
    assert next_for(world, "arthur", after="att_unknown") == order[0]


def test_saving_lets_go_and_adds_the_next_version(world: World) -> None:
    attempt_id = write(world, "ada")
    next_for(world, "arthur")

    (first,) = save(world, "arthur", attempt_id, said(items=(0,), comment="Good."))
    (second,) = save(world, "irene", attempt_id, said("1", version="r1"))

    assert (first.number, second.number) == (1, 2)
    assert (first.points, second.points) == (Decimal(2), Decimal(1))
    with world.database.read() as session:
        assert find_claim(session, attempt_id=attempt_id, at=world.clock()) is None
        assert list_claims(session, run_id="one", at=world.clock()) == []


def test_whoever_comes_late_may_still_save_unless_somebody_else_did(world: World) -> None:
    attempt_id = write(world, "ada")
    next_for(world, "arthur")
    world.clock.turn(hours=2)
    hold(world, "irene", attempt_id)

    assert save(world, "arthur", attempt_id, said("1"))
    with pytest.raises(OutdatedVersion) as caught:
        save(world, "irene", attempt_id, said("2"))

    assert caught.value.current == "r1"
    assert [each.points for each in stored(world, attempt_id)] == [1]


def test_saving_the_same_again_changes_nothing(world: World) -> None:
    attempt_id = write(world, "ada")
    save(world, "arthur", attempt_id, said(items=(0,), comment="Good."))

    # The answer to the first got lost, so that the page still knows of no version.
    assert save(world, "arthur", attempt_id, said(items=(0,), comment="Good.")) == []
    assert (
        save(world, "irene", attempt_id, said("2", items=(0,), comment="Good.", version="r1")) == []
    )
    with pytest.raises(OutdatedVersion):
        save(world, "irene", attempt_id, said(items=(0,), comment="Good."))

    assert len(stored(world, attempt_id)) == 1


def two_written_parts(world: World) -> None:
    """The question with one written part more, for one point."""
    assignment = shipped().assignments[EXPLORATION]
    texts = {name: rubric.text for name, rubric in assignment.rubrics.items()}
    text = texts[QUESTION].replace("points: 10\n", "points: 11\n", 1)
    more = "  limits:\n    text:\n      items: [{points: 1, for: where it ends}]\n"
    texts[QUESTION] = text.replace("compute:\n", more + "compute:\n", 1)
    world.publish(read_assignment(EXPLORATION, assignment.text, texts))


def test_of_several_criteria_all_are_saved_or_none(world: World) -> None:
    two_written_parts(world)
    answer = {"q": "mu_a", "explanation": "Because.", "limits": "Nowhere."}
    attempt_id = world.submit("ada", f"{EXPLORATION}/{QUESTION}", answer)["id"]
    with world.database.read() as session:
        place = place_of(world, session, "irene")
        parts = load_review_tasks(session, world.service.context, place, attempt_id)
    assert [each.criterion for each in parts] == ["explanation", "limits"]
    save(world, "irene", attempt_id, said("1", criterion="limits"))
    assert not queue_of(world, "arthur").entries[0].is_done

    with pytest.raises(OutdatedVersion):
        save(world, "arthur", attempt_id, said("2"), said("0.5", criterion="limits"))
    assert [each.criterion for each in stored(world, attempt_id)] == ["limits"]

    save(world, "arthur", attempt_id, said("2"), said("1", criterion="limits", version="r1"))
    assert [(each.criterion, each.number) for each in stored(world, attempt_id)] == [
        ("explanation", 1),
        ("limits", 1),
    ]
    assert queue_of(world, "arthur").entries[0].is_done


def test_nothing_said_is_nothing_saved(world: World) -> None:
    attempt_id = write(world, "ada")

    with pytest.raises(MalformedRequest):
        save(world, "arthur", attempt_id)

    assert stored(world, attempt_id) == []


def test_an_attempt_of_another_course_is_not_there(world: World) -> None:
    attempt_id = write(world, "ada")
    ivan = world.people["ivan"]
    with world.database.write() as session:
        membership = get_membership(session, Caller(ivan.id, ALL_SCOPES, ivan), run_id="two")
        with pytest.raises(NotFound):
            claim_attempt(session, membership, attempt_id=attempt_id, at=world.clock())
        with pytest.raises(NotFound):
            save_reviews(
                session, world.service.context, membership,
                attempt_id=attempt_id, decisions=[said("1")], at=world.clock(),
            )  # fmt: skip


def test_progress_counts_by_question_criterion_and_person(world: World) -> None:
    first, second, third = write(world, "ada"), write(world, "bob"), write(world, "irene")
    save(world, "irene", first, said("1"))
    save(world, "arthur", second, said("1"))
    save(world, "arthur", second, said("2", version="r1"))
    hold(world, "arthur", third)

    with world.database.read() as session:
        progress = load_progress(
            session, world.service.context, place_of(world, session, "irene"),
            assignment=EXPLORATION, at=world.clock(),
        )  # fmt: skip

    (found,) = [each for each in progress.questions if each.total]
    (criterion,) = found.criteria
    assert (found.rubric.form.id, found.total, found.done) == (QUESTION, 3, 2)
    assert (criterion.waiting, criterion.done) == (1, 2)
    assert dict(criterion.by) == {
        world.people["irene"].name: 1,
        world.people["arthur"].name: 1,
    }
    assert [each.name for each in found.holders] == [world.people["arthur"].name]
    assert progress.waiting == 1


def test_names_are_shown_when_all_is_closed_and_reviewed(world: World) -> None:
    attempt_id = write(world, "ada")

    def are_shown() -> bool:
        context = GradingContext(world.service.context.signing_key)
        with world.database.read() as session:
            place = place_of(world, session, "irene")
            progress = load_progress(
                session, context, place, assignment=EXPLORATION, at=world.clock()
            )
            return may_show_names(
                session, progress.published, place, waiting=progress.waiting, at=world.clock()
            )

    world.clock.now = DUE + timedelta(days=60)
    assert not are_shown()
    save(world, "arthur", attempt_id, said("1"))
    assert are_shown()
    world.clock.now = DUE - timedelta(seconds=1)
    assert not are_shown()


def test_a_pseudonym_says_nothing_and_is_seldom_shared() -> None:
    names = {make_pseudonym(f"att_{number}") for number in range(2000)}

    assert len(names) > 1995
    assert all(len(each) == len("Answer 7F3AK") for each in names)
