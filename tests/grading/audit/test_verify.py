from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import orjson
import pytest
from sqlalchemy import text

from grader.feedback.receipt import Receipt, hash_answer
from grader.grading.audit.chain import ChainHead
from grader.grading.audit.findings import MAX_DISCREPANCIES
from grader.grading.audit.rejudging import RejudgeSample
from grader.grading.context import GradingContext
from grader.grading.grades.overrides import format_grade_version, override_grade
from grader.grading.publishing.publish import publish
from grader.grading.signing import SigningKey, sign_receipt, to_withheld_receipt
from grader.rubric.catalog import read_assignment
from grader.store.database import Database, Session, open_database
from grader.store.queries.audit import add_signing_key
from grader.store.queries.courses import get_member, get_run
from grader.store.queries.grades import find_grades
from tests.support.audited_store import (
    SINGLE_HEAD,
    TRANSFORMERS,
    Store,
    days,
    fill,
    small,
    tampering,
)
from tests.support.databases import BACKENDS, fresh_url
from tests.support.people import NOW, RUN, place_of
from tests.support.regrades import regrade_now

ALL = RejudgeSample(None, 0)


@pytest.fixture(scope="module", params=BACKENDS)
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """One store for all tests; what they tamper with is undone."""
    folder = tmp_path_factory.mktemp("store")
    with fresh_url(request.param, folder) as url, closing(open_database(url)) as database:
        yield fill(database)


def names(store: Store) -> dict[str, str]:
    """The ids of attempts, for statements."""
    return {name.replace(" ", "_"): store.id(name) for name in store.told}


def found_after(
    store: Store,
    *statements: str,
    sample: RejudgeSample | None = None,
    head: ChainHead | None = None,
    **more: Any,
) -> dict[str, list[tuple[str, str]]]:
    if "publication" in str(statements) or "rubric_texts" in str(statements):
        # A desk keeps what never changes.
        store = replace(store, verifier=GradingContext(SigningKey.generate()))
    used = {name: value for name, value in names(store).items() if f":{name}" in str(statements)}
    with tampering(store.database, *statements, **used, **more) as session:
        return store.found(session, sample=sample, head=head)


def without_database(found: dict[str, Any]) -> set[str]:
    """The checks that noticed, leaving out SQLite's own word on what points nowhere."""
    return set(found) - {"database"}


def test_a_store_that_was_only_used_is_fine(store: Store) -> None:
    result = store.verify(acknowledged=store.lines(), sample=ALL)

    assert result.is_fine
    looked_at = {each.name: each.looked_at for each in result.checks}
    assert looked_at["database"] == (2 if store.database.is_sqlite else 0)
    assert looked_at["acknowledged"] == looked_at["attempts"] == looked_at["judgements"] == 9
    assert looked_at["judged again"] == looked_at["idempotency"] == 9
    # Three texts of one assignment, two of which are in two publications, and three publications.
    assert looked_at["rubrics"] == 4 + 3
    assert looked_at["grades"] == 8
    assert looked_at["audit chain"] == result.head.number > 10


@dataclass(frozen=True)
class Tampering:
    name: str
    statements: tuple[str, ...]
    noticed_by: set[str]
    said: str


def tampered(name: str, *statements: str, by: str, said: str) -> Any:
    return pytest.param(Tampering(name, statements, set(by.split(", ")), said), id=name)


