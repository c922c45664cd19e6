from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import numpy as np
import pytest

from grader.accounts.callers import Caller, Membership
from grader.domain.fairness import Group
from grader.domain.roles import Role
from grader.engine.random.draws import (
    DistinctIndices,
    Draw,
    Gaussian,
    Orthonormal,
    Uniform,
    UnitRows,
)
from grader.engine.random.variants import Variant
from grader.errors import MissingRole, NotFound
from grader.grading.analytics.drilldown import AttemptFilter, AttemptPage, list_filtered_attempts
from grader.grading.analytics.question import (
    AssignmentAnalysis,
    QuestionAnalysis,
    compare_quantities,
    list_quantities,
    load_assignment_analysis,
    load_question_analysis,
)
from grader.grading.caches import CachedValue
from grader.grading.submissions.submit import SubmitRequest
from grader.rubric.catalog import Rubric
from grader.store.database import Database, Session
from tests.grading.analytics.test_statistics import (
    HOMEWORK,
    ONE_KEY,
    OPENS,
    RIGHT,
    RUN,
    TOO_SHORT,
    Classroom,
)

#: For 1b: right weights at a price, and a prediction that no misconception explains.
STRAY = {"q": "40 k_i", "gap": "1"}


@pytest.fixture
def classroom(database: Database) -> Classroom:
    made = Classroom(database)
    made.open()
    return made


def place_of(role: Role = Role.ASSISTANT) -> Membership:
    return Membership(Caller("per_prof", frozenset()), RUN, role, None)


@contextmanager
def reading(classroom: Classroom) -> Iterator[Session]:
    with classroom.database.read() as session:
        yield session


def analyse(classroom: Classroom, *, minutes: float = 0) -> CachedValue[AssignmentAnalysis]:
    with reading(classroom) as session:
        return load_assignment_analysis(
            session, classroom.context, place_of(), assignment=HOMEWORK,
            at=OPENS + timedelta(minutes=minutes),
        )  # fmt: skip


def question_of(classroom: Classroom, question: str = "1c") -> QuestionAnalysis:
    with reading(classroom) as session:
        return load_question_analysis(
            session, classroom.context, place_of(), assignment=HOMEWORK, question=question, at=OPENS
        )


def behind(
    classroom: Classroom,
    wanted: AttemptFilter,
    question: str = "1c",
    *,
    after: tuple[str, str] | None = None,
    limit: int = 200,
) -> AttemptPage:
    with reading(classroom) as session:
        return list_filtered_attempts(
            session, classroom.context, place_of(), assignment=HOMEWORK, question=question,
            condition=wanted, after=after, limit=limit,
        )  # fmt: skip


def test_figures_are_those_of_the_statistics(classroom: Classroom) -> None:
    classroom.enrol("ada", "bo")
    classroom.send("ada", RIGHT)
    classroom.send("bo", TOO_SHORT)

    assert analyse(classroom).value.statistics == classroom.statistics()
    assert question_of(classroom).statistics == classroom.question()


def test_figures_say_of_when_they_are_and_follow_what_happens(classroom: Classroom) -> None:
    classroom.enrol("ada")
    before = analyse(classroom)
    same = analyse(classroom, minutes=1)
    classroom.send("ada", RIGHT)
    after = analyse(classroom, minutes=2)

    assert same is before
    assert before.value.statistics.attempts == 0
    assert after.value.statistics.attempts == 1
    assert after.at == OPENS + timedelta(minutes=2)


