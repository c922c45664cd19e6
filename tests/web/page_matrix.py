"""Every page, with who may see it; a page without a row fails a test, and axe looks at them all."""

from __future__ import annotations

from tests.service import EXPLORATION

ASSIGNMENT = f"/courses/one/assignments/{EXPLORATION}"
AVERAGE = f"{ASSIGNMENT}/questions/3b"

STUDENTS = {"ada", "bob"}
INSTRUCTORS = {"irene", "olga"}
STAFF = INSTRUCTORS | {"arthur"}
MEMBERS = STUDENTS | STAFF
#: Cora and Ivan are a student and an instructor of another course.
STRANGERS = {"cora", "ivan"}
EVERYBODY = MEMBERS | STRANGERS

#: Every page: its method and address, and who may see it. `{attempt}` is one of Ada's.
PAGES = [
    ("GET", "/", EVERYBODY),
    ("GET", ASSIGNMENT, MEMBERS),
    ("GET", AVERAGE, MEMBERS),
    ("POST", AVERAGE, MEMBERS),
    ("POST", AVERAGE + "/reading/q", MEMBERS),
    ("GET", "/attempts/{attempt}", STAFF | {"ada"}),
    ("GET", f"{ASSIGNMENT}/grades", STAFF),
    ("GET", AVERAGE + "/students/ada", STAFF),
    ("POST", AVERAGE + "/students/ada", INSTRUCTORS),
    ("POST", "/sign-out", EVERYBODY),
]
#: Pages on the way in, for everybody; `test_sessions` has links.
OPEN = {
    ("GET", "/sign-in"),
    ("POST", "/sign-in"),
    ("GET", "/sign-in/{code}"),
    ("POST", "/sign-in/{code}"),
}
