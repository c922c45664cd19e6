from __future__ import annotations

import pytest

from grader.errors import OperatorError
from grader.store.sealing import (
    NO_SEALING_KEYS,
    SealedSecret,
    SealingKeys,
    find_key_id,
    make_sealing_key,
    read_sealing_keys,
)
from tests.support.sealing import BOTH_KEYS, NEW, NEW_KEYS, OLD, OLD_KEYS

SECRET = bytes(range(32))
PLACE = "runs/attention-2026/secret"


def test_a_sealed_secret_is_opened_by_its_key_and_hidden_without() -> None:
    sealed = OLD_KEYS.seal(SECRET, place=PLACE)

    assert SECRET not in sealed
    assert find_key_id(sealed) == OLD_KEYS.newest_id
    assert OLD_KEYS.open(sealed, place=PLACE) == SECRET
    with pytest.raises(SealedSecret, match=f"{PLACE} is sealed by the key {OLD_KEYS.newest_id}"):
        NEW_KEYS.open(sealed, place=PLACE)
    with pytest.raises(SealedSecret, match="GRADER_SECRET_KEY_FILE"):
        NO_SEALING_KEYS.open(sealed, place=PLACE)


def test_without_keys_nothing_is_sealed_and_plain_secrets_are_read_with_any() -> None:
    assert NO_SEALING_KEYS.seal(SECRET, place=PLACE) == SECRET
    assert find_key_id(SECRET) is None
    assert NO_SEALING_KEYS.newest_id is None
    for keys in (NO_SEALING_KEYS, OLD_KEYS, BOTH_KEYS):
        assert keys.open(SECRET, place=PLACE) == SECRET


def test_the_newest_key_seals_and_all_open() -> None:
    by_old = OLD_KEYS.seal(SECRET, place=PLACE)
    by_both = BOTH_KEYS.seal(SECRET, place=PLACE)

    assert find_key_id(by_both) == NEW_KEYS.newest_id
    assert BOTH_KEYS.open(by_old, place=PLACE) == BOTH_KEYS.open(by_both, place=PLACE) == SECRET
    assert NEW_KEYS.open(by_both, place=PLACE) == SECRET


def test_a_sealed_secret_opens_at_its_own_place_only() -> None:
    sealed = OLD_KEYS.seal(SECRET, place=PLACE)

    with pytest.raises(SealedSecret, match="was changed or copied there"):
        OLD_KEYS.open(sealed, place="runs/vision-2026/secret")


@pytest.mark.parametrize("place", [-1, -20, 40])
def test_a_sealed_secret_that_was_changed_does_not_open(place: int) -> None:
    sealed = bytearray(OLD_KEYS.seal(SECRET, place=PLACE))
    sealed[place] ^= 1

    with pytest.raises(SealedSecret, match="was changed or copied there"):
        OLD_KEYS.open(bytes(sealed), place=PLACE)


def test_a_key_is_shown_by_its_id_alone() -> None:
    (key_id,) = OLD_KEYS.ids

    assert len(key_id) == 8
    assert key_id not in OLD
    assert OLD not in repr(OLD_KEYS)


def test_keys_are_read_in_order_and_once() -> None:
    assert read_sealing_keys(f"\n{NEW}\n  {OLD}\r\n{NEW}\n", source="keys") == BOTH_KEYS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "keys has no key", id="nothing"),
        pytest.param(" \n", "keys has no key", id="spaces"),
        pytest.param("hunter2-hunter2", "Entry 1 of keys is not a key", id="a password"),
        pytest.param(f"{OLD}\n{OLD[:-2]}", "Entry 2 of keys is not a key", id="half a key"),
        pytest.param(f"{OLD[:-1]}!=", "Entry 1 of keys is not a key", id="a wrong sign"),
        pytest.param("schlüssel", "Entry 1 of keys is not a key", id="not ASCII"),
    ],
)
def test_what_is_not_a_key_is_refused_without_showing_it(text: str, said: str) -> None:
    with pytest.raises(OperatorError, match=said) as refused:
        read_sealing_keys(text, source="keys")

    assert all(each not in str(refused.value) for each in text.split())


def test_new_keys_are_keys_and_differ() -> None:
    made = [make_sealing_key() for _ in range(3)]

    assert read_sealing_keys(" ".join(made), source="keys") == SealingKeys(tuple(made))
    assert len(set(made)) == 3
