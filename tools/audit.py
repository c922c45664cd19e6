"""`make audit`: check the dependencies that are locked, installed and vendored.

Offline: each pin has hashes, the lock files name no place and agree with each other, what is
installed is what is locked, licences are allowed, versions are above those with known faults, and
vendored files are those that were fetched. By the network: no locked version was yanked, and none
has a known advisory.

A mirror of PyPI may answer without advisories, which looks as if there were none. So the same
question is asked about an old version that has some. If they are not told, the check counts as not
made.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageMetadata, distributions
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Final

import httpx2
import typer
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from rich.markup import escape
from rich.table import Table

from grader.cli.console import console
from tools import vendor

ROOT: Final = Path(__file__).parents[1]
SERVER_LOCK: Final = "requirements.lock"
LOCK_FILES: Final = (SERVER_LOCK, "requirements-dev.lock", "requirements-bootstrap.lock")

#: Below these versions are the faults named, which could be reached through a request or a rubric.
FLOORS: Final = {
    "fastapi": ("0.109.1", "CVE-2021-32677, CVE-2024-24762"),
    "jinja2": ("3.1.6", "CVE-2024-56326, CVE-2025-27516"),
    "orjson": ("3.9.15", "CVE-2024-27454"),
    "python-multipart": ("0.0.18", "CVE-2024-24762, CVE-2024-53981"),
    "pyyaml": ("5.4", "CVE-2020-1747, CVE-2020-14343"),
    "starlette": ("0.40.0", "CVE-2023-30798, CVE-2024-47874"),
}

#: Licences under which a library may be used, unchanged, by a service under the MIT licence.
ALLOWED_LICENCES: Final = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC"),
        *("LGPL-3.0-only", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Zlib"),
    }
)
#: What packages without an SPDX expression write instead, in a classifier or as text.
_SPDX_BY_TEXT: Final = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
#: Packages whose metadata name no licence; it stands in their repository.
_SPDX_BY_NAME: Final = {"axe-playwright-python": "MIT"}

#: `python -m venv` brings these, and `uv pip sync` leaves them.
_SEEDS: Final = frozenset({"pip", "setuptools"})
_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_INDEX: Final = "https://pypi.org/pypi"
_NPM: Final = "https://registry.npmjs.org/-/npm/v1/security/advisories/bulk"
#: Versions with advisories that every complete list has.
_KNOWN_BAD: Final = "jinja2==2.10"
_KNOWN_BAD_SCRIPT: Final = {"lodash": ["4.17.0"]}


@dataclass(frozen=True, slots=True)
class Pin:
    """A line of a lock file: what it requires, and the hashes that its files may have."""

    requirement: Requirement
    hashes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name as an index writes it."""
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        """The one version that is allowed, or nothing if there are several."""
        specifiers = list(self.requirement.specifier)
        exact = [each.version for each in specifiers if each.operator == "=="]
        return exact[0] if len(specifiers) == len(exact) == 1 and "*" not in exact[0] else ""

    @property
    def is_needed(self) -> bool:
        """Whether it is installed on this machine."""
        return self.requirement.marker is None or self.requirement.marker.evaluate()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found; `skipped` says why it could not be made."""

    name: str
    checked: str
    findings: tuple[str, ...] = ()
    skipped: str = ""


class Unreachable(Exception):
    """What a check needs from the network cannot be had here."""


def run_audit(
    offline: Annotated[
        bool, typer.Option("--offline", help="Make the offline checks only.")
    ] = False,
    sbom: Annotated[
        Path | None, typer.Option(help="A file for what a server runs, as CycloneDX.")
    ] = None,
) -> None:
    """Check the dependencies. Exit code 1: something was found, or could not be checked.

    With --offline, what needs a network is listed as not checked, and does not count.
    """
    results = check_offline(ROOT)
    pins = list_pins(ROOT, LOCK_FILES)
    results += [_skip_online(name) for name in _ONLINE] if offline else check_online(pins)
    print_results(results)
    if sbom is not None:
        sbom.write_text(render_sbom(list_pins(ROOT, [SERVER_LOCK])) + "\n", encoding="utf-8")
    if any(each.findings or (each.skipped and not offline) for each in results):
        raise typer.Exit(1)


def check_offline(root: Path) -> list[CheckResult]:
    """Make every check that needs no network."""
    pins = list_pins(root, LOCK_FILES)
    found = _list_installed()
    installed = {name: each.version for name, each in found.items()}
    needed = {pin.name for pin in pins if pin.is_needed}
    licences = {name: find_licence(found[name].metadata) for name in needed & found.keys()}
    return [
        CheckResult(
            "lock files", f"{len(pins)} pins", (*find_loose_lines(root), *find_disagreements(pins))
        ),
        CheckResult(
            "installed", f"{len(installed)} packages", tuple(compare_installed(pins, installed))
        ),
        CheckResult("licences", f"{len(licences)} packages", tuple(find_unallowed(licences))),
        CheckResult("version floors", f"{len(FLOORS)} packages", tuple(find_below_floors(pins))),
        CheckResult(
            "vendored files", f"{len(vendor.PACKAGES)} packages", tuple(compare_vendored())
        ),
    ]


def check_online(pins: list[Pin]) -> list[CheckResult]:
    """Make the checks that ask PyPI and npm."""
    checks: list[Callable[[list[Pin]], list[str]]]
    checks = [find_yanked, find_advisories, find_script_advisories]
    results = []
    for (name, checked), check in zip(_ONLINE.items(), checks, strict=True):
        try:
            results.append(CheckResult(name, checked, tuple(check(pins))))
        except Unreachable as error:
            results.append(CheckResult(name, checked, skipped=str(error)))
    return results


_ONLINE: Final = {
    "yanked versions": "by PyPI",
    "advisories": "by pip-audit",
    "advisories of vendored files": "by npm",
}


def _skip_online(name: str) -> CheckResult:
    return CheckResult(name, _ONLINE[name], skipped="--offline was given")


# Lock files


def list_pins(root: Path, files: Iterable[str]) -> list[Pin]:
    """All pins of lock files; lines that are no pins are left to `find_loose_lines`."""
    lines = (line for file in files for line in _read_lines(root / file))
    return [pin for pin in map(_read_pin, lines) if pin is not None]


def find_loose_lines(root: Path) -> Iterator[str]:
    """Lines that would let something in which is not pinned by version and hash."""
    for file in LOCK_FILES:
        for line in _read_lines(root / file):
            pin = _read_pin(line)
            if "://" in line or pin is None or pin.requirement.url:
                yield f"{file}: {line.split(' --hash')[0][:80]} names a place or an option"
            elif not pin.version:
                yield f"{file}: {pin.name} is not pinned to one version"
            elif not pin.hashes:
                yield f"{file}: {pin.name} has no hash"


def find_disagreements(pins: list[Pin]) -> Iterator[str]:
    """Packages of which two versions would be installed on this machine."""
    seen: dict[str, str] = {}
    for pin in pins:
        if pin.is_needed and (other := seen.setdefault(pin.name, pin.version)) != pin.version:
            yield f"{pin.name} is locked as {other} and as {pin.version}"


def _read_lines(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = (line.partition(" #")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _read_pin(line: str) -> Pin | None:
    text, *options = re.split(r"\s+(?=--)", line)
    hashes = [_HASH.fullmatch(each.strip()) for each in options]
    try:
        return Pin(Requirement(text), tuple(each[1] for each in hashes if each))
    except InvalidRequirement:
        return None


# What is installed


def compare_installed(pins: list[Pin], installed: dict[str, str]) -> Iterator[str]:
    """Packages that are missing, of another version, or not locked at all."""
    locked = {pin.name: pin.version for pin in pins if pin.is_needed}
    for name, version in locked.items():
        if name not in installed:
            yield f"{name} is locked, but not installed"
        elif Version(installed[name]) != Version(version):
            yield f"{name} is installed as {installed[name]} and locked as {version}"
    for name in sorted(installed.keys() - locked.keys() - _SEEDS - {"keyset"}):
        yield f"{name} is installed, but not locked"


def find_licence(metadata: PackageMetadata) -> str:
    """The licence as an SPDX expression, or what the package says instead."""
    if expression := _read_field(metadata, "License-Expression"):
        return expression
    classifiers = metadata.get_all("Classifier") or []
    named = [each.split(" :: ")[-1] for each in classifiers if each.startswith("License :: ")]
    text = _read_field(metadata, "License")
    # The text is often more exact than the classifier, as of BSD with two or three clauses.
    found = _SPDX_BY_TEXT.get(text, text)
    if found in ALLOWED_LICENCES:
        return found
    if named:
        return " AND ".join(_SPDX_BY_TEXT.get(each, each) for each in named)
    return found or _SPDX_BY_NAME.get(canonicalize_name(metadata["Name"]), "")


def _read_field(metadata: PackageMetadata, name: str) -> str:
    return str((metadata.get_all(name) or [""])[0]).strip()


def _list_installed() -> dict[str, Distribution]:
    return {str(canonicalize_name(each.name)): each for each in distributions()}


def find_unallowed(licences: dict[str, str]) -> Iterator[str]:
    """Packages of which any licence that they name is not allowed."""
    for name, licence in sorted(licences.items()):
        words = set(re.findall(r"[\w.+-]+", licence)) - {"AND", "OR"}
        if not words or words - ALLOWED_LICENCES:
            yield f"{name} has the licence {licence or 'none'!r}"


def find_below_floors(pins: list[Pin]) -> Iterator[str]:
    """Pins below the first version without a fault that concerns the service."""
    for pin in pins:
        floor, faults = FLOORS.get(pin.name, ("", ""))
        if floor and pin.version and Version(pin.version) < Version(floor):
            yield f"{pin.name} {pin.version} is below {floor}: {faults}"


def compare_vendored() -> Iterator[str]:
    """Vendored files and versions that are not as `tools/vendor.py` fetched them."""
    noted = json.loads((vendor.TARGET / "versions.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = vendor.describe()
    for kind in ("versions", "files"):
        for name in sorted(noted[kind].keys() | found[kind].keys()):
            if noted[kind].get(name) != found[kind].get(name):
                yield f"{name} is not what was fetched"
    for name in vendor.PACKAGES:
        if f"{name.removesuffix('.org')}/LICENSE" not in found["files"]:
            yield f"{name} has no licence file"


# What PyPI and npm know


def find_yanked(pins: list[Pin]) -> list[str]:
    """Locked versions that were taken back after their release."""
    versions = sorted({(pin.name, pin.version) for pin in pins})
    with httpx2.Client(timeout=60) as client, ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda each: _find_yank(client, *each), versions)
        return [each for each in found if each]


def _find_yank(client: httpx2.Client, name: str, version: str) -> str:
    try:
        answer = client.get(f"{_INDEX}/{name}/json", follow_redirects=True).raise_for_status()
        files = answer.json()["releases"][version]
    except (httpx2.HTTPError, ValueError, KeyError) as error:
        raise Unreachable(f"PyPI does not tell about {name} {version} here: {error}") from None
    reasons = [each["yanked_reason"] or "no reason given" for each in files if each["yanked"]]
    return f"{name} {version} was yanked: {reasons[0]}" if reasons else ""


def find_advisories(pins: list[Pin]) -> list[str]:
    """Known advisories about locked versions, and the versions about which nothing could be had."""
    if not any(each.get("vulns") for each in _ask_pip_audit([_KNOWN_BAD])):
        raise Unreachable(f"no advisories here: none is told about {_KNOWN_BAD}, which has some")
    versions: dict[str, set[str]] = {}
    for pin in pins:
        versions.setdefault(pin.name, set()).add(f"{pin.name}=={pin.version}")
    # It takes one version of a package at a time; another Python may have another one.
    rounds = zip_longest(*map(sorted, versions.values()))
    told = [each for some in rounds for each in _ask_pip_audit(list(filter(None, some)))]
    skipped = [each["skip_reason"] for each in told if "skip_reason" in each]
    return skipped + [
        f"{each['name']} {each['version']}: {fault['id']}, "
        f"fixed in {', '.join(fault['fix_versions']) or 'no version yet'}"
        for each in told
        for fault in each.get("vulns", [])
    ]


def _ask_pip_audit(requirements: list[str]) -> list[dict[str, Any]]:
    options = ["--disable-pip", "--no-deps", "--progress-spinner", "off", "--format", "json"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requirements.txt"
        file.write_text("\n".join(requirements), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "pip_audit", "--requirement", str(file), *options],
            capture_output=True,
            text=True,
            check=False,
        )
    try:
        dependencies: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise Unreachable(f"pip-audit ended early: {reason}") from None
    return dependencies


def find_script_advisories(_: list[Pin]) -> list[str]:
    """Known advisories about the libraries that pages use, which no lock file pins."""
    versions = {name: [version] for name, (version, _) in vendor.PACKAGES.items()}
    try:
        with httpx2.Client(timeout=60) as client:
            answer = client.post(_NPM, json=versions | _KNOWN_BAD_SCRIPT).raise_for_status()
        told = answer.json()
    except (httpx2.HTTPError, ValueError) as error:
        raise Unreachable(f"npm tells no advisories here: {str(error).splitlines()[0]}") from None
    if not told.keys() & _KNOWN_BAD_SCRIPT.keys():
        raise Unreachable("no advisories here: none is told about lodash 4.17.0, which has some")
    return [f"{name}: {each['title']}" for name in versions for each in told.get(name, [])]


# What is shown and written


def print_results(results: Iterable[CheckResult]) -> None:
    """Print a table of results, and below it what was found."""
    table = Table("check", "of", "result", box=None, pad_edge=False)
    for each in results:
        count = len(each.findings)
        state = (
            "[yellow]not checked[/]"
            if each.skipped
            else f"[red]{count} found[/]"
            if count
            else "fine"
        )
        table.add_row(each.name, each.checked, state)
    console.print(table)
    for each in results:
        for line in (*each.findings, *([f"not checked: {each.skipped}"] if each.skipped else [])):
            console.print(f"{each.name}: {escape(line)}", highlight=False, soft_wrap=True)


def render_sbom(pins: list[Pin]) -> str:
    """Describe as CycloneDX what a server runs: locked packages, and libraries of pages.

    The same lock file gives the same components. A package that is not installed on this machine
    is listed without a licence.
    """
    found = _list_installed()
    components = [
        Component(
            name=pin.name,
            version=pin.version,
            type=ComponentType.LIBRARY,
            purl=PackageURL("pypi", None, pin.name, pin.version),
            bom_ref=f"pkg:pypi/{pin.name}@{pin.version}",
            licenses=_name_licence(found.get(pin.name)),
            properties=[Property(name="sha256", value=each) for each in pin.hashes],
        )
        for pin in pins
    ]
    files: dict[str, Any] = vendor.describe()
    for name, (version, _) in vendor.PACKAGES.items():
        script = f"{name.removesuffix('.org')}/{name.removesuffix('.org')}.js"
        components.append(
            Component(
                name=name,
                version=version,
                type=ComponentType.LIBRARY,
                purl=PackageURL("npm", None, name, version),
                bom_ref=f"pkg:npm/{name}@{version}",
                hashes=[HashType(alg=HashAlgorithm.SHA_256, content=files["files"][script])],
            )
        )
    return str(JsonV1Dot6(Bom(components=components)).output_as_string(indent=2))


def _name_licence(found: Distribution | None) -> list[LicenseExpression]:
    return [LicenseExpression(find_licence(found.metadata))] if found is not None else []


if __name__ == "__main__":
    typer.run(run_audit)