@pytest.mark.parametrize(
    "done",
    [
        tampered(
            "an answer",
            """UPDATE attempts SET answer = '{"q":"mu_b"}' WHERE id = :cora_late""",
            by="acknowledged, attempts",
            said="The answer does not match its hash.",
        ),
        tampered(
            "an answer's hash",
            "UPDATE attempts SET answer_digest = 'sha256:0' WHERE id = :cora_late",
            by="attempts, judgements",
            said="The answer does not match its hash.",
        ),
        tampered(
            "the time of an attempt",
            "UPDATE attempts SET received_at = (SELECT received_at FROM attempts"
            " WHERE id = :ada_wrong) WHERE id = :ada_right",
            by="acknowledged, judgements, grades",
            said="Its receipt does not agree with what is stored: received_at.",
        ),
        tampered(
            "an answer that is no JSON",
            "UPDATE attempts SET answer = '{' WHERE id = :cora_late",
            by="acknowledged, attempts, grades",
            said="This attempt cannot be read.",
        ),
        tampered(
            "a number",
            "UPDATE attempts SET number = 5 WHERE id = :bob_3",
            by="acknowledged, attempts, judgements",
            said="Its number is 5, but that of the attempt before is 2.",
        ),
        tampered(
            "the first number",
            "UPDATE attempts SET number = 2 WHERE id = :cora_late",
            by="acknowledged, attempts, judgements",
            said="It is the first attempt at its question, but its number is 2.",
        ),
        tampered(
            "a middle attempt deleted",
            "DELETE FROM judgements WHERE attempt_id = :bob_1",
            "DELETE FROM attempts WHERE id = :bob_1",
            by="acknowledged, attempts, grades, idempotency",
            said="It is the first attempt at its question, but its number is 2.",
        ),
        tampered(
            "a last attempt deleted",
            "DELETE FROM judgements WHERE attempt_id = :cora_late",
            "DELETE FROM attempts WHERE id = :cora_late",
            by="acknowledged, grades, idempotency",
            said="There is a grade, but no event that it could come from.",
        ),
        tampered(
            "an attempt deleted with every trace",
            "DELETE FROM judgements WHERE attempt_id = :cora_late",
            "DELETE FROM grades WHERE counted_attempt_id = :cora_late",
            "DELETE FROM idempotency_keys WHERE key = 'cora late'",
            "DELETE FROM attempts WHERE id = :cora_late",
            by="acknowledged, totals",
            said="The attempt is missing. (line 9)",
        ),
        tampered(
            "an attempt deleted but not its judgement",
            "DELETE FROM attempts WHERE id = :cora_late",
            by="acknowledged, judgements, grades, idempotency",
            said="does not exist.",
        ),
        tampered(
            "more attempts than allowed",
            "UPDATE extensions SET extra_attempts = 0",
            by="attempts, state",
            said="With it 3 attempts are used, and 2 are allowed.",
        ),
        tampered(
            "an attempt after the end",
            "UPDATE extensions SET due_at = NULL",
            by="attempts, state",
            said="It was received at 2026-11-29 00:00:00 UTC, after the end at "
            "2026-11-26 12:00:00 UTC.",
        ),
        tampered(
            "attempts before the opening",
            "UPDATE publications SET opens_at = due_at"
            f" WHERE number = 1 AND assignment = '{TRANSFORMERS}'",
            by="attempts, state",
            said="It was received at 2026-11-21 12:00:00 UTC, before the opening at "
            "2026-11-23 12:00:00 UTC.",
        ),
        tampered(
            "the use of another student's attempt",
            "UPDATE attempts SET uses_attempt_id = :bob_1 WHERE id = :ada_builds",
            by="acknowledged, attempts, judgements",
            said="which is another student's.",
        ),
        tampered(
            "the use of another question's attempt",
            "UPDATE attempts SET uses_attempt_id = :ada_withheld WHERE id = :ada_builds",
            by="acknowledged, attempts, judgements",
            said="which is not at c-i.",
        ),
        tampered(
            "the use of nothing",
            "UPDATE attempts SET uses_attempt_id = NULL WHERE id = :ada_builds",
            by="acknowledged, attempts, judgements",
            said="It should build on an attempt at c-i, but it builds on none.",
        ),
        tampered(
            "a use where there is none",
            "UPDATE attempts SET uses_attempt_id = :ada_wrong WHERE id = :ada_right",
            by="acknowledged, attempts, judgements",
            said="but its question builds on nothing.",
        ),
        tampered(
            "another assignment's publication",
            "UPDATE attempts SET publication_id = (SELECT id FROM publications"
            f" WHERE assignment = '{SINGLE_HEAD}') WHERE id = :cora_late",
            by="attempts, judgements",
            said="is of another course run or assignment.",
        ),
        tampered(
            "a publication deleted",
            f"DELETE FROM publications WHERE assignment = '{SINGLE_HEAD}'",
            by="attempts, grades, state",
            said="is missing.",
        ),
        tampered(
            "a score",
            "UPDATE judgements SET awarded = awarded - 100 WHERE attempt_id = :cora_late",
            by="judgements, grades",
            said="7 points are awarded, but its verdicts add up to 8.",
        ),
        tampered(
            "possible points",
            "UPDATE judgements SET possible = 2000 WHERE attempt_id = :cora_late",
            by="judgements, grades",
            said="20 points are possible, but its verdicts add up to 10.",
        ),
        tampered(
            "pending points",
            "UPDATE judgements SET pending = 100 WHERE attempt_id = :cora_late",
            by="judgements",
            said="1 points are pending, but its verdicts add up to 2.",
        ),
        tampered(
            "whether a person must look",
            "UPDATE judgements SET needs_person = NOT needs_person WHERE attempt_id = :cora_late",
            by="judgements",
            said="Whether a person must look does not follow from its verdicts.",
        ),
        tampered(
            "a verdict",
            """UPDATE judgements SET verdicts = replace(verdicts, '"met"', '"not_met"')"""
            " WHERE attempt_id = :cora_late",
            by="judgements",
            said="Its receipt does not agree with what is stored: verdicts, judgement.",
        ),
        tampered(
            "verdicts that are none",
            "UPDATE judgements SET verdicts = '[1]' WHERE attempt_id = :ada_wrong",
            by="judgements, grades",
            said="Its verdicts cannot be read.",
        ),
        tampered(
            "swapped receipts",
            "UPDATE judgements SET receipt = CASE attempt_id"
            " WHEN :bob_1 THEN (SELECT receipt FROM judgements WHERE attempt_id = :bob_3)"
            " ELSE (SELECT receipt FROM judgements WHERE attempt_id = :bob_1) END"
            " WHERE attempt_id IN (:bob_1, :bob_3)",
            by="acknowledged, judgements",
            said="Its receipt does not agree with what is stored: attempt, received_at, answer",
        ),
        tampered(
            "a receipt",
            r"""UPDATE judgements SET receipt = replace(receipt, 'score"\:8', 'score"\:9')"""
            " WHERE attempt_id = :cora_late",
            by="acknowledged, judgements",
            said="Its receipt has no valid signature of this service.",
        ),
        tampered(
            "a receipt that is none",
            "UPDATE judgements SET receipt = '{}' WHERE attempt_id = :cora_late",
            by="acknowledged, judgements",
            said="Its receipt cannot be read.",
        ),
        tampered(
            "whose answer was used",
            "UPDATE judgements SET uses = 'reference' WHERE attempt_id = :bob_builds",
            by="judgements",
            said="Its receipt does not agree with what is stored: used.",
        ),
        tampered(
            "the rubric of a judgement",
            "UPDATE judgements SET rubric_version = (SELECT rubric_version FROM judgements"
            " WHERE attempt_id = :ada_builds) WHERE attempt_id = :cora_late",
            by="judgements",
            said="It was judged by another rubric than the one in force for the attempt.",
        ),
        tampered(
            "the number of a judgement",
            "UPDATE judgements SET number = 2 WHERE attempt_id = :cora_late",
            by="judgements",
            said="Its number is 2, but 1 is next.",
        ),
        tampered(
            "a judgement deleted",
            "DELETE FROM judgements WHERE attempt_id = :cora_late",
            by="acknowledged, judgements, grades",
            said="This attempt has no judgement.",
        ),
        tampered(
            "the signing keys lost",
            "DELETE FROM signing_keys",
            by="acknowledged, judgements, state",
            said="The receipt has no valid signature of this service.",
        ),
        tampered(
            "a grade",
            "UPDATE grades SET points = points + 50 WHERE counted_attempt_id = :bob_3",
            by="grades, totals",
            said="The grade does not follow from its events: points is",
        ),
        tampered(
            "a grade deleted",
            "DELETE FROM grades WHERE question = '2a'",
            by="grades, totals",
            said="There is no grade, but it should be 17 points.",
        ),
        tampered(
            "a grade for nothing",
            "INSERT INTO grades SELECT enrolment_id, assignment, '1c', points, possible, pending,"
            " 0, NULL, 0, is_overridden, needs_person, changes, changed_at, run_id, NULL, NULL"
            " FROM grades"
            " WHERE question = '2a' AND points = 225",
            by="grades, totals",
            said="There is a grade, but no event that it could come from.",
        ),
        tampered(
            "the points of the counted attempt",
            "UPDATE grades SET counted_points = counted_points + 25 WHERE counted_points > 0",
            by="grades",
            said="counted_points is",
        ),
        tampered(
            "a total",
            "UPDATE totals SET points = points + 50",
            by="totals",
            said="The total is ",
        ),
        tampered(
            "what is pending in a total",
            "UPDATE totals SET pending = pending + 50",
            by="totals",
            said="pending; its grades come to ",
        ),
        tampered(
            "a total deleted",
            "DELETE FROM totals",
            by="totals",
            said="There is no total, but it should be ",
        ),
        tampered(
            "a total for nothing",
            "INSERT INTO totals (run_id, enrolment_id, assignment, points, pending)"
            " SELECT DISTINCT run_id, enrolment_id, 'elsewhere', 0, 0 FROM totals",
            by="totals",
            said="There is a total, but no grade that it could come from.",
        ),
        tampered(
            "a login in the roster",
            "UPDATE enrolments SET login = 'corinna' WHERE login = 'cora'",
            by="totals",
            said="The roster has the login 'corinna', but the person has 'cora'.",
        ),
        tampered(
            "an override deleted",
            "DELETE FROM overrides",
            by="grades, state",
            said="is_overridden is True and should be False",
        ),
        tampered(
            "a review",
            "UPDATE reviews SET points = 200",
            by="grades, state",
            said="The grade does not follow from its events: points is",
        ),
        tampered(
            "a rubric's comment",
            "UPDATE rubric_texts SET text = text || '# more'",
            by="rubrics, state",
            said="The text does not match this hash.",
        ),
        tampered(
            "an audit entry's details",
            """UPDATE audit SET details = replace(details, 'appeal', 'favour')"""
            " WHERE action = 'grade.overridden'",
            by="audit chain",
            said="Its digest does not match its content.",
        ),
        tampered(
            "who did it",
            "UPDATE audit SET by = 'somebody' WHERE number = 3",
            by="audit chain",
            said="Its digest does not match its content.",
        ),
        tampered(
            "details that are no JSON",
            "UPDATE audit SET details = '{' WHERE number = 3",
            by="audit chain, state",
            said="This entry cannot be read.",
        ),
        tampered(
            "an audit entry's digest",
            "UPDATE audit SET digest = 'sha256:0' WHERE number = 3",
            by="audit chain",
            said="It is not chained to the entry before.",
        ),
        tampered(
            "the order of audit entries",
            "UPDATE audit SET number = CASE number WHEN 3 THEN -4 ELSE -3 END"
            " WHERE number IN (3, 4)",
            "UPDATE audit SET number = -number WHERE number < 0",
            by="audit chain",
            said="It is not chained to the entry before.",
        ),
        tampered(
            "the middle of the chain",
            "DELETE FROM audit WHERE number IN (3, 4)",
            by="audit chain, state",
            said="The entry before has the number 2; entries are missing between them.",
        ),
        tampered(
            "an answer to a key",
            "UPDATE idempotent_responses SET body = replace(body, 'att_', 'att_x')"
            " WHERE digest = (SELECT body_digest FROM idempotency_keys WHERE key = 'cora late')",
            by="idempotency",
            said="which is missing.",
        ),
        tampered(
            "an answer to a key that is no JSON",
            "UPDATE idempotent_responses SET body = ''"
            " WHERE digest = (SELECT body_digest FROM idempotency_keys WHERE key = 'cora late')",
            by="idempotency",
            said="The stored response to this key is not JSON.",
        ),
    ],
)  # fmt: skip
def test_what_was_tampered_with_is_noticed(store: Store, done: Tampering) -> None:
    found = found_after(store, *done.statements)

    assert without_database(found) == done.noticed_by
    texts = [said for name in done.noticed_by for _, said in found[name]]
    assert any(done.said in each for each in texts), texts
    assert store.verify().is_fine, "the tampering stayed"


