"""What rests on sealed secrets stays the same, and `grader verify` looks into them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from grader.engine.random.variants import Variant
from grader.grading.audit.rejudging import RejudgeSample
from grader.grading.context import GradingContext
from grader.grading.signing import SigningKey
from grader.store.database import Database, open_database
from grader.store.queries.publications import find_in_force
from tests.support.audited_store import TRANSFORMERS, Store, fill, tampering
from tests.support.people import OTHER, RUN, add_run
from tests.support.sealing import BOTH_KEYS, NEW_KEYS, OLD_KEYS, begin, rotate

ALL = RejudgeSample(None, 0)


@pytest.fixture
def sealed(database_url: str) -> Iterator[Database]:
    """A database that was opened with a key from the beginning."""
    with closing(open_database(database_url, sealing_keys=OLD_KEYS)) as opened:
        yield opened


def draw(store: Store, student: str) -> Variant:
    """What somebody would be shown who was never there before."""
    context = GradingContext(SigningKey.generate())
    with store.database.read() as session:
        line = find_in_force(session, run_id=RUN, assignment=TRANSFORMERS)
        assert line is not None
        rubric = context.published(session, line).rubric("c-i")
        return context.judge(session, run_id=RUN, rubric=rubric).variant(student)


def test_grades_variants_and_receipts_are_the_same_before_and_after(database: Database) -> None:
    store = fill(database)
    before = draw(store, "enr_new")

    for keys, unseal in ((OLD_KEYS, False), (BOTH_KEYS, False), (NEW_KEYS, True)):
        rotate(database, keys, unseal=unseal)
        store = replace(store, database=replace(database, sealing_keys=keys))
        store.verifier = GradingContext(SigningKey.generate())

        after = draw(store, "enr_new")
        assert after.values.keys() == before.values.keys()
        for name, value in before.values.items():
            np.testing.assert_array_equal(after.values[name], value)
        with store.database.read() as session:
            assert store.found(session, sample=ALL) == {}


@pytest.mark.parametrize(
    ("statement", "subject"),
    [
        pytest.param("UPDATE runs SET secret = :value", f"runs {RUN}", id="run"),
        pytest.param("UPDATE signing_keys SET private = :value", "signing_keys ", id="signing key"),
    ],
)
def test_verify_notices_a_secret_that_was_replaced_by_hand(
    sealed: Database, statement: str, subject: str
) -> None:
    begin(sealed)
    store = Store(sealed, GradingContext(SigningKey.generate()))

    assert store.verify().is_fine
    with tampering(sealed, statement, value=b"x" * 32) as session:
        session.info.update(sealing_keys=OLD_KEYS)
        (found,) = store.found(session)["state"]
    assert found[0].startswith(subject)
    assert "is not what entry" in found[1]


def test_verify_names_each_sealed_secret_that_cannot_be_opened(database: Database) -> None:
    store = fill(database)
    rotate(database, OLD_KEYS)
    store = replace(store, database=replace(database, sealing_keys=NEW_KEYS))

    with store.database.read() as session:
        found = store.found(session, sample=ALL)

    key = store.context.signing_key.id
    assert [subject for subject, _ in found["secrets"]] == [f"runs {RUN}", f"signing_keys {key}"]
    assert all(f"sealed by the key {OLD_KEYS.newest_id}" in said for _, said in found["secrets"])
    # The other checks come to their end.
    assert "grades" not in found
    assert not any("The rest" in said for each in found.values() for _, said in each)
    assert all("cannot be judged" in said for _, said in found["judged again"])


def test_verify_names_a_sealed_secret_that_was_damaged_or_copied(sealed: Database) -> None:
    begin(sealed)
    with sealed.write() as session:
        add_run(session, OTHER)
    store = Store(sealed, GradingContext(SigningKey.generate()))
    copy = f"UPDATE runs SET secret = (SELECT secret FROM runs WHERE id = '{RUN}')"

    with tampering(sealed, f"{copy} WHERE id = '{OTHER}'") as session:
        session.info.update(sealing_keys=OLD_KEYS)
        ((subject, said),) = store.found(session)["secrets"]
    assert subject == f"runs {OTHER}"
    assert "was changed or copied there" in said
