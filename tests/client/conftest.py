"""A service for all tests of the client; each test has students of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.client import Client
from tests.support.live_service import Running, run_service


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with run_service(tmp_path_factory.mktemp("client")) as service:
        yield service


@pytest.fixture
def g(running: Running) -> Iterator[Client]:
    with running.client() as client:
        yield client
