from importlib.metadata import version

import grader


def test_the_package_and_its_metadata_name_the_same_version() -> None:
    assert grader.__version__ == version("keyset")
