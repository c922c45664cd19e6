import re
from importlib.metadata import version
from pathlib import Path

import grader


def test_the_package_and_its_metadata_name_the_same_version() -> None:
    assert grader.__version__ == version("keyset")


def test_no_pattern_has_a_possessive_group() -> None:
    # Early releases of Python 3.11 match them wrongly: Debian's 3.11.2 read a pasted 0.25 as 25.
    sources = Path(grader.__file__).parent.rglob("*.py")
    found = [path.name for path in sources if re.search(r"\)[?*+]\+", path.read_text("utf-8"))]

    assert found == []
