"""Every page, with who may see it; a page without a row fails a test, and axe looks at them all."""

from __future__ import annotations

from tests.support.world import EXPLORATION

ASSIGNMENT = f"/courses/one/assignments/{EXPLORATION}"
AVERAGE = f"{ASSIGNMENT}/questions/3b"

STUDENTS = {"ada", "bob"}
INSTRUCTORS = {"irene", "olga"}
STAFF = INSTRUCTORS | {"arthur"}
MEMBERS = STUDENTS | STAFF
#: Cora and Ivan are a student and an instructor of another course.
STRANGERS = {"cora", "ivan"}
EVERYBODY = MEMBERS | STRANGERS

#: Every page: its method and address, and who may see it. `{attempt}` and `{upload}` are Ada's,
#: `{regrade}` waits for a decision.
PAGES = [
    ("GET", "/", EVERYBODY),
    ("GET", ASSIGNMENT, MEMBERS),
    ("GET", AVERAGE, MEMBERS),
    ("POST", AVERAGE, MEMBERS),
    ("POST", AVERAGE + "/reading/q", MEMBERS),
    ("POST", AVERAGE + "/draft", MEMBERS - {"olga"}),
    ("POST", AVERAGE + "/files/explanation", MEMBERS),
    ("GET", AVERAGE + "/given/k.csv", MEMBERS),
    ("GET", "/uploads/{upload}", STAFF | {"ada"}),
    ("GET", "/differences?first={attempt}&second={attempt}", EVERYBODY),
    ("GET", "/attempts/{attempt}/difference/{attempt}", STAFF | {"ada"}),
    ("GET", "/attempts/{attempt}", STAFF | {"ada"}),
    ("POST", "/attempts/{attempt}/replay", STAFF),
    ("GET", f"{ASSIGNMENT}/grades", STAFF),
    ("GET", f"{ASSIGNMENT}/students/ada", STAFF),
    ("GET", AVERAGE + "/students/ada", STAFF),
    ("POST", AVERAGE + "/students/ada", INSTRUCTORS),
    ("GET", f"{ASSIGNMENT}/review", STAFF),
    ("GET", f"{ASSIGNMENT}/review/3b", STAFF),
    ("GET", f"{ASSIGNMENT}/review/3b/{{attempt}}", STAFF),
    ("POST", f"{ASSIGNMENT}/review/3b/{{attempt}}", STAFF),
    ("POST", f"{ASSIGNMENT}/review/3b/{{attempt}}/claim", STAFF),
    ("GET", f"{ASSIGNMENT}/integrity", STAFF),
    ("POST", f"{ASSIGNMENT}/integrity", INSTRUCTORS),
    ("GET", f"{ASSIGNMENT}/integrity/progress", STAFF),
    ("GET", "/courses/one", MEMBERS),
    ("GET", "/courses/one/today/questions", STAFF),
    ("GET", "/courses/one/fill", STAFF),
    ("GET", f"{ASSIGNMENT}/analytics", STAFF),
    ("GET", f"{ASSIGNMENT}/analytics/3b", STAFF),
    ("GET", f"{ASSIGNMENT}/analytics/3b/attempts", STAFF),
    ("GET", f"{ASSIGNMENT}/rubrics", STAFF),
    ("GET", f"{ASSIGNMENT}/rubrics/3b", STAFF),
    ("GET", f"{ASSIGNMENT}/rubrics/3b/examples", STAFF),
    ("GET", f"{ASSIGNMENT}/rubrics/3b/versions", STAFF),
    ("GET", f"{ASSIGNMENT}/regrades", STAFF),
    ("POST", f"{ASSIGNMENT}/regrades", INSTRUCTORS),
    ("GET", f"{ASSIGNMENT}/regrades/{{regrade}}", STAFF),
    ("POST", f"{ASSIGNMENT}/regrades/{{regrade}}", INSTRUCTORS),
    ("GET", f"{ASSIGNMENT}/regrades/{{regrade}}/progress", STAFF),
    ("GET", f"{ASSIGNMENT}/extensions", STAFF),
    ("POST", f"{ASSIGNMENT}/extensions", INSTRUCTORS),
    ("GET", "/courses/one/roster", STAFF),
    ("GET", "/courses/one/roster/add", INSTRUCTORS),
    ("POST", "/courses/one/roster/add", INSTRUCTORS),
    ("GET", "/courses/one/roster/import", INSTRUCTORS),
    ("POST", "/courses/one/roster/import", INSTRUCTORS),
    ("GET", "/courses/one/people/bob", STAFF),
    ("POST", "/courses/one/people/bob", INSTRUCTORS),
    ("POST", "/courses/one/people/bob/link", INSTRUCTORS),
    ("GET", "/courses/one/tokens", INSTRUCTORS),
    ("POST", "/courses/one/tokens", INSTRUCTORS),
    # Nobody has a token of this name; `test_token_pages` revokes some that are there.
    ("POST", "/courses/one/tokens/tok_none/revoke", set()),
    ("GET", "/tokens", EVERYBODY),
    ("POST", "/tokens", EVERYBODY),
    ("POST", "/tokens/tok_none/revoke", set()),
    ("GET", "/account", EVERYBODY),
    ("POST", "/account/password", EVERYBODY),
    ("POST", "/account/revoke-tokens", EVERYBODY),
    ("POST", "/account/sign-out", EVERYBODY),
    ("POST", "/sign-out", EVERYBODY),
]
#: What is no page but a file, with its type.
FILES = {
    AVERAGE + "/given/k.csv": "text/csv; charset=utf-8",
    "/uploads/{upload}": "application/pdf",
}
#: Pages on the way in, for everybody; `test_sessions` has links.
OPEN = {
    ("GET", "/sign-in"),
    ("POST", "/sign-in"),
    ("GET", "/sign-in/{code}"),
    ("POST", "/sign-in/{code}"),
}
#: The fields of each form, beside the token, with what a person might type.
FORMS = {
    AVERAGE: {"action": "check", "answer.q": "k_a", "answer.explanation": "It adds up."},
    AVERAGE + "/reading/q": {"answer.q": "k_a"},
    AVERAGE + "/draft": {"answer.q": "k_a"},
    AVERAGE + "/files/explanation": {"file.explanation": "written.pdf"},
    "/attempts/{attempt}/replay": {},
    AVERAGE + "/students/ada": {"points": "1", "reason": "By hand.", "version": "g0"},
    f"{ASSIGNMENT}/review/3b/{{attempt}}": {
        "explanation.points": "1",
        "explanation.comment": "Good.",
        "explanation.version": "r0",
        "explanation.item.0": "on",
    },
    f"{ASSIGNMENT}/review/3b/{{attempt}}/claim": {"action": "keep"},
    f"{ASSIGNMENT}/integrity": {},
    f"{ASSIGNMENT}/regrades": {"action": "start", "question-3b": "on", "judges_all": "on"},
    f"{ASSIGNMENT}/regrades/{{regrade}}": {"action": "apply", "reason": "The key was wrong."},
    f"{ASSIGNMENT}/extensions": {
        "action": "give",
        "student": "ada",
        "due_at": "2026-11-30T23:59",
        "extra_attempts": "2",
        "reason": "Ill.",
    },
    "/courses/one/roster/add": {
        "login": "new",
        "name": "New",
        "email": "new@people.example",
        "role": "student",
        "section": "A",
    },
    "/courses/one/roster/import": {
        "csv": "login,name\nbob,Bob",
        "action": "apply",
        "seen": "",
        "leaving": "on",
    },
    "/courses/one/people/bob": {"action": "save", "role": "student", "section": "A"},
    "/courses/one/people/bob/link": {},
    "/courses/one/tokens": {"label": "made", "days": "30", "scope.course:read": "on"},
    "/courses/one/tokens/tok_none/revoke": {},
    "/tokens": {"label": "made", "days": "30", "scope.course:read": "on"},
    "/tokens/tok_none/revoke": {},
    "/account/password": {"old": "", "password": "long enough", "repeated": "long enough"},
    "/account/sign-out": {},
    "/account/revoke-tokens": {},
    "/sign-out": {},
}
