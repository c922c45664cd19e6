from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.engine.random.streams import DEVELOPMENT_KEYS, DEVELOPMENT_SECRET
from grader.errors import OperatorError
from grader.feedback.base import hash_bytes
from grader.feedback.receipt import hash_answer
from grader.grading.receipts.bundle import MAX_BYTES, Bundle, read_bundle, write_bundle
from grader.grading.receipts.checks import CheckState
from grader.grading.receipts.replay import Replay, replay_bundle
from grader.grading.signing import SigningKey, encode_base64url, sign_receipt, to_withheld_receipt
from tests.support.bundles import EXACT, KEY, NOISY, PREDICTIONS, STRETCHED, WRITTEN, bundle_of
from tests.support.rubrics import judge_of, rubric_of, shipped

NUMBERS = (judge_of(NOISY).variant("ada").values["mu"][0] * math.pi).tolist()
OWN = {"q": "99 (mu_a + mu_b)"}
WRONG_EARLIER = {"q": "mu_a"}
CASES = [
    pytest.param(NOISY, {"q": NUMBERS}, None, id="sampled, as numbers"),
    pytest.param(NOISY, {"q": "40 (mu_a + mu_b)"}, None, id="sampled, as a formula"),
    pytest.param(NOISY, {"q": "20 (mu_a + mu_b) + log(0.519/0.481) mu_a"}, None, id="close"),
    pytest.param(STRETCHED, PREDICTIONS, OWN, id="with the own earlier answer"),
    pytest.param(STRETCHED, PREDICTIONS, WRONG_EARLIER, id="with the reference instead"),
    pytest.param(STRETCHED, PREDICTIONS, None, id="with the reference"),
    pytest.param(EXACT, {"q": "2 k_i - k_j"}, None, id="exact"),
    pytest.param(WRITTEN, {"explanation": "They are positive. Σ = 1."}, None, id="written"),
    pytest.param(WRITTEN, {}, None, id="nothing written yet"),
    pytest.param("single-head-attention/2a", {"score": 17.1}, None, id="scored outside"),
]


def differing(result: Replay) -> set[str]:
    return {check.name for check in result.checks if check.state is CheckState.DIFFERS}


def names(result: Replay) -> list[str]:
    return [check.name for check in result.checks]


def data_of(bundle: Bundle) -> Any:
    return json.loads(write_bundle(bundle))


def replayed(data: Any, key: str | None = None) -> Replay:
    return replay_bundle(read_bundle(json.dumps(data).encode()), key=key)


@pytest.mark.parametrize(("question", "sent", "uses"), CASES)
def test_a_grade_is_judged_again_from_its_bundle_alone(
    question: str, sent: dict[str, Any], uses: dict[str, Any] | None
) -> None:
    bundle = bundle_of(question, sent, uses=uses)
    read = read_bundle(write_bundle(bundle))
    result = replay_bundle(read, key=KEY.public)

    assert read == bundle
    assert [check for check in result.checks if check.state is not CheckState.AGREES] == []
    assert result.agrees
    assert result.was_judged


@pytest.mark.parametrize(
    "rubric", [each for each in shipped().rubrics() if each.form.examples], ids=lambda each: each.id
)
def test_examples_of_every_question_can_be_replayed(rubric: Any) -> None:
    example = rubric.form.examples[0]

    result = replay_bundle(bundle_of(rubric.id, dict(example.answer), uses=example.uses))
    assert result.agrees
    assert result.was_judged


@pytest.mark.parametrize(("question", "sent", "uses"), CASES)
def test_before_publication_the_receipt_can_be_checked(
    question: str, sent: dict[str, Any], uses: dict[str, Any] | None
) -> None:
    result = replay_bundle(bundle_of(question, sent, uses=uses, is_published=False), key=KEY.public)

    assert result.agrees
    assert not result.was_judged
    assert set(names(result)) >= {"signature", "signer", "answer", "reported", "score"}
    assert "published from 2026-03-20 22:59 UTC on" in result.checks[-1].text


# What an unpublished bundle must not hold


