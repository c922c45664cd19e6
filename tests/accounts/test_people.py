from __future__ import annotations

import pytest

from grader.accounts.callers import check_session, check_token
from grader.accounts.people import change_person, end_account, get_by_login, make_person
from grader.accounts.sign_in import make_sign_in_link, sign_in_by_link
from grader.accounts.tokens import make_personal_token
from grader.domain.roles import Scope
from grader.errors import MalformedRequest, NotFound, NotSignedIn, RequestRefused
from grader.store.database import Database
from grader.store.queries.people import list_people
from tests.support.audit_entries import list_audit_entries
from tests.support.people import LATER, NOW, add


def test_a_person_is_made_as_told_with_an_audit_entry(database: Database) -> None:
    with database.write() as session:
        made = make_person(
            session, login=" ada ", name="Ada Lovelace", email="ada@example.edu",
            is_operator=True, at=NOW, by="operator",
        )  # fmt: skip
    with database.read() as session:
        assert list_people(session) == [made]
        (entry,) = list_audit_entries(session)

    assert (made.login, made.is_operator) == ("ada", True)
    assert (entry.action, entry.subject, entry.by) == ("person.made", made.id, "operator")


@pytest.mark.parametrize("login", ["ada", "ADA"])
def test_a_login_is_given_once_whatever_its_capitals(database: Database, login: str) -> None:
    with database.write() as session:
        add(session, "ada")
    with pytest.raises(RequestRefused, match="The login ada is taken"), database.write() as session:
        add(session, login)


def test_a_login_that_has_ended_is_not_given_again(database: Database) -> None:
    with database.write() as session:
        end_account(session, add(session, "ada"), at=NOW, by="operator")
    with pytest.raises(RequestRefused, match="taken"), database.write() as session:
        add(session, "ada")


def test_all_that_is_wrong_with_an_account_is_told(database: Database) -> None:
    with pytest.raises(MalformedRequest) as caught, database.write() as session:
        make_person(
            session, login="a da", name="A\x00da", email="nowhere", is_operator=False, at=NOW,
            by="operator",
        )  # fmt: skip

    assert [each.pointer for each in caught.value.faults] == ["#/login", "#/name", "#/email"]


@pytest.mark.parametrize("login", ["nobody", "a\x00b", "a\ud800", ""])
def test_a_login_of_nobody_is_not_found(database: Database, login: str) -> None:
    with database.read() as session, pytest.raises(NotFound):
        get_by_login(session, login=login)


def test_only_what_is_said_is_changed(database: Database) -> None:
    with database.write() as session:
        person = make_person(
            session, login="ada", name="Ada", email="ada@example.edu", is_operator=False, at=NOW,
            by="operator",
        )  # fmt: skip
        changed = change_person(session, person, name="Ada King", at=LATER, by="operator")
        gone = change_person(session, changed, email="", is_operator=True, at=LATER, by="operator")
    with database.read() as session:
        kept = get_by_login(session, login="ada")
        actions = [each.action for each in list_audit_entries(session)]

    assert (changed.name, changed.email, changed.is_operator) == ("Ada King", person.email, False)
    assert kept == gone
    assert (kept.email, kept.is_operator) == (None, True)
    assert actions == ["person.made", "person.changed", "person.changed"]


def test_a_change_to_the_same_is_no_change(database: Database) -> None:
    with database.write() as session:
        person = add(session, "ada")
        assert change_person(session, person, name="Ada", at=LATER, by="operator") == person
    with database.read() as session:
        assert len(list_audit_entries(session)) == 1


def test_who_has_ended_gets_in_by_no_way(database: Database) -> None:
    with database.write() as session:
        person = add(session, "ada")
        code = make_sign_in_link(session, person, at=NOW, by="operator")
        browser = sign_in_by_link(session, code, at=NOW).secret
        unused = make_sign_in_link(session, person, at=NOW, by="operator")
        token = make_personal_token(
            session, person, label="mine", scopes=[Scope.READ], days=9, at=NOW, by="operator"
        ).secret
        end_account(session, person, at=NOW, by="operator")

        with pytest.raises(NotSignedIn):
            sign_in_by_link(session, unused, at=NOW)
        with pytest.raises(NotSignedIn):
            check_token(session, token, at=NOW)
        with pytest.raises(NotSignedIn):
            check_session(session, browser, at=NOW)
        with pytest.raises(NotFound):
            get_by_login(session, login="ada")
