"""A broken rubric names file, line, column and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import OperatorError, RubricErrors
from grader.rubric.catalog import get_shipped_folder, load_catalog, read_rubric
from tests.support.rubrics import rubric_of

TEXT = rubric_of("self-attention-and-transformers/c-i").text


def mistakes(text: str) -> list[str]:
    with pytest.raises(RubricErrors) as refused:
        read_rubric(text, path=Path("folder/c-i.yaml"), assignment="folder", earlier={})
    return [str(error) for error in refused.value.errors]


@pytest.mark.parametrize(
    ("old", "new", "field", "says"),
    [
        pytest.param("softmax(k q)", "softmax(k zz)", "compute.w", "zz is not known", id="symbol"),
        pytest.param("softmax(k q)", "softmax(q k)", "compute.w", "Cannot multiply", id="shape"),
        pytest.param("c: v^T w", "c: v w", "compute.c", "Cannot multiply", id="transposed"),
        pytest.param("c: v^T w", "c: v^T (w", "compute.c", "never closed", id="bracket"),
        pytest.param("c: v^T w", "mu: v^T w", "compute.mu", "already has a meaning", id="twice"),
        pytest.param("measure: tv(w", "measure: (w", "criteria.1.measure", "", id="call"),
        pytest.param(
            '    in_words: "{measured} of the weight is in the wrong place; {needed} may be"\n',
            "",
            "criteria.1.in_words",
            "is missing",
            id="no words (issue 10, item 14)",
        ),
        pytest.param(
            "{needed} may be",
            "0.02 may be",
            "criteria.1.in_words",
            "write {measured}, then {needed}, each once",
            id="words without what is needed",
        ),
        pytest.param(
            "{needed} may be",
            "{needed} may be, not {measured}",
            "criteria.1.in_words",
            "each once",
            id="words with a placeholder twice",
        ),
        pytest.param(
            "{measured} of the weight is in the wrong place; {needed} may be",
            "{needed} of the weight may be in the wrong place; {measured} is",
            "criteria.1.in_words",
            "write {measured}, then {needed}",
            id="words in the wrong order",
        ),
        pytest.param(
            "{needed} may be",
            "{needed} may be {t}",
            "criteria.1.in_words",
            "no other braces",
            id="words with another placeholder",
        ),
        pytest.param(
            "{needed} may be",
            "{needed} may be by $v_{a}$",
            "criteria.1.in_words",
            "no other braces",
            id="words with other braces",
        ),
        pytest.param(
            "About {t}",
            "About {factor}",
            "misconceptions.1.say",
            "{factor} is not known here",
            id="placeholder",
        ),
        pytest.param(
            "About {t}",
            "With {whose} query {t}",
            "misconceptions.1.say",
            "where an earlier answer is used, {whose}",
            id="nobody's earlier answer",
        ),
        pytest.param(
            "count: 2000",
            "count: 2000\n  called: '{pairs}'",
            "key_sets.called",
            "",
            id="called",
        ),
        pytest.param("points: 6", "points: 7", "points", "have 11 points, not 10", id="points"),
        pytest.param(
            "share: 0.99, credit: 1}\n",
            "credit: 1}\n",
            "criteria.1.levels.1",
            "share is missing",
            id="share",
        ),
        pytest.param(
            "credit: 0.5",
            "credit: 1",
            "criteria.1.levels.2.credit",
            "credits must decrease",
            id="order",
        ),
        pytest.param(
            "orthonormal: [n, d]",
            "orthonormal: [d, n]",
            "draw.mu.orthonormal",
            "do not fit",
            id="frame",
        ),
        pytest.param(
            "v: {orthonormal: [n, d]}",
            "v: {gaussian: [n, 0]}",
            "draw.v.gaussian.2",
            "",
            id="size zero",
        ),
        pytest.param(
            "v: {orthonormal: [n, d]}",
            "v: {gaussian: [n, zz]}",
            "draw.v.gaussian.2",
            "zz is not known",
            id="size",
        ),
        pytest.param(
            "symbols: [mu]", "symbols: [nu]", "answer.q.symbols.1", "is not drawn", id="symbols"
        ),
        pytest.param("given: [n,", "given: [m,", "given.1", "m is not drawn", id="given"),
        pytest.param(
            "within: 0.02, share",
            "witin: 0.02, share",
            "criteria.1.levels.1.witin",
            "did you mean 'within'",
            id="key",
        ),
        pytest.param(
            "count: 2000", "count: many", "key_sets.count", "must be a whole number", id="type"
        ),
        pytest.param(
            "passes: {q: t q}",
            "passes: {p: t q}",
            "misconceptions.1.passes.p",
            "not a field",
            id="passes",
        ),
        pytest.param(
            "when: max(w) - min(w) <= 0.02",
            "when: max(w) - min(w)",
            "misconceptions.9.when",
            "must be a condition",
            id="condition",
        ),
        pytest.param(
            "mean: mu,",
            "mean: alpha,",
            "key_sets.draw.k.gaussian.mean",
            "rows are the means",
            id="mean",
        ),
        pytest.param("plane: c", "plane: zz", "plots.2", "zz is not known", id="plot"),
        pytest.param("title: A query for noisy keys\n", "", "title", "is missing", id="missing"),
        pytest.param("id: c-i\n", "id: c-ii\n", "", "but the file is c-i.yaml", id="id"),
        pytest.param(
            "count: 2000",
            "count: 2000\n  count: 3000",
            "key_sets.count",
            "is already in line",
            id="repeated",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(old: str, new: str, field: str, says: str) -> None:
    assert old in TEXT
    (first, *_) = mistakes(TEXT.replace(old, new, 1))

    place, _, rest = first.partition(": ")
    file, line, column = place.split(":")
    assert file == "folder/c-i.yaml"
    assert int(line) > 0
    assert int(column) > 0
    assert rest.startswith(field)
    assert says in rest


def test_the_line_is_the_one_of_the_mistake() -> None:
    broken = TEXT.replace("c: v^T w", "c: v w")
    line = broken.splitlines().index("  c: v w") + 1

    assert mistakes(broken)[0].startswith(f"folder/c-i.yaml:{line}:6: compute.c: ")


def test_all_mistakes_are_told_at_once() -> None:
    broken = TEXT.replace("within: 0.02, share", "witin: 0.02, share").replace(
        "count: 2000", "count: x"
    )

    assert len(mistakes(broken)) >= 3


def test_a_part_that_builds_on_nothing_is_refused() -> None:
    later = rubric_of("self-attention-and-transformers/c-ii").text
    with pytest.raises(RubricErrors, match="not an earlier question of the assignment"):
        read_rubric(later, path=Path("x/c-ii.yaml"), assignment="x", earlier={})


def test_a_folder_without_assignments_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="no folder in it has an assignment"):
        load_catalog(tmp_path)


def write(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name.replace('_', '-')}.yaml").write_text(text, encoding="utf-8")
    return folder


ASSIGNMENT = "id: tiny\ntitle: Tiny\nquestions: [c-i]\n"


def test_an_assignment_is_loaded_with_its_questions(tmp_path: Path) -> None:
    folder = write(tmp_path / "tiny", assignment=ASSIGNMENT, c_i=TEXT)

    assert list(load_catalog(folder).assignments["tiny"].rubrics) == ["c-i"]
    assert list(load_catalog(tmp_path).assignments) == ["tiny"]


@pytest.mark.parametrize(
    ("assignment", "says"),
    [
        (ASSIGNMENT.replace("id: tiny", "id: other"), "but the folder is 'tiny'"),
        (ASSIGNMENT.replace("[c-i]", "[c-i, c-ii]"), "has no file c-ii.yaml"),
        (ASSIGNMENT.replace("[c-i]", "[x]"), "c-i.yaml is not listed"),
        (ASSIGNMENT + "time_zone: Mars/Olympus\n", "is not a time zone"),
        (ASSIGNMENT + "due: tomorrow\n", "due"),
        (ASSIGNMENT + "due: 2025-13-40 23:59\n", "due"),
        (ASSIGNMENT + "grades: {many: A}\n", "is not a number of points"),
        (ASSIGNMENT + "colour: red\n", "colour: is not known here"),
    ],
)
def test_a_broken_assignment_is_told_with_its_place(
    tmp_path: Path, assignment: str, says: str
) -> None:
    write(tmp_path / "tiny", assignment=assignment, c_i=TEXT)
    with pytest.raises(RubricErrors) as refused:
        load_catalog(tmp_path)

    assert any(says in str(error) for error in refused.value.errors)
    assert all(str(error).startswith("tiny/assignment.yaml:") for error in refused.value.errors)


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "tiny", assignment=ASSIGNMENT)
    (folder / "c-i.yaml").write_bytes(b"title: \xff\xfe")
    with pytest.raises(RubricErrors, match="not UTF-8"):
        load_catalog(tmp_path)


def test_the_version_is_the_hash_of_the_content() -> None:
    rubric = rubric_of("self-attention-and-transformers/c-i")
    other = read_rubric(rubric.text + "\n", path=Path("c-i.yaml"), assignment="x", earlier={})

    assert rubric.version.startswith("sha256:")
    assert rubric.version != other.version


def test_the_shipped_folder_is_found() -> None:
    assert (get_shipped_folder() / "single-head-attention" / "assignment.yaml").is_file()