def test_a_discrepancy_names_what_it_is_about(store: Store) -> None:
    found = found_after(store, "UPDATE attempts SET number = 5 WHERE id = :bob_3")

    assert {subject for subject, _ in found["attempts"]} == {store.id("bob 3")}
    assert {subject for subject, _ in found["acknowledged"]} == {store.id("bob 3")}


def test_a_hash_changed_with_its_answer_is_noticed_by_the_receipt(store: Store) -> None:
    found = found_after(
        store,
        "UPDATE attempts SET answer = :answer, answer_digest = :digest WHERE id = :cora_late",
        answer='{"q":"mu_b"}',
        digest=hash_answer({"q": "mu_b"}),
    )

    assert without_database(found) == {"acknowledged", "judgements"}
    ((_, said),) = found["judgements"]
    assert said == "Its receipt does not agree with what is stored: answer."


def test_a_rubric_that_is_broken_is_told_once_and_the_grades_by_it_are_open(store: Store) -> None:
    found = found_after(store, "UPDATE rubric_texts SET text = 'id: [' WHERE text LIKE '%id: 1c%'")

    assert set(found) == {"rubrics", "grades", "state"}
    assert [said for _, said in found["rubrics"]] == [
        "The text does not match this hash.",
        "The texts of this publication cannot be used.",
    ]
    assert {said for _, said in found["grades"]} == {"No publication is in force to compute it by."}


