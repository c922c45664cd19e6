"""The difference of two texts: every line that went or came, with its number and what is around."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader.grading.publishing.history import DiffKind, compare_texts

texts = st.lists(st.sampled_from(["", "a", "b: 1", "  c"]), max_size=30).map("\n".join)


def test_a_changed_line_is_removed_and_added() -> None:
    difference = compare_texts("a\nb\nc", "a\nB\nc")

    assert [(each.kind, each.text, each.before, each.after) for each in difference] == [
        (DiffKind.SAME, "a", 1, 1),
        (DiffKind.REMOVED, "b", 2, None),
        (DiffKind.ADDED, "B", None, 2),
        (DiffKind.SAME, "c", 3, 3),
    ]


def test_what_is_far_from_every_change_is_left_out() -> None:
    lines = [str(number) for number in range(40)]

    difference = compare_texts("\n".join(lines), "\n".join([*lines[:20], "x", *lines[20:]]))

    assert [each.text for each in difference] == ["", "17", "18", "19", "x", "20", "21", "22"]
    assert difference[0].kind is DiffKind.GAP


@given(texts, texts)
def test_lines_are_those_of_their_texts_and_all_that_changed_is_there(old: str, new: str) -> None:
    before, after = old.splitlines(), new.splitlines()
    difference = compare_texts(old, new)

    for each in difference:
        assert each.before is None or before[each.before - 1] == each.text
        assert each.after is None or after[each.after - 1] == each.text
    removed = {each.before for each in difference if each.kind is DiffKind.REMOVED}
    added = {each.after for each in difference if each.kind is DiffKind.ADDED}
    kept = [text for place, text in enumerate(before, 1) if place not in removed]
    assert kept == [text for place, text in enumerate(after, 1) if place not in added]
    assert bool(difference) == (before != after)
