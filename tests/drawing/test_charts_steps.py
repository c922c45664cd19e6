from __future__ import annotations

import re
from xml.etree.ElementTree import fromstring

import pytest

from grader.drawing.charts import draw_step_chart


def draw(shares: list[float], title: str = "Left") -> str:
    return draw_step_chart(shares, name="s", title=title, summary="Some.", below="attempts")


def test_the_line_goes_down_to_each_share() -> None:
    drawn = fromstring(draw([0.5, 0.0]))
    (line,) = (each for each in drawn.iter("path") if each.get("class") == "steps")
    heights = [float(each) for each in re.findall(r"V([\d.]+)", line.get("d", ""))]

    # From 22 at 100 % down to 172 at 0 %.
    assert heights == [97, 172]


@pytest.mark.parametrize("count", [0, 1, 40])
def test_a_picture_has_a_name_and_says_what_it_shows(count: int) -> None:
    drawn = fromstring(draw([1 - place / count for place in range(count)]))

    assert drawn.get("role") == "img"
    assert drawn.get("aria-labelledby") == "s-title s-summary"
    assert drawn.findtext("title") == "Left"
    assert drawn.findtext("desc") == "Some."


def test_text_stays_text() -> None:
    assert "<script" not in draw([0.5], title="<script>alert(1)</script>")
