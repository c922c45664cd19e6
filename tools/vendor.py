"""Bring the libraries that pages use into grader/web/static/vendor, with their licences.

They are committed, so that nothing is fetched when Keyset is installed or used. Run it after
changing a version here: it asks npm for the packages, takes the few files that are needed, and
writes down their hashes, which a test compares.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

TARGET = Path(__file__).parents[1] / "grader" / "web" / "static" / "vendor"

#: Package → version, and the files that are taken, by their place in the package.
PACKAGES = {
    "htmx.org": ("2.0.11", {"dist/htmx.min.js": "htmx.js", "LICENSE": "LICENSE"}),
    "katex": (
        "0.19.1",
        {
            "dist/katex.min.js": "katex.js",
            "dist/katex.min.css": "katex.css",
            "LICENSE": "LICENSE",
        },
    ),
}
#: Every browser that matters reads this kind of font.
FONTS = ("katex", "dist/fonts", ".woff2")


def main() -> None:
    """Fetch, unpack, copy and note."""
    shutil.rmtree(TARGET, ignore_errors=True)
    for name, (version, files) in PACKAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            package = _fetch(name, version, Path(folder))
            place = TARGET / name.removesuffix(".org")
            place.mkdir(parents=True)
            for source, target in files.items():
                shutil.copy(package / source, place / target)
            if name == FONTS[0]:
                (place / "fonts").mkdir()
                for font in sorted((package / FONTS[1]).glob(f"*{FONTS[2]}")):
                    shutil.copy(font, place / "fonts" / font.name)
    (TARGET / "versions.json").write_text(json.dumps(describe(), indent=2) + "\n")


def _fetch(name: str, version: str, folder: Path) -> Path:
    subprocess.run(
        ["npm", "pack", "--silent", f"{name}@{version}"],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / "package"


def describe() -> dict[str, object]:
    """The versions, and the hash of every file."""
    files = sorted(path for path in TARGET.rglob("*") if path.is_file() and path.suffix != ".json")
    return {
        "versions": {name: version for name, (version, _) in PACKAGES.items()},
        "files": {
            path.relative_to(TARGET).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
        },
    }


if __name__ == "__main__":
    main()