def test_what_points_nowhere_is_found_by_sqlite_itself(store: Store) -> None:
    found = found_after(store, "DELETE FROM people WHERE login = 'cora'")

    assert set(found) == ({"database", "state"} if store.database.is_sqlite else {"state"})


def test_a_damaged_value_hides_nothing_behind_it(store: Store) -> None:
    if not store.database.is_sqlite:
        pytest.skip("PostgreSQL keeps no text in a column of numbers")
    found = found_after(
        store,
        "UPDATE attempts SET number = 'many' WHERE id = :bob_3",
        "UPDATE attempts SET received_at = 'yesterday' WHERE id = :ada_wrong",
        """UPDATE attempts SET answer = '{"q":"mu_b"}' WHERE id = :cora_late""",
    )

    assert dict(found["attempts"]) == {
        store.id("bob 3"): "This attempt cannot be read.",
        store.id("ada wrong"): "This attempt cannot be read.",
        store.id("cora late"): "The answer does not match its hash.",
    }


def test_all_discrepancies_are_counted_and_fifty_are_shown(store: Store) -> None:
    copies = [
        "INSERT INTO idempotency_keys (caller, key, request_digest, status, body_digest, made_at)"
        f" SELECT caller, 'copy {number}', request_digest, status, 'none', made_at"
        " FROM idempotency_keys WHERE key = 'cora late'"
        for number in range(MAX_DISCREPANCIES + 10)
    ]
    with tampering(store.database, *copies) as session:
        last = store.verify(session).checks[-1]

    assert last.name == "idempotency"
    assert (last.found, len(last.discrepancies)) == (MAX_DISCREPANCIES + 10, MAX_DISCREPANCIES)


