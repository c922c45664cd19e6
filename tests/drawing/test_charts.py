"""Bar charts: their counts are text, their names are safe, and nothing lies outside."""

from __future__ import annotations

from xml.etree.ElementTree import Element, fromstring

import pytest

from grader.drawing.charts import Bar, ReferenceLine, draw_bar_chart


def draw(
    *counts: int, mark: ReferenceLine | None = None, band: tuple[float, float] | None = None
) -> Element:
    columns = [Bar(str(place), count) for place, count in enumerate(counts)]
    drawn = draw_bar_chart(
        columns, name="n", title="Title", summary="Summary", below="points", mark=mark, band=band
    )
    return fromstring(drawn)


def texts(svg: Element) -> list[str]:
    return [each.text or "" for each in svg.iter("text")]


def bars(svg: Element) -> list[float]:
    return [
        float(each.get("height", "0")) for each in svg.iter("rect") if each.get("class") == "count"
    ]


def test_every_count_is_written_and_drawn_to_scale() -> None:
    svg = draw(3, 0, 6)

    assert bars(svg)[1] == pytest.approx(2 * bars(svg)[0])
    assert {"3", "6"} <= set(texts(svg))


def test_a_chart_has_a_title_and_a_summary_for_those_who_cannot_see_it() -> None:
    svg = draw(1)

    named = (svg.get("aria-labelledby") or "").split()
    assert [each.text for name in named for each in svg.iter() if each.get("id") == name] == [
        "Title",
        "Summary",
    ]


@pytest.mark.parametrize("counts", [(), (0,), (1,), (10_000,) * 40], ids=str)
def test_any_number_of_columns_stays_inside(counts: tuple[int, ...]) -> None:
    svg = draw(*counts, mark=ReferenceLine("median", 99.0), band=(-3.0, 99.0))

    _, _, width, height = (float(each) for each in (svg.get("viewBox") or "").split())
    for each in svg.iter("rect"):
        assert float(each.get("x", "0")) >= 0
        assert float(each.get("x", "0")) + float(each.get("width", "0")) <= width
        assert float(each.get("y", "0")) + float(each.get("height", "0")) <= height


def test_labels_are_text_whatever_they_hold() -> None:
    hostile = "</text><script>alert(1)</script>"

    drawn = draw_bar_chart([Bar(hostile, 1)], name="n", title=hostile, summary=hostile)

    assert "<script" not in drawn
    assert fromstring(drawn).find("title").text == hostile  # type: ignore[union-attr]  # it is there


def test_the_scale_is_round_and_reaches_every_count() -> None:
    for most in (1, 2, 3, 9, 10, 11, 99, 101, 999, 4321):
        top = max(int(each) for each in texts(draw(most)) if each.isdigit())
        assert top >= most