def secrets_of(question: str, answer: dict[str, Any]) -> list[str]:
    """What stands in a rubric for nobody but its author, and what only the engine knows."""
    rubric, judge = rubric_of(question), judge_of(question)
    titles = [each.title for each in rubric.question.criteria]
    shown = " ".join([rubric.form.prompt, rubric.form.title, *titles, *map(str, answer.values())])
    words = [
        text
        for part in (rubric.document.data, rubric.earlier.document.data if rubric.earlier else {})
        for name in ("examples", "misconceptions", "uses", "compute", "key_sets", "hints")
        for text in texts_in(part.get(name, {}))
        if len(text) > 8 and text not in shown
    ]
    variant, given = judge.variant("ada"), rubric.form.given
    unseen = [array for name, array in variant.values.items() if name not in given]
    hidden = [repr(float(number)) for array in unseen for number in array.flat]
    key = judge.context.key
    return [*words, *hidden, encode_base64url(key), key.hex(), DEVELOPMENT_SECRET.decode()]


def texts_in(data: Any) -> list[str]:
    if isinstance(data, dict):
        return [text for value in data.values() for text in texts_in(value)]
    if isinstance(data, list):
        return [text for value in data for text in texts_in(value)]
    return [data] if isinstance(data, str) else []


@pytest.mark.parametrize(
    ("question", "sent", "uses"),
    [
        *CASES,
        pytest.param(
            "self-attention-and-transformers/a-iii", {"c": "v_j"}, None, id="hidden draws"
        ),
    ],
)
def test_an_unpublished_bundle_holds_nothing_that_is_not_the_students_yet(
    question: str, sent: dict[str, Any], uses: dict[str, Any] | None
) -> None:
    open_text = write_bundle(bundle_of(question, sent, uses=uses)).decode()
    text = write_bundle(bundle_of(question, sent, uses=uses, is_published=False)).decode()
    secrets = secrets_of(question, {**sent, **(uses or {})})

    assert not [secret for secret in secrets if json.dumps(secret)[1:-1] in text]
    assert encode_base64url(judge_of(question).context.key) in open_text


def test_a_hidden_draw_is_in_the_bundle_only_when_published() -> None:
    """`other` is drawn for the author's examples, and never given."""
    sent = {"q": "40 (mu_a + mu_b)"}

    assert "other" in judge_of(NOISY).variant("ada").indices
    assert '"other"' not in write_bundle(bundle_of(NOISY, sent, is_published=False)).decode()
    assert '"other"' in write_bundle(bundle_of(NOISY, sent)).decode()


def test_a_published_bundle_holds_the_keys_of_its_own_questions_only() -> None:
    bundle = bundle_of(STRETCHED, PREDICTIONS)
    assert bundle.published is not None

    assert [each.question for each in bundle.published.keys] == [STRETCHED, NOISY]
    text = write_bundle(bundle).decode()
    assert encode_base64url(DEVELOPMENT_KEYS.of(EXACT, 1)) not in text
    assert encode_base64url(DEVELOPMENT_SECRET) not in text


# Tampering


def _as_is(data: Any) -> None:
    pass


def change_answer(data: Any) -> None:
    data["answer"]["q"] = "41 (mu_a + mu_b)"


def change_score(data: Any) -> None:
    data["receipt"]["score"] = 10


def change_verdict(data: Any) -> None:
    data["verdicts"][0] |= {"outcome": "not_met", "reason": "outside_tolerance", "credit": "0"}


def change_rubric(data: Any) -> None:
    rubrics = data["published"]["rubrics"]
    rubrics[NOISY] = rubrics[NOISY].replace("within: 0.02", "within: 0.03")


def change_key(data: Any) -> None:
    data["published"]["keys"][0]["key"] = encode_base64url(bytes(32))


def spoil_key(data: Any) -> None:
    data["published"]["keys"][0]["key"] = "no base64"


def leave_out_key(data: Any) -> None:
    data["published"]["keys"] = []


def change_variant(data: Any) -> None:
    data["published"]["variant"]["values"]["mu"][0][0] += 1e-6


