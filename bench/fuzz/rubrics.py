"""Hostile rubric files, given to the loader directly: refused by an author's error, or loaded."""

from __future__ import annotations

import time
from functools import cache
from typing import Final

from bench.fuzz.values import Mutator
from grader.errors import AuthorError
from grader.rubric.catalog import get_shipped_folder, read_assignment

_LINES: Final = (
    *(
        "a: &a [*a, *a]",
        "b: *a",
        "<<: {a: 1}",
        "? [a]\n: b",
        "!!python/object:os.system {}",
        "%YAML 1.1",
    ),
    *(
        "points: .nan",
        "points: -.inf",
        "points: 1e999",
        "points: 010",
        "points: 1:30",
        "points: yes",
    ),
    *(
        "title: &x [x",
        "title: |\n  a\n b",
        "title: >-",
        "prompt: '\x07'",
        'prompt: "\\uD800"',
        "---",
    ),
    *(
        "draw: {n: 99999999}",
        "draw: {k: {unit_rows: [9999, 9999]}}",
        "draw: {k: {normal: [-1, 0]}}",
    ),
    *(
        "- " * 300,
        "[" * 3000,
        "{a: " * 300,
        "\ta: 1",
        "id: ../../x",
        "id: 3b\nid: 3b",
        "...",
        "# x",
    ),
)


@cache
def _load_texts() -> list[tuple[str, str, dict[str, str]]]:
    """The shipped assignments: their names, their own files, and those of their questions."""
    found = []
    for folder in sorted(path.parent for path in get_shipped_folder().glob("*/assignment.yaml")):
        texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.yaml")}
        found.append((folder.name, texts.pop("assignment"), dict(sorted(texts.items()))))
    return found


def change_file(mutator: Mutator, text: str) -> str:
    """A file with a few changes of lines, values or characters."""
    rng = mutator.rng
    for _ in range(rng.choice((1, 1, 2, 5))):
        lines = text.splitlines(keepends=True) or [""]
        at = rng.randrange(len(lines))
        match rng.randrange(8):
            case 0:
                lines.insert(at, rng.choice(_LINES) + "\n")
            case 1:
                del lines[at : at + rng.randrange(1, 4)]
            case 2:
                lines[at] = rng.choice(("  ", " ", "\t", "- ")) + lines[at]
            case 3:
                lines[at:at] = lines[rng.randrange(len(lines)) :][: rng.randrange(1, 6)]
            case 4 | 5:
                key, sign, _ = lines[at].partition(": ")
                lines[at] = f"{key}{sign or ': '}{mutator.make_text()[:2000]}\n"
            case _:
                lines[at] = mutator.change_text(lines[at])
        text = "".join(lines)
    return text[: mutator.most_bytes]


def load_mutated(mutator: Mutator) -> tuple[str, float]:
    """Load an assignment of which one file is changed: `loaded` or `refused`, and the CPU seconds.

    Raises
    ------
    Exception
        Where the loader raises anything but an author's error, which is a defect.
    """
    rng = mutator.rng
    name, form, texts = rng.choice(_load_texts())
    # One question is enough, and the others take most of the time.
    question = rng.choice(list(texts))
    form = form if mutator.happens(0.2) else _leave_only(form, question)
    rubrics = {question: texts[question]}
    if mutator.happens(0.25):
        form = change_file(mutator, form)
    else:
        rubrics[question] = change_file(mutator, texts[question])
    began = time.thread_time()
    try:
        read_assignment(name, form, rubrics)
    except AuthorError:
        return "refused", time.thread_time() - began
    return "loaded", time.thread_time() - began


def _leave_only(form: str, question: str) -> str:
    lines = [
        each for each in form.splitlines() if not each.startswith(("questions:", "  - ", "- "))
    ]
    plain = [each for each in lines if not each.startswith(("exceptions:", "  "))]
    return "\n".join([*plain, f"questions: [{question}]", ""])
