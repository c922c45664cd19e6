"""The page about the client: its cells are run one after the other, and print what it shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, read_blocks, tidy
from tests.support.live_service import Running

PAGE = ROOT / "docs" / "how-to" / "use-the-python-client.md"


def without_chance(text: str) -> list[str]:
    """What was printed, with one id, hash and time for all."""
    text = re.sub(r"att_\w+", "att_…", re.sub(r"sha256:\w{64}", "sha256:…", text))
    return tidy(re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(UTC.\d\d:\d\d\)", "TIME", text))


def test_the_page_shows_what_its_cells_print(
    running: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KEYSET", running.address)
    monkeypatch.setenv("KEYSET_TOKEN", running.add_student())
    monkeypatch.chdir(tmp_path)
    notebook: dict[str, Any] = {}
    printed = ""
    cells = 0
    for block in read_blocks(PAGE.read_text(encoding="utf-8")):
        if block.language == "python":
            assert printed == "", f"the page must show {printed}"
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(block.text, notebook)
            printed = output.getvalue()
            cells += 1
        elif block.language == "text":
            assert without_chance(printed) == without_chance(block.text)
            printed = ""
    notebook["g"].close()
    assert cells == 7
