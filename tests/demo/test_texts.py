from __future__ import annotations

import pytest

from grader.demo.texts import EXPLANATIONS, Quality, find_quality
from grader.reading.fields import TextField
from tests.support.rubrics import shipped


def test_there_are_sentences_for_every_question_that_asks_for_some() -> None:
    asked = {
        rubric.form.title
        for rubric in shipped().rubrics()
        for each in rubric.question.fields
        if isinstance(each, TextField)
    }

    assert asked == set(EXPLANATIONS)


@pytest.mark.parametrize("title", EXPLANATIONS)
def test_the_quality_of_a_sentence_is_told_from_the_sentence(title: str) -> None:
    for quality in Quality:
        assert all(
            find_quality(f"Well, {text}") is quality for text in EXPLANATIONS[title][quality]
        )
