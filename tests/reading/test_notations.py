"""Issue 10, item 16: notations of real students, in the shipped parts."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from numpy.typing import NDArray

from grader.errors import AnswerRefused, FieldError
from grader.formula.formula import Formula
from grader.reading.answer import Numbers, Value, list_notes, read_answer
from grader.reading.fields import NumberField
from grader.reading.ranges import refuse_range
from tests.support.growth import is_proportional
from tests.support.rubrics import awarded, judge_of, judged, rubric_of, shipped

FULL_STOP_NOTE = "Read up to the full stop; put explanations into the field for them."


@dataclass(frozen=True)
class Part:
    """A field of a shipped part, and the names of two of its vectors."""

    question: str
    field: str
    family: str
    first: str
    second: str

    def write(self, template: str) -> str:
        """A template with this part's names: X for the family, P and Q for the two indices."""
        names = {"X": self.family, "P": self.first, "Q": self.second}
        return "".join(names.get(each, each) for each in template)


PAIRS = [
    Part("attention-exploration/3b", "q", "k", "a", "b"),
    Part("attention-exploration/3c-i", "q", "mu", "a", "b"),
    Part("attention-exploration/3d-i", "q1", "mu", "a", "b"),
    Part("attention-exploration/3d-i", "q2", "mu", "a", "b"),
    Part("self-attention-and-transformers/b-ii", "q", "k", "a", "b"),
    Part("self-attention-and-transformers/c-i", "q", "mu", "a", "b"),
    Part("self-attention-and-transformers/d-i", "q1", "mu", "a", "b"),
    Part("single-head-attention/1c", "q", "k", "i", "j"),
    Part("single-head-attention/1e", "q", "mu", "i", "j"),
]
BASES = [
    Part("self-attention-and-transformers/b-i", "M", "A", "a", "b"),
    Part("single-head-attention/1d", "M", "S", "s", "t"),
]
NUMBERS = [
    (rubric.id, field.name)
    for rubric in shipped().rubrics()
    for field in rubric.question.fields
    if isinstance(field, NumberField)
]


def read_value(question: str, name: str, sent: Any) -> Value:
    (field,) = [each for each in rubric_of(question).question.fields if each.name == name]
    variant = judge_of(question).variant("ada")
    return read_answer({name: sent}, [field], variant.environment).values[name]


def compute(question: str, name: str, sent: Any) -> NDArray[Any]:
    value = read_value(question, name, sent)
    if isinstance(value, Formula):
        environment = judge_of(question).variant("ada").environment
        return np.asarray(value.evaluate(environment, finite=True)[0, 0])
    assert isinstance(value, Numbers)
    return value.array


def refuse(question: str, name: str, sent: Any) -> FieldError:
    with pytest.raises(AnswerRefused) as refused:
        read_value(question, name, sent)
    return refused.value.errors[0]


def over(parts: list[Part], rows: list[tuple[str, str]]) -> list[ParameterSet]:
    """Every row in every part."""
    return [
        pytest.param(
            part,
            part.write(written),
            part.write(plain),
            id=f"{part.question} {part.field}: {part.write(written)!a}",
        )
        for part in parts
        for written, plain in rows
    ]


