"""Logs: lines that a program can read and that say nothing about anybody."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys

import pytest

from grader.web.ops.logs import describe_exception, open_logs


def test_a_line_is_json_with_its_time_and_level() -> None:
    stream = io.StringIO()
    open_logs(stream, pretty=False).info("started", port=8000)

    line = json.loads(stream.getvalue())
    assert (line["event"], line["port"], line["level"]) == ("started", 8000, "info")
    assert line["at"].endswith("Z")


def test_a_line_stays_one_line_whatever_is_in_it() -> None:
    stream = io.StringIO()
    open_logs(stream, pretty=False).info("started", path='a\n{"event": "forged"}\ud800')

    assert len(stream.getvalue().splitlines()) == 1
    assert json.loads(stream.getvalue())["event"] == "started"


def test_lower_levels_are_left_out() -> None:
    stream = io.StringIO()
    open_logs(stream, pretty=False, level="warning").info("started")

    assert stream.getvalue() == ""


def test_people_get_a_form_for_the_eye() -> None:
    stream = io.StringIO()
    open_logs(stream, pretty=True).info("started", port=8000)

    assert "port=8000" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


def test_a_log_that_cannot_be_written_fails_nothing() -> None:
    stream = io.StringIO()
    logs = open_logs(stream, pretty=False)
    stream.close()

    logs.info("started")


def test_lines_of_one_turn_of_a_loop_are_written_together_and_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[str] = []
    stream = io.StringIO()
    monkeypatch.setattr(stream, "write", written.append)
    monkeypatch.setattr(sys, "stderr", stream)
    logs = open_logs(pretty=False)

    async def run() -> None:
        for number in range(3):
            logs.info("request", number=number)
        assert written == []
        await asyncio.sleep(0)
        logs.info("request", number=3)
        logs.error("defect", number=4)
        logs.info("request", number=5)
        await asyncio.to_thread(logs.info, "elsewhere", number=6)

    asyncio.run(run())
    lines = [json.loads(line)["number"] for line in "".join(written).splitlines()]
    assert lines == list(range(7))
    assert [text.count("\n") for text in written[:2]] == [3, 2], "an error waits for nothing"


def fail() -> None:
    secret = "4711"
    try:
        raise KeyError(secret)
    except KeyError as error:
        raise ValueError(f"no {secret}") from error


def test_an_exception_is_told_by_types_and_places() -> None:
    with pytest.raises(ValueError, match="4711") as caught:
        fail()

    lines = describe_exception(caught.value)
    assert [line for line in lines if " in " not in line] == [
        "builtins.KeyError",
        "builtins.ValueError",
    ]
    assert "4711" not in "".join(lines)
    assert "4711" in "".join(describe_exception(caught.value, messages=True))


def test_what_the_operating_system_says_is_told() -> None:
    said = describe_exception(OSError(28, "No space left on device", "/data/ada.db"))

    assert said == ["builtins.OSError: No space left on device"]


PROGRAM = """
import gc, logging, sys, threading, warnings
from grader.web.ops.logs import install_library_logging, open_logs

install_library_logging(open_logs(pretty=False))
logging.getLogger("uvicorn.error").warning("Connection of %s was lost", "ada")
logging.getLogger("uvicorn.error").info("Started")
logging.getLogger("some.library").error("It failed for %s", "ada")
warnings.warn("ada sent something")

def fail():
    raise ValueError("ada sent something")

thread = threading.Thread(target=fail, name="background")
thread.start()
thread.join()

class Fails:
    def __del__(self):
        fail()

Fails()
fail()
"""


def test_nothing_but_lines_of_ours_is_written_and_none_has_a_value() -> None:
    """What libraries and Python write by themselves, each in a process with hooks of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", PROGRAM], capture_output=True, text=True, timeout=60
    )
    lines = [json.loads(line) for line in done.stderr.splitlines()]

    assert [line.get("library") for line in lines[:2]] == ["uvicorn.error", "some.library"]
    assert lines[0]["says"] == "Connection of %s was lost"
    assert (lines[2]["event"], lines[2]["category"]) == ("warning", "UserWarning")
    assert [line["event"] for line in lines[3:]] == ["defect"] * 3
    assert lines[3]["thread"] == "background"
    assert all(line["exception"][-1] == "builtins.ValueError" for line in lines[3:])
    assert "ada" not in done.stderr
    assert done.stdout == ""
