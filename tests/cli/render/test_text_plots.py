from __future__ import annotations

import io
import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from grader.cli.render.text_plots import draw_text
from grader.drawing.plot_text import PlaneView, describe_picture, format_number, format_share
from grader.drawing.svg import SHEET_WIDTH, draw_svg
from grader.feedback.plots import HeatMap, OutputPlane, Picture, WeightBars

BARS = WeightBars(
    "Weights of the keys",
    tuple((m - 0.03, m - 0.01, m, m + 0.01, m + 0.04) for m in (0.05, 0.476, 0.061, 0.413)),
    {1: "a", 3: "b"},
)


def plane(*points: tuple[float, float]) -> OutputPlane:
    return OutputPlane("Outputs", ("v_a", "v_b"), points)


def compare(came: np.ndarray, should: np.ndarray) -> HeatMap:
    came, should = np.atleast_2d(came), np.atleast_2d(should)
    matrices = tuple(tuple(map(tuple, each.tolist())) for each in (came, should))
    return HeatMap("A matrix", matrices, ("what comes out", "what should"))


def entries(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal((rows, columns))


def spoilt(rows: int, columns: int) -> np.ndarray:
    """The entries, but one differs."""
    matrix = entries(rows, columns)
    matrix[-1, 2] += 5
    return matrix


BIMODAL = plane(*[(0.0, 0.0)] * 30, *[(1.0, 0.0)] * 10)
CLOUD = plane(*zip(entries(1, 300)[0] * 0.2 + 0.5, abs(entries(2, 300)[1]) * 0.2, strict=True))
FAR = plane(*[(0.5, 0.0)] * 95, *[(50.5, 0.0)] * 2, (-9.0, 0.0), (0.5, 9.0), (0.5, 0.2))
SMALL = compare(entries(3, 4), spoilt(3, 4))
LARGE = compare(entries(16, 16), spoilt(16, 16))
VECTOR = compare(entries(1, 6), spoilt(1, 6))

PICTURES = [
    pytest.param(BARS, id="weights"),
    pytest.param(replace(BARS, quantiles=BARS.quantiles * 20), id="weights of many keys"),
    pytest.param(replace(BARS, quantiles=((-3.0, -2.0, -1.0, 0.0, 1.0),)), id="negative weights"),
    pytest.param(BIMODAL, id="outputs at both ends"),
    pytest.param(CLOUD, id="outputs all around"),
    pytest.param(FAR, id="outputs far away"),
    pytest.param(SMALL, id="small matrices"),
    pytest.param(LARGE, id="large matrices"),
    pytest.param(compare(entries(40, 64), entries(40, 64)), id="matrices wider than a terminal"),
    pytest.param(VECTOR, id="vectors"),
    pytest.param(HeatMap("One", (((0.25, 1e-9),),), ("weights",)), id="one matrix"),
]

DEGENERATE = [
    pytest.param(WeightBars("", (), {}), id="no keys"),
    pytest.param(WeightBars("", (), {4: "a"}), id="a name without its key"),
    pytest.param(WeightBars("", ((0.0,) * 5,), {}), id="one key without weight"),
    pytest.param(WeightBars("", ((math.nan,) * 5, (math.inf,) * 5), {}), id="no finite weight"),
    pytest.param(WeightBars("", ((-1e308, 0, 0, 0, 1e308), (5e-324,) * 5), {}), id="huge weights"),
    pytest.param(plane(), id="no outputs"),
    pytest.param(plane((0.5, 0.0)), id="one output"),
    pytest.param(plane((math.nan, math.nan)), id="end points that are one"),
    pytest.param(plane((1e308, 1e308), (-1e308, 0.0)), id="outputs at the end of the world"),
    pytest.param(HeatMap("", (), ()), id="no matrix"),
    pytest.param(HeatMap("", ((),), ("weights",)), id="a matrix without rows"),
    pytest.param(HeatMap("", (((),),), ("weights",)), id="a matrix without columns"),
    pytest.param(compare(np.zeros((2, 2)), np.zeros((2, 2))), id="zeros"),
    pytest.param(compare(np.zeros((2, 2)), np.zeros((3, 3))), id="two shapes"),
    pytest.param(
        compare(np.full((9, 9), np.nan), np.zeros((9, 9))), id="entries that are not finite"
    ),
]


def parse(picture: Picture, title: str = "A question") -> ElementTree.Element:
    return ElementTree.fromstring(draw_svg([picture], title=title))


def tags(root: ElementTree.Element) -> list[str]:
    return [each.tag.removeprefix("{http://www.w3.org/2000/svg}") for each in root.iter()]


def words(root: ElementTree.Element) -> list[str]:
    """The texts that can be seen, in order."""
    found = root.iter("{http://www.w3.org/2000/svg}text")
    return [each.text or "" for each in found]


# Both drawings


@pytest.mark.parametrize("picture", [*PICTURES, *DEGENERATE])
def test_every_picture_can_be_drawn(picture: Picture) -> None:
    assert describe_picture(picture) in " ".join(draw_text(picture).plain.split())
    assert describe_picture(picture) in " ".join(words(parse(picture)))


@given(
    st.lists(st.tuples(st.floats(-10, 10), st.floats(0, 10)), min_size=1),
    st.integers(1, 120),
)
def test_every_output_is_counted_in_its_place_or_shown_by_an_arrow(
    points: list[tuple[float, float]], bins: int
) -> None:
    view = PlaneView.of(points)
    strays = [each for each in points if view.arrow(each) is not None]

    assert sum(view.histogram(points, bins)) + len(strays) == len(points)
    assert ("Too far away" in describe_picture(plane(*points))) == bool(strays)


def test_the_summary_tells_the_middle_from_the_two_ends() -> None:
    summary = describe_picture(plane((0.5, 0.05), (0.5, 0.3), (0.2, 0.0), (0.8, 0.0)))

    assert summary == (
        "Of 4 outputs, 25 % are within 0.1 of the middle, 25 % elsewhere and nearer to v_a, "
        "25 % elsewhere and nearer to v_b, 25 % elsewhere and as near to both."
    )


def test_outputs_far_away_are_said_to_be_so() -> None:
    assert "Too far away to be drawn: 4 % (see the arrows" in describe_picture(FAR)
    assert "the farthest is 50 from the middle" in describe_picture(FAR)
    assert {"◀", "▶", "▲"} <= set(draw_text(FAR).plain)
    assert {"◀ 1", "▶ 2", "▲ 1"} <= set(words(parse(FAR)))


def test_a_few_strays_do_not_shrink_the_picture() -> None:
    assert PlaneView.of(FAR.points) == PlaneView.of(BIMODAL.points)


def test_the_largest_difference_is_stated_with_its_place() -> None:
    came, should = SMALL.matrices[0][2][2], SMALL.matrices[1][2][2]

    assert describe_picture(SMALL) == (
        "Largest difference: 5 at row 2, column 2 "
        f"(what comes out: {format_number(came)}; what should: {format_number(should)})."
    )
    assert "at entry 2 " in describe_picture(VECTOR)
    assert describe_picture(compare(np.eye(2), np.eye(2))) == "No entry differs."


def test_the_named_keys_are_summed_up_apart_from_the_others() -> None:
    assert describe_picture(BARS) == (
        "Median weights: key 1 = a: 0.476; key 3 = b: 0.413; "
        "the largest of the others, key 2: 0.061."
    )


@pytest.mark.parametrize(
    ("part", "text"),
    [(0, "0 %"), (1, "under 1 %"), (500, "50 %"), (999, "over 99 %"), (1000, "100 %")],
)
def test_a_share_is_none_or_all_only_where_it_is_so_exactly(part: int, text: str) -> None:
    assert format_share(part, 1000) == text


@pytest.mark.parametrize(
    ("value", "text"), [(-0.0, "0"), (0.12345, "0.123"), (3.2e-5, "3.2e-5"), (-4e16, "-4e16")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert format_number(value) == text


# Text


@pytest.mark.parametrize("width", [48, 72, 88])
@pytest.mark.parametrize("picture", [*PICTURES, *DEGENERATE])
def test_no_line_is_wider_than_asked(picture: Picture, width: int) -> None:
    assert all(line.cell_len <= width for line in draw_text(picture, width=width).split())


def test_each_weight_has_a_line_with_its_number() -> None:
    lines = draw_text(BARS).plain.splitlines()[1:5]

    assert [line.split()[1] for line in lines] == ["0", "1", "2", "3"]
    assert [re.findall(r"0\.\d+", line) for line in lines] == [
        ["0.05"],
        ["0.476"],
        ["0.061"],
        ["0.413"],
    ]


def test_named_keys_stand_out_without_colour_too() -> None:
    out = io.StringIO()
    Console(file=out, color_system=None, width=80).print(draw_text(BARS))
    marked = [line for line in out.getvalue().splitlines() if "◀" in line]

    assert [line[:9] for line in marked] == ["key 1 = a", "key 3 = b"]
    assert [line.rstrip()[-3:] for line in marked] == ["◀ a", "◀ b"]


def test_a_longer_weight_has_a_longer_bar() -> None:
    bars = [line.count("█") for line in draw_text(BARS).plain.splitlines()[1:5]]

    assert bars[1] > bars[3] > bars[2] >= bars[0]


def test_outputs_that_coincide_are_one_column_above_the_target() -> None:
    lines = draw_text(plane(*[(0.5, 0.0)] * 400)).plain.splitlines()
    axis = next(line for line in lines if "◎" in line)

    assert {line.index("█") for line in lines if "█" in line} == {axis.index("◎")}


def test_outputs_at_both_ends_stand_above_the_end_points() -> None:
    lines = draw_text(BIMODAL).plain.splitlines()
    axis = next(line for line in lines if "◎" in line)
    ends = [place for place, sign in enumerate(axis) if sign == "●"]

    assert [place for place, sign in enumerate(lines[8]) if sign == "█"] == ends
    assert "v_a" in lines[10]
    assert "½" in lines[10]
    assert "v_b" in lines[10]


def test_outputs_aside_of_the_line_are_drawn_above_it() -> None:
    lines = draw_text(plane((0.5, 0.45), (0.5, 0.0))).plain.splitlines()

    assert [index for index, line in enumerate(lines[:9]) if "·" in line] == [1, 8]


def test_small_matrices_are_numbers_and_large_ones_shades_with_a_legend() -> None:
    small, large = draw_text(SMALL).plain, draw_text(LARGE).plain

    assert all(format_number(entry) in small for row in SMALL.matrices[0] for entry in row)
    assert "░ ▒ ▓ █ up to" not in small
    assert "░ ▒ ▓ █ up to" in large


def test_the_sign_of_a_shade_is_seen_without_colour() -> None:
    matrix = np.zeros((9, 9))
    matrix[0, :2] = -1, 1

    assert draw_text(compare(matrix, matrix)).plain.splitlines()[3].startswith(" 0 -███ ·")


def test_columns_that_do_not_fit_are_said_to_be_left_out() -> None:
    wide = compare(entries(2, 64), entries(2, 64))

    assert "Only the first 34 of 64 columns fit." in draw_text(wide, width=72).plain


def test_matrices_stand_side_by_side_and_vectors_one_above_the_other() -> None:
    matrices = draw_text(compare(np.eye(3), np.eye(3))).plain.splitlines()
    vectors = draw_text(VECTOR).plain.splitlines()

    assert matrices[1] == "what comes out     what should"
    assert [vectors[1], vectors[4]] == ["what comes out", "what should"]


def test_a_label_cannot_command_the_terminal() -> None:
    hostile = OutputPlane("\x1b[2Jtitle\n\x07", ("v\x1b]0;a", "v\nb"), ((0.5, 0.0),))

    assert re.findall(r"[\x00-\x09\x0b-\x1f]", draw_text(hostile).plain) == []
    assert draw_text(hostile).plain.startswith("[2Jtitle\n")


# SVG


@pytest.mark.parametrize("picture", [*PICTURES, *DEGENERATE])
def test_every_picture_is_one_image_with_a_name_and_a_description(picture: Picture) -> None:
    root = parse(picture)

    assert root.get("role") == "img"
    assert tags(root)[1:4] == ["title", "desc", "style"]
    assert describe_picture(picture) in (root[1].text or "")


def test_hostile_labels_are_text_and_nothing_else() -> None:
    hostile = "</text><script>alert(1)</script>\x00\ud800"
    for picture in (
        replace(BARS, title=hostile, named={1: hostile}),
        OutputPlane(hostile, (hostile, hostile), ((0.5, 0.0),)),
        replace(SMALL, title=hostile, captions=(hostile, hostile)),
    ):
        root = parse(picture, hostile)

        assert "script" not in tags(root)
        assert "</text><script>alert(1)</script>" in words(root)


def test_the_file_needs_nothing_from_elsewhere() -> None:
    svg = draw_svg([BARS, BIMODAL, LARGE], title="A question")
    elsewhere = svg.replace('xmlns="http://www.w3.org/2000/svg"', "")

    assert not re.search(r"http|@import|href|url\((?!#scale-\d+\))|<image|<script", elsewhere)


def test_the_colours_follow_the_reader_between_light_and_dark() -> None:
    assert "@media (prefers-color-scheme: dark)" in draw_svg([BARS], title="A question")


def test_pictures_stand_below_each_other_and_share_no_id() -> None:
    root = ElementTree.fromstring(draw_svg([LARGE, BARS, LARGE], title="A question"))
    starts = [
        float(each.get("transform", "").split()[1][:-1]) for each in root if each.get("transform")
    ]
    ids = [each.get("id") for each in root.iter() if each.get("id")]

    assert starts == sorted(starts)
    assert starts[-1] < float(root.get("height", "0"))
    assert len(ids) == len(set(ids)) == 4


@pytest.mark.parametrize("picture", PICTURES)
def test_nothing_is_drawn_outside_the_sheet(picture: Picture) -> None:
    for group in parse(picture).iter("{http://www.w3.org/2000/svg}g"):
        for each in group.findall("{http://www.w3.org/2000/svg}rect"):
            left, width = float(each.get("x", "nan")), float(each.get("width", "nan"))
            assert left >= 0
            assert left + width <= SHEET_WIDTH - 64


def test_each_weight_and_each_entry_of_a_small_matrix_has_its_number() -> None:
    assert {"0.05", "0.476", "0.061", "0.413"} <= set(words(parse(BARS)))
    small = compare(np.array([[0.25, -1], [3, 4]]), np.eye(2))
    assert {"0.25", "-1", "3", "4"} <= set(words(parse(small)))


def test_large_matrices_have_a_legend_instead_of_numbers() -> None:
    assert "linearGradient" in tags(parse(LARGE))
    assert "linearGradient" not in tags(parse(SMALL))


def test_zero_is_white_and_the_signs_are_blue_and_red() -> None:
    root = parse(compare(np.array([[-2.0, 0.0, 2.0]]), np.array([[-2.0, 0.0, 2.0]])))
    fills = [each.get("fill") for each in root.iter() if each.get("fill")]

    assert fills == ["#2166ac", "#f7f7f7", "#b2182b"] * 2


def test_without_pictures_there_is_still_an_image() -> None:
    root = ElementTree.fromstring(draw_svg([], title="A question"))

    assert root[1].text == "There is no picture."