AS_PLAIN = [
    # Percent
    ("25% X_P", "0.25 X_P"),
    ("25 % X_P", "0.25 X_P"),
    (r"25\% X_P + 12.3\% X_Q", "0.25 X_P + 0.123 X_Q"),
    (r"\frac{50%}{2} X_P", "0.25 X_P"),
    # About
    ("≈ 40 (X_P + X_Q)", "40 (X_P + X_Q)"),
    (r"\approx 40 (X_P + X_Q)", "40 (X_P + X_Q)"),
    (r"\simeq 40 (X_P + X_Q)", "40 (X_P + X_Q)"),
    ("~ 40 (X_P + X_Q)", "40 (X_P + X_Q)"),
    ("approx. 40 (X_P + X_Q)", "40 (X_P + X_Q)"),
    ("c. 40 (X_P + X_Q)", "40 (X_P + X_Q)"),
    ("about 40 (X_P + X_Q)", "40 (X_P + X_Q)"),
    (r"C \simeq 40, C (X_P + X_Q)", "40 (X_P + X_Q)"),
    # Capital words
    ("C (X_P + X_Q) Where C = 50", "50 (X_P + X_Q)"),
    ("C (X_P + X_Q) With C = 50", "50 (X_P + X_Q)"),
    ("C (X_P + X_Q) For C = 50", "50 (X_P + X_Q)"),
    ("Let C = 50, C (X_P + X_Q)", "50 (X_P + X_Q)"),
    # A capital sigma as a sum sign
    ("Σ_{l≠P,Q} X_l", r"\sum_{l \neq P,Q} X_l"),
    ("Σ_l X_l", r"\sum_l X_l"),
    (r"-50 \Sigma_{l=1}^n X_l", r"-50 \sum_{l=1}^n X_l"),
    (r"\Sigma_{l \neq P, Q} X_l", r"\sum_{l \neq P,Q} X_l"),
    # Members as in a program
    ("40 X[P] + 40 X[Q]", "40 X_P + 40 X_Q"),
    ("Σ_l X[l]", r"\sum_l X_l"),
    # NumPy
    ("np.log(50) X_P", "log(50) X_P"),
    ("numpy.log(50) * X_P", "log(50) X_P"),
    ("math.log(50) * X_P", "log(50) X_P"),
    ("torch.exp(3) * X_P", "exp(3) X_P"),
    ("np.sqrt(2) X_P + np.exp(1) X_Q", "sqrt(2) X_P + exp(1) X_Q"),
    ("np.pi X_P", "pi X_P"),
    ("np.dot(X_P, X_P) * X_Q", "X_P^T X_P X_Q"),
    ("np.dot(np.transpose(X), np.ones(n))", "X^T ones(n)"),
    ("np.linalg.norm(X_P) X_P", "norm(X_P) X_P"),
    ("np.eye(d) @ X_P + np.zeros(d)", "X_P"),
    ("np.zeros((d, d)) @ X_P + X_Q", "X_Q"),
    ("np.outer(X_P, X_Q) @ X_Q", "X_P X_Q^T X_Q"),
    ("np.linalg.inv(2 I) @ X_P", "X_P / 2"),
    ("np.linalg.pinv(2 I) @ X_P", "X_P / 2"),
    ("np.sum(X_P) * X_Q", "sum(X_P) X_Q"),
    # The sum of the members, where a column is needed
    ("sum(X)", r"\sum_{l=1}^n X_l"),
    ("np.sum(X)", r"\sum_{l=1}^n X_l"),
    ("40 (X_P + X_Q) - sum(X) / n", r"40 (X_P + X_Q) - \frac{1}{n} \sum_{l=1}^n X_l"),
    ("y - sum(X) where y = X_P", r"X_P - \sum_{l=1}^n X_l"),
    # The sum of the entries, where that fits
    ("sum(X) X_P", "(ones(n)^T X ones(d)) X_P"),
    # An explanation
    ("40 (X_P + X_Q). This works because both scores are equal.", "40 (X_P + X_Q)"),
    ("40 (X_P + X_Q).\nthe other scores are 0.5 at most", "40 (X_P + X_Q)"),
    ("C (X_P + X_Q). Let C = 50. Then both are large.", "50 (X_P + X_Q)"),
    ("40. X_P", "40 X_P"),
]


@pytest.mark.parametrize(("part", "written", "plain"), over(PAIRS, AS_PLAIN))
def test_a_notation_is_read_as_the_plain_one(part: Part, written: str, plain: str) -> None:
    np.testing.assert_allclose(
        compute(part.question, part.field, written),
        compute(part.question, part.field, plain),
        rtol=1e-12,
        atol=1e-12,
    )


