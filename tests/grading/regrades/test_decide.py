"""A regrade from the wrong key to the mended grade, and back."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from grader.domain.regrades import RegradeState
from grader.errors import RequestRefused
from grader.rubric.catalog import CompiledAssignment, read_assignment
from grader.store.database import Database
from grader.store.queries.grades import GradeLine
from tests.support import regrades
from tests.support.histories import LONG, QUESTION, long_assignment
from tests.support.world import DUE, World, make_service, question_path

#: `3 k_a` has 0.166 of the weight elsewhere, `8 k_a` 0.0013.
STRICT, WRONG = 0.02, 0.2


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    with make_service(database, published={"one": (), "two": ()}) as world:
        yield world


@pytest.fixture
def mended(world: World) -> World:
    """Ada has 4 points and Bob none, by a tolerance that was mended since."""
    world.publish(long_assignment(within=WRONG))
    world.submit("ada", QUESTION, {"q": "3 k_a"})
    world.submit("ada", QUESTION, {"q": "k_a"})
    world.submit("bob", QUESTION, {"q": "k_a"})
    world.publish(long_assignment(within=STRICT))
    return world


def edit(world: World, old: str, new: str) -> CompiledAssignment:
    """The long assignment with something else in its question."""
    assignment = long_assignment(within=STRICT)
    text = assignment.rubrics["one"].text
    assert old in text
    return read_assignment(LONG, assignment.text, {"one": text.replace(old, new)})


def test_a_preview_judges_again_and_changes_nothing(mended: World) -> None:
    before = regrades.export(mended)
    attempt = mended.read(question_path(QUESTION) + "/attempts", "ada")[0]

    preview = regrades.prepare(mended)

    assert preview.regrade.state is RegradeState.READY
    assert preview.counts.attempts == 3
    assert (preview.counts.up, preview.counts.down, preview.counts.same) == (0, 1, 1)
    (change,) = preview.changes
    assert change.login == "ada"
    assert change.before == 4
    assert change.after == Decimal("1.6")
    assert change.criteria == [{"criterion": "weights", "before": "4", "after": "1.6"}]
    assert regrades.export(mended) == before
    assert mended.read(f"/api/v1/attempts/{attempt['id']}", "ada")["score"] == 4
    assert regrades.find_discrepancies(mended) == {}


def test_applied_it_changes_grades_and_what_attempts_say(mended: World) -> None:
    preview = regrades.prepare(mended)
    regrades.apply(mended, preview.regrade)

    assert regrades.grade_of(mended, "ada").points == Decimal("1.6")
    assert regrades.grade_of(mended, "bob").points == 0
    attempt = mended.read(question_path(QUESTION) + "/attempts", "ada")[0]
    assert attempt["score"] == 1.6
    # By what it was judged can be checked by anybody.
    rubric = long_assignment(within=STRICT).rubrics["one"]
    assert attempt["receipt"]["rubric"] == rubric.version
    assert regrades.outdated(mended) == {}
    assert regrades.find_discrepancies(mended) == {}


def test_undone_it_leaves_grades_as_they_were(mended: World) -> None:
    before = regrades.export(mended)
    line = regrades.grade_of(mended, "ada")
    preview = regrades.prepare(mended)
    regrades.apply(mended, preview.regrade)
    assert regrades.export(mended) != before

    regrades.undo(mended, preview.regrade)

    assert regrades.export(mended) == before
    assert forget_history(regrades.grade_of(mended, "ada")) == forget_history(line)
    assert regrades.outdated(mended) == {"one": 3}
    assert regrades.find_discrepancies(mended) == {}


def forget_history(line: GradeLine) -> GradeLine:
    return line._replace(changes=0, changed_at=DUE)


def test_what_was_undone_can_be_done_again(mended: World) -> None:
    first = regrades.prepare(mended)
    regrades.apply(mended, first.regrade)
    regrades.undo(mended, first.regrade)

    second = regrades.prepare(mended)
    regrades.apply(mended, second.regrade)

    assert second.regrade.number == 2
    assert regrades.grade_of(mended, "ada").points == Decimal("1.6")
    assert regrades.find_discrepancies(mended) == {}


def test_never_lower_leaves_attempts_that_would_earn_less(mended: World) -> None:
    mended.submit("bob", QUESTION, {"q": "3 k_a"})
    mended.publish(edit(mended, "within: 0.25, credit: 0.4", "within: 0.7, credit: 0.5"))

    preview = regrades.prepare(mended, never_lower=True)
    assert (preview.counts.up, preview.counts.down) == (1, 0)
    regrades.apply(mended, preview.regrade)

    assert regrades.grade_of(mended, "ada").points == 4
    assert regrades.grade_of(mended, "bob").points == 2
    attempts = mended.read(question_path(QUESTION) + "/attempts", "ada")
    assert [each["score"] for each in attempts] == [4, 2]
    assert regrades.outdated(mended) == {}, "somebody has decided"
    assert regrades.find_discrepancies(mended) == {}


def test_a_regrade_by_the_same_rubrics_changes_nothing(mended: World) -> None:
    regrades.apply(mended, regrades.prepare(mended).regrade)
    before, line = regrades.export(mended), regrades.grade_of(mended, "ada")

    preview = regrades.prepare(mended, judges_all=True)
    regrades.apply(mended, preview.regrade)

    assert preview.counts.attempts == 0
    assert preview.changes == []
    assert regrades.export(mended) == before
    assert regrades.grade_of(mended, "ada") == line


def test_where_nothing_was_mended_there_is_nothing_to_judge_again(world: World) -> None:
    world.publish(long_assignment())
    world.submit("ada", QUESTION, {"q": "3 k_a"})
    world.publish(edit(world, "Send $q$, and say why.", "Send $q$, and explain it."))

    assert regrades.outdated(world) == {}
    with pytest.raises(RequestRefused, match="nothing to judge again"):
        regrades.start(world)


def test_what_happens_between_preview_and_apply_counts(mended: World) -> None:
    preview = regrades.prepare(mended)
    mended.submit("ada", QUESTION, {"q": "8 k_a"})
    override(mended, "bob", 5.5)

    regrades.apply(mended, preview.regrade)

    ada, bob = regrades.grade_of(mended, "ada"), regrades.grade_of(mended, "bob")
    assert ada.points == 4
    assert ada.attempts == 3
    assert (bob.points, bob.is_overridden) == (Decimal("5.5"), True)
    assert regrades.find_discrepancies(mended) == {}
    regrades.undo(mended, preview.regrade)
    assert regrades.grade_of(mended, "ada").points == 4
    assert regrades.find_discrepancies(mended) == {}


def override(world: World, who: str, points: float | None) -> None:
    path = question_path(QUESTION) + f"/grades/{who}"
    version = world.get(path, "irene").headers["ETag"]
    body = {"points": points, "reason": "As it should be."}
    sent = world.call("PUT", path + "/override", "irene", body, {"If-Match": version})
    assert sent.status_code == 200, sent.text


def test_an_override_stays_and_what_is_below_it_is_judged_again(mended: World) -> None:
    override(mended, "ada", 5.5)

    preview = regrades.prepare(mended)
    assert preview.overrides == [("ada", "one")]
    regrades.apply(mended, preview.regrade)
    assert regrades.grade_of(mended, "ada").points == Decimal("5.5")

    override(mended, "ada", None)
    assert regrades.grade_of(mended, "ada").points == Decimal("1.6")
    assert regrades.find_discrepancies(mended) == {}


def test_more_points_do_not_change_what_was_earned_before(world: World) -> None:
    """Raised from 6 to 9, `4 of 6` must not become `4 of 9` by itself."""
    world.publish(long_assignment(within=STRICT))
    world.submit("ada", QUESTION, {"q": "8 k_a"})
    override(world, "bob", 3)
    assignment = long_assignment(within=STRICT)
    text = assignment.rubrics["one"].text
    worth_more = text.replace("points: 6", "points: 9").replace("points: 4", "points: 7")
    world.publish(read_assignment(LONG, assignment.text, {"one": worth_more}))

    state = world.read(f"/api/v1/courses/one/assignments/{LONG}", "ada")
    assert (state["questions"][0]["points"], state["questions"][0]["max_points"]) == (4, 6)
    assert (state["points"], state["max_points"]) == (4, 6)
    assert regrades.outdated(world) == {"one": 1}
    assert regrades.find_discrepancies(world) == {}

    regrades.apply(world, regrades.prepare(world).regrade)

    grade = world.read(question_path(QUESTION) + "/grades/ada", "irene")
    assert (grade["points"], grade["max_points"]) == (7, 9)
    grade = world.read(question_path(QUESTION) + "/grades/bob", "irene")
    assert (grade["points"], grade["max_points"]) == (3, 6), "staff gave it out of 6"
    assert regrades.find_discrepancies(world) == {}


def test_an_answer_that_is_sent_again_is_told_its_new_result(mended: World) -> None:
    first = mended.read(question_path(QUESTION) + "/attempts", "ada")[0]
    regrades.apply(mended, regrades.prepare(mended).regrade)

    again = mended.submit("ada", QUESTION, {"q": "3 k_a"}, status=200)

    assert again["id"] == first["id"]
    assert again["score"] == 1.6


def test_what_the_new_rubric_cannot_read_is_left_as_it_is(mended: World) -> None:
    mended.publish(edit(mended, "q: {shape: [d], symbols: [k]}", "q: {shape: [d], symbols: []}"))

    preview = regrades.prepare(mended)
    assert preview.counts.left_out == 3
    assert {each.code for each in preview.left_out} == {"answer.unreadable"}
    regrades.apply(mended, preview.regrade)

    assert regrades.grade_of(mended, "ada").points == 4
    assert regrades.find_discrepancies(mended) == {}


def test_an_answer_to_other_numbers_is_left_as_it_is(mended: World) -> None:
    mended.publish(edit(mended, "points: 6", "points: 6\nrevision: 2"))

    preview = regrades.prepare(mended)

    assert {each.code for each in preview.left_out} == {"question.drawn_anew"}
    assert preview.changes == []


def test_somebody_may_decide_against_it(mended: World) -> None:
    assert regrades.outdated(mended) == {"one": 3}
    regrades.decline(mended)

    assert regrades.outdated(mended) == {}
    assert regrades.grade_of(mended, "ada").points == 4
    with pytest.raises(RequestRefused):
        regrades.decline(mended)
    # The next change is another question.
    mended.clock.turn(hours=1)
    mended.publish(long_assignment(within=0.05))
    assert regrades.outdated(mended) == {"one": 3}
    assert regrades.find_discrepancies(mended) == {}


def test_a_discarded_regrade_leaves_nothing_behind(mended: World) -> None:
    preview = regrades.prepare(mended)
    regrades.discard(mended, preview.regrade)

    assert regrades.look(mended, preview.regrade).counts.attempts == 0
    assert regrades.outdated(mended) == {"one": 3}
    with pytest.raises(RequestRefused, match="was discarded"):
        regrades.apply(mended, preview.regrade)
    regrades.apply(mended, regrades.prepare(mended).regrade)
    assert regrades.grade_of(mended, "ada").points == Decimal("1.6")
    assert regrades.find_discrepancies(mended) == {}


def test_a_second_one_waits_for_the_first(mended: World) -> None:
    preview = regrades.prepare(mended)

    with pytest.raises(RequestRefused, match="Regrade 1 of this assignment waits"):
        regrades.start(mended)
    with pytest.raises(RequestRefused, match="Regrade 1 of this assignment waits"):
        regrades.decline(mended)
    regrades.apply(mended, preview.regrade)


def test_only_what_is_in_force_can_be_applied(mended: World) -> None:
    preview = regrades.prepare(mended)
    mended.publish(long_assignment(within=0.05))

    with pytest.raises(RequestRefused, match="Another publication"):
        regrades.apply(mended, preview.regrade)
    assert regrades.grade_of(mended, "ada").points == 4

    regrades.discard(mended, preview.regrade)
    tried = regrades.prepare(mended, publication=2)
    assert not tried.is_in_force
    assert tried.counts.down == 1
    with pytest.raises(RequestRefused, match="Another publication"):
        regrades.apply(mended, tried.regrade)


def test_an_earlier_one_cannot_be_undone_below_a_later_one(mended: World) -> None:
    first = regrades.prepare(mended)
    regrades.apply(mended, first.regrade)
    mended.publish(long_assignment(within=0.3))
    second = regrades.prepare(mended)
    regrades.apply(mended, second.regrade)
    assert regrades.grade_of(mended, "ada").points == 4

    with pytest.raises(RequestRefused, match="Regrade 2 came after it"):
        regrades.undo(mended, first.regrade)
    regrades.undo(mended, second.regrade)
    assert regrades.grade_of(mended, "ada").points == Decimal("1.6")
    regrades.undo(mended, first.regrade)
    assert regrades.grade_of(mended, "ada").points == 4
    assert regrades.find_discrepancies(mended) == {}


def test_after_dates_have_moved_an_undo_counts_by_the_new_ones(mended: World) -> None:
    preview = regrades.prepare(mended)
    regrades.apply(mended, preview.regrade)
    # What was in time is now two days late.
    mended.publish(
        long_assignment(within=STRICT), due_at=mended.clock().replace(day=mended.clock().day - 1)
    )

    regrades.undo(mended, preview.regrade)

    assert regrades.grade_of(mended, "ada").late_days == 1
    assert regrades.find_discrepancies(mended) == {}
