"""The form of an answer: what stands in it, as an answer, and back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from grader.errors import MalformedRequest
from grader.grading.submissions.uploads import MAX_BYTES
from grader.reading.fields import ArrayField, ChoiceField, Field, FileField, NumberField, TextField
from grader.web.auth import refuse_forged
from grader.web.http.body import read_body, read_form
from grader.web.pages.rendering import MAX_FORM_BYTES, VisitorDep

_MULTIPART = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class SubmittedForm:
    """A form that was sent: its fields, and the files that were chosen in it by field."""

    fields: dict[str, str]
    files: dict[str, tuple[str, bytes]]


async def read_submitted_form(request: Request, visitor: VisitorDep) -> SubmittedForm:
    """The form of an answer, with files or without."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _MULTIPART:
        sent = await _read_with_files(request)
    else:
        sent = SubmittedForm(await read_form(request, most_bytes=MAX_FORM_BYTES), {})
    refuse_forged(request, visitor.secret, sent.fields.pop("csrf", ""))
    return sent


SubmittedFormDep = Annotated[SubmittedForm, Depends(read_submitted_form)]


async def _read_with_files(request: Request) -> SubmittedForm:
    most = MAX_FORM_BYTES + MAX_BYTES
    body = await read_body(request, types=(_MULTIPART,), most_bytes=most)

    async def whole() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(
        request.headers, whole(), max_files=10, max_fields=100, max_part_size=MAX_FORM_BYTES
    )
    fields: dict[str, str] = {}
    files: dict[str, tuple[str, bytes]] = {}
    try:
        form = await parser.parse()
    except (MultiPartException, UnicodeDecodeError, LookupError):
        raise MalformedRequest("The form cannot be read.", code="form.invalid") from None
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            content = await value.read()
            # A browser sends the field of a file that was not chosen as an empty one.
            if content or value.filename:
                files[name] = (value.filename or "", content)
        else:
            fields[name] = value
    await form.close()
    if any("\0" in text for field in fields.items() for text in field):
        raise MalformedRequest("The form holds the character U+0000.", code="form.invalid")
    return SubmittedForm(fields, files)


def read_answer_from_form(form: Mapping[str, str], fields: Sequence[Field]) -> dict[str, Any]:
    """The answer in a form: text for numbers and formulas, options, and what was written.

    What was left empty is left out, so that it is told what is missing. A file that belongs to a
    text follows it as a link.
    """
    sent: dict[str, Any] = {}
    for field in fields:
        found = _read_value(form, field)
        if found:
            sent[field.name] = found
    return sent


def _read_value(form: Mapping[str, str], field: Field) -> Any:
    name, file = f"answer.{field.name}", form.get(f"file.{field.name}", "")
    match field:
        case ChoiceField(several=True):
            return [each for each in field.options if f"{name}.{each}" in form]
        case TextField():
            link = f"[{form.get(f'filename.{field.name}', 'written.pdf')}]({file})" if file else ""
            return "\n\n".join(part for part in (form.get(name, "").rstrip(), link) if part)
        case FileField():
            return file
        case ArrayField() | NumberField() | ChoiceField():
            written = form.get(name, "")
            return written if written.strip() else ""
        case _:
            return ""


def fill_form(answer: Mapping[str, Any]) -> dict[str, str]:
    """The form that an answer would have come from, so that it can be changed and sent again."""
    form: dict[str, str] = {}
    for field, sent in answer.items():
        if isinstance(sent, str):
            form[f"answer.{field}"] = sent
        elif isinstance(sent, list) and all(isinstance(each, str) for each in sent):
            form |= {f"answer.{field}.{each}": "on" for each in sent}
        else:
            form[f"answer.{field}"] = _format_value(sent)
    return form


def _format_value(sent: Any) -> str:
    """Numbers as they are read again: a list in brackets, each row of a matrix on its own line."""
    if isinstance(sent, list) and sent and all(isinstance(row, list) for row in sent):
        return "[" + ",\n ".join(str(row) for row in sent) + "]"
    return str(sent)
