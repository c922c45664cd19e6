"""What every error code means: the table behind problem titles and `/docs/errors`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    """The title of a code, the same for every occurrence, and what to do about it."""

    title: str
    remedy: str


_REQUEST = {
    "request.invalid": Meaning(
        "The request is not valid",
        "Each entry of errors names one location and what belongs there.",
    ),
    "body.empty": Meaning("The body is missing", "Send JSON as described for the call."),
    "body.too_large": Meaning(
        "The body is too large", "Send less; the detail names the limit. Nothing was read."
    ),
    "body.length": Meaning(
        "The Content-Length is not valid", "Send the number of bytes of the body."
    ),
    "body.type": Meaning(
        "The body has the wrong type",
        "Set Content-Type to what the call accepts; for JSON, application/json.",
    ),
    "body.encoding": Meaning(
        "The body is compressed", "Send it uncompressed, without Content-Encoding."
    ),
    "body.slow": Meaning(
        "The body did not arrive in time", "Try again; over a slow connection, send less at a time."
    ),
    "json.invalid": Meaning(
        "The body is not JSON", "Correct it at the line and column in the detail."
    ),
    "json.number": Meaning(
        "A number in the JSON is not finite",
        "JSON has no NaN and no Infinity, and 1e309 is beyond double precision.",
    ),
    "json.encoding": Meaning(
        "The JSON is not UTF-8",
        "Send UTF-8 without a byte order mark; half of a surrogate pair is no character.",
    ),
    "json.depth": Meaning(
        "The JSON is nested too deeply", "A matrix needs two levels; the limit is two hundred."
    ),
    "json.size": Meaning(
        "The JSON has more values than any call needs",
        "Send numbers in the shape that is asked for; split what is sent into several calls.",
    ),
    "json.repeated": Meaning("An object has a key twice", "Keep one of them."),
    "form.invalid": Meaning("The form cannot be read", "Send every field once, as UTF-8."),
    "headers.too_large": Meaning(
        "The headers are too large", "Send at most 100 headers and 32 KiB in total."
    ),
    "headers.slow": Meaning("The headers did not arrive in time", "Send the request at once."),
    "host.unknown": Meaning(
        "The service has another address",
        "Call it by the address that its operator has set. A proxy must pass the Host header on.",
    ),
    "http.invalid": Meaning("This is not HTTP", "Use an HTTP/1.1 client."),
    "method.unknown": Meaning(
        "This address does not support this method", "The Allow header lists those it supports."
    ),
}

_VALUE = {
    "value.missing": Meaning("Something is missing", "Add what the pointer names."),
    "value.unknown": Meaning(
        "The call does not know this name", "Leave it out, or check its spelling."
    ),
    "value.type": Meaning(
        "A value has the wrong type", "Write numbers without quotes; true is not 1."
    ),
    "value.choice": Meaning("A value is not one of the choices", "Choose one that is listed."),
    "value.range": Meaning("A number is out of range", "Stay within the limits in the detail."),
    "value.length": Meaning(
        "A text or a list is too short or too long", "Stay within the limits in the detail."
    ),
    "value.format": Meaning(
        "A text has the wrong format", "For example, a time is 2026-11-16T23:59:00+01:00."
    ),
    "cursor.invalid": Meaning("The cursor cannot be read", "Take the cursor from a Link header."),
    "value.invalid": Meaning("A value is not valid", "The detail says why."),
}

_CALLER = {
    "caller.unknown": Meaning(
        "You are not signed in", "Send Authorization: Bearer and a token that is still valid."
    ),
    "scope.missing": Meaning(
        "The token may not do this", "Create a token with the scope in the detail."
    ),
    "role.missing": Meaning(
        "Your role in this course may not do this", "Ask an instructor of the course."
    ),
    "not_found": Meaning(
        "Not found",
        "Check the address. What belongs to others is reported in the same way.",
    ),
    "request.forged": Meaning(
        "The request does not come from one of our pages", "Reload the page and try again."
    ),
    "idempotency_key.reused": Meaning(
        "The Idempotency-Key belongs to another request", "Use a new key for a new request."
    ),
    "version.outdated": Meaning(
        "Somebody else has changed it", "Read it again and decide again; ETag has its version."
    ),
    "version.missing": Meaning(
        "The change must name the version that it changes", "Send If-Match with the ETag you read."
    ),
    "rate.exceeded": Meaning("Too many requests", "Wait for the seconds in Retry-After."),
    "service.unavailable": Meaning(
        "The service is temporarily unavailable",
        "Nothing was changed. Try again after the seconds in Retry-After.",
    ),
    "service.defect": Meaning(
        "Something went wrong on our side",
        "It is not your request. If it happens again, give the operator the request id.",
    ),
}

_REFUSED = {
    "refused": Meaning("This cannot be done now", "The detail says why; nothing was changed."),
    "assignment.not_open": Meaning("The assignment is not open yet", "It opens at the time named."),
    "assignment.closed": Meaning(
        "The assignment is closed", "Ask for an extension if you have a reason."
    ),
    "attempts.none_left": Meaning("No attempts are left", "Your attempts so far count."),
    "earlier.missing": Meaning(
        "The earlier question has no answer yet", "Answer the earlier question first."
    ),
    "question.external": Meaning("The question is graded elsewhere", "Its score is imported."),
    "question.not_external": Meaning("The question is graded here", "Override a score instead."),
    "review.not_needed": Meaning("There is nothing to review here", "Override a score instead."),
    "integrity.busy": Meaning("Another check is running", "Start this one when it has finished."),
    "own.work": Meaning("You cannot grade your own work", "Ask a colleague."),
    "regrade.nothing": Meaning(
        "There is nothing to judge again",
        "All attempts were judged by this version of their rubrics, or somebody has decided.",
    ),
    "regrade.open": Meaning(
        "Another regrade waits for a decision", "Apply or discard it, then start this one."
    ),
    "regrade.outdated": Meaning(
        "The assignment was published again since", "Discard the regrade, and start another one."
    ),
    "regrade.later": Meaning(
        "A later regrade is in the way", "Undo or discard the later one first."
    ),
    "regrade.state": Meaning(
        "The regrade is in another state", "The detail names it; look at the regrade again."
    ),
    "publication.removes_question": Meaning(
        "A question with answers would be removed", "Keep it in the assignment."
    ),
    "course.exists": Meaning("This course already exists", "Choose another name."),
    "person.exists": Meaning("This person already exists", "Choose another login."),
    "tokens.too_many": Meaning(
        "There are too many tokens", "Revoke those that are not needed any more."
    ),
    "link.not_allowed": Meaning(
        "This person signs in another way", "The detail says who may create a link for whom."
    ),
    "member.own": Meaning("You cannot remove yourself from a course", "Ask another instructor."),
    "member.staff": Meaning("A service may remove only students", "Ask an instructor."),
    "roster.outdated": Meaning(
        "The course has changed since the preview", "Look at the preview again."
    ),
    "roster.leaving": Meaning(
        "Many students would be removed", "To confirm, send their number from the preview."
    ),
}

_COURSE = {
    "roster.invalid": Meaning("The roster cannot be used", "Each entry of errors names a line."),
    "roster.empty": Meaning("The roster is empty", "Send one line for each person."),
    "roster.encoding": Meaning("The roster is not UTF-8", "Save it as CSV in UTF-8."),
    "roster.size": Meaning("The roster is too large", "Send it in parts."),
    "roster.column_missing": Meaning("The roster lacks a column", "The detail names it."),
    "roster.column_twice": Meaning("The roster has a duplicate column", "Keep one of them."),
    "roster.cells": Meaning("A line of the roster has too many cells", "Check its quotes."),
    "roster.quotes": Meaning(
        "The quotes in the roster do not match", "Check the line in the detail."
    ),
    "roster.text": Meaning("The roster contains invalid characters", "Save it as CSV in UTF-8."),
    "roster.length": Meaning("The roster has too many people", "Send it in parts."),
    "login.twice": Meaning("This login appears twice", "Keep one of the two."),
    "member.invalid": Meaning("This cannot be done with this person", "Look at each field."),
    "section.invalid": Meaning("The section cannot be used", "The detail says what it may hold."),
    "scores.invalid": Meaning(
        "Some scores cannot be entered", "None was; correct them and send all again."
    ),
    "points.range": Meaning("The points are out of range", "Check the points of the question."),
    "extension.empty": Meaning(
        "The extension changes nothing", "Give a later date than for everybody, or more attempts."
    ),
    "attempts.range": Meaning("Attempts must be a whole number", "The detail names the limits."),
    "date.range": Meaning("The date is out of range", "Check its year."),
    "date.invalid": Meaning("This is not a date", "Write a date and a time of day."),
    "date.absent": Meaning(
        "This time does not exist", "Clocks go forward that night; choose an hour later."
    ),
    "date.twice": Meaning(
        "This time is ambiguous", "Clocks go back that night; choose a time outside that hour."
    ),
    "date.order": Meaning(
        "The due date is before the opening date", "Swap the dates, or move one."
    ),
    "reason.missing": Meaning("A reason is needed", "Say why in a sentence."),
    "comment.length": Meaning("The comment is too long", "Shorten it."),
    "item.unknown": Meaning("The rubric has no such item", "Check the items of the criterion."),
    "review.empty": Meaning("The review decides nothing", "Choose items or give points."),
    "name.invalid": Meaning("The name cannot be used", "The detail says what it may hold."),
    "time_zone.unknown": Meaning("There is no such time zone", "Write one such as Europe/Berlin."),
    "password.length": Meaning(
        "The password is too short or too long", "The detail names the limits."
    ),
    "token.invalid": Meaning("This token cannot be created", "The detail says why."),
    "label.invalid": Meaning("The label cannot be used", "Say in one line what it is for."),
    "days.range": Meaning("The token's lifetime is out of range", "The detail names the limits."),
    "scopes.empty": Meaning("A token needs a scope", "Name at least one."),
}

_ANSWER = {
    "answer.invalid": Meaning(
        "The answer cannot be read", "Each entry of errors names a location."
    ),
    "answer.type": Meaning("The answer is not an object", "Send its fields by their names."),
    "answer.empty": Meaning("There are no numbers", "Send as many as the question asks for."),
    "answer.shape": Meaning(
        "The answer has the wrong shape",
        "Compare expected and got; a vector is a list, a matrix a list of rows.",
    ),
    "row.length": Meaning("A row has the wrong length", "All rows must have the same length."),
    "field.missing": Meaning("A field of the answer is missing", "Send every field."),
    "field.unknown": Meaning("The question has no such field", "Check the question's fields."),
    "number.type": Meaning("Something is not a number", "Write a plain number such as 0.25."),
    "number.nan": Meaning("A number is NaN", "Look for 0/0 in what computed it."),
    "number.infinite": Meaning("A number is infinite", "Write a finite number such as 1e6."),
    "number.impossible": Meaning(
        "A number is impossible", "A share lies between 0 and 1; a variance is not negative."
    ),
    "number.precision": Meaning(
        "An integer is too large to be held exactly", "Write it with a decimal point."
    ),
    "number.range_given": Meaning("There are two numbers instead of one", "Send one number."),
    "choice.unknown": Meaning("This is not one of the options", "Choose one that is listed."),
    "choice.too_many": Meaning(
        "More options are named than there are", "Name each chosen option once."
    ),
    "text.type": Meaning("The field takes text", "Send a string."),
    "text.length": Meaning("The text is too long", "Shorten it."),
    "text.character": Meaning("The text contains a character that cannot be stored", "Remove it."),
    "file.type": Meaning(
        "The file is not a PDF", "Save or print your work as a PDF, and send that."
    ),
    "file.too_large": Meaning(
        "The file is too large", "Send at most 10 MB; scan in greyscale at 150 dpi."
    ),
    "file.too_many": Meaning(
        "You have sent too many files", "Ask your instructor before you send another."
    ),
    "file.absent": Meaning(
        "A file was not uploaded", "Upload it first, and name it by its digest."
    ),
    "file.several": Meaning("More than one file is named", "Attach one PDF to a written answer."),
    "draft.too_long": Meaning("The draft is too long", "Shorten it; an answer has the same limit."),
    "file.digest": Meaning("The file is not named by its digest", "Upload it and send its digest."),
    "score.range": Meaning("The score is out of range", "Check the points of the question."),
    "paste.unreadable": Meaning("The pasted numbers cannot be read", "Look at the column."),
    "paste.truncated": Meaning("The pasted numbers are truncated by …", "Print all of them."),
    "paste.decimal_comma": Meaning("A number has a decimal comma", "Write 0.5, not 0,5."),
}

_FORMULA = {
    "formula.invalid": Meaning("The formula cannot be read", "Look at the column."),
    "formula.syntax": Meaning("The formula is not written as expected", "Look at the column."),
    "formula.empty": Meaning("The formula is empty", "Write one, or numbers."),
    "formula.brackets": Meaning("The brackets do not match", "Look at the column."),
    "formula.character": Meaning(
        "The formula contains an unknown character", "Look at the column."
    ),
    "formula.command": Meaning("This LaTeX command is not known", "Write the formula without it."),
    "formula.unknown": Meaning(
        "The formula contains an unknown name", "Check the list of symbols."
    ),
    "formula.subscript": Meaning("A subscript does not fit", "Indices are names or numbers."),
    "formula.arguments": Meaning("A function has the wrong arguments", "Look at the column."),
    "formula.shape": Meaning("The shapes in the formula do not fit", "A transpose may help."),
    "formula.sum": Meaning("The sum cannot be read", r"Write it as in \sum_{i=1}^n x_i."),
    "formula.where": Meaning("A constant after where cannot be read", "Write where C = 50."),
    "formula.limit": Meaning("The formula is too long or too costly", "Simplify it."),
    "formula.not_finite": Meaning(
        "The formula does not give finite numbers", "Look at the column."
    ),
}

_AUTHOR = {
    "rubric.invalid": Meaning(
        "The rubric has errors", "Correct it at the lines and columns in the detail."
    ),
}

#: The codes by group.
GROUPS: Mapping[str, Mapping[str, Meaning]] = {
    "The request": _REQUEST,
    "A value in the request": _VALUE,
    "The caller": _CALLER,
    "Not possible in the current state": _REFUSED,
    "Courses, rosters, reviews and tokens": _COURSE,
    "An answer that cannot be read (no attempt is used)": _ANSWER,
    "A formula that cannot be read (no attempt is used)": _FORMULA,
    "A rubric": _AUTHOR,
}

#: The codes of valid requests that are not possible in the current state (409).
CONFLICT_CODES = frozenset(_REFUSED)

MEANINGS: Mapping[str, Meaning] = {
    code: meaning for group in GROUPS.values() for code, meaning in group.items()
}