@pytest.mark.parametrize(
    ("part", "written", "plain"),
    over(
        BASES,
        [
            ("X pinv(X)", "X X^T"),
            ("np.linalg.pinv(X X^T)", "X X^T"),
            ("X @ np.linalg.inv(X.T @ X) @ X.T", "X X^T"),
            ("np.dot(X, X.T)", "X X^T"),
            ("Σ_l P_l P_l^T", "X X^T"),
            (r"\Sigma_{l} P_l P_l^\top", "X X^T"),
            ("50% X X^T", "X X^T / 2"),
            ("R = X^T, M = X R", "X X^T"),
            ("X X^T. It keeps the first subspace.", "X X^T"),
            ("outer(sum(P), sum(P))", "X ones(l) ones(l)^T X^T"),
        ],
    ),
)
def test_a_notation_is_read_as_the_plain_one_for_matrices(
    part: Part, written: str, plain: str
) -> None:
    columns = judge_of(part.question).variant("ada").values[part.family].shape[1]

    np.testing.assert_allclose(
        compute(part.question, part.field, written),
        compute(part.question, part.field, plain.replace("ones(l)", f"ones({columns})")),
        rtol=1e-12,
        atol=1e-12,
    )


LISTS = [
    pytest.param("({})", id="a tuple"),
    pytest.param("q = ({})", id="a tuple with a name"),
    pytest.param("np.array(({}))", id="an array of a tuple"),
    pytest.param("[{}]^T", id="a list and ^T"),
    pytest.param("[{}].T", id="a list and .T"),
    pytest.param("[{}]'", id="a list and '"),
    pytest.param(r"[{}]^{{\top}}", id=r"a list and ^{\top}"),
    pytest.param("({})^T", id="a tuple and ^T"),
    pytest.param("np.array([{}]).T", id="an array and .T"),
    pytest.param("1 [{}]^T", id="a multiple of a row"),
    pytest.param("-[{}]^T / -1", id="a fraction of a row"),
    pytest.param("[[{}]]", id="a matrix of one row"),
    pytest.param("[[{}]]^T", id="a matrix of one row and ^T"),
    pytest.param("[({})]", id="a list of one tuple"),
]


@pytest.mark.parametrize("form", LISTS)
@pytest.mark.parametrize("part", [pytest.param(each, id=each.question) for each in PAIRS])
def test_a_list_of_numbers_is_the_column_that_is_asked_for(part: Part, form: str) -> None:
    length = judge_of(part.question).variant("ada").values[part.family].shape[1]
    numbers = [0.5 * entry - 1 for entry in range(length)]

    read = compute(part.question, part.field, form.format(", ".join(map(str, numbers))))

    np.testing.assert_array_equal(read, numbers)


@pytest.mark.parametrize("part", [pytest.param(each, id=each.question) for each in PAIRS])
def test_a_column_of_lists_is_read_as_a_flat_column_with_a_note(part: Part) -> None:
    length = judge_of(part.question).variant("ada").values[part.family].shape[1]
    numbers = [0.5 * entry - 1 for entry in range(length)]
    column = [[each] for each in numbers]
    note = (f"Read as a flat column of {length} numbers.",)

    for sent in (column, [numbers], np.array(column), str(column), str(np.array(column))):
        read = read_value(part.question, part.field, sent)
        assert isinstance(read, Numbers)
        np.testing.assert_array_equal(read.array, numbers)
        assert list_notes(read) == note
    for plain in (numbers, str(numbers), r"\begin{pmatrix}" + r"\\".join(map(str, numbers))
                  + r"\end{pmatrix}"):  # fmt: skip
        assert list_notes(read_value(part.question, part.field, plain)) == ()


@pytest.mark.parametrize("part", [pytest.param(each, id=each.question) for each in BASES])
def test_a_matrix_of_numbers_may_be_transposed_and_may_be_tuples(part: Part) -> None:
    size = judge_of(part.question).variant("ada").values[part.family].shape[0]
    numbers = np.arange(float(size * size)).reshape(size, size)
    tuples = str(tuple(map(tuple, numbers.tolist())))
    matlab = "[" + "; ".join(" ".join(map(str, row)) for row in numbers) + "]"
    rows = r" \\ ".join(" & ".join(map(str, row)) for row in numbers)
    latex = rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}^\top"

    np.testing.assert_array_equal(compute(part.question, "M", tuples), numbers)
    np.testing.assert_array_equal(compute(part.question, "M", str(numbers.tolist())), numbers)
    for sent in (f"{tuples}^T", f"{numbers.tolist()}.T", f"{matlab}'", latex,
                 f"np.array({tuples}, dtype=float).T"):  # fmt: skip
        np.testing.assert_array_equal(compute(part.question, "M", sent), numbers.T)