# The end of the chain

_NEWEST_PUBLICATION = "SELECT id FROM publications ORDER BY published_at DESC LIMIT 1"


def test_a_chain_that_was_cut_at_its_end_is_noticed_by_an_earlier_head(store: Store) -> None:
    head = store.verify().head
    # What the last entry recorded is cut off with it, or else the rows would be left over.
    cut = (
        "DELETE FROM audit WHERE number = (SELECT max(number) FROM audit)",
        f"DELETE FROM publication_parts WHERE publication_id = ({_NEWEST_PUBLICATION})",
        f"DELETE FROM publications WHERE id = ({_NEWEST_PUBLICATION})",
    )

    assert {"state"} == set(found_after(store, cut[0]))
    without_head = found_after(store, *cut)
    assert "audit chain" not in without_head
    assert "state" not in without_head
    assert found_after(store, *cut, head=head)["audit chain"] == [
        (f"{head.number}", "The given head is no longer in the chain.")
    ]


def test_an_earlier_head_is_still_in_a_chain_that_grew(store: Store) -> None:
    with store.database.read() as session:
        digest = session.execute(text("SELECT digest FROM audit WHERE number = 5")).scalar_one()

    assert store.verify(head=ChainHead(5, str(digest))).is_fine
    assert not store.verify(head=ChainHead(6, str(digest))).is_fine
    assert store.verify(head=ChainHead(0, "sha256:" + "0" * 64)).is_fine


