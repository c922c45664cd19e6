"""Pages of the gradebook: everybody once in every order, and no more is read than is shown."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlalchemy import text

from bench.statements import explain_statement, record_statements, run_statements
from grader.domain.roles import Role
from grader.store.database import Database
from grader.store.queries.gradebook import (
    BY_LOGIN,
    EVERYBODY,
    MemberPage,
    PageCursor,
    Selection,
    SelectionState,
    SortColumn,
    SortOrder,
    count_selected,
    count_totals,
    find_totals_by_rank,
    list_cells,
    list_named_sections,
    list_page,
)
from grader.store.queries.grades import put_grades
from tests.support.gradebooks import RUN, WORK, Student, add_book, grade

ORDERS = [
    pytest.param(
        SortOrder(column, question, is_descending), id=f"{column}{' falling' * is_descending}"
    )
    for column, question in (
        (SortColumn.LOGIN, ""),
        (SortColumn.TOTAL, ""),
        (SortColumn.QUESTION, "a"),
    )
    for is_descending in (False, True)
]
#: Ties, a grade without points, none at all, and people who are in no gradebook.
STUDENTS = [
    *(Student(f"tie-{each}", {"a": "5", "b": "1"}) for each in "dcabe"),
    *(Student(f"low-{each}", {"a": "0", "b": "7"}) for each in "ba"),
    Student("top", {"a": "10", "b": "10"}),
    Student("no-points", {"a": None, "b": "2.25"}),
    Student("only-b", {"b": "3"}),
    *(Student(f"idle-{each}", {}) for each in "cab"),
    Student("teacher", {}, role=Role.INSTRUCTOR),
    Student("gone", {"a": "9"}, has_left=True),
]
SHOWN = {each.login for each in STUDENTS} - {"teacher", "gone"}


def logins(page: MemberPage) -> list[str]:
    return [each.login for each in page.members]


def pages(
    database: Database,
    order: SortOrder,
    selection: Selection = EVERYBODY,
    *,
    limit: int = 3,
    start: PageCursor | None = None,
) -> list[MemberPage]:
    """All pages from a place on, forwards or backwards."""
    found = []
    while True:
        with database.read() as session:
            page = list_page(
                session, run_id=RUN, assignment=WORK, selection=selection, order=order,
                start=start, limit=limit,
            )  # fmt: skip
        found.append(page)
        following = page.before if start and start.is_backwards else page.after
        if following is None:
            return found
        start = following


def whole(database: Database, order: SortOrder, selection: Selection = EVERYBODY) -> list[str]:
    with database.read() as session:
        return logins(
            list_page(session, run_id=RUN, assignment=WORK, selection=selection, order=order)
        )


@pytest.mark.parametrize("order", ORDERS)
def test_pages_visit_everybody_once_forwards_and_backwards(
    database: Database, order: SortOrder
) -> None:
    add_book(database, STUDENTS)

    forwards = pages(database, order)
    backwards = pages(database, order, start=forwards[-1].before)
    everybody = whole(database, order)

    assert set(everybody) == SHOWN
    assert len(everybody) == len(SHOWN)
    assert [each for page in forwards for each in logins(page)] == everybody
    seen = [each for page in reversed(backwards) for each in logins(page)]
    assert seen == everybody[: len(everybody) - len(forwards[-1].members)]
    assert forwards[0].before is None
    assert forwards[-1].after is None


def test_numbers_come_before_none_and_none_by_login(database: Database) -> None:
    add_book(database, STUDENTS)

    rising, falling = (
        whole(database, SortOrder(SortColumn.QUESTION, "a", each)) for each in (False, True)
    )

    without = ["idle-a", "idle-b", "idle-c", "no-points", "only-b"]
    assert rising[-5:] == falling[-5:] == without
    assert {*rising[:2]} == {"low-a", "low-b"}
    assert falling[0] == rising[-6] == "top"
    assert rising[:-5] == falling[:-5][::-1]


def test_the_order_by_total_is_by_the_sum_of_all_questions(database: Database) -> None:
    add_book(database, STUDENTS)

    order = whole(database, SortOrder(SortColumn.TOTAL, is_descending=True))

    assert order[0] == "top"
    assert {*order[1:3]} == {"low-a", "low-b"}
    assert order[8:] == ["only-b", "no-points", "idle-a", "idle-b", "idle-c"]


@pytest.mark.parametrize("order", ORDERS)
def test_a_student_who_comes_meanwhile_neither_hides_nor_repeats_another(
    database: Database, order: SortOrder
) -> None:
    places = add_book(database, STUDENTS)
    first = pages(database, order)[0]
    with database.write() as session:
        late = Student("low-a", {})
        put_grades(session, [grade(places["idle-a"], "a", "10", late)])

    rest = [each for page in pages(database, order, start=first.after) for each in logins(page)]

    assert len(rest) == len(set(rest))
    assert SHOWN - {"idle-a"} <= {*rest, *logins(first)}
    assert not {*rest} & ({*logins(first)} - {"idle-a"})


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        pytest.param(Selection(text="nobody"), set(), id="a text that nobody has"),
        pytest.param(Selection(text="MAR"), {"mara", "zed"}, id="a part of a login or of a name"),
        pytest.param(Selection(text="%"), {"odd"}, id="a sign of patterns means itself"),
        pytest.param(Selection(section="A"), {"mara", "odd"}, id="a section"),
        pytest.param(Selection(state=SelectionState.LATE), {"zed"}, id="late"),
        pytest.param(Selection(state=SelectionState.OVERRIDDEN), {"odd"}, id="decided by staff"),
        pytest.param(Selection(state=SelectionState.WAITING), {"mara"}, id="waits for a person"),
        pytest.param(Selection(state=SelectionState.NOTHING), {"idle"}, id="nothing sent yet"),
        pytest.param(Selection("mar", "A", SelectionState.WAITING), {"mara"}, id="all at once"),
        pytest.param(
            Selection("mar", "B", SelectionState.WAITING), set(), id="all at once, and nobody"
        ),
    ],
)
@pytest.mark.parametrize("order", ORDERS)
def test_filters_choose_in_every_order(
    database: Database, order: SortOrder, selection: Selection, chosen: set[str]
) -> None:
    add_book(
        database,
        [
            Student("mara", {"a": "1"}, section="A", pending="2"),
            Student("zed", {"a": "2"}, section="B", name="Omar", late=True),
            Student("odd", {"a": "3"}, section="A", name="100 % sure", overridden=True),
            Student("idle", {}, section="B"),
        ],
    )

    found = [each for page in pages(database, order, selection, limit=1) for each in logins(page)]

    assert sorted(found) == sorted(chosen)
    with database.read() as session:
        asked = {"run_id": RUN, "assignment": WORK, "selection": selection}
        assert count_selected(session, **asked) == len(chosen)  # type: ignore[arg-type]
        steps = count_totals(session, **asked, step=Decimal(1))  # type: ignore[arg-type]
        assert sum(steps.values()) == len(chosen - {"idle"})
        assert list_named_sections(session, run_id=RUN) == ["A", "B"]


def test_totals_are_found_by_their_place(database: Database) -> None:
    add_book(database, STUDENTS)
    with database.read() as session:
        found = find_totals_by_rank(
            session, run_id=RUN, assignment=WORK, selection=EVERYBODY, ranks=[0, 1, 9, 10]
        )

    assert found == {0: Decimal("2.25"), 1: Decimal(3), 9: Decimal(20)}


# Totals


def test_totals_are_kept_with_every_grade(database: Database) -> None:
    places = add_book(database, STUDENTS)
    someone = Student("top", {}, pending="1.5")

    with database.write() as session:
        put_grades(session, [grade(places["top"], "a", "0.25", someone)])
        put_grades(session, [grade(places["idle-a"], "c", None, someone)])
        put_grades(session, [grade(places["top"], "a", "3", someone, assignment="other")])

    with database.read() as session:
        rows = session.execute(
            text("SELECT enrolment_id, assignment, points, pending FROM totals")
        ).all()
        sums = session.execute(
            text(
                "SELECT enrolment_id, assignment, COALESCE(SUM(points), 0), SUM(pending)"
                " FROM grades GROUP BY enrolment_id, assignment"
            )
        ).all()
    assert sorted(map(tuple, rows)) == sorted(map(tuple, sums))
    assert (places["top"], WORK, 1025, 150) in set(map(tuple, rows))
    assert (places["idle-a"], WORK, 0, 150) in set(map(tuple, rows))


# How much is read


def many(count: int) -> list[Student]:
    return [
        Student(f"s{each:04}", {name: str(each % 11) for name in "abcd"} if each % 9 else {})
        for each in range(count)
    ]


@pytest.mark.parametrize("order", ORDERS)
def test_a_page_is_read_by_indexes_in_order_and_no_further(
    database: Database, order: SortOrder
) -> None:
    add_book(database, many(600))
    with database.write() as session:
        session.execute(text("ANALYZE"))
    with record_statements(database) as kept:
        page = pages(database, order, limit=20)[0]
        # Only the first page, which is one statement, because it needs one leg only.
        del kept[1:]
    with database.read() as session, record_statements(database) as cells:
        ids = [each.enrolment.id for each in page.members]
        list(list_cells(session, assignment=WORK, enrolment_ids=ids))

    for statement in (*kept, *cells):
        steps = "\n".join(explain_statement(database, statement))
        # SQLite's words first, then PostgreSQL's.
        for bad in ("SCAN ", "TEMP B-TREE", "Seq Scan", "Sort"):
            assert bad not in steps, steps
    assert run_statements(database, kept) == 21
    assert run_statements(database, cells) <= 20 * 4


def test_the_default_order_is_that_of_logins() -> None:
    assert SortOrder() == BY_LOGIN
