"""The bench of the grade dashboard, in small: what it measures is the real page."""

from __future__ import annotations

import pytest

from bench.engine import measure_pages
from bench.pages import GRADES, ORDERS, BenchService, fill_bench_service
from bench.statements import run_statements
from grader.store.database import Database
from grader.web.pages.gradebook.dashboard import PAGE_SIZE

QUESTIONS = 5


@pytest.fixture
def service(sqlite_database: Database) -> BenchService:
    return fill_bench_service(sqlite_database, students=150, questions=QUESTIONS)


@pytest.mark.parametrize("query", ORDERS.values(), ids=ORDERS)
def test_a_page_reads_what_it_shows_and_little_more(service: BenchService, query: str) -> None:
    page = service.get(GRADES + query)

    assert page.count('<tr><th scope="row"><a ') == PAGE_SIZE
    read = run_statements(service.database, service.statements(GRADES + query))
    # Who asks and for what, the sections, and the steps and quartiles of the histogram.
    assert read <= (PAGE_SIZE + 1) * (QUESTIONS + 1) + 40


@pytest.mark.parametrize("query", ORDERS.values(), ids=ORDERS)
def test_no_plan_reads_or_sorts_a_whole_table(service: BenchService, query: str) -> None:
    plans = service.plans(GRADES + query)

    steps = [step for plan in plans.values() for step in plan]
    assert len(plans) == 2
    assert all(step.startswith("SEARCH ") for step in steps), steps


def test_figures_are_made_for_every_page_and_order() -> None:
    figures = measure_pages(turns=1, with_plans=False, sizes=[20])

    assert len(figures) == 3 * (5 + len(ORDERS))
    assert all(each.measured >= 0 for each in figures)
