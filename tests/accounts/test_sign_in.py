from __future__ import annotations

import pytest
from pwdlib import PasswordHash

from grader.accounts import sign_in
from grader.accounts.sign_in import find_password, hash_password, set_password, verify_password
from grader.errors import NotSignedIn
from grader.store.database import Database
from grader.store.queries.people import find_password_hash
from tests.support.people import NOW, add

PASSWORD = "correct horse staple"


def test_a_password_is_hashed_at_the_recommended_cost(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests hash at the lowest cost.
    monkeypatch.setattr(sign_in, "PasswordHash", PasswordHash)
    with sqlite_database.write() as session:
        ada = add(session, "ada")
        set_password(session, ada, hash_password(PASSWORD), at=NOW, by="operator")

    with sqlite_database.read() as session:
        found = find_password_hash(session, login="ada")
        assert found is not None
        assert found[1].startswith("$argon2id$v=19$m=65536,t=3,p=4$")
        assert verify_password(find_password(session, login="ada"), PASSWORD) == ada.id
        with pytest.raises(NotSignedIn):
            verify_password(find_password(session, login="ada"), PASSWORD.upper())


def test_an_unknown_login_costs_as_much_as_a_wrong_password(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified: list[str] = []

    class Watched(PasswordHash):
        def verify(self, password: str | bytes, hash: str | bytes) -> bool:
            verified.append(str(hash))
            return super().verify(password, hash)

    monkeypatch.setattr(sign_in, "PasswordHash", Watched)
    with sqlite_database.write() as session:
        set_password(session, add(session, "ada"), hash_password(PASSWORD), at=NOW, by="operator")
    with sqlite_database.read() as session:
        for login in ("ada", "nobody"):
            with pytest.raises(NotSignedIn):
                verify_password(find_password(session, login=login), PASSWORD.upper())

    known, unknown = (each.rpartition("p=4$")[0] for each in verified)
    assert known == unknown == "$argon2id$v=19$m=65536,t=3,"
