"""The answer form: reading it, reading an answer from it, and filling it in again."""

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
from grader.web.admission import take_turn
from grader.web.auth import refuse_forged
from grader.web.errors.pages import keep_typed
from grader.web.http.body import read_body, read_form
from grader.web.pages.context import MAX_FORM_BYTES
from grader.web.pages.visitors import VisitorDep

_MULTIPART = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class SubmittedForm:
    """A submitted form: its fields, and its files by field."""

    fields: dict[str, str]
    files: dict[str, tuple[str, bytes]]


async def read_submitted_form(request: Request, visitor: VisitorDep) -> SubmittedForm:
    """A form with or without files, which must come from one of our pages."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _MULTIPART:
        sent = await _read_with_files(request)
    else:
        sent = SubmittedForm(await read_form(request, most_bytes=MAX_FORM_BYTES), {})
    refuse_forged(request, visitor.secret, sent.fields.get("csrf", ""))
    keep_typed(request, sent.fields)
    del sent.fields["csrf"]
    return sent


SubmittedFormDep = Annotated[SubmittedForm, Depends(read_submitted_form)]


async def _read_with_files(request: Request) -> SubmittedForm:
    body = await read_body(request, types=(_MULTIPART,), most_bytes=MAX_FORM_BYTES + MAX_BYTES)

    async def whole() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(
        request.headers, whole(), max_files=10, max_fields=100, max_part_size=MAX_FORM_BYTES
    )
    fields: dict[str, str] = {}
    files: dict[str, tuple[str, bytes]] = {}
    try:
        async with take_turn(request):
            form = await parser.parse()
    except (MultiPartException, UnicodeDecodeError, LookupError):
        raise MalformedRequest("The form cannot be read.", code="form.invalid") from None
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            content = await value.read()
            # Browsers send an empty part for a file field where nothing was chosen.
            if content or value.filename:
                files[name] = (value.filename or "", content)
        else:
            fields[name] = value
    await form.close()
    if any("\0" in text for field in fields.items() for text in field):
        raise MalformedRequest("The form contains the character U+0000.", code="form.invalid")
    return SubmittedForm(fields, files)


def read_answer_from_form(form: Mapping[str, str], fields: Sequence[Field]) -> dict[str, Any]:
    """The answer in a form: numbers and formulas as text, options, and written text.

    Empty fields are left out, so that the check reports them as missing. A file that belongs to a
    text is appended to it as a link.
    """
    values = {field.name: _read_value(form, field) for field in fields}
    return {name: value for name, value in values.items() if value}


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
            text = form.get(name, "")
            return text if text.strip() else ""
        case _:
            return ""


def fill_form(answer: Mapping[str, Any]) -> dict[str, str]:
    """The form fields of an earlier answer, so that it can be changed and sent again."""
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
    """Numbers in a notation that is read back: a list in brackets, a matrix row by row."""
    if isinstance(sent, list) and sent and all(isinstance(row, list) for row in sent):
        return "[" + ",\n ".join(str(row) for row in sent) + "]"
    return str(sent)
