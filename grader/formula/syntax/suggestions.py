"""Unknown names: why a name cannot be used, what was probably meant, and what may be used instead.

Whoever follows a hint must not lose by it: a name is proposed only where the written one is a slip
of it, and a constant's value never is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from grader.errors import FormulaError
from grader.formula.syntax.notation import COMMAND_NAMES
from grader.formula.typed.scope import EULER, FormulaScope

#: A name of a Python library with its dots, such as `np.linalg.norm`.
LIBRARY_NAME = re.compile(
    r"(?<![A-Za-z0-9_])(?:np|numpy|jnp|scipy|torch|tf|math)(?:\s*\.\s*[A-Za-z_]\w*)+"
)
_LIBRARIES = frozenset({"np", "numpy", "jnp", "scipy", "torch", "tf"})
_MAX_NAMES_LISTED = 24

_PRODUCT = "Write a product by placing its factors side by side: A B, x^T y."
_LIST = "Write numbers as a list, [1, 2, 3], and vectors as the rows of a matrix, [x, y]."
_SHAPE = "Shapes are exact here; a value is transposed by ^T."
_POWER = "Write a power as x^2."
_FILLED = "Write ones(3), zeros(3) or c ones(3) for vectors of equal numbers."
_MEAN = "Write a mean as sum(x), divided by the number of entries."
#: What the language writes instead of functions that it lacks.
_INSTEAD_OF = {
    **dict.fromkeys(("matmul", "mm", "bmm", "multiply", "einsum", "vdot", "tensordot"), _PRODUCT),
    **dict.fromkeys(("array", "asarray", "tensor", "matrix", "vector"), _LIST),
    **dict.fromkeys(("stack", "vstack", "hstack", "concatenate", "column_stack"), _LIST),
    **dict.fromkeys(("reshape", "flatten", "ravel", "squeeze", "view"), _SHAPE),
    **dict.fromkeys(("power", "pow", "square"), _POWER),
    **dict.fromkeys(("full", "zeros_like", "ones_like", "empty"), _FILLED),
    **dict.fromkeys(("mean", "average"), _MEAN),
}
_OTHER_FUNCTIONS = frozenset({
    "linalg", "random", "rand", "randn", "argmax", "argmin", "argsort", "sort", "range", "arange",
    "linspace", "len", "shape", "cumsum", "prod", "std", "var", "median", "round", "floor", "ceil",
    "sign", "relu", "clip", "sin", "cos", "tan", "sinh", "cosh", "arctan", "det", "rank", "svd",
    "eig", "solve", "lstsq", "qr", "log2", "log10", "log1p", "expm1", "lambda", "print", "import",
}) - COMMAND_NAMES.keys()  # fmt: skip

#: Words that real answers contain; longer ones are recognised by their length.
_WORDS = frozenset({
    "all", "an", "and", "any", "are", "as", "at", "be", "big", "both", "but", "by", "can", "each",
    "for", "from", "has", "have", "if", "in", "into", "is", "it", "its", "large", "less", "long",
    "many", "more", "most", "near", "nearly", "no", "none", "not", "of", "on", "only", "or", "out",
    "same", "small", "so", "some", "such", "than", "that", "the", "them", "then", "there", "they",
    "this", "to", "very", "we", "when", "which", "with", "yes",
})  # fmt: skip
_WORD = re.compile(r"[A-Za-z][a-z]{2,}")

#: Names of the papers. Where a question does not have them, they are no constants of the writer's.
PAPER_NAMES = frozenset({
    "k", "v", "mu", "alpha", "beta", "w", "c", "q", "K", "Q", "V", "epsilon", "Sigma", "x", "u",
})  # fmt: skip
_LETTER = r"(?:[A-Za-z]|" + "|".join(sorted({*COMMAND_NAMES.values()})) + r")"
#: A single letter, perhaps with one subscript: what writers call their own constants.
_CONSTANT = re.compile(_LETTER + r"(?:_?[0-9]|_[A-Za-z])?")
_SINGLE_LETTER = re.compile(_LETTER)
_DOUBLED = re.compile(r"(.)\1")


def make_unknown_error(name: str, *, text: str, start: int, scope: FormulaScope) -> FormulaError:
    """The error of a name without a meaning, which begins at `start` in the text."""
    message, hint = _describe_unknown(name[:40], text, start, scope)
    return FormulaError(message, column=start + 1, code="formula.unknown", hint=hint)


def make_subscript_error(name: str, label: str, *, start: int, scope: FormulaScope) -> FormulaError:
    """The error of a family's name with a subscript that it does not have."""
    family = scope.families[name]
    size = scope.indices.get(label, family.count)
    why = "" if size == family.count else f": {label} is one of {size}, not of {family.count}"
    members = list(family.list_members(name))
    found = find_close_name(f"{name}_{label}", members, may_slip=False)
    return FormulaError(
        f"{name}_{label[:20]} is not known here{why}.",
        column=start + 1,
        code="formula.unknown",
        hint=_join(
            _propose(found),
            _list_usable(family.list_usable(name) if members else scope.list_usable()),
        ),
    )