# What clients were told


def told(store: Store, name: str, **changes: Any) -> bytes:
    return orjson.dumps(store.told[name] | changes)


def discrepancies(store: Store, *lines: bytes) -> list[tuple[str, str]]:
    checked = store.verify(acknowledged=lines).checks[1]
    assert checked.name == "acknowledged"
    return [(each.subject, each.text) for each in checked.discrepancies]


def test_id_and_receipt_are_enough(store: Store) -> None:
    short = {"id": store.id("bob 1"), "receipt": store.told["bob 1"]["receipt"]}

    assert discrepancies(store, orjson.dumps(short), b"", b"  \n") == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", 7),
        ("question", f"{TRANSFORMERS}/c-ii"),
        ("answer", {"q": "mu_b"}),
        ("uses_attempt", "att_1"),
        ("repeats_attempt", "att_1"),
    ],
)
def test_what_a_client_was_told_otherwise_is_named(store: Store, name: str, value: Any) -> None:
    assert discrepancies(store, told(store, "bob 1", **{name: value})) == [
        (store.id("bob 1"), f"The client's copy differs: {name}. (line 1)")
    ]


def test_a_receipt_that_was_signed_with_other_points_differs(store: Store) -> None:
    receipt = Receipt.model_validate(store.told["bob 3"]["receipt"])
    other = sign_receipt(
        receipt.model_copy(update={"score": Decimal(1)}), store.context.signing_key
    )

    assert discrepancies(store, told(store, "bob 3", receipt=other.model_dump(mode="json"))) == [
        (store.id("bob 3"), "The client's copy differs: score. (line 1)")
    ]


def test_a_forged_receipt_has_no_valid_signature(store: Store) -> None:
    receipt = Receipt.model_validate(store.told["bob 3"]["receipt"])
    forged = sign_receipt(receipt, SigningKey.generate())

    assert discrepancies(store, told(store, "bob 3", receipt=forged.model_dump(mode="json"))) == [
        (store.id("bob 3"), "The receipt has no valid signature of this service. (line 1)")
    ]


def test_lines_that_cannot_be_read_are_discrepancies(store: Store) -> None:
    torn = told(store, "bob 1")[:100]

    assert discrepancies(store, told(store, "bob 1"), torn, b"[]", b'{"id": "att_1"}', b"\xff") == [
        ("line 2", "This line is not JSON."),
        ("line 3", "This is not the response to an attempt."),
        ("line 4", "This is not the response to an attempt."),
        ("line 5", "This line is not JSON."),
    ]


def test_a_newer_key_may_have_signed_what_withholds_the_result(store: Store) -> None:
    newer = SigningKey.generate()
    with store.database.read() as session:
        stored = session.execute(
            text("SELECT receipt FROM judgements WHERE attempt_id = :id"),
            {"id": store.id("ada withheld")},
        ).scalar_one()
    again = sign_receipt(to_withheld_receipt(Receipt.model_validate(orjson.loads(stored))), newer)
    line = told(store, "ada withheld", receipt=again.model_dump(mode="json"))

    with tampering(store.database) as session:
        add_signing_key(session, key_id=newer.id, private=newer.to_bytes(), at=days(20))
        assert store.verify(session, acknowledged=[line]).is_fine
    assert not store.verify(acknowledged=[line]).is_fine


def test_after_a_regrade_the_receipts_of_before_still_hold(store: Store) -> None:
    with tampering(store.database) as session:
        mend(session, store)
        regrade_now(session, store.context, run_id=RUN, assignment=TRANSFORMERS, at=days(21))

        assert store.found(session, sample=ALL) == {}


