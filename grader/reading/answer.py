"""What a student sent → an answer: every field is read, every error reported with its place."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any, assert_never

from numpy.typing import NDArray

from grader.domain.shapes import NUMBER, Shape
from grader.errors import MAX_PLACES, AnswerRefused, FieldError, FormulaError
from grader.formula.eval.evaluate import Environment
from grader.formula.formula import MAX_LENGTH, Formula, read_formula
from grader.formula.typed.scope import FormulaScope
from grader.reading.fields import (
    ArrayField,
    ChoiceField,
    ExternalField,
    Field,
    FileField,
    NumberField,
    TextField,
    describe_field,
)
from grader.reading.large import choose_rungs, evaluate_formula
from grader.reading.numbers import is_nested, read_array
from grader.reading.paste import is_pasted_array, read_pasted
from grader.reading.ranges import refuse_range


def read_formula_answer(
    sent: str, *, field: str, shape: Shape, scope: FormulaScope, variant: Environment
) -> Formula:
    """Read a formula that has exactly this shape and is finite on the variant.

    Raises
    ------
    FieldError
        With the code, hint and column of the formula's error; ``answer.shape`` where the formula
        has another shape.
    """
    try:
        formula = read_formula(sent, scope, named=field, shape=shape)
        _check_shape(formula, field, shape)
        (rung, *_) = choose_rungs([formula], variant) if formula.large else (1.0,)
        evaluate_formula(formula, variant, dict.fromkeys(formula.large, rung), finite=True)
    except FormulaError as error:
        raise FieldError(
            f"{field}, column {error.column}: {error.message}",
            field=field,
            code=error.code,
            hint=error.hint,
            column=error.column,
            expected=f"a formula that gives {shape.describe()}",
        ) from None
    return formula


def _check_shape(formula: Formula, name: str, shape: Shape) -> None:
    if formula.shape == shape:
        return
    hint = "Transpose it with ^T." if formula.shape.transposed() == shape else ""
    raise FormulaError(
        f"{name} must be {shape.describe()}, but this formula gives {formula.shape.describe()}.",
        column=formula.tree.start + 1,
        hint=hint,
        code="answer.shape",
    )


#: An answer refers to an uploaded file by the digest of its content.
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers, the format in which they were written, and notes on how they were read."""

    array: NDArray[Any]
    format: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen options."""

    options: frozenset[str]


@dataclass(frozen=True, slots=True)
class Text:
    """Written text, or the digest of a file."""

    text: str


@dataclass(frozen=True, slots=True)
class ExternalScore:
    """Points that were awarded outside Keyset."""

    points: Decimal


Value = Numbers | Formula | Choice | Text | ExternalScore


def list_notes(value: Value) -> tuple[str, ...]:
    """How a value was read, in sentences for the student, where that may surprise."""
    return value.notes if isinstance(value, Numbers | Formula) else ()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that was read, by field; text and files that were not sent are absent."""

    values: Mapping[str, Value]


def read_answer(sent: object, fields: Sequence[Field], variant: Environment) -> Answer:
    """Read an answer.

    Parameters
    ----------
    sent
        Decoded JSON: an object with one member for each field.
    variant
        What the student was given; formulas must be finite on it.

    Raises
    ------
    AnswerRefused
        With all errors at once.
    """
    if not isinstance(sent, Mapping):
        raise AnswerRefused([_make_type_error(sent, fields)])
    errors = _find_unknown_fields(sent, fields)
    values: dict[str, Value] = {}
    for field in fields:
        if field.name not in sent or sent[field.name] is None:
            if not isinstance(field, TextField | FileField):
                errors.append(
                    FieldError(
                        f"{field.name} is missing.",
                        field=field.name,
                        code="field.missing",
                        expected=describe_field(field),
                    )
                )
            continue
        try:
            values[field.name] = _read_field(field, sent[field.name], variant)
        except (AnswerRefused, FieldError) as refused:
            errors += [_add_backslash_hint(each, sent[field.name]) for each in _list_all(refused)]
    if errors:
        try:
            raise AnswerRefused(errors)
        finally:
            # They know this frame, where they were caught. If it still knew them, all would stay in
            # memory until the garbage collector looks for them.
            del errors
    return Answer(values)


