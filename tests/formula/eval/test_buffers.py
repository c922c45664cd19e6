"""Buffers that are kept between computations never mix what belongs to different ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from grader.formula.eval.buffers import (
    FRESH,
    MAX_KEPT_BYTES,
    Buffers,
    KeptBuffers,
    borrow_buffers,
    split_for_cache,
    split_for_products,
)


def test_arrays_of_one_computation_do_not_overlap() -> None:
    buffers = KeptBuffers()

    first, second, scratch = buffers.take((2, 3)), buffers.take((4,)), buffers.scratch((5,))

    assert first.shape == (2, 3)
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, scratch)
    assert not np.shares_memory(second, scratch)


def test_the_next_computation_gets_the_same_memory() -> None:
    buffers = KeptBuffers()
    before = buffers.take((6,)), buffers.take((4,)), buffers.scratch((5,))

    buffers.restart()
    after = buffers.take((2, 3)), buffers.take((2,)), buffers.scratch((1, 5))

    assert all(np.shares_memory(one, other) for one, other in zip(before, after, strict=True))


def test_a_larger_array_than_before_gets_new_memory() -> None:
    buffers = KeptBuffers()
    buffers.take((4,))
    buffers.restart()

    assert buffers.take((40, 2)).shape == (40, 2)
    assert buffers.scratch((7,)).shape == (7,)
    assert buffers.scratch((70,)).shape == (70,)


def test_an_array_beyond_the_limit_is_not_kept() -> None:
    buffers, shape = KeptBuffers(), (MAX_KEPT_BYTES // 8 + 1,)
    taken, scratch = buffers.take(shape), buffers.scratch(shape)

    buffers.restart()

    assert not np.shares_memory(taken, buffers.take(shape))
    assert not np.shares_memory(scratch, buffers.scratch(shape))


@pytest.mark.parametrize("buffers", [FRESH, Buffers()])
def test_fresh_buffers_keep_nothing(buffers: Buffers) -> None:
    assert not np.shares_memory(buffers.take((3,)), buffers.take((3,)))
    assert not np.shares_memory(buffers.scratch((3,)), buffers.scratch((3,)))


def test_who_borrows_while_the_buffers_are_in_use_gets_others() -> None:
    with borrow_buffers() as outer:
        kept = outer.take((3,))
        with borrow_buffers() as inner:
            assert inner is not outer
            assert not np.shares_memory(kept, inner.take((3,)))
    with borrow_buffers() as again:
        assert again is outer
        assert np.shares_memory(kept, again.take((3,)))


def test_buffers_are_given_back_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), borrow_buffers() as first:
        raise ZeroDivisionError
    with borrow_buffers() as second:
        assert second is first


def test_every_thread_has_its_own_buffers() -> None:
    def borrow() -> KeptBuffers:
        with borrow_buffers() as buffers:
            return buffers

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(borrow).result() is not borrow()


@pytest.mark.parametrize("numbers", [0, 1, 20_000, 65_536, 10**7])
def test_parts_for_the_cache_hold_every_answer_once(numbers: int) -> None:
    parts = split_for_cache(10, numbers)

    assert [answer for part in parts for answer in range(10)[part]] == list(range(10))
    assert all(len(range(10)[part]) * numbers <= 65_536 or numbers > 65_536 for part in parts)


@pytest.mark.parametrize("answers", [1, 7, 100])
@pytest.mark.parametrize("numbers", [1, 60_000, 1 << 22])
def test_a_product_takes_all_answers_and_more_at_once_than_the_cache(
    answers: int, numbers: int
) -> None:
    parts = split_for_products(answers, numbers)

    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(answers))
    assert len(parts) <= len(split_for_cache(answers, numbers))