def mend(session: Session, store: Store) -> None:
    """Publish a stricter tolerance."""
    before = small(TRANSFORMERS, ["c-i", "c-ii"], "{most: 1, counted: last}")
    texts = {name: each.text for name, each in before.rubrics.items()}
    assert "{within: 0.10, share: 0.90" in texts["c-i"]
    texts["c-i"] = texts["c-i"].replace("{within: 0.10, share: 0.90", "{within: 0.05, share: 0.90")
    publish(
        session, store.context, run=get_run(session, run_id=RUN),
        assignment=read_assignment(TRANSFORMERS, before.text, texts), opens_at=NOW,
        due_at=days(1), note="", at=days(20), by="operator",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        pytest.param(
            "UPDATE judgements SET regrade_id = NULL WHERE number = 2",
            "Only the first judgement of an attempt belongs to no regrade.",
            id="no regrade",
        ),
        pytest.param(
            "UPDATE judgements SET rubric_version = (SELECT min(rubric_version) FROM judgements)",
            "It was judged by another rubric than the one of its regrade.",
            id="another rubric",
        ),
        pytest.param(
            "UPDATE regrades SET state = 'undone'",
            "Its state is 'undone', but entry",
            id="undone",
        ),
    ],
)
def test_what_is_changed_about_a_regrade_is_noticed(
    store: Store, statement: str, said: str
) -> None:
    with tampering(store.database) as session:
        mend(session, store)
        regrade_now(session, store.context, run_id=RUN, assignment=TRANSFORMERS, at=days(21))
        session.execute(text(statement))
        found = store.found(session)

    assert said in str(found)


# Judging again


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        pytest.param(
            "UPDATE runs SET secret = (SELECT private FROM signing_keys)",
            "the variant that was shown is not the one that the secret gives.",
            id="another secret",
        ),
        pytest.param(
            "DELETE FROM variants",
            "the variant that was shown is not there.",
            id="no variant",
        ),
        pytest.param(
            "DELETE FROM publication_parts",
            "the rubric that it was judged by is not there any more.",
            id="no rubric",
        ),
    ],
)
def test_what_cannot_be_judged_again_is_told(store: Store, statement: str, said: str) -> None:
    store = replace(store, verifier=GradingContext(SigningKey.generate()))
    found = found_after(store, statement, sample=ALL)

    texts = dict(found["judged again"])
    assert set(texts) == {each["id"] for each in store.told.values()}
    assert set(texts.values()) == {f"It cannot be judged by what is stored: {said}"}


def test_verdicts_that_come_out_differently_are_noticed(store: Store) -> None:
    found = found_after(
        store,
        """UPDATE judgements SET verdicts = replace(verdicts, '"met"', '"not_met"')"""
        " WHERE attempt_id = :cora_late",
        sample=ALL,
    )

    ((subject, said),) = found["judged again"]
    assert subject == store.id("cora late")
    assert said.startswith("Judged again it comes out differently: weights")


def test_a_seed_chooses_the_same_attempts_again(store: Store) -> None:
    def chosen(seed: int) -> set[str]:
        with tampering(store.database, "DELETE FROM variants") as session:
            checked = store.verify(session, sample=RejudgeSample(3, seed)).checks[-1]
        return {each.subject for each in checked.discrepancies}

    assert len(chosen(1)) == 3
    assert chosen(1) == chosen(1)
    assert len({frozenset(chosen(seed)) for seed in range(5)}) > 1


# Beside a live service


def test_changes_during_a_verification_are_not_seen(database: Database) -> None:
    store = fill(database)
    before = store.verify().head
    done: list[str] = []

    def tell(name: str, count: int) -> None:
        if name == "attempts" and not done:
            done.append(name)
            change(store)

    result = store.verify(progress=tell)

    assert done
    assert result.is_fine
    assert result.head == before
    assert store.verify(head=before).is_fine
    assert store.verify().head.number == before.number + 1


def change(store: Store) -> None:
    with store.database.write() as session:
        cora = get_member(session, run_id=RUN, login="cora")
        part = (cora.enrolment.id, TRANSFORMERS, "c-i")
        grade = find_grades(session, parts=[part]).get(part)
        override_grade(
            session, store.context, place_of(session, "grace"), cora, assignment=TRANSFORMERS,
            question="c-i", points=Decimal(1), reason="appeal", version=format_grade_version(grade),
            at=days(20),
        )  # fmt: skip