def _list_all(refused: AnswerRefused | FieldError) -> list[FieldError]:
    return [refused] if isinstance(refused, FieldError) else refused.errors


def _read_field(field: Field, sent: object, variant: Environment) -> Value:
    match field:
        case ArrayField():
            return _read_numbers(field.name, field.shape, field.scope, sent, variant)
        case NumberField():
            value = _read_numbers(field.name, NUMBER, field.scope, sent, variant)
            _refuse_impossible(field, value, variant)
            return value
        case ChoiceField():
            return _read_choice(field, sent)
        case TextField():
            return _read_text(field, sent)
        case FileField():
            return _read_file(field, sent)
        case ExternalField():
            return _read_score(field, sent)
        case _:
            assert_never(field)


def _read_numbers(
    name: str, shape: Shape, scope: FormulaScope, sent: object, variant: Environment
) -> Value:
    if not isinstance(sent, str):
        array = read_array(sent, field=name, shape=shape)
        return Numbers(array, "JSON", _note_flattened(array, is_nested=is_nested(sent)))
    if shape == NUMBER:
        refuse_range(sent, field=name)
    if not _is_plain_formula(sent) and is_pasted_array(sent, shape=shape):
        pasted = read_pasted(sent, field=name, shape=shape)
        notes = _note_flattened(pasted.values, is_nested=pasted.is_nested)
        return Numbers(pasted.values, pasted.format.value, notes)
    return read_formula_answer(sent, field=name, shape=shape, scope=scope, variant=variant)


def _refuse_impossible(field: NumberField, value: Value, variant: Environment) -> None:
    """Refuse a number that the quantity cannot have, such as a share above one."""
    if isinstance(value, Numbers):
        number = float(value.array)
    elif isinstance(value, Formula) and not value.large:
        number = float(evaluate_formula(value, variant, {})[0])
    else:
        return
    low = -math.inf if field.lowest is None else field.lowest
    high = math.inf if field.highest is None else field.highest
    if not low <= number <= high:
        possible = field.describe_range()
        raise FieldError(
            f"{field.name} must be a number {possible}; {number:g} is impossible.",
            field=field.name,
            code="number.impossible",
            expected=f"a number {possible}",
            got=f"{number:g}",
        )


def _note_flattened(array: NDArray[Any], *, is_nested: bool) -> tuple[str, ...]:
    is_flattened = is_nested and array.ndim == 1
    return (f"Read as a flat column of {array.size} numbers.",) if is_flattened else ()


# A paste without any of these has only numbers in it, perhaps behind `q =`.
_PASTE_SIGNS = re.compile(r"[\[,\t]|\\begin")
# None of these is part of a number.
_FORMULA_SIGNS = re.compile(r"[_^*/{]")


def _is_plain_formula(text: str) -> bool:
    """Whether a text is so plainly a formula that it need not be examined as a pasted array.

    Where this is true, `is_pasted_array` is false for every shape; most formulas are found here.
    """
    return (
        len(text) <= MAX_LENGTH
        and not _PASTE_SIGNS.search(text)
        and _FORMULA_SIGNS.search(text, text.rfind("=") + 1) is not None
    )


def _read_choice(field: ChoiceField, sent: object) -> Choice:
    chosen = sent if isinstance(sent, list) and field.several else [sent]
    listed = ", ".join(field.options)
    if len(chosen) > len(field.options):
        raise FieldError(
            f"{field.name} names {len(chosen)} options; there are only {len(field.options)}: "
            f"{listed}.",
            field=field.name,
            code="choice.too_many",
            expected=listed,
            got=f"{len(chosen)} options",
        )
    options = set()
    for each in chosen:
        option = _find_option(field, each) if isinstance(each, str) else None
        if option is None:
            raise FieldError(
                f"{field.name} must be one of: {listed}.",
                field=field.name,
                code="choice.unknown",
                expected=listed,
                got=_format_sent(each),
            )
        options.add(option)
    return Choice(frozenset(options))


def _find_option(field: ChoiceField, written: str) -> str | None:
    """The option that was chosen; large and small letters differ only where two options do."""
    if written in field.options:
        return written
    folded = written.strip().casefold()
    alike = [option for option in field.options if option.casefold() == folded]
    return alike[0] if len(alike) == 1 else None


