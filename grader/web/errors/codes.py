"""What every error code means: the one table behind problem titles and `/docs/errors`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    """A code's title, which is the same for every occurrence, and what to do about it."""

    title: str
    remedy: str


_REQUEST = {
    "request.invalid": Meaning(
        "The request is not what this call takes",
        "Each entry of errors names one place and what belongs there.",
    ),
    "body.empty": Meaning("The body is missing", "Send the JSON that the call describes."),
    "body.too_large": Meaning(
        "The body is too large", "Send less; nothing of it was read. The detail names the limit."
    ),
    "body.length": Meaning(
        "The Content-Length makes no sense", "Send the number of bytes of the body."
    ),
    "body.type": Meaning(
        "The body is of another type",
        "Set Content-Type to what the call takes, for JSON application/json.",
    ),
    "body.encoding": Meaning(
        "The body is compressed", "Send it as it is, without Content-Encoding."
    ),
    "body.slow": Meaning(
        "The body did not arrive in time", "Try again; over a slow connection send less at once."
    ),
    "json.invalid": Meaning(
        "The body is not JSON", "Mend it at the line and column that the detail names."
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
        "The JSON is nested too deeply", "A matrix needs two levels; two hundred are the limit."
    ),
    "json.repeated": Meaning(
        "A key is there twice in one object", "Keep one of them; otherwise one would be ignored."
    ),
    "form.invalid": Meaning("The form cannot be read", "Send every field once, as UTF-8."),
    "headers.too_large": Meaning(
        "The headers are too large", "Send at most 100 headers with 32 KiB together."
    ),
    "headers.slow": Meaning("The headers did not arrive in time", "Send the request at once."),
    "http.invalid": Meaning("This is not HTTP", "Use an HTTP/1.1 client."),
    "method.unknown": Meaning(
        "This address does not take this method", "The Allow header lists the ones it takes."
    ),
}

_VALUE = {
    "value.missing": Meaning("Something is missing", "Add what the pointer names."),
    "value.unknown": Meaning("There is something that the call does not know", "Leave it out."),
    "value.type": Meaning(
        "A value is of another type", "Numbers go without quotes, and true is not 1."
    ),
    "value.choice": Meaning("A value is none of the choices", "Take one that is listed."),
    "value.range": Meaning("A number is out of range", "Stay within the limits that are named."),
    "value.length": Meaning(
        "A text or a list is too short or too long", "Stay within the limits that are named."
    ),
    "value.format": Meaning(
        "A text is not of the form it must have", "A time, say, is 2026-11-16T23:59:00+01:00."
    ),
    "cursor.invalid": Meaning("The cursor cannot be read", "Take it from a Link header."),
    "value.invalid": Meaning("A value cannot be taken", "The detail says why."),
}

_CALLER = {
    "caller.unknown": Meaning(
        "You are not signed in", "Send Authorization: Bearer and a token that is still valid."
    ),
    "scope.missing": Meaning(
        "The token may not do this", "Make a token with the scope that is named."
    ),
    "role.missing": Meaning(
        "Your role in this course may not do this", "Ask an instructor of the course."
    ),
    "not_found": Meaning(
        "There is nothing here",
        "Look at the address. What belongs to others is answered in the same way.",
    ),
    "request.forged": Meaning(
        "The request does not come from a page of ours", "Reload the page and try again."
    ),
    "idempotency_key.reused": Meaning(
        "The Idempotency-Key belongs to another request", "Take a new key for a new request."
    ),
    "version.outdated": Meaning(
        "Somebody else has changed it", "Read it again and decide anew; ETag has its version."
    ),
    "version.missing": Meaning(
        "The change must say which version it changes", "Send If-Match with the ETag you read."
    ),
    "rate.exceeded": Meaning("Too many requests", "Wait for the seconds in Retry-After."),
    "service.unavailable": Meaning(
        "The service cannot do this now",
        "Nothing was changed. Try again after the seconds in Retry-After.",
    ),
    "service.defect": Meaning(
        "Something went wrong on our side",
        "It is not your request. Tell the operator the request id if it happens again.",
    ),
}

