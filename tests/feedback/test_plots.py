from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grader.cli.render.text_plots import draw_text
from grader.drawing.plot_text import build_tables
from grader.feedback.plots import HeatMap, OutputPlane, WeightBars, make_pictures
from tests.support.rubrics import judge_of, rubric_of, shipped, submit

NOISY = "self-attention-and-transformers/c-i"
STRETCHED = "self-attention-and-transformers/c-ii"
CALM = "self-attention-and-transformers/d-ii"


def test_the_weights_picture_names_the_given_keys() -> None:
    submission = submit(NOISY, {"q": "40 (mu_a + mu_b)"})
    bars = make_pictures(judge_of(NOISY), submission)[0]

    assert isinstance(bars, WeightBars)
    assert len(bars.quantiles) == 8
    assert sorted(bars.named.values()) == ["a", "b"]
    for position in bars.named:
        assert bars.quantiles[position][2] == pytest.approx(0.5, abs=1e-3)


def test_a_picture_says_samples_where_the_question_does() -> None:
    """Issue 10, item 14: key sets only where the question calls them so."""
    sent = {"share_near_average": 0, "share_nearer_b": 1, "variance": 0.25, "spread_ratio": 0}
    bars = make_pictures(judge_of(STRETCHED), submit(STRETCHED, sent), revealing=True)[0]

    (table,) = build_tables(bars)

    assert table.caption == "Quantiles of the weights over the samples"
    assert "quantile over the samples" in draw_text(bars).plain


def test_the_jump_is_seen_and_the_calm_is_seen() -> None:
    predictions = {
        "share_near_average": 0,
        "share_nearer_b": 1,
        "variance": 0.25,
        "spread_ratio": 0,
    }
    jumping = make_pictures(judge_of(STRETCHED), submit(STRETCHED, predictions), revealing=True)[-1]
    calm_sent = {"share_near_average": 1, "variance_1": 0, "variance_2": 0, "left_out_share": 0.08}
    calm = make_pictures(judge_of(CALM), submit(CALM, calm_sent), revealing=True)[-1]

    assert isinstance(jumping, OutputPlane)
    assert isinstance(calm, OutputPlane)
    along = np.array(jumping.points)[:, 0]
    assert ((along < 0.1) | (along > 0.9)).mean() > 0.9
    assert 0.4 < (along < 0.5).mean() < 0.6
    assert (np.abs(np.array(calm.points)[:, 0] - 0.5) < 0.1).mean() > 0.9


def test_a_matrix_is_shown_beside_what_it_should_make() -> None:
    question = "self-attention-and-transformers/b-i"
    first, second = make_pictures(judge_of(question), submit(question, {"M": "A A^T"}))

    assert isinstance(first, HeatMap)
    assert isinstance(second, HeatMap)
    assert np.array(first.matrices[0]).shape == (10, 3)
    assert np.allclose(first.matrices[0], first.matrices[1], atol=1e-5)
    assert np.allclose(second.matrices[0], np.zeros((10, 4)), atol=1e-9)


@pytest.mark.parametrize("rubric", list(shipped().rubrics()), ids=lambda rubric: rubric.id)
def test_every_plot_of_every_question_can_be_made(rubric: Any) -> None:
    example = rubric.form.examples[0]
    submission = submit(rubric.id, dict(example.answer), uses=example.uses)

    pictures = make_pictures(judge_of(rubric.id), submission, revealing=True)
    assert len(pictures) == len(rubric.question.plots)


@pytest.mark.parametrize(
    "question", [STRETCHED, CALM, "attention-exploration/3e-i", "single-head-attention/1f"]
)
def test_a_picture_that_shows_what_is_asked_for_waits_until_all_is_right(question: str) -> None:
    example = rubric_of(question).form.examples[0]
    submission = submit(question, dict(example.answer), uses=example.uses)

    assert make_pictures(judge_of(question), submission) == []
    assert make_pictures(judge_of(question), submission, revealing=True)