def _read_text(field: TextField, sent: object) -> Text:
    if not isinstance(sent, str):
        raise FieldError(
            f"{field.name} must be text.", field=field.name, code="text.type", expected="text",
            got=_format_sent(sent),
        )  # fmt: skip
    if len(sent) > field.max_characters:
        raise FieldError(
            f"{field.name} may have at most {field.max_characters} characters; it has {len(sent)}.",
            field=field.name,
            code="text.length",
        )
    # Half of a surrogate pair is not a character and could not be stored.
    bad = next((c for c in sent if c == "\0" or "\ud800" <= c <= "\udfff"), None)
    if bad is not None:
        raise FieldError(
            f"{field.name} contains a character (U+{ord(bad):04X}) that cannot be stored.",
            field=field.name,
            code="text.character",
            hint="Remove it.",
            column=sent.index(bad) + 1,
        )
    return Text(sent)


def _read_file(field: FileField, sent: object) -> Text:
    if not isinstance(sent, str) or not DIGEST.fullmatch(sent):
        raise FieldError(
            f"{field.name} must name an uploaded PDF by its digest (sha256:…).",
            field=field.name,
            code="file.digest",
        )
    return Text(sent)


_MAX_SCORE_LENGTH = 40


def _read_score(field: ExternalField, sent: object) -> ExternalScore:
    text = str(sent) if isinstance(sent, str | int | float) and not isinstance(sent, bool) else ""
    try:
        points = Decimal(text) if len(text) <= _MAX_SCORE_LENGTH else None
    except InvalidOperation:
        points = None
    if points is None or not points.is_finite() or not 0 <= points <= field.max_points:
        raise FieldError(
            f"{field.name} must be a number of points from 0 to {field.max_points}.",
            field=field.name,
            code="score.range",
            expected=f"0 to {field.max_points}",
            got=_format_sent(sent),
        )
    return ExternalScore(points)


def _format_sent(sent: object) -> str:
    """What was sent, short and printable."""
    text = str(sent) if isinstance(sent, str | int | float | bool) else type(sent).__name__
    return "".join(c if c.isprintable() else "?" for c in text[:24])


def _make_type_error(sent: object, fields: Sequence[Field]) -> FieldError:
    example = ", ".join(f'"{field.name}": …' for field in fields[:3])
    return FieldError(
        f"An answer must be a JSON object with a value for each field: {{{example}}}.",
        field="",
        code="answer.type",
        expected="an object",
        got=type(sent).__name__,
    )


def _find_unknown_fields(sent: Mapping[Any, Any], fields: Sequence[Field]) -> list[FieldError]:
    known = [field.name for field in fields]
    errors = []
    for name in islice((each for each in sent if each not in known), MAX_PLACES):
        shown = _format_sent(name)
        close = difflib.get_close_matches(shown, known, n=1)
        errors.append(
            FieldError(
                f"This question has no field {shown or 'with an empty name'}. "
                f"Its fields: {', '.join(known)}.",
                field=shown,
                code="field.unknown",
                hint=f"Did you mean {close[0]}?" if close else "",
            )
        )
    return errors


# LaTeX commands whose backslash and first letter JSON decodes as one control character.
_LOST_BACKSLASH = re.compile(
    r"([\b\f])([a-z]+)|(\t)(op|ext|imes|heta|au)\b|(\n)(u|eq?)\b|(\r)(ho|ight|Vert|vert)\b"
)
_ESCAPE_LETTERS = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


def _add_backslash_hint(error: FieldError, sent: object) -> FieldError:
    r"""The error, with a hint where JSON has decoded the backslash of a command such as "\frac"."""
    # What is longer than a formula is a paste or a text, and was refused for another reason.
    lost = _LOST_BACKSLASH.search(sent, 0, MAX_LENGTH) if isinstance(sent, str) else None
    if lost is not None:
        special, rest = filter(None, lost.groups())
        name = _ESCAPE_LETTERS[special] + rest
        hint = f"In JSON a backslash is written twice: \\\\{name} instead of \\{name}."
        error.hint = f"{error.hint} {hint}".strip()
    return error