_REFUSED = {
    "refused": Meaning("This cannot be done now", "The detail says why; nothing was changed."),
    "assignment.not_open": Meaning("The assignment is not open yet", "It opens at the time named."),
    "assignment.closed": Meaning(
        "The assignment takes no more answers", "Ask for an extension if you have a reason."
    ),
    "attempts.none_left": Meaning("No attempts are left", "Your attempts so far count."),
    "earlier.missing": Meaning(
        "The part before has no answer yet", "Send one to the earlier part first."
    ),
    "question.external": Meaning("The part is graded elsewhere", "Its score comes from there."),
    "question.not_external": Meaning("The part is graded here", "Override a score instead."),
    "review.not_needed": Meaning("Nothing here waits for a person", "Override a score instead."),
    "integrity.busy": Meaning("Another check is under way", "Start this one when it is done."),
    "own.work": Meaning("Nobody decides about their own work", "Ask a colleague."),
    "publication.removes_question": Meaning(
        "A question that was answered would vanish", "Keep it in the assignment."
    ),
    "course.exists": Meaning("There is such a course already", "Choose another name."),
    "person.exists": Meaning("There is such a person already", "Choose another login."),
    "link.not_allowed": Meaning(
        "This person signs in another way", "The detail says who may make a link for whom."
    ),
    "member.own": Meaning("Nobody sends themselves away", "Ask another instructor."),
    "member.staff": Meaning("A service may remove students only", "Ask an instructor."),
    "roster.outdated": Meaning(
        "The course has changed since the preview", "Look at the preview again."
    ),
    "roster.leaving": Meaning(
        "Many students would leave", "Say how many, if that is meant; the preview counts them."
    ),
}

_COURSE = {
    "roster.invalid": Meaning("The roster cannot be used", "Each entry of errors names a line."),
    "roster.empty": Meaning("The roster is empty", "Send one line for each person."),
    "roster.encoding": Meaning("The roster is not UTF-8", "Save it as CSV in UTF-8."),
    "roster.size": Meaning("The roster is too large", "Send it in parts."),
    "roster.column_missing": Meaning("The roster lacks a column", "The detail names it."),
    "roster.column_twice": Meaning("The roster has a column twice", "Keep one of them."),
    "roster.cells": Meaning("A line of the roster has too many cells", "Look at its quotes."),
    "roster.quotes": Meaning("The quotes in the roster do not match", "Look at the line named."),
    "roster.text": Meaning("The roster holds what is no character", "Save it as CSV in UTF-8."),
    "roster.length": Meaning("The roster has too many people", "Send it in parts."),
    "login.twice": Meaning("This login is there already", "Keep one of the two."),
    "member.invalid": Meaning("This cannot be done with this person", "Look at each field."),
    "section.invalid": Meaning("The section cannot be used", "The detail says what it may hold."),
    "scores.invalid": Meaning("Some scores cannot be entered", "None was; mend them and resend."),
    "points.range": Meaning("The points are out of range", "Look at the points of the part."),
    "extension.empty": Meaning(
        "The extension gives nothing", "Give a later date than everybody's, or more attempts."
    ),
    "attempts.range": Meaning("Attempts are a whole number", "The limits are named."),
    "date.range": Meaning("The date cannot be meant", "Look at its year."),
    "date.invalid": Meaning("This is no date", "Write a date and a time of day."),
    "date.absent": Meaning(
        "Clocks never show this time", "They go forward that night; choose an hour later."
    ),
    "date.twice": Meaning(
        "Clocks show this time twice", "They go back that night; choose a time around that hour."
    ),
    "date.order": Meaning("It is due before it opens", "Exchange the dates, or move one."),
    "reason.missing": Meaning("A reason is needed", "Say why in a sentence."),
    "comment.length": Meaning("The comment is too long", "Shorten it."),
    "item.unknown": Meaning("The rubric has no such item", "Look at the items of the criterion."),
    "review.empty": Meaning("The review decides nothing", "Choose items or give points."),
    "name.invalid": Meaning("The name cannot be used", "The detail says what it may hold."),
    "time_zone.unknown": Meaning("There is no such time zone", "Write Europe/Berlin, say."),
    "password.length": Meaning("The password is too short or too long", "The limits are named."),
    "token.invalid": Meaning("Such a token cannot be made", "The detail says why."),
    "label.invalid": Meaning("The label cannot be used", "Say in one line what it is for."),
    "days.range": Meaning("A token cannot last so long", "The limits are named."),
    "scopes.empty": Meaning("A token needs a scope", "Name at least one."),
}

