"""The description of the API is true: schemathesis tries every call that it describes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import BaseSchema, Case, GenerationMode, SerializationContext
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.result import Ok

from grader.domain.roles import Role
from grader.store.database import open_database
from tests.support.databases import fresh_url
from tests.support.server import serve
from tests.support.world import EXPLORATION, World, make_service

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# Far more can be asked for; mutated requests to all routes and pages are sent by `make fuzz`.
EXAMPLES = int(os.environ.get("KEYSET_SCHEMA_EXAMPLES", "3"))
TRY = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@schemathesis.serializer("application/pdf")
def send_as_it_is(_: SerializationContext, value: Any) -> bytes:
    """What is made up for a file are bytes already."""
    return value if isinstance(value, bytes) else str(value).encode()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with (
        tempfile.TemporaryDirectory() as folder,
        fresh_url("sqlite", Path(folder)) as url,
        make_service(open_database(url)) as world,
    ):
        yield world


@pytest.fixture(scope="module")
def api(world: World) -> Iterator[BaseSchema]:
    with serve(world.client.app) as port:  # type: ignore[arg-type]  # it is a FastAPI
        yield schemathesis.openapi.from_url(f"http://127.0.0.1:{port}/openapi.json")


@pytest.mark.parametrize("who", ["irene"])
def test_what_is_described_is_what_happens(api: BaseSchema, world: World, who: str) -> None:
    """With addresses made up, so that mostly nothing is there."""
    try_all(api, lambda case: send(case, world, who))


def test_it_is_so_where_something_is_there(api: BaseSchema, world: World) -> None:
    """Everybody sends each request, because to make one up takes longer than to send it."""
    there = {who: make_objects(world, who) for who in ("ada", "arthur", "irene", "olga")}

    def send_there(case: Case[Any]) -> None:
        for who, objects in there.items():
            for name in case.path_parameters or {}:
                if name in objects:
                    case.path_parameters[name] = objects[name]
            send(case, world, who)

    try_all(api, send_there)


def make_objects(world: World, who: str) -> dict[str, str]:
    """Objects that paths name, for one caller."""
    # Somebody of their own, since what is sent may well remove them from the course.
    student = f"student-of-{who}"
    world.add_member(student, Role.STUDENT)
    made = world.submit(student, f"{EXPLORATION}/3b", {"q": "k_a"})
    return {
        "course": "one",
        "assignment": EXPLORATION,
        "question": "3b",
        "student": student,
        "login": student,
        "attempt_id": made["id"],
    }


def try_all(api: BaseSchema, send: Callable[[Case[Any]], None]) -> None:
    """Try every call that is described, and tell all that are not as they are described."""
    failures = []
    for result in api.get_all_operations():
        assert isinstance(result, Ok), result
        operation = result.ok()
        for mode in GenerationMode.POSITIVE, GenerationMode.NEGATIVE:
            try:
                attempt = TRY(given(operation.as_strategy(generation_mode=mode))(send))
                attempt()
            except Unsatisfiable:
                # Where anything is right there is nothing wrong to be sent.
                assert mode is GenerationMode.NEGATIVE, operation.label
            except BaseExceptionGroup as error:
                failures.append(f"{operation.label}: {error.exceptions}")
    assert not failures, "\n\n".join(failures)


def send(case: Case[Any], world: World, who: str) -> None:
    headers = {"Authorization": f"Bearer {world.tokens[who]}"}
    case.call_and_validate(headers=headers, checks=CHECKS)


def test_the_body_of_no_call_takes_fields_that_are_not_described(world: World) -> None:
    spec = world.client.get("/openapi.json").json()
    bodies = [
        call["requestBody"]["content"]["application/json"]["schema"]
        for path in spec["paths"].values()
        for call in path.values()
        if "application/json" in call.get("requestBody", {}).get("content", {})
    ]
    objects = {name: each for body in bodies for name, each in list_objects(spec, body)}

    assert len(bodies) > 10
    assert {name for name, each in objects.items() if each["additionalProperties"]} == set()


def list_objects(spec: dict[str, Any], schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects with named fields that a schema is made of, by the names of their schemas."""
    if isinstance(schema, list):
        for each in schema:
            yield from list_objects(spec, each)
    elif isinstance(schema, dict):
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            named = spec["components"]["schemas"][name]
            if "properties" in named:
                yield name, {"additionalProperties": True, **named}
            yield from list_objects(spec, named)
        else:
            yield from list_objects(spec, list(schema.values()))
