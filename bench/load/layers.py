"""Where the processor time of a server goes, layer by layer, as py-spy samples it."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

#: The layer of a sample is that of its innermost frame that has one; the first pattern that fits.
_LAYERS = (
    ("judging", r"grader/(engine|formula|reading)/"),
    ("receipts and reports", r"grader/(feedback|grading/signing|grading/attempts/report)"),
    ("settling grades", r"grader/(grading/grades|domain)/"),
    ("storing and looking up", r"grader/(store|grading/serialize)"),
    ("submitting", r"grader/grading/"),
    ("identity and membership", r"grader/(accounts|web/auth)"),
    ("logs and metrics", r"grader/web/ops/|prometheus_client|structlog"),
    ("intake and routes", r"grader/web/(api|http/(body|rate)|service|params|errors)"),
    ("middleware", r"grader/web/http/middleware"),
    ("HTTP protocol", r"grader/web/http/(server|fast_path)|uvicorn/"),
    ("framework", r"fastapi/|starlette/"),
)
_RATE = 250
#: Threads that wait for work, which py-spy takes for busy.
_IDLE = re.compile(r"threading\.py|queue\.py|anyio/_backends|concurrent/futures/thread\.py")


def record_layers(pid: int, *, seconds: int) -> dict[str, float]:
    """Sample a process while it works, and return the share of each layer, the largest first."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stacks"
        program = Path(sys.executable).with_name("py-spy")
        subprocess.run(
            [str(program), "record", "--pid", str(pid), "--duration", str(seconds),
             "--rate", str(_RATE), "--format", "raw", "--full-filenames", "--output", str(path)],
            check=True, capture_output=True,
        )  # fmt: skip
        return summarize(path.read_text())


def summarize(stacks: str) -> dict[str, float]:
    """The share of each layer in samples of one line each: frames, outermost first, and a count."""
    counts: Counter[str] = Counter()
    for line in stacks.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")
        if not _IDLE.search(frames[-1]):
            counts[_find_layer(frames)] += int(count)
    total = sum(counts.values()) or 1
    return {layer: count / total for layer, count in counts.most_common()}


def _find_layer(frames: list[str]) -> str:
    for frame in reversed(frames):
        for layer, pattern in _LAYERS:
            if re.search(pattern, frame):
                return layer
    return "other"