def test_answers_that_nothing_explains_are_grouped_by_what_they_did(classroom: Classroom) -> None:
    classroom.enrol("ada", "bo", "cy")
    classroom.send("ada", STRAY, question="1b", minute=3)
    classroom.send("ada", {"q": "41 k_i", "gap": "1.001"}, question="1b", minute=4)
    classroom.send("bo", {"q": "42 k_i", "gap": "1.002"}, question="1b", minute=1)
    classroom.send("cy", {"q": "40 k_i", "gap": "50"}, question="1b", minute=2)
    classroom.send("cy", TOO_SHORT)
    found = question_of(classroom, "1b").unexplained

    assert (found.attempts, found.students, found.group_count) == (4, 3, 2)
    assert [(each.students, each.attempts) for each in found.groups] == [(2, 3), (1, 1)]
    traits = {each.criterion: each for each in found.groups[0].traits}
    assert traits["gap"].outcome == "not_met"
    assert traits["gap"].gap is not None
    assert traits["gap"].gap.way == "below"
    # What a misconception explains is in no group.
    assert question_of(classroom).unexplained.attempts == 0
    page = behind(classroom, AttemptFilter(group=found.groups[0].key), "1b")
    assert [each.student for each in page.rows] == ["bo", "ada", "ada"]
    assert page.rows[0].id == found.groups[0].example
    assert page.traits == found.groups[0].traits


def test_a_number_leads_to_as_many_attempts(classroom: Classroom) -> None:
    classroom.enrol("ada", "bo")
    classroom.enrol("prof", role=Role.INSTRUCTOR)
    classroom.send("prof", TOO_SHORT)
    classroom.send("ada", TOO_SHORT, minute=1)
    classroom.send("ada", ONE_KEY, minute=2)
    classroom.send("ada", RIGHT, minute=3)
    classroom.send("bo", {"q": "2 (k_i + k_j)"}, minute=4)
    statistics = classroom.question()

    assert behind(classroom, AttemptFilter()).count == statistics.attempts == 4
    assert behind(classroom, AttemptFilter(is_first=True)).count == 2
    assert behind(classroom, AttemptFilter(is_unsolved=True)).count == 3
    assert behind(classroom, AttemptFilter(needs_person=True)).count == 0
    for each in statistics.misconceptions:
        page = behind(classroom, AttemptFilter(misconception=each.id))
        assert (page.count, page.students) == (each.attempts, each.students)
        assert page.rows[0].id == each.example
    for criterion in statistics.criteria:
        for outcome in ("met", "partly_met", "not_met", "ungradable", "pending"):
            wanted = AttemptFilter(criterion=criterion.id, outcome=outcome)
            assert behind(classroom, wanted).count == getattr(criterion.attempts, outcome)
            wanted = AttemptFilter(criterion=criterion.id, outcome=outcome, is_first=True)
            assert behind(classroom, wanted).count == getattr(criterion.first_attempts, outcome)
    assert behind(classroom, AttemptFilter(misconception="no-such")).rows == ()


