"""Hostile values: corner cases of JSON as text, and mutations of JSON, texts and bytes."""

from __future__ import annotations

import random
from typing import Any, Final

import orjson

#: Markup that no page may show as it is; its name is found in no page of ours.
MARKUP: Final = "<fuzzed onload=alert(1)>"

NUMBERS: Final = (
    *("NaN", "-NaN", "sNaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e-999", "-0", "-0.0"),
    *("1e308", "1e309", "5e-324", "2147483648", "9007199254740993", "9223372036854775808", "-1"),
    *("0x10", "010", "1_000", "+1", ".5", "5.", "1e", "1,5", "١٢", "²", "½", "1" * 400, "0" * 400),
)
TEXTS: Final = (
    *("", " ", "\t\r\n", "\x01\x1b[31m", "\x7f", "\u202eabc", "\u2066\u200b\ufeff", "\ud800"),
    *("\udfff\ud800", "é", "e\u0301", "Å", "ﬃ", "İı", "ß", "😀" * 40, "👩‍👩‍👧", "نص", "\ufffe"),
    *(MARKUP, f'">{MARKUP}', f"'{MARKUP}", f"</textarea>{MARKUP}", f"${MARKUP}$"),
    *("{{ 7 * 7 }}", "{% raw %}", "${7*7}", "' OR 1=1 --", "%_", "\\", "%00", "%ff", "a\r\nB: c"),
    *("../../etc/passwd", "=1+1", "javascript:alert(1)", "true", "null", "[]", "{}", "on", "-"),
    *("9999-12-31T23:59:59Z", "0000-00-00T00:00", "2026-02-30T25:61", "2026-11-30T23:59"),
    *("x" * 65, "x" * 201, "x" * 2001, "a," * 500, "(" * 300, "[" * 300, "$" * 99, "\\frac{" * 99),
)

_DEEP: Final = 100_000
#: Names begin as those of JSONTestSuite do: y_ must be read, n_ must be refused, i_ is left open.
JSON_CASES: Final[dict[str, bytes]] = {
    "y_array_empty": b"[]",
    "y_array_spaces": b" [ 1 , 2 ] ",
    "y_number_minus_zero": b"[-0]",
    "y_number_exponent": b"[1E+2]",
    "y_number_small": b"[1e-999]",
    "y_string_escapes": b'["\\"\\\\\\/\\b\\f\\n\\r\\t"]',
    "y_string_pair": b'["\\ud83d\\ude00"]',
    "y_string_delete": b'["\x7f"]',
    "y_string_utf8": '["é😀\u2028"]'.encode(),
    "y_object_empty_key": b'{"":0}',
    "y_structure_lonely_string": b'"a"',
    "y_structure_lonely_null": b"null",
    "y_structure_lonely_number": b"42",
    "y_structure_newline": b'\n{"a":1}\n',
    "n_array_comma_end": b"[1,]",
    "n_array_comma_start": b"[,1]",
    "n_array_comma_twice": b"[1,,2]",
    "n_array_unclosed": b"[1",
    "n_array_no_comma": b"[1 2]",
    "n_array_colon": b"[1:2]",
    "n_array_extra": b"[1]]",
    "n_number_leading_zero": b"[01]",
    "n_number_plus": b"[+1]",
    "n_number_dot": b"[.5]",
    "n_number_dot_end": b"[1.]",
    "n_number_exponent": b"[1e]",
    "n_number_hex": b"[0x1]",
    "n_number_minus": b"[-]",
    "n_number_two_minus": b"[--1]",
    "n_number_nan": b"[NaN]",
    "n_number_minus_nan": b"[-NaN]",
    "n_number_infinity": b"[Infinity]",
    "n_number_minus_infinity": b"[-Infinity]",
    "n_number_full_width": "[１]".encode(),
    "n_number_underscore": b"[1_0]",
    "n_string_single": b"['a']",
    "n_string_unclosed": b'["a',
    "n_string_newline": b'["a\nb"]',
    "n_string_tab": b'["\t"]',
    "n_string_nul": b'["\x00"]',
    "n_string_escape": b'["\\x41"]',
    "n_string_escape_short": b'["\\u12"]',
    "n_string_escape_end": b'["\\',
    "n_object_single": b"{'a':1}",
    "n_object_no_quotes": b"{a:1}",
    "n_object_comma_end": b'{"a":1,}',
    "n_object_no_colon": b'{"a" 1}',
    "n_object_no_value": b'{"a":}',
    "n_object_number_key": b"{1:1}",
    "n_object_unclosed": b'{"a":1',
    "n_object_repeated": b'{"a":1,"a":2}',
    "n_structure_empty": b"",
    "n_structure_space": b"   ",
    "n_structure_two": b"{}{}",
    "n_structure_comment": b"{}/* a */",
    "n_structure_hash": b"{}#",
    "n_structure_capital": b"[True]",
    "n_structure_cut": b"[tru]",
    "n_structure_nul": b"[]\x00",
    "n_structure_vertical_tab": b"[\x0b1]",
    "n_structure_no_break": "[\u00a01]".encode(),
    "n_structure_bom_alone": b"\xef\xbb\xbf",
    "n_structure_latin1": b'["\xe9"]',
    "n_structure_overlong": b'["\xc0\xaf"]',
    "n_structure_utf8_surrogate": b'["\xed\xa0\x80"]',
    "n_structure_utf8_cut": b'["\xe2\x82"]',
    "n_structure_ff": b"\xff",
    "n_structure_open": b"[" * 60_000,
    "n_structure_open_objects": b'{"a":' * 12_000,
    "i_number_huge": b"[1e999]",
    "i_number_minus_huge": b"[-1e999]",
    "i_number_long": b"[" + b"9" * 5000 + b"]",
    "i_number_long_fraction": b"[0." + b"1" * 5000 + b"]",
    "i_number_huge_exponent": b"[1e" + b"9" * 100 + b"]",
    "i_string_lone_high": b'["\\ud800"]',
    "i_string_lone_low": b'["\\udc00"]',
    "i_string_pair_reversed": b'["\\udc00\\ud800"]',
    "i_string_nul_escape": b'["\\u0000"]',
    "i_structure_bom": b"\xef\xbb\xbf{}",
    "i_structure_utf16": '{"a":1}'.encode("utf-16"),
    "i_structure_utf32": '{"a":1}'.encode("utf-32"),
    "i_structure_deep": b"[" * 500 + b"]" * 500,
    "i_structure_deeper": b"[" * 30_000 + b"]" * 30_000,
    "i_structure_deep_objects": b'{"a":' * 400 + b"1" + b"}" * 400,
}


