"""An assignment of two questions whose rubrics can be mended, for tests of what follows.

The answer `NEARLY` to question `one` earns its 4 points only where `within` is at least 0.03.
Question `two` uses the answer to question `one`.
"""

from __future__ import annotations

from grader.rubric.catalog import CompiledAssignment, read_assignment

SLIPS = "slips"
ONE, TWO = f"{SLIPS}/one", f"{SLIPS}/two"
NEARLY = {"q": "5 k_a"}
WEIGHT = {"weight": 0.97}

_FORM = """
id: slips
title: Slips
questions: [one, two]
attempts: {{most: {most}, counted: {counted}, feedback: {feedback}}}
late: {{grace_seconds: 0, per_day: 0, days: 0}}
"""
_ONE = """
id: one
title: One key
points: 4
prompt: "Send $q$."
draw:
  n: 5
  d: 7
  a: {{distinct_indices: n}}
  k: {{orthonormal: [n, d]}}
given: [n, d, a, k]
answer:
  {field}: {{shape: [d], symbols: [k]}}
compute:
  w: softmax(k {field})
criteria:
  - id: weights
    title: All weight on one key
    points: 4
    measure: tv(w, unit(a))
    in_words: "{{measured}} of the weight is in the wrong place; {{needed}} may be"
    levels: [{{within: {within}, credit: 1}}]
"""
_TWO = """
id: two
title: The weight of that key
points: 2
prompt: "Which weight has the key?"
uses: {{question: one, if: weights, else: {{{field}: "40 k_a"}}}}
given: [n, d, a, k]
answer:
  weight: {{number: unit(a)^T softmax(k {field}), tolerance: 0.01, points: 2, title: The weight}}
"""


def slips(
    *,
    within: float = 0.02,
    most: int = 2,
    counted: str = "best",
    feedback: str = "full",
    field: str = "q",
    note: str = "",
) -> CompiledAssignment:
    """The assignment; `note` is a comment in the file of question `two`."""
    return read_assignment(
        SLIPS,
        _FORM.format(most=most, counted=counted, feedback=feedback),
        {
            "one": _ONE.format(within=within, field=field),
            "two": _TWO.format(field=field) + f"# {note}\n",
        },
    )
