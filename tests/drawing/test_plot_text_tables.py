"""The numbers beside a picture are those in it."""

from __future__ import annotations

from grader.drawing.plot_text import build_tables
from grader.feedback.plots import HeatMap, OutputPlane, WeightBars


def test_weights_have_a_row_for_each_key_and_a_column_for_each_quantile() -> None:
    keys = ((0.1, 0.2, 0.3, 0.4, 0.5), (0.0, 0.0, 0.125, 0.25, 1.0))

    (table,) = build_tables(WeightBars("Weights", keys, {1: "a"}))

    assert table.heads == ("key", "5 %", "25 %", "50 %", "75 %", "95 %")
    assert table.rows == (
        ("key 0", "0.1", "0.2", "0.3", "0.4", "0.5"),
        ("key 1 = a", "0", "0", "0.125", "0.25", "1"),
    )


def test_every_output_is_counted_once_wherever_it_lies() -> None:
    points = ((0.0, 0.0), (0.5, 0.1), (0.52, 0.0), (1.0, 0.0), (7.0, 0.0), (-0.4, 0.0))

    (table,) = build_tables(OutputPlane("Outputs", ("v_a", "v_b"), points))

    counts = {row[0]: int(row[1]) for row in table.rows}
    assert counts["0 (v_a)"] == 1
    assert counts["0.5 (the target)"] == 2
    assert counts["1 (v_b)"] == 1
    assert counts["beyond"] == 2
    assert sum(counts.values()) == len(points)


def test_a_matrix_is_itself_and_a_large_one_is_cut() -> None:
    small = ((1.0, 2.0, 3.0), (4.0, 5.0, 0.123456))
    large = tuple((float(row),) * 40 for row in range(50))

    first, second = build_tables(HeatMap("Map", (small, large), ("came", "should")))

    assert first.caption == "came"
    assert first.rows == (("0", "1", "2", "3"), ("1", "4", "5", "0.1235"))
    assert "first 32" in second.caption
    assert len(second.rows) == 32
    assert len(second.rows[0]) == 33


def test_a_picture_of_nothing_has_no_table() -> None:
    assert build_tables(WeightBars("Weights", (), {})) == []
    assert build_tables(OutputPlane("Outputs", ("a", "b"), ())) == []
