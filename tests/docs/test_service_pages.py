"""README, the first answer and grading a course, followed word for word on a real service."""

from __future__ import annotations

from pathlib import Path

from tests.docs.pages import Workshop, name_of, shorten, tidy
from tests.docs.service_pages import SERVICE_PAGES, follow, read_shell_steps, served_demo

MEND = "run `make docs` and read what it changes"


def test_following_the_pages_on_a_fresh_demo_gives_what_they_show(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    with served_demo(workshop):
        for page in SERVICE_PAGES:
            steps = read_shell_steps(page.read_text(encoding="utf-8"))
            for step, (printed, code) in zip(steps, follow(workshop, steps), strict=True):
                assert code == 0, f"{name_of(page)}: {step.typed}\n{printed}"
                if step.shown is not None:
                    shown = tidy(step.shown)
                    assert shorten(tidy(printed), shown) == shown, f"{name_of(page)}: {MEND}"


def test_the_pages_show_the_whole_way_of_students_and_instructors() -> None:
    typed = {
        page.stem: " ".join(each.typed for each in read_shell_steps(page.read_text("utf-8")))
        for page in SERVICE_PAGES
    }

    for call in ("/check", "/attempts", "/bundle", "grader replay"):
        assert call in typed["README"]
        assert call in typed["first-answer"]
    for call in ("/grades", "text/csv", "/reviews", "/override", "If-Match", "/external-scores"):
        assert call in typed["grade-a-course-by-api"]