def test_pages_go_on_where_the_one_before_ended(classroom: Classroom) -> None:
    classroom.enrol("ada", "bo")
    for number in range(5):
        # Two at the same moment are told apart by their ids.
        classroom.send("ada" if number % 2 else "bo", {"q": f"{number} k_i"}, minute=number // 2)
    seen: list[str] = []
    after = None
    for size in (2, 2, 1):
        page = behind(classroom, AttemptFilter(), after=after, limit=2)
        assert (len(page.rows), page.count, page.has_more) == (size, 5, size == 2)
        after = page.rows[-1].place
        seen += [each.id for each in page.rows]

    assert seen == [each.id for each in behind(classroom, AttemptFilter()).rows]
    assert len(set(seen)) == 5


def test_only_staff_look_and_what_is_not_there_is_not_found(classroom: Classroom) -> None:
    with reading(classroom) as session, pytest.raises(MissingRole):
        load_assignment_analysis(
            session, classroom.context, place_of(Role.STUDENT), assignment=HOMEWORK, at=OPENS
        )
    with pytest.raises(NotFound):
        question_of(classroom, "9z")
    with pytest.raises(NotFound):
        behind(classroom, AttemptFilter(), "9z")


# Fairness


def send_first_attempts(classroom: Classroom, solves: int) -> dict[str, int]:
    """24 students try 1c; those whose index i is below `solves` are right. Return all indices."""
    logins = [f"s{number:02}" for number in range(24)]
    classroom.enrol(*logins)
    rubric = classroom_rubric(classroom)
    with classroom.writing() as session:
        pairs = [(classroom.members[login], rubric) for login in logins]
        variants = classroom.context.variants(session, pairs, at=OPENS)
    index = {
        login: int(variants[classroom.members[login].id, rubric.id].indices["i"])
        for login in logins
    }
    classroom.send_all(
        [
            SubmitRequest(
                classroom.members[login], HOMEWORK, "1c",
                RIGHT if index[login] < solves else TOO_SHORT, OPENS,
            )
            for login in logins
        ]
    )  # fmt: skip
    return index


def classroom_rubric(classroom: Classroom) -> Rubric:
    with reading(classroom) as session:
        published = classroom.context.in_force(session, run_id=RUN.id, assignment=HOMEWORK)
        return published.rubric("1c")


def test_a_draw_that_decides_everything_is_named(classroom: Classroom) -> None:
    index = send_first_attempts(classroom, solves=3)
    fairness = question_of(classroom).fairness.value

    assert fairness.n == 24
    (telling,) = fairness.significant
    assert telling.name == "i"
    students = Counter(index.values())
    wanted = [
        Group(str(each), students[each], students[each] if each < 3 else 0)
        for each in sorted(students)
    ]
    assert list(telling.groups) == wanted
    assert telling.p_value <= telling.adjusted < 0.05
    assert telling.hardest.share == 0
    assert telling.easiest.share == 1


def test_where_everybody_is_right_no_draw_is_harder(classroom: Classroom) -> None:
    send_first_attempts(classroom, solves=99)
    fairness = question_of(classroom).fairness.value

    assert fairness.is_enough
    assert fairness.comparisons
    assert fairness.significant == ()
    assert all(each.adjusted == 1 for each in fairness.comparisons)


def test_too_few_students_are_not_compared(classroom: Classroom) -> None:
    classroom.enrol("ada")
    classroom.send("ada", RIGHT)
    fairness = question_of(classroom).fairness.value

    assert (fairness.n, fairness.is_enough, fairness.comparisons) == (1, False, ())
    # Nobody's first attempt at a written part says anything.
    assert question_of(classroom, "1a").fairness.value.n == 0


def test_only_what_may_matter_is_looked_at() -> None:
    draws = (
        Draw(("a", "b"), DistinctIndices(2, 5)),
        Draw(("frame",), Orthonormal(3, 5)),
        Draw(("t",), Uniform(0, 1)),
        Draw(("g",), Gaussian((4,))),
        Draw(("h",), Gaussian((3, 4))),
        Draw(("u",), UnitRows(3, 4, 0.9)),
    )
    found = {(each.name, each.what): each.measure for each in list_quantities(draws)}

    assert [name for name, _ in found] == ["a", "b", "t", "g", "h", "h", "u"]
    values = {
        "g": np.array([3.0, 4.0]),
        "h": np.array([[0.0, 0, 0], [3, 4, 0], [0, 0, 1]]),
        "t": np.array(0.25),
    }
    drawn = Variant("anybody", values, {"a": 3})
    assert found["a", "the index"](drawn) == 3
    assert found["t", "the number"](drawn) == 0.25
    assert found["g", "its length"](drawn) == 5
    assert found["h", "the smallest distance of two rows"](drawn) == 1


def test_looking_at_more_draws_makes_each_of_them_less_telling() -> None:
    generator = np.random.default_rng(5)
    solved = generator.random(60) < 0.5
    harder = np.where(solved, generator.random(60) < 0.75, generator.random(60) < 0.25)
    quantities = list(list_quantities((Draw(tuple("abcdefgh"), DistinctIndices(8, 9)),)))
    others = generator.integers(0, 3, size=(60, 7))

    alone = compare_quantities(quantities[:1], harder[:, None].astype(float), solved)
    among = compare_quantities(quantities, np.column_stack([harder, others]).astype(float), solved)

    assert alone.comparisons[0].adjusted == alone.comparisons[0].p_value
    assert among.comparisons[0].p_value == alone.comparisons[0].p_value
    assert among.comparisons[0].adjusted > alone.comparisons[0].adjusted
