"""No container engine runs where this is built, so that both files are held to the code here."""

import fnmatch
import json
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from grader.cli.main import app
from grader.settings import Settings

ROOT = Path(__file__).parents[1]

Instructions = list[tuple[str, str]]


def read_dockerfile() -> list[Instructions]:
    """The stages of the Dockerfile, each as its instructions with what follows them."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    stages: list[Instructions] = []
    for line in text.replace("\\\n", " ").splitlines():
        if not line.strip():
            continue
        instruction, rest = line.split(maxsplit=1)
        if instruction == "FROM":
            stages.append([])
        stages[-1].append((instruction, " ".join(rest.split())))
    return stages


STAGES = read_dockerfile()
BUILD, FINAL = STAGES
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}


def last(stage: Instructions, instruction: str) -> str:
    return [rest for name, rest in stage if name == instruction][-1]


def copied(stage: Instructions) -> list[str]:
    """What a stage copies out of the repository."""
    found = []
    for name, rest in stage:
        if name == "COPY" and not rest.startswith("--from"):
            found += rest.split()[:-1]
    return found


def is_ignored(path: str) -> bool:
    """Whether `.dockerignore` keeps a path of the top folder away; its last word counts."""
    ignored = False
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.strip()
        if pattern and not pattern.startswith("#") and fnmatch.fnmatch(path, pattern.lstrip("!")):
            ignored = not pattern.startswith("!")
    return ignored


def understood(arguments: list[str]) -> dict[str, Any]:
    """The options of a `grader` command, read by the command itself, which is not run."""
    group = typer.main.get_command(app)
    name, *rest = arguments
    command = group.get_command(None, name)  # type: ignore[attr-defined]  # it is a group
    context = command.make_context(name, list(rest))
    return dict(context.params)


def variables(environment: dict[str, str]) -> set[str]:
    return {name for name in environment if name.startswith("GRADER_")}


def known_variables() -> set[str]:
    return {f"GRADER_{name.upper()}" for name in Settings.model_fields}


# The image.


def test_both_stages_stand_on_one_python_that_will_do() -> None:
    images = {last(stage, "FROM").split()[0] for stage in STAGES}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert len(images) == 1
    (version,) = re.findall(r"python:3\.(\d+)-slim", images.pop())
    (oldest,) = re.findall(r">=3\.(\d+)", project["requires-python"])
    assert int(version) >= int(oldest)


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    paths = copied(BUILD)

    assert {"grader", "alembic", "rubrics", "pyproject.toml"} <= set(paths)
    for path in paths:
        assert (ROOT / path).exists(), path
        assert not is_ignored(path), path


def test_nothing_private_or_needless_reaches_the_image() -> None:
    for path in (".env", ".git", ".venv", "tests", "docs", "data.sqlite"):
        assert is_ignored(path), path
    assert copied(FINAL) == []


def test_what_the_wheel_is_built_from_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = [*wheel["only-include"], project["project"]["readme"]]

    assert {*needed, *project["project"]["license-files"]} <= set(copied(BUILD))


def test_lock_files_are_copied_before_they_are_used() -> None:
    seen: set[str] = set()
    used = set()
    for name, rest in BUILD:
        if name == "COPY":
            seen |= set(rest.split()[:-1])
        elif name == "RUN":
            named = set(re.findall(r"\S+\.lock", rest))
            assert named <= seen
            used |= named
    assert "requirements.lock" in used


def test_nothing_is_installed_without_its_hash_but_our_own_wheel() -> None:
    steps = [
        step
        for name, rest in BUILD + FINAL
        if name == "RUN"
        for step in rest.split(" && ")
        if re.search(r"\b(install|build)\b", step) and re.match(r"(pip|uv)\b", step)
    ]

    assert len(steps) == 4
    for step in steps:
        offline = "--no-deps --offline dist/*.whl" in step
        assert "--require-hashes" in step or offline, step


def test_bytecode_is_compiled() -> None:
    for _, rest in BUILD:
        for step in rest.split(" && "):
            if step.startswith("uv pip install"):
                assert "--compile-bytecode" in step


def test_it_is_not_run_by_root() -> None:
    user = last(FINAL, "USER")
    made = next(rest for name, rest in FINAL if name == "RUN" and "useradd" in rest)

    assert int(user) > 0
    assert f"--uid {user} " in made
    # After that nothing is done as root.
    names = [name for name, _ in FINAL]
    assert "RUN" not in names[names.index("USER") :]


def test_the_data_folder_is_a_volume_of_that_user() -> None:
    settings = dict(re.findall(r"(GRADER_\w+)=(\S+)", last(FINAL, "ENV")))
    made = next(rest for name, rest in FINAL if name == "RUN" and "install" in rest)

    assert variables(settings) <= known_variables()
    assert settings["GRADER_DATA_FOLDER"] == last(FINAL, "VOLUME")
    assert f"--owner keyset --group keyset --mode 0700 {last(FINAL, 'VOLUME')}" in made


def test_the_environment_that_is_built_is_the_one_that_runs() -> None:
    (place,) = {
        found for _, rest in BUILD for found in re.findall(r"--python (\S+)/bin/python", rest)
    }

    assert ("COPY", f"--from=build {place} {place}") in FINAL
    assert f"PATH={place}/bin:$PATH" in last(FINAL, "ENV")


# What is run.


def test_the_default_command_exists_and_listens_where_the_image_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (entry,) = json.loads(last(FINAL, "ENTRYPOINT"))
    arguments = json.loads(last(FINAL, "CMD"))

    assert entry in project["scripts"]
    assert arguments[0] == "serve"
    options = understood(arguments)
    assert options["host"] == "0.0.0.0"
    assert str(options["port"]) == last(FINAL, "EXPOSE")


@pytest.mark.parametrize("name", OURS)
def test_the_commands_of_the_services_exist(name: str) -> None:
    understood(OURS[name]["command"])


@pytest.mark.parametrize("name", OURS)
def test_the_variables_of_the_services_exist(name: str) -> None:
    named = variables(OURS[name]["environment"])

    assert "GRADER_DATABASE_URL" in named
    assert named <= known_variables()


@contextmanager
def answering(status: int) -> Iterator[int]:
    """A server that answers one request, and only for `/healthz` with this status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        yield server.server_port
        thread.join()


