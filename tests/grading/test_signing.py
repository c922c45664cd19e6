from __future__ import annotations

import base64
import json
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from grader.feedback.base import to_canonical_json
from grader.feedback.receipt import Receipt, hash_used
from grader.grading.signing import (
    SigningKey,
    compute_key_id,
    encode_base64url,
    sign_receipt,
    sign_receipt_fields,
    to_withheld_receipt,
    verify_signature,
)
from tests.support.bundles import KEY, NOISY, PREDICTIONS, RECEIVED_AT, STRETCHED, bundle_of
from tests.support.rubrics import submit

SIGNED = bundle_of(NOISY, {"q": "40 (mu_a + mu_b)"}, is_published=False).receipt
OTHERS: dict[str, Any] = {
    "attempt": "att_2",
    "course": "another",
    "question": "single-head-attention/1e",
    "variant": "emmy",
    "received_at": RECEIVED_AT - timedelta(seconds=1),
    "answer": "sha256:0",
    "rubric": "sha256:0",
    "streams": "sha256:0",
    "noise": "sha256:0",
    "key_sets": 8000,
    "used": "sha256:0",
    "used_answer": "sha256:0",
    "used_rubric": "sha256:0",
    "verdicts": None,
    "judgement": "sha256:0",
    "score": 10,
    "max_score": 8,
    "engine": "99",
    "key": "ed25519:0",
    "signature": None,
}


def test_a_signed_receipt_verifies_with_the_public_key_alone() -> None:
    assert SIGNED.key == KEY.id
    assert verify_signature(SIGNED, KEY.public)


def test_every_field_of_a_receipt_is_sealed() -> None:
    assert set(OTHERS) == set(Receipt.model_fields)
    for name, other in OTHERS.items():
        changed = SIGNED.model_copy(update={name: other})
        assert not verify_signature(changed, KEY.public), name


def test_a_receipt_of_before_is_still_as_it_was_signed() -> None:
    # They have no `judgement`, and must not get one that is null.
    sent = SIGNED.model_dump(mode="json")
    assert "judgement" not in sent

    assert verify_signature(Receipt.model_validate(sent), KEY.public)
    assert "judgement" not in Receipt.model_validate(sent).model_dump(mode="json")
    assert "judgement" not in SIGNED.model_dump_json()


def test_a_withheld_receipt_does_not_tell_how_the_judgement_was_stored() -> None:
    fields = SIGNED.model_dump(mode="json") | {"judgement": "sha256:0"}
    signed = Receipt.model_validate(sign_receipt_fields(fields, KEY))
    withheld = sign_receipt_fields(fields, KEY, withheld=True)

    assert signed.judgement == "sha256:0"
    assert verify_signature(signed, KEY.public)
    assert "judgement" not in withheld
    assert verify_signature(Receipt.model_validate(withheld), KEY.public)
    assert to_withheld_receipt(signed).judgement is None


def test_another_key_does_not_verify() -> None:
    assert not verify_signature(SIGNED, SigningKey.generate().public)


def test_a_signature_under_the_name_of_another_key_is_not_valid() -> None:
    named = SIGNED.model_copy(update={"key": SigningKey.generate().id})
    content = to_canonical_json(named.model_dump(mode="json", exclude={"signature"}))
    signed = named.model_copy(update={"signature": encode_base64url(KEY.private.sign(content))})

    assert not verify_signature(signed, KEY.public)


@pytest.mark.parametrize("public", ["", "no key", "AAAA", "é" * 43, KEY.public + "=", "A" * 43])
def test_what_is_no_key_verifies_nothing(public: str) -> None:
    assert not verify_signature(SIGNED, public)


@pytest.mark.parametrize("signature", ["", "é", "AAAA", "=" * 86, "A" * 86])
def test_what_is_no_signature_is_not_valid(signature: str) -> None:
    assert not verify_signature(SIGNED.model_copy(update={"signature": signature}), KEY.public)


def test_a_key_survives_being_kept() -> None:
    key = SigningKey.generate()
    kept = SigningKey.from_bytes(key.to_bytes())

    assert (kept.id, kept.public) == (key.id, key.public)
    assert sign_receipt(SIGNED, kept) == sign_receipt(SIGNED, key)
    assert key.id == compute_key_id(key.public)


def test_the_private_key_is_not_shown_by_accident() -> None:
    secret = KEY.to_bytes()

    assert secret.hex() not in repr(KEY)
    assert repr(secret)[2:-1] not in repr(KEY)


def test_the_signature_can_be_checked_without_keyset() -> None:
    data = json.loads(SIGNED.model_dump_json())
    signature = base64.urlsafe_b64decode(data.pop("signature") + "==")
    # What JavaScript's JSON.stringify writes, with sorted keys: whole numbers without a point.
    data = {
        name: int(value) if isinstance(value, float) and value == int(value) else value
        for name, value in data.items()
    }
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    public = base64.urlsafe_b64decode(KEY.public + "=")
    Ed25519PublicKey.from_public_bytes(public).verify(signature, text.encode())


def test_canonical_json_has_one_form() -> None:
    one = to_canonical_json({"b": [1.0, 2.5, None, True], "a": "µ"})

    assert one == '{"a":"µ","b":[1,2.5,null,true]}'.encode()
    assert one == to_canonical_json({"a": "µ", "b": (1, 2.5, None, True)})


def test_the_time_is_told_in_utc_wherever_it_was_taken() -> None:
    there = RECEIVED_AT.astimezone(timezone(timedelta(hours=2)))
    again = Receipt.model_validate(SIGNED.model_dump() | {"received_at": there})

    assert again == SIGNED
    assert json.loads(again.model_dump_json())["received_at"] == "2026-03-01T12:30:15.250000Z"


def test_a_time_without_offset_is_no_time() -> None:
    with pytest.raises(ValidationError):
        Receipt.model_validate(
            SIGNED.model_dump() | {"received_at": datetime(2026, 3, 1)}  # noqa: DTZ001 - this is what must be refused
        )


def test_a_receipt_is_the_same_in_another_process() -> None:
    program = "from tests.grading.test_signing import SIGNED; print(SIGNED.model_dump_json())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=60
    )

    assert Receipt.model_validate_json(done.stdout) == SIGNED


def test_a_withheld_receipt_is_the_same_whatever_the_answer_earned() -> None:
    right = bundle_of(STRETCHED, PREDICTIONS, uses={"q": "99 (mu_a + mu_b)"}).receipt
    wrong = bundle_of(STRETCHED, {**PREDICTIONS, "variance": 9}, uses={"q": "mu_a"}).receipt
    sent = {"answer": "", "used_answer": "", "signature": None}

    assert to_withheld_receipt(right).model_copy(update=sent) == to_withheld_receipt(
        wrong
    ).model_copy(update=sent)


def test_the_receipt_does_not_let_students_try_out_what_the_reference_is() -> None:
    ada, emmy = (submit(STRETCHED, PREDICTIONS, student=name) for name in ("ada", "emmy"))

    assert hash_used(ada.used) == hash_used(emmy.used) == "reference"


def test_the_last_bits_of_an_earlier_answer_are_no_part_of_the_receipt() -> None:
    one = submit(STRETCHED, PREDICTIONS, uses={"q": "99 (mu_a + mu_b)"})
    same = submit(STRETCHED, PREDICTIONS, uses={"q": "33 (mu_a + mu_b) * 3.0000000000001"})
    other = submit(STRETCHED, PREDICTIONS, uses={"q": "33 (mu_a + mu_b) * 3.000001"})

    assert hash_used(one.used) == hash_used(same.used)
    assert hash_used(one.used) != hash_used(other.used)
