"""The libraries that pages use are those that were vendored, with their licences."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import grader

VENDOR = Path(grader.__file__).parent / "web" / "static" / "vendor"


def test_every_vendored_file_is_as_it_came() -> None:
    noted = json.loads((VENDOR / "versions.json").read_text(encoding="utf-8"))["files"]
    found = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name != "versions.json"
    }

    assert found == noted


def test_every_library_has_its_licence() -> None:
    for folder in VENDOR.iterdir():
        if folder.is_dir():
            assert "Permission" in (folder / "LICENSE").read_text(encoding="utf-8"), folder.name


def test_nothing_vendored_or_ours_is_fetched_from_elsewhere() -> None:
    static = VENDOR.parent
    for path in [*static.glob("*.css"), *static.glob("*.js"), *VENDOR.rglob("*.css")]:
        assert "//cdn" not in path.read_text(encoding="utf-8"), path.name
        assert "@import" not in path.read_text(encoding="utf-8"), path.name


def test_katex_is_told_its_limits_wherever_it_is_called() -> None:
    """By default a formula may be of any size; `tests/browser` has what comes of the limits."""
    calls = 0
    for path in VENDOR.parent.glob("*.js"):
        script = path.read_text(encoding="utf-8")
        for call in script.split("katex.render(")[1:]:
            calls += 1
            for option in ("trust: false", 'strict: "ignore"', "maxSize: 20", "maxExpand: 500"):
                assert option in call.partition(");")[0], (path.name, option)
    assert calls == 1