def check_health(port: int) -> int:
    """Run the image's health check against another port."""
    health = json.loads(last(FINAL, "HEALTHCHECK").partition(" CMD ")[2])
    assert health[0] == "python"
    assert last(FINAL, "EXPOSE") in health[-1]
    code = health[-1].replace(last(FINAL, "EXPOSE"), str(port))
    return subprocess.run(
        [sys.executable, *health[1:-1], code], stderr=subprocess.DEVNULL
    ).returncode


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False), (302, False)])
def test_the_health_check_asks_the_service(status: int, healthy: bool) -> None:
    with answering(status) as port:
        assert (check_health(port) == 0) is healthy


def test_a_service_that_is_not_there_is_not_healthy() -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        port = server.server_port

    assert check_health(port) != 0


# The services together.


def test_the_service_waits_for_the_database_and_its_migration() -> None:
    waits = {
        name: {other: how["condition"] for other, how in service["depends_on"].items()}
        for name, service in OURS.items()
    }

    assert waits == {
        "migrate": {"database": "service_healthy"},
        "service": {
            "database": "service_healthy",
            "migrate": "service_completed_successfully",
        },
    }
    assert SERVICES["migrate"]["restart"] == "no"
    assert "healthcheck" in SERVICES["database"]


def test_what_is_published_is_where_the_service_listens() -> None:
    port = last(FINAL, "EXPOSE")
    options = understood(SERVICES["service"]["command"])

    assert SERVICES["service"]["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert (options["host"], str(options["port"])) == ("0.0.0.0", port)


def test_the_address_of_the_database_is_that_of_its_service() -> None:
    made = SERVICES["database"]["environment"]
    address = f"postgresql://{made['POSTGRES_USER']}@database/{made['POSTGRES_DB']}"

    for service in OURS.values():
        assert service["environment"]["GRADER_DATABASE_URL"] == address
        assert service["environment"]["PGPASSWORD"] == made["POSTGRES_PASSWORD"]


def test_the_password_has_no_default() -> None:
    for service in SERVICES.values():
        for name, value in service["environment"].items():
            if "PASSWORD" in name:
                assert re.fullmatch(r"\$\{POSTGRES_PASSWORD:\?[^}]+\}", value)


def test_the_data_of_the_database_outlives_it() -> None:
    volume, _, path = SERVICES["database"]["volumes"][0].partition(":")

    assert volume in COMPOSE["volumes"]
    # From 18 on the image keeps its data in another place.
    (version,) = re.findall(r"postgres:(\d+)", SERVICES["database"]["image"])
    assert int(version) < 18
    assert path == "/var/lib/postgresql/data"


@pytest.mark.parametrize("name", OURS)
def test_our_containers_may_do_as_little_as_possible(name: str) -> None:
    service = OURS[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "privileged" not in service


# Secrets sealed by a key outside the database.


def read_sealed_compose() -> Any:
    return yaml.safe_load((ROOT / "docker-compose.sealed.yml").read_text(encoding="utf-8"))


def test_the_sealing_key_is_a_file_that_only_the_service_gets() -> None:
    added = read_sealed_compose()

    assert list(added["services"]) == ["service"]
    service = added["services"]["service"]
    assert variables(service["environment"]) == {"GRADER_SECRET_KEY_FILE"} <= known_variables()
    # Compose mounts a secret by its name in this folder.
    (secret,) = service["secrets"]
    assert service["environment"]["GRADER_SECRET_KEY_FILE"] == f"/run/secrets/{secret}"
    assert list(added["secrets"]) == [secret]


def test_the_owner_of_the_sealing_key_is_the_user_of_the_image() -> None:
    text = (ROOT / "docker-compose.sealed.yml").read_text(encoding="utf-8")
    command, path = re.findall(r"(sudo install .*) (\S+)$", text, re.MULTILINE)[0]

    assert f"-o {last(FINAL, 'USER')} -m 400" in command
    assert f":-{path}}}" in read_sealed_compose()["secrets"]["keyset_secret_key"]["file"]


def test_without_the_second_file_there_is_no_key() -> None:
    for service in OURS.values():
        assert not any("SECRET_KEY" in name for name in service["environment"])
