"""Functions of the language that must survive numbers which are not finite."""

from __future__ import annotations

import numpy as np

from grader.formula.eval.functions import pseudo_inverse


def test_a_matrix_that_is_not_finite_leaves_the_pseudo_inverses_of_the_others_alone() -> None:
    """Issue 10, item 16: pinv."""
    tall = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]])
    stack = np.stack([tall, np.full_like(tall, np.nan), np.full_like(tall, np.inf)])[:, None]

    found = pseudo_inverse(stack)

    assert found.shape == (3, 1, 2, 3)
    np.testing.assert_allclose(found[0, 0] @ tall, np.eye(2), atol=1e-12)
    assert np.isnan(found[1:]).all()


def test_the_pseudo_inverse_of_a_projection_is_the_projection() -> None:
    """Singular values that are rounding errors count as zero."""
    basis, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((200, 10, 3)))
    projections = basis @ basis.swapaxes(-1, -2)

    np.testing.assert_allclose(pseudo_inverse(projections[None]), projections[None], atol=1e-12)