_ANSWER = {
    "answer.invalid": Meaning("The answer cannot be read", "Each entry of errors names a place."),
    "answer.type": Meaning("The answer is not an object", "Send its fields by their names."),
    "answer.empty": Meaning("There are no numbers", "Send as many as the question asks for."),
    "answer.shape": Meaning(
        "The answer has not the shape that the question asks for",
        "Look at expected and got; a vector is a list, a matrix a list of rows.",
    ),
    "row.length": Meaning("A row has not the right length", "All rows are equally long."),
    "field.missing": Meaning("A field of the answer is missing", "Send every field."),
    "field.unknown": Meaning("The question has no such field", "Look at the question's fields."),
    "number.type": Meaning("Something is not a number", "Write a plain number such as 0.25."),
    "number.nan": Meaning("A number is NaN", "Look for 0/0 in what computed it."),
    "number.infinite": Meaning("A number is infinite", "Write a finite number such as 1e6."),
    "number.precision": Meaning(
        "An integer is too large to be held exactly", "Write it with a decimal point."
    ),
    "choice.unknown": Meaning("This is none of the options", "Take one that is listed."),
    "text.type": Meaning("The field takes text", "Send a string."),
    "text.length": Meaning("The text is too long", "Shorten it."),
    "text.character": Meaning("The text holds a character that cannot be kept", "Remove it."),
    "file.type": Meaning(
        "The file is no PDF", "Save or print what you have as a PDF, and send that."
    ),
    "file.too_large": Meaning(
        "The file is too large", "Send at most 10 MB; scan in greyscale at 150 dpi."
    ),
    "file.too_many": Meaning(
        "You have sent too many files", "Ask your instructor before you send another one."
    ),
    "file.absent": Meaning(
        "A file was not uploaded", "Upload it first, and name it by its digest."
    ),
    "file.several": Meaning("More than one file is named", "Attach one PDF to a written answer."),
    "draft.too_long": Meaning(
        "The draft is too long", "Shorten it; an answer could not be as long, either."
    ),
    "file.digest": Meaning("The file is not named by its digest", "Upload it and send its digest."),
    "score.range": Meaning("The score is out of range", "Look at the points of the part."),
    "paste.unreadable": Meaning("The pasted numbers cannot be read", "Look at the column."),
    "paste.truncated": Meaning("The pasted numbers were shortened by …", "Print all of them."),
    "paste.decimal_comma": Meaning("A comma stands where a point belongs", "Write 0.5, not 0,5."),
}

_FORMULA = {
    "formula.invalid": Meaning("The formula cannot be read", "Look at the column."),
    "formula.syntax": Meaning("The formula is not written as expected", "Look at the column."),
    "formula.empty": Meaning("The formula is empty", "Write one, or numbers."),
    "formula.brackets": Meaning("The brackets do not match", "Look at the column."),
    "formula.character": Meaning("The formula holds an unknown sign", "Look at the column."),
    "formula.command": Meaning("This LaTeX command is not known", "Write it without."),
    "formula.unknown": Meaning("The formula holds an unknown name", "Look at the symbols."),
    "formula.subscript": Meaning("A subscript does not fit", "Indices are names or numbers."),
    "formula.arguments": Meaning("A function is given the wrong arguments", "Look at the column."),
    "formula.shape": Meaning("The shapes in the formula do not fit", "A transpose may help."),
    "formula.sum": Meaning("The sum cannot be read", r"Write \sum_{i=1}^n x_i, say."),
    "formula.where": Meaning("A constant after where cannot be read", "Write where C = 50."),
    "formula.limit": Meaning("The formula is too long or too costly", "Simplify it."),
    "formula.not_finite": Meaning("The formula gives no finite numbers", "Look for overflow."),
}

_AUTHOR = {
    "rubric.invalid": Meaning(
        "The rubric cannot be used as it stands", "Mend it at the lines and columns named."
    ),
}

#: What each group is about, then its codes.
GROUPS: Mapping[str, Mapping[str, Meaning]] = {
    "The request": _REQUEST,
    "A value in the request": _VALUE,
    "Who calls": _CALLER,
    "What cannot be done now": _REFUSED,
    "Courses, rosters, reviews and tokens": _COURSE,
    "An answer that cannot be read (no attempt is used)": _ANSWER,
    "A formula that cannot be read (no attempt is used)": _FORMULA,
    "A rubric": _AUTHOR,
}

#: The codes with which a request is refused that is well said (409).
CONFLICT_CODES = frozenset(_REFUSED)

MEANINGS: Mapping[str, Meaning] = {
    code: meaning for group in GROUPS.values() for code, meaning in group.items()
}