class Mutator:
    """Mutations by one generator."""

    def __init__(self, rng: random.Random, *, most_bytes: int) -> None:
        self.rng = rng
        self.most_bytes = most_bytes

    def happens(self, share: float) -> bool:
        """True in this share of all cases."""
        return self.rng.random() < share

    def make_text(self) -> str:
        """A hostile text, or a few of them."""
        rng = self.rng
        match rng.randrange(10):
            case 0:
                return "".join(rng.choices(TEXTS, k=3))
            case 1:
                return "".join(chr(rng.randrange(0x2FFF)) for _ in range(rng.randrange(1, 40)))
            case 2:
                long = rng.choice(("x", "9", "a b ", "é", "[", "k_a + ", "\n"))
                return long * (rng.randrange(self.most_bytes // 4) // len(long) + 1)
            case 3 | 4:
                return rng.choice(NUMBERS)
            case _:
                return rng.choice(TEXTS)

    def change_text(self, text: str) -> str:
        """A text with a small change."""
        rng, at = self.rng, self.rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.randrange(1, 6))
        match rng.randrange(6):
            case 0:
                return text[:at] + text[end:]
            case 1:
                return text[:at] + rng.choice((*TEXTS, *NUMBERS)) + text[end:]
            case 2:
                return text[:end] + text[at:]
            case 3:
                return text[:at]
            case 4:
                return text.swapcase() if text else " "
            case _:
                return text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0xD7FF))))

    def change_bytes(self, sent: bytes) -> bytes:
        """Bytes of which some are changed, missing or there twice."""
        changed, rng = bytearray(sent), self.rng
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(changed) + 1)
            match rng.randrange(4):
                case 0:
                    changed[at : at + 1] = bytes([rng.randrange(256)])
                case 1:
                    del changed[at : at + rng.randrange(1, 9)]
                case 2:
                    changed[at:at] = changed[at : at + rng.randrange(1, 30)]
                case _:
                    changed[at:at] = rng.choice(
                        (b'"', b"{", b"]", b",", b"\\", b"\0", b"1e9", b"\xff")
                    )
        return bytes(changed[: self.most_bytes])

    def make_json(self, level: int = 0) -> Any:
        """A value of any type."""
        rng = self.rng
        match rng.randrange(9 if level < 3 else 6):
            case 0:
                return rng.choice((None, True, False))
            case 1:
                return rng.choice((0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 10**6))
            case 2:
                return rng.choice((0.5, -0.0, 1e308, -1e-300, 5e-324, 0.1 + 0.2))
            case 3 | 4 | 5:
                return self.make_text()
            case 6:
                return [self.make_json(level + 1) for _ in range(rng.randrange(5))]
            case 7:
                return self._make_array()
            case _:
                return {self.make_text()[:80]: self.make_json(level + 1) for _ in range(3)}

    def _make_array(self) -> Any:
        """A matrix that may be empty, transposed, ragged, too deep or too long."""
        rng = self.rng
        rows, columns = rng.choice(((0, 0), (1, 4), (4, 1), (3, 4), (50, 50), (1, 2000), (2000, 1)))
        matrix: list[Any] = [
            [rng.choice((0, 1, -1.5, 1e300)) for _ in range(columns)] for _ in range(rows)
        ]
        if matrix and self.happens(0.3):
            matrix[-1] = rng.choice(([], [1], None, "x", [None], [[1]], {"a": 1}))
        return rng.choice((matrix, [matrix], matrix[0] if matrix else []))

    def change_json(self, value: Any) -> Any:
        """A value with one change somewhere in it."""
        rng = self.rng
        if isinstance(value, dict) and value and self.happens(0.85):
            name = rng.choice(list(value))
            match rng.randrange(10):
                case 0:
                    return {each: value[each] for each in value if each != name}
                case 1:
                    return value | {self.make_text()[:80]: self.make_json()}
                case 2:
                    return {
                        self.change_text(each) if each == name else each: value[each]
                        for each in value
                    }
                case _:
                    return value | {name: self.change_json(value[name])}
        if isinstance(value, list) and value and self.happens(0.8):
            at = rng.randrange(len(value))
            match rng.randrange(6):
                case 0:
                    return value[:at] + value[at + 1 :]
                case 1:
                    return value * rng.randrange(2, 9)
                case 2 if all(isinstance(row, list) for row in value):
                    return [list(each) for each in zip(*value, strict=False)]
                case _:
                    return [*value[:at], self.change_json(value[at]), *value[at + 1 :]]
        if isinstance(value, str) and self.happens(0.6):
            return self.change_text(value)
        return self.make_json()

    def make_body(self, example: Any) -> bytes:
        """The bytes of a body like an example: as it is, changed, or no JSON at all."""
        rng, value = self.rng, example
        match rng.randrange(20):
            case 0:
                return rng.choice(list(JSON_CASES.values()))
            case 1 | 2:
                return self.change_bytes(write_json(value))
            case 3:
                return self._put_raw(value)
            case 4:
                pass
            case _:
                for _ in range(rng.choice((1, 1, 1, 2, 4))):
                    value = self.change_json(value)
        body = write_json(value)
        match rng.randrange(40):
            case 0:
                body = b"\xef\xbb\xbf" + body
            case 1:
                body = body.decode("utf-8", "replace").encode(
                    rng.choice(("utf-16", "utf-32", "utf-7"))
                )
            case 2:
                # Every member twice.
                body = body[:-1] + b"," + body[1:] if body[:1] == b"{" else body
        return body[: self.most_bytes]

    def _put_raw(self, value: Any) -> bytes:
        """A body with a corner case of JSON in the place of one of its values."""
        body, mark = write_json(value), b'"\\u0001\\u0001"'
        if isinstance(value, dict) and value:
            name = self.rng.choice(list(value))
            inner = value[name]
            marked = {key: mark.decode() for key in inner} if isinstance(inner, dict) else None
            put = orjson.dumps(mark.decode())
            body = write_json(value | {name: marked or mark.decode()})
            case = self.rng.choice(list(JSON_CASES.values()))[:5000]
            number = self.rng.choice(NUMBERS).encode()
            body = body.replace(put, self.rng.choice((case, number)), 1)
        return body


def write_json(value: Any) -> bytes:
    """A value as JSON; halves of surrogate pairs stay as escapes."""
    try:
        return orjson.dumps(value)
    except TypeError:
        import json

        return json.dumps(value).encode()
