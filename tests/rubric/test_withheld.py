"""Issue 10, item 12: a question's own names are told why a formula may not use them."""

from __future__ import annotations

import pytest

from grader.errors import AnswerRefused
from grader.reading.fields import ArrayField, NumberField
from tests.support.rubrics import judge_of, rubric_of, shipped

GIVEN = "is given, but the answer must not depend on it."
PART = "is part of the question, but the answer must not depend on it."
RANDOM = "is drawn at random, so its values are not known beforehand."


def withheld(question: str, field: str) -> dict[str, str]:
    fields = {each.name: each for each in rubric_of(question).question.fields}
    found = fields[field]
    assert isinstance(found, ArrayField | NumberField)
    return dict(found.scope.withheld)


@pytest.mark.parametrize(
    ("question", "field", "name", "reason"),
    [
        ("attention-exploration/3a", "q", "v", GIVEN),
        ("attention-exploration/3c-i", "q", "v", GIVEN),
        ("attention-exploration/3c-i", "q", "k", RANDOM),
        ("attention-exploration/3c-i", "q", "alpha", PART),
        ("attention-exploration/3c-i", "q", "w", "follows from your answer."),
        ("attention-exploration/3c-i", "q", "c", "follows from your answer."),
        ("attention-exploration/3c-i", "q", "q", "is what this field asks for."),
        ("attention-exploration/3c-ii", "variance", "q", "is your answer to an earlier question."),
        ("attention-exploration/3c-ii", "variance", "mu", GIVEN),
        ("attention-exploration/3d-i", "q1", "q2", "is another field of your answer."),
        ("attention-exploration/3e-i", "scores_plus_d", "u_a", GIVEN),
        ("attention-exploration/3e-ii", "K", "Q", "is another field of your answer."),
        ("self-attention-and-transformers/b-i", "M", "v", PART),
        ("self-attention-and-transformers/b-i", "M", "s", PART),
        ("single-head-attention/1d", "M", "c", PART),
        ("single-head-attention/1e", "q", "epsilon", PART),
    ],
)
def test_each_name_has_its_reason(question: str, field: str, name: str, reason: str) -> None:
    assert withheld(question, field)[name] == f"{name} {reason}"


def test_what_may_be_used_is_not_withheld() -> None:
    for rubric in shipped().rubrics():
        for field in rubric.question.fields:
            if isinstance(field, ArrayField | NumberField):
                usable = {*field.scope.names(), *field.scope.families, *field.scope.indices}
                assert not usable & field.scope.withheld.keys()


def test_names_that_the_student_has_not_seen_are_not_revealed() -> None:
    hidden = {"other", "on_a", "apart", "size", "p", "r", "h", "outside", "D", "left_out"}
    for rubric in shipped().rubrics():
        for field in rubric.question.fields:
            if isinstance(field, ArrayField | NumberField):
                assert not (hidden - set(rubric.form.given)) & field.scope.withheld.keys()


@pytest.mark.parametrize("name", ["other", "strange"])
def test_a_hidden_draw_is_refused_like_any_foreign_name(name: str) -> None:
    judge = judge_of("attention-exploration/3c-i")
    said = []
    for text in (name, f"mu_{name}"):
        with pytest.raises(AnswerRefused) as refused:
            judge.prepare(judge.variant("ada"), {"q": text}, strict=True)
        said.append(str(refused.value.errors[0]).replace(name, "…"))

    assert said == [
        "q, column 1: … is not known here. Words are not part of a formula; put explanations in "
        "the field for them. You may use mu_a, mu_b, mu, n, d, I.",
        "q, column 1: mu_… is not known here. You may use mu_a, mu_b.",
    ]