def test_a_row_of_symbols_is_not_taken_for_a_column() -> None:
    error = refuse("attention-exploration/3b", "q", "k_a^T")

    assert (error.code, error.hint) == ("answer.shape", "Transpose it with ^T.")


@pytest.mark.parametrize(("question", "name"), NUMBERS)
@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("25%", 0.25),
        ("25 %", 0.25),
        (r"25\%", 0.25),
        ("7.86%", 0.0786),
        ("≈ 0.25", 0.25),
        (r"\approx 0.25", 0.25),
        (r"$\simeq 0.25$", 0.25),
        ("~ 0.25", 0.25),
        ("~0.25", 0.25),
        ("approx. 0.25", 0.25),
        ("Approx. 0.25", 0.25),
        ("c. 0.25", 0.25),
        ("about 0.25", 0.25),
        ("about 25%", 0.25),
        ("0.25. Because it jumps.", 0.25),
        ("np.log(2)", np.log(2)),
        ("1 - 0.0786", 1 - 0.0786),
        ("1-0.0786", 1 - 0.0786),
        ("2e-1", 0.2),
    ],
)
def test_a_number_is_read_as_it_is_meant(
    question: str, name: str, written: str, value: float
) -> None:
    for text in (written, f"{name} = {written}"):
        assert compute(question, name, text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(("question", "name"), NUMBERS)
@pytest.mark.parametrize(
    "written",
    [
        "0.2-0.3",
        "0.2 - 0.3",
        "0.2 – 0.3",
        "0.2—0.3",
        "0.2--0.3",
        "0.2 to 0.3",
        "0.2..0.3",
        "0.2 ... 0.3",
        "0.2…0.3",
        "20-30%",
        "20% - 30%",
        r"$0.2-0.3$",
        "≈ 0.2-0.3",
        "about 0.2 to 0.3",
        "between 0.2 and 0.3",
        "from 0.2 to 0.3",
        "0.25 ± 0.05",
        "0.2-0.3.",
    ],
)
def test_a_range_is_asked_back(question: str, name: str, written: str) -> None:
    for text in (written, f"{name} = {written}"):
        error = refuse(question, name, text)
        assert error.code == "number.range_given"
        assert error.hint == "Is that a range? Send one number."
        assert error.column


@pytest.mark.parametrize("unit", ["1", " ", "-", "a", ".", "$", "1-", "0.2 ", "to ", "%", "e9"])
def test_no_text_takes_long_to_be_told_from_a_range(unit: str) -> None:
    def read(units: str) -> None:
        for before in ("", "0.2", "a = 0.2 -", "about"):
            with suppress(FieldError):
                refuse_range(before + units, field="variance")

    assert is_proportional(read, unit.__mul__, 50_000)


def test_a_difference_in_an_array_stays_arithmetic() -> None:
    length = len(compute("attention-exploration/3b", "q", "k_a"))

    np.testing.assert_array_equal(
        compute("attention-exploration/3b", "q", f"(3-5) ones({length})"), -2 * np.ones(length)
    )


@pytest.mark.parametrize("written", ["no", "No", "NO", " no "])
def test_a_choice_may_be_written_in_any_case(written: str) -> None:
    model = {"c_2": "u_a", "c_2_plus_d": "u_a + u_d", "c_2_plus_c": "u_a + u_c",
             "scores_plus_d": "(1, 2, 0)", "scores_plus_c": "[0, 2, 1]^T"}  # fmt: skip

    assert awarded(judged("attention-exploration/3e-i", model | {"possible": written})) == 10
    assert awarded(judged("attention-exploration/3e-i", model | {"possible": "YES"})) == 9


def test_a_choice_that_is_not_offered_is_refused() -> None:
    assert refuse("attention-exploration/3e-i", "possible", "Nope").code == "choice.unknown"


HINTS = [
    ("X_P + \\dots + X_Q", "formula.syntax", 7, r"\sum_{i=1}^n"),
    ("X_P + ... + X_Q", "formula.syntax", 7, r"\sum_{i=1}^n"),
    ("X_P + … + X_Q", "formula.syntax", 7, r"\sum_{i=1}^n"),
    ("X_P, ..., X_Q", "formula.syntax", 4, r"\sum_{i=1}^n"),
    (r"\lim_{C \to \infty} C X_P", "formula.syntax", 1, "C >> 0"),
    ("lim_{C→∞} C X_P", "formula.syntax", 1, "C >> 0"),
    (r"\infty X_P", "formula.syntax", 1, "C >> 0"),
    ("∞ X_P", "formula.syntax", 1, "C >> 0"),
    (r"C X_P where C = \infty", "formula.syntax", 17, "C >> 0"),
    (r"\begin{pmatrix} 1 & 2", "formula.brackets", 1, "after the last row"),
    ("X[1]", "formula.subscript", 1, "Write X_P."),
    ("X[0] + X_P", "formula.subscript", 1, "Write X_P."),
]


@pytest.mark.parametrize(
    ("part", "written", "code", "column", "words"),
    [
        pytest.param(part, part.write(text), code, column + shift * (len(part.family) - 1),
                     part.write(words) if words == "Write X_P." else words,
                     id=f"{part.question}: {part.write(text)!a}")
        for part in PAIRS
        for text, code, column, words in HINTS
        for shift in [text[: max(column - 1, 0)].count("X")]
    ],
)  # fmt: skip
def test_what_cannot_be_read_gets_a_hint_of_its_own(
    part: Part, written: str, code: str, column: int, words: str
) -> None:
    error = refuse(part.question, part.field, written)

    assert (error.code, error.column) == (code, column)
    assert words in error.hint


def test_a_member_by_number_in_brackets_is_asked_back_where_members_have_numbers() -> None:
    error = refuse("attention-exploration/3e-i", "c_2", "x[1]")

    assert "from 0 or from 1" in error.message
    assert error.hint == "Write x_1 for the first member."


def test_a_sigma_that_may_be_a_covariance_is_asked_back() -> None:
    error = refuse("single-head-attention/1e", "q", "Σ_i mu_i")

    assert error.code == "formula.sum"
    assert r"\sum_i" in error.hint


@pytest.mark.parametrize(
    ("written", "notes"),
    [
        ("40 (k_a + k_b). It works.", (FULL_STOP_NOTE,)),
        ("40 (k_a + k_b).", ()),
        ("C (k_a + k_b). C = 50.", ()),
        ("sum(k)", ("sum(…) of a family was read as the sum of its members.",)),
        ("sum(k) k_a", ()),
        ("C (k_a + k_b) for large C", ()),
    ],
)
def test_what_may_surprise_is_noted(written: str, notes: tuple[str, ...]) -> None:
    assert list_notes(read_value("attention-exploration/3b", "q", written)) == notes


@pytest.mark.parametrize("part", [pytest.param(each, id=each.question) for each in PAIRS])
def test_what_is_shown_of_the_sum_of_members_is_read_alike(part: Part) -> None:
    read = read_value(part.question, part.field, part.write("X_P - sum(X)"))
    assert isinstance(read, Formula)

    np.testing.assert_array_equal(
        compute(part.question, part.field, read.to_text()),
        compute(part.question, part.field, read.text),
    )


@pytest.mark.parametrize(
    ("question", "sent"),
    [
        ("attention-exploration/3b", {"q": "Let C = 50. q = C (k[a] + k[b]). It is large."}),
        ("attention-exploration/3b", {"q": "-50 Σ_{i≠a,b} k_i"}),
        ("attention-exploration/3c-i", {"q": "y = mu_a + mu_b, q = np.exp(4) y"}),
        ("single-head-attention/1e", {"q": "50 (mu[i] + mu[j]) - sum(mu)"}),
        ("self-attention-and-transformers/b-i", {"M": "P = pinv(A), M = A P"}),
        ("single-head-attention/1d", {"M": "200% S pinv(S)"}),
    ],
)
def test_what_is_written_like_this_earns_everything(question: str, sent: dict[str, Any]) -> None:
    judgement = judged(question, sent)

    assert judgement.score.awarded == judgement.score.automatic