def make_library_error(match: re.Match[str], scope: FormulaScope) -> FormulaError:
    """The error of a name such as `np.argmax`; the language has functions, but no libraries."""
    function = match[0].rpartition(".")[2].strip()
    return FormulaError(
        f"{match[0][:40]} is not known here.",
        column=match.start() + 1,
        code="formula.unknown",
        hint=f"Write {function}(…)."
        if function in scope.functions
        else _describe_function(function),
    )


def _describe_unknown(name: str, text: str, start: int, scope: FormulaScope) -> tuple[str, str]:
    """What to say of an unknown name: a message and a hint."""
    unknown = f"{name} is not known here."
    usable = _list_usable(scope.list_usable())
    if text[:start].rstrip().endswith("^"):
        return unknown, "Write the transpose as ^T."
    if name == EULER:
        return unknown, "Write Euler's number as exp(1), and its powers as e^x."
    if reason := _find_reason(name, scope):
        return reason, usable
    if name in _INSTEAD_OF or name in _OTHER_FUNCTIONS or name in _LIBRARIES:
        return unknown, _describe_function(name)
    if name.casefold() in _WORDS:
        return unknown, _describe_word(usable)
    if found := find_close_name(name, _list_proposals(scope)):
        return unknown, _join(_propose(found), usable)
    base = name.partition("_")[0]
    if base in PAPER_NAMES:
        reason = _find_reason(name, scope, ignores_case=True)
        return reason or f"{name} has no meaning in this question.", usable
    if same := next((each for each in scope.names() if each.casefold() == name.casefold()), ""):
        return unknown, _join(f"Capital and small letters differ: {same} is known.", usable)
    if _CONSTANT.fullmatch(name) and base not in scope.indices:
        return unknown, _join(_describe_constant(name), usable)
    if _WORD.fullmatch(name):
        return unknown, _describe_word(usable)
    return unknown, usable


def _find_reason(name: str, scope: FormulaScope, *, ignores_case: bool = False) -> str:
    """Why a name of the question may not be used here; empty where it is none of them."""
    for known in (name, name.partition("_")[0]):
        if ignores_case:
            known = next((each for each in scope.withheld if each.lower() == known.lower()), "")
        if known in scope.withheld:
            reason = scope.withheld[known]
            return reason if known == name else f"{name} may not be used here: {reason}"
    return ""


def _describe_function(name: str) -> str:
    if name in _INSTEAD_OF:
        return _INSTEAD_OF[name]
    if name in _LIBRARIES:
        return "Write functions without the name of a library: exp(x), norm(x)."
    return "The formula language has no such function; send the numbers that it gives."


def _describe_word(usable: str) -> str:
    return _join("Words are not part of a formula; put explanations in the field for them.", usable)


def _describe_constant(name: str) -> str:
    return (
        f"If {name} is your own constant, declare it: … where {name} >> 0 for any large value, "
        "or give its value."
    )


def _list_usable(names: Iterable[str]) -> str:
    listed = list(names)[:_MAX_NAMES_LISTED]
    return f"You may use {', '.join(listed)}." if listed else ""


def _list_proposals(scope: FormulaScope) -> list[str]:
    """What may be proposed for a slip; no number of one letter, since `D` is no slip of `d`."""
    names = [name for name in scope.names() if len(name) > 1 or name in scope.families]
    return [*names, *scope.members(), *scope.functions]


def _propose(name: str) -> str:
    return f"Did you mean {name}?" if name else ""


def _join(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def find_close_name(name: str, known: Iterable[str], *, may_slip: bool = True) -> str:
    """The only known name of which the written one is a slip; empty where there is none.

    A slip is another case, a doubled letter, a missing underscore or, with `may_slip`, one letter
    too many, too few, wrong or exchanged with the next. A single letter is always another name.
    """
    names = list(dict.fromkeys(known))
    closest = [each for each in names if each.casefold() == name.casefold()]
    closest = closest or [each for each in names if _squeeze(each) == _squeeze(name)]
    if not closest and may_slip and not _SINGLE_LETTER.fullmatch(name.partition("_")[0]):
        closest = [each for each in names if _is_one_slip(name, each)]
    return closest[0] if len(closest) == 1 else ""


def _squeeze(name: str) -> str:
    """A name without what is easily doubled or forgotten."""
    return _DOUBLED.sub(r"\1", name.casefold().replace("_", ""))


def _is_one_slip(written: str, meant: str) -> bool:
    """Whether two names of at least three characters differ in one letter."""
    if min(len(written), len(meant)) < 3 or abs(len(written) - len(meant)) > 1:
        return False
    first = next((i for i, (x, y) in enumerate(zip(written, meant, strict=False)) if x != y), None)
    if first is None:
        return True
    rest, other = written[first:], meant[first:]
    return (
        rest[1:] in (other, other[1:])
        or rest == other[1:]
        or rest == other[1:2] + other[:1] + other[2:]
    )