def change_index(data: Any) -> None:
    data["published"]["variant"]["indices"]["a"] = 1_000_000


def tear_variant(data: Any) -> None:
    data["published"]["variant"]["values"]["mu"][0].pop()


def change_given(data: Any) -> None:
    data["given"]["mu"][0][0] += 1e-6


def change_prompt(data: Any) -> None:
    data["question"]["prompt"] += " Easy."


def change_signature(data: Any) -> None:
    data["receipt"]["signature"] = encode_base64url(bytes(64))


def strip_signature(data: Any) -> None:
    data["receipt"]["signature"] = None


def strip_public_key(data: Any) -> None:
    data["public_key"] = None


def change_time(data: Any) -> None:
    data["receipt"]["received_at"] = "2026-02-28T12:30:15.250000Z"


@pytest.mark.parametrize(
    ("tamper", "noticed"),
    [
        (_as_is, set()),
        (change_answer, {"answer", "judged again"}),
        (change_score, {"signature", "score", "judged again"}),
        (change_verdict, {"reported", "score", "judged again"}),
        (change_rubric, {"rubric"}),
        (change_key, {"keys"}),
        (spoil_key, {"keys"}),
        (leave_out_key, {"keys"}),
        (change_variant, {"variant", "given"}),
        (change_index, {"variant"}),
        (tear_variant, {"variant"}),
        (change_given, {"given"}),
        (change_prompt, {"question"}),
        (change_signature, {"signature"}),
        (strip_signature, {"signature"}),
        (strip_public_key, {"signature"}),
        (change_time, {"signature"}),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_tampering_is_noticed_by_name(tamper: Callable[[Any], None], noticed: set[str]) -> None:
    data = data_of(bundle_of(NOISY, {"q": "3.9 (mu_a + mu_b)"}))
    tamper(data)

    # `41 (mu_a + mu_b)` earns more than what was sent, so that judging it again tells as well.
    assert differing(replayed(data)) == noticed


def change_earlier_answer(data: Any) -> None:
    data["uses"]["answer"]["q"] = "98 (mu_a + mu_b)"


def deny_ownership(data: Any) -> None:
    data["uses"]["is_own"] = False


def forget_the_earlier_part(data: Any) -> None:
    data["uses"] = None


def change_earlier_rubric(data: Any) -> None:
    rubrics = data["published"]["rubrics"]
    rubrics[NOISY] = rubrics[NOISY].replace("within: 0.02", "within: 0.00001")


def leave_out_earlier_rubric(data: Any) -> None:
    del data["published"]["rubrics"][NOISY]


def change_earlier_key(data: Any) -> None:
    data["published"]["keys"][1]["key"] = encode_base64url(bytes(32))


@pytest.mark.parametrize(
    ("tamper", "noticed"),
    [
        (change_earlier_answer, {"earlier answer", "used", "judged again"}),
        (deny_ownership, {"used"}),
        (forget_the_earlier_part, {"earlier answer", "used", "judged again"}),
        (change_earlier_rubric, {"rubric"}),
        (leave_out_earlier_rubric, {"rubric"}),
        (change_earlier_key, {"keys"}),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_tampering_with_the_earlier_part_is_noticed_by_name(
    tamper: Callable[[Any], None], noticed: set[str]
) -> None:
    data = data_of(bundle_of(STRETCHED, PREDICTIONS, uses=OWN))
    tamper(data)

    assert differing(replayed(data)) - {"judged again"} == noticed - {"judged again"}


def resigned(data: Any, key: SigningKey) -> Any:
    """What a forger can do: sign the changed receipt with a key of their own."""
    bundle = read_bundle(json.dumps(data).encode())
    changed = sign_receipt(bundle.receipt, key)
    return data_of(bundle.model_copy(update={"receipt": changed, "public_key": key.public}))


def test_a_forged_grade_that_is_signed_anew_is_seen_by_the_services_key() -> None:
    data = data_of(bundle_of(NOISY, {"q": "3.9 (mu_a + mu_b)"}, is_published=False))
    change_time(data)
    forged = resigned(data, SigningKey.generate())

    assert replayed(forged).agrees
    assert differing(replayed(forged, KEY.public)) == {"signer"}


def test_a_grade_that_the_service_itself_made_up_is_seen_by_judging_again() -> None:
    bundle = bundle_of(NOISY, {"q": "40 (mu_a + mu_b)"})
    made_up = bundle_of(NOISY, {"q": "mu_a + mu_b"})
    receipt = bundle.receipt.model_copy(
        update={"verdicts": made_up.receipt.verdicts, "score": made_up.receipt.score}
    )
    changed = {"receipt": sign_receipt(receipt, KEY), "verdicts": made_up.verdicts}
    result = replay_bundle(bundle.model_copy(update=changed), key=KEY.public)

    assert differing(result) == {"judged again"}
    assert "weights, output" in result.checks[-1].text


def test_withheld_points_stay_withheld() -> None:
    bundle = bundle_of(NOISY, {"q": "40 (mu_a + mu_b)"}, is_published=False)
    changed = {"receipt": sign_receipt(to_withheld_receipt(bundle.receipt), KEY), "verdicts": None}
    result = replay_bundle(bundle.model_copy(update=changed))

    assert result.agrees
    assert "met" not in json.dumps(data_of(bundle.model_copy(update=changed))["verdicts"])
    assert [check.state for check in result.checks if check.name == "reported"] == [CheckState.OPEN]


def test_verdicts_that_no_receipt_vouches_for_are_noticed() -> None:
    bundle = bundle_of(NOISY, {"q": "40 (mu_a + mu_b)"}, is_published=False)
    changed = {"receipt": sign_receipt(to_withheld_receipt(bundle.receipt), KEY)}

    assert differing(replay_bundle(bundle.model_copy(update=changed))) == {"reported", "score"}


def change_assignment(data: Any) -> None:
    data["published"]["assignment"] = "another"


def hide_the_score(data: Any) -> None:
    data["receipt"]["score"] = None


def hide_the_verdicts(data: Any) -> None:
    data["receipt"]["verdicts"] = data["verdicts"] = None


@pytest.mark.parametrize(
    ("tamper", "noticed"),
    [
        (change_assignment, {"judged again"}),
        (hide_the_score, {"score", "judged again"}),
        (hide_the_verdicts, {"reported", "score"}),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_a_receipt_that_contradicts_itself_is_noticed_also_when_signed(
    tamper: Callable[[Any], None], noticed: set[str]
) -> None:
    data = data_of(bundle_of(NOISY, {"q": "40 (mu_a + mu_b)"}))
    tamper(data)

    assert differing(replayed(resigned(data, KEY), KEY.public)) == noticed


# Hostile files


def honest() -> Any:
    return data_of(bundle_of(NOISY, {"q": "40 (mu_a + mu_b)"}))


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        pytest.param(b"", "not valid JSON", id="empty"),
        pytest.param(b"\xff\xfe", "not valid JSON", id="no text"),
        pytest.param(b"[]", "the file must be an object, but it is a list", id="a list"),
        pytest.param(b"[" * 100_000, "not valid JSON", id="very deep"),
        pytest.param(b'{"format": 2, "format": 2}', "uplicate key", id="a name twice"),
        pytest.param(b'{"format": 3}', "use a newer one", id="another format"),
        pytest.param(b'{"format": NaN}', "not valid JSON", id="not a number"),
        pytest.param(b" " * (MAX_BYTES + 1), "larger than 8 MiB", id="too large"),
        pytest.param(b'{"format": 2}', "receipt is missing", id="nothing in it"),
    ],
)
def test_what_is_no_bundle_is_refused_with_a_sentence(raw: bytes, said: str) -> None:
    with pytest.raises(OperatorError, match=re.escape(said)):
        read_bundle(raw)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(("surprise",), 1, id="an unknown key"),
        pytest.param(("receipt", "surprise"), 1, id="an unknown key of the receipt"),
        pytest.param(("receipt", "score"), 1e300, id="absurd points"),
        pytest.param(("receipt", "score"), True, id="points as a truth value"),
        pytest.param(("receipt", "key_sets"), "2000", id="a number as text"),
        pytest.param(("receipt", "key_sets"), 2000.5, id="half a key set"),
        pytest.param(("receipt", "received_at"), "2026-03-01T12:30:15", id="a time nowhere"),
        pytest.param(("receipt", "received_at"), "0001-01-01T00:00:00+23:00", id="before time"),
        pytest.param(("verdicts", 0, "credit"), "1e-999999", id="an endless credit"),
        pytest.param(("verdicts", 0, "credit"), "2", id="twice the credit"),
        pytest.param(("verdicts", 0, "outcome"), "splendid", id="an unknown outcome"),
        pytest.param(("published", "assignment"), "../../etc", id="a path"),
        pytest.param(("published", "rubrics", "/etc/passwd"), "x", id="a path as a question"),
        pytest.param(("published", "variant", "values", "mu"), "mu", id="text for numbers"),
        pytest.param(("published", "variant", "values", "mu"), [[["x"]]], id="too deep"),
        pytest.param(("published", "variant", "indices", "a"), 0.5, id="half an index"),
    ],
)
def test_a_bundle_with_a_misfit_is_refused_with_its_place(
    path: tuple[Any, ...], value: Any
) -> None:
    data = part = honest()
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value

    with pytest.raises(OperatorError, match=re.escape(str(path[0]))):
        read_bundle(json.dumps(data).encode())


def with_rubric(text: str, **more: Any) -> Any:
    """A bundle whose forger has a rubric of their own and signs it."""
    data = {**honest(), **more}
    data["published"]["rubrics"] = {NOISY: text}
    data["receipt"]["rubric"] = hash_bytes(text.encode())
    data["receipt"]["answer"] = hash_answer(data["answer"])
    return resigned(data, KEY)


SMALL = """\
id: c-i
title: x
points: 1
prompt: x
{draw}
answer: {{q: {{shape: [2]}}}}
{compute}
criteria:
  - id: weights
    title: x
    points: 1
    measure: "{measure}"
    in_words: "x is {{measured}}; {{needed}} is allowed"
    levels: [{{within: 1, credit: 1}}]
examples: [{{name: x, answer: {{q: [1, 2]}}, earns: 1}}]
"""
TOO_MANY = """\
draw: {n: 200, d: 200, mu: {orthonormal: [n, d]}}
given: [mu]
key_sets: {count: 32000, draw: {k: {gaussian: {mean: mu, variance: 1}}}}"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "the file is empty", id="empty"),
        pytest.param("&a [*a, *a]", "c-i.yaml:1:1", id="aliases"),
        pytest.param("!!python/object/apply:os.system [ls]", "c-i.yaml:1:1", id="a tag"),
        pytest.param("x: " + "[" * 5000, "nested deeper", id="very deep"),
        pytest.param(
            SMALL.format(draw="", compute="", measure="norm(q)" + " + norm(q)" * 150),
            "A formula may have at most 500 numbers",
            id="a long formula",
        ),
        pytest.param(
            SMALL.format(draw=TOO_MANY, compute="", measure="max(k q)")
            .replace("[2]", "[d]")
            .replace("within: 1", "within: 1, share: 0.9"),
            "more numbers than any question needs",
            id="too many numbers",
        ),
        pytest.param(
            SMALL.format(
                draw="draw: {k: {unit_rows: [50, 2], most_cosine: 0.01}}",
                compute="",
                measure="norm(q)",
            ),
            "were not found",
            id="a draw that is impossible",
        ),
        pytest.param(
            SMALL.format(draw="", compute="", measure="norm(q)"),
            "mu_a has no meaning in this question",
            id="another question",
        ),
    ],
)
def test_a_hostile_rubric_gets_a_sentence(text: str, said: str) -> None:
    result = replayed(with_rubric(text), KEY.public)

    assert "judged again" in differing(result)
    assert said in result.checks[-1].text


def test_no_file_that_a_bundle_names_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = write_bundle(bundle_of(STRETCHED, PREDICTIONS, uses=OWN))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr(Path, "open", refuse)
    assert replay_bundle(read_bundle(raw)).was_judged
